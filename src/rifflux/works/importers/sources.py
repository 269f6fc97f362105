"""The names of the sources of works: the scheme that a file's own keys are stored under.

A file is called after itself, or after its folder where its own name says nothing (`corpus.jsonl`, `refs.bib`). The
setting `sources` keeps which path has which name, so that two files with equal names keep their keys apart.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from rifflux.store import Store
from rifflux.text.schemes import SCHEMES

_SETTING = "sources"
_SAYS_NOTHING = {
    *("corpus", "data", "works", "records", "main", "index", "references", "refs", "ref", "bibliography", "biblio"),
    *("bib", "paper", "article", "export", "library", "metadata", "all"),
}


def name_source(store: Store, path: Path, wanted: str | None = None) -> str:
    """Name the source at `path`: its stored name, else `wanted`, else one derived from the path; the name is stored."""
    known = known_sources(store)
    names = dict(known)
    name = name_among(names, path, wanted)
    if names != known:
        store.registry.set(_SETTING, json.dumps(names, ensure_ascii=False))
    return name


def known_sources(store: Store) -> dict[str, str]:
    """Return the paths of the sources that are stored, by their names."""
    known: dict[str, str] = json.loads(store.registry.setting(_SETTING) or "{}")
    return known


def name_among(known: dict[str, str], path: Path, wanted: str | None = None) -> str:
    """Name the source at `path` as `name_source` does, among those that are known; `known` has it then."""
    path = path.expanduser().resolve()
    name = wanted or next((name for name, held in known.items() if held == str(path)), None)
    if name is None:
        name = _free(_spelt(path), known)
    known[name] = str(path)
    return name


def name_sent(name: str) -> str:
    """Return the name of the source that a file is which somebody sent: one after what they call it."""
    return _free(_spelt(Path(name)), {})


def _spelt(path: Path) -> str:
    if path.suffix != ".tex":
        stem = path.name.split(".")[0]
    else:
        stem = path.stem
    if stem.lower() in _SAYS_NOTHING and path.parent.name:
        stem = path.parent.name
    spelt = re.sub(r"[^\w.-]+", "-", stem).strip("-.").lower() or "source"
    # A scheme of identifiers is called so already: the source is called after the whole of its file's name.
    if spelt in SCHEMES:
        return f"{spelt}-{path.name.split('.', 1)[-1].replace('.', '-').lower() or 'file'}"
    return spelt


def _free(name: str, known: dict[str, str]) -> str:
    """Return the name, numbered if it is that of a file that is still there; a moved file keeps it."""
    number = 1
    free = name
    while free in known and Path(known[free]).exists():
        number += 1
        free = f"{name}-{number}"
    return free
