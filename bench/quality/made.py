"""Questions made from documents without anybody's hand, in many forms: each asks for the document it was made of."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rifflux.evaluate import Collection, JudgedQuestion
from rifflux.models import Embedder
from rifflux.types import Vectors

__all__ = ["FORMS", "Maker", "made"]

#: A word has so many letters at least, and so many of those of a question are replaced by neighbours.
SHORTEST = 4
REPLACED = 0.4
#: Words of a sentence that is asked, keywords of a short and of a long question.
SENTENCE = (6, 30)
KEYWORDS = 3
LONG = 25
#: A form is made of at least so many documents of a collection, or not at all.
FEWEST = 10
#: Words whose neighbours are looked for: those that stand in most documents, but not in a tenth of them.
VOCABULARY = 4_000
COMMON = 0.1
#: A neighbour is as near at least. Nearer are spellings of the word itself, which begin alike.
NEAR = 0.35
BEGINNING = 4

_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n+")
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d\b")
_MONTH = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December) (?:\d{1,2}, )?\d{4}\b"
)
_NAMES = re.compile(r"(?<=[a-z,;] )(?:[A-Z][a-z]+ ){1,2}[A-Z][a-z]+\b")
_PLACE = re.compile(r"\b(?:in|at|from|near) ([A-Z][a-z]{3,})\b")
_DEFINED = re.compile(r"^(?:The |An? )?((?:[\w-]+ ){0,3}[\w-]+) (?:is|are|means?) (?:an?|the|any|defined)\b")


@dataclass(frozen=True, slots=True)
class Source:
    """A document that questions are made of: its key, title and sentences, and its words by weight, the best first."""

    key: str
    title: str
    text: str
    sentences: Sequence[str]
    keywords: Sequence[str]

    @property
    def random(self) -> random.Random:
        """Return a generator of its own, which gives the same numbers every time."""
        return random.Random(zlib.crc32(self.key.encode()))


class Maker:
    """Makes questions of one collection's documents; `embedder` gives the neighbours of words."""

    def __init__(self, corpus: Path, embedder: Embedder) -> None:
        records = [json.loads(line) for line in corpus.read_text("utf-8").split("\n") if line.strip()]
        texts = [" ".join(filter(None, (record.get("title"), record["text"]))) for record in records]
        holders = Counter(word for text in texts for word in {*_words(text)})
        self.sources = [_source(record, holders, len(records)) for record in records]
        most = COMMON * len(records)
        fit = (word for word, count in holders.most_common() if count <= most)
        self._vocabulary: list[str] = [word for word, _ in zip(fit, range(VOCABULARY), strict=False)]
        self._places = {word: place for place, word in enumerate(self._vocabulary)}
        self._vectors: Vectors = embedder.embed_documents(self._vocabulary)

    def neighbour(self, word: str) -> str | None:
        """Return the word nearest in meaning that begins otherwise; None if there is none, or the word is rare."""
        place = self._places.get(word.lower())
        if place is None:
            return None
        nearness = self._vectors @ self._vectors[place]
        for other in np.argsort(-nearness)[1:20].tolist():
            if nearness[other] < NEAR:
                return None
            found = self._vocabulary[int(other)]
            if found[:BEGINNING] != word[:BEGINNING].lower():
                return found
        return None


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if len(word) >= SHORTEST]


def _source(record: Mapping[str, str], holders: Mapping[str, int], total: int) -> Source:
    sentences = [each.strip() for each in _SENTENCE.split(record["text"])]
    counts = Counter(_words(record["text"]))
    weights = {word: (1 + np.log(count)) * np.log(total / holders[word]) for word, count in counts.items()}
    keywords = sorted(weights, key=lambda word: (-weights[word], word))
    fit = [each for each in sentences if SENTENCE[0] <= len(each.split()) <= SENTENCE[1]]
    return Source(record["_id"], " ".join((record.get("title") or "").split()), record["text"], fit, keywords)


# The forms: each returns a question, or an empty text where the document has nothing for it.


def title(source: Source, maker: Maker) -> str:
    """Ask by the whole title."""
    return source.title


def part_of_title(source: Source, maker: Maker) -> str:
    """Ask by the first two thirds of a title of at least four words, in lower case."""
    words = source.title.lower().split()
    if len(words) < 4:
        return ""
    return " ".join(words[: len(words) * 2 // 3])


def sentence(source: Source, maker: Maker) -> str:
    """Ask by a sentence, as it stands."""
    if not source.sentences:
        return ""
    return source.random.choice(source.sentences)


def shuffled(source: Source, maker: Maker) -> str:
    """Ask by half of the words of a sentence, in another order."""
    words = sentence(source, maker).lower().split()
    return " ".join(source.random.sample(words, len(words) // 2))


def neighbours(source: Source, maker: Maker) -> str:
    """Ask by a sentence of which words are replaced by neighbours in the embedding model."""
    words = sentence(source, maker).split()
    others = {word: maker.neighbour(word.strip(".,;:()")) for word in dict.fromkeys(words)}
    replaced = [word for word, other in others.items() if other]
    chosen = {*source.random.sample(replaced, round(REPLACED * len(replaced)))}
    if not chosen:
        return ""
    return " ".join(str(others[word]) if word in chosen else word for word in words)


def keywords(source: Source, maker: Maker) -> str:
    """Ask by the three words that tell the document apart."""
    return " ".join(source.keywords[:KEYWORDS])


def one_word(source: Source, maker: Maker) -> str:
    """Ask by the word that tells the document apart most."""
    return " ".join(source.keywords[:1])


def misspelt(source: Source, maker: Maker) -> str:
    """Ask by the three keywords, two neighbouring letters of the longest exchanged."""
    words = list(source.keywords[:KEYWORDS])
    if not words:
        return ""
    longest = max(words, key=len)
    place = len(longest) // 2
    wrong = longest[: place - 1] + longest[place] + longest[place - 1] + longest[place + 1 :]
    return " ".join(wrong if word == longest else word for word in words)


def question(source: Source, maker: Maker) -> str:
    """Ask a question of four keywords amid words of everyday use."""
    words = source.keywords[1:5]
    if len(words) < 4:
        return ""
    return f"how do {words[0]} and {words[1]} have to do with {words[2]} {words[3]}?"


def statement(source: Source, maker: Maker) -> str:
    """Ask by a long statement of a topic: a sentence, and twenty-five keywords of which some come twice."""
    words = source.keywords[:LONG]
    if len(words) < LONG or not source.sentences:
        return ""
    return f"I am looking for what is written of {', '.join(words)}. {sentence(source, maker)} {' '.join(words[:8])}"


def definition(source: Source, maker: Maker) -> str:
    """Ask what something is that a sentence of the document defines."""
    for each in source.sentences:
        found = _DEFINED.match(each)
        if found and len(found[1]) >= SHORTEST and found[1].lower() not in ("this", "that", "there", "these", "those"):
            return f"what is {found[1]}?"
    return ""


def year(source: Source, maker: Maker) -> str:
    """Ask by two keywords and a year that the document mentions."""
    return _amid(_YEAR.search(source.text), source)


def month(source: Source, maker: Maker) -> str:
    """Ask by two keywords and a month or day that the document mentions."""
    return _amid(_MONTH.search(source.text), source)


def person(source: Source, maker: Maker) -> str:
    """Ask by two keywords and a name of several words that the document mentions."""
    return _amid(_NAMES.search(source.text), source)


def place(source: Source, maker: Maker) -> str:
    """Ask by two keywords and a place that the document mentions."""
    return _amid(_PLACE.search(source.text), source)


def _amid(found: re.Match[str] | None, source: Source) -> str:
    if not found or len(source.keywords) < 3:
        return ""
    return f"what about {source.keywords[1]} and {source.keywords[2]}, {found[0]}"


def two_places(source: Source, maker: Maker) -> str:
    """Ask by halves of two sentences that stand apart."""
    if len(source.sentences) < 4:
        return ""
    halves = []
    for each in (source.sentences[0], source.sentences[-1]):
        words = each.split()
        halves.append(" ".join(words[len(words) // 2 :]))
    return " ".join(halves)


FORMS: Mapping[str, Callable[[Source, Maker], str]] = {
    "title": title,
    "part of the title": part_of_title,
    "sentence": sentence,
    "words of a sentence": shuffled,
    "neighbours of words": neighbours,
    "keywords": keywords,
    "one word": one_word,
    "misspelt keywords": misspelt,
    "question": question,
    "long statement": statement,
    "definition": definition,
    "year": year,
    "month": month,
    "person": person,
    "place": place,
    "two sentences": two_places,
}


def made(collection: Collection, maker: Maker, most: int) -> Iterator[tuple[str, Collection]]:
    """Yield each form with the questions of it: of at most so many documents, drawn once for all forms.

    A form of which a collection has fewer than ten questions is left out. Questions ask everything, in no scope.
    """
    drawn = random.Random(0).sample(maker.sources, len(maker.sources))
    for form, make in FORMS.items():
        questions: dict[str, JudgedQuestion] = {}
        for source in drawn:
            text = make(source, maker)
            if text.strip():
                questions.setdefault(text, JudgedQuestion(f"{form}/{source.key}", text, {source.key: 1}))
            if len(questions) == most:
                break
        if len(questions) >= min(FEWEST, most):
            yield form, Collection(collection.name, form, tuple(questions.values()), collection.corpus)
