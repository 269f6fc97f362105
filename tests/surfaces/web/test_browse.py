"""`rifflux browse`: a service for whoever starts it, which its address opens once."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from playwright.sync_api import expect

import rifflux
from rifflux import Document
from tests.support.browser import needs_browser, opened
from tests.support.commands import PATIENCE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Any:
    """The command line in a folder with an index."""
    run = command_line(tmp_path_factory.mktemp("browsed"))
    with rifflux.open(run.folder / "index.db", model="hash") as index:
        index.add(Document("a.md", "The cache is emptied daily.", "Caching"))
    return run


@contextmanager
def browsing(run: Any, *arguments: str, **more: str) -> Iterator[tuple[str, str]]:
    """`rifflux browse` until the block ends: its host and its pass."""
    process = subprocess.Popen(
        run.forked("browse", "--db", "index.db", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=run.folder,
        env=run.environment | more,
        text=True,
        preexec_fn=run.hears_ctrl_c,
    )
    assert process.stdout
    host, _, secret = process.stdout.readline().strip().partition("/#pass=")
    try:
        yield host, secret
    finally:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in told, told
        assert process.returncode == 128 + signal.SIGINT


def test_the_address_opens_it_once_and_nobody_else_gets_in(run: Any) -> None:
    with browsing(run, "--no-window") as (host, secret):
        assert host.startswith("http://127.0.0.1:")
        with (
            httpx.Client(base_url=host, timeout=PATIENCE, verify=False) as mine,
            httpx.Client(base_url=host, timeout=PATIENCE, verify=False) as other,
        ):
            assert mine.get("/me").status_code == 401
            assert mine.post("/session", json={"pass": secret}).status_code == 204
            assert mine.get("/me").json()["role"] == "admin"
            assert "emptied" in mine.get("/?q=cache").text
            assert other.post("/session", json={"pass": secret}).status_code == 401
            assert other.get("/stats").status_code == 401


def test_it_is_as_a_user_has_it(run: Any) -> None:
    with (
        browsing(run, "--no-window", "--user", "ann") as (host, secret),
        httpx.Client(base_url=host, timeout=PATIENCE, verify=False) as mine,
    ):
        assert mine.post("/session", json={"pass": secret}).status_code == 204
        assert mine.get("/me").json()["user"] == "ann"
        assert mine.get("/stats").json()["documents"] == 0
        assert mine.get("/tokens").json() == {"tokens": [], "next": None}
        assert mine.get("/dashboard/data").status_code == 403


def test_a_browser_is_opened_without_telling_others_the_pass(run: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys\nopen({str(seen)!r}, 'w').write(sys.argv[1])\n")
    browser.chmod(0o755)
    with browsing(run, BROWSER=f"{browser} %s") as (host, secret):
        until = time.monotonic() + PATIENCE
        while not (seen.exists() and seen.read_text()) and time.monotonic() < until:
            time.sleep(0.02)
        shown = seen.read_text()
        assert secret not in shown
        page = Path(shown.removeprefix("file://"))
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert f"{host}/#pass={secret}" in page.read_text()
    assert not page.exists()


def test_a_port_in_use_is_told(run: Any) -> None:
    with browsing(run, "--no-window") as (host, _):
        told = run.refusal("browse", "--db", "index.db", "--no-window", "--port", host.rpartition(":")[2])
    assert "choose another port" in told


class TestInABrowser:
    pytestmark = needs_browser

    def test_the_address_signs_in_and_leaves_no_trace(self, run: Any, browser: Any) -> None:
        with browsing(run, "--no-window") as (host, secret), opened(browser, host) as tab:
            page = tab.goto(f"/#pass={secret}")
            expect(page.locator(".ask input")).to_be_focused()
            assert page.url == f"{host}/"
            page.keyboard.type("cache")
            expect(page.locator(".hit")).to_have_count(1)
            page.reload()
            expect(page.locator(".hit")).to_have_count(1)

    def test_opened_a_second_time_it_says_that_it_was_used(self, run: Any, browser: Any) -> None:
        with browsing(run, "--no-window") as (host, secret):
            with opened(browser, host) as tab:
                expect(tab.goto(f"/#pass={secret}").locator(".ask input")).to_be_focused()
            with opened(browser, host) as tab:
                tab.forgiven.append("401")
                page = tab.goto(f"/#pass={secret}")
                expect(page.get_by_role("heading")).to_have_text("This address was used")
                expect(page.locator("main")).to_contain_text("rifflux browse again")
                assert tab.violations() == []
