"""Choose the knobs of the adaptive fusion, and measure them on collections left out.

    python -m bench fusion FOLDER_OF_COLLECTIONS [--keep FOLDER] [--markdown FILE]

For every collection the two general knobs (the prior weight of the vectors and the slope of their confidence) are
chosen on the other collections only, then judged on this one. The weights for code and messages are priors, not
fitted: the collections hold one of each kind, so `kinds unknown` tells what is left without them. Questions that are
one identifier are searched by words alone in every column but `semantic`, as `Index.search` does.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from bench.shared import NAMES, SCOPES
from rifflux.evaluate import Cache, parse_run, read_beir
from rifflux.evaluate.collection import Collection, JudgedQuestion
from rifflux.index import Index
from rifflux.retrieve.fuse import Adaptive, Balanced, ReciprocalRank
from rifflux.retrieve.query.reading import understand
from rifflux.retrieve.scale import VectorScale
from rifflux.retrieve.table import LEXICAL, SCORE, SEMANTIC, joined, pool_of
from rifflux.store import by_meaning, by_words
from rifflux.types import Filter, Ids, Ranking, Scores

HEAD = """# Fusion

Made by `python -m bench fusion DATA --markdown bench/results/fusion.md` on the development collections:
documents at their best passage, bundled model. `left out` has its two knobs chosen on the other collections only."""
POOL, DEPTH, LOOKED_AT = 100, 1000, 10
PRIORS = (0.35, 0.4, 0.45, 0.5, 0.55)
SLOPES = (0.0, 1.67, 3.33, 5.0)
DISCOUNT = 1 / np.log2(np.arange(2, 12))


@dataclass(frozen=True)
class Case:
    """One question's rankings, the kinds of its first candidates, its judgements and the documents of the chunks."""

    rankings: Mapping[str, Ranking]
    known_kinds: Mapping[int, str]
    grades: Mapping[str, int]
    documents: Mapping[int, str]
    identifier: bool
    specificity: float = 0.0
    scale: VectorScale | None = None

    def coverage(self, ids: Ids) -> Scores:
        """Not looked up here."""
        return np.zeros(len(ids))

    def cosines(self, ids: Ids) -> Scores:
        """The cosine of each chunk with the question, as far as it was ranked."""
        known = dict(zip(self.rankings[SEMANTIC].ids.tolist(), self.rankings[SEMANTIC].scores.tolist(), strict=True))
        return np.array([known.get(id, np.nan) for id in ids.tolist()], np.float64)

    def kinds(self, ids: Ids) -> Sequence[str]:
        """The kind of each chunk's document."""
        return [self.known_kinds.get(id, "") for id in ids.tolist()]

    def ndcg(self, ranking: Ranking) -> float:
        """nDCG@10 over documents, each at its best chunk."""
        order = list(dict.fromkeys(self.documents[id] for id in ranking.ids.tolist()))[:10]
        gains = [self.grades.get(document, 0) for document in order]
        ideal = sorted(self.grades.values(), reverse=True)[:10]
        return float(np.dot(gains, DISCOUNT[: len(gains)]) / np.dot(ideal, DISCOUNT[: len(ideal)]))


Rank = Callable[[Case], Ranking]


def main() -> None:
    """Print, and write as Markdown, nDCG@10 by collection and fusion."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as temporary, Cache(arguments.keep or temporary) as cache:
        cases = {name: _cases(arguments.data, name, cache) for name in arguments.names or NAMES}
    text = _report(cases)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(f"{HEAD}\n\n{text}\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


def _cases(data: Path, name: str, cache: Cache) -> list[Case]:
    folder, _, qrels = name.partition(":")
    collection = read_beir(data / folder, qrels or "test", scope=SCOPES.get(folder))
    run = parse_run("hybrid")
    index = cache.opener(collection, [run])(run)
    return [_case(index, collection, question) for question in collection.questions]


def _case(index: Index, collection: Collection, question: JudgedQuestion) -> Case:
    query = understand(question.text, index.profile.analyzer, (), collection.filter(question) or Filter())
    vector = index.admin.embedder.embed_query(query.semantic_text)
    lexical = by_words(index.admin.store, query, DEPTH, index.profile.weights)
    rankings = {LEXICAL: lexical, SEMANTIC: by_meaning(index.admin.store, query, vector, DEPTH)}
    first = pool_of(rankings, LOOKED_AT)
    kinds = {id: each.kind for id, each in index.admin.store.catalog.facts(first).items()}
    pooled = pool_of(rankings, POOL)
    pool = index.admin.store.catalog.hydrate(Ranking(pooled, np.zeros(len(pooled))))
    documents = {int(hit.id, 16): hit.key for hit in pool}
    sense = index.classify(question.text)
    alone = len(sense.identifiers) == 1 and sense.specificity == 1
    return Case(rankings, kinds, question.grades, documents, alone, scale=index.admin.view.scale)


def _channel(name: str) -> Rank:
    return lambda case: case.rankings[name].head(POOL)


def _fused(fusion: Adaptive | Balanced | ReciprocalRank) -> Rank:
    def rank(case: Case) -> Ranking:
        rankings = {LEXICAL: case.rankings[LEXICAL]} if case.identifier else case.rankings
        # As in a large index, where channels stop at what is enough; a ranking that ends sooner is complete.
        reach = fusion.depth(POOL), fusion.enough(POOL)
        found = {name: ranking.head(reach[len(ranking) == DEPTH]) for name, ranking in rankings.items()}
        table = fusion(joined(found, POOL), case)
        return Ranking(table.ids, table[SCORE])

    return rank


def _mean(cases: Sequence[Case], rank: Rank) -> float:
    return float(np.mean([case.ndcg(rank(case)) for case in cases]))


def _report(cases: Mapping[str, list[Case]]) -> str:
    columns: dict[str, dict[str, float]] = {
        "lexical": {name: _mean(each, _channel(LEXICAL)) for name, each in cases.items()},
        "semantic": {name: _mean(each, _channel(SEMANTIC)) for name, each in cases.items()},
    }
    fusions: dict[str, Adaptive | Balanced | ReciprocalRank] = {
        "rrf": ReciprocalRank(),
        "balanced .5": Balanced(),
        "kinds unknown": Adaptive(priors={}),
        "adaptive": Adaptive(),
    }
    for label, fusion in fusions.items():
        columns[label] = {name: _mean(each, _fused(fusion)) for name, each in cases.items()}
    columns["left out"], chosen = _left_out(cases)
    return "\n".join([*_table(columns), "", *_summary(columns), "", *chosen])


def _left_out(cases: Mapping[str, list[Case]]) -> tuple[dict[str, float], list[str]]:
    """Each collection judged with the knobs that are best on average over the others."""
    grid = [Adaptive(prior=prior, slope=slope) for prior, slope in product(PRIORS, SLOPES)]
    scores = {name: np.array([_mean(each, _fused(fusion)) for fusion in grid]) for name, each in cases.items()}
    found, chosen = {}, ["Chosen on the other collections:", ""]
    for name in cases:
        # Two sets of questions on the same documents are not independent: both stay out.
        others = [score for other, score in scores.items() if other.partition(":")[0] != name.partition(":")[0]]
        best = int(np.argmax(np.mean(others, axis=0)))
        found[name] = float(scores[name][best])
        chosen.append(f"- {name}: prior {grid[best].prior}, slope {grid[best].slope}")
    return found, chosen


def _table(columns: Mapping[str, Mapping[str, float]]) -> list[str]:
    names = list(next(iter(columns.values())))
    lines = [f"| nDCG@10 | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    lines += [f"| {name} | {' | '.join(f'{column[name]:.4f}' for column in columns.values())} |" for name in names]
    means = " | ".join(f"{np.mean(list(column.values())):.4f}" for column in columns.values())
    return [*lines, f"| **mean** | {means} |"]


def _summary(columns: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Gain over RRF on average, and the worst loss against the best of lexical, semantic and RRF."""
    lines = ["| | mean gain over rrf | worst loss against the best of lexical, semantic, rrf |", "| --- | ---: | --- |"]
    for label in ("balanced .5", "kinds unknown", "adaptive", "left out"):
        column = columns[label]
        gain = np.mean([column[name] - columns["rrf"][name] for name in column])
        losses = {name: column[name] - max(columns[c][name] for c in ("lexical", "semantic", "rrf")) for name in column}
        worst = min(losses, key=lambda name: losses[name])
        lines.append(f"| {label} | {gain:+.4f} | {losses[worst]:+.4f} ({worst}) |")
    return lines
