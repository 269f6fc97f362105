"""Fit the weights of the reranker `features` and the share of `maxsim`, leaving one collection out.

    python -m bench features FOLDER_OF_COLLECTIONS [NAME ...] [--keep FOLDER] [--maxsim] [--markdown FILE]

For every collection, weights are chosen on the others alone and judged on it: what that gains is what to expect of
content that nobody has tuned for. The weights in use are those fitted to all. With --maxsim, which takes minutes, the
share of late interaction on top of the weights in use is chosen likewise.

A choice must do well on every collection: it maximises the mean gain in nDCG@10 over the fused order, no collection
counting more than .03, plus half of the worst loss. Many choices are nearly as good as the best, and which is the best
is chance: the mean of the best twenty is taken. `identifier`, whose work anchors do, `lexical` and `freshness` are off.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from bench.shared import NAMES, SCOPES
from rifflux.evaluate import Cache, parse_run, read_beir
from rifflux.evaluate.collection import Collection, JudgedQuestion
from rifflux.evaluate.tune import ORDER, Judged, column, judged
from rifflux.index import Index
from rifflux.retrieve.fuse.base import Weights
from rifflux.retrieve.steps.rerank.features import WEIGHTS, spread
from rifflux.retrieve.steps.rerank.maxsim import MaxSim
from rifflux.types import Scores

HEAD = """# Reranking

Made by `python -m bench features DATA --maxsim --markdown bench/results/features.md`: gains in nDCG@10 over the
default fusion by reranking its first 20 hits. `left out` has its weights chosen on the other collections only."""
#: No collection counts for more than this, and what a loss on the worst of them costs.
MOST_GAIN, WORST = 0.03, 0.5
#: So many of the best choices are averaged, and the mean is rounded to this.
BEST, STEP = 20, 0.05
GRID = [
    WEIGHTS.but(
        semantic=semantic, coverage=coverage, phrase=phrase, title=title, centroid=centroid, expansion=expansion
    )
    for semantic, coverage, phrase, title, centroid, expansion in product(
        (0.0, 0.15, 0.3),
        (0.15, 0.3, 0.5, 0.7),
        (0.2, 0.4, 0.6),
        (0.0, 0.15, 0.3),
        (0.0, 0.1, 0.2, 0.3),
        (0.0, 0.1, 0.2, 0.3),
    )
]
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


def main() -> None:
    """Print, and write as Markdown, what every collection gains with the weights that the others choose."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as temporary, Cache(arguments.keep or temporary) as cache:
        cases = {name: _cases(arguments, name, cache) for name in arguments.names or NAMES}
    text = "\n".join(_weights_report(cases))
    if arguments.maxsim:
        text += "\n\n" + "\n".join(_shares_report(cases))
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(f"{HEAD}\n\n{text}\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--maxsim", action="store_true")
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


# What is looked at


def _cases(arguments: argparse.Namespace, name: str, cache: Cache) -> list[Judged]:
    folder, _, qrels = name.partition(":")
    collection = read_beir(arguments.data / folder, qrels or "test", scope=SCOPES.get(folder))
    run = parse_run("hybrid")
    index = cache.opener(collection, [run])(run)
    return [_case(index, collection, question, maxsim=arguments.maxsim) for question in collection.questions]


def _case(index: Index, collection: Collection, question: JudgedQuestion, *, maxsim: bool) -> Judged:
    """A question's candidates, with late interaction as one more component."""
    case, asked = judged(index, collection, question)
    likeness = MaxSim(index.admin.view.resources).likeness
    near = spread(likeness(asked.plan, asked.table)) if maxsim else np.zeros(len(asked.table))
    return replace(case, values=np.column_stack([case.values, near]))


# What is fitted


def _weights_report(cases: Mapping[str, Sequence[Judged]]) -> list[str]:
    grid = np.concatenate([_vector(weights) for weights in GRID], axis=1)
    base = {name: _mean(each, _vector(_only_fused()))[0] for name, each in cases.items()}
    gains = {name: _mean(each, grid) - base[name] for name, each in cases.items()}
    in_use = {name: _mean(each, _vector(WEIGHTS))[0] - base[name] for name, each in cases.items()}
    left_out, chosen = {}, {}
    for name, each in cases.items():
        chosen[name] = _chosen([gains[other] for other in gains if _folder(other) != _folder(name)])
        left_out[name] = _mean(each, _vector(chosen[name]))[0] - base[name]
    lines = _table(base, {"in use": in_use, "left out": left_out}, {name: _shown(w) for name, w in chosen.items()})
    return [*lines, "", f"In use: {_shown(WEIGHTS)}", f"Fitted to all: {_shown(_chosen(list(gains.values())))}"]


def _shares_report(cases: Mapping[str, Sequence[Judged]]) -> list[str]:
    """The share of maxsim on top of the weights in use."""
    weights = _vector(WEIGHTS)
    grid = np.concatenate([_with_share(weights, share) for share in SHARES], axis=1)
    base = {name: _mean(each, _vector(_only_fused()))[0] for name, each in cases.items()}
    gains = {name: _mean(each, grid) - base[name] for name, each in cases.items()}
    used = SHARES.index(MaxSim.weight)
    in_use = {name: float(values[used]) for name, values in gains.items()}
    left_out, chosen = {}, {}
    for name, values in gains.items():
        best = _best([gains[other] for other in gains if _folder(other) != _folder(name)], 1)[0]
        left_out[name], chosen[name] = float(values[best]), f"maxsim {SHARES[best]:g}"
    best = _best(list(gains.values()), 1)[0]
    return [
        *_table(base, {"with maxsim in use": in_use, "left out": left_out}, chosen),
        "",
        f"In use: {MaxSim.weight:g}. Fitted to all: {SHARES[best]:g}",
    ]


def _only_fused() -> Weights:
    return WEIGHTS.but(**{name: float(name == "fused") for name in ORDER})


def _vector(weights: Weights) -> Scores:
    """Weights as a column, with nothing for maxsim."""
    return np.concatenate([column(weights), [[0.0]]])


def _with_share(weights: Scores, share: float) -> Scores:
    found = (1 - share) * weights
    found[-1] = share
    return found


def _mean(cases: Sequence[Judged], weights: Scores) -> Scores:
    return np.asarray(np.mean([case.ndcg(weights) for case in cases], axis=0))


def _best(gains: Sequence[Scores], many: int) -> list[int]:
    """The best choices for some collections."""
    every = np.stack(gains)
    worth = np.minimum(every, MOST_GAIN).mean(0) + WORST * np.minimum(every.min(0), 0)
    return [int(place) for place in np.argsort(-worth, kind="stable")[:many]]


def _chosen(gains: Sequence[Scores]) -> Weights:
    """The mean of the best choices."""
    best = [GRID[each] for each in _best(gains, BEST)]
    means = {name: float(np.mean([weights[name] for weights in best])) for name in ORDER}
    return WEIGHTS.but(**{name: round(round(mean / STEP) * STEP, 2) for name, mean in means.items()})


def _folder(name: str) -> str:
    """Two sets of questions on the same documents are not independent: both stay out."""
    return name.partition(":")[0]


def _table(
    base: Mapping[str, float], columns: Mapping[str, Mapping[str, float]], chosen: Mapping[str, str]
) -> list[str]:
    lines = [f"| nDCG@10 | fused | {' | '.join(columns)} | chosen on the others |"]
    lines.append("| --- | ---: |" + " ---: |" * len(columns) + " --- |")
    for name in base:
        told = " | ".join(f"{column[name]:+.4f}" for column in columns.values())
        lines.append(f"| {name} | {base[name]:.4f} | {told} | {chosen[name]} |")
    values = [np.array(list(column.values())) for column in columns.values()]
    means, worst = (" | ".join(f"{find(each):+.4f}" for each in values) for find in (np.mean, np.min))
    mean = np.mean(list(base.values()))
    return [*lines, f"| **mean** | {mean:.4f} | {means} | |", f"| **worst** | | {worst} | |"]


def _shown(weights: Weights) -> str:
    return ", ".join(f"{name} {weight:g}" for name in ORDER if (weight := weights[name]))
