"""What the page is before its script runs, and how it takes over: views, what is typed, signing in and out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx
import pytest
from playwright.sync_api import Page, Route, expect

from rifflux.surfaces.web.page import VIEWS
from tests.support.browser import Opened, needs_browser
from tests.surfaces.web.conftest import Site

pytestmark = needs_browser

Tab = Callable[..., Opened]
ASKING = [each for each in VIEWS if each.label]


@dataclass
class Held:
    """The script of a page, held back until it may come: whether it was requested by then or not."""

    requests: list[Route] = field(default_factory=list)
    may_come: bool = False

    def take(self, route: Route) -> None:
        """Hold back a request, or let it through."""
        if self.may_come:
            route.continue_()
        else:
            self.requests.append(route)

    def let(self) -> None:
        """Let the script come."""
        self.may_come = True
        for each in self.requests:
            each.continue_()


def hold(page: Page) -> Held:
    """Hold back the script of the page."""
    held = Held()
    page.route("**/assets/page.js", held.take)
    return held


@pytest.mark.parametrize("view", VIEWS, ids=lambda each: each.title)
def test_each_view_is_itself_before_the_script_runs(tab: Tab, view: Any) -> None:
    root = tab("root", at=None)
    page, held = root.page, hold(root.page)
    page.goto(f"{root.url}/?view={view.name}", wait_until="commit")
    expect(page.locator("h1")).to_have_text(view.title)
    expect(page.locator("nav [aria-current]")).to_have_text(view.title)
    assert page.locator(".ask [name=q]").count() == bool(view.label)
    assert root.violations() == []
    held.let()
    expect(page.locator("#who button").first).to_be_visible()
    expect(page.locator("h1").first).to_have_text(view.title)


@pytest.mark.parametrize("view", ASKING, ids=lambda each: each.title)
def test_what_is_typed_before_the_script_runs_stays_in_its_place(tab: Tab, view: Any) -> None:
    ann = tab("ann", at=None)
    page, held = ann.page, hold(ann.page)
    page.goto(f"{ann.url}/?view={view.name}", wait_until="commit")
    field = page.get_by_label(view.label, exact=True)
    field.press_sequentially("cache ntries")
    for _ in range(6):
        field.press("ArrowLeft")
    held.let()
    expect(page.locator("#who button").first).to_be_visible()
    field = page.get_by_label(view.label, exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_value("cache ntries")
    page.keyboard.type("e")
    expect(field).to_have_value("cache entries")


def test_what_is_typed_into_a_search_before_the_script_runs_is_searched(tab: Tab) -> None:
    ann = tab("ann", at=None)
    page, held = ann.page, hold(ann.page)
    page.goto(f"{ann.url}/", wait_until="commit")
    page.get_by_label("Search", exact=True).press_sequentially("heron")
    held.let()
    expect(page.locator(".hit h2").first).to_have_text("Herons")


@pytest.mark.parametrize("view", ASKING, ids=lambda each: each.title)
def test_a_question_that_is_sent_before_the_script_runs_goes_to_its_view(tab: Tab, view: Any) -> None:
    ann = tab("ann", at=None)
    page, held = ann.page, hold(ann.page)
    page.goto(f"{ann.url}/?view={view.name}", wait_until="commit")
    page.get_by_label(view.label, exact=True).fill("caching")
    page.get_by_label(view.label, exact=True).press("Enter")
    page.wait_for_url("**q=caching", wait_until="commit")
    held.let()
    expect(page.locator("nav [aria-current]")).to_have_text(view.title)
    assert (f"view={view.name}" in page.url) == bool(view.name)


def test_without_a_script_each_view_that_needs_one_says_so(tab: Tab, site: Site) -> None:
    ann = tab("ann", at=None, java_script_enabled=False)
    for view in VIEWS:
        said = ann.goto(f"/?view={view.name}").inner_text("body")
        assert ("needs JavaScript" in said) == bool(view.name and not view.for_admins)


class TestSigningIn:
    @pytest.mark.parametrize("address", ["/?view=status", "/?q=cache&kind=markdown&kind=pdf", "/?doc=long.md"])
    def test_it_leads_back_to_where_somebody_wanted_to_go(self, tab: Tab, site: Site, address: str) -> None:
        ann = tab(java_script_enabled=False)
        page = ann.goto(address) if address == "/?view=status" else _forgiving(ann).goto(address)
        page.get_by_label("Your token").fill("rfx_no_no")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not valid")
        page.get_by_label("Your token").fill(site.tokens["ann"])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_label("Your token")).to_have_count(0)
        assert page.url == f"{ann.url}{address}"

    @pytest.mark.parametrize(
        "back",
        [
            "//evil.example/", "https://evil.example",
            "\\\\evil.example", "@evil.example", "view=status#//evil.example",
            "a=b\r\nLocation: https://evil.example", "../admin",
            "/../..//evil.example", "x" * 100_000, "\0", "%0d%0aX: y",
        ],
    )  # fmt: skip
    def test_it_leads_to_nowhere_but_this_page(self, site: Site, back: str) -> None:
        for token in (site.tokens["ann"], "rfx_no_no"):
            with site.service.client() as client:
                answer = client.post("/session", data={"token": token, "back": back})
            assert answer.status_code == 303
            location = answer.headers["Location"]
            assert re.fullmatch(r"/(\?[^\s\\/#]*)?", location), location
            assert str(httpx.URL(site.service.url).join(location)).startswith(f"{site.service.url}/")
            assert "X" not in answer.headers

    def test_a_revoked_token_leads_to_it_from_every_view_and_back(self, tab: Tab, site: Site) -> None:
        ann = _forgiving(tab())
        with site.service.client(site.tokens["root"]) as root:
            for view in VIEWS:
                if view.for_admins:
                    continue
                made = root.post("/tokens", json={"user": "ann", "role": "user"}).json()
                ann.sign_in(made["token"])
                page = ann.goto(f"/?view={view.name}")
                expect(page.locator("#who button").first).to_be_visible()
                page.wait_for_load_state("networkidle")
                root.delete(f"/tokens/{made['id']}")
                if view.label:
                    page.locator(".ask [name=q]").fill("heron")
                    page.keyboard.press("Enter")
                else:
                    page.get_by_role("link", name="Library" if view.name != "library" else "Status").click()
                expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
                expect(page.get_by_role("alert")).to_contain_text("signed out")
                if not view.name:
                    assert ann.violations() == []
                page.get_by_label("Your token").fill(site.tokens["ann"])
                page.get_by_role("button", name="Sign in").click()
                expect(page.locator("#who button").first).to_be_visible()
                if view.label and view.name != "chat":
                    assert "q=heron" in page.url


def _forgiving(tab: Opened) -> Opened:
    """Return a tab in which a refusal is no fault."""
    tab.forgiven.append("401")
    return tab
