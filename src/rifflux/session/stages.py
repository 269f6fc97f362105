"""The stages of a search, each made where it acts. The profile orders them; a new idea is a new maker here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.pipeline import RERANK, Fetch, Phase, Plan, Stage, Step, fuse
from rifflux.retrieve.steps.calibrate import MEANING, Relevance
from rifflux.retrieve.steps.diversity import REPEATING, Diversity
from rifflux.retrieve.table import Candidates, pool_of
from rifflux.session.profile import FETCH, FUSE, PAGE
from rifflux.session.session import IndexView
from rifflux.text.analyzer import Analyzer
from rifflux.types import CREDITS, Query

if TYPE_CHECKING:
    from rifflux.retrieve.steps.rerank import Rerank

#: The facts of a work that a filter or a question may name.
_FACTS = frozenset((*CREDITS, "year"))


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a caller chose of a search: its mode, the fusion of a hybrid one, and what is done to the candidates."""

    mode: str
    fuse: Fuse | None
    reranker: Rerank | None = None
    diversity: Diversity = REPEATING
    notes: tuple[str, ...] = ()
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """What the stages of one search are made from: the view, the analyzer, the question as planned, the options.

    `is_lifted` says whether steps may change scores: where ranks alone decide, or in a single channel, they may not.
    """

    view: IndexView
    analyzer: Analyzer
    plan: Plan
    options: SearchOptions
    is_lifted: bool = False


#: Makes stages of one kind; none where they do not act.
StageMaker = Callable[[Search], Sequence[Stage]]
#: The stage that makes candidates of the rankings.
FUSION = Stage("fuse", fuse, phase=Phase.CANDIDATES)
#: Among how many of the best of each channel source code is looked for.
LOOKED_AT = 10


def stages_of(search: Search) -> tuple[Stage, ...]:
    """Return the stages of a search in the order of its profile."""
    phase = Phase.CANDIDATES
    stages: list[Stage] = []
    done: Step | None = None
    for maker in search.view.profile.stages:
        if maker == FUSE:
            stages.append(FUSION)
        elif maker == FETCH:
            stages.append(Stage(FETCH, Fetch(search.view.store), phase=Phase.FETCH))
            phase = Phase.PASSAGES
        elif maker == PAGE:
            phase = Phase.PAGE
        else:
            make = MAKERS[maker] if isinstance(maker, str) else maker
            for stage in make(search):
                # What a step did need not be done again while nothing else changed the table.
                if stage.step != done:
                    stages.append(replace(stage, phase=phase))
                done = stage.step
    return tuple(stages)


def _anchors(search: Search) -> Sequence[Stage]:
    """Lift what holds or bears what the question names to the letter."""
    if not search.is_lifted:
        return ()
    from rifflux.retrieve.steps.anchors import STAGE, Anchors

    return [Stage(STAGE, Anchors(search.view.store, search.analyzer, **search.view.profile.tuning.boosts))]


def _credits(search: Search) -> Sequence[Stage]:
    """Lift works of the authors, venues and years that the question names."""
    if not search.plan.query.credits or (search.options.fuse and not search.is_lifted):
        return ()
    from rifflux.retrieve.steps.credits import STAGE, Credits

    return [Stage(STAGE, Credits(search.view.store), timed=False)]


def _code(search: Search) -> Sequence[Stage]:
    """Lift definitions, where there is source code among the best candidates."""
    if not search.is_lifted:
        return ()
    from rifflux.retrieve.steps.code import STAGE, Definitions

    return [Stage(STAGE, Definitions(search.view.store), applies=_has_code)]


def _has_code(plan: Plan, table: Candidates) -> bool:
    """Return True if there is source code among the best of any channel."""
    return "code" in plan.evidence.kinds(pool_of(table.rankings, LOOKED_AT))


def _prefix_rank(search: Search) -> Sequence[Stage]:
    """Keep records that begin with the question at their place by words, or above."""
    if not search.is_lifted:
        return ()
    from rifflux.retrieve.steps.beginnings import STAGE, PreservePrefixRank

    return [Stage(STAGE, PreservePrefixRank(), top=0, timed=False)]


def _times(search: Search) -> Sequence[Stage]:
    """Lift what is of the times that the question names."""
    if not search.plan.query.times:
        return ()
    from rifflux.retrieve.steps.moments import STAGE, Moments

    step = Moments()
    return [Stage(STAGE, step, top=step.top)]


def _rerank(search: Search) -> Sequence[Stage]:
    """Rerank the best, and order them by the credits, which a reranker knows nothing of."""
    reranker = search.options.reranker
    if not reranker:
        return ()
    stages = [Stage(RERANK, reranker, top=reranker.top)]
    if not search.plan.query.credits or not _credits(search):
        return stages
    from rifflux.retrieve.steps.credits import STAGE, credits_first

    return [*stages, *_prefix_rank(search), Stage(STAGE, credits_first)]


def _diversity(search: Search) -> Sequence[Stage]:
    """Drop what does not define the symbol, then what repeats others."""
    options = search.options
    stages: list[Stage] = []
    if options.symbol:
        from rifflux.retrieve.steps.code import OnlyDefining

        stages.append(Stage("symbol", OnlyDefining(options.symbol)))
    if options.diversity != REPEATING:
        stages += options.diversity.stages(search.view.store)
    return stages


def relevance(search: Search) -> Sequence[Stage]:
    """Rate the hits of the page: by words alone, by the calibration of the model, or by the scale of its cosines."""
    view = search.view
    if search.plan.execution.vector is None:
        rate = Relevance(view.store, search.analyzer)
    elif calibration := view.calibration:
        rate = Relevance(view.store, search.analyzer, calibration)
    else:
        scale = view.scale
        model = scale.model if scale else None
        rate = Relevance(view.store, search.analyzer, MEANING if model else None, scale=model)
    if not search.plan.query.credits_only:
        return [Stage("relevance", rate)]
    from rifflux.retrieve.steps.credits import CreditRelevance

    return [Stage("relevance", rate), Stage("relevance", CreditRelevance(view.store))]


def _licenses(search: Search) -> Sequence[Stage]:
    return [Stage("licenses", Licenses(search.view), timed=False)]


@dataclass(frozen=True, slots=True)
class Licenses:
    """Drops hits that the caller may not know to match, and redacts what no license opens."""

    view: IndexView

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the hits as the caller may see them."""
        table = self.disclosable(plan.query, table)
        return replace(table, passages=tuple(self.view.redacted_hits(table.passages)))

    def disclosable(self, query: Query, table: Candidates) -> Candidates:
        """Drop works of which the caller may not know that their authors, venue or year are those in the question."""
        fields = {credit.role for credit in query.credits} | (_FACTS & query.filter.metadata.keys())
        if not fields or not table.passages:
            return table
        policy = self.view.visible
        rows = [row for row, hit in enumerate(table.passages) if policy.tells(hit, fields)]
        return table if len(rows) == len(table) else table.take(rows)


MAKERS: Mapping[str, StageMaker] = {
    "anchors": _anchors,
    "credits": _credits,
    "code": _code,
    "prefix rank": _prefix_rank,
    "times": _times,
    "rerank": _rerank,
    "diversity": _diversity,
    "relevance": relevance,
    "licenses": _licenses,
}
