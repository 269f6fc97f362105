"""Type questions into the page in a real browser, and time the results from the last key.

    python -m bench page INDEX COLLECTION [--questions 100] [--warm-up 5] [--key 90]

INDEX is an index with vectors; COLLECTION holds questions in BEIR's layout. A service of its own is started on it, and
Chromium (`scripts/browser.sh`) pastes each question but its last two words, and types these a key at a time, with the
keys so many milliseconds apart. Times are read in the browser: from the event of the last key to the frame after the
results of the whole question were drawn.
Exit status 1 where the slowest of twenty (p95) is over the limit.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.service.load import PATIENCE_S, percentile, serving
from rifflux.evaluate import read_beir

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
LIMIT_MS = 100.0
#: Longer than a search takes.
QUIET_MS = 800

#: Notes the last key, and the frame after each drawing.
WATCH = """() => {
  window.typed = 0; window.drawn = 0;
  document.querySelector(".ask input").addEventListener("input", () => { window.typed = performance.now(); });
  new MutationObserver(() => requestAnimationFrame(() => { window.drawn = performance.now(); }))
    .observe(document.querySelector(".hits"), {childList: true});
}"""


def typed(page: Page, question: str, key_ms: float) -> float:
    """Type the end of a question; milliseconds from its last key until its results are there."""
    field = page.locator(".ask input")
    head = question[: question.rfind(" ", 0, max(question.rfind(" "), 0)) + 1]
    field.fill(head)
    page.wait_for_timeout(QUIET_MS / 4)
    field.press_sequentially(question[len(head) :], delay=key_ms)
    page.wait_for_timeout(QUIET_MS)
    found: float = page.evaluate("window.drawn - window.typed")
    return found


def measured(url: str, questions: list[str], key_ms: float) -> list[float]:
    """The time of each question."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags, timeout=PATIENCE_S * 1000)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        page.goto(url)
        page.wait_for_selector(".hits", state="attached")
        page.evaluate(WATCH)
        times = [typed(page, question, key_ms) for question in questions]
        browser.close()
    return times


def main() -> None:
    """Measure what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=5, help="questions typed before times are taken")
    parser.add_argument("--key", type=float, default=90.0, help="milliseconds between keys")
    given = parser.parse_args()
    asked = [each.text for each in read_beir(given.collection).questions if len(each.text) <= 80]
    with serving(given.index, "--open", "--rate", "1000000") as url:
        times = measured(url, asked[: given.warm_up + given.questions], given.key)[given.warm_up :]
    p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
    within = sum(each <= LIMIT_MS for each in times) / len(times)
    print(f"{len(times)} questions: p50 {p50:.0f} ms, p95 {p95:.0f} ms, slowest {max(times):.0f} ms; ", end="")
    print(f"{within:.0%} within {LIMIT_MS:.0f} ms of the last key")
    sys.exit(p95 > LIMIT_MS)


if __name__ == "__main__":
    main()
