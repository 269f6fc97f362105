"""Try ideas for a better default, each on top of it: what they change of nDCG@10, with its standard error.

    python -m bench ideas FOLDER_OF_COLLECTIONS [NAME ...] [--keep FOLDER] [--limit 100] [--markdown FILE]

Every idea orders the first hits of the default anew, or asks once more; none is part of the product. `again` asks a
second time with the words that the best five hold beside the question, and fuses both by rank. `alike` moves a score
toward those of the three passages most like it. `titles` and `sentences` add the cosine of the title, or of the best
sentence, to the score. `maxsim N` has late interaction order N hits in place of `features`.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bench.shared import SCOPES
from rifflux.evaluate import Cache, read_beir
from rifflux.evaluate.collection import JudgedQuestion
from rifflux.index import Index
from rifflux.models import load_embedder
from rifflux.text.analyzer import tokens
from rifflux.types import Filter, Hit, Scores, Vectors

NAMES = ("cacm", "scifact", "nfcorpus", "cosqa")
DEPTH, BEST, WORDS, ALIKE, RRF_K = 50, 5, 8, 3, 60
DISCOUNT = 1 / np.log2(np.arange(2, 12))
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Asked:
    """A question with the first hits of the default, asked of an index within a filter."""

    index: Index
    question: JudgedQuestion
    filter: Filter
    hits: Sequence[Hit]

    def search(self, text: str, **options: object) -> list[Hit]:
        """Return the hits of a question like this one."""
        return [*self.index.search(text, top_k=DEPTH, filter=self.filter, **options)]  # type: ignore[arg-type]

    def ndcg(self, hits: Sequence[Hit]) -> float:
        """Return nDCG@10 over documents, each at its best passage."""
        grades = self.question.grades
        gains = [grades.get(each, 0) for each in list(dict.fromkeys(hit.document for hit in hits))[:10]]
        ideal = sorted(grades.values(), reverse=True)[:10]
        return float(np.dot(gains, DISCOUNT[: len(gains)]) / np.dot(ideal, DISCOUNT[: len(ideal)]))


Idea = Callable[[Asked], Sequence[Hit]]


def again(asked: Asked) -> Sequence[Hit]:
    """Ask once more with the words of the best, and fuse by rank."""
    known = {*tokens(asked.question.text.lower())}
    words = Counter(word for hit in asked.hits[:BEST] for word in {*tokens(hit.content.lower())} - known)
    more = [word for word, _ in words.most_common() if len(word) > 4][:WORDS]
    lists = [asked.hits, asked.search(f"{asked.question.text} {' '.join(more)}")]
    scores = Counter[str]()
    for hits in lists:
        scores.update({hit.chunk_id: 1 / (RRF_K + place) for place, hit in enumerate(hits, 1)})
    found = {hit.chunk_id: hit for hits in lists for hit in hits}
    return sorted(found.values(), key=lambda hit: (-scores[hit.chunk_id], hit.chunk_id))


def alike(asked: Asked, embed: Callable[[Sequence[str]], Vectors], share: float, most: int) -> Sequence[Hit]:
    """Move the score of each of the first hits toward those of the passages most like it."""
    hits = asked.hits[:most]
    vectors, scores = embed([f"{hit.title}\n{hit.content}" for hit in hits]), _scores(hits)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1.0)
    near = np.argsort(-cosines, axis=1, kind="stable")[:, :ALIKE]
    weights = np.maximum(np.take_along_axis(cosines, near, axis=1), 1e-9) ** 2
    return _ordered(asked, (1 - share) * scores + share * (weights * scores[near]).sum(1) / weights.sum(1))


def titles(asked: Asked, embed: Callable[[Sequence[str]], Vectors], weight: float, most: int) -> Sequence[Hit]:
    """Add the cosine of the question with each title."""
    hits = asked.hits[:most]
    question, *named = embed([asked.question.text, *(hit.title or hit.content[:80] for hit in hits)])
    return _ordered(asked, _scores(hits) + weight * scaled(np.stack(named) @ question))


def sentences(asked: Asked, embed: Callable[[Sequence[str]], Vectors], weight: float, most: int) -> Sequence[Hit]:
    """Add the cosine of the question with the best sentence of each passage."""
    hits = asked.hits[:most]
    question = embed([asked.question.text])[0]
    best = [(embed(_SENTENCE.split(hit.content)[:12]) @ question).max() for hit in hits]
    return _ordered(asked, _scores(hits) + weight * scaled(np.array(best)))


def late(asked: Asked, most: int) -> Sequence[Hit]:
    """Have late interaction order so many hits."""
    return asked.search(asked.question.text, rerank="maxsim", rerank_top=most)


def scaled(values: Scores) -> Scores:
    """Return values from 0, the least, to 1."""
    return np.asarray((values - values.min()) / (np.ptp(values) or 1.0))


def _scores(hits: Sequence[Hit]) -> Scores:
    return scaled(np.array([hit.score for hit in hits]))


def _ordered(asked: Asked, scores: Scores) -> Sequence[Hit]:
    places = np.argsort(-scores, kind="stable").tolist()
    return [*(asked.hits[place] for place in places), *asked.hits[len(places) :]]


def ideas() -> dict[str, Idea]:
    """Return the ideas by name."""
    model, known = load_embedder("all-MiniLM-L6-v2"), dict[str, Vectors]()

    def embed(texts: Sequence[str]) -> Vectors:
        if missing := [*dict.fromkeys(text for text in texts if text not in known)]:
            known.update(zip(missing, model.embed_documents(missing), strict=True))
        return np.stack([known[text] for text in texts])

    return {
        "again": again,
        "alike .1 of 20": partial(alike, embed=embed, share=0.1, most=20),
        "alike .2 of 50": partial(alike, embed=embed, share=0.2, most=50),
        "titles .1": partial(titles, embed=embed, weight=0.1, most=20),
        "sentences .1": partial(sentences, embed=embed, weight=0.1, most=20),
        "maxsim 20": partial(late, most=20),
        "maxsim 50": partial(late, most=50),
    }


def main() -> None:
    """Print, and write as Markdown, what each idea changes by collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--limit", type=int, default=100, help="questions of each collection")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    tried, rows = ideas(), list[str]()
    with tempfile.TemporaryDirectory() as temporary, Cache(arguments.keep or temporary) as cache:
        for name in arguments.names:
            asked = _asked(arguments.data, name, arguments.limit, cache)
            base = np.array([each.ndcg(each.hits) for each in asked])
            changes = [np.array([*map(Asked.ndcg, asked, map(idea, asked))]) - base for idea in tried.values()]
            cells = [f"{each.mean():+.4f} ± {each.std() / len(each) ** 0.5:.4f}" for each in changes]
            rows.append(f"| {name} ({len(asked)}) | {base.mean():.4f} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    head = f"| questions of | default | {' | '.join(tried)} |\n| --- | {'---: | ' * (len(tried) + 1)}"
    command = (
        "Made by `python -m bench ideas DATA --markdown bench/results/ideas.md`: nDCG@10, and what each idea adds."
    )
    text = "\n".join([f"# Ideas for a better default\n\n{command}\n", head.rstrip(), *rows, ""])
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, "utf-8")


def _asked(data: Path, name: str, limit: int, cache: Cache) -> list[Asked]:
    collection = read_beir(data / name, scope=SCOPES.get(name))
    index = cache.index(collection)
    found = []
    for question in collection.questions[:limit]:
        within = (
            Filter(metadata={collection.scope: question.metadata[collection.scope]}) if collection.scope else Filter()
        )
        found.append(Asked(index, question, within, [*index.search(question.text, top_k=DEPTH, filter=within)]))
    return found
