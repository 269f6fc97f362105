"""Evaluation of works retrieval: parts of the score in isolation, evidence packs, and branches covered."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.evaluate.collection import Collection, JudgedQuestion
from rifflux.index import Index
from rifflux.types import Hit

#: The mode of a run that retrieves works, and the parts of the score to which it may be limited.
RETRIEVE = "retrieve"
PARTS = ("lexical", "semantic", "citation", "field_match", "freshness", "authority")
#: Generous time limits, so that results do not depend on the machine's load.
PATIENCE_MS = 10_000.0
#: The number of top works among which branches are counted.
COVERED = 10
#: The fields that name a branch if no subject has a code.
NAMING = ("branch", "field", "chapter")
#: The part of a subject code that names its branch, by scheme.
_HEADS = {"acm": re.compile(r"\d+|[A-Z]"), "msc": re.compile(r"\d\d"), "arxiv": re.compile(r"[\w-]+(?:\.\w+)?")}


@dataclass(frozen=True, slots=True)
class Packed:
    """The evidence pack of a question: its works by their ids in the judgements, and its tokens."""

    works: tuple[str, ...]
    tokens: int

    def precision(self, question: JudgedQuestion) -> float:
        """Return the share of its works that are judged relevant; 0 for an empty pack."""
        relevant = sum(question.grades.get(work, 0) > 0 for work in self.works)
        if self.works:
            return relevant / len(self.works)
        return 0.0


@dataclass(frozen=True, slots=True)
class Retriever:
    """Retrieves works from an index as a run does, limited to `parts` of the score and with a given `mode`."""

    index: Index
    collection: Collection
    parts: Sequence[str] = ()
    mode: str | None = None

    def asker(self) -> Callable[..., Any]:
        """Return the retrieval of the index without tight deadlines, limited to the parts of the score."""
        retrieve = self.index.retrieve
        patient = replace(retrieve.settings, expansion_ms=PATIENCE_MS, rerank_ms=PATIENCE_MS)
        retrieve = replace(retrieve, settings=patient)
        if not self.parts:
            return retrieve
        plain = retrieve.intents["generic"]
        weights = plain.weights.but(**{name: 0.0 for name in plain.weights if name not in self.parts})
        alone = replace(plain, weights=weights, follow=plain.follow if "citation" in self.parts else ())
        return replace(retrieve, intents=dict.fromkeys(retrieve.intents, alone))

    def __call__(self, question: JudgedQuestion, works: int) -> tuple[tuple[Hit, ...], Packed, float, tuple[str, ...]]:
        """Return the works found for a question, the pack, the seconds it took, and the notices of degradation."""
        if self.collection.scope:
            raise InvalidArgument("works are retrieved from the whole index: omit the scope, or search")
        ask = self.asker()
        start = perf_counter()
        found = ask(question.text, mode=self.mode, top_k=works)
        seconds = perf_counter() - start
        names = {(hit.namespace, hit.key): self.collection.identify(hit) for hit in found.reranked}
        packed = tuple(dict.fromkeys(names.get((item.namespace, item.key), item.key) for item in found.evidence.items))
        return (
            found.reranked,
            Packed(packed, found.evidence.tokens),
            seconds,
            tuple(notice.text for notice in found.trace.degraded),
        )


def checked_parts(text: str) -> tuple[str, ...]:
    """Return the parts in text such as `lexical+semantic`. Raises `InvalidArgument` for an unknown one."""
    parts = tuple(filter(None, (each.strip() for each in text.split("+"))))
    if unknown := [part for part in parts if part not in PARTS]:
        raise InvalidArgument(f"{unknown[0]!r} is not a part of the score of works; choose from {', '.join(PARTS)}")
    if not parts:
        raise InvalidArgument(f"parts= is empty: join some of {', '.join(PARTS)} with +")
    return parts


def branches_of(index: Index, hits: Sequence[Hit]) -> int:
    """Count the branches of the first works, by the codes of their subjects or else by a chapter or field."""
    first = hits[:COVERED]
    ids = np.array([int(hit.id, 16) for hit in first], np.int64)
    heads = set()
    for tags in index.admin.store.catalog.tags_of(ids).values():
        for tag in tags:
            if found := tag.scheme in _HEADS and _HEADS[tag.scheme].match(tag.value):
                heads.add(f"{tag.scheme}:{found[0]}")
    return len(heads) or _named(first)


def _named(hits: Sequence[Hit]) -> int:
    """Count the values of works in the first naming field that any of them has."""
    values = ({str(hit.metadata[name]) for hit in hits if name in hit.metadata} for name in NAMING)
    return len(next(filter(None, values), ()))
