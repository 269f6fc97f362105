"""Gather the evidence for a question: search each source, join neighbouring passages, and pack the best."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, repeat
from operator import attrgetter

import numpy as np

from rifflux.evidence.choose import Citable, Limits
from rifflux.evidence.pack import Citing, EvidenceItem, EvidencePack, Packer
from rifflux.retrieve.pipeline import Plan, Stopwatch
from rifflux.retrieve.query.expand import VARIANTS
from rifflux.retrieve.table import SEMANTIC, Candidates
from rifflux.session.federation import Federation, Source
from rifflux.session.searching import Searcher
from rifflux.types import Document, Filter, Hit, Notice, Query, Span, Trace

#: Passages that are looked at in each source, and those that stand side by side which are joined at most.
READ = 24
JOINED = 3
#: What is added to a rank before two rankings are merged by its inverse.
DAMPING = 8
#: Characters before and behind a passage that may belong to it.
AROUND = 400
_BREAK = re.compile(r"\n[ \t]*\n\s*")
#: A document whose passages have less than this share of the best one's relevance is no evidence beside it.
LEAST_SHARE = 0.25
#: How evidence is chosen: passages of a document, and documents that share a small budget.
LIMITS = Limits(per_document=3, least=4, noun="documents")
#: The intent that packs are made with.
INTENT = "answer"

Place = tuple[str, str]


@dataclass(frozen=True)
class Found:
    """What a question found in one source: the searcher, the question as it was read there, and the hits."""

    source: Source
    searcher: Searcher
    plan: Plan
    hits: Sequence[Hit]
    trace: Trace

    @property
    def query(self) -> Query:
        """Return the question as it was parsed there."""
        return self.plan.query

    @cached_property
    def documents(self) -> Mapping[Place, Document]:
        """Return the documents of the hits, as the caller may see them."""
        places = list(dict.fromkeys(each.place for each in self.hits))
        visible = self.searcher.view.visible
        known = self.searcher.view.store.catalog.documents_at(places)
        return {place: visible.document(place[0], document) for place, document in known.items()}

    def citable(self) -> Iterator[Citable]:
        """Yield the documents of the hits, best first, each with its passages; those that touch are joined."""
        by_place: dict[Place, list[Hit]] = {}
        for hit in self.hits:
            by_place.setdefault(hit.place, []).append(hit)
        for place, hits in by_place.items():
            document = self.documents.get(place)
            if document is not None:
                documented = partial(self.documents.get, place)
                relevance = max(hit.relevance or 0.0 for hit in hits)
                yield Citable(hits[0], [*_joined(hits, document)], documented, relevance=relevance)


@dataclass(frozen=True)
class Evidence:
    """The pack of a question, and what was found in each source; `relevance` is that of the best passage."""

    pack: EvidencePack
    found: Sequence[Found]
    milliseconds: Mapping[str, float]
    notes: tuple[Notice, ...] = ()
    of: Mapping[str, Found] = field(default_factory=dict)

    @property
    def degraded(self) -> tuple[Notice, ...]:
        """Return what was missing in any source, each once."""
        return tuple(dict.fromkeys(notice for each in self.found for notice in each.trace.degraded))

    def found_of(self, item: EvidenceItem) -> Found:
        """Return the source that a passage was found in."""
        return self.of[item.chunk_id]


def gather(
    sources: Sequence[Source],
    text: str,
    filter: Filter,
    citing: Citing,
    *,
    top_k: int,
    max_tokens: int,
    deadline: float | None,
) -> Evidence:
    """Return the evidence for a question, of the documents of all sources that are most relevant to it.

    Within a source its own order holds; between sources, whose scores cannot be compared, relevance decides.
    Raises `NotFound` for a collection that is not seen.
    """
    clock = Stopwatch()
    federation = Federation.of(sources, text, filter, deadline)
    found = [_searched(federation, each, clock) for each in federation.sources]
    best = max((hit.relevance or 0.0 for each in found for hit in each.hits if not hit.withheld), default=0.0)
    candidates: list[Citable] = []
    of: dict[str, Found] = {}
    for citable, each in _merged(found):
        if citable.relevance >= LEAST_SHARE * best:
            candidates.append(citable)
            of.update(zip(map(attrgetter("id"), each.hits), repeat(each), strict=False))
    closed = sum(all(hit.withheld for hit in each.passages) for each in candidates[:top_k])
    packer = Packer(citing, replace(LIMITS, least=min(LIMITS.least, top_k)), max_tokens, top_k)
    pack = packer(
        text,
        INTENT,
        [each for each in candidates if any(not hit.withheld for hit in each.passages)],
        federation.sources[0].view.embedder.count_tokens,
    )
    notes = []
    if closed:
        text = f"no license is recorded that permits the text of {closed} documents: they are left out"
        notes.append(Notice("license.missing", text, data={"documents": closed}))
    opened = {(item.namespace, item.license) for item in pack.items}
    if opened:
        notes += found[0].searcher.view.visible.opened(opened)
    return Evidence(pack, found, clock.milliseconds, (*_notes_of(found), *notes), of)


def _searched(federation: Federation, source: Source, clock: Stopwatch) -> Found:
    """Search a source."""
    found = federation.search(source, READ)
    for name, milliseconds in found.plan.clock.milliseconds.items():
        clock.milliseconds[name] = round(clock.milliseconds.get(name, 0.0) + milliseconds, 3)
    hits = _merged_by_meaning(found.table, found.results.hits)
    return Found(source, found.searcher, found.plan, hits, found.results.trace)


def _merged_by_meaning(table: Candidates, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits in the order of the search merged by rank with that of their meaning.

    What answers is near a question in meaning more often than what is found: the words weigh less than in a search.
    """
    if SEMANTIC not in table.rankings:
        return hits
    scores = np.nan_to_num(table[f"{SEMANTIC}/score"], nan=-1.0)
    meaning = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
    merged = 1 / (DAMPING + np.arange(len(hits))) + 1 / (DAMPING + meaning)
    return [hits[place] for place in np.argsort(-merged, kind="stable").tolist()]


def _merged(found: Sequence[Found]) -> Iterator[tuple[Citable, Found]]:
    """Yield the documents of all sources: of those that are next in their own source, the most relevant first."""
    queues = [(list(each.citable())[::-1], each) for each in found]
    while queues := [queue for queue in queues if queue[0]]:
        citables, each = max(queues, key=lambda queue: queue[0][-1].relevance)
        yield citables.pop(), each


def _joined(hits: Sequence[Hit], document: Document) -> Iterator[Hit]:
    """Yield passages of a document, best first, each joined with those found beside it, which are not repeated."""
    left = [hit for hit in hits if not hit.withheld]
    yield from (hit for hit in hits if hit.withheld)
    before: list[Span] = []
    while left:
        best = left.pop(0)
        if any(start <= best.span[0] and best.span[1] <= end for start, end in before):
            continue
        span = best.span
        count = 1
        while count < JOINED and (beside := _beside(span, left, document.text)):
            left.remove(beside)
            span = (min(span[0], beside.span[0]), max(span[1], beside.span[1]))
            count += 1
        span = _outside(before, span, _widened(span, document.text))
        if not document.text[slice(*span)].strip():
            continue
        before.append(span)
        if span == best.span:
            yield best
        else:
            yield replace(best, span=span, text=document.text[slice(*span)])


def _outside(before: Sequence[Span], span: Span, widened: Span) -> Span:
    """Return a span as it was widened, without what stands in those before it."""
    start, end = widened
    for other in before:
        if other[0] <= span[0]:
            start = max(start, other[1])
        else:
            end = min(end, other[0])
    return (start, end)


def _widened(span: Span, text: str) -> Span:
    """Return a span with the paragraph that it begins or ends in, and with one more on either side.

    A passage is cut where the embedder's window ends. What leads to it, or the value that its last line leads to, may
    stand on the other side.
    """
    start, end = span
    before = text[max(0, start - AROUND) : start]
    if before.strip():
        breaks = [match.end() for match in _BREAK.finditer(before.rstrip())]
        if start > AROUND:
            start -= len(before) - breaks[0] if breaks else 0
        else:
            start = 0
    behind = text[end : end + AROUND]
    if behind.strip():
        breaks = [match.start() for match in _BREAK.finditer(behind) if behind[: match.start()].strip()]
        if end + AROUND < len(text):
            end += breaks[-1] if breaks else 0
        else:
            end = len(text.rstrip())
    return max(0, start), max(end, span[1])


def _beside(span: tuple[int, int], hits: Sequence[Hit], text: str) -> Hit | None:
    """Return the best passage that touches a span or overlaps it."""
    for hit in hits:
        start, end = hit.span
        if start >= span[1]:
            gap = text[span[1] : start]
        elif end <= span[0]:
            gap = text[end : span[0]]
        else:
            gap = ""
        if not gap.strip():
            return hit
    return None


def _notes_of(found: Sequence[Found]) -> Iterator[Notice]:
    """Yield the notes of the searches that hold for the whole answer, each once.

    A source without hits says why it has none. That is true of the answer only if no source has hits and every source
    that holds anything says the same. How the question was read is true in any case.
    """
    with_hits = [each for each in found if each.hits]
    holding = [each for each in found if (known := each.plan.execution.statistics) and known.chunks]
    speaking = with_hits or holding or found
    for note in dict.fromkeys(chain.from_iterable(each.trace.notes for each in speaking)):
        is_of_reading = note.code == VARIANTS or any(note in each.plan.execution.notes for each in speaking)
        of_all = all(note in each.trace.notes for each in speaking)
        if with_hits or not holding or is_of_reading or of_all:
            yield note
