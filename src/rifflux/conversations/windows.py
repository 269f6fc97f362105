"""A message is found through the turns around it: what its words are, and what is embedded of it.

A turn such as "Yes, in May!" answers a question that stands two turns above it. So a message lends words from its
neighbours, at less weight than its own, and its vector is that of a window: the turns before it and its own, each as
`Speaker: text`. The hit is always the message itself.

Chosen on LoCoMo (bench/quality/conversations.py): words of two turns before and one after, at half the weight of its
own, rank better than those of fewer or more; a window of two turns before is embedded best. Dates are in the words and
not in what is embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from rifflux.ingest.chunking.chunker import Chunker, chunk_id
from rifflux.ingest.prepare import identity_of
from rifflux.ingest.read.plain import plain_blocks
from rifflux.store import AnalyzedChunk, DocumentChange
from rifflux.text.analyzer import Analyzer
from rifflux.text.dates import parse_time, timestamp
from rifflux.types import Chunk, Document

__all__ = ["Turns", "Window"]

_timestamp = lru_cache(maxsize=1024)(timestamp)


@dataclass(frozen=True, slots=True)
class Window:
    """Which turns stand around a message: so many before and after it, none further than `gap_hours` from the next.

    A neighbour lends at most `words` of its words, those nearest to the message. What is embedded has at most `tokens`
    of the embedder, of which the message itself gets what it needs.
    """

    before: int = 2
    after: int = 1
    gap_hours: float = 12.0
    words: int = 80
    tokens: int = 250

    def around(self, rows: Sequence[Document], place: int) -> tuple[list[Document], list[Document]]:
        """The turns before and after the one at a place, in their order."""
        before = list(self._reach(rows, range(place, max(place - self.before, 0), -1), -1))
        after = list(self._reach(rows, range(place, min(place + self.after, len(rows) - 1)), 1))
        return before[::-1], after

    def _reach(self, rows: Sequence[Document], places: Iterable[int], step: int) -> Iterator[Document]:
        for place in places:
            if self._apart(rows[place], rows[place + step]):
                return
            yield rows[place + step]

    def _apart(self, one: Document, other: Document) -> bool:
        first, second = _timestamp(one.created_at), _timestamp(other.created_at)
        return first is not None and second is not None and abs(second - first) > self.gap_hours * 3600

    @property
    def reach(self) -> int:
        """How many turns away a change of one may be felt."""
        return self.before + self.after


@dataclass(frozen=True, slots=True)
class Turns:
    """Prepares messages of an owner for the store. `count` gives the embedder's tokens of a text."""

    analyzer: Analyzer
    chunker: Chunker
    count: Callable[[str], int]
    owner: str
    window: Window = Window()

    def __call__(self, conversation_id: str, rows: Sequence[Document], place: int) -> DocumentChange:
        """What to store for the message at a place among the messages of its conversation, in their order."""
        row = rows[place]
        before, after = self.window.around(rows, place)
        identity = identity_of(self.owner, conversation_id, row.key)
        chunks = self.chunker(row, plain_blocks(row.text), self.count, identity=identity)
        if not chunks:
            # A message without words, such as a picture, keeps its place, and is found through its neighbours.
            chunks = [Chunk(chunk_id(identity, (), row.text, 0), 0, row.text, (0, len(row.text)))]
        head = self.analyzer.joined(f"{row.title}\n{_label(row)}\n{_date(row)}")
        last = len(chunks) - 1
        analyzed = (
            self._analyzed(conversation_id, row, chunk, head, before, after if number == last else [])
            for number, chunk in enumerate(chunks)
        )
        return DocumentChange(row, f"{conversation_id}/{row.key}", tuple(analyzed))

    def _analyzed(
        self,
        conversation_id: str,
        row: Document,
        chunk: Chunk,
        head: str,
        before: Sequence[Document],
        after: Sequence[Document],
    ) -> AnalyzedChunk:
        most = self.window.words
        lent = [*(_terms(self.analyzer, each.text)[-most:] for each in before)]
        lent += [_terms(self.analyzer, each.text)[:most] for each in after]
        neighbours = " ".join(term for terms in lent for term in terms)
        body = " ".join(_terms(self.analyzer, chunk.text))
        embedded = self._embedded(row, chunk.text, before)
        return AnalyzedChunk(
            chunk, head, neighbours, body, _hash(embedded), embedded, _hash("\n".join((head, neighbours, body)))
        )

    def _embedded(self, row: Document, text: str, before: Sequence[Document]) -> str:
        """The window: the message's own turn, and of those before it what there is room for, the nearest first."""
        turns = [_said(row, text)]
        room = self.window.tokens - self.count(turns[0])
        for each in reversed(before):
            said = _said(each, each.text)
            size = self.count(said)
            if size > room:
                said = _last_words(said, room / size)
            if room <= 0 or not said:
                break
            turns.append(said)
            room -= size
        return "\n".join(reversed(turns))


@lru_cache(maxsize=64)
def _terms(analyzer: Analyzer, text: str) -> Sequence[str]:
    """The terms of a text, which its neighbours ask for next."""
    return analyzer.terms(text)


def _said(row: Document, text: str) -> str:
    return f"{_label(row)}: {text}"


def _label(row: Document) -> str:
    return str(row.metadata["speaker"] or row.metadata["role"])


def _last_words(text: str, share: float) -> str:
    """The end of a text: about this share of its words."""
    words = text.split()
    kept = int(len(words) * share)
    return " ".join(words[-kept:]) if kept else ""


def _date(row: Document) -> str:
    """The date as questions may name it: `Monday 8 May 2023 2023-05-08 13:56`."""
    if timestamp(row.created_at) is None or row.created_at is None:
        return ""
    date = parse_time(row.created_at)
    return f"{date:%A} {date.day} {date:%B %Y %Y-%m-%d %H:%M}"


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1
