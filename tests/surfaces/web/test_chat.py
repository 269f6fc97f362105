"""Asking in a real browser: answers of the service, and what a model might send, each piece as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import Opened, needs_browser
from tests.surfaces.web.conftest import HOSTILE

pytestmark = needs_browser

Tab = Callable[..., Opened]
ITEM = {"number": 1, "document": "notes/n1.md", "chunk_id": "0" * 16, "title": HOSTILE, "collection": "library"}
PACK: dict[str, Any] = {"items": [{**ITEM, "heading_path": "", "text": f"Cache entries live. {HOSTILE}"}]}
DONE = {
    "question": "q",
    "searched": "q",
    "refused": False,
    "reason": "",
    "by": "some-model",
    "pack": PACK,
    "tokens": 12,
}
DONE |= {"citations": [{"number": 1}], "withdrawn": [], "notes": [], "degraded": ["the model was slow"]}


def ask(page: Page, question: str) -> None:
    """Ask by keyboard."""
    page.get_by_label("Question").fill(question)
    page.keyboard.press("Enter")


def answered(page: Page, count: int) -> None:
    """Wait until so many questions of the open chat are asked, each is answered, and the list of chats says so."""
    expect(page.locator(".said.user")).to_have_count(count)
    # It is there as soon as a question is shown.
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    here = page.get_by_role("region", name="Chats").get_by_role("listitem").filter(has=page.locator("[aria-current]"))
    expect(here).to_contain_text(f"{count} answer")


def scripted(page: Page, events: Sequence[tuple[str, Any]]) -> None:
    """Have the service send these events."""
    body = "".join(f"event: {name}\ndata: {json.dumps(told)}\n\n" for name, told in events)
    page.route("**/chat", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=body))


@pytest.fixture
def ann(tab: Tab) -> Opened:
    """Ann, where questions are asked."""
    ann = tab("ann")
    ann.page.get_by_role("link", name="Ask", exact=True).click()
    return ann


def test_what_stands_in_a_source_is_answered_with_it(ann: Opened) -> None:
    page = ann.page
    ask(page, "how many minutes do cache entries live")
    expect(page.locator(".said").nth(1)).not_to_have_text("…")
    expect(page.get_by_role("complementary", name="Sources").locator(".hit")).not_to_have_count(0)
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#live")).to_contain_text("checked")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save evidence").click()
    assert json.loads(saved.value.path().read_text())["items"]
    ask(page, "and the heron?")
    expect(page.locator(".said.user")).to_have_count(2)


def test_citations_lead_to_their_source_and_what_is_withdrawn_is_struck_out(ann: Opened) -> None:
    page, text = ann.page, f"Entries live 🦦 {HOSTILE} [1]. See [9]."
    withdrawn = {"text": "They live for ever.", "at": 14, "reason": "it stands in no source"}
    events = [("sources", {"pack": PACK}), ("delta", {"text": text[:20]}), ("delta", {"text": text[20:]})]
    done = {**DONE, "text": text, "withdrawn": [withdrawn["text"]]}
    scripted(page, [*events, ("withdrawn", withdrawn), ("done", done)])
    ask(page, "how long?")
    answer = page.locator(".said").nth(1)
    expect(answer).to_contain_text(HOSTILE)
    expect(answer.locator("s")).to_have_text("They live for ever.")
    expect(answer).to_contain_text("See [9].")
    answer.get_by_role("button", name="Source 1").click()
    expect(page.locator("[data-number='1']")).to_be_focused()
    expect(page.get_by_text("1 sentence withdrawn")).to_be_visible()
    expect(page.get_by_text("the model was slow")).to_be_visible()
    assert page.locator("main img, main script").count() == 0
    assert ann.violations() == []


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([("sources", {"pack": PACK}), ("error", {"code": "model", "detail": "it broke"})], "it broke"),
        ([("sources", {"pack": PACK}), ("delta", {"text": "half an"})], "The answer broke off"),
        ([], "The answer broke off"),
    ],
)
def test_what_ends_badly_is_told(ann: Opened, events: Sequence[tuple[str, Any]], told: str) -> None:
    scripted(ann.page, events)
    ask(ann.page, "how long?")
    expect(ann.page.get_by_role("alert")).to_contain_text(told)
    expect(ann.page.get_by_label("Question")).to_be_focused()


def test_a_refusal_shows_the_nearest_passages(ann: Opened) -> None:
    refused = {**DONE, "text": "", "refused": True, "reason": "Little speaks for any passage.", "citations": []}
    scripted(ann.page, [("sources", {"pack": PACK}), ("done", refused)])
    ask(ann.page, "why?")
    expect(ann.page.locator(".said").nth(1)).to_have_text("Not answered. Little speaks for any passage.")
    expect(ann.page.get_by_role("heading", name="The nearest passages")).to_be_visible()


def test_an_answer_can_be_stopped(ann: Opened) -> None:
    ann.page.route("**/chat", lambda route: None)
    ann.forgiven.append("ERR_")
    ask(ann.page, "how long?")
    ann.page.keyboard.press("Escape")
    expect(ann.page.get_by_role("alert")).to_have_text("Stopped.")
    ask(ann.page, "how long now?")
    ann.page.get_by_role("button", name="Stop").click()
    expect(ann.page.get_by_role("alert")).to_have_count(2)


def chat_of(page: Page) -> str:
    """Return the address of the chat that is open, once it is recorded."""
    page.wait_for_url("**chat=*")
    return page.url


def test_a_chat_is_there_again_after_a_reload_by_its_link_and_going_back(ann: Opened, tab: Tab) -> None:
    page = ann.page
    ask(page, "how many minutes do cache entries live")
    link = chat_of(page)
    ask(page, "and the heron?")
    answered(page, 2)
    answer = page.locator(".said").nth(1).inner_text()
    page.reload()
    expect(page.locator(".said.user")).to_have_text(["how many minutes do cache entries live", "and the heron?"])
    expect(page.locator(".said").nth(1)).to_have_text(answer)
    page.get_by_role("button", name="Begin anew").click()
    expect(page.locator(".said.user")).to_have_count(0)
    page.go_back()
    expect(page.locator(".said.user")).to_have_count(2)
    page.goto(link)
    expect(page.locator(".said.user")).to_have_count(2)
    assert ann.violations() == []
    ben = tab("ben")
    ben.forgiven.append("404")
    ben.page.goto(link)
    expect(ben.page.get_by_role("alert")).to_contain_text("no chat")
    expect(ben.page.get_by_text("cache entries live")).to_have_count(0)


def test_a_chat_is_continued_renamed_exported_and_deleted(ann: Opened) -> None:
    page = ann.page
    ask(page, "how many minutes do cache entries live")
    link = chat_of(page)
    chats = page.get_by_role("region", name="Chats")
    chats.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill("Of minutes")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(chats.get_by_role("link", name="Of minutes")).to_be_visible()
    page.goto(link)
    expect(page.locator(".said.user")).to_have_count(1)
    ask(page, "and the heron?")
    answered(page, 2)
    assert page.url == link
    with page.expect_download() as saved:
        chats.get_by_role("button", name="Export").click()
    assert saved.value.path().read_text().startswith("# Of minutes\n\n## how many minutes do cache entries live")
    chats.get_by_role("button", name="Delete").click()
    chats.get_by_role("button", name="Really? It cannot be undone").click()
    expect(chats.get_by_role("link", name="Of minutes")).to_have_count(0)
    ann.forgiven.append("404")
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("no chat")


#: Answers what is not to be quoted with the first events alone, and never ends.
HANGING = """(events) => {
  const real = window.fetch;
  window.fetch = (path, options) => {
    if (!path.endsWith("/chat") || JSON.parse(options.body).extract) return real(path, options);
    const body = new ReadableStream({start(stream) {
      stream.enqueue(new TextEncoder().encode(events));
      options.signal.addEventListener("abort", () => stream.error(new DOMException("left", "AbortError")));
    }});
    return Promise.resolve(new Response(body));
  };
}"""


def test_quotes_are_read_while_a_model_is_waited_for_and_can_be_used_instead(ann: Opened) -> None:
    page = ann.page
    sources = {"pack": PACK, "model": "some-model", "quotations": "**Caches**\n\nEntries live. [1]"}
    page.evaluate(HANGING, f"event: sources\ndata: {json.dumps(sources)}\n\n")
    ask(page, "how many minutes do cache entries live")
    answer = page.locator(".said").nth(1)
    expect(answer).to_contain_text("Entries live.")
    expect(answer.get_by_role("status")).to_contain_text("Waiting for some-model…")
    assert ann.violations() == []
    answer.get_by_role("button", name="Use these quotes").click()
    expect(page.get_by_text("Quoted word for word", exact=True)).to_be_visible()
    expect(page.locator(".said.user")).to_have_count(1)
    ask(page, "how many minutes do cache entries live")
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_have_text("Stopped.")
    expect(page.get_by_text("Waiting for")).to_have_count(0)


def test_what_a_model_writes_takes_the_place_of_quotes(ann: Opened) -> None:
    sources = {"pack": PACK, "model": "some-model", "quotations": "Quoted. [1]"}
    done = {**DONE, "text": "Written. [1]"}
    scripted(ann.page, [("sources", sources), ("delta", {"text": "Written. [1]"}), ("done", done)])
    ask(ann.page, "how long?")
    answer = ann.page.locator(".said").nth(1)
    expect(answer).to_contain_text("Written.")
    expect(answer).not_to_contain_text("Quoted.")
    expect(ann.page.get_by_text("By some-model")).to_be_visible()
