"""Reading what the vectors of an index are like: after embedding, and for each search."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rifflux.errors import Cure, ModelError, ModelMismatch
from rifflux.models.scale import ModelScale, measured_scale, stored_scale
from rifflux.retrieve.query.reading import understand
from rifflux.retrieve.scale import FEWEST, SAMPLE, VectorScale, agreement_of, scale_of
from rifflux.session.current import info_of
from rifflux.session.profile import Profile
from rifflux.store import Store
from rifflux.types import Hit, Ids, Ranking, Vectors

if TYPE_CHECKING:
    from rifflux.models import Embedder
    from rifflux.models.guarded import GuardedEmbedder

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
_SENTENCE = re.compile(r"\s*(.{30,300}?[.!?])(?:\s|$)", re.DOTALL)
_NO_WORD = re.compile(r"[\W_]+")


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
        if known is None or known[0] is not sample:
            known = self._known = sample, self._scale(sample, load)
        return known[1]

    def _scale(self, sample: Vectors, load: Callable[[], Embedder]) -> VectorScale | None:
        reading = stored_reading(self.store)
        model = reading.model if reading else None
        if model is None and len(sample):
            with suppress(ModelError):
                model = stored_scale(load())
        return scale_of(sample, model, reading.agreement if reading else None)


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
    """Read the vectors of everybody whom a store leads to. A model that fails meanwhile is asked another time."""
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


def question_vector(store: Store, embedder: GuardedEmbedder, text: str, deadline: float | None) -> tuple[Vectors, str]:
    """Return the vector of a question, and the fingerprint of the model it is by. Raises `ModelMismatch`."""
    known = store.semantic.model()
    if known and known.fingerprint != embedder.fingerprint:
        other = info_of(embedder, known.dimension).public_spec
        raise ModelMismatch(
            f"the vectors of the index are of the model {known.public_spec}, not of {other}, which was chosen",
            cure=Cure.SWITCH_MODEL,
            model=other,
        )
    if known:
        dimension = known.dimension
    else:
        dimension = embedder.dimension
    return embedder.question_vector(text, dimension, deadline), embedder.fingerprint
