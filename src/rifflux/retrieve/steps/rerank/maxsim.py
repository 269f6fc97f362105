"""Late interaction: each token of the query is matched with its most similar token of a passage."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rifflux.errors import InvalidArgument
from rifflux.retrieve.fuse.base import Weights
from rifflux.retrieve.pipeline import Plan, StepSkipped
from rifflux.retrieve.query.reading import Words
from rifflux.retrieve.steps.rerank.features import WEIGHTS, Features, spread
from rifflux.retrieve.steps.rerank.stage import DEADLINES_MS, Rerank, Resources, Scored
from rifflux.retrieve.table import Candidates
from rifflux.types import Hit, Scores, Vectors


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that also returns the vectors of single tokens."""

    @property
    def fingerprint(self) -> str:
        """Return a value that differs between models whose vectors differ."""
        ...

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the unit vectors of each text's tokens, (tokens, dimension) each."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of the text."""
        ...


@dataclass(frozen=True)
class MaxSim:
    """The components of `features`, with min-max scaled MaxSim as an additional one.

    MaxSim is the mean, over the query's tokens, of the greatest cosine with any token of the passage: Khattab and
    Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over BERT", SIGIR
    2020. Here the tokens are those of the index's own embedder, which was not trained for it. Therefore tokens are
    weighted by the idf of their word, and MaxSim has only the share `weight` of the score; the others share the rest by
    `weights`.

    Vectors of whole passages would take half a second. Of each passage, only the `window` words with most of the
    query's terms are read, after the first `title_words` of its title. Vectors of the last `remembered` texts are
    cached at half precision, and used at that precision from the start, so that the cache changes no score.
    """

    resources: Resources
    weight: float = 0.05
    weights: Weights = WEIGHTS
    window: int = 6
    title_words: int = 3
    remembered: int = 1024
    name: str = "maxsim"
    _memory: _Memory = field(default_factory=lambda: _Memory(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise InvalidArgument(f"the weight of maxsim must be from 0 to 1, not {self.weight}")
        if self.window < 1 or self.title_words < 0 or self.remembered < 0:
            raise InvalidArgument("maxsim needs a window of at least 1 word, and no negative numbers")

    def __call__(self, plan: Plan, table: Candidates) -> Scored:
        """Score the candidates; the parts are the addends of each score."""
        plain = Features(self.resources, self.weights)(plan, table)
        near = self.weight * spread(self.likeness(plan, table))
        rest = 1 - self.weight
        parts = {name: rest * part for name, part in plain.parts.items()} | {"maxsim": near}
        return Scored(rest * plain.scores + near, parts)

    def likeness(self, plan: Plan, table: Candidates) -> Scores:
        """Return the mean cosine of the query's tokens with the most similar token of each candidate."""
        embedder = self.resources.embedder()
        if not isinstance(embedder, TokenEmbedder):
            reason = "the embedder gives vectors of texts only, not of their tokens"
            raise StepSkipped(f"{self.name} was left out: {reason}")
        query = plan.query
        text = query.semantic_text or query.text
        idf = self.resources.idf(plan)
        asked, *passages = self._vectors(embedder, [text, *self._texts(table.passages, idf)])
        words = query.words or Words(self.resources.analyzer)
        return max_sim(asked, token_weights(embedder, text, words, idf, len(asked)), passages)

    def _texts(self, hits: Sequence[Hit], idf: Mapping[str, float]) -> list[str]:
        """Return the part of each hit to read: the start of its title, and the window with most query terms."""
        window = Windows(idf, self.resources.analyzer.terms, self.window)
        titles = (" ".join((hit.title or hit.heading_path).split()[: self.title_words]) for hit in hits)
        return [
            f"{title}. {window(hit.text)}" if title else window(hit.text)
            for title, hit in zip(titles, hits, strict=True)
        ]

    def _vectors(self, embedder: TokenEmbedder, texts: Sequence[str]) -> list[Vectors]:
        """Return the token vectors of the texts, cached where possible."""
        model = embedder.fingerprint
        known = self._memory.known(model, texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known |= {
                text: each.astype(np.float16) for text, each in zip(new, embedder.token_vectors(new), strict=True)
            }
        self._memory.keep(model, known, self.remembered)
        return [known[text].astype(np.float32) for text in texts]


def token_weights(
    embedder: TokenEmbedder, text: str, terms: Mapping[str, tuple[str, ...]], idf: Mapping[str, float], tokens: int
) -> Scores:
    """Return the weight of each token of a query: the idf of its word, or equal weights when in doubt."""
    words = text.split()
    rarest = [max((idf[term] for term in terms[word] if term in idf), default=0.0) for word in words]
    weights = np.repeat(rarest, [embedder.count_tokens(word) for word in words])[:tokens]
    # Stop words alone have no weight, and not every tokenizer works word by word.
    if len(weights) == tokens and weights.any():
        return weights
    return np.ones(tokens)


def max_sim(question: Vectors, weights: Scores, passages: Sequence[Vectors]) -> Scores:
    """Return the weighted mean, over the rows of `question`, of the greatest dot product with a row of each passage.

    Zero for a passage or a query without rows.
    """
    found = np.zeros(len(passages))
    total = weights.sum()
    lengths = np.array([len(rows) for rows in passages], np.intp)
    if total and lengths.any():
        # Without BLAS: for so little work its threads cost more than they save, and they may change the last bits.
        cosines = np.einsum("qd,td->qt", question, np.concatenate(passages))
        filled = lengths > 0
        starts = (np.cumsum(lengths) - lengths)[filled]
        found[filled] = weights @ np.maximum.reduceat(cosines, starts, axis=1) / total
    return found


class _Memory:
    """An LRU cache of the vectors that a model made of texts. Safe to share between threads."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[tuple[str, str], NDArray[np.float16]] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, model: str, texts: Sequence[str]) -> dict[str, NDArray[np.float16]]:
        """Return the cached texts with their vectors."""
        with self._lock:
            return {text: self._vectors[model, text] for text in texts if (model, text) in self._vectors}

    def keep(self, model: str, vectors: Mapping[str, NDArray[np.float16]], most: int) -> None:
        """Cache vectors as the last used, and evict the oldest beyond `most`."""
        with self._lock:
            for text, each in vectors.items():
                self._vectors[model, text] = each
                self._vectors.move_to_end((model, text))
            while len(self._vectors) > most:
                self._vectors.popitem(last=False)


def reranker(resources: Resources) -> Rerank:
    """Return the step with the weights of the profile."""
    return Rerank(MaxSim(resources, weights=WEIGHTS.but(**resources.features)), deadline_ms=DEADLINES_MS["maxsim"])


_EAST_ASIAN = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
#: A word, or a limited number of characters: a single character in scripts without spaces, a part of a very long word.
_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\s{_EAST_ASIAN}]{{1,20}}")


@dataclass(frozen=True)
class Windows:
    """Finds the `size` adjacent words of a text whose distinct terms have the greatest weight.

    `weights` are those of the query's terms; `analyze` returns the terms of a word. The matches are centred in the
    window; of equal windows the first is returned, or the beginning of the text if no word has a weight.
    """

    weights: Mapping[str, float]
    analyze: Callable[[str], Iterable[str]]
    size: int
    _terms: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, text: str) -> str:
        """Return the best window of a text, or all of a text that is no longer."""
        words = list(_WORD.finditer(text))
        if len(words) <= self.size:
            return text.strip()
        found = [word[0] for word in words]
        terms = {word: held for word in dict.fromkeys(found) if (held := self._of(word))}
        start = self._start([(place, terms[word]) for place, word in enumerate(found) if word in terms])
        start = min(start, len(words) - self.size)
        return text[words[start].start() : words[start + self.size - 1].end()]

    def _of(self, word: str) -> frozenset[str]:
        """Return the query's terms in a word, cached because words repeat."""
        if word not in self._terms:
            self._terms[word] = frozenset(self.analyze(word)) & self.weights.keys()
        return self._terms[word]

    def _start(self, found: list[tuple[int, frozenset[str]]]) -> int:
        """Return the start of the best window, given the positions of the words with a weight."""
        best = 0.0
        start = 0
        for first, (place, _) in enumerate(found):
            inside = [each for each in found[first:] if each[0] < place + self.size]
            held = frozenset().union(*(terms for _, terms in inside))
            value = sum(weight for term, weight in self.weights.items() if term in held)
            if value > best:
                slack = self.size - (inside[-1][0] - place + 1)
                best = value
                start = max(0, place - slack // 2)
        return start
