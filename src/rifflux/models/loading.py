"""Loading of embedders from the name or folder of a model, or from a program's object."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from rifflux.errors import ModelError
from rifflux.models.embedder import Embedder

if TYPE_CHECKING:
    from rifflux.models.custom import Model

#: All names of the bundled model.
BUNDLED_NAMES = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "minilm")

#: Factories of embedders for `scheme` or `scheme:rest`.
SCHEMES = {
    "hash": "rifflux.models.hashing:from_spec",
    "http": "rifflux.models.http:from_spec",
    "https": "rifflux.models.http:from_spec",
    "openai": "rifflux.models.http:from_spec",
}
ALLOWED = (
    "all-MiniLM-L6-v2 (the default), the path of a folder with model.onnx and tokenizer.json, "
    "openai:MODEL, https://HOST/v1#MODEL, hash:DIMENSION, or two names or folders joined as in minilm+FOLDER"
)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """The name of a model, or a pattern for several; `about` describes it."""

    spec: str
    about: str


def known_models() -> list[KnownModel]:
    """Return the bundled model, and the patterns for naming others."""
    return [
        KnownModel("all-MiniLM-L6-v2", "comes with the package: 384 dimensions, English; the default"),
        KnownModel("FOLDER", "a folder with model.onnx and tokenizer.json, as exported from sentence-transformers"),
        KnownModel("minilm+FOLDER", "two models joined, better and slower than either: any two names or folders"),
        KnownModel("openai:MODEL", "an OpenAI-compatible endpoint, set by base_url and api_key"),
        KnownModel("https://HOST/v1#MODEL", "such an endpoint at this URL"),
        KnownModel("hash:DIMENSION", "no model: hashed words and letters, for trials and tests"),
    ]


def checked_model(model: Model | None) -> str | Embedder | None:
    """Return a model to load later: a name, an embedder, or None for no choice.

    Objects are completed to embedders. Raises `InvalidArgument` for an object that cannot embed, `ModelError` for an
    unknown name or a folder without a model. Loads nothing.
    """
    if model is None or model == "":
        return None
    if not isinstance(model, str | PathLike):
        from rifflux.models.custom import embedder_of

        return embedder_of(model)
    spec = str(model)
    if not is_loadable(spec):
        raise ModelError(f"there is no model or folder called {spec!r}; use {ALLOWED}")
    if (folder := Path(spec).expanduser()).is_dir():
        from rifflux.models.folder import read_folder

        read_folder(folder)
    return spec


def load_embedder(
    spec: Model | None = None,
    *,
    threads: int | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    query_prefix: str = "",
    document_prefix: str = "",
) -> Embedder:
    """Return the embedder that `spec` names, not loaded yet; the bundled one for None, and an embedder for itself.

    An object with `name`, `dimension` and `embed(texts)` is completed to an embedder. `threads` is for models that run
    in this process; `base_url`, `api_key` and the prefixes are for those behind HTTP. Prefixes precede each question
    and each text, such as `"query: "` and `"passage: "`. Raises `ModelError` for an unknown name or a folder without a
    model, and `InvalidArgument` for an object that cannot embed.
    """
    chosen = checked_model(spec)
    if not isinstance(chosen, str | None):
        return chosen
    spec = chosen or "all-MiniLM-L6-v2"
    if pair := _pair(spec):
        from rifflux.models.joined import JoinedEmbedder

        first, second = (
            load_embedder(
                each,
                threads=threads,
                base_url=base_url,
                api_key=api_key,
                query_prefix=query_prefix,
                document_prefix=document_prefix,
            )
            for each in pair
        )
        return JoinedEmbedder(first, second)
    if make := SCHEMES.get(spec.partition(":")[0]):
        made = resolve_name(make)(
            spec, base_url=base_url, api_key=api_key, query_prefix=query_prefix, document_prefix=document_prefix
        )
        return cast(Embedder, made)
    from rifflux.models.onnx import OnnxEmbedder, bundled_embedder

    if spec in BUNDLED_NAMES:
        return bundled_embedder(threads)
    return OnnxEmbedder.load(Path(spec).expanduser(), threads=threads)


def _pair(spec: str) -> tuple[str, str] | None:
    """Return the two models joined by a `+`, or None if it is part of a name."""
    if "+" not in spec or Path(spec).expanduser().is_dir():
        return None
    parts = spec.split("+")
    splits = (("+".join(parts[:place]), "+".join(parts[place:])) for place in range(1, len(parts)))
    return next((pair for pair in splits if all(_is_known(each) for each in pair)), None)


def parts_of(spec: str) -> list[str]:
    """Return the names or folders of the models that a model consists of."""
    return [*(_pair(spec) or (spec,))]


def is_loadable(spec: str) -> bool:
    """Return True for the name of a model, a URL, an existing folder, or two of them joined."""
    return bool(_pair(spec)) or _is_known(spec)


def _is_known(spec: str) -> bool:
    return spec in BUNDLED_NAMES or spec.partition(":")[0] in SCHEMES or Path(spec).expanduser().is_dir()
