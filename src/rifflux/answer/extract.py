"""Answer without a model: the sentences of the evidence that say most of what was asked, quoted word for word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rifflux.answer.gather import Evidence
from rifflux.answer.support import Passage
from rifflux.errors import ModelError
from rifflux.retrieve.fuse.base import weights_of
from rifflux.text.sentences import ITEM, WHOLE, Piece, flowing, pieces
from rifflux.types import Clause, Scores, Span, Vectors

#: Sentences of an answer, those that are compared by meaning, and how many may come from one passage.
MOST = 5
COMPARED = 16
OF_ONE = 3
#: Characters of a list that is quoted with the line that leads to it.
LONGEST_LIST = 800
#: How a sentence is scored: the words of the question that it holds, its meaning, its passage's place, and its own.
COVERAGE = 0.45
MEANING = 0.3
PLACE = 0.2
FIRST = 0.05
#: What a sentence gains that begins with what is asked about, and within how many of its terms.
SUBJECT = 0.25
BEGINS = 3
#: What counts against a sentence that is like one that was chosen, and one of a passage that was quoted already.
LIKE = 0.5
AGAIN = 0.12
#: What is left of the score of a sentence that asks something itself, or leads to what is not there.
ASKS = 0.5
#: A sentence with a smaller share of the best one's score says too little.
LEAST = 0.45
#: What a heading says is said of every sentence under it; by so much less, where that is not all that is asked.
HEADED = 0.6


@dataclass(frozen=True, slots=True)
class Quotation:
    """A sentence of a passage as it is read, or a table or code as it stands; `span` is its place in the document."""

    passage: Passage
    text: str
    span: Span
    is_whole: bool = False


@dataclass
class _Candidate:
    quotation: Quotation
    place: int
    score: float
    terms: frozenset[str]
    order: int
    vector: Vectors | None = field(default=None, repr=False)


def extract(evidence: Evidence, passages: Sequence[Passage]) -> tuple[list[Quotation], list[str]]:
    """Return the sentences that answer best, those of one passage together, and what was missing to choose them.

    They are chosen one by one, each for what it says of the question and what those before it do not say.
    """
    candidates = [*_candidates(evidence, passages)]
    candidates = sorted(candidates, key=lambda each: -each.score)[:COMPARED]
    degraded = _by_meaning(evidence, candidates)
    chosen: list[_Candidate] = []
    best = max((each.score for each in candidates), default=0.0)
    while candidates and len(chosen) < MOST:
        values = [each.score - _repeated(each, chosen) for each in candidates]
        place = int(np.argmax(values))
        if chosen and values[place] < LEAST * best:
            break
        chosen.append(candidates.pop(place))
        number = chosen[-1].place
        if sum(each.place == number for each in chosen) == OF_ONE:
            candidates = [each for each in candidates if each.place != number]
    first = {each.place: place for place, each in reversed([*enumerate(chosen)])}
    chosen.sort(key=lambda each: (first[each.place], each.order))
    return [each.quotation for each in chosen], degraded


def _candidates(evidence: Evidence, passages: Sequence[Passage]) -> Iterator[_Candidate]:
    """Give the sentences of all passages, scored by their words and places."""
    for place, passage in enumerate(passages):
        found = evidence.found_of(passage.item)
        weights = _weights(weights_of(found.searcher.store, found.plan))
        headed = _held(weights, frozenset(passage.analyzer.terms(f"{passage.item.title} {passage.item.heading_path}")))
        above = 1.0 if headed == weights.keys() else HEADED
        cut = _unjoined(passage.item.text, pieces(passage.item.text, code=passage.is_code))
        for order, piece in enumerate(cut):
            text = passage.item.text[slice(*piece.span)]
            terms = frozenset(passage.analyzer.terms(text))
            if not terms or (terms <= weights.keys() and piece.kind != WHOLE):
                continue  # it says nothing but what is asked
            own = _held(weights, terms)
            covered = sum(
                weight * (1.0 if term in own else above * (term in headed)) for term, weight in weights.items()
            )
            begins = set(passage.analyzer.terms(" ".join(text.split()[: 2 * BEGINS]))[:BEGINS])
            score = SUBJECT * bool(weights and len(weights) <= BEGINS and weights.keys() <= begins)
            score += COVERAGE * covered + PLACE / (1 + place) + FIRST / (1 + order)
            score *= ASKS if text.endswith(("?", ":")) else 1.0
            start = passage.item.span[0]
            span = start + piece.span[0], start + piece.span[1]
            whole = piece.kind == WHOLE
            quotation = Quotation(passage, text if whole else flowing(text), span, is_whole=whole)
            yield _Candidate(quotation, place, score, terms, order)


def _unjoined(text: str, found: Sequence[Piece]) -> list[Piece]:
    """Return the pieces of a passage; a line that leads to what is behind it belongs to that table, code or list."""
    joined: list[Piece] = []
    leading = False
    for piece in found:
        before = joined[-1] if joined else piece
        whole = piece.span[1] - before.span[0] <= LONGEST_LIST
        if leading and (piece.kind == WHOLE or (piece.kind == ITEM and whole)):
            joined[-1] = replace(piece, kind=WHOLE, span=(before.span[0], piece.span[1]))
            leading = piece.kind == ITEM
        else:
            joined.append(piece)
            leading = text[piece.span[1] - 1] == ":"
    return joined


def _weights(weights: Mapping[Clause, float]) -> dict[str, float]:
    """Return the share of each term of the question in all that it asks."""
    single: dict[str, float] = {}
    for clause, weight in weights.items():
        for term in clause:
            single[term] = max(single.get(term, 0.0), weight)
    total = sum(single.values())
    if total:
        return {term: weight / total for term, weight in single.items()}
    return {}


def _held(weights: Mapping[str, float], terms: frozenset[str]) -> frozenset[str]:
    return terms & weights.keys()


def _by_meaning(evidence: Evidence, candidates: Sequence[_Candidate]) -> list[str]:
    """Add to each score how near a sentence is to the question; return what was missing for that."""
    found = evidence.found[0]
    if not candidates or not found.searcher.store.counts()["embedded_chunks"] or not found.query.semantic_text:
        return []
    embedder = found.searcher.view.embedder
    try:
        question = embedder.question_vector(found.query.semantic_text)
        vectors = embedder.hurried.passage_vectors([each.quotation.text for each in candidates])
    except ModelError as error:
        return [f"sentences were chosen by their words alone: {error}"]
    cosines: Scores = np.maximum(vectors @ question, 0.0).astype(np.float64)
    scale = float(cosines.max()) or 1.0
    for each, vector, cosine in zip(candidates, vectors, cosines.tolist(), strict=True):
        each.score += MEANING * cosine / scale
        each.vector = vector
    return []


def _repeated(candidate: _Candidate, chosen: Sequence[_Candidate]) -> float:
    """Return what counts against a candidate beside those that were chosen."""
    if not chosen:
        return 0.0
    likeness = max(_likeness(candidate, each) for each in chosen)
    return LIKE * max(0.0, likeness - 0.6) + AGAIN * sum(each.place == candidate.place for each in chosen)


def _likeness(one: _Candidate, other: _Candidate) -> float:
    if one.vector is not None and other.vector is not None:
        return float(one.vector @ other.vector)
    return len(one.terms & other.terms) / max(1, min(len(one.terms), len(other.terms)))
