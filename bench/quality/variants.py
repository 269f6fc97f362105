"""The default search without each of its parts, and what each of them adds to nDCG@10, question by question.

What the variants of a question have in common is done once: the channels are read once, and a variant begins where its
stages first differ from those of the default. A variant that lacks only stages which changed nothing ranks as the
default does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rifflux.evaluate import Bootstrap, Collection, JudgedQuestion, parse_run
from rifflux.evaluate.measures import PRIMARY, measured
from rifflux.index import Index
from rifflux.requests import HYBRID
from rifflux.retrieve.pipeline import Phase, Plan, Stage, gather
from rifflux.retrieve.steps.diversity import Diversity
from rifflux.retrieve.steps.rerank.features import COMPONENTS, WEIGHTS
from rifflux.retrieve.table import Candidates
from rifflux.session.profile import READING, STAGES, Profile
from rifflux.session.searching import Searcher

__all__ = ["BOOSTING", "DEFAULT", "PARTS", "RRF", "Change", "change", "gains"]

DEFAULT = parse_run(f"name=default,mode={HYBRID}")
RRF = parse_run(f"name=rrf,mode={HYBRID},fusion=rrf,rerank=none")
#: Steps that change the order. Others fetch, cut and mark.
STEPS = ("anchors", "credits", "code", "prefix rank", "times", "rerank", "symbol")
#: Boosts of anchors, which do nothing at 1.
BOOSTS = ("boost", "title_boost", "exact_title", "identified")
#: So many hits are ranked, and more where these are of fewer than `DOCUMENTS` documents.
DEPTHS = (100, 1000)
DOCUMENTS = 10
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
#: The parts that are boosts, each of which multiplies scores for one kind of evidence.
BOOSTING = [name for name in (*STEPS, *(f"anchors: {each}" for each in BOOSTS)) if name not in ("rerank", "symbol")]


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
    # Hundreds of hits are judged for their order alone, not for their relevance.
    usual = DEFAULT.view(index)
    searchers = {part: usual.using(PARTS[part](usual.profile)).admin.searcher for part in parts}
    asker = Asker(collection, usual.admin.searcher, searchers)
    rankings: dict[str, dict[str, Sequence[str]]] = {name: {} for name in (RRF.name, DEFAULT.name, *parts)}
    for question in collection.questions:
        for name, documents in asker(question).items():
            rankings[name][question.id] = documents
    for name, ranking in rankings.items():
        values: list[float] = measured(collection.questions, ranking)[PRIMARY].tolist()
        yield name, values


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks a question by RRF, by default, and by the searcher of each variant."""

    collection: Collection
    searcher: Searcher
    variants: Mapping[str, Searcher]

    def __call__(self, question: JudgedQuestion) -> dict[str, Sequence[str]]:
        """Return the documents in order, by name of the variant."""
        with self.searcher.view.store.memoized():
            for depth in DEPTHS:
                found = self._ranked(question, depth)
                if all(len(documents) >= DOCUMENTS for documents in found.values()):
                    break
        return found

    def _ranked(self, question: JudgedQuestion, depth: int) -> dict[str, Sequence[str]]:
        limits = self.collection.filter(question)
        parsed = self.searcher.parse(question.text, limits)
        usual = Passed.through(self.searcher, parsed, depth)
        # The vector is that of the question's words, which no variant changes.
        parsed = replace(parsed, execution=replace(parsed.execution, vector=usual.plan.execution.vector))
        fused = self.searcher.options(HYBRID, "rrf", "none", self.searcher.profile.diversity)
        by_ranks = self.searcher.plan(parsed, depth, fused).page(depth)[0]
        found = {RRF.name: by_ranks, DEFAULT.name: usual.table}
        for name, searcher in self.variants.items():
            if searcher.profile.reading == self.searcher.profile.reading:
                plan = _planned(searcher, parsed, depth)
                found[name] = usual.without(replace(plan, evidence=usual.plan.evidence))
                continue
            other = searcher.parse(question.text, limits)
            plan = _planned(searcher, other, depth)
            if (other.query, plan.channels) == (parsed.query, usual.plan.channels):
                found[name] = usual.table
            else:
                found[name] = plan.page(depth)[0]
        return {name: [*dict.fromkeys(map(self.collection.identify, each.passages))] for name, each in found.items()}


def _planned(searcher: Searcher, parsed: Plan, depth: int) -> Plan:
    profile = searcher.profile
    return searcher.plan(parsed, depth, searcher.options(HYBRID, None, None, profile.diversity))


@dataclass(frozen=True, slots=True)
class Passed:
    """A search stage by stage: `tables` are those before each stage, and the last one."""

    plan: Plan
    stages: Sequence[Stage]
    tables: list[Candidates] = field(default_factory=list)

    @classmethod
    def through(cls, searcher: Searcher, parsed: Plan, depth: int) -> Passed:
        """Return the search of a question by default."""
        plan = _planned(searcher, parsed, depth)
        plan = replace(plan, passages=plan.passages_for(depth))
        found = cls(plan, _ordered(plan), [gather(plan)])
        for stage in found.stages:
            found.tables.append(plan.run(stage, found.tables[-1]))
        return found

    @property
    def table(self) -> Candidates:
        """Return the candidates after all stages."""
        return self.tables[-1]

    def without(self, plan: Plan) -> Candidates:
        """Return the candidates of a plan that differs in its stages alone."""
        plan = replace(plan, passages=self.plan.passages)
        stages = _ordered(plan)
        alike = 0
        while alike < min(len(stages), len(self.stages)) and stages[alike] == self.stages[alike]:
            alike += 1
        if not self._worked(alike, stages[alike:]):
            return self.table
        table = self.tables[alike]
        for stage in stages[alike:]:
            table = plan.run(stage, table)
        return table

    def _worked(self, start: int, others: Sequence[Stage]) -> bool:
        """Return True unless other stages from `start` on lack only stages that changed nothing."""
        effective = []
        for stage, before, after in zip(
            self.stages[start:], self.tables[start:], self.tables[start + 1 :], strict=False
        ):
            if after is not before or stage in others:
                effective.append(stage)
        return effective != [*others]


def _ordered(plan: Plan) -> Sequence[Stage]:
    """Return the stages before the page, in order."""
    return [
        stage
        for phase in (Phase.CANDIDATES, Phase.FETCH, Phase.PASSAGES)
        for stage in plan.stages
        if stage.phase == phase
    ]
