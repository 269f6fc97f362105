"""The generated reference: every command, setting, column, route and tool, each with a word on it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from scripts.docs import SHIM, loaded_from_elsewhere, localize
from scripts.reference import PAGES

from tests.docs.pages import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    """Every generated page."""
    return {name: page() for name, page in PAGES.items()}


@pytest.mark.parametrize(
    ("page", "headings"),
    [
        ("cli", ["## rifflux index", "## rifflux works import", "## rifflux doctor"]),
        ("settings", ["| `db` |", "`RIFFLUX_MODEL`"]),
        ("columns", ["`*/score`", "`score`"]),
        (
            "python",
            ["heading: rifflux.open", "heading: Index.search", "heading: Index.add", "heading: Index.admin.backup"],
        ),
        ("values", ["heading: rifflux.Hit", "heading: rifflux.NotFound"]),
        ("http", ["### POST /search", "### GET /documents/{"]),
        ("mcp", ["## search_rifflux", "## retrieve"]),
    ],
)
def test_the_reference_is_complete(reference: dict[str, str], page: str, headings: list[str]) -> None:
    for heading in headings:
        assert heading in reference[page]


def test_every_command_says_what_it_does(reference: dict[str, str]) -> None:
    for command in reference["cli"].split("\n## ")[1:]:
        _, _, about, *_ = command.split("\n", 3)
        assert len(command.split("\n\n")[2].strip()) > 10, about


def test_no_secret_has_a_default(reference: dict[str, str]) -> None:
    assert re.search(r"\| `api_key` \|  \|", reference["settings"])


def test_settings_of_the_docs_are_read(reference: dict[str, str]) -> None:
    example = reference["settings"].split("```toml\n")[1].split("```")[0]
    assert all(f"| `{name}` |" in reference["settings"] for name in tomllib.loads(example))


def test_a_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    page = tmp_path / "reference" / "page.html"
    page.parent.mkdir()
    page.write_text(f'<script src="{SHIM}"></script><link rel="canonical" href="https://example.org/">')
    assert loaded_from_elsewhere(tmp_path) == [(page.relative_to(tmp_path), SHIM)]
    localize(tmp_path)
    assert loaded_from_elsewhere(tmp_path) == []
    assert 'src="../assets/iframe-worker.js"' in page.read_text()
    assert (ROOT / "docs" / "assets" / "iframe-worker.js").exists()
