"""BM25 by our own function: that of the tables, and with less said by the length of a chunk."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from rifflux.store import Placed, Store, by_words
from rifflux.store.sqlite import SqliteStore
from rifflux.testing.making import WEIGHTS, change, keys_of, words

TEXTS = {"short": "cache", "medium": "cache queue", "long": "cache river stone lamp cloud fox"}


@pytest.fixture(params=["", "somebody"])
def store(request: pytest.FixtureRequest) -> Store:
    """A store of three texts, of nobody or of an owner, where others have more."""
    whole = SqliteStore.open(":memory:")
    whole.of("somebody else").catalog.write(Placed("c", change("other", "cache " * 40)))
    own: Store = whole.of(request.param)
    for key, text in TEXTS.items():
        own.catalog.write(Placed("c", change(key, text)))
    return own


@pytest.mark.parametrize("b", [0.0, 0.4, 0.75, 1.0])
def test_scores_are_those_of_the_formula(store: Store, b: float) -> None:
    weights = replace(WEIGHTS, b=b)
    ranking = by_words(store, words("queue"), 10, weights)
    lengths = [len(text.split()) for text in TEXTS.values()]
    assert keys_of(store, ranking) == ["medium"]
    norm = 1.2 * (1 - b + b * lengths[1] / (sum(lengths) / 3))
    assert ranking.scores[0] == pytest.approx(math.log((3 - 1 + 0.5) / (1 + 0.5)) * 2.2 / (1 + norm))


def test_without_it_length_says_nothing(store: Store) -> None:
    assert len({*by_words(store, words("cache"), 10, replace(WEIGHTS, b=0.0)).scores.tolist()}) == 1
    assert len({*by_words(store, words("cache"), 10, WEIGHTS).scores.tolist()}) == 3
