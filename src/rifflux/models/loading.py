"""From the name or the folder of a model, or an object of a program, to an embedder."""

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

#: Every name of that model.
BUNDLED_NAMES = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "minilm")

#: What makes an embedder from `scheme` or `scheme:rest`.
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
    """What can be named as a model: one, or a way to name many; `about` describes it."""

    spec: str
    about: str


def known_models() -> list[KnownModel]:
    """Return the model that comes with the package, and the ways to name others."""
    return [
        KnownModel("all-MiniLM-L6-v2", "comes with the package: 384 dimensions, English; the default"),
        KnownModel("FOLDER", "a folder with model.onnx and tokenizer.json, as exported from sentence-transformers"),
        KnownModel("minilm+FOLDER", "two models as one, better and slower than each: any two names or folders"),
        KnownModel("openai:MODEL", "an OpenAI-compatible endpoint, set by base_url and api_key"),
        KnownModel("https://HOST/v1#MODEL", "such an endpoint at this address"),
        KnownModel("hash:DIMENSION", "no model: words and letters hashed, for trials and tests"),
    ]


def checked_model(model: Model | None) -> str | Embedder | None:
    """Return a model as it is loaded later: a name, or an object completed to an embedder; None for no choice.

    Raises `InvalidArgument` for an object that cannot embed, `ModelError` for an unknown name and a folder that holds
    no model. Loads nothing.
    """
    if model is None or model == "":
        return None
    if not isinstance(model, str | PathLike):
        from rifflux.models.custom import embedder_of

        return embedder_of(model)
    spec = str(model)
    if not is_loadable(spec):
        raise ModelError(f"there is no model or folder called {spec!r}; allowed are {ALLOWED}")
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
    here, `base_url` and `api_key` for those behind HTTP, as are the prefixes: what is put before each question and each
    text, such as `"query: "` and `"passage: "`. Raises `ModelError` for a name that is unknown and for a folder that is
    no model, `InvalidArgument` for an object that cannot embed.
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
    """Return the two models that a `+` joins; None where it is part of a name."""
    if "+" not in spec or Path(spec).expanduser().is_dir():
        return None
    parts = spec.split("+")
    splits = (("+".join(parts[:place]), "+".join(parts[place:])) for place in range(1, len(parts)))
    return next((pair for pair in splits if all(_is_known(each) for each in pair)), None)


def parts_of(spec: str) -> list[str]:
    """Return the names, or folders, of the models that one is made of."""
    return [*(_pair(spec) or (spec,))]


def is_loadable(spec: str) -> bool:
    """Return True for the name of a model, an address, a folder that is there, or two of them."""
    return bool(_pair(spec)) or _is_known(spec)


def _is_known(spec: str) -> bool:
    return spec in BUNDLED_NAMES or spec.partition(":")[0] in SCHEMES or Path(spec).expanduser().is_dir()
