"""The vectors of an index: the model that makes them, whether it is unchanged, and their scale."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rifflux.errors import Cure, ModelError
from rifflux.models.scale import ModelScale, measured_scale, stored_scale
from rifflux.retrieve.query.reading import understand
from rifflux.retrieve.scale import FEWEST, SAMPLE, VectorScale, agreement_of, scale_of
from rifflux.session.profile import Profile
from rifflux.store import ModelInfo, State, Store, by_words_each
from rifflux.types import Hit, Ids, Query, Ranking, Vectors

if TYPE_CHECKING:
    from rifflux.models import Embedder
    from rifflux.models.guarded import GuardedEmbedder

DEFAULT_MODEL = "all-MiniLM-L6-v2"
#: The setting that stores the reading of the vectors.
SETTING = "vectors"
#: The minimum number of vectors for measuring agreement, and the maximum number of passages sampled for it.
ENOUGH = 64
NEIGHBOR_SAMPLE = 128
#: The number of passages found by words per sampled passage, excluding its own document, and the depth searched for
#: them.
FOUND = 10
READ = 20
#: The reading is repeated when the number of vectors has changed by this factor.
CHANGED = 1.25
#: The probe text, of words that any model knows.
PROBE = "A heron stands in the river at dawn and waits for fish."
#: The setting that stores the vectors of the probe, by the fingerprint of the model.
PROBES = "probe"
#: The minimum cosine of a model with itself. Rounding and other hardware leave it near 1; vectors of two models are
#: unrelated, and those of a model trained further are not comparable below this.
SAME = 0.9
_SENTENCE = re.compile(r"\s*(.{30,300}?[.!?])(?:\s|$)", re.DOTALL)
_NO_WORD = re.compile(r"[\W_]+")


@dataclass
class CurrentEmbedder:
    """Returns the current embedder, loaded on demand. Safe to share between threads.

    Without a choice it follows the store: when another process switches the index to another model, that one is loaded.
    A chosen model stays, and then no longer fits.

    `base_url` and `api_key` are the address and the key of the endpoint of models named `openai:NAME`. The key is sent
    nowhere else: an index may come from somebody else, and contains the address of its model. `query_prefix` and
    `document_prefix` are those of a chosen model behind an endpoint. Without them, the model of the index's vectors
    uses the prefixes that were recorded with it.
    """

    store: Store
    choice: str | Embedder | None = None
    threads: int | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    query_prefix: str = ""
    document_prefix: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _loaded: Embedder | None = field(default=None, init=False, repr=False)
    _loaded_for: str | None = field(default=None, init=False, repr=False)

    def __call__(self) -> Embedder:
        """Return the embedder; for a recorded model that cannot be loaded, one whose calls raise `ModelError`.

        Raises `ModelError` if the chosen model cannot be loaded.
        """
        if self.choice is None:
            known = self.store.semantic.model()
        else:
            known = None
        fingerprint = known.fingerprint if known else None
        with self._lock:
            # Before the first vectors are stored there is nothing to follow, and the loaded model makes them.
            if self._loaded is None or (fingerprint and self._loaded_for != fingerprint != self._loaded.fingerprint):
                try:
                    self._loaded = self._load(known)
                except ModelError as error:
                    if known is None:
                        raise
                    from rifflux.models.missing import MissingEmbedder

                    # Not cached: the next call finds a model that was restored.
                    return MissingEmbedder(**asdict(known), error=error)
                self._loaded_for = fingerprint
            return self._loaded

    def _load(self, known: ModelInfo | None) -> Embedder:
        from rifflux.models.custom import CUSTOM
        from rifflux.models.loading import is_loadable, load_embedder

        if known and known.backend == CUSTOM:
            raise ModelError(
                f"the vectors are by {known.name}, a model passed by a program as model=", cure=Cure.SWITCH_MODEL
            )
        if known is None and self.choice is None and (self.base_url or self.api_key):
            raise ModelError("base_url and api_key are set, but no model: set it too, such as openai:NAME")
        if known and not is_loadable(known.spec):
            raise ModelError(
                f"the model {known.name} is not where it was when it made the vectors",
                cause=f"{known.spec} is not a model",
                cure=Cure.SWITCH_MODEL,
            )
        key = self.api_key
        if known and not self._is_of_endpoint(known.spec):
            key = None
        choice = known.spec if known else self.choice
        found = load_embedder(
            DEFAULT_MODEL if choice is None else choice,
            threads=self.threads,
            base_url=self.base_url,
            api_key=key,
            # A recorded model has its own.
            query_prefix="" if known else self.query_prefix,
            document_prefix="" if known else self.document_prefix,
        )
        if known:
            return found
        return self._with_prefixes(found)

    def _is_of_endpoint(self, spec: str) -> bool:
        """Return True if all addresses in a model's spec are that of the configured endpoint."""
        from rifflux.models.loading import parts_of

        addresses = {part.partition("#")[0].rstrip("/") for part in parts_of(spec) if "://" in part}
        return addresses <= {(self.base_url or "").rstrip("/")}

    def _with_prefixes(self, chosen: Embedder) -> Embedder:
        """Return a model behind an endpoint with the prefixes recorded for the index's vectors."""
        if chosen.backend != "http":
            return chosen
        from rifflux.models.http import HttpEmbedder

        recorded = self.store.semantic.model()
        if recorded is None or recorded.backend != "http" or not isinstance(chosen, HttpEmbedder):
            return chosen
        return chosen.as_recorded(recorded.spec)


def info_of(model: Embedder, dimension: int | None = None) -> ModelInfo:
    """Return the record of an embedder for an index; without a dimension, its server is called for one."""
    spec = getattr(model, "spec", model.name)
    return ModelInfo(model.name, model.backend, dimension or model.dimension, model.fingerprint, spec)


# The probe of a model: its vector of one text when its first vectors were stored, compared with its vector now. For a
# local model, the fingerprint includes the weights. For one behind an endpoint or provided by a program, it is only the
# name, under which another model may appear.


class Replaced(ModelError):
    """Raised when another model has taken a recorded model's name."""


def confirm(
    store: Store, confirmed: set[str], embedder: GuardedEmbedder, is_needed: Callable[[], bool] = lambda: True
) -> None:
    """Check that a model still gives the recorded vector of the probe, unless it is `confirmed`; record a missing one.

    Raises `Replaced` if it does not, and `ModelError` if it does not answer, in which case the next call tries again. A
    model that is not needed, because no text waits for it, is not waited for and need not answer.
    """
    from rifflux.models.guarded import runs_here

    if runs_here(embedder.inner) or embedder.fingerprint in confirmed:
        return
    needed = is_needed()
    try:
        _compare(store, embedder if needed else embedder.hurried)
    except Replaced:
        raise
    except ModelError:
        if needed:
            raise
    else:
        confirmed.add(embedder.fingerprint)


def _compare(store: Store, embedder: GuardedEmbedder) -> None:
    if embedder.fingerprint not in _probes(store):
        keep_probe(store, embedder)
    elif what := change_of(store, embedder):
        raise Replaced(what, cure=Cure.SWITCH_MODEL)


def change_of(store: Store, embedder: GuardedEmbedder) -> str:
    """Return how a model differs from the one whose vectors are stored under its name, or an empty string.

    It is called only if there is a probe to compare with. Raises `ModelError` if it does not answer.
    """
    former = _probes(store).get(embedder.fingerprint)
    if former is None or not former.any():
        return ""
    cosine = float(_vector(embedder, len(former)) @ former)
    if cosine >= SAME:
        return ""
    return (
        f"{embedder.name} is another model now than the one that made the vectors: "
        f"the same text has a cosine of {cosine:.2f} with what it was"
    )


def keep_probe(store: Store, embedder: GuardedEmbedder) -> None:
    """Embed the probe with a model and store the vector, replacing an earlier one. Raises `ModelError`.

    Probes of models without vectors are removed.
    """
    from rifflux.models.guarded import runs_here

    if runs_here(embedder.inner) or store.read_only:
        return
    active = {each.model.fingerprint for each in store.semantic.generations.all() if each.state != State.RETIRED}
    known = store.semantic.model()
    if known and known.fingerprint == embedder.fingerprint:
        dimension = known.dimension
    else:
        dimension = None
    probes = {name: vector for name, vector in _probes(store).items() if name in active}
    probes[embedder.fingerprint] = _vector(embedder, dimension)
    rounded = {name: [round(float(number), 5) for number in vector] for name, vector in probes.items()}
    store.records.set(PROBES, json.dumps(rounded), content=False)


def _vector(embedder: GuardedEmbedder, dimension: int | None) -> Vectors:
    return np.asarray(embedder.passage_vectors([PROBE], dimension)[0])


def _probes(store: Store) -> dict[str, Vectors]:
    return {
        fingerprint: np.asarray(vector, np.float32)
        for fingerprint, vector in json.loads(store.records.setting(PROBES, of_index=True) or "{}").items()
    }


# The scale of the vectors, measured after embedding and used in each search


@dataclass(frozen=True, slots=True)
class VectorReading:
    """The measurements of a model's vectors, and their number at the time: see `rifflux.retrieve.scale`.

    `model` is the scale of the model for texts of any kind, or None if it is unknown and there are too few vectors to
    measure it.
    """

    fingerprint: str
    vectors: int
    agreement: float | None = None
    model: ModelScale | None = None


def stored_reading(store: Store) -> VectorReading | None:
    """Return the measurements of the vectors in use; None if there are none, or if another version stored them.

    For several owners, the agreement is the mean of each, weighted by the number of vectors.
    """
    if len(store.owners) > 1:
        return _together([*filter(None, (stored_reading(store.of(each)) for each in store.owners))])
    known = store.records.setting(SETTING)
    model = store.semantic.model()
    with suppress(ValueError, TypeError):
        content: dict[str, Any] = json.loads(known or "")
        scale = content.pop("model")
        found = VectorReading(**content, model=ModelScale(**scale) if scale else None)
        if model and found.fingerprint == model.fingerprint:
            return found
        return None
    return None


def _together(readings: Sequence[VectorReading]) -> VectorReading | None:
    """Return the combined measurements of several owners' vectors."""
    if not readings:
        return None
    agreeing = [(each.agreement, each.vectors) for each in readings if each.agreement is not None]
    total = sum(vectors for _, vectors in agreeing)
    if agreeing:
        agreement = sum(share * vectors / total for share, vectors in agreeing)
    else:
        agreement = None
    model = next((each.model for each in readings if each.model), None)
    return VectorReading(readings[0].fingerprint, sum(each.vectors for each in readings), agreement, model)


@dataclass
class ScaleCache:
    """The scale of an owner's vectors, cached per sample of them. Safe to share between threads."""

    store: Store
    _known: tuple[Vectors, VectorScale | None] | None = None

    def __call__(self, load: Callable[[], Embedder]) -> VectorScale | None:
        """Return the scale, or None if nothing is known about the vectors. `load` returns the embedder."""
        _, sample = self.store.semantic.sample(SAMPLE)
        known = self._known
        if known and known[0] is sample:
            return known[1]
        reading = stored_reading(self.store)
        model = reading.model if reading else None
        if model is None and len(sample):
            with suppress(ModelError):
                model = stored_scale(load())
        scale = scale_of(sample, model, reading.agreement if reading else None)
        self._known = (sample, scale)
        return scale


def read_vectors(store: Store, profile: Profile, embedder: Embedder) -> VectorReading | None:
    """Measure an owner's vectors and store the result, unless their number has hardly changed since."""
    count = store.totals().embedded
    known = stored_reading(store)
    if not count or store.read_only:
        return known
    model = known.model if known else None
    if known and count / CHANGED <= known.vectors <= count * CHANGED and (model or count < FEWEST):
        return known
    model = model or stored_scale(embedder)
    if model is None and count >= FEWEST:
        model = measured_scale(embedder)
    found = VectorReading(embedder.fingerprint, count, _agreement(store, profile) if count >= ENOUGH else None, model)
    store.records.set(SETTING, json.dumps(asdict(found)))
    return found


def read_all_vectors(store: Store, profile: Profile, embedder: Embedder) -> None:
    """Measure the vectors of all owners in a store; if the model fails, the next run does."""
    with suppress(ModelError):
        for view in store.views():
            read_vectors(view, profile, embedder)


def _agreement(store: Store, profile: Profile) -> float | None:
    """Return how well the vectors agree with words on passages' similarity, or None."""
    ids, sample = store.semantic.sample(SAMPLE)
    passages = {int(hit.id, 16): hit for hit in _hydrated(store, ids[:NEIGHBOR_SAMPLE])}
    queries = [_first_sentence(profile, hit) for hit in passages.values()]
    found = by_words_each(store, queries, READ, profile.weights)
    rankings = {id: each.ids for id, each in zip(passages, found, strict=True)}
    everything = np.unique(np.concatenate([np.zeros(0, np.int64), *rankings.values()]))
    homes = {int(hit.id, 16): hit.place for hit in _hydrated(store, everything)}
    vectors = dict(zip(ids.tolist(), sample, strict=True)) | dict(store.semantic.vectors_of(everything))

    def pairs() -> Iterator[tuple[Vectors, Vectors]]:
        for id, hit in passages.items():
            own = hit.place
            others = [each for each in rankings[id].tolist() if homes.get(each, own) != own and each in vectors][:FOUND]
            if others:
                yield vectors[id], np.stack([vectors[each] for each in others])

    return agreement_of(sample, [*pairs()])


def _hydrated(store: Store, ids: Ids) -> list[Hit]:
    return store.catalog.hydrate(Ranking(ids, np.zeros(len(ids))))


def _first_sentence(profile: Profile, hit: Hit) -> Query:
    """Return the first sentence of a passage as a query."""
    match = _SENTENCE.match(hit.text)
    words = _NO_WORD.sub(" ", match[1] if match else hit.text[:200])
    return understand(words, profile.analyzer)
