"""Answer without a model: the blocks of the evidence that answer best, quoted word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

import numpy as np

from rifflux.answer.blocks import AnswerBlock, blocks
from rifflux.answer.gather import Evidence
from rifflux.answer.support import SourcePassage
from rifflux.errors import ModelError
from rifflux.retrieve.fuse.base import weights_of
from rifflux.types import Clause, Notice, Span, Vectors

#: Blocks that are compared by meaning, and the characters of one that are read for that.
COMPARED = 16
READ_OF_BLOCK = 400
#: How a block is scored: its meaning, the words of the question that it holds, and its passage's place.
MEANING = 1.2
COVERAGE = 0.3
PLACE = 0.2
#: What a heading says is said of what stands under it; by so much less.
HEADED = 0.6
#: What the words count that complete a follow-up.
OLD = 0.4
#: A second block is quoted if its score is by no more than this behind the best one's.
MARGIN = 0.15
#: Blocks of an answer.
MOST = 2
#: What parts the words of a file's name.
_PARTING = re.compile(r"[-_]+")


@dataclass(frozen=True, slots=True)
class Quotation:
    """A block of a passage as it is quoted; `span` is its place in the document."""

    passage: SourcePassage
    text: str
    span: Span
    is_whole: bool = False


@dataclass
class Candidate:
    """A block that may answer, with what speaks for it."""

    passage: SourcePassage
    block: AnswerBlock
    place: int
    terms: frozenset[str]
    covered: float
    meaning: float = 0.0
    score: float = 0.0
    vector: Vectors | None = field(default=None, repr=False)

    @property
    def quotation(self) -> Quotation:
        """Return the block as it is quoted."""
        start = self.passage.item.span[0]
        span = (start + self.block.span[0], start + self.block.span[1])
        return Quotation(self.passage, self.block.text, span, is_whole="\n" in self.block.text)


def ranked(
    evidence: Evidence, passages: Sequence[SourcePassage], follow_up: str = ""
) -> tuple[list[Candidate], list[Notice]]:
    """Return the blocks of passages, those that answer best first, and what was missing to order them.

    Of a question that was completed, the words of the `follow_up` count more than those that complete it.
    """
    candidates: list[Candidate] = []
    for place, passage in enumerate(passages):
        candidates += _candidates(evidence, passage, place, follow_up)
    for each in candidates:
        each.score = COVERAGE * each.covered + PLACE / (1 + each.place)
    candidates.sort(key=lambda each: -each.score)
    candidates = candidates[:COMPARED]
    degraded = _by_meaning(evidence, candidates)
    candidates.sort(key=lambda each: -each.score)
    return candidates, degraded


def chosen(candidates: Sequence[Candidate], most: int = MOST, given: Sequence[str] = ()) -> list[Quotation]:
    """Return the best block, and others that are nearly as good and say something else.

    An answer that was `given` before does not begin with the same block again, if there is another one.
    """
    found: list[Candidate] = []
    new = [each for each in candidates if not any(text.startswith(each.block.text) for text in given)]
    for each in new or candidates:
        if len(found) == most or (found and each.score < found[0].score - MARGIN):
            break
        if not any(_repeats(each, other) for other in found):
            found.append(each)
    return [each.quotation for each in found]


def numbered(evidence: Evidence, quotations: Sequence[Quotation]) -> tuple[Evidence, list[Quotation]]:
    """Return evidence whose first passages are those that are quoted, in that order, and the quotations of these."""
    items = list(dict.fromkeys(each.passage.item.number for each in quotations))
    by_number = {item.number: item for item in evidence.pack.items}
    order = [by_number.pop(number) for number in items] + list(by_number.values())
    renumbered = {item.number: replace(item, number=place) for place, item in enumerate(order, 1)}
    moved = [
        replace(each, passage=replace(each.passage, item=renumbered[each.passage.item.number])) for each in quotations
    ]
    return replace(evidence, pack=replace(evidence.pack, items=tuple(renumbered.values()))), moved


def _repeats(one: Candidate, other: Candidate) -> bool:
    """Return True if two blocks overlap."""
    if one.passage.item.key != other.passage.item.key:
        return one.block.text == other.block.text
    left = one.quotation.span
    right = other.quotation.span
    return (left[0] < right[1] and right[0] < left[1]) or one.block.text in other.block.text


def _candidates(evidence: Evidence, passage: SourcePassage, place: int, follow_up: str) -> list[Candidate]:
    """Return the blocks of a passage with the share of the question that each holds."""
    found = evidence.found_of(passage.item)
    weights = _weights(weights_of(found.searcher.store, found.plan), frozenset(passage.analyzer.terms(follow_up)))
    above = frozenset(passage.analyzer.terms(" ".join(_above(passage))))
    candidates: list[Candidate] = []
    headings = passage.item.heading_path.split(" > ")
    for block in blocks(passage.item.text, headings, code=passage.is_code):
        terms = frozenset(passage.analyzer.terms(block.text))
        if terms:
            covered = sum(
                weight * (1.0 if term in terms else HEADED * (term in above)) for term, weight in weights.items()
            )
            candidates.append(Candidate(passage, block, place, terms, covered))
    return candidates


def _weights(weights: Mapping[Clause, float], new: frozenset[str]) -> dict[str, float]:
    """Return the share of each term in all that a question says; where some are `new`, the others count less."""
    single: dict[str, float] = {}
    for clause, weight in weights.items():
        for term in clause:
            worth = OLD * weight if new and term not in new else weight
            single[term] = max(single.get(term, 0.0), worth)
    total = sum(single.values())
    if total:
        return {term: weight / total for term, weight in single.items()}
    return {}


def _by_meaning(evidence: Evidence, candidates: Sequence[Candidate]) -> list[Notice]:
    """Add to each score how near a block is to the question; return what was missing for that."""
    found = evidence.found[0]
    if not candidates or not found.searcher.store.counts()["embedded_chunks"] or not found.query.semantic_text:
        return []
    embedder = found.searcher.view.embedder
    try:
        question = embedder.question_vector(found.query.semantic_text)
        vectors = embedder.hurried.passage_vectors([headed(each) for each in candidates])
    except ModelError as error:
        text = f"blocks were chosen by their words alone: {error}"
        return [Notice.of(error, "sentences.by_words", text)]
    cosines = np.maximum(vectors @ question, 0.0)
    for each, vector, cosine in zip(candidates, vectors, cosines.tolist(), strict=True):
        each.meaning = cosine
        each.vector = vector
        each.score += MEANING * cosine
    return []


def headed(candidate: Candidate) -> str:
    """Return a block below what it stands under, as it is embedded."""
    return "\n".join((*_above(candidate.passage), candidate.block.text[:READ_OF_BLOCK]))


def _above(passage: SourcePassage) -> list[str]:
    """Return what a passage stands under: the name of its file if the title has another one, title and headings."""
    item = passage.item
    stem = PurePosixPath(item.key).stem
    name = "" if stem.casefold() in item.title.casefold() else _PARTING.sub(" ", stem)
    return [part for part in (name, item.title, item.heading_path) if part]
