"""Profiles: what suits a kind of content, as values that assemble the pieces; first that of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from rifflux.errors import Cure, InvalidArgument
from rifflux.ingest.chunking import Chunker
from rifflux.retrieve.fuse import Adaptive, Fuse
from rifflux.retrieve.pipeline import NO_RERANKER, Channel, Step, channels, reaching, reading, wide_pool
from rifflux.retrieve.steps.diversity import REPEATING, Diversity
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import FieldWeights, Store
from rifflux.text.analyzer import Analyzer, analyzer
from rifflux.types import Query

if TYPE_CHECKING:
    from rifflux.evidence.pack import Packer


# The window of the bundled embedder. A passage up to a quarter longer stays whole: most abstracts do then, which ranks
# them better by words, and what the vector misses of them is their end.
_CHUNKER = Chunker(target_tokens=256, tolerance=0.25)


@dataclass(frozen=True)
class Profile:
    """How a kind of content is cut, ranked and asked.

    `readers` is the table of the formats that such content is read from, as `module:NAME`: loaded when one is needed.
    `language` and `mathematics` choose the analyzer (see `rifflux.text.analyzer`); an index keeps what it was built
    with. `facets` are the metadata fields that queries may name as `field:value`; `channels` makes those of a store;
    `pool` gives the candidates of each for a page of `top_k`, `reach` how far each is read for them, `steps` those that
    follow the fusion, of the reranker and the diversity of a search. `reranker` names the one of a hybrid search that
    asks for none and whose fusion lets scores be changed, `rerank_top` how many hits any takes (0: as many as is its
    own way). With `anchors`, what a question names to the letter lifts the hits that hold it, by other factors where
    `boosts` names them, and with `moments` the times that it names lift what is of them; with `shortcut`, a question
    that is one identifier is searched by words alone; with `expand`, words that occur nowhere are searched in other
    spellings too, and the user's synonyms are; with `credits`, a question is read for authors and venues of works.
    `diversity` is what keeps a page from repeating itself; with
    `relevance`, each hit of a page gets its own. With `exact`, scores by words are SQLite's own to the last digit,
    however large the index is. `features` are weights of the reranker of that name by component, `components` those of
    the score of works, and `intents` what is changed of how works are retrieved (see
    `rifflux.works.intent.intents`); what is not named has its default.
    `visible` closes what no license opens, `packer` packs evidence of what was found, for content that is cited.
    `cure` is what makes vectors that are missing.
    """

    name: str
    readers: str = "rifflux.ingest.read:FORMATS"
    language: str = "english"
    mathematics: str = "latex"
    chunker: Chunker = _CHUNKER
    facets: tuple[str, ...] = ()
    weights: FieldWeights = field(default_factory=FieldWeights)
    channels: Callable[[Store, FieldWeights], Mapping[str, Channel]] = channels
    pool: Callable[[int], int] = wide_pool
    reach: Callable[[Query, Fuse | None, int], Query] = reaching
    fusion: Fuse = field(default_factory=Adaptive)
    steps: Callable[[Step | None, Sequence[tuple[str, Step]]], Sequence[tuple[str, Step]]] = reading
    reranker: str = NO_RERANKER
    rerank_top: int = 0
    anchors: bool = True
    credits: bool = True
    moments: bool = True
    boosts: Mapping[str, float] = field(default_factory=dict)
    shortcut: bool = True
    expand: bool = True
    diversity: Diversity = REPEATING
    relevance: bool = True
    exact: bool = False
    features: Mapping[str, float] = field(default_factory=dict)
    components: Mapping[str, float] = field(default_factory=dict)
    intents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    visible: LicensePolicy = field(default_factory=LicensePolicy)
    packer: Packer | None = None
    cure: Cure = Cure.INDEX

    @cached_property
    def formats(self) -> tuple[str, ...]:
        """Return the names of the formats that such content is read from."""
        return tuple(resolve_name(self.readers))

    def boosted(self, boosts: Mapping[str, float]) -> Profile:
        """Return the profile with other factors for what a question names. Raises `InvalidArgument`."""
        from rifflux.retrieve.steps.anchors import checked_boosts

        return replace(self, boosts={**self.boosts, **checked_boosts(boosts)})

    @cached_property
    def analyzer(self) -> Analyzer:
        """Return the analyzer of the language and the mathematics."""
        return analyzer(self.language, self.mathematics)


#: The default profile: folders of notes, documents and code.
FILES = Profile("files", facets=("author", "language", "tags"), reranker="features")
#: Where the profile of each name is, as module:value.
PROFILES = {
    "files": "rifflux.session.profile:FILES",
    "conversations": "rifflux.conversations.profile:CONVERSATIONS",
    "memories": "rifflux.memories.profile:MEMORIES",
    "works": "rifflux.works.profile:WORKS",
}


def profile(name: str | Profile) -> Profile:
    """Return the profile of a name; a profile is returned as it is."""
    if isinstance(name, Profile):
        return name
    if not isinstance(name, str) or name not in PROFILES:
        raise InvalidArgument(f"no profile {name!r}; choose one of {', '.join(PROFILES)}")
    found: Profile = resolve_name(PROFILES[name])
    return found
