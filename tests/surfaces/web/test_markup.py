"""Texts as trees of blocks: what each sort of Markdown becomes, where it stands, and that nothing is dangerous."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.surfaces.web.markup import MOST_TOKENS, Node, layout


def leaves(nodes: Iterable[Node]) -> Iterator[Node]:
    """The parts that have words."""
    for each in nodes:
        yield from leaves(each.inside) if each.inside else (each,)


def shape(node: Node) -> str:
    """A node in short: what it is, and what is in it."""
    inside = "".join(map(shape, node.inside)) if node.inside else node.text
    return inside if node.kind == "text" else f"<{node.kind}{node.target and ' ' + node.target}>{inside}</>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# A *b*", "<heading>A <emphasis>b</></>"),
        ("a **b** ~~c~~ `d`", "<paragraph>a <strong>b</> <struck>c</> <literal>d</></>"),
        ("a\nb  \nc", "<paragraph>a\nb<break></>c</>"),
        (
            "- a\n- b\n  1. c",
            "<list><item><paragraph>a</></><item><paragraph>b</><list><item><paragraph>c</></></></></>",
        ),
        ("> a\n> > b", "<quote><paragraph>a</><quote><paragraph>b</></></>"),
        ("```py\na  b\n```", "<code>a  b</>"),
        ("***", "<rule></>"),
        ("| a | b |\n|--|--|\n| 1 | `x \\| y` |", None),
        ("[a](https://b.example/c)", "<paragraph><link https://b.example/c>a</></>"),
        ("[a][b]\n\n[b]: http://c.example", "<paragraph><link http://c.example>a</></>"),
        ("<mailto:a@b.example>", "<paragraph><link mailto:a@b.example>mailto:a@b.example</></>"),
        ("[a](b.md)", "<paragraph><reference b.md>a</></>"),
        ("![a cat](https://b.example/c.png)", "<paragraph><image>a cat</></>"),
        ("---\ntitle: a\n---\nb", "<code>---\ntitle: a\n---</><paragraph>b</>"),
        ("a \\* &amp; &lt;b&gt;", "<paragraph>a * & <b></>"),
    ],
)
def test_what_is_typed_becomes_blocks(text: str, shown: str | None) -> None:
    cells = "<table><row><head>a</><head>b</></><row><cell>1</><cell><literal>x | y</></></></>"
    assert "".join(map(shape, layout(text))) == (shown or cells)


@pytest.mark.parametrize(
    "text",
    [
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt&#58;alert(1))",
        "[a](data:text/html,x)",
        "[a](vbscript:x)",
        "[a](//b.example)",
        "[a](ftp://b.example)",
        "<javascript:alert(1)>",
        '<img src=x onerror="alert(1)">',
        "<script>alert(1)</script>",
        "<!-- a -->",
        "[a]: javascript:alert(1)\n\n[a]",
    ],
)
def test_no_link_leads_anywhere_but_to_the_web_and_to_mail(text: str) -> None:
    shown = "".join(map(shape, layout(text)))
    assert "<link" not in shown
    assert "<image" not in shown


def test_html_stays_as_it_is_typed() -> None:
    text = '<div onclick="x()">\n\na <b>b</b>\n\n</div>'
    assert [each.text for each in leaves(layout(text))] == ['<div onclick="x()">', "a <b>b</b>", "</div>"]


def test_words_keep_their_places() -> None:
    quote, table = '> a `b\n> c` [d](http://e.example "a d") f \\* g', "| d | e |\n|-|-|\n| d \\| f | a |"
    text = f"# 🦦 *one*\n\n{quote}\n\n{table}\n\n- d\n\n      e"
    for each in leaves(layout(text)):
        typed = text[each.start : each.end]
        assert typed.replace("\n> ", " ").replace("\n", " ").replace("\\", "") == each.text.replace("\n", " ")


@given(st.text(st.sampled_from("ab \n#*_`[]()<>|-!\\&;~:.>1\t🦦"), max_size=200))
def test_any_text_is_laid_out_in_order(text: str) -> None:
    place = 0
    for each in layout(text):
        assert place <= each.start <= each.end <= len(text)
        place = each.start
    for each in leaves(layout(text)):
        assert 0 <= each.start <= each.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        ">" * 1_000 + " deep",
        "- " * 500 + "deep",
        "[" * 100_000 + " deep",
        ("[" * 390 + " deep\n\n") * 250,
        "*a " * 5_000 + "deep",
        ("[a](" * 390 + " deep\n\n") * 60,
        "deep\n" * 20_000,
        "".join(f"[a{number}]: b{number}\n" for number in range(5_000)) + "\ndeep",
        "| a | b |\n|---|---|\n" + "| deep | cell |\n" * 12_000,
        "|" * 100_000 + " deep",
        "`" * 50_000 + " deep",
        "&amp;" * 20_000 + " deep",
    ],
    ids=lambda text: text[:12],
)
def test_what_would_take_long_is_left_as_it_is_typed(text: str) -> None:
    parts = [*leaves(layout(text))]
    assert len(parts) <= 3 * MOST_TOKENS
    assert "deep" in "".join(each.text for each in parts)


def test_other_texts_have_paragraphs_and_tables_of_what_stands_between_bars() -> None:
    text = "*One*\ntwo\n\na | b\n1 | 2 *c*\n\n\nThree"
    lines, table, last = layout(text, "html")
    assert (lines.kind, lines.text) == ("lines", "*One*\ntwo")
    assert shape(table) == "<table><row><cell>a</><cell>b</></><row><cell>1</><cell>2 *c*</></></>"
    assert (last.text, last.end) == ("Three", len(text))
    assert all(text[each.start : each.end] == each.text for each in leaves([lines, table, last]))


def test_code_is_cut_where_it_is_told_and_nowhere_else() -> None:
    text = "def a():\n\n\n    pass\n"
    assert [each.text for each in layout(text, "code", [11, 0, 99])] == [text[:11], text[11:]]
    assert {each.kind for each in layout(text, "code")} == {"code"}
