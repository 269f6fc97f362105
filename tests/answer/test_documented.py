"""What source code says about itself in words is quoted as such: the description of a parameter, not its function."""

from __future__ import annotations

from pathlib import Path

import pytest

import rifflux
from rifflux.answer.documented import documentation, documented_blocks

PYTHON = '''
def fetch(place, patience=30):
    """
    Fetch a page, and follow at most ten redirections.

    :param place: The address of the page.
    :param float patience:
        How many seconds to wait for the server. Default: ``30``.

        A mirror is asked after that.
    """
    return _asked(place, patience)


#: How many bytes of a page are read
#: before it is given up.
LARGEST = 5_000_000
'''

C = """
/*
 * Give up after so many attempts,
 * each twice as late as the last.
 */
static int attempts = 7;

// The ports that are tried
// one after the other.
int ports[] = {80, 8080};
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (PYTHON, "Fetch a page, and follow at most ten redirections."),
        (PYTHON, "param place\n\nThe address of the page."),
        (PYTHON, "param float patience\n\nHow many seconds to wait for the server. Default: ``30``."),
        (PYTHON, "How many bytes of a page are read before it is given up."),
        (C, "Give up after so many attempts, each twice as late as the last."),
        (C, "The ports that are tried one after the other."),
    ],
)
def test_documentation_is_read_as_prose(code: str, said: str) -> None:
    assert said in [block.text for block in documented_blocks(code, documentation(code))]


@pytest.mark.parametrize("code", [PYTHON, C])
def test_each_block_stands_where_it_says(code: str) -> None:
    for block in documented_blocks(code, documentation(code)):
        there = code[slice(*block.span)]
        words = block.text.split()
        assert there.split()[-1] == words[-1]
        assert there == there.strip()


@pytest.mark.parametrize("code", ["x = 1  # one\n", '"""', "/*", "####\n####\n", 'sql = """SELECT"""', ""])
def test_code_that_says_nothing_has_no_documentation(code: str) -> None:
    assert documentation(code) == []


def test_a_parameter_is_answered_with_its_description(tmp_path: Path) -> None:
    (tmp_path / "fetching.py").write_text(PYTHON, "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        answer = index.answer("how many seconds does fetch wait for the server")
    assert "How many seconds to wait for the server. Default: ``30``." in answer.text
    assert "_asked" not in answer.text
    assert "seconds to wait" in PYTHON[slice(*answer.citations[0].span)]


GOOGLE = '''def cut(frames, limit=10):
    """Cut frames.

    Args:
        frames: What is cut.

        limit:
            How many stay. Defaults
            to 10.

    Raises:
        KeyError: If there is none.
    """
    return frames[:limit]
'''


def test_the_fields_of_a_section_are_items_and_no_code() -> None:
    written = [block.text for block in documented_blocks(GOOGLE, documentation(GOOGLE))]
    assert "- limit: How many stay. Defaults to 10." in written
    assert "- KeyError: If there is none." in written
    assert not any("```" in text for text in written)


def test_a_definition_with_a_line_of_documentation_is_quoted_whole(tmp_path: Path) -> None:
    (tmp_path / "mail.py").write_text(
        'def address():\n    """Return the address of the owner."""\n    return "a@b.c"\n', "utf-8"
    )
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        answer = index.answer("what is the address of the owner?")
    assert "a@b.c" in answer.text


@pytest.mark.parametrize(
    ("question", "name"), [("who owns the shop?", "Ann"), ("who owns the shop in the tests?", "Bob")]
)
def test_code_is_quoted_before_its_tests_unless_they_are_named(tmp_path: Path, question: str, name: str) -> None:
    for folder, owner in (("src", "Ann"), ("tests", "Bob")):
        (tmp_path / folder).mkdir()
        code = f'def owner():\n    """Return who owns the shop."""\n    return "{owner}"\n'
        (tmp_path / folder / "shop.py").write_text(code, "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        answer = index.answer(question)
    assert name in answer.text
