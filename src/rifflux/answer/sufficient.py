"""Decide from the best blocks whether a question is answered, or is refused before any model is called.

Signals of the best blocks are joined to a probability:

    fit         MaxSim: the mean, over the question's tokens, of the greatest cosine with a token of the block
    worst       the same of the tokens that fit worst: what the block does not speak of
    relevance   that of the best passage: how likely a question has an answer where such a passage is found
    length      the words of the question: the more, the worse some of them fit

They separate on collections that they were not fitted on, which the cosine of the block, the relevance alone and the
share of words do less well. Where the embedder gives no vectors of tokens, `meaning` (the cosine of the question and
the best block) and `covered` (the share of the question's words, by how rare they are, that the best blocks and their
headings hold) stand in; where there are no vectors at all, the latter alone.

Between an answer and a refusal lies the closest passage: it is quoted, and a notice says that it may not answer.
A question that is all of something named to the letter, such as a section's number, is answered wherever that stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rifflux.answer.extract import Candidate
from rifflux.answer.gather import Evidence, Found
from rifflux.retrieve.table import MEDIUM
from rifflux.types import Notice

#: The best blocks that are looked at.
BEST = 3
#: The passages of a source that are looked at for what is named to the letter, and the share of the question it is.
LOOKED_AT = 10
LETTER = 0.5
#: From which probability on a question is answered, and its closest passage quoted: where that is as likely as not.
ANSWERED = 0.55
CLOSEST = 0.5
#: Words of a question beyond which it is no longer.
LONG = 16

_NOTHING = "nothing was found: index something that answers it, or ask in other words"
_WEAK = "nothing that was found is near enough to answer it: these passages are the nearest"


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """The weights of the signals in the log odds of an answer."""

    constant: float
    relevance: float = 0.0
    fit: float = 0.0
    worst: float = 0.0
    length: float = 0.0
    meaning: float = 0.0
    covered: float = 0.0


@dataclass(frozen=True, slots=True)
class Signals:
    """What the best blocks say about a question; `fit` and `worst` are None without vectors of tokens.

    `length` is the number of the question's words as a share of `LONG`, at most 1.
    """

    relevance: float
    meaning: float
    covered: float
    fit: float | None = None
    worst: float | None = None
    length: float = 0.0

    @property
    def probability(self) -> float:
        """Return the probability that the best blocks answer, where half of all questions have an answer."""
        if self.fit is not None:
            weights = BY_TOKENS
        elif self.meaning:
            weights = BY_MEANING
        else:
            weights = BY_WORDS
        odds = weights.constant + weights.relevance * self.relevance
        odds += weights.fit * (self.fit or 0.0) + weights.worst * (self.worst or 0.0) + weights.length * self.length
        odds += weights.meaning * self.meaning + weights.covered * self.covered
        return 1 / (1 + math.exp(-odds))


BY_TOKENS = SignalWeights(-8.42, relevance=2.21, fit=4.43, worst=3.9, length=4.84)
BY_MEANING = SignalWeights(-4.63, relevance=0.52, meaning=5.52, covered=4.3)
BY_WORDS = SignalWeights(-3.04, relevance=3.15, covered=2.7)


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """Whether evidence is enough: the `reason` of a refusal, or a `notice` with the closest passage.

    `signals` are those of the best blocks, None where there are no blocks.
    """

    probability: float
    reason: str = ""
    notice: Notice | None = None
    signals: Signals | None = None

    @property
    def is_answered(self) -> bool:
        """Return True if the best blocks are more than the closest passage."""
        return not self.reason and not self.notice


def sufficiency(evidence: Evidence, candidates: Sequence[Candidate]) -> Sufficiency:
    """Return whether the best blocks answer, and why not."""
    if not evidence.pack.items:
        return Sufficiency(0.0, _NOTHING)
    signals = _signals(evidence, candidates) if candidates else None
    likely = signals.probability if signals else 0.0
    probability = max(likely, *(_to_the_letter(each) for each in evidence.found))
    if probability >= ANSWERED:
        return Sufficiency(probability, signals=signals)
    if probability >= CLOSEST:
        text = "nothing answers this for certain: this is the closest passage"
        return Sufficiency(probability, notice=Notice("answer.closest", text), signals=signals)
    return Sufficiency(probability, _WEAK, signals=signals)


def _signals(evidence: Evidence, candidates: Sequence[Candidate]) -> Signals:
    best = candidates[:BEST]
    return Signals(
        evidence.pack.confidence,
        meaning=max(each.meaning for each in best),
        covered=max(each.covered for each in best),
        fit=max((each.fit for each in best if each.fit is not None), default=None),
        worst=max((each.worst for each in best if each.worst is not None), default=None),
        length=min(len(evidence.found[0].query.semantic_text.split()), LONG) / LONG,
    )


def _to_the_letter(found: Found) -> float:
    """Return 1 if a relevant passage holds all that a question names to the letter, and that is most of it."""
    hits = [hit for hit in found.hits[:LOOKED_AT] if not hit.withheld]
    anchors = found.query.anchors
    if (
        not anchors
        or found.query.specificity <= LETTER
        or max((hit.relevance or 0.0 for hit in hits), default=0) < MEDIUM
    ):
        return 0.0
    for hit in hits:
        analyzer = found.searcher.analyzer.beside(found.query.languages.stands_for, hit.language)
        text = f" {analyzer.joined(f'{hit.title} {hit.heading_path} {hit.text}')} "
        if all(f" {' '.join(anchor)} " in text for anchor in anchors):
            return 1.0
    return 0.0
