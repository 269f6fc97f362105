"""A real browser: pages that must show no error, ask no other host, and pass axe."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["Opened", "launched", "needs_browser", "opened"]

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
AXE = Path(__file__).parents[2] / ".browser" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

#: Milliseconds that an element may take to come, on a machine that does other things.
PATIENCE_MS = 180_000

needs_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: run scripts/browser.sh"),
]


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    sync_api.expect.set_options(timeout=PATIENCE_MS)
    with sync_api.sync_playwright() as playwright:
        # Chromium has no sandbox where root runs it, as in a container.
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@dataclass
class Opened:
    """A tab of somebody's own, and what went wrong in it but what is `forgiven`, such as an answer of status 404."""

    page: Page
    url: str
    forgiven: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def goto(self, address: str = "/") -> Page:
        """Open an address of the service."""
        self.page.goto(f"{self.url}{address}")
        return self.page

    def sign_in(self, token: str) -> None:
        """Get the cookie of a token."""
        answer = self.page.context.request.post(f"{self.url}/session", data={"token": token})
        assert answer.ok, answer.text()

    def violations(self) -> list[str]:
        """What axe finds wrong with the page as it is shown."""
        if not AXE.exists():
            pytest.skip("no axe-core: run scripts/browser.sh")
        # Run by the debugger, which the page's policy does not bind.
        self.page.evaluate(f"{_axe()}; undefined")
        found = self.page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
        return [
            f"{each['id']}: {each['help']}: {[node['html'][:120] for node in each['nodes'][:3]]} "
            f"{each['nodes'][0]['failureSummary'][:200]}"
            for each in found["violations"]
        ]


@cache
def _axe() -> str:
    return AXE.read_text()


@contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Opened]:
    """A tab with cookies of its own; at the end nothing may have gone wrong in it."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    tab = Opened(context.new_page(), url)

    def note(what: str) -> None:
        if not any(each in what for each in tab.forgiven):
            tab.wrong.append(what)

    tab.page.on("pageerror", lambda error: note(f"error: {error}"))
    tab.page.on("console", lambda message: note(message.text) if message.type in ("error", "warning") else None)
    tab.page.on(
        "request", lambda request: None if request.url.startswith((url, "blob:", "data:")) else note(request.url)
    )
    yield tab
    context.close()
    assert not tab.wrong, json.dumps(tab.wrong, indent=1)
