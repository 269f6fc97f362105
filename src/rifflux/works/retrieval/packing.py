"""The page of works, and the candidates for their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rifflux.evidence.choose import REACH, Citable, Limits
from rifflux.evidence.pack import EvidencePack
from rifflux.requests import HYBRID
from rifflux.retrieve.table import BEGINS, RELEVANCE, SCORE, Candidates
from rifflux.session.license_policy import LicensePolicy
from rifflux.session.searching import Search, Searcher, SearchOptions, relevance
from rifflux.session.session import IndexView
from rifflux.text.names import person
from rifflux.types import Document, Hit, Notice, Scores, Tag
from rifflux.works.intent.classify import Question
from rifflux.works.intent.named import CERTAINTY, Place, names_in
from rifflux.works.model import PRIMARY, primary_of
from rifflux.works.retrieval.score import JOINED, SCORED, SIDE
from rifflux.works.retrieval.stages import POOL, Gathered, RetrievalContext

#: The metadata field with the subject of a work that has no codes.
_SUBJECTS = ("subject", "field", "chapter")
#: Filter fields that request works of an author or venue, which lifts the caps on those.
_FIELDS = {"authors": "authors", "venues": "venue"}
#: The number of documents that are read at once.
AHEAD = 12
#: An author or venue, as counted by caps.
Group = tuple[str, str]


def evidence_limits(question: Question, min_relevance: float | None) -> Limits:
    """Return the limits of evidence for a question, without caps on authors or venues that it asks for.

    A minimum given by the caller replaces the intent's.
    """
    limits = question.decision.intent.limits
    constrained = {*question.plan.query.filter.metadata, *(credit.role for credit in question.plan.query.credits)}
    caps = {group: most for group, most in limits.caps.items() if _FIELDS.get(group) not in constrained}
    limits = replace(limits, caps=caps)
    if min_relevance is None:
        return limits
    return replace(limits, min_relevance=float(min_relevance), min_share=0.0)


def page_of(works: Candidates, found: Gathered, searcher: Searcher, context: RetrievalContext) -> Candidates:
    """Return one page of works, with the relevance of those that may serve as evidence.

    Works of repeated authors and venues move behind the first page while others can replace them.
    """
    packer = context.packer
    limits = packer.limits
    found.plan.outcome.counts["works"] = len(works)
    rate = partial(relevance_of, found=found, searcher=searcher, context=context)
    # A query that is the beginning of a title asks for that title, whoever wrote it.
    begins = np.isfinite(works[BEGINS]).tolist()
    visible = context.visible
    groups = [
        frozenset() if is_title else groups_of(hit, visible)
        for hit, is_title in zip(works.passages, begins, strict=True)
    ]
    order, moved = page_order(groups, limits, packer.listed, lambda rows: rate(works.take(rows)))
    if moved:
        text = f"works of repeated {' or '.join(limits.caps)} that others stand in for: {moved}"
        data = {"moved": moved, "offset": packer.listed}
        note = Notice("works.repeated", f"{text}; they come first at offset {packer.listed}", data=data)
        found.plan.outcome.notes.append(note)
    works = works.take(order[packer.offset : packer.offset + POOL])
    is_enough = not limits.spread and packer.listed >= limits.least
    rated = works.head(packer.listed if is_enough else max(packer.listed, REACH))
    return works.with_column(RELEVANCE, rate(rated))


def page_order(
    groups: Sequence[Collection[Group]], limits: Limits, page: int, rate: Callable[[Sequence[int]], Scores]
) -> tuple[list[int], int]:
    """Return the rows with works above the caps moved behind the first page, and the number moved.

    `groups` are the values of each work that caps count. Replacements must rank among the first `REACH` and be relevant
    enough; if there are too few, works above the caps stay. Within the first page and behind it, the ranking's order
    stands.
    """
    counts = Counter[Group]()
    within: list[int] = []
    beyond: list[int] = []
    for row, group in enumerate(groups[:page]):
        if _is_full(group, counts, limits.caps):
            beyond.append(row)
        else:
            within.append(row)
            counts.update(group)
    rows = [*range(len(groups))]
    others = rows[page:REACH]
    if not beyond or not others:
        return rows, 0
    stand_ins: list[int] = []
    for row, value in zip(others, rate(others).tolist(), strict=True):
        is_relevant = value >= limits.min_relevance
        if len(stand_ins) < len(beyond) and is_relevant and not _is_full(groups[row], counts, limits.caps):
            stand_ins.append(row)
            counts.update(groups[row])
    stay = beyond[: len(beyond) - len(stand_ins)]
    first = sorted([*within, *stand_ins, *stay])
    return [*first, *sorted(set(rows) - set(first))], len(stand_ins)


def _is_full(groups: Collection[Group], counts: Mapping[Group, int], caps: Mapping[str, int]) -> bool:
    return any(counts[group] >= caps[group[0]] for group in groups if group[0] in caps)


def relevance_of(table: Candidates, found: Gathered, searcher: Searcher, context: RetrievalContext) -> Scores:
    """Return the relevance of works to the question, or to the side of it that each answers.

    A work that the question names is relevant whether or not its text contains the name; so is a work linked by
    citations to it, in proportion to the confidence of the link.
    """
    by_side = []
    for plan in found.sides:
        rated = table
        calibration = scale = None
        if plan.execution.vector is not None:
            calibration = searcher.view.calibration
            scale = searcher.view.scale
        search = Search(
            searcher.view,
            searcher.analyzer,
            plan,
            SearchOptions(HYBRID, None),
            calibration=calibration,
            model_scale=scale.model if scale else None,
        )
        for stage in relevance(search):
            rated = stage.step(plan, rated)
        by_side.append(rated[RELEVANCE])
    values = np.array(by_side)
    best = np.asarray(np.max(values, axis=0))
    side = table[SIDE]
    known = np.flatnonzero(np.isfinite(side))
    best[known] = values[side[known].astype(np.int64), known]
    first = context.question.first
    if first:
        best[np.array([hit.place == first.hit.place for hit in table.passages], bool) & (table[CERTAINTY] > 0)] = 1.0
    return np.asarray(np.fmax(best, table[JOINED]))


def pack_of(
    works: Candidates, candidates: Candidates, found: Gathered, searcher: Searcher, context: RetrievalContext
) -> EvidencePack:
    """Return the evidence of a page of works, with passages cut to sentences that contain a term of the question."""
    view = searcher.view
    question = context.question
    clauses = [clause for plan in found.sides for clause in (*plan.query.clauses, *plan.query.variants)]
    terms = {term for clause in clauses for term in clause}
    pack = replace(context.packer, notes=found.plan.completed_trace().degraded)(
        question.text,
        question.decision.intent.name,
        citables_of(works, candidates, question, view),
        view.embedder.count_tokens,
        lambda sentence: not terms.isdisjoint(searcher.analyzer.terms(sentence)),
    )
    quoted = {item.key: (item.namespace, item.license) for item in pack.items if item.text}
    return replace(pack, notes=(*pack.notes, *view.visible.opened(quoted.values())))


def citables_of(works: Candidates, candidates: Candidates, question: Question, view: IndexView) -> list[Citable]:
    """Return works as candidates for evidence, each with all of its passages among the question's candidates."""
    visible = view.visible
    passages: dict[Place, list[Hit]] = {}
    for hit in visible.hits(candidates.passages):
        passages.setdefault(hit.place, []).append(hit)
    read = DocumentReader(view, [hit.place for hit in works.passages])
    names = names_in(question.text)
    parts = works.parts(SCORED)
    relevance = np.nan_to_num(works[RELEVANCE]).tolist()
    tags = view.store.catalog.tags_of(works.ids)
    citables = []
    for row, hit in enumerate(works.passages):
        place = hit.place
        certainty = int(works[CERTAINTY][row])
        named = [each.id for each in passages[place] if certainty and names.has_heading(each.heading_path)]
        disclosed = visible.discloses_facts(place[0], hit.license)
        citables.append(
            Citable(
                hit=view.labelled(hit.retold(score=float(works[SCORE][row]), why=())),
                passages=passages[place],
                document=partial(read, place),
                components={name: float(column[row]) for name, column in parts.items()},
                relevance=relevance[row],
                certainty=certainty,
                named=frozenset(named),
                groups=groups_of(hit, visible),
                subject=_subject(hit.metadata, tags.get(int(works.ids[row]), ())) if disclosed else "",
            )
        )
    return citables


def groups_of(hit: Hit, visible: LicensePolicy) -> frozenset[Group]:
    """Return the authors and the venue of a work, as counted by caps; none if a license hides them."""
    if not visible.discloses_facts(hit.place[0], hit.license):
        return frozenset()
    groups = {("authors", person(str(author))) for author in hit.metadata.get("authors", ())}
    venue = str(hit.metadata.get("venue", ""))
    if venue:
        groups.add(("venues", venue))
    return frozenset(groups)


def _subject(facts: Mapping[str, object], tags: Sequence[Tag]) -> str:
    """Return the primary category of a work, or the subject in its metadata; empty if unknown."""
    primary = str(facts.get(PRIMARY, ""))
    tag = Tag(*primary.split(":", 1)) if ":" in primary else primary_of(tags)
    if tag:
        return f"{tag.scheme}:{tag.value[:2] if tag.scheme == 'msc' else tag.value}"
    for name in _SUBJECTS:
        if facts.get(name):
            return str(facts[name])
    return ""


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads documents as their licenses disclose them, several at a time, in order."""

    view: IndexView
    places: Sequence[Place]
    known: dict[Place, Document | None] = field(default_factory=dict)

    def __call__(self, place: Place) -> Document | None:
        """Return the document at a location."""
        if place not in self.known:
            start = self.places.index(place)
            places = self.places[start : start + AHEAD]
            found = self.view.store.catalog.documents_at(places)
            for each in places:
                document = found.get(each)
                self.known[each] = document and self.view.visible.document(each[0], document)
        return self.known[place]
