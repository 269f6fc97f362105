"""Cross-encoders: models that score a question and a passage together."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rifflux.errors import Cure, ModelError
from rifflux.models.cores import available_cores
from rifflux.models.fetched import fetched
from rifflux.models.folder import ModelSettings, model_error, read_folder
from rifflux.models.onnx import start_session
from rifflux.models.tokenizer import INPUTS, INTEGERS, Tokenizer, load_tokenizer
from rifflux.types import Scores

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


#: The calibration file in a model's folder: `{"intercept": 0.3, "slope": 0.8}`.
STORED = "relevance.json"


@dataclass(frozen=True, slots=True)
class LogitCalibration:
    """Converts logits to probabilities by the logistic function of `intercept + slope * logit`.

    The default is the function of the binary cross-entropy with which cross-encoders are trained. Others are fitted to
    judged pairs (Platt, "Probabilistic Outputs for Support Vector Machines", 1999).
    """

    intercept: float = 0.0
    slope: float = 1.0

    def __call__(self, logits: Scores) -> Scores:
        """Return the probability that each passage is relevant."""
        odds = self.intercept + self.slope * np.asarray(logits, np.float64)
        return np.asarray(0.5 * (1 + np.tanh(odds / 2)))

    @classmethod
    def read(cls, folder: Path) -> LogitCalibration:
        """Read the calibration in a model's folder, or return the default. Raises `ModelError` for an invalid file."""
        path = folder / STORED
        if not path.is_file():
            return cls()
        try:
            content = json.loads(path.read_text("utf-8"))
            found = cls(float(content["intercept"]), float(content["slope"]))
        except (ValueError, KeyError, TypeError) as error:
            raise model_error(path, "is not a calibration: remove it, or fetch the model again", error) from None
        if not (math.isfinite(found.intercept) and math.isfinite(found.slope) and found.slope > 0):
            raise model_error(path, "is not a calibration: the slope must be above 0, and both numbers finite")
        return found


class CrossEncoder(Protocol):
    """Scores passages against a question. Failures are `ModelError`s. Safe to share between threads."""

    @property
    def name(self) -> str:
        """Return the name of the model."""
        ...

    @property
    def calibration(self) -> LogitCalibration:
        """Return the conversion of scores to probabilities of relevance."""
        ...

    def __call__(self, question: str, passages: Sequence[str], deadline: float | None = None) -> Scores:
        """Return a score for each passage, higher is better; give up at `deadline` (`time.perf_counter()`)."""
        ...


@dataclass(frozen=True)
class OnnxCrossEncoder:
    """A cross-encoder from a local folder with model.onnx and tokenizer.json, such as ms-marco-MiniLM-L-6-v2.

    Pairs of more than `max_tokens` tokens are truncated, the longer side first. Each pair runs separately on one
    thread, so that no score depends on its neighbours, with `threads` pairs at a time (default: the number of cores).
    """

    settings: ModelSettings
    max_tokens: int = 512
    threads: int | None = None
    calibration: LogitCalibration = LogitCalibration()
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @classmethod
    def load(cls, folder: str | Path, *, threads: int | None = None) -> OnnxCrossEncoder:
        """Return the model in `folder`. Only settings are read; the first question loads the model."""
        return cls(read_folder(Path(folder)), threads=threads, calibration=LogitCalibration.read(Path(folder)))

    @property
    def name(self) -> str:
        return self.settings.name

    def __call__(self, question: str, passages: Sequence[str], deadline: float | None = None) -> Scores:
        work = partial(self._score, *self._loaded, question, deadline=deadline)
        threads = max(1, min(self.threads or available_cores(), len(passages)))
        with ThreadPoolExecutor(threads, thread_name_prefix="cross-encoder") as pool:
            return np.fromiter(pool.map(work, passages), np.float64, len(passages))

    def _score(
        self, session: InferenceSession, tokenizer: Tokenizer, question: str, passage: str, deadline: float | None
    ) -> float:
        if deadline is not None and time.perf_counter() > deadline:
            raise ModelError(f"{self.name} did not finish in time: rerank fewer hits, or allow more time")
        encoding = tokenizer.encode(question, passage)
        feed = encoding.feed({each.name: INTEGERS[each.type] for each in session.get_inputs()})
        try:
            logits = session.run(None, feed)[0]
        except Exception as error:  # onnxruntime has no public error class
            raise ModelError(
                f"{self.name} failed on a pair of {len(encoding.ids)} tokens ({error}): check it"
            ) from error
        if logits.size != 1:
            raise ModelError(
                f"{self.name} outputs {logits.size} numbers for a pair: a cross-encoder for ranking outputs one"
            )
        return float(logits.reshape(()))

    @property
    def _loaded(self) -> tuple[InferenceSession, Tokenizer]:
        with self._lock:
            return self._parts

    @cached_property
    def _parts(self) -> tuple[InferenceSession, Tokenizer]:
        """Return the session and the tokenizer, loaded once."""
        session = start_session(self.settings)
        inputs = {each.name: each.type for each in session.get_inputs()}
        if not inputs.keys() <= set(INPUTS) or not set(inputs.values()) <= INTEGERS.keys():
            raise model_error(
                self.settings.model,
                f"is not a cross-encoder: its inputs are {', '.join(inputs)}; "
                f"supported are {', '.join(INPUTS)} as integers",
            )
        return session, load_tokenizer(self.settings.tokenizer, self.max_tokens)


def load_cross_encoder(choice: str, *, threads: int | None = None) -> CrossEncoder:
    """Return the cross-encoder in the folder `choice`, or the fetched one of that name; not loaded yet.

    Raises `ModelError` if it is not on disk: nothing is downloaded.
    """
    folder = Path(choice).expanduser()
    if folder.is_dir():
        return OnnxCrossEncoder.load(folder, threads=threads)
    if folder.is_absolute() or choice.startswith((".", "~")):
        known = None
    else:
        known = fetched(choice)
    if known is None or not known.is_dir():
        if known is None:
            problem = "is not a cross-encoder on this disk: name a folder with model.onnx and tokenizer.json"
            raise model_error(folder, problem)
        raise ModelError(f"the cross-encoder {choice!r} is not on this disk", cure=Cure.FETCH_MODEL, model=choice)
    return OnnxCrossEncoder.load(known, threads=threads)
