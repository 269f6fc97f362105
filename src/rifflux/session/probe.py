"""The probe of a model: what it gave for one text when its first vectors were stored, to compare with what it gives.

A fingerprint has the weights of a model that runs here. Of one behind an endpoint, or of a program's own, it has the
name, and another model may come under that.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from rifflux.errors import Cure, ModelError
from rifflux.models.guarded import GuardedEmbedder, runs_here
from rifflux.session.session import Session
from rifflux.store import State, Store
from rifflux.types import Vectors

#: The text, of words that any model knows.
PROBE = "A heron stands in the river at dawn and waits for fish."
#: The setting that holds the vectors of the probe, by the fingerprint of the model.
SETTING = "probe"
#: The least cosine of one model with itself. Rounding and other hardware leave it near 1; vectors of two models have
#: nothing to do with each other, and a model that was trained further is not worth a comparison below this.
SAME = 0.9


class Replaced(ModelError):
    """A model came under the name of another one."""


def confirm(session: Session, embedder: GuardedEmbedder, is_needed: Callable[[], bool] = lambda: True) -> None:
    """Make sure, once a session, that a model gives what it gave; one without a probe gets it now.

    Raises `Replaced` where it does not, and `ModelError` where it does not answer: it is asked again the next time.
    One that is not needed, for no text waits for it, is not waited for, and need not answer.
    """
    confirmed: set[str] = session.kept(SETTING, set)
    if runs_here(embedder.inner) or embedder.fingerprint in confirmed:
        return
    needed = is_needed()
    try:
        _compare(session.store, embedder if needed else embedder.hurried)
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
    """Ask a model for its probe and keep that, whatever it was before. Raises `ModelError`.

    Probes of models whose vectors are gone are forgotten.
    """
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
    kept = {name: [round(float(number), 5) for number in vector] for name, vector in probes.items()}
    store.registry.set(SETTING, json.dumps(kept), content=False)


def _vector(embedder: GuardedEmbedder, dimension: int | None) -> Vectors:
    return np.asarray(embedder.passage_vectors([PROBE], dimension)[0])


def _probes(store: Store) -> dict[str, Vectors]:
    return {
        fingerprint: np.asarray(vector, np.float32)
        for fingerprint, vector in json.loads(store.registry.policy(SETTING) or "{}").items()
    }
