"""A work as text, to keep the record of each of its sources."""

from __future__ import annotations

import json
from dataclasses import asdict

from rifflux.types import Identifier, Link, Tag
from rifflux.works.model import Passage, Work

__all__ = ["dump", "load"]


def dump(work: Work) -> str:
    """Return the work as JSON."""
    return json.dumps(asdict(work), ensure_ascii=False, default=str)


def load(text: str) -> Work:
    """Return the work that `dump` wrote."""
    told = json.loads(text)
    if "licence" in told:  # the spelling of earlier versions
        told["license"] = told.pop("licence")
    nouns = {"identifiers": Identifier, "tags": Tag, "passages": Passage, "citations": Link}
    for name, noun in nouns.items():
        told[name] = tuple(noun(**each) for each in told[name])
    told["passages"] = tuple(
        Passage(each.text, each.kind, tuple(each.headings), each.label) for each in told["passages"]
    )
    return Work(**{**told, "authors": tuple(told["authors"]), "sources": tuple(told["sources"])})
