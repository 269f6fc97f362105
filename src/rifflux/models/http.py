"""An embedder behind an OpenAI-compatible `/embeddings` endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import numpy as np

from rifflux.errors import ModelError
from rifflux.models.embedder import fingerprint_of, well_formed
from rifflux.models.endpoint import Endpoint
from rifflux.models.onnx import bundled_embedder, unit
from rifflux.types import Vectors

OPENAI = "https://api.openai.com/v1"
#: The options that may follow the name of a model.
PREFIXES = ("query_prefix", "document_prefix")
CURES = {
    400: "a text may be too long for the model: make chunks smaller",
    413: "lower the batch size",
    429: "the service limits the rate: wait, or lower the batch size",
}


@dataclass(frozen=True)
class HttpEmbedder:
    """Embeds texts at an OpenAI-compatible endpoint. Blank texts are not sent, and have the zero vector.

    `timeout` and `backoff` are in seconds: the limit of one request, and the pause before the first retry, which
    doubles each time; questions are not retried, because a user waits. An unknown `dimension` is determined by one
    request. `query_prefix` and `document_prefix`, which many models need, precede each text that is sent; they are part
    of `spec`, so an index records them with its vectors. The fingerprint covers the model's name and the prefixes, but
    not the URL, since a server may move. Whether the same name still means the same weights is tested by a probe
    (`rifflux.session.vectors`).
    """

    model: str
    base_url: str = OPENAI
    api_key: str | None = field(default=None, repr=False, compare=False)
    known_dimension: int | None = None
    max_tokens: int = 512
    batch_size: int = 64
    timeout: float = 60.0
    retries: int = 3
    backoff: float = 0.5
    query_prefix: str = ""
    document_prefix: str = ""
    backend: str = field(default="http", init=False)
    _dimension: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ModelError("the base URL of an embedding server must start with http:// or https:// and a host")
        if parts.username or parts.password:
            raise ModelError("give the key of an embedding server as API key, not inside its URL")
        if not self.model:
            raise ModelError(f"name the model that {self.base_url} should embed with")
        if self.known_dimension:
            self._dimension.append(self.known_dimension)

    @property
    def name(self) -> str:
        return self.model

    @property
    def spec(self) -> str:
        """Return the name from which `load_embedder` recreates this model, given the key."""
        prefixes = {name: getattr(self, name) for name in PREFIXES if getattr(self, name)}
        if prefixes:
            model = f"{self.model}?{urlencode(prefixes, quote_via=quote)}"
        else:
            model = self.model
        if self.base_url == OPENAI:
            return f"openai:{model}"
        return f"{self.base_url}#{model}"

    def as_recorded(self, spec: str) -> HttpEmbedder:
        """Return this model with the prefixes of a recorded `spec`, if that is of the same model and this has none."""
        if self.query_prefix or self.document_prefix:
            return self
        recorded = from_spec(spec)
        if recorded.model != self.model:
            return self
        return replace(self, query_prefix=recorded.query_prefix, document_prefix=recorded.document_prefix)

    @property
    def dimension(self) -> int:
        """Return the length of a vector: as given, or that of the first answer, which is requested if necessary."""
        if not self._dimension:
            self._ask(["dimension"])
        return self._dimension[0]

    @property
    def fingerprint(self) -> str:
        return fingerprint_of("http", self.model, self.query_prefix, self.document_prefix)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed([self.document_prefix + text if text.strip() else "" for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return np.asarray(self._embed([self.query_prefix + text if text.strip() else ""], retries=0)[0])

    @property
    def count_tokens(self) -> Callable[[str], int]:
        """Return the bundled model's function to count tokens, as the server provides none."""
        # Not a bound method, so that processes that read files receive the function without a connection.
        return bundled_embedder().count_tokens

    def _embed(self, texts: Sequence[str], retries: int | None = None) -> Vectors:
        sent = [position for position, text in enumerate(texts) if text]
        batches = [sent[start : start + self.batch_size] for start in range(0, len(sent), self.batch_size)]
        answers = [self._ask([texts[position] for position in batch], retries) for batch in batches]
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for batch, answer in zip(batches, answers, strict=True):
            vectors[batch] = answer
        return unit(vectors)

    def _ask(self, texts: Sequence[str], retries: int | None = None) -> Vectors:
        body = {"model": self.model, "input": [well_formed(text) for text in texts]}
        if retries is None:
            retries = self.retries
        answer = self._endpoint.post(body, self.timeout, retries=retries, backoff=self.backoff)
        try:
            vectors = _read_vectors(json.loads(answer), len(texts))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            message = f"answered with something other than {len(texts)} embeddings"
            cure = "check that the base URL is an OpenAI-compatible API"
            raise ModelError(
                f"{self.model} {message}: {cure}", cause=f"{self._endpoint.url} {message} ({error}): {cure}"
            ) from None
        self._check_dimension(vectors.shape[1])
        return vectors

    def _check_dimension(self, found: int) -> None:
        if not self._dimension:
            self._dimension.append(found)
        if found != self._dimension[0]:
            raise ModelError(
                f"{self.model} returned vectors of {found} numbers, not {self._dimension[0]}: "
                "the model has changed, or the dimension given is wrong"
            )

    @cached_property
    def _endpoint(self) -> Endpoint:
        return Endpoint(self.model, f"{self.base_url.rstrip('/')}/embeddings", self.api_key, cures=CURES)


def _read_vectors(answer: Any, count: int) -> Vectors:
    """Return the vectors in an answer, in the order of the texts, (count, dimension). Raises `ValueError`."""
    rows = {row.get("index", place): row["embedding"] for place, row in enumerate(answer["data"])}
    if sorted(rows) != list(range(count)) or len(answer["data"]) != count:
        raise ValueError(f"{len(answer['data'])} embeddings, or wrong indexes")
    vectors = np.array([rows[position] for position in range(count)], np.float32)
    if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
        raise ValueError("embeddings that are not vectors of finite numbers")
    return vectors


def from_spec(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    query_prefix: str = "",
    document_prefix: str = "",
    **_: object,
) -> HttpEmbedder:
    """Return the embedder for `openai:MODEL` or `http(s)://HOST/v1#MODEL`.

    Prefixes may also follow the name, as in `openai:MODEL?query_prefix=query%3A%20`. Raises `ModelError` for unknown
    options.
    """
    if spec.startswith("openai:"):
        url = base_url or OPENAI
        rest = spec.removeprefix("openai:")
    else:
        url, _hash, rest = spec.partition("#")
    model, _mark, options = rest.partition("?")
    known = dict(parse_qsl(options, keep_blank_values=True))
    if unknown := sorted(known.keys() - set(PREFIXES)):
        raise ModelError(f"{unknown[0]!r} is not an option of a model: choose from {', '.join(PREFIXES)}")
    return HttpEmbedder(
        model,
        url,
        api_key,
        query_prefix=query_prefix or known.get("query_prefix", ""),
        document_prefix=document_prefix or known.get("document_prefix", ""),
    )
