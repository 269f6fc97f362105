"""Searching and reading in a real browser, by keyboard and by mouse."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.browser import Opened, needs_browser
from tests.surfaces.web.conftest import HOSTILE

pytestmark = needs_browser

Tab = Callable[..., Opened]


def search(page: Page, query: str) -> None:
    """Type a question, a key at a time, and wait for its results."""
    page.locator(".ask input").fill("")
    page.locator(".ask input").press_sequentially(query)
    expect(page.locator(".found .soft").first).to_contain_text(re.compile("result", re.IGNORECASE))
    expect(page.locator(".stale")).to_have_count(0)


class TestSearching:
    def test_results_come_as_one_types_and_the_address_says_what_is_asked(self, tab: Tab) -> None:
        page = tab("ann").page
        search(page, "cache entries")
        expect(page.locator(".hit")).to_have_count(10)
        expect(page.locator(".hit mark").first).to_have_text(re.compile("cache", re.IGNORECASE))
        assert page.url.endswith("/?q=cache+entries")
        page.reload()
        expect(page.locator(".hit")).to_have_count(10)
        expect(page.locator(".ask input")).to_have_value("cache entries")

    def test_all_of_it_works_by_keyboard(self, tab: Tab) -> None:
        page = tab("ann").page
        page.locator("main").focus()
        page.keyboard.press("/")
        page.keyboard.type("cache entries")
        expect(page.locator(".hit")).to_have_count(10)
        expect(page.locator(".stale")).to_have_count(0)
        page.keyboard.press("ArrowDown")
        expect(page.locator(".hit").nth(0).locator("h2 a")).to_be_focused()
        page.keyboard.press("j")
        expect(page.locator(".hit").nth(1).locator("h2 a")).to_be_focused()
        page.keyboard.press("e")
        expect(page.locator(".hit").nth(1).locator(".bar")).not_to_have_count(0)
        page.keyboard.press("+")
        expect(page.locator(".hit").nth(1).locator(".right")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        expect(page.locator(".blocks .here")).not_to_have_count(0)
        page.keyboard.press("Escape")
        expect(page.locator(".hit")).to_have_count(10)
        page.locator("main").focus()
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)

    def test_code_in_prose_looks_like_code(self, tab: Tab) -> None:
        page = tab("ann").page
        search(page, "quokka")
        passage = page.locator(".hit .passage").first
        expect(passage.locator("code")).to_have_text("if quokka.hungry:\n    quokka.feed()\n")
        expect(passage.locator("code mark").first).to_be_visible()
        expect(passage).to_contain_text("The quokka sleeps then.")
        expect(passage).not_to_contain_text("```")

    def test_it_is_narrowed_by_filters_and_chips_take_them_back(self, tab: Tab) -> None:
        page = tab("ann").page
        search(page, "cache")
        page.locator(".check", has_text="search").click()
        expect(page.locator(".chip")).to_have_text("team: search ×")
        expect(page.locator(".hit")).to_have_count(7)
        page.locator(".check", has_text="ben/wiki").click()
        expect(page.locator(".hit")).to_have_count(0)
        page.locator(".chip", has_text="team").click()
        expect(page.locator(".hit")).to_have_count(1)
        expect(page.locator(".check", has_text="search").locator("input")).not_to_be_checked()
        page.locator(".chip").click()
        page.locator("input[name=since]").fill("2024-05-13")
        page.locator("input[name=since]").blur()
        expect(page.locator(".hit")).to_have_count(2)
        assert "since=2024-05-13" in page.url
        page.go_back()
        expect(page.locator(".hit")).to_have_count(10)

    def test_more_goes_on_where_the_page_ends(self, tab: Tab) -> None:
        page = tab("ann").page
        search(page, "cache entries")
        page.get_by_role("button", name="More", exact=True).click()
        expect(page.locator(".hit").nth(10).locator("h2 a")).to_be_focused()
        assert page.locator(".hit").count() > 10
        titles = page.locator(".hit .where").all_inner_texts()
        assert len(set(titles)) == len(titles)

    def test_it_says_why_something_is_here_and_why_something_is_not(self, tab: Tab) -> None:
        ann = tab("ann")
        page = ann.page
        search(page, "cache entries")
        page.locator(".hit .why").first.click()
        expect(page.locator(".bars").first).to_contain_text("lexical")
        page.get_by_text("Why is something not here?").click()
        page.get_by_label("Document", exact=True).fill("long.md")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("details [role=status]")).to_contain_text("long.md")
        ann.forgiven.append("404")
        page.get_by_label("Document", exact=True).fill("nowhere.md")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("details [role=alert]")).to_contain_text("nowhere.md")

    def test_the_newest_question_does_not_wait_for_one_that_was_typed_past(self, tab: Tab) -> None:
        page, late = tab("ann").page, list[Route]()

        def hold(route: Route) -> None:
            asked = route.request.post_data_json or {}
            if asked["query"] == "h":
                late.append(route)
            else:
                route.continue_()

        page.route("**/search", hold)
        with page.expect_request(lambda sent: '"query":"h"' in (sent.post_data or "")):
            page.locator(".ask input").fill("h")
        page.locator(".ask input").fill("heron")
        expect(page.locator(".hit").first).to_contain_text("heron")
        shown = page.locator(".hits").inner_text()
        with page.expect_response("**/search"):
            late[0].continue_()
        assert page.locator(".hits").inner_text() == shown

    def test_a_question_that_stands_is_counted_and_nothing_moves(self, tab: Tab) -> None:
        page = tab("ann").page
        with page.expect_request(lambda sent: '"typing":false' in (sent.post_data or "")):
            search(page, "cache entries")
            page.keyboard.press("ArrowDown")
        expect(page.locator(".hit").nth(0).locator("h2 a")).to_be_focused()

    def test_thumbs_are_kept(self, tab: Tab) -> None:
        page = tab("ann").page
        search(page, "cache entries")
        with page.expect_response("**/feedback") as told:
            page.locator(".hit .wrong").first.click()
        assert told.value.status == 204
        expect(page.locator(".hit .wrong").first).to_have_attribute("aria-pressed", "true")

    def test_nothing_found_is_told(self, tab: Tab) -> None:
        page = tab("ann", at="/?q=cache&since=2999").page
        expect(page.locator(".found .soft").first).to_contain_text("No results")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [320, 1280])
    def test_everybody_can_use_it(self, tab: Tab, scheme: str, width: int) -> None:
        ann = tab("ann", color_scheme=scheme, viewport={"width": width, "height": 800})
        search(ann.page, "cache entries")
        ann.page.locator(".hit .why").first.click()
        expect(ann.page.locator(".bars")).to_have_count(1)
        assert ann.violations() == []
        assert ann.page.evaluate("document.documentElement.scrollWidth") == width


class TestReading:
    def test_a_document_opens_at_its_passage_with_its_outline(self, tab: Tab) -> None:
        page = tab("ann").page
        search(page, "emptied 33")
        page.locator(".hit", has_text="A long story").first.locator("h2 a").click()
        here = page.locator(".blocks .here").last
        expect(here).to_be_in_viewport()
        expect(here.locator("mark")).not_to_have_count(0)
        assert here.inner_text().startswith("The cache of part")
        outline = page.get_by_role("complementary", name="Outline")
        outline.get_by_text("Part 3", exact=True).click()
        expect(page.locator(".blocks > :focus")).to_contain_text("part 3 is 🦦 emptied")
        page.locator("text=← Results").click()
        expect(page.locator(".ask input")).to_have_value("emptied 33")

    def test_markdown_is_elements_and_never_markup(self, tab: Tab) -> None:
        ann = tab("ann")
        page = ann.page
        search(page, "penguin colony krill")
        page.locator(".hit h2 a", has_text="Of Markdown").first.click()
        blocks = page.locator(".blocks")
        expect(blocks.locator("strong mark")).to_have_text(["penguin", "colony"])
        expect(blocks.locator("td mark")).to_have_text(["penguin", "krill"])
        expect(blocks.locator("th")).to_have_text(["bird", "eats"])
        expect(blocks.get_by_role("heading")).to_have_text("Penguins")
        expect(blocks.locator("a")).to_have_attribute("href", "https://penguins.example/colony")
        expect(blocks.locator(".target")).to_have_text("penguins.example/colony")
        expect(blocks).to_contain_text("[no page](javascript:alert(1)), a chick.")
        expect(blocks).to_contain_text("<script>document.title = 1</script>")
        assert page.locator("main img, main script").count() == 0
        assert ann.violations() == []

    def test_it_says_why_it_ranks_and_is_saved(self, tab: Tab) -> None:
        page = tab("ann", at="/?doc=notes/n3.md&q=cache").page
        page.get_by_role("button", name="Why does it rank so?").click()
        expect(page.locator("[role=status]", has_text="candidate")).to_contain_text("notes/n3.md")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save text").click()
        assert saved.value.path().read_text() == "Cache entries live for 3 minutes."

    def test_a_hostile_document_is_only_text(self, tab: Tab) -> None:
        ann = tab("ann")
        search(ann.page, "evil")
        expect(ann.page.locator(".hit h2").first).to_have_text(HOSTILE)
        ann.page.locator(".hit h2 a").first.click()
        expect(ann.page.locator(".blocks")).to_contain_text(HOSTILE)
        assert ann.page.locator("main img, main script").count() == 0

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_everybody_can_use_it(self, tab: Tab, scheme: str) -> None:
        ann = tab("ann", at="/?doc=long.md&q=cache", color_scheme=scheme)
        expect(ann.page.locator(".outline li")).to_have_count(40)
        assert ann.violations() == []


class TestSigningIn:
    def test_two_users_see_different_things(self, tab: Tab) -> None:
        ann, ben = tab("ann").page, tab("ben").page
        for page in (ann, ben):
            search(page, "kestrel heron")
        expect(ben.locator(".hits")).to_contain_text("secret kestrel")
        expect(ann.locator(".hits")).to_contain_text("shared heron")
        assert "kestrel" not in ann.locator(".hits").inner_text()
        ann.get_by_role("button", name="Sign out").click()
        expect(ann.locator("#token")).to_be_visible()
        assert ann.context.cookies() == []

    def test_a_wrong_token_is_told(self, tab: Tab) -> None:
        somebody = tab()
        page = somebody.goto()
        page.fill("#token", "rfx_wrong_wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("not valid")
        assert somebody.violations() == []
