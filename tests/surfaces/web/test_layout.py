"""How views look where room is short, where scripts run from right to left, and on paper; and what they list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

import rifflux
from rifflux import Document, Scope, Unreadable, Work
from rifflux.surfaces.cli.show import percent
from tests.support.browser import Opened, needs_browser
from tests.surfaces.web.conftest import Site

pytestmark = needs_browser

Tab = Callable[..., Opened]
ARABIC = "مالك الحزين ينتظر بين القصب."

#: Words of table cells and heads that are broken over several lines.
BROKEN = """() => [...document.querySelectorAll("main th, main td")].flatMap((cell) => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
  for (let node; (node = walker.nextNode());)
    for (const word of node.data.matchAll(/[\\p{L}\\d]{2,20}/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((each) => each.top)).size > 1) broken.push(word[0]);
    }
  return broken;
})"""


@pytest.mark.parametrize("view", ["settings", "status", "dashboard"])
def test_tables_break_no_words_on_a_phone(tab: Tab, view: str) -> None:
    root = tab("root", at=None, viewport={"width": 360, "height": 800})
    page = root.goto(f"/?view={view}")
    expect(page.locator("main th").first).to_be_visible()
    assert page.evaluate(BROKEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert root.violations() == []


def test_text_from_right_to_left_begins_on_the_right(tab: Tab, site: Site) -> None:
    with site.service.client(site.tokens["ben"]) as ben:
        made = ben.put("/documents/heron-ar.md", json={"text": f"# {ARABIC}\n\n{ARABIC} heronar", "title": ARABIC})
        assert made.status_code == 201
    page = tab("ben", at=None).goto("/?q=heronar")
    expect(page.locator(".hit").first).to_be_visible()
    for shown in (page.locator(".hit h2").first, page.locator(".hit .passage").first):
        expect(shown).to_have_css("direction", "rtl")
    page.locator(".hit h2 a").first.click()
    expect(page.locator(".text p").first).to_be_visible()
    for shown in (page.locator("h1"), page.locator(".text p").first):
        expect(shown).to_have_css("direction", "rtl")
    expect(page.locator("body")).to_have_css("direction", "ltr")


def test_an_answer_is_printed_with_its_sources_and_without_controls(tab: Tab) -> None:
    ann = tab("ann", at=None)
    page = ann.goto("/?view=chat&q=how long does the cache live")
    expect(page.get_by_role("button", name="Verify")).to_be_visible()
    page.emulate_media(media="print")
    for each in page.locator("select, input, nav, form, .acts, button:not(.cite)").all():
        expect(each).to_be_hidden()
    expect(page.locator("aside .hit").first).to_be_visible()
    for each in page.locator("aside .passage").all():
        assert each.evaluate("each => each.scrollHeight <= each.clientHeight + 1")
        assert each.evaluate("each => getComputedStyle(each).maskImage") == "none"


def test_works_lists_works_alone(tab: Tab) -> None:
    page = tab("ann", at=None).goto("/?view=works&q=cache entries minutes")
    expect(page.locator(".beside .hit").first).to_be_visible()
    for each in page.locator(".beside .hit h3").all():
        expect(each).to_contain_text("On caching")


def test_only_works_are_found_where_only_works_are_asked_for() -> None:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(Document("a.md", "Herons wait in the reeds for hours.", "Of herons"))
        assert not index.retrieve("herons in reeds", works_only=True).reranked
        index.works.add(Work("Herons", "Herons wait in the reeds.", year=1990, license="CC0-1.0"))
        found = index.retrieve("herons in reeds", works_only=True)
        assert {hit.title for hit in found.reranked} == {"Herons"}
        assert {item.title for item in found.evidence.items} == {"Herons"}
        assert {hit.title for hit in index.retrieve("herons in reeds").reranked} == {"Herons", "Of herons"}


@pytest.mark.parametrize("data", [b"", b" \n\t\n", "\ufeff".encode()])
@pytest.mark.parametrize("name", ["empty.md", "empty.txt", "empty.py", "empty.html", "empty.csv"])
def test_an_empty_file_is_called_empty_and_stores_nothing(name: str, data: bytes) -> None:
    with rifflux.open(":memory:", model="hash") as index:
        ann = index.scoped(Scope("ann"))
        ann.documents.upload(name, b"The heron waits.", key="kept")
        before = ann.status()
        for key in ("new", "kept"):
            with pytest.raises(Unreadable, match=r"empty|no text|holds nothing"):
                ann.documents.upload(name, data, key=key)
        after = ann.status()
        assert (after.documents, after.chunks) == (before.documents, before.chunks)


@pytest.mark.parametrize(
    ("part", "whole", "shown"), [(9_999, 10_000, "99%"), (1, 1, "100%"), (0, 7, "0%"), (2, 3, "66%")]
)
def test_a_share_is_whole_only_where_nothing_is_missing(part: int, whole: int, shown: str) -> None:
    assert percent(part, whole) == shown
