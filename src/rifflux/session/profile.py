"""Profiles: how each kind of content is chunked, ranked and searched, with the profile of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pkgutil import resolve_name
from typing import Any

from rifflux.errors import Cure, InvalidArgument
from rifflux.ingest.chunking import Chunker
from rifflux.retrieve.fuse import Adaptive, Fuse
from rifflux.retrieve.pipeline import NO_RERANKER, Stage, reaching, wide_pool
from rifflux.retrieve.steps.diversity import REPEATING, Diversity
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import CONTRACT, DEFAULT, FieldWeights
from rifflux.text.analyzer import Analyzer, analyzer
from rifflux.types import Execution

# The window of the bundled embedder. A passage up to a quarter longer stays whole: this leaves most abstracts whole,
# which ranks them better by words, and their vectors only lack the end.
_CHUNKER = Chunker(target_tokens=256, tolerance=0.25)


#: The stages that begin a phase of a search: candidates are fused, passages fetched, and the page cut.
FUSE = "fuse"
FETCH = "fetch"
PAGE = "page"
#: The stages of a search in order, by the names that `rifflux.session.searching:stages_of` knows.
STAGES = (
    FUSE,
    *("anchors", "credits", "code", "prefix rank"),
    FETCH,
    *("times", "prefix rank", "rerank", "prefix rank"),
    *("symbol", "diversity"),
    PAGE,
    *("relevance", "licenses"),
)
#: The parts of query understanding beyond words: credited names, spelling variants and synonyms, and the shortcut that
#: searches a query of one identifier by words only.
CREDITS = "credits"
EXPANSION = "expansion"
SHORTCUT = "shortcut"
READING = frozenset({CREDITS, EXPANSION, SHORTCUT})


@dataclass(frozen=True, slots=True)
class Tuning:
    """The score weights set by an index or a caller; all others have their defaults.

    `boosts` are factors for names in the query (see `rifflux.retrieve.steps.anchors.Anchors`), `features` weights of
    the reranker of that name by component, `components` those of the score of works, and `intents` changes to how works
    are retrieved (see `rifflux.works.intent`).
    """

    boosts: Mapping[str, float] = field(default_factory=dict)
    features: Mapping[str, float] = field(default_factory=dict)
    components: Mapping[str, float] = field(default_factory=dict)
    intents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Profile:
    """How a kind of content is chunked, ranked and searched.

    `readers` is the table of its file formats, as `module:NAME`, loaded on demand. `language` and `mathematics` choose
    the analyzer (see `rifflux.text.analyzer`); an index retains those it was built with. `facets` are the metadata
    fields that queries may name as `field:value`; `reading` are the parts of query understanding beyond words.
    `weights` are the parameters of BM25. `pool` returns the number of candidates per channel for a page of `top_k`
    hits, `reach` the depth of the channels for a pool. `fusion` fuses them, and `stages` are all stages of a search in
    order: names of `STAGES`, or `Stage` values. `reranker` is the default reranker of hybrid searches whose fusion
    allows scores to be changed; `rerank_top` is the number of hits that any reranker reorders (0: its own default).
    `diversity` reduces repetition on a page. `visible` redacts texts that no license opens. `cure` is the remedy for
    missing vectors.
    """

    name: str
    readers: str = "rifflux.ingest.read:FORMATS"
    language: str = "english"
    mathematics: str = "latex"
    chunker: Chunker = _CHUNKER
    facets: tuple[str, ...] = ()
    reading: frozenset[str] = READING
    weights: FieldWeights = DEFAULT
    pool: Callable[[int], int] = wide_pool
    reach: Callable[[Execution, Fuse | None, int], Execution] = reaching
    fusion: Fuse = field(default_factory=Adaptive)
    stages: tuple[str | Stage, ...] = STAGES
    reranker: str = NO_RERANKER
    rerank_top: int = 0
    diversity: Diversity = REPEATING
    tuning: Tuning = field(default_factory=Tuning)
    visible: LicensePolicy = field(default_factory=LicensePolicy)
    cure: Cure = Cure.INDEX

    def without(self, *names: str) -> Profile:
        """Return the profile without some of its stages or parts of query understanding."""
        stages = tuple(each for each in self.stages if each not in names)
        return replace(self, stages=stages, reading=self.reading.difference(names))

    def scored_exactly(self) -> Profile:
        """Return the profile with word matching by SQLite's MATCH and scoring by the parameters of its bm25()."""
        return replace(self, weights=CONTRACT)

    def tuned(self, **changes: Any) -> Profile:
        """Return the profile with some fields of its `Tuning` replaced."""
        return replace(self, tuning=replace(self.tuning, **changes))

    @cached_property
    def formats(self) -> tuple[str, ...]:
        """Return the names of its file formats."""
        return tuple(resolve_name(self.readers))

    def boosted(self, boosts: Mapping[str, float]) -> Profile:
        """Return the profile with changed boosts for names in the query. Raises `InvalidArgument`."""
        from rifflux.retrieve.steps.anchors import checked_boosts

        return self.tuned(boosts={**self.tuning.boosts, **checked_boosts(boosts)})

    @cached_property
    def analyzer(self) -> Analyzer:
        """Return the analyzer for the language and the mathematics mode."""
        return analyzer(self.language, self.mathematics)


#: The default profile: folders of notes, documents and code.
FILES = Profile("files", facets=("author", "language", "tags"), reranker="features")
#: The location of each profile, as module:value.
PROFILES = {
    "files": "rifflux.session.profile:FILES",
    "conversations": "rifflux.conversations.profile:CONVERSATIONS",
    "memories": "rifflux.memories.profile:MEMORIES",
    "works": "rifflux.works.profile:WORKS",
}


def profile(name: str | Profile) -> Profile:
    """Return the profile with a given name; a profile is returned unchanged."""
    if isinstance(name, Profile):
        return name
    if not isinstance(name, str) or name not in PROFILES:
        raise InvalidArgument(f"no profile {name!r}; choose one of {', '.join(PROFILES)}")
    found: Profile = resolve_name(PROFILES[name])
    return found
