"""The vectors of an index: the model that makes them, whether it is still the same, and what they are like."""

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
from rifflux.store import ModelInfo, State, Store
from rifflux.types import Hit, Ids, Ranking, Vectors

if TYPE_CHECKING:
    from rifflux.models import Embedder
    from rifflux.models.guarded import GuardedEmbedder

DEFAULT_MODEL = "all-MiniLM-L6-v2"
#: The setting that holds what was read.
SETTING = "vectors"
#: From so many passages with a vector on, and for at most so many of them, words are asked for their like.
ENOUGH = 64
ASKED = 128
#: Passages that words find for one, those of its own document left out, and how far they are read for that.
FOUND = 10
READ = 20
#: It is read again when there are more or fewer vectors by this factor.
CHANGED = 1.25
#: The text, of words that any model knows.
PROBE = "A heron stands in the river at dawn and waits for fish."
#: The setting that holds the vectors of the probe, by the fingerprint of the model.
PROBES = "probe"
#: The least cosine of one model with itself. Rounding and other hardware leave it near 1; vectors of two models have
#: nothing to do with each other, and a model that was trained further is not worth a comparison below this.
SAME = 0.9
_SENTENCE = re.compile(r"\s*(.{30,300}?[.!?])(?:\s|$)", re.DOTALL)
_NO_WORD = re.compile(r"[\W_]+")


@dataclass
class CurrentEmbedder:
    """Gives the embedder, loaded when first needed. Safe to share between threads.

    Without a choice it follows the store: when another process switches the index to another model, that one is
    loaded. One that was chosen stays, and does not fit then.

    `base_url` and `api_key` are the address and the key of the endpoint that models named `openai:NAME` are behind. The
    key is sent nowhere else: an index may come from somebody else, and names the address of its model itself.
    `query_prefix` and `document_prefix` are those of a chosen model behind an endpoint. Without them, a model that made
    the vectors of the index keeps the prefixes that it made them with.
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
        """Return the embedder: for a recorded model that cannot be loaded now, one whose calls raise `ModelError`.

        Raises `ModelError` where the model that was chosen cannot be loaded.
        """
        if self.choice is None:
            known = self.store.semantic.model()
        else:
            known = None
        wanted = known.fingerprint if known else None
        with self._lock:
            # Before the first vectors are stored there is nothing to follow, and what was loaded is what makes them.
            if self._loaded is None or (wanted and self._loaded_for != wanted != self._loaded.fingerprint):
                try:
                    self._loaded = self._load(known)
                except ModelError as error:
                    if known is None:
                        raise
                    from rifflux.models.missing import MissingEmbedder

                    # Not cached: the next call finds a model that was put back.
                    return MissingEmbedder(**asdict(known), error=error)
                self._loaded_for = wanted
            return self._loaded

    def _load(self, known: ModelInfo | None) -> Embedder:
        from rifflux.models.custom import CUSTOM
        from rifflux.models.loading import is_loadable, load_embedder

        if known and known.backend == CUSTOM:
            raise ModelError(
                f"the vectors are by {known.name}, a model that a program passed as model=", cure=Cure.SWITCH_MODEL
            )
        if known is None and self.choice is None and (self.base_url or self.api_key):
            raise ModelError("base_url and api_key are set, but no model: set it too, such as openai:NAME")
        if known and not is_loadable(known.spec):
            raise ModelError(
                f"the model {known.name} is not where it was when it made the vectors",
                cause=f"{known.spec} is no model",
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
        """Return True if a model, or each part of a joined one, that names an address names that of the endpoint."""
        from rifflux.models.loading import parts_of

        addresses = {part.partition("#")[0].rstrip("/") for part in parts_of(spec) if "://" in part}
        return addresses <= {(self.base_url or "").rstrip("/")}

    def _with_prefixes(self, chosen: Embedder) -> Embedder:
        """Return a model behind an endpoint with the prefixes that the vectors of the index were made with."""
        if chosen.backend != "http":
            return chosen
        from rifflux.models.http import HttpEmbedder

        recorded = self.store.semantic.model()
        if recorded is None or recorded.backend != "http" or not isinstance(chosen, HttpEmbedder):
            return chosen
        return chosen.as_recorded(recorded.spec)


def info_of(model: Embedder, dimension: int | None = None) -> ModelInfo:
    """Return the facts of an embedder that an index records; without a dimension, its server is called for one."""
    spec = getattr(model, "spec", model.name)
    return ModelInfo(model.name, model.backend, dimension or model.dimension, model.fingerprint, spec)


# The probe of a model: what it gave for one text when its first vectors were stored, to compare with what it gives. A
# fingerprint has the weights of a model that runs here. Of one behind an endpoint, or of a program's own, it has the
# name, and another model may come under that.


class Replaced(ModelError):
    """A model has the name of another one."""


def confirm(
    store: Store, confirmed: set[str], embedder: GuardedEmbedder, is_needed: Callable[[], bool] = lambda: True
) -> None:
    """Check that a model gives the vectors it gave, unless it is `confirmed`; one without a probe gets one now.

    Raises `Replaced` where it does not, and `ModelError` where it does not answer: it is asked again the next time.
    One that is not needed, for no text waits for it, is not waited for, and need not answer.
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
    """Return how a model differs from the one whose vectors are stored under its name; empty if it is the same.

    It is asked only if there is a probe to compare with. Raises `ModelError` if it does not answer.
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
    """Embed the probe with a model and store the vector, in place of an earlier one. Raises `ModelError`.

    Probes of models whose vectors are gone are forgotten.
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
    store.registry.set(PROBES, json.dumps(rounded), content=False)


def _vector(embedder: GuardedEmbedder, dimension: int | None) -> Vectors:
    return np.asarray(embedder.passage_vectors([PROBE], dimension)[0])


def _probes(store: Store) -> dict[str, Vectors]:
    return {
        fingerprint: np.asarray(vector, np.float32)
        for fingerprint, vector in json.loads(store.registry.policy(PROBES) or "{}").items()
    }


# What the vectors are like, read after embedding, and for each search


@dataclass(frozen=True, slots=True)
class VectorReading:
    """What was read of the vectors of a model when there were so many: see `rifflux.retrieve.scale`.

    `model` is the scale of the model for texts of any kind, None while there are too few to ask an unknown one.
    """

    fingerprint: str
    vectors: int
    agreement: float | None = None
    model: ModelScale | None = None


def stored_reading(store: Store) -> VectorReading | None:
    """Return what was read of the vectors in use; None if nothing was, or by another version.

    Of several owners, it is what was read of each, as far as their vectors agree with words weighed by their number.
    """
    if len(store.owners) > 1:
        return _together([*filter(None, (stored_reading(each) for each in store.members()))])
    known = store.registry.setting(SETTING)
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
    """Return what was read of several owners' vectors as one reading."""
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
    """The scale of an owner's vectors, worked out once for each sample of them. Safe to share between threads."""

    store: Store
    _known: tuple[Vectors, VectorScale | None] | None = None

    def __call__(self, load: Callable[[], Embedder]) -> VectorScale | None:
        """Return the scale; None where nothing is known of the vectors. `load` gives the embedder."""
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
    """Read an owner's vectors and note it, if that was not done or they are many more or fewer by now."""
    count = store.counts()["embedded_chunks"]
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
    store.registry.set(SETTING, json.dumps(asdict(found)))
    return found


def read_all_vectors(store: Store, profile: Profile, embedder: Embedder) -> None:
    """Read the vectors of all owners in a store; if the model fails, the next run reads them."""
    with suppress(ModelError):
        for view in store.views():
            read_vectors(view, profile, embedder)


def _agreement(store: Store, profile: Profile) -> float | None:
    """Return how well the vectors agree with words on what is like a passage."""
    ids, sample = store.semantic.sample(SAMPLE)
    passages = {int(hit.id, 16): hit for hit in _hydrated(store, ids[:ASKED])}
    rankings = {id: _found(store, profile, hit) for id, hit in passages.items()}
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


def _found(store: Store, profile: Profile, hit: Hit) -> Ids:
    """Return the chunks that the first sentence of a passage finds by words, best first."""
    match = _SENTENCE.match(hit.text)
    words = _NO_WORD.sub(" ", match[1] if match else hit.text[:200])
    return store.lexical.match(understand(words, profile.analyzer), READ, profile.weights).ids
