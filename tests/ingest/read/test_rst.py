"""reStructuredText becomes blocks under its sections."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.ingest.read.base import File
from rifflux.ingest.read.rst import read_rst, rst_blocks
from rifflux.types import Document


def shown(text: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Each block as its kind, headings and text."""
    return [(block.kind, block.headings, text[block.start : block.end]) for block in rst_blocks(text)]


def document(text: str) -> Document:
    (parsed,) = read_rst(File("docs/read_me.rst", text.encode()))
    return parsed.document


def test_the_order_of_styles_gives_the_levels() -> None:
    text = """=====
Guide
=====

Welcome.

Install
=======

Run.

Linux
-----

apt

Use
===

Search.
"""
    assert shown(text) == [
        ("paragraph", ("Guide",), "Welcome."),
        ("paragraph", ("Guide", "Install"), "Run."),
        ("paragraph", ("Guide", "Install", "Linux"), "apt"),
        ("paragraph", ("Guide", "Use"), "Search."),
    ]
    assert (document(text).title, document(text).kind) == ("Guide", "rst")


def test_without_a_section_the_file_gives_the_title() -> None:
    assert document("Just text.\n").title == "read me"


def test_a_heading_has_no_markup() -> None:
    title = "The ``x`` of :ref:`the *guide* <guide>` and `y`_"
    text = f"{title}\n{'=' * len(title)}\n\nz\n"
    assert shown(text)[0][1] == ("The x of the guide and y",)


def test_a_section_with_nothing_in_it_is_found() -> None:
    assert shown("A\n=\n\nB\n-\n\nC\n-\n\nx\n") == [("heading", ("A",), "B"), ("paragraph", ("A", "C"), "x")]


def test_literal_blocks_are_code() -> None:
    text = "Run this::\n\n    make\n\n      all\n\nThen::\n\n  go\n\n::\n\n  alone\n\nEnd.\n"
    assert shown(text) == [
        ("paragraph", (), "Run this::"),
        ("code", (), "    make\n\n      all"),
        ("paragraph", (), "Then::"),
        ("code", (), "  go"),
        ("code", (), "  alone"),
        ("paragraph", (), "End."),
    ]


def test_a_heading_in_code_is_code() -> None:
    text = ".. code-block:: rst\n   :caption: x\n\n   Title\n   =====\n\n   text\n\nAfter.\n"
    assert [(kind, headings) for kind, headings, _ in shown(text)] == [("code", ()), ("paragraph", ())]


def test_admonitions_are_read_and_their_content_too() -> None:
    text = ".. note:: Mind\n   the gap.\n\n   - an item\n\n.. warning::\n\n   Hot.\n"
    assert [(kind, piece.strip()) for kind, _, piece in shown(text)] == [
        ("paragraph", ".. note:: Mind\n   the gap."),
        ("item", "- an item"),
        ("paragraph", ".. warning::"),
        ("paragraph", "Hot."),
    ]


def test_comments_targets_and_steering_are_left_out() -> None:
    comments = ".. a comment\n   goes on\n\n..\n\n   hidden\n\n"
    text = f"{comments}.. _target:\n\n.. contents:: Table\n   :depth: 2\n\nText.\n"
    assert [piece for _, _, piece in shown(text)] == ["Text."]


def test_footnotes_and_links_are_text() -> None:
    text = ".. [1] A note.\n.. [Ada1843] Notes.\n.. _site: https://example.org\n"
    assert [piece for _, _, piece in shown(text)] == text.strip().split("\n")


def test_lists_and_fields_are_items() -> None:
    text = "- one\n  more\n- two\n\n  - inner\n\n#. first\n#. second\n\n:author: Ada\n:date: 1843\n"
    assert [(kind, piece) for kind, _, piece in shown(text)] == [
        ("item", "- one\n  more"),
        ("item", "- two"),
        ("item", "  - inner"),
        ("item", "#. first"),
        ("item", "#. second"),
        ("item", ":author: Ada"),
        ("item", ":date: 1843"),
    ]


GRID = """+-----+-----+
| a   | b   |
+=====+=====+
| 1   | 2   |
+-----+-----+"""
SIMPLE = """===== =====
a     b
===== =====
1     2
3     4
===== ====="""
HEADLESS = """== ==
1  2

3  4
== =="""


@pytest.mark.parametrize(
    ("table", "header_lines"), [(GRID, 3), (SIMPLE, 3), (HEADLESS, 0)], ids=["grid", "simple", "headless"]
)
def test_tables_know_their_headers(table: str, header_lines: int) -> None:
    text = f"Before.\n\n{table}\n\nAfter.\n"
    before, found, after = rst_blocks(text)
    assert text[found.start : found.end] == table
    assert (found.kind, found.header) == ("table", "\n".join(table.split("\n")[:header_lines]))
    assert text[before.start : before.end] + text[after.start : after.end] == "Before.After."


def test_doctests_are_code_and_transitions_nothing() -> None:
    assert shown(">>> 1 + 1\n2\n\n----\n\nText.\n") == [
        ("code", (), ">>> 1 + 1\n2"),
        ("paragraph", (), "Text."),
    ]


LINES = [
    *(
        "",
        "",
        "words here",
        "Title",
        "=====",
        "-----",
        "- item",
        "  deeper",
        "    code",
        "Run::",
        "::",
        ".. note::",
    ),
    *(
        ".. comment",
        ".. code:: py",
        "+---+---+",
        "| a | b |",
        "+===+===+",
        "== ==",
        "a  b",
        ">>> x",
        ":f: v",
        "..",
        "-",
    ),
]


@given(st.lists(st.sampled_from(LINES), max_size=30), st.integers())
def test_blocks_are_in_order_whatever_the_text(lines: list[str], seed: int) -> None:
    text = "\n".join(random.Random(seed).choice(["", "   "]) + line for line in lines)
    blocks = rst_blocks(text)
    ends = [0, *(block.end for block in blocks)]
    assert all(end <= block.start < block.end for end, block in zip(ends, blocks, strict=False))


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    rst_blocks(text)
