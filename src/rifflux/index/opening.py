"""Opening an index: its store, its model, and its profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rifflux.errors import InvalidArgument
from rifflux.index.index import Index
from rifflux.requests import MOST_RESULTS
from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.query.expand import known_synonyms
from rifflux.service.copies import check_is_complete
from rifflux.session.arguments import checked_number, checked_place, checked_whole
from rifflux.session.profile import Profile
from rifflux.session.profile import profile as find_profile
from rifflux.session.session import CallLimits, IndexView, Session
from rifflux.session.vectors import CurrentEmbedder
from rifflux.store import REVISION, Store, open_store
from rifflux.text.analyzer import REVISIONS
from rifflux.types import Progress
from rifflux.types.limits import READER_LIMITS, READER_MEMORY_MB, READER_SECONDS, ReaderLimits

if TYPE_CHECKING:
    from rifflux.models import Embedder
    from rifflux.models.chat import ChatModel
    from rifflux.models.custom import Model
    from rifflux.retrieve.steps.rerank import RerankSettings


def open_index(
    path: str | Path,
    *,
    create: bool = True,
    profile: str | Profile = "files",
    language: str = "",
    model: Model | None = None,
    threads: int | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    query_prefix: str = "",
    document_prefix: str = "",
    rerankers: RerankSettings | None = None,
    synonyms: str | Path | None = None,
    intents: Mapping[str, Mapping[str, Any]] | None = None,
    neighbors: str = "scan",
    fusion: str | Fuse | None = None,
    reranker: str | None = None,
    rerank_top: int = 0,
    boosts: Mapping[str, float] | None = None,
    licenses: Mapping[str, str] | None = None,
    embed_timeout: float = 2.0,
    prices: Mapping[str, float] | None = None,
    budget: float = 0.0,
    chat: ChatModel | None = None,
    state: str | Path | None = None,
    reader_seconds: int = READER_LIMITS.processor_s,
    reader_memory_mb: int = READER_LIMITS.memory_mb,
    progress: Progress | None = None,
) -> Index:
    """Open the index at `path`, or create it if `create`; `:memory:` is one that vanishes when closed.

    The folder of a new index is made, not those above it.
    `language` is that of the texts of a new index, such as `german` (default: `english`); it decides how words become
    terms. An index keeps it. Opened with another language, that is the one of what is added from now on, unless it has
    its own.
    `model` names the embedder (see `rifflux.load_embedder`), or is one: an object with `name`, `dimension` and
    `embed(texts)` is enough (see `rifflux.CustomEmbedder`); without it, the one whose vectors the index holds, else
    the bundled one. `threads` limits the processor threads that embedding takes.
    `base_url` and `api_key` are the address and key of the endpoint for models named `openai:NAME`. The key is not sent
    to another address that an index names. `query_prefix` and `document_prefix`, such as `"query: "` and `"passage: "`,
    stand before each question and each text that is sent there; an index records them with its model.
    `rerankers` says where the models of rerankers are, `synonyms` is a file of words that stand for each other (see
    `rifflux.retrieve.query.expand`), `intents` what to change of how works are retrieved (see
    `rifflux.works.intent.intents`).
    `fusion` and `reranker` are those of a search that names none, instead of the profile's and of what the index was
    tuned to; `rerank_top` is how many hits a reranker takes (0: as many as is its own way).
    `boosts` are other factors for what a question names (see `rifflux.retrieve.steps.anchors.Anchors`).
    `licenses` says of licenses by name what they let be shown, `text`, `abstract` or `nothing`, besides those that are
    known; a name may end in `*`. What the policy of that name says comes first.
    `embed_timeout` is the seconds that a model may take for a question, which is searched by words alone then. `prices`
    are those of a million tokens by the name of the model, and `budget` what each user may spend in a month (0: any
    amount); see `rifflux.service.usage`. `chat` is the model that writes answers; without it, they are quoted.
    `state` is a file for what users do: tokens, usage, feedback and their log. It is made where it is not there, and
    the index is only read then, so that it may lie where nobody can write.
    `reader_seconds` of processor time and `reader_memory_mb` of memory are what reading one file may take, one's own as
    well as those that are sent; a file that takes more fails.
    `neighbors="hnsw"` searches very many vectors along a graph (see `store/sqlite/semantic/hnsw.py`).
    `progress` is told of the stages `copy` and `upgrade` where an index of an earlier version is brought up to date.
    Raises `NotFound`, `InvalidArgument`, `ModelError`, `NotAnIndex`, `NewerIndex` or `DamagedIndex`.
    """
    place = checked_place("the path of an index", path)
    chosen = find_profile(profile)
    if intents:
        from rifflux.works.intent.intents import adjusted_intents

        adjusted_intents(intents)  # refused before anything is opened
        chosen = chosen.tuned(intents=intents)
    if licenses:
        from rifflux.session.license_policy import LicensePolicy
        from rifflux.text.licenses import checked_rules

        chosen = replace(chosen, visible=LicensePolicy(checked_rules(licenses)))
    if language:
        from rifflux.text.analyzer import checked_language

        checked_language(language)
    checked_whole("reader_seconds", reader_seconds, *READER_SECONDS)
    checked_whole("reader_memory_mb", reader_memory_mb, *READER_MEMORY_MB)
    limits = _limits(embed_timeout, prices, budget)
    ranked = _ranked(fusion, reranker, rerank_top)
    if boosts:
        chosen = chosen.boosted(boosts)
    chosen_model = _model(model)
    if synonyms:
        words = checked_place("the path of synonyms", synonyms)
    else:
        words = None
    if state:
        state_path = checked_place("the path of a state file", state)
    else:
        state_path = ""
    store = open_store(place, create=create, neighbours=neighbors, state=state_path, progress=progress)
    try:
        check_is_complete(store, place)
        chosen = replace(_settled(store, chosen, language, explicit=isinstance(profile, Profile)), **ranked)
        load = CurrentEmbedder(store, chosen_model, threads, base_url, api_key, query_prefix, document_prefix)
        session = Session(
            store,
            place,
            load,
            rerankers,
            known_synonyms(words, chosen.analyzer),
            limits,
            chat,
            language="" if language == chosen.language else language,
            reader_limits=ReaderLimits(processor_s=reader_seconds, memory_mb=reader_memory_mb),
        )
        return Index(IndexView(session, store, chosen))
    except BaseException:
        store.close()
        raise


def _model(model: Model | None) -> str | Embedder | None:
    """Return the checked model; None for no choice."""
    if model is None:
        return None
    from rifflux.models.loading import checked_model

    return checked_model(model)


def _limits(embed_timeout: float, prices: Mapping[str, float] | None, budget: float) -> CallLimits:
    """Return the limits of calls of models. Raises `InvalidArgument`."""
    checked_number("embed_timeout", embed_timeout, "more than 0 seconds", above=0)
    checked_number("budget", budget, "0 (any amount) or more")
    if prices is not None and not isinstance(prices, Mapping):
        raise InvalidArgument(f"prices are numbers by the name of a model, as in {{'small': 0.02}}, not {prices!r}")
    for model, price in (prices or {}).items():
        checked_number(f"the price of {model!r}", price, "0 or more")
    return CallLimits(embed_timeout, dict(prices or {}), budget)


def _ranked(fusion: str | Fuse | None, reranker: str | None, top: int) -> dict[str, Any]:
    """Return the fields of a profile that these settings change. Raises `InvalidArgument`."""
    changes: dict[str, Any] = {}
    if fusion:
        from rifflux.retrieve.fuse.spelled import fusion_of

        changes["fusion"] = fusion_of(fusion)
    if reranker:
        from rifflux.retrieve.steps.rerank.stage import checked_reranker

        changes["reranker"] = checked_reranker(reranker)
    if top:
        checked_whole("rerank_top", top, 1, MOST_RESULTS)
        changes["rerank_top"] = top
    return changes


#: The settings that the terms of an index depend on.
_ANALYSIS = ("language", "mathematics")


def _settled(store: Store, profile: Profile, language: str, *, explicit: bool) -> Profile:
    """Return the profile with the analysis that the index was built with."""
    if store.records.setting("language") is None:
        if language:
            profile = replace(profile, language=language)
        if not store.read_only:
            for name in _ANALYSIS:
                store.records.set(name, getattr(profile, name))
            store.records.set(REVISION, str(REVISIONS[profile.mathematics]))
        return profile
    known = {name: store.records.setting(name) or getattr(profile, name) for name in _ANALYSIS}
    for name, value in known.items():
        if explicit and getattr(profile, name) != value:
            raise InvalidArgument(
                f"the index was built with {name}={value!r}, not {getattr(profile, name)!r}: open it with that, "
                "or make a new one"
            )
    if (fusion := store.records.setting("fusion")) and not explicit:
        from rifflux.retrieve.fuse.fusions import load_fusion

        profile = replace(profile, fusion=load_fusion(fusion))
    if (weights := store.records.setting("features")) and not explicit:
        from rifflux.retrieve.steps.rerank.features import load_weights

        profile = profile.tuned(features=load_weights(weights))
    if (weights := store.records.setting("components")) and not explicit:
        from rifflux.retrieve.steps.rerank.features import load_weights
        from rifflux.works.intent.intents import WEIGHTS

        profile = profile.tuned(components=load_weights(weights, WEIGHTS))
    if facets := store.records.setting("facets"):
        profile = replace(profile, facets=tuple(facets.split(",")))
    return replace(profile, language=known["language"], mathematics=known["mathematics"])
