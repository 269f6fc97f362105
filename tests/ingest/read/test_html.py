"""HTML: the main text with its shape."""

from __future__ import annotations

import pytest

from rifflux.errors import Unreadable
from rifflux.ingest.read import File, read
from rifflux.types import Parsed

SHAPED = """<h1>Cache notes</h1><p>The cache keeps<br>entries for <b>ten</b> minutes.</p>
<h2>Details<a class="headerlink" href="#x">¶</a></h2>
<ul><li>One item<ul><li>nested item</li></ul></li><li>Two</li></ul>
<ol><li><p>first</p><p>more</p></li><li>second</li></ol>
<table><caption>Settings</caption><thead><tr><th>Name</th><th>Value</th></tr></thead>
<tr><td>ttl</td><td>600<br>seconds</td></tr></table>
<pre>def f():
    return 1
</pre><dl><dt>Term</dt><dd>Definition</dd></dl><h3>Bare</h3>"""


def page(body: str, head: str = "") -> Parsed:
    (part,) = read(File("a.html", f"<html lang='en'><head>{head}</head><body>{body}</body></html>".encode()))
    assert isinstance(part, Parsed)
    return part


def shown(part: Parsed) -> list[tuple[str, tuple[str, ...], str]]:
    return [(block.kind, block.headings, part.document.text[block.start : block.end]) for block in part.blocks]


EXPECTED = [
    ("paragraph", ("Cache notes",), "The cache keeps\nentries for ten minutes."),
    ("item", ("Cache notes", "Details"), "- One item"),
    ("item", ("Cache notes", "Details"), "- nested item"),
    ("item", ("Cache notes", "Details"), "- Two"),
    ("item", ("Cache notes", "Details"), "1. first"),
    ("item", ("Cache notes", "Details"), "more"),
    ("item", ("Cache notes", "Details"), "2. second"),
    ("paragraph", ("Cache notes", "Details"), "Settings"),
    ("table", ("Cache notes", "Details"), "Name | Value\nttl | 600 seconds"),
    ("code", ("Cache notes", "Details"), "def f():\n    return 1"),
    ("item", ("Cache notes", "Details"), "Term"),
    ("item", ("Cache notes", "Details"), "Definition"),
    ("heading", ("Cache notes", "Details"), "Bare"),
]


@pytest.mark.parametrize("wrap", ["{}", "<main>{}</main>", "<div><article>{}</article></div>"])
def test_shape_is_kept(wrap: str) -> None:
    part = page(wrap.format(SHAPED))
    assert shown(part) == EXPECTED
    assert part.blocks[8].header == "Name | Value"


def test_facts_come_from_the_head() -> None:
    head = "<title> Cache\n notes </title><meta name=author content='Ann Lee'>"
    head += "<meta name=date content=2024-03-01>"
    document = page("x", head).document
    assert document.title == "Cache notes"
    assert document.metadata == {"author": "Ann Lee", "date": "2024-03-01", "language": "en"}
    assert page("<h1>Only a heading</h1>x").document.title == "Only a heading"


@pytest.mark.parametrize("body", ["x", "two words", "<b>bold</b> only", "<p>1</p><p>2</p>", "<td>loose cell"])
def test_short_text_is_never_dropped(body: str) -> None:
    assert shown(page(body))


def test_noise_is_left_out() -> None:
    noise = "<script>a</script><style>b</style><nav>c</nav><noscript>d</noscript><p hidden>e</p>"
    assert shown(page(f"{noise}<svg><text>f</text></svg><p>kept</p><footer>g</footer><!-- h -->")) == [
        ("paragraph", (), "kept")
    ]


@pytest.mark.parametrize("link", ["<a href='#x'>#</a>", "<a class='headerlink' href='#x'>link</a>", "<a id=x></a>"])
def test_links_of_headings_to_themselves_are_left_out(link: str) -> None:
    assert shown(page(f"<h1>Policies{link}</h1><p>See <a href=y>page #</a></p>")) == [
        ("paragraph", ("Policies",), "See page #")
    ]


def test_menus_around_an_unmarked_main_text_are_left_out() -> None:
    links = "".join(f"<li><a href=x>Another page of this site, number {i}, with a name</a></li>" for i in range(40))
    story = "".join(f"<p>Sentence {i} of a story that is long enough to be told from a menu.</p>" for i in range(30))
    part = page(f"<div><ul>{links}</ul></div><div><h2>Story</h2>{story}<p>End.</p></div><div><ul>{links}</ul></div>")
    assert "Another page" not in part.document.text
    assert shown(part)[0][1] == ("Story",)
    assert shown(part)[-1][2] == "End."


def test_a_table_that_only_arranges_the_page_is_no_table() -> None:
    part = page("<table><tr><td><h2>Left</h2><p>one</p></td><td><p>two</p><p>three</p></td></tr></table>")
    assert shown(part) == [("paragraph", ("Left",), word) for word in ("one", "two", "three")]


def test_formulas_are_written_as_tex() -> None:
    formula = "<math><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></math>"
    assert shown(page(f"<p>Let {formula} be</p>")) == [("paragraph", (), "Let $x^2$ be")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1251", "euc-jp"])
def test_the_declared_encoding_holds(encoding: str) -> None:
    words = "Привет мир" if encoding != "euc-jp" else "日本語の文章"
    markup = f"<html><head><meta charset={encoding}></head><body><p>{words}</p></body></html>"
    (part,) = read(File("a.html", markup.encode(encoding)))
    assert isinstance(part, Parsed)
    assert part.document.text == words


def test_xhtml_may_declare_its_encoding() -> None:
    (part,) = read(File("a.xhtml", b'<?xml version="1.0" encoding="utf-8"?><html><body><p>x</p></body></html>'))
    assert isinstance(part, Parsed)
    assert part.document.text == "x"


def test_deep_nesting() -> None:
    assert shown(page("<div>" * 1500 + "deep")) == [("paragraph", (), "deep")]
    with pytest.raises(Unreadable, match="nested too deeply"):
        page("<div>" * 5000 + "deep")
