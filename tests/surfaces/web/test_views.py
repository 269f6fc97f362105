"""The other views of the page in a real browser: works, conversations, library, status, settings, dashboard."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import Opened, needs_browser
from tests.surfaces.web.conftest import Site

pytestmark = needs_browser

Tab = Callable[..., Opened]
VIEWS = ("chat", "works", "talks", "memories", "library", "status", "settings", "dashboard")


def view(page: Page, name: str) -> None:
    """Go to a view by its link."""
    page.get_by_role("navigation", name="Views").get_by_role("link", name=name, exact=True).click()
    expect(page.locator("h1")).to_have_text(name)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_everybody_can_use_every_view(tab: Tab, scheme: str, width: int) -> None:
    root = tab("root", at=None, color_scheme=scheme, viewport={"width": width, "height": 800})
    for name in VIEWS:
        root.page.goto(f"{root.url}/?view={name}&q=caching")
        expect(root.page.locator("h1")).to_be_visible()
        expect(root.page.locator("main .soft, main .note").first).to_be_visible()
        assert root.violations() == [], name
        assert root.page.evaluate("document.documentElement.scrollWidth") == width, name


class TestWorks:
    def test_evidence_is_saved_and_checked(self, tab: Tab, tmp_path: Path) -> None:
        page = tab("ann").page
        view(page, "Works")
        page.get_by_label("Search works").fill("caching")
        page.keyboard.press("Enter")
        expect(page.locator(".hit h3").first).to_have_text("On caching")
        page.get_by_role("button", name="Why here?").first.click()
        expect(page.locator(".bars .legend")).to_contain_text("lexical")
        page.get_by_role("button", name="Citations").click()
        expect(page.get_by_text("none in here").first).to_be_visible()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save pack").click()
        pack = json.loads(saved.value.path().read_text())
        assert pack["items"][0]["title"] == "On caching"
        with page.expect_download() as saved:
            page.get_by_role("button", name="BibTeX").click()
        assert "Able" in saved.value.path().read_text()
        page.get_by_role("button", name="Verify").click()
        expect(page.get_by_text("each as it is indexed.")).to_be_visible()
        pack["items"][0]["text"] += "!"
        changed = tmp_path / "pack.json"
        changed.write_text(json.dumps(pack))
        page.get_by_label("A pack that was saved").set_input_files(changed)
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("not as it was")

    def test_intents_are_offered_and_a_lacking_identifier_is_told(self, tab: Tab) -> None:
        page = tab("ann").page
        view(page, "Works")
        page.get_by_text("Which works").click()
        page.get_by_label("Search works").fill("doi:10.5555/absent on caching")
        for mode in ("generic", "keywords"):
            page.get_by_label("Intent").select_option(mode)
            page.get_by_role("button", name="Find").click()
            expect(page.locator("main .soft").first).to_contain_text(f"{mode}: asked for by name")
        lacking = page.get_by_text("no work here has the identifier doi:10.5555/absent: the nearest titles here are")
        expect(lacking).to_contain_text("'On caching'")

    def test_pairs_that_may_be_one_work_are_decided_on(self, tab: Tab, site: Site) -> None:
        records = [
            {"_id": f"d{number}", "title": title, "authors": ["Doe, Dora"], "year": 1990}
            for number, title in enumerate(
                (
                    "On the primes of twins",
                    "On the primes of twins",
                    "Of pears <b>and</b> apples",
                    "Of pears <b>and</b> apples",
                )
            )
        ]
        ann = site.service.client(site.tokens["ann"])
        assert ann.post("/works", json={"records": records, "source": "twins"}).status_code == 200
        page = tab("ann").page
        view(page, "Works")
        pairs = page.get_by_role("region", name="works that may be one")
        expect(pairs.get_by_role("heading", level=2)).to_have_text("2 pairs of works that may be one")
        first = pairs.locator(".hit", has_text="twins:d1")
        first.get_by_role("button", name="One work").click()
        expect(pairs.get_by_role("heading", level=2)).to_have_text("1 pair of works that may be one")
        pairs.get_by_role("link", name="twins:d3").click()
        expect(page.locator("h1")).to_have_text("Of pears <b>and</b> apples")
        page.go_back()
        pairs.get_by_role("button", name="Two works").click()
        expect(pairs).to_have_count(0)
        assert ann.get("/works/doubts").json() == {"doubts": []}


class TestConversations:
    def test_they_are_searched_and_read_at_the_message(self, tab: Tab) -> None:
        page = tab("ann").page
        view(page, "Conversations")
        expect(page.locator(".hit h2")).to_have_text("Of caches")
        page.get_by_label("Search messages").fill("ten minutes")
        page.keyboard.press("Enter")
        page.locator(".hit .passage a").first.click()
        expect(page.locator(".said.here")).to_contain_text("Ten minutes.")
        page.get_by_label("A message").fill("Thank you <b>all</b>")
        page.keyboard.press("Enter")
        expect(page.locator(".said").last).to_contain_text("Thank you <b>all</b>")

    def test_a_message_that_a_search_of_everything_finds_opens_there(self, tab: Tab) -> None:
        ann = tab("ann", at=None)
        ann.page.goto(f"{ann.url}/?q=how+long+does+the+cache+live+ten&in=everything&kind=message")
        ann.page.locator(".hit h2 a", has_text="Of caches").first.click()
        expect(ann.page.locator(".said.here")).to_be_visible()


class TestMemories:
    def test_they_are_kept_changed_replaced_and_forgotten(self, tab: Tab) -> None:
        page = tab("ann").page
        view(page, "Memories")
        dialog = page.get_by_role("dialog")
        page.get_by_role("button", name="Remember something").click()
        dialog.get_by_label("What").fill("Ann rows on Sundays <b>early</b>")
        dialog.get_by_label("Importance").fill("9")
        dialog.get_by_label("Until").fill("2999-01-31")
        dialog.get_by_role("button", name="Remember").click()
        row = page.locator(".hit", has_text="rows on Sundays")
        expect(row).to_contain_text("<b>early</b>")
        expect(row).to_contain_text("importance 9")
        expect(row).to_contain_text("until 2999-01-31")
        row.get_by_role("button", name="Edit").click()
        dialog.get_by_label("Category").fill("sport")
        dialog.get_by_label("Until").fill("")
        dialog.get_by_role("button", name="Keep").click()
        expect(row).to_contain_text("sport")
        expect(row).not_to_contain_text("until")
        row.get_by_role("button", name="Replace").click()
        dialog.get_by_label("What").fill("Ann rows on Mondays")
        dialog.get_by_role("button", name="Replace").click()
        expect(row).to_have_count(0)
        row = page.locator(".hit", has_text="rows on Mondays")
        row.get_by_role("button", name="History").click()
        expect(row.get_by_role("listitem")).to_have_count(2)
        page.get_by_label("also what is out of force").check()
        expect(page.locator(".hit", has_text="rows on Sundays").first).to_contain_text("replaced")
        row.get_by_role("button", name="Forget").click()
        row.get_by_role("button", name="Really?").click()
        expect(row).to_have_count(0)
        expect(page.locator(".hit", has_text="rows on Sundays")).not_to_contain_text("replaced")

    def test_they_are_recalled_with_a_reason(self, tab: Tab) -> None:
        page = tab("ann").page
        view(page, "Memories")
        page.get_by_label("Recall memories").fill("green tea")
        page.keyboard.press("Enter")
        row = page.locator(".hit", has_text="green tea")
        row.get_by_role("button", name="Why here?").click()
        expect(row.locator(".bar")).not_to_have_count(0)
        assert "q=green+tea" in page.url

    def test_what_matters_too_little_is_refused_with_the_reason(self, tab: Tab) -> None:
        page = tab("ann").page
        view(page, "Memories")
        page.get_by_role("button", name="Remember something").click()
        page.get_by_role("dialog").get_by_label("What").fill("It rains")
        page.get_by_label("Importance").fill("1")
        page.get_by_role("dialog").get_by_role("button", name="Remember").click()
        expect(page.get_by_role("alert")).to_contain_text("importance")


class TestLibrary:
    def test_files_are_put_in_shared_and_removed(self, tab: Tab, tmp_path: Path) -> None:
        ann, ben = tab("ann"), tab("ben")
        page = ann.page
        view(page, "Library")
        page.locator("section", has_text="A new collection").get_by_label("Name").fill("plans")
        page.get_by_role("button", name="Make it").click()
        plans = page.get_by_role("region", name="plans")
        expect(plans).to_contain_text("0 documents")
        file = tmp_path / "plan.md"
        file.write_text("# Plan\n\nPaint the quokka shed green.")
        upload = page.get_by_role("region", name="Upload")
        upload.get_by_label("Files").set_input_files(file)
        upload.get_by_label("Into").select_option("plans")
        upload.get_by_role("button", name="Upload").click()
        expect(upload.get_by_role("status")).to_contain_text("plan.md: 1 passage stored")
        expect(plans).to_contain_text("1 document")
        plans.get_by_role("button", name="Sharing").click()
        plans.get_by_label("With whom").fill("ben")
        plans.get_by_role("button", name="Share", exact=True).click()
        expect(plans.get_by_role("listitem")).to_contain_text("ben")
        ben.page.goto(f"{ben.url}/?q=quokka+shed")
        expect(ben.page.locator(".hits")).to_contain_text("quokka shed green")
        view(ben.page, "Library")
        expect(ben.page.get_by_role("region", name="ann/plans")).to_contain_text("yours to read")
        expect(ben.page.get_by_role("region", name="ann/plans").get_by_role("button", name="Sharing")).to_have_count(0)
        plans.get_by_role("button", name="End").click()
        expect(plans).to_contain_text("Nobody else reads it.")
        plans.get_by_role("button", name="Documents").click()
        plans.get_by_role("link", name="Plan").focus()
        plans.get_by_role("button", name="Remove").click()
        plans.get_by_role("button", name="Really?").click()
        expect(plans).to_contain_text("Nothing yet.")
        plans.get_by_role("button", name="Rename").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Really?").click()
        expect(plans).to_have_count(0)

    def test_an_import_that_goes_on_shows_how_far_it_is(self, tab: Tab, tmp_path: Path) -> None:
        ann = tab("ann")
        view(ann.page, "Library")
        file = tmp_path / "talks.zip"
        with zipfile.ZipFile(file, "w") as archive:
            for number in range(2000):
                archive.writestr(f"talk-{number}.json", json.dumps([{"role": "user", "content": f"wombat {number}"}]))
        upload = ann.page.get_by_role("region", name="Upload")
        upload.get_by_label("Files").set_input_files(file)
        upload.get_by_label("Each is").select_option("an export of conversations")
        upload.get_by_role("button", name="Upload").click()
        told = upload.get_by_role("status")
        expect(told).to_contain_text(re.compile(r"storing… \d+ of 2000"))
        expect(told).to_contain_text("2000 conversations")

    def test_a_file_is_read_in_the_language_that_is_named(self, tab: Tab, tmp_path: Path) -> None:
        ann = tab("ann")
        view(ann.page, "Library")
        file = tmp_path / "umzug.md"
        file.write_text("# Umzug\n\nAlte Bibliotheken werden verkauft.", "utf-8")
        upload = ann.page.get_by_role("region", name="Upload")
        upload.get_by_label("Files").set_input_files(file)
        upload.get_by_label("Language").fill("german")
        upload.get_by_label("License").fill("CC-BY-4.0")
        upload.get_by_role("button", name="Upload").click()
        expect(upload.get_by_role("status")).to_contain_text("umzug.md: 1 passage stored")
        # Another form of the word, which no English stemmer makes of it.
        ann.page.goto(f"{ann.url}/?q=Bibliothekens&mode=lexical")
        expect(ann.page.locator(".hits")).to_contain_text("Alte Bibliotheken")

    def test_only_what_is_sent_is_asked_for(self, tab: Tab) -> None:
        ann = tab("ann")
        view(ann.page, "Library")
        upload = ann.page.get_by_role("region", name="Upload")
        for kind, labels in (
            ("an export of conversations", []),
            ("a list of works", ["License"]),
            ("a document of any kind", ["Into", "License", "Language"]),
        ):
            upload.get_by_label("Each is").select_option(kind)
            for label in ("Into", "License", "Language"):
                expect(upload.get_by_label(label)).to_be_visible(visible=label in labels)

    def test_what_cannot_be_read_is_told(self, tab: Tab, tmp_path: Path) -> None:
        ann = tab("ann")
        ann.forgiven.append("422")
        view(ann.page, "Library")
        file = tmp_path / "broken.pdf"
        file.write_text("no PDF")
        upload = ann.page.get_by_role("region", name="Upload")
        upload.get_by_label("Files").set_input_files(file)
        upload.get_by_role("button", name="Upload").click()
        expect(upload.get_by_role("status")).to_contain_text(re.compile("broken.pdf: (?!reading)"))


class TestSettings:
    def test_a_token_is_made_and_revoked(self, tab: Tab) -> None:
        page = tab("ann").page
        view(page, "Settings")
        expect(page.get_by_role("heading", name="Groups")).to_have_count(0)
        page.get_by_label("What it is for").fill("phone")
        page.get_by_role("button", name="Make a token").click()
        made = page.get_by_role("status").locator("code").inner_text()
        other = tab()
        other.goto()
        other.page.fill("#token", made)
        other.page.keyboard.press("Enter")
        expect(other.page.locator("#who")).to_contain_text("ann")
        row = page.get_by_role("row", name="phone")
        row.get_by_role("button", name="Revoke").click()
        row.get_by_role("button", name="Really?").click()
        expect(row).to_contain_text("revoked")
        other.forgiven.append("401")
        other.page.reload()
        expect(other.page.locator("#token")).to_be_visible()

    def test_an_administrator_decides_for_all(self, tab: Tab) -> None:
        page = tab("root").page
        view(page, "Settings")
        with page.expect_response("**/admin/settings") as told:
            page.get_by_label("Search conversations by meaning, too").check()
        assert told.value.ok
        with page.expect_response("**/admin/messages/vectors") as made:
            page.get_by_role("button", name="Make vectors for everybody's messages").click()
        assert made.value.ok
        groups = page.locator("section", has=page.get_by_role("heading", name="Groups"))
        groups.get_by_label("Name").fill("team")
        groups.get_by_label("Members, separated by commas").fill("ann, ben")
        groups.get_by_role("button", name="Keep").click()
        expect(groups.get_by_role("row", name="team")).to_contain_text("ann, ben")
        page.reload()
        expect(page.get_by_role("row", name="group.set").first).to_contain_text("root")


def test_status_counts_what_one_has(tab: Tab) -> None:
    page = tab("ann").page
    view(page, "Status")
    expect(page.locator(".tile", has_text="conversations")).to_contain_text("1")
    expect(page.get_by_role("row", name="ben/wiki")).to_be_visible()


def test_the_dashboard_is_for_administrators(tab: Tab) -> None:
    ann, root = tab("ann"), tab("root")
    root.page.goto(f"{root.url}/dashboard")
    expect(root.page.locator("h1")).to_have_text("Dashboard")
    expect(root.page.get_by_role("row", name="/me").first).to_contain_text("ms")
    assert root.page.locator("circle.p95").count() > 0
    ann.page.goto(f"{ann.url}/dashboard")
    expect(ann.page.locator("h1")).to_have_text("Search")
