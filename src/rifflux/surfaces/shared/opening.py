"""Opening the index that the settings name, the same way for every surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rifflux import InvalidArgument

if TYPE_CHECKING:
    from rifflux import Embedder, Index, RerankSettings
    from rifflux.surfaces.shared.config import Settings

__all__ = ["configured_as", "configured_model", "configured_rerankers", "open_configured", "view_of"]


def open_configured(settings: Settings, *, create: bool = False, profile: str = "files") -> Index:
    """Open the index as the settings have it; a new one is made for `profile`."""
    import rifflux

    return rifflux.open(
        settings.index_path(create=create),
        create=create,
        profile=profile,
        model=configured_model(settings),
        threads=settings.threads or None,
        rerankers=configured_rerankers(settings),
        synonyms=settings.synonyms or None,
        intents=settings.intents,
        neighbours=settings.neighbors,
    )


def view_of(index: Index, user: str) -> Index:
    """Return the index as a user has it; for no user in particular, the index itself."""
    from rifflux import Scope

    return index.scoped(Scope(user)) if user else index


def configured_rerankers(settings: Settings) -> RerankSettings | None:
    """Return where the models of rerankers are; None where the settings do not say."""
    if not (settings.rerank_model or settings.llm_url or settings.llm_model or settings.llm_key):
        return None
    from rifflux import RerankSettings

    return RerankSettings(settings.rerank_model, settings.llm_url, settings.llm_model, settings.llm_key)


def configured_model(settings: Settings) -> str | Embedder | None:
    """Return the embedding model to open an index with; one behind an endpoint gets its address and key."""
    if settings.model:
        return configured_as(settings, settings.model)
    if settings.base_url or settings.api_key:
        raise InvalidArgument("base_url and api_key are set, but no model: set it too, such as openai:NAME")
    return None


def configured_as(settings: Settings, model: str) -> str | Embedder:
    """Return a model that is named apart from the settings; one behind an endpoint gets their address and key."""
    if not (settings.base_url or settings.api_key):
        return model
    from rifflux import load_embedder

    return load_embedder(model, base_url=settings.base_url or None, api_key=settings.api_key or None)
