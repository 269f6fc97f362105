"""Runs to compare: a run is a name and the arguments of a search or retrieval, whose answers are ranked documents."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.evaluate.collection import Collection, JudgedQuestion
from rifflux.evaluate.retrieving import RETRIEVE, Packed, Retriever, branches_of, checked_parts
from rifflux.index import Index
from rifflux.requests import HYBRID, HYBRID_RERANK, MOST_RESULTS
from rifflux.retrieve.fuse import FUSIONS
from rifflux.retrieve.fuse.spelled import fusion_of
from rifflux.retrieve.pipeline import NO_RERANKER
from rifflux.retrieve.steps.rerank import RERANKERS
from rifflux.retrieve.steps.rerank.stage import checked_reranker
from rifflux.retrieve.table import LEXICAL, SEMANTIC
from rifflux.session.arguments import checked_mode
from rifflux.session.profile import profile as find_profile
from rifflux.types import Hit, Progress, Results, Scores

#: The number of distinct documents needed per question, the depth of the deepest measure.
DOCUMENTS = 20
#: The number of chunks requested, increased while they belong to too few documents.
DEPTHS = (100, 300, MOST_RESULTS)
#: The profile of indexes from which works are retrieved.
WORKS = "works"
#: The number of questions before timing starts, which load the model, the vectors and the disk cache.
WARM_UP = 3


@dataclass(frozen=True, slots=True)
class Run:
    """A named search configuration. `options` are arguments of `Index.search`; without `profile`, the index's applies.

    The mode `retrieve` retrieves works, limited to the `parts` of their score or with the `intent` in the options. An
    `optional` run is skipped if the index refuses it, such as a reranker without its model.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    profile: str | None = None
    optional: bool = False

    @property
    def needs_vectors(self) -> bool:
        """Return True if it uses more than words."""
        return self.retrieves or checked_mode(self.options.get("mode", HYBRID)) != LEXICAL

    @property
    def retrieves(self) -> bool:
        """Return True if it retrieves works with their evidence."""
        return self.options.get("mode") == RETRIEVE

    def view(self, index: Index) -> Index:
        """Return an existing index with the run's own profile."""
        profile = index.profile
        if self.profile is not None:
            profile = replace(find_profile(self.profile), language=profile.language)
        if self.retrieves:
            return index.using(profile)
        # Hundreds of hits per question are judged, whose calibrated relevance is not used.
        return index.using(profile if "min_score" in self.options else profile.without("relevance"))


#: The default runs of a comparison.
STANDARD = tuple(Run(mode, {"mode": mode}) for mode in (LEXICAL, SEMANTIC, HYBRID))


def ablation(profile: str | None = None) -> tuple[Run, ...]:
    """Return runs that isolate parts of a profile's ranking: steps of its search, or parts of the score of works."""
    if profile == WORKS:
        return _works_ablation()
    return _search_ablation()


def _search_ablation() -> tuple[Run, ...]:
    """Return each channel alone, each fusion without a reranker, and each reranker on top of the profile's fusion."""
    channels = (Run(mode, {"mode": mode}) for mode in (LEXICAL, SEMANTIC))
    fusions = (Run(name, {"mode": HYBRID, "fusion": name, "rerank": NO_RERANKER}) for name in FUSIONS)
    rerankers = (Run(f"{HYBRID}+{name}", {"mode": HYBRID, "rerank": name}, optional=True) for name in RERANKERS)
    return (*channels, *fusions, *rerankers)


def _works_ablation() -> tuple[Run, ...]:
    """Return words, meaning, both, then both with one more part of the score of works at a time, and the default.

    The last uses the intent of each question; the others weight all questions alike.
    """
    both: tuple[str, ...] = ("lexical", "semantic")
    added = {"+ citations": "citation", "+ subjects": "field_match", "+ authority": "authority"}
    parts = accumulate(added.values(), lambda parts, part: (*parts, part), initial=both)
    return (
        Run("words", {"mode": LEXICAL}, WORKS),
        Run("meaning", {"mode": SEMANTIC}, WORKS),
        *(
            Run(name, {"mode": RETRIEVE, "parts": parts}, WORKS)
            for name, parts in zip(("both", *added), parts, strict=True)
        ),
        Run(RETRIEVE, {"mode": RETRIEVE}, WORKS),
    )


# Parsing of runs


def parse_run(text: str) -> Run:
    """Parse a run from comma-separated `option=value` pairs: `name=best,mode=hybrid,fusion=rrf`.

    A single word is a mode: `hybrid,fusion=rrf`, or `retrieve,parts=lexical+citation` for works. The default name is
    the text itself. Raises `InvalidArgument` with the allowed values.
    """
    options: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (each.strip() for each in part.partition("="))
        name, value = (name, value) if equals else ("mode", name)
        if name not in _OPTIONS:
            raise InvalidArgument(f"the run {text!r}: unknown option {name!r}; choose from {', '.join(_OPTIONS)}")
        if name in options:
            raise InvalidArgument(f"the run {text!r} sets {name} twice")
        options[name] = _OPTIONS[name](value)
    name = options.pop("name", text.strip())
    profile = options.pop("profile", None)
    run = Run(name, options, profile or (WORKS if options.get("mode") == RETRIEVE else None))
    if run.retrieves:
        wrong = sorted(options.keys() - _RETRIEVING)
    else:
        wrong = sorted(options.keys() & (_RETRIEVING - {"mode"}))
    if wrong:
        if run.retrieves:
            operation = "retrieval"
        else:
            operation = "a search; use mode=retrieve"
        raise InvalidArgument(f"the run {text!r}: {wrong[0]} is not an option of {operation}")
    if {"parts", "intent"} <= options.keys():
        raise InvalidArgument(f"the run {text!r}: parts weight all questions alike, so omit parts= or intent=")
    return run


def _name(text: str) -> str:
    if not text:
        raise InvalidArgument("the name of a run is empty: omit name= or give one")
    return text


def _mode(text: str) -> str:
    """Return the canonical name of a mode, except for `retrieve` and the mode that implies a reranker."""
    if text == RETRIEVE:
        return text
    mode = checked_mode(text)
    if text == HYBRID_RERANK:
        return text
    return mode


def _fusion(text: str) -> str:
    """Return the text of a fusion with its parameters. Raises `InvalidArgument` if it is unknown."""
    fusion_of(text)
    return text


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidArgument(f"{text!r} is not a number") from None


#: The options of a run that retrieves works.
_RETRIEVING = frozenset({"mode", "parts", "intent"})
_OPTIONS: Mapping[str, Callable[[str], str | float | tuple[str, ...]]] = {
    "name": _name,
    "mode": _mode,
    "fusion": _fusion,
    "rerank": checked_reranker,
    "rerank_top": _whole,
    "profile": lambda text: find_profile(text).name,
    "deadline_ms": _number,
    "min_score": _number,
    "parts": checked_parts,
    "intent": str,
}


# Answering


@dataclass(frozen=True, slots=True)
class Answers:
    """The ranked documents by question id, best first, and the milliseconds of each question, in order.

    `degraded` counts the affected questions by reason. For works, `packs` are the evidence packs by question, if any,
    and `branches` the number of branches among the first works of each question.
    """

    rankings: Mapping[str, Sequence[str]]
    milliseconds: Scores
    degraded: Mapping[str, int]
    packs: Mapping[str, Packed] = field(default_factory=dict)
    branches: Sequence[int] = ()


def answers(
    index: Index, collection: Collection, run: Run, *, ignore_identical: bool = False, progress: Progress | None = None
) -> Answers:
    """Answer all questions of a collection.

    A document counts at its best chunk. `ignore_identical` excludes the document with the question's own id, for
    collections whose questions are documents. The time is that of the first search of a question, with `top_k` 100.
    """
    asker = _Asker(index, collection, run, ignore_identical)
    for question in collection.questions[:WARM_UP]:
        asker(question)
    asker.packs.clear()
    asker.branches.clear()
    rankings = {}
    seconds = []
    degraded = Counter[str]()
    for number, question in enumerate(collection.questions, 1):
        rankings[question.id], elapsed, reasons = asker(question)
        seconds.append(elapsed)
        degraded.update(reasons)
        if progress:
            progress(f"{collection.name}: {run.name}", number, len(collection.questions))
    return Answers(rankings, np.array(seconds) * 1000, degraded, asker.packs, asker.branches)


@dataclass(frozen=True, slots=True)
class _Asker:
    index: Index
    collection: Collection
    run: Run
    ignore_identical: bool
    packs: dict[str, Packed] = field(default_factory=dict)
    branches: list[int] = field(default_factory=list)

    def __call__(self, question: JudgedQuestion) -> tuple[list[str], float, tuple[str, ...]]:
        """Return the best documents, the seconds of the first search, and its notices of degradation."""
        if self.run.retrieves:
            return self._retrieved(question)
        start = time.perf_counter()
        results = first = self.search(question, DEPTHS[0])
        elapsed = time.perf_counter() - start
        for depth, deeper in pairwise(DEPTHS):
            if len(self._documents(question, results)) >= DOCUMENTS or len(results) < depth:
                break
            results = self.search(question, deeper)
        if self.index.profile.name == WORKS:
            self.branches.append(branches_of(self.index, _one_each(results)))
        return (
            self._documents(question, results)[:DOCUMENTS],
            elapsed,
            tuple(notice.text for notice in first.trace.degraded),
        )

    def _retrieved(self, question: JudgedQuestion) -> tuple[list[str], float, tuple[str, ...]]:
        """Return the best works, the seconds of their retrieval, and its notices of degradation."""
        options = self.run.options
        retriever = Retriever(self.index, self.collection, options.get("parts", ()), options.get("intent"))
        hits, self.packs[question.id], seconds, degraded = retriever(question, DOCUMENTS)
        self.branches.append(branches_of(self.index, hits))
        return self._documents(question, hits), seconds, degraded

    def search(self, question: JudgedQuestion, top_k: int) -> Results:
        """Search the index for a question."""
        narrow = self.collection.filter(question)
        return self.index.search(question.text, top_k=top_k, filter=narrow, **self.run.options)

    def _documents(self, question: JudgedQuestion, hits: Sequence[Hit]) -> list[str]:
        if self.ignore_identical:
            own = question.id
        else:
            own = None
        return [
            document for document in dict.fromkeys(self.collection.identify(hit) for hit in hits) if document != own
        ]


def _one_each(hits: Sequence[Hit]) -> list[Hit]:
    """Return the best hit of each document."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.key, hit)
    return [*first.values()]
