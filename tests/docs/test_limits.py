"""What the pages of the project name is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.docs.pages import ROOT, pages

#: Pages of the whole project; those that are generated come with the site.
PAGES = [*pages(), *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]
GENERATED = {"cli.md", "settings.md", "columns.md", "http.md", "mcp.md", "python.md", "values.md"}
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")
_PATH = re.compile(
    r"`((?:src|tests|bench|docs|scripts|examples|deploy)/[\w/.-]+|[a-z]+/[\w/]*\w\.py|[a-z]+(?:/[a-z_]+)*/)`"
)
#: `package.module:Symbol`, as `pkgutil.resolve_name` reads it.
_SYMBOL = re.compile(r"`(rifflux(?:\.\w+)*:\w+(?:\.\w+)*)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [(page.parent / target).resolve() for target in _LINK.findall(page.read_text("utf-8"))]
    assert [str(target) for target in targets if not target.exists() and target.name not in GENERATED] == []


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_named_files_exist(name: str) -> None:
    named = _PATH.findall((ROOT / name).read_text("utf-8"))
    assert [
        path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "src" / "rifflux"))
    ] == []


def test_named_symbols_can_be_imported() -> None:
    named = _SYMBOL.findall((ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    assert named
    for symbol in named:
        resolve_name(symbol)


def test_every_place_to_change_names_a_symbol() -> None:
    places = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("## Where do I change …?")[1].split("\n## ")[0]
    rows = [line for line in places.splitlines() if line.startswith("| ") and line.strip("| -")]
    assert rows
    assert [row for row in rows if not _SYMBOL.search(row)] == []


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    reasons = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("## Why these dependencies?")[1].split("\n## ")[0]
    users = {"code", "eval", "hnsw", "serve", "tokenizers", "works"}
    needed = [*project["dependencies"], *(each for name in users for each in project["optional-dependencies"][name])]
    names = {re.split(r"[\[<>=~! ]", each)[0] for each in needed} - {"rifflux"}
    assert sorted(name for name in names if name.lower() not in reasons.lower()) == []
    assert [name for name in project["optional-dependencies"] if f"`{name}`" not in reasons] == []
