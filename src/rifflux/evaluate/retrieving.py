"""How retrieval of works is measured: with some parts of its score alone, with its packs, and over branches."""

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

#: The mode of a run that retrieves works, and the parts of their score that it may be narrowed to.
RETRIEVE = "retrieve"
PARTS = ("lexical", "semantic", "citation", "field_match", "freshness", "authority")
#: What is measured must not depend on how busy the machine is.
PATIENCE_MS = 10_000.0
#: Branches are counted among so many works.
COVERED = 10
#: The fields that name a branch where no subject has a code.
NAMING = ("branch", "field", "chapter")
#: The part of a subject's code that names its branch, by scheme.
_HEADS = {"acm": re.compile(r"\d+|[A-Z]"), "msc": re.compile(r"\d\d"), "arxiv": re.compile(r"[\w-]+(?:\.\w+)?")}


@dataclass(frozen=True, slots=True)
class Packed:
    """The evidence pack of a question: its works by the ids of judgements, and its tokens."""

    works: tuple[str, ...]
    tokens: int

    def precision(self, question: JudgedQuestion) -> float:
        """Return the share of its works that are judged relevant; none of an empty pack."""
        relevant = sum(question.grades.get(work, 0) > 0 for work in self.works)
        if self.works:
            return relevant / len(self.works)
        return 0.0


@dataclass(frozen=True, slots=True)
class Retriever:
    """Asks an index for works as a run does: by `parts` of the score alone, and with a given `mode`."""

    index: Index
    collection: Collection
    parts: Sequence[str] = ()
    mode: str | None = None

    def asker(self) -> Callable[..., Any]:
        """Return the retrieval of the index, without deadlines of its own, by the parts of the score alone."""
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
        """Return the works found for a question, the pack, the seconds that it took, and what degraded."""
        if self.collection.scope:
            raise InvalidArgument("works are retrieved of the whole index: leave the scope out, or search")
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
    """Return the parts that `lexical+semantic` names. Raises `InvalidArgument` for one that is none."""
    parts = tuple(filter(None, (each.strip() for each in text.split("+"))))
    if unknown := [part for part in parts if part not in PARTS]:
        raise InvalidArgument(f"no part {unknown[0]!r} of the score of works; choose from {', '.join(PARTS)}")
    if not parts:
        raise InvalidArgument(f"parts= names none: join some of {', '.join(PARTS)} with +")
    return parts


def branches_of(index: Index, hits: Sequence[Hit]) -> int:
    """Return of how many branches the first works are: by codes of their subjects, else by a chapter or field."""
    first = hits[:COVERED]
    ids = np.array([int(hit.id, 16) for hit in first], np.int64)
    heads = set()
    for tags in index.admin.store.catalog.tags_of(ids).values():
        for tag in tags:
            if found := tag.scheme in _HEADS and _HEADS[tag.scheme].match(tag.value):
                heads.add(f"{tag.scheme}:{found[0]}")
    return len(heads) or _named(first)


def _named(hits: Sequence[Hit]) -> int:
    """Return how many values works have of the first of the fields that any of them has."""
    values = ({str(hit.metadata[name]) for hit in hits if name in hit.metadata} for name in NAMING)
    return len(next(filter(None, values), ()))
