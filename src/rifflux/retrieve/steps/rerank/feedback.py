"""Pseudo-relevance feedback: what the best candidates have in common tells what an answer looks like here.

A candidate that resembles the other good ones is likelier to be good itself. Nothing counts for itself, or whatever
came first would find itself confirmed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest

import numpy as np

from rifflux.types import Scores, Vectors

__all__ = ["near_the_best", "trust", "words_of_the_best"]


def trust(scores: Scores, best: int) -> Scores:
    """How much the first `best` candidates count, in proportion to their scores: (at most `best`), summing to 1."""
    head = np.maximum(scores[:best], 0.0)
    total = head.sum()
    return np.asarray(head / total if total > 0 else np.full(len(head), 1 / max(1, len(head))))


def near_the_best(vectors: Vectors, weights: Scores) -> Scores:
    """Return the weighted mean cosine of each row with the first `len(weights)` others; 0 without others."""
    cosines = vectors @ vectors[: len(weights)].T
    counted = np.tile(weights, (len(vectors), 1))
    np.fill_diagonal(counted, 0.0)
    total = counted.sum(axis=1)
    return np.asarray((cosines * counted).sum(axis=1) / np.where(total > 0, total, 1.0), np.float64)


def words_of_the_best(texts: Sequence[Sequence[str]], weights: Scores, asked: Collection[str], words: int) -> Scores:
    """Return the share of the relevance model of the other good candidates that each text holds; in [0, 1].

    The model is the mean of the term distributions of the first `len(weights)` texts, by weight, without the terms that
    were `asked`; its likeliest `words` terms count. Lavrenko and Croft, "Relevance-Based Language Models", SIGIR 2001.
    """
    shares = [_shares(text, weight, asked) for text, weight in zip(texts, weights.tolist(), strict=False)]
    whole: Counter[str] = Counter()
    for share in shares:
        whole.update(share)
    model = _likeliest(whole, words)
    others = [_likeliest(_without(whole, share), words) for share in shares]
    models = [*others, *[model] * (len(texts) - len(others))]
    return np.array([_held(frozenset(text), each) for text, each in zip(texts, models, strict=True)])


def _shares(text: Sequence[str], weight: float, asked: Collection[str]) -> dict[str, float]:
    """Return a text's part of the model: its terms by how often each occurs in it."""
    unit = weight / max(1, len(text))
    return {term: count * unit for term, count in Counter(text).items() if term not in asked}


def _without(whole: Mapping[str, float], share: Mapping[str, float]) -> dict[str, float]:
    # What rounding leaves of a term that only this text holds is not in the others.
    return {term: left for term, value in whole.items() if (left := value - share.get(term, 0.0)) > 1e-12}


def _likeliest(model: Mapping[str, float], words: int) -> dict[str, float]:
    return dict(nsmallest(words, model.items(), key=lambda item: (-item[1], item[0])))


def _held(terms: Collection[str], model: Mapping[str, float]) -> float:
    """Return the share of the model that is in the terms."""
    return sum(value for term, value in model.items() if term in terms) / (sum(model.values()) or 1.0)
