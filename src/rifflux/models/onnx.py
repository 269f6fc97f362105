"""An embedder that runs an ONNX graph from a local folder, such as the bundled model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rifflux.errors import ModelError
from rifflux.models.cores import available_cores
from rifflux.models.embedder import fingerprint_of
from rifflux.models.folder import ModelSettings, model_error, read_folder
from rifflux.models.tokenizer import INPUTS, INTEGERS, Encoding, Tokenizer, load_tokenizer
from rifflux.types import Vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

#: The folder of the bundled model.
BUNDLED = Path(__file__).parent / "minilm"
T = TypeVar("T")


def unit(vectors: Vectors) -> Vectors:
    """Scale vectors to unit length along the last axis; a zero vector stays zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled = np.zeros_like(vectors, dtype=np.float32)
    np.divide(vectors, norms, out=scaled, where=norms > 0)
    return scaled


#: The usual names of outputs with one pooled vector per text.
POOLED = ("embedding", "sentence_embedding")


@dataclass(frozen=True)
class OnnxEmbedder:
    """Embeds with an ONNX graph on the CPU, `threads` texts at a time (default: the number of cores).

    Each text runs separately, on one thread. Two texts on two threads take less time than a batch of two on both,
    nothing is padded, and no vector depends on its neighbours, as it would where a graph quantises a whole batch by one
    scale.
    """

    settings: ModelSettings
    threads: int | None = None
    backend: str = field(default="onnx", init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @classmethod
    def load(cls, folder: str | Path, *, threads: int | None = None) -> OnnxEmbedder:
        """Return an embedder for the model in `folder`. Only settings are read; the first text loads the model."""
        if threads is not None and threads < 1:
            raise ModelError(f"threads is {threads}: give at least 1, or omit it to use every core")
        return cls(read_folder(Path(folder)), threads)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickle only the settings; another process loads the model itself."""
        return type(self), (self.settings, self.threads)

    @cached_property
    def name(self) -> str:
        return self.settings.name

    @cached_property
    def folder(self) -> Path:
        return self.settings.tokenizer.parent.resolve()

    @cached_property
    def spec(self) -> str:
        """Return the name or folder from which `load_embedder` recreates this model; a bundled one has a name."""
        if self.folder.is_relative_to(Path(__file__).parent.resolve()):
            return self.name
        return str(self.folder)

    @cached_property
    def max_tokens(self) -> int:
        return self.settings.max_tokens

    @cached_property
    def dimension(self) -> int:
        """Return the length of a vector; loads the model if the settings don't state it."""
        return self.settings.dimension or self._graph.dimension

    @cached_property
    def fingerprint(self) -> str:
        """Return hexadecimal digits of everything that affects vectors; reads the model if no digest is recorded."""
        settings = self.settings
        digest = settings.digest or settings.compute_digest()
        prefixes = (settings.query_prefix, settings.document_prefix)
        return fingerprint_of(digest, settings.pooling, prefixes, settings.max_tokens)

    def verify(self) -> None:
        """Raise `ModelError` unless the files match the recorded digest."""
        self.settings.verify()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        prefix = self.settings.document_prefix
        for position, vector in self._each(self._vector, [*(prefix.__add__(text) for text in texts)]):
            vectors[position] = vector
        return vectors

    def embed_query(self, text: str) -> Vectors:
        return self._vector(self.settings.query_prefix + text)

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the unit vectors of each text's tokens, (tokens, dimension) each, without special tokens.

        For late interaction. Raises `ModelError` for a graph that outputs only one vector per text.
        """
        found = dict(self._each(self._token_vectors, texts))
        return [found[position] for position in range(len(texts))]

    @cached_property
    def count_tokens(self) -> Callable[[str], int]:
        return self._tokenizer.count

    @cached_property
    def canonical(self) -> Callable[[str], str]:
        return self._tokenizer.canonical

    def _vector(self, text: str) -> Vectors:
        encoding = self._tokenizer.encode(text)
        if self._graph.pooled:
            return unit(self._graph.run(self._graph.pooled, encoding))
        hidden = self._hidden(encoding)
        match self.settings.pooling:
            case "mean":
                pooled = hidden.mean(0)
            case "max":
                pooled = hidden.max(0)
            case "cls":
                pooled = hidden[0]
            case "last":
                pooled = hidden[-1]
        return unit(np.asarray(pooled))

    def _token_vectors(self, text: str) -> Vectors:
        encoding = self._tokenizer.encode(text)
        return unit(self._hidden(encoding)[np.array(encoding.special_tokens_mask) == 0])

    def _hidden(self, encoding: Encoding) -> Vectors:
        if not self._graph.hidden:
            raise ModelError(f"{self.name} outputs no token vectors: export it with its last hidden state")
        return self._graph.run(self._graph.hidden, encoding)

    def _each(self, work: Callable[[str], T], texts: Sequence[str]) -> Iterator[tuple[int, T]]:
        """Yield the position and result of each text, longest first, so that no thread ends with a long one alone."""
        lengths = [*map(len, texts)]
        order = sorted(range(len(texts)), key=lengths.__getitem__, reverse=True)
        ordered = (texts[each] for each in order)
        threads = min(self._threads, len(texts))
        if threads < 2:
            yield from zip(order, (work(each) for each in ordered), strict=True)
            return
        with ThreadPoolExecutor(threads, thread_name_prefix="embed") as pool:
            yield from zip(order, pool.map(work, ordered), strict=True)

    # Loaded once, on first use, by any thread

    @cached_property
    def _threads(self) -> int:
        return self.threads or available_cores()

    @cached_property
    def _graph(self) -> Graph:
        with self._lock:
            if "_graph" not in self.__dict__:
                self.__dict__["_graph"] = describe(start_session(self.settings), self.settings)
            loaded: Graph = self.__dict__["_graph"]
            return loaded

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        with self._lock:
            if "_tokenizer" not in self.__dict__:
                self.__dict__["_tokenizer"] = load_tokenizer(self.settings.tokenizer, self.max_tokens)
            loaded: Tokenizer = self.__dict__["_tokenizer"]
            return loaded


@dataclass(frozen=True)
class Graph:
    """A loaded graph. `pooled` and `hidden` name the outputs for texts and tokens, if any."""

    session: InferenceSession
    pooled: str | None
    hidden: str | None
    dimension: int
    inputs: dict[str, type[np.int32] | type[np.int64]]

    def run(self, output: str, encoding: Encoding) -> Vectors:
        """Return one output for one text: (dimension,) or (tokens, dimension). Raises `ModelError`."""
        feed = encoding.feed(self.inputs)
        try:
            found = self.session.run([output], feed)[0]
        except Exception as error:  # onnxruntime has no public error class
            raise ModelError(
                f"the model failed on a text of {len(encoding.ids)} tokens ({error}): check its max_tokens"
            ) from error
        return np.asarray(found[0], np.float32)


def start_session(settings: ModelSettings) -> InferenceSession:
    """Start a single-threaded session of onnxruntime.

    A graph that is optimised already runs unchanged, since optimizing again takes time and may pick slower operators.
    The digest is verified concurrently in another thread. Raises `ModelError` for a model that differs from the record
    or cannot be loaded.
    """
    import onnxruntime

    level = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level.ORT_DISABLE_ALL if settings.optimised else level.ORT_ENABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    with ThreadPoolExecutor(1, thread_name_prefix="verify") as pool:
        verified = pool.submit(settings.verify)
        try:
            session = onnxruntime.InferenceSession(settings.model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has no public error class
            verified.result()
            raise model_error(settings.model, "can't be loaded: fetch or export the model again", error) from error
        verified.result()
    return session


def describe(session: InferenceSession, settings: ModelSettings) -> Graph:
    """Check that the graph is a supported embedder, and return it with its outputs. Raises `ModelError`."""
    outputs = {output.name: output.shape for output in session.get_outputs()}
    hidden = _of_rank(3, outputs)
    # Next to token vectors, a second output per text has other purposes, such as classification or token weights.
    pooled = next((name for name in POOLED if name in outputs), None) or (None if hidden else _of_rank(2, outputs))
    types = {item.name: item.type for item in session.get_inputs()}
    if not (pooled or hidden) or not types.keys() <= set(INPUTS) or not set(types.values()) <= INTEGERS.keys():
        raise model_error(
            settings.model,
            f"is not an embedder: its inputs are {', '.join(types)} and its outputs {', '.join(outputs)}; "
            f"supported are {', '.join(INPUTS)} as integers, and one vector for each text or token",
        )
    dimension = outputs[pooled or hidden or ""][-1]
    if not isinstance(dimension, int):
        dimension = settings.dimension or 0
    if not dimension or settings.dimension not in (None, dimension):
        raise model_error(
            settings.model,
            f"outputs vectors of {dimension or 'unknown'} numbers, but its settings state "
            f"{settings.dimension}: set `dimension` in the folder's rifflux.json",
        )
    return Graph(session, pooled, hidden, dimension, {name: INTEGERS[kind] for name, kind in types.items()})


def _of_rank(rank: int, outputs: dict[str, Sequence[object]]) -> str | None:
    return next((name for name, shape in outputs.items() if len(shape) == rank), None)


@cache
def bundled_embedder(threads: int | None = None) -> OnnxEmbedder:
    """Return the bundled model, shared by all indexes of the process."""
    return OnnxEmbedder.load(BUNDLED, threads=threads)
