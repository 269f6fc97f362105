"""Decide from the best blocks whether a question is answered, or is refused before any model is called.

Three signals of the best blocks give the probability that they answer rightly:

    relevance   of the best passage: how likely a question has an answer where such a passage is found
    fit         MaxSim: the weighted mean, over the question's tokens, of the largest cosine with a token of the block;
                of a completed question, over the tokens of its latest words
    lead        the score of the best block less the mean of the next ones that stand elsewhere: where many passages say
                nearly as much, none of them is likely to be what was asked for

The first two separate questions with an answer from those without one, the lead right answers from wrong ones, on
collections that they were not fitted on (`bench sufficiency`). Without token vectors, `meaning` (the cosine of the
question and the best block below its headings) and `covered` (the share of the question's words, weighted by rarity,
that the best blocks and their headings contain) replace fit and lead; without any vectors, the latter alone. The length
of a question and the tokens that fit worst add nothing that holds on other collections.

Between an answer and a refusal lies the closest passage: it is quoted like an answer, with a notice that it may not
answer. A question that consists of something named to the letter, such as a section's number, is answered wherever that
occurs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rifflux.answer.extract import Candidate
from rifflux.answer.gather import Evidence, Found
from rifflux.retrieve.table import MEDIUM
from rifflux.types import Notice

#: The best blocks that are looked at.
BEST = 3
#: The number of blocks that the best one is compared with, and the score of what has nothing to do with a question,
#: which stands for those that are missing.
RIVALS = 6
UNRELATED = 0.4
#: The characters around the best block in which others say more of the same and are no rivals.
BESIDE = 400
#: The number of passages of a source in which literal names are sought, and the share of the question they must be.
LOOKED_AT = 10
LETTER = 0.5
#: The probabilities from which a question is answered, and from which its closest passage is quoted.
ANSWERED = 0.45
CLOSEST = 0.42

_NOTHING = "nothing was found: index something that answers it, or ask in other words"
_WEAK = "nothing that was found is near enough to answer it: these passages are the nearest"


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """The weights of the signals in the log odds of an answer."""

    constant: float
    relevance: float
    fit: float = 0.0
    lead: float = 0.0
    meaning: float = 0.0
    covered: float = 0.0


@dataclass(frozen=True, slots=True)
class Signals:
    """What the best blocks say about a question; `fit` is None without token vectors, `meaning` 0 without any."""

    relevance: float
    meaning: float
    covered: float
    fit: float | None = None
    lead: float = 0.0
    is_completed: bool = False
    is_continuing: bool = False

    @property
    def probability(self) -> float:
        """Return the probability that the best blocks answer rightly."""
        if self.fit is not None:
            weights = BY_TOKENS
        elif self.meaning:
            weights = BY_MEANING
        else:
            weights = BY_WORDS
        odds = weights.constant + weights.relevance * self.relevance + weights.fit * (self.fit or 0.0)
        odds += weights.lead * self.lead
        odds += weights.meaning * self.meaning + weights.covered * self.covered
        if self.is_completed:
            odds += COMPLETED
        if self.is_continuing:
            odds += CONTINUING
        return 1 / (1 + math.exp(-odds))


#: What is added for a completed question: an answer need not contain the words that complete it.
COMPLETED = 0.5
#: What is added if the best block stands in the document that the answer before a follow-up stands in.
CONTINUING = 1.0
BY_TOKENS = SignalWeights(-3.91, relevance=1.53, fit=3.11, lead=3.18)
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

    def fits_better_than(self, completed: Sufficiency) -> bool:
        """Return True if the best blocks fit a question at least as well as those found for it once it is completed."""
        if not completed.signals:
            return True
        own = replace(completed.signals, is_completed=False, is_continuing=False)
        return self.probability >= own.probability


def sufficiency(evidence: Evidence, candidates: Sequence[Candidate], *, is_completed: bool = False) -> Sufficiency:
    """Return whether the best blocks answer, and why not; `is_completed` of a question with words of those before."""
    if not evidence.pack.items:
        return Sufficiency(0.0, _NOTHING)
    signals = _signals(evidence, candidates, is_completed) if candidates else None
    likely = signals.probability if signals else 0.0
    probability = max(likely, *(_to_the_letter(each) for each in evidence.found))
    if probability >= ANSWERED:
        return Sufficiency(probability, signals=signals)
    if probability >= CLOSEST:
        text = "nothing answers this for certain: this is the closest passage"
        return Sufficiency(probability, notice=Notice("answer.closest", text), signals=signals)
    return Sufficiency(probability, _WEAK, signals=signals)


def _signals(evidence: Evidence, candidates: Sequence[Candidate], is_completed: bool) -> Signals:
    best = candidates[:BEST]
    judged = [each for each in best if each.is_continuing == best[0].is_continuing]
    return Signals(
        evidence.pack.confidence,
        meaning=max(each.meaning for each in best),
        covered=max(each.covered for each in best),
        fit=max((each.latest_fit for each in judged if each.latest_fit is not None), default=None),
        lead=_lead(candidates),
        is_completed=is_completed,
        is_continuing=best[0].is_continuing,
    )


def _lead(candidates: Sequence[Candidate]) -> float:
    """Return the score of the best block less the mean of the next ones that stand elsewhere."""
    best = candidates[0]
    start, end = best.quotation().span
    around = (start - BESIDE, end + BESIDE)
    rivals = [each.score for each in candidates[1:] if not each.stands_in(best.passage, around)][:RIVALS]
    missing = RIVALS - len(rivals)
    return best.score - (sum(rivals) + missing * UNRELATED) / RIVALS


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
