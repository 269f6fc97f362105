"""Markdown becomes blocks under their headings, with spans into the source."""

import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rifflux.ingest.read.base import File, plain_heading
from rifflux.ingest.read.markdown import _parser, markdown_blocks, read_markdown
from rifflux.types import Document, Parsed


def read(text: str, path: str = "notes/a-file.md") -> Parsed:
    (parsed,) = read_markdown(File(path, text.encode(), created_at="2020-01-01", updated_at="2020-02-02"))
    return parsed


def document(text: str) -> Document:
    return read(text).document


def shown(text: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Each block as its kind, headings and text."""
    return [(block.kind, block.headings, text[block.start : block.end]) for block in markdown_blocks(text)]


def test_blocks_stand_under_their_headings() -> None:
    text = "# Guide\n\nWelcome.\n\n## Install\n\nRun it.\n\n### Linux\n\napt\n\n## Use\n\nSearch.\n"
    assert shown(text) == [
        ("paragraph", ("Guide",), "Welcome."),
        ("paragraph", ("Guide", "Install"), "Run it."),
        ("paragraph", ("Guide", "Install", "Linux"), "apt"),
        ("paragraph", ("Guide", "Use"), "Search."),
    ]


def test_setext_headings_count() -> None:
    assert shown("Guide\n=====\n\nHello.\n\nUse\n---\nSearch.\n") == [
        ("paragraph", ("Guide",), "Hello."),
        ("paragraph", ("Guide", "Use"), "Search."),
    ]


def test_a_level_may_be_left_out() -> None:
    assert shown("### Deep\n\na\n\n# Top\n\nb\n") == [
        ("paragraph", ("Deep",), "a"),
        ("paragraph", ("Top",), "b"),
    ]


def test_a_heading_with_nothing_under_it_is_still_found() -> None:
    text = "# Plan\n\n## Later\n\n## Now\n\nWork.\n\n## Never\n"
    assert shown(text) == [
        ("heading", ("Plan",), "## Later"),
        ("paragraph", ("Plan", "Now"), "Work."),
        ("heading", ("Plan",), "## Never"),
    ]


def test_a_text_of_headings_only() -> None:
    assert shown("# A\n\n## B\n\n# C") == [("heading", ("A",), "## B"), ("heading", (), "# C")]


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_headings_in_a_fence_are_code(fence: str) -> None:
    code = f"{fence}python title=x\n# not a heading\n\n## nor this\n{fence}"
    assert shown(f"# A\n\n{code}\n\nafter\n") == [("code", ("A",), code), ("paragraph", ("A",), "after")]


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    assert shown("# A\n\n```\n# x\n\ny\n") == [("code", ("A",), "```\n# x\n\ny")]


def test_indented_code_keeps_its_indentation() -> None:
    assert shown("a\n\n    x = 1\n\n    y = 2\n\nb\n")[1] == ("code", (), "    x = 1\n\n    y = 2")


def test_each_item_is_a_block_and_nested_ones_too() -> None:
    text = "- one\n  goes on\n- two\n  - inner\n    1. innermost\n\n  more of two\n- three\n"
    assert shown(text) == [
        ("item", (), "- one\n  goes on"),
        ("item", (), "- two"),
        ("item", (), "  - inner"),
        ("item", (), "    1. innermost"),
        ("paragraph", (), "  more of two"),
        ("item", (), "- three"),
    ]


def test_code_in_an_item_is_code() -> None:
    text = "1. Run:\n\n   ```sh\n   make\n   ```\n"
    assert [kind for kind, _, _ in shown(text)] == ["item", "code"]


def test_a_table_knows_its_header() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter\n"
    table, after = markdown_blocks(text)
    assert (table.kind, table.header) == ("table", "| a | b |\n|---|---|")
    assert text[table.start : table.end].endswith("| 3 | 4 |")
    assert text[after.start : after.end] == "after"


def test_quotes_and_callouts_and_wiki_links_survive() -> None:
    text = "> [!tip] Try it\n> See [[Some page|this]].\n>\n> - item\n\n%% note %%\n"
    assert [piece for _, _, piece in shown(text)] == [
        "> [!tip] Try it\n> See [[Some page|this]].",
        "> - item",
        "%% note %%",
    ]


def test_a_heading_in_a_quote_opens_no_section() -> None:
    assert shown("# A\n\n> # B\n>\n> c\n")[0] == ("paragraph", ("A",), "> # B")


def test_html_that_says_nothing_is_left_out() -> None:
    text = '<!-- a\n\ncomment -->\n\n<a id="x"></a>\n\n<div>\n</div>\n\n<img alt="A crab">\n\n<p>words</p>\n'
    assert [piece for _, _, piece in shown(text)] == ['<img alt="A crab">', "<p>words</p>"]


def test_a_link_definition_is_text() -> None:
    assert [piece for _, _, piece in shown("a [b]\n\n[b]: https://example.org/b\n")][1].startswith("[b]:")


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("`Vec<T>` and *more*", "Vec<T> and more"),
        ("The [Rust book](https://a.b/c_(d)) here", "The Rust book here"),
        ("**Bold `code_x` end**", "Bold code_x end"),
        ("snake_case_name and __init__", "snake_case_name and init"),
        ("[[Page|shown]] and [[Other]]", "shown and Other"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("![logo](x.png) Title {#anchor}", "logo Title"),
        (r"C\# \*stars\*", "C# *stars*"),
        ("<kbd>Ctrl</kbd>+C", "Ctrl+C"),
        ("[text][ref] ~~gone~~", "text gone"),
    ],
)
def test_a_breadcrumb_has_no_markup(markup: str, words: str) -> None:
    assert plain_heading(markup) == words


def test_a_very_long_heading_is_cut_in_the_breadcrumb_and_kept_in_the_text() -> None:
    text = "# " + "word " * 100 + "\n\nbody\n"
    heading, body = markdown_blocks(text)
    assert len(body.headings[0]) <= 201
    assert text[heading.start : heading.end].endswith("word")


class TestFrontMatter:
    TEXT = """---
title: "A: title"
tags: [rust, 'two words', "c,d"]
aliases:
  - One
  - "Two"  # really
date: 2024-05-01
updated: 2024-06-02 10:30:00
draft: true
weight: 3
ratio: 1.5
id: 007
nothing:
summary: >
  folded
  text
author:
  name: Ada
---
# Heading

Body.
"""

    def test_values_are_typed(self) -> None:
        assert document(self.TEXT).metadata == {
            "title": "A: title",
            "tags": ["rust", "two words", "c,d"],
            "aliases": ["One", "Two"],
            "date": "2024-05-01",
            "updated": "2024-06-02 10:30:00",
            "draft": True,
            "weight": 3,
            "ratio": 1.5,
            "id": "007",
            "summary": "folded\ntext",
            "author": "name: Ada",
        }

    def test_title_and_dates_come_from_it(self) -> None:
        found = document(self.TEXT)
        assert (found.title, found.created_at, found.updated_at) == (
            "A: title",
            "2024-05-01",
            "2024-06-02T10:30:00",
        )

    def test_it_is_in_no_block(self) -> None:
        parsed = read(self.TEXT)
        (block,) = parsed.blocks
        assert parsed.document.text == self.TEXT
        assert self.TEXT[block.start : block.end] == "Body."

    @pytest.mark.parametrize(
        "text",
        ["---\nJust a text between rules.\n---\n", "---\nkey: never closed\n", "text\n---\na: b\n---\n"],
    )
    def test_a_rule_is_not_front_matter(self, text: str) -> None:
        assert document(text).metadata == {}

    def test_empty_front_matter(self) -> None:
        assert [text for _, _, text in shown("---\n---\n\nBody\n")] == ["Body"]

    @pytest.mark.parametrize("date", ["yesterday", "2024", "01.05.2024"])
    def test_other_dates_leave_those_of_the_file(self, date: str) -> None:
        assert document(f"---\ndate: {date}\n---\nx").created_at == "2020-01-01"

    @given(st.text(max_size=200))
    def test_anything_may_stand_there(self, inside: str) -> None:
        document(f"---\n{inside.encode('utf-8', 'ignore').decode()}\n---\nBody\n".replace("\0", ""))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n\n# Two\n", "One"),
        ("Intro\n\n# One\n", "One"),
        ("## Chapter\n\ntext\n\n### Part\n", "Chapter"),
        ("<!-- old -->\n\n## Chapter\n\ntext\n", "Chapter"),
        ("## Chapter\n\n## Another\n", "a file"),
        ("Intro\n\n## Chapter\n", "a file"),
        ("", "a file"),
    ],
)
def test_the_title_is_what_all_of_it_is_under(text: str, title: str) -> None:
    assert document(text).title == title


def test_windows_newlines_and_tabs() -> None:
    text = "# A\r\n\r\n-\tone\r\n-\ttwo\r\n\r\n\tcode\r\n"
    parsed = read(text)
    pieces = [parsed.document.text[block.start : block.end] for block in parsed.blocks]
    assert pieces == ["-\tone", "-\ttwo", "\tcode"]


def test_a_text_from_a_program_may_have_any_newlines() -> None:
    text = "# A\r\n\r\none\rtwo\r\n\r\n# B\r\n\r\nthree"
    assert [piece for _, _, piece in shown(text)] == ["one\rtwo", "three"]


@pytest.mark.parametrize("text", ["", "\n\n", "   ", "---", "\ufeff"])
def test_nothing_gives_no_blocks(text: str) -> None:
    assert read(text).blocks == ()


@pytest.mark.parametrize("piece", ["word ", "x", "*", "[", "`", "<a ", "| ", "# ", "> ", "- "])
def test_a_megabyte_on_one_line_is_read_in_time(piece: str) -> None:
    begun = time.thread_time()
    read(piece * (1_000_000 // len(piece)))
    assert time.thread_time() - begun < 10


LINES = [
    *(
        "",
        "",
        "word",
        "two words",
        "# head",
        "## `x`",
        "===",
        "---",
        "- item",
        "  - inner",
        "1. one",
        "> quote",
    ),
    *(
        "```",
        "~~~ py",
        "    indented",
        "| a | b |",
        "|---|---|",
        "<div>",
        "<!-- c -->",
        "[a]: b",
        "**bold** text",
    ),
    *("__init__ is", "`code` first", "2024 was", "a | b", "*star", "***", "_ _ _", "(paren", "\ttab", "1) x"),
]


def leaves(parser: MarkdownIt, text: str) -> list[tuple[Any, ...]]:
    return [(token.type, token.map, token.level) for token in parser.parse(text) if token.type != "inline"]


@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_the_fast_rule_for_paragraphs_changes_nothing(lines: list[str]) -> None:
    plain = MarkdownIt("commonmark").enable("table").disable(["inline", "text_join", "reference"])
    text = "\n".join(lines)
    assert leaves(_parser(), text) == leaves(plain, text)


@given(st.lists(st.sampled_from(LINES), max_size=30), st.integers())
def test_blocks_are_in_order_and_hold_every_word(lines: list[str], seed: int) -> None:
    text = "\n".join(random.Random(seed).choice(["", "  "]) + line for line in lines)
    blocks = markdown_blocks(text)
    ends = [0, *(block.end for block in blocks)]
    assert all(end <= block.start < block.end for end, block in zip(ends, blocks, strict=False))
    inside = " ".join(text[block.start : block.end] + " ".join(block.headings) for block in blocks)
    for word in ("two words", "item", "indented", "text", "first"):
        assert (word in text) == (word in inside)
