"""Fits the weights of the reranker `features`, leaving one collection out at a time, and tells what they are worth.

    python bench/fit_features.py FOLDER_OF_COLLECTIONS FOLDER_OF_INDEXES [NAME ...]

The indexes are NAME.db, as `bench/quality.py --keep` leaves them. For every collection, weights are chosen on the
others alone and judged on it: what that gains is what to expect of content that nobody has tuned for. The last line
fits all.

Each choice must do well on every collection: it maximises the mean gain in nDCG@10 over the fused order, no collection
counting more than .03, plus half of the worst loss. Semantic and coverage weigh the same throughout: collections differ
most in which of the two to trust, so a free choice fits what the others have in common and loses on the one left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path

import numpy as np

import rifflux
from rifflux.evaluate import read_beir
from rifflux.evaluate.collection import Collection, Question
from rifflux.index import Index
from rifflux.retrieve.rerank import Resources
from rifflux.retrieve.rerank.features import COMPONENTS, Candidates, Weights
from rifflux.retrieve.understand import understand
from rifflux.types import Scores, Vectors

NAMES = ("scifact", "nfcorpus", "cacm", "cosqa", "locomo", "cfr30", "srd5e")
SCOPES = {"locomo": "conversation"}
TOP, DEPTH, CUT = 20, 100, 10
DISCOUNTS = 1 / np.log2(np.arange(2, CUT + 2))
#: No collection counts for more than this: one that gains .3, as section numbers may, would decide alone.
MOST_GAIN = 0.03

GRID = [
    Weights(semantic=both, coverage=both, phrase=phrase, title=title, identifier=identifier)
    for both, phrase, title, identifier in product(
        (0.2, 0.35, 0.5, 0.7, 1.0), (0.0, 0.25, 0.5), (0.0, 0.1, 0.2, 0.4), (0.0, 0.3, 0.6)
    )
]
ORDER = [each.name for each in fields(Weights)]
MATRIX = np.array([[getattr(weights, name) for weights in GRID] for name in ORDER])


def main() -> None:
    """Print the gain of every collection with the weights that the others choose."""
    arguments = _arguments()
    names = arguments.names or list(NAMES)
    base, gains = np.zeros(len(names)), np.zeros((len(names), len(GRID)))
    for row, name in enumerate(names):
        collection = read_beir(arguments.data / name, scope=SCOPES.get(name))
        with rifflux.open(arguments.indexes / f"{name}.db", create=False) as index:
            scores = np.mean([_judged(index, collection, question) for question in collection.questions], axis=0)
        base[row], gains[row] = scores[0], scores[1:] - scores[0]
    print(f"{'left out':<10} {'fused':>7} {'gain':>7}  weights chosen on the others")
    found = []
    for row, name in enumerate(names):
        best = _best(np.delete(gains, row, axis=0))
        found.append(gains[row, best])
        print(f"{name:<10} {base[row]:7.4f} {gains[row, best]:+7.4f}  {_shown(best)}")
    print(f"{'mean':<10} {base.mean():7.4f} {np.mean(found):+7.4f}  worst {min(found):+.4f}")
    best = _best(gains)
    mean, worst = gains[:, best].mean(), gains[:, best].min()
    print(f"{'none':<10} {base.mean():7.4f} {mean:+7.4f}  {_shown(best)}, worst {worst:+.4f}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("indexes", type=Path)
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def _judged(index: Index, collection: Collection, question: Question) -> Scores:
    """nDCG@10 of the fused order, then of each choice of weights."""
    hits = index.search(question.text, top_k=DEPTH, filter=collection.filter(question)).hits
    if not hits:
        return np.zeros(1 + len(GRID))
    candidates = Candidates(
        understand(question.text, index.analyser, index.profile.facets), hits[:TOP], _resources(index), 0.0, 1.0
    )
    values = np.stack([COMPONENTS[name](candidates) for name in ORDER], axis=1)
    orders = np.argsort(-(values @ MATRIX), axis=0, kind="stable").T
    documents = [collection.identify(hit) for hit in hits]
    fused = list(range(len(orders[0])))
    return np.array([_ndcg(documents, order, question.grades) for order in (fused, *orders.tolist())])


def _ndcg(documents: Sequence[str], order: Sequence[int], grades: Mapping[str, int]) -> float:
    """nDCG@10, linear gain, of the documents' first occurrences: the head in `order`, then the rest."""
    ranked = list(dict.fromkeys([documents[place] for place in order] + list(documents[len(order) :])))[:CUT]
    gains = np.array([grades.get(document, 0) for document in ranked])
    ideal = np.array(sorted(grades.values(), reverse=True)[:CUT])
    return float(gains @ DISCOUNTS[: len(gains)] / (ideal @ DISCOUNTS[: len(ideal)]))


def _resources(index: Index) -> Resources:
    store = index.store
    return Resources(
        index.analyser, lambda: index.embedder, store.document_frequencies, lambda: store.counts()["chunks"]
    )


def _best(gains: Vectors | Scores) -> int:
    worth = np.minimum(gains, MOST_GAIN).mean(0) + 0.5 * np.minimum(gains.min(0), 0)
    return int(worth.argmax())


def _shown(choice: int) -> str:
    return ", ".join(f"{name} {weight:g}" for name in ORDER if (weight := getattr(GRID[choice], name)))


if __name__ == "__main__":
    main()
