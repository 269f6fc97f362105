"""Tags are words that their author marked with `#` in the text, and nothing else that begins with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.ingest.read import File
from rifflux.ingest.read.markdown import read_markdown

TAG = "boat"


def tags_of(text: str) -> list[str]:
    """Return the tags of a Markdown document."""
    (parsed,) = read_markdown(File("a.md", text.encode()))
    found = parsed.document.metadata.get("tags", [])
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "#boat",
        "We took the #boat.",
        "- an item of a list #boat",
        "- [ ] to do #boat",
        "- #boat",
        "> quoted #boat",
        "1. first\n\n   then #boat",
        "first line\n#boat on the second",
        "**#boat** and *more*",
        "after a [link](#anchor) #boat",
        "after `#code` #boat",
        "[^1]: a footnote on a #boat",
        "[access]: #accessing-values\n\nthen #boat",
        "---\ntags: [boat]\n---\nText",
    ],
)
def test_a_marked_word_is_a_tag(text: str) -> None:
    assert tags_of(text) == [TAG]


@pytest.mark.parametrize(
    "text",
    [
        "[access]: #boat",
        "text\n\n[one]: #boat\n[two]: #boat 'title'\n[three]: <#boat>",
        "[access]:\n  #boat",
        "- [access]: #boat",
        "> [access]: #boat",
        "[access]: #boat<!-- ignore -->",
        "A paragraph without a blank line behind it.\n[access]: #boat",
        "[the boat](#boat)",
        "[the boat]( #boat )",
        "[the boat](\n#boat)",
        "[ #boat ](https://example.org)",
        "![ #boat ](x.png)",
        '[the boat](https://example.org "see #boat")',
        "https://example.org/ships#boat",
        "<https://example.org/ships#boat>",
        '<a id="boat" href=" #boat ">here</a>',
        "<!-- #boat -->",
        "text <!-- #boat --> text",
        "`#boat`",
        "``a ` #boat``",
        "```\n#boat\n```",
        "    #boat",
        "see \\#boat",
        "number #12 and C#",
        "issue#boat",
        "# boat",
        "## boat",
        "---\nurl: '#boat'\n---\nText",
    ],
)
def test_nothing_else_with_the_sign_is_one(text: str) -> None:
    assert tags_of(text) == []


@given(st.text(alphabet="#a[]()`<>\\!*_:/ \n-", max_size=80))
def test_a_tag_is_a_word_of_the_text_behind_the_sign(text: str) -> None:
    for tag in tags_of(text):
        assert f"#{tag}" in text


def test_a_paragraph_that_takes_long_to_parse_is_left_alone() -> None:
    assert tags_of("[" * 200_000 + " #boat\n\n#ship") == ["ship"]
