"""The default search without each of its parts, and what each of them adds to nDCG@10, question by question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rifflux.evaluate import Bootstrap, Collection, Run, parse_run
from rifflux.evaluate.measures import PRIMARY, measured
from rifflux.evaluate.runs import answers
from rifflux.index import Index
from rifflux.requests import HYBRID
from rifflux.retrieve.steps.diversity import Diversity
from rifflux.retrieve.steps.rerank.features import COMPONENTS, WEIGHTS
from rifflux.session.profile import READING, STAGES, Profile

__all__ = ["DEFAULT", "PARTS", "RRF", "Change", "change", "gains"]

DEFAULT = parse_run(f"name=default,mode={HYBRID}")
RRF = parse_run(f"name=rrf,mode={HYBRID},fusion=rrf,rerank=none")
#: Steps that change the order. Others fetch, cut and mark.
STEPS = ("anchors", "credits", "code", "prefix rank", "times", "rerank", "symbol")
#: Boosts of anchors, which do nothing at 1.
BOOSTS = ("boost", "title_boost", "exact_title", "identified")
#: An interval holds so much of the resampled means.
CONFIDENCE = 0.95
#: Smaller losses are none, however sure.
LEAST = 0.001


def _without(name: str) -> Callable[[Profile], Profile]:
    return lambda profile: profile.without(name)


def _unboosted(name: str) -> Callable[[Profile], Profile]:
    return lambda profile: profile.boosted({name: 1.0})


def _unweighted(name: str) -> Callable[[Profile], Profile]:
    return lambda profile: profile.tuned(features={name: 0.0})


#: The profile without each part, by the part's name.
PARTS: Mapping[str, Callable[[Profile], Profile]] = {
    **{name: _without(name) for name in STEPS if name in STAGES},
    **{name: _without(name) for name in sorted(READING - {*STAGES})},
    **{f"anchors: {name}": _unboosted(name) for name in BOOSTS},
    **{f"features: {name}": _unweighted(name) for name in COMPONENTS if name != "fused" and WEIGHTS[name]},
    "diversity": lambda profile: replace(profile, diversity=Diversity()),
}


@dataclass(frozen=True, slots=True)
class Change:
    """What something adds to the mean, with the bootstrap's interval of it, and the number of questions it moves."""

    mean: float
    low: float
    high: float
    moved: int

    @property
    def mark(self) -> str:
        """Return `▼` for a significant loss, `▲` for a significant gain, else nothing."""
        if self.high < 0 and self.mean <= -LEAST:
            return "▼"
        if self.low > 0 and self.mean >= LEAST:
            return "▲"
        return ""

    def __str__(self) -> str:
        """Return the mean with its mark, and its interval where there is anything to tell."""
        if not self.moved:
            return "·"
        return f"{self.mean:+.3f}{self.mark} [{self.low:+.3f} {self.high:+.3f}]"


def change(before: Sequence[float], after: Sequence[float]) -> Change:
    """Return what changes from one value a question to another of the same questions."""
    differences = np.array(after) - np.array(before)
    low, high = Bootstrap(resamples=2000).interval(differences, CONFIDENCE)
    return Change(float(differences.mean()), low, high, int(np.count_nonzero(differences)))


def gains(index: Index, collection: Collection, parts: Sequence[str]) -> Iterator[tuple[str, Sequence[float]]]:
    """Yield nDCG@10 of each question by RRF, by default, and by default without each of the parts, by name."""
    yield RRF.name, _measured(RRF.view(index), collection, RRF)
    usual = DEFAULT.view(index)
    yield DEFAULT.name, _measured(usual, collection, DEFAULT)
    for part in parts:
        yield part, _measured(usual.using(PARTS[part](usual.profile)), collection, DEFAULT)


def _measured(view: Index, collection: Collection, run: Run) -> Sequence[float]:
    values: list[float] = measured(collection.questions, answers(view, collection, run).rankings)[PRIMARY].tolist()
    return values
