"""From the name of a model to an embedder."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from rifflux.errors import ModelError
from rifflux.models.base import Embedder

__all__ = ["BUNDLED", "KnownModel", "known_models", "load_embedder"]

#: The folder of the model that comes with the package.
BUNDLED = Path(__file__).parent / "minilm"

#: Models that come with the package, by every name they go by.
FOLDERS = dict.fromkeys(("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "minilm"), BUNDLED)

#: What makes an embedder from `scheme` or `scheme:rest`.
SCHEMES = {
    "hash": "rifflux.models.hashing:from_spec",
    "http": "rifflux.models.http:from_spec",
    "https": "rifflux.models.http:from_spec",
    "openai": "rifflux.models.http:from_spec",
}
ALLOWED = (
    "all-MiniLM-L6-v2 (the default), the path of a folder with model.onnx and tokenizer.json, "
    "openai:MODEL, https://HOST/v1#MODEL, or hash:DIMENSION"
)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What can be named as a model: one, or a way to name many; `about` tells people what it is."""

    spec: str
    about: str


def known_models() -> list[KnownModel]:
    """The model that comes with the package, and the ways to name others."""
    return [
        KnownModel("all-MiniLM-L6-v2", "comes with the package: 384 dimensions, English; the default"),
        KnownModel("FOLDER", "a folder with model.onnx and tokenizer.json, as exported from sentence-transformers"),
        KnownModel("openai:MODEL", "an OpenAI-compatible endpoint, set by base_url and api_key"),
        KnownModel("https://HOST/v1#MODEL", "such an endpoint at this address"),
        KnownModel("hash:DIMENSION", "no model: words and letters hashed, for trials and tests"),
    ]


def load_embedder(
    spec: str | Embedder | None = None,
    *,
    threads: int | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
) -> Embedder:
    """The embedder that `spec` names, not loaded yet; the bundled one for None, and an embedder for itself.

    `threads` is for models that run here, `base_url` and `api_key` for those behind HTTP. Raises
    `ModelError` for a name that is unknown and for a folder that is no model.
    """
    if not isinstance(spec, str | None):
        return spec
    spec = spec or "all-MiniLM-L6-v2"
    scheme, _colon, _rest = spec.partition(":")
    if scheme in SCHEMES:
        module, _, function = SCHEMES[scheme].partition(":")
        make = getattr(import_module(module), function)
        return cast(Embedder, make(spec, base_url=base_url, api_key=api_key))
    return _from_folder(spec, threads)


def _from_folder(spec: str, threads: int | None) -> Embedder:
    from rifflux.models.onnx import OnnxEmbedder

    folder = FOLDERS.get(spec) or Path(spec).expanduser()
    if not folder.is_dir():
        raise ModelError(f"there is no model or folder called {spec!r}; allowed are {ALLOWED}")
    return OnnxEmbedder.load(folder, threads=threads)
