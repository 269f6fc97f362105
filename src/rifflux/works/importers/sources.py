"""The names of sources of works, which are the schemes of a file's own keys.

A source is named after its file, or after the folder if the file name is generic (`corpus.jsonl`, `refs.bib`). The
setting `sources` stores the path of each name, so that the keys of files with equal names stay apart.
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


def name_source(store: Store, path: Path, name_hint: str | None = None) -> str:
    """Return the stored name of the source at `path`, or store `name_hint` or a name derived from the path."""
    known = known_sources(store)
    names = dict(known)
    name = name_among(names, path, name_hint)
    if names != known:
        store.records.set(_SETTING, json.dumps(names, ensure_ascii=False))
    return name


def known_sources(store: Store) -> dict[str, str]:
    """Return the paths of the stored sources by name."""
    known: dict[str, str] = json.loads(store.records.setting(_SETTING) or "{}")
    return known


def name_among(known: dict[str, str], path: Path, name_hint: str | None = None) -> str:
    """Name the source at `path` as `name_source` does, given the known sources, and add it to them."""
    path = path.expanduser().resolve()
    name = name_hint or next((name for name, location in known.items() if location == str(path)), None)
    if name is None:
        name = _free(_slug(path), known)
    known[name] = str(path)
    return name


def name_sent(name: str) -> str:
    """Return the source name for an uploaded file, derived from its file name."""
    return _free(_slug(Path(name)), {})


def _slug(path: Path) -> str:
    if path.suffix != ".tex":
        stem = path.name.split(".")[0]
    else:
        stem = path.stem
    if stem.lower() in _SAYS_NOTHING and path.parent.name:
        stem = path.parent.name
    slug = re.sub(r"[^\w.-]+", "-", stem).strip("-.").lower() or "source"
    # A scheme of identifiers has this name already, so use the whole file name.
    if slug in SCHEMES:
        return f"{slug}-{path.name.split('.', 1)[-1].replace('.', '-').lower() or 'file'}"
    return slug


def _free(name: str, known: dict[str, str]) -> str:
    """Return the name, numbered if a file that still exists uses it; a moved file keeps its name."""
    number = 1
    free = name
    while free in known and Path(known[free]).exists():
        number += 1
        free = f"{name}-{number}"
    return free
