"""Opening an index: its store, its model, and the profile that it was built with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rifflux.errors import InvalidArgument
from rifflux.index.index import Index
from rifflux.retrieve.query.expand import known_synonyms
from rifflux.session.embedding import CurrentEmbedder
from rifflux.session.profiles import Profile
from rifflux.session.profiles import profile as find_profile
from rifflux.session.session import IndexView, Session
from rifflux.store import REVISION, Store, open_store
from rifflux.text.analyzer import REVISIONS

if TYPE_CHECKING:
    from rifflux.models import Embedder
    from rifflux.retrieve.steps.rerank import RerankSettings

__all__ = ["open_index"]


def open_index(
    path: str | Path,
    *,
    create: bool = True,
    profile: str | Profile = "files",
    model: str | Embedder | None = None,
    threads: int | None = None,
    rerankers: RerankSettings | None = None,
    synonyms: str | Path | None = None,
    intents: Mapping[str, Mapping[str, Any]] | None = None,
    neighbours: str = "scan",
) -> Index:
    """Open the index at `path`, or make it if `create`; `:memory:` is one that vanishes when closed.

    `model` names the embedder (see `rifflux.models.load_embedder`), or is one; without it, the one whose vectors
    the index holds, else the bundled one. `threads` limits the processor threads that embedding takes.
    `rerankers` says where the models of rerankers are, `synonyms` is a file of words that stand for each other (see
    `rifflux.retrieve.query.expand`), `intents` what to change of how works are retrieved (see
    `rifflux.works.retrieval.intent`).
    `neighbours="hnsw"` searches very many vectors along a graph (see `store/sqlite/hnsw.py`).
    Raises `NotFound`, `InvalidArgument`, `NotAnIndex`, `NewerIndex` or `DamagedIndex`.
    """
    chosen = find_profile(profile)
    if intents:
        from rifflux.works.retrieval.intent import adjusted

        adjusted(intents)  # what is wrong with them is told before anything is opened
        chosen = replace(chosen, intents=intents)
    store = open_store(path, create=create, neighbours=neighbours)
    try:
        chosen = _settled(store, chosen, explicit=isinstance(profile, Profile))
        load = CurrentEmbedder(store, model, threads)
        session = Session(store, str(path), load, rerankers, known_synonyms(synonyms, chosen.analyzer))
        return Index(IndexView(session, store, chosen))
    except BaseException:
        store.close()
        raise


#: What the terms of an index depend on, with the value that it had before it was recorded.
_ANALYSIS = {"language": "english", "mathematics": "latex"}


def _settled(store: Store, profile: Profile, *, explicit: bool) -> Profile:
    """The profile with the analysis that the index was built with: its terms were made so."""
    if store.registry.setting("language") is None:
        if not store.read_only:
            for name in _ANALYSIS:
                store.registry.set(name, getattr(profile, name))
            store.registry.set(REVISION, str(REVISIONS[profile.mathematics]))
        return profile
    known = {name: store.registry.setting(name) or former for name, former in _ANALYSIS.items()}
    for name, value in known.items():
        if explicit and getattr(profile, name) != value:
            raise InvalidArgument(
                f"the index was built with {name}={value!r}, not {getattr(profile, name)!r}: open it with that, "
                "or make a new one"
            )
    facets, fusion = store.registry.setting("facets"), store.registry.setting("fusion")
    if fusion and not explicit:
        from rifflux.retrieve.fuse.fusions import load_fusion

        profile = replace(profile, fusion=load_fusion(fusion))
    if (weights := store.registry.setting("features")) and not explicit:
        from rifflux.retrieve.steps.rerank.features import load_weights

        profile = replace(profile, features=load_weights(weights))
    profile = replace(profile, language=known["language"], mathematics=known["mathematics"])
    return replace(profile, facets=tuple(facets.split(",")) if facets else profile.facets)
