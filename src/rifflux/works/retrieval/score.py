"""The score of a work: a weighted sum of six components, each in [0, 1], each shown.

`lexical`      BM25 of its best passage, lifted where the question names it to the letter, as a share of the greatest
`semantic`     cosine of its best passage with the question, as a share of the greatest
`citation`     how near it is to the best candidates in the graph of citations, as a share of the greatest
`field_match`  how nearly one of its subjects is what was asked: the share that both have of all terms of either,
               squared, so that words in common say little and a subject that is the question says all. Of subjects
               that are codes, those that the best candidates have too, for a quarter. Where subjects were asked for,
               how many of those it has
`freshness`    halved with every `half_life_years` of age; zero without a year, or one that may not be told
`authority`    log(1 + the works here that cite it), as a share of that of `most_citations`; never above 1

A work that the question names by its identifier or title has all that words, meaning and subjects can say. Of one
without a license record neither year nor citations are told, so freshness and authority say nothing of it.

Nothing is taken away for age, and what is cited ever so often gets no more than `most_citations` give: an old work that
answers stays where its words and meaning put it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from rifflux.retrieve.channels import LEXICAL, SEMANTIC
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer, analyzer
from rifflux.text.schemes import WORDED
from rifflux.types import Hit, Ids, Scores, Tag
from rifflux.works.retrieval.intent import Weights
from rifflux.works.retrieval.rescore import share

__all__ = ["SCORED", "WorkScore"]

#: The stage's name in the trail of a hit.
SCORED = "works"
#: What codes that the best candidates share count, beside words of the question itself.
CODED = 0.25


@dataclass(frozen=True)
class WorkScore:
    """Scores candidates, one hit a work, whose trails have their BM25 and cosine. `year` is this year.

    `words` are the terms that `analyzer` makes of the question. `near` is how near works are to the best candidates in
    the graph of citations, by collection and key. `named` are the works that the question names, `like` the subjects of
    one that is asked about.
    """

    store: Store
    weights: Weights
    year: int
    near: Mapping[tuple[str, str], float] = field(default_factory=dict)
    subjects: Sequence[str] = ()
    named: Collection[tuple[str, str]] = ()
    like: Sequence[Tag] = ()
    words: frozenset[str] = frozenset()
    analyzer: Analyzer = field(default_factory=analyzer)
    leaders: int = 10
    half_life_years: float = 10.0
    most_citations: int = 100

    def __call__(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits in the order of their scores, each with what its score is made of; ties by chunk id.

        In the trail, each component stands with its share of the score; `values` are the components before weighing.
        """
        if not hits:
            return []
        ids = np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))
        components = self.components(hits, ids)
        shares = self.weights.shares()
        scores = np.sum([weight * components[name] for name, weight in shares.items()], axis=0)
        order = np.lexsort((ids, -np.round(scores, 12)))
        ranked = []
        for rank, place in enumerate(order.tolist(), 1):
            values = {name: float(component[place]) for name, component in components.items()}
            parts = {name: weight * values[name] for name, weight in shares.items()}
            ranked.append(hits[place].moved(SCORED, float(scores[place]), rank=rank, **parts, values=values))
        return ranked

    def components(self, hits: Sequence[Hit], ids: Ids) -> dict[str, Scores]:
        """The six components of each hit, in [0, 1]."""
        places = [hit.place for hit in hits]
        named = np.array([place in self.named for place in places])
        told = np.array([not hit.withheld for hit in hits])
        return {
            "lexical": np.maximum(self._lexical(hits), named),
            "semantic": np.maximum(share(np.array([_score(hit, SEMANTIC) for hit in hits])), named),
            "citation": share(np.array([self.near.get(place, 0.0) for place in places])),
            "field_match": np.maximum(self._field_match(ids), named),
            # The year in another form, and shown.
            "freshness": self._freshness(hits) * told,
            "authority": self._authority(ids) * told,
        }

    def _lexical(self, hits: Sequence[Hit]) -> Scores:
        scores = np.array([_score(hit, LEXICAL) * _lift(hit) for hit in hits])
        return share(scores)

    def _field_match(self, ids: Ids) -> Scores:
        found = self.store.catalog.tags_of(ids)
        tags = [found.get(id, ()) for id in ids.tolist()]
        if self.subjects:
            wanted = {_plain(each): 1.0 for each in self.subjects}
            return share(np.array([_overlap(each, wanted) for each in tags]))
        named = np.array(
            [max((self._likeness(tag) for tag in each if tag.scheme in WORDED), default=0.0) for each in tags]
        )
        codes = [[tag for tag in each if tag.scheme not in WORDED] for each in tags]
        return np.asarray(np.maximum(named, CODED * share(self._shared(codes))))

    def _likeness(self, tag: Tag) -> float:
        """The share that a subject and the question both have of all terms of either (Jaccard), squared."""
        terms = _terms(self.analyzer, tag.value)
        return (len(terms & self.words) / (len(terms | self.words) or 1)) ** 2

    def _shared(self, codes: Sequence[Sequence[Tag]]) -> Scores:
        """How much each candidate has of the codes of the work that is asked about, else of the best candidates."""
        wanted: dict[str, float] = defaultdict(float)
        like = [tag for tag in self.like if tag.scheme not in WORDED]
        for rank, tags in enumerate([like] if like else codes[: self.leaders], 1):
            for tag in tags:
                wanted[_plain(tag.value)] += 1.0 / (rank + 1)
        return np.array([_overlap(tags, wanted) for tags in codes])

    def _freshness(self, hits: Sequence[Hit]) -> Scores:
        years = [hit.metadata.get("year") for hit in hits]
        ages = [max(0, self.year - year) if isinstance(year, int) else np.inf for year in years]
        return np.asarray(np.exp2(-np.array(ages, np.float64) / self.half_life_years))

    def _authority(self, ids: Ids) -> Scores:
        cited = self.store.catalog.citations(ids)
        counts = np.array([cited.get(id, 0) for id in ids.tolist()], np.float64)
        return np.asarray(np.minimum(1.0, np.log1p(counts) / np.log1p(self.most_citations)))


@lru_cache(maxsize=1 << 16)
def _terms(analyzer: Analyzer, subject: str) -> frozenset[str]:
    """The terms of a subject."""
    return frozenset(analyzer.terms(subject))


def _score(hit: Hit, channel: str) -> float:
    why = hit.because(channel)
    return why.score if why and why.score is not None else 0.0


def _lift(hit: Hit) -> float:
    """By how much the question's naming of it lifted a hit."""
    why = hit.because("anchors")
    return float(np.prod([value for value in why.detail.values() if isinstance(value, float)])) if why else 1.0


def _overlap(tags: Sequence[Tag], wanted: Mapping[str, float]) -> float:
    return sum(
        wanted.get(_plain(tag.value), 0.0) or wanted.get(_plain(f"{tag.scheme}:{tag.value}"), 0.0) for tag in tags
    )


def _plain(subject: str) -> str:
    """A subject as it is compared: case says nothing."""
    return " ".join(subject.lower().split())
