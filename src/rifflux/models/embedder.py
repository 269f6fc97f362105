"""What an embedder is, and the little that all of them share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from rifflux.errors import ModelError
from rifflux.types import Vectors

if TYPE_CHECKING:
    from rifflux.models.custom import Model


@runtime_checkable
class Verifiable(Protocol):
    """A model whose files can be compared with what is recorded of them."""

    def verify(self) -> None:
        """Read the files, and raise `ModelError` unless they are those that are recorded."""


@runtime_checkable
class Embedder(Protocol):
    """A model that turns texts into vectors whose dot product is their likeness.

    Every vector is float32 and has unit length, or is all zeros where there is nothing to embed. The same
    text gives the same vector, whatever is embedded with it. Failures are `ModelError`s, whose message is shown to
    whoever asked, and whose `cause` goes to the log; of other errors only the kind is shown. Safe to share between
    threads.

    An embedder may also have a `spec`: what `load_embedder` makes it from again, remembered by an index that
    holds its vectors. Without one, its name is remembered. It may have a method `canonical(text)` that gives a text
    with the same vector, and the same one for texts that it cannot tell apart: then only one of them is embedded.
    """

    @property
    def name(self) -> str:
        """Return the name of the model, such as `all-MiniLM-L6-v2`."""

    @property
    def backend(self) -> str:
        """Return the kind of runtime: `onnx`, `http` or `hash`."""

    @property
    def dimension(self) -> int:
        """Return the length of its vectors."""

    @property
    def fingerprint(self) -> str:
        """Return hexadecimal digits that differ where vectors would: weights, pooling, prefixes, truncation."""

    @property
    def max_tokens(self) -> int:
        """Return how many tokens of a text the model reads, the special ones included."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to be found, (texts, dimension), in the order given."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, (dimension,)."""

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, without truncation and without the special ones."""


def fingerprint_of(*parts: object) -> str:
    """Return 32 hexadecimal digits that depend on every part; the parts must have a JSON form."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def well_formed(text: str) -> str:
    """Return the text as valid Unicode: surrogate pairs joined, lone surrogates replaced by U+FFFD.

    Tokenizers and JSON encoders refuse lone surrogates, which badly decoded input brings along.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# From the name of a model to an embedder


#: The folder of the model that comes with the package.
BUNDLED = Path(__file__).parent / "minilm"

#: The backend of embedders that a program made: no name leads to them.
CUSTOM = "custom"
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
    if not _pair(spec) and not _is_known(spec):
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
    if spec in BUNDLED_NAMES:
        return _bundled(threads)
    from rifflux.models.onnx import OnnxEmbedder

    return OnnxEmbedder.load(Path(spec).expanduser(), threads=threads)


@cache
def _bundled(threads: int | None) -> Embedder:
    """Return the model that comes with the package, the same one for all indexes of the process."""
    from rifflux.models.onnx import OnnxEmbedder

    return OnnxEmbedder.load(BUNDLED, threads=threads)


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


def _is_known(spec: str) -> bool:
    return spec in BUNDLED_NAMES or spec.partition(":")[0] in SCHEMES or Path(spec).expanduser().is_dir()
