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
