"""Storing messages with their windows: a change affects the neighbouring turns, and no others."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from rifflux.conversations.model import (
    OTHERS,
    Conversation,
    ImportReport,
    Message,
    as_given,
    branch_of,
    message_row,
    retitled,
    rows_in_order,
    was_added,
)
from rifflux.ingest.chunking import Chunker, chunk_id, hash_of, identity_of, plain_blocks
from rifflux.store import AnalyzedChunk, DocumentChange, Placed, Removal, Selection, Store
from rifflux.text.analyzer import Analyzer
from rifflux.text.dates import parse_time, timestamp
from rifflux.types import Chunk, Document

#: Above this number of changed messages, they are read together with everything between them.
FEW = 32
#: A gap between turns, in seconds, that separates two talks.
GAP_S = 12 * 3600
_NEVER = float("inf")
#: Merges a given message with the stored one.
Merge = Callable[[Document, Document | None], Document]


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """Writes the messages of conversations. Every call must run inside a transaction."""

    store: Store
    turns: MessagePreparer

    def put(
        self, conversation: Conversation, messages: Sequence[Message], merge: Merge = as_given
    ) -> tuple[ImportReport, Sequence[DocumentChange]]:
        """Add messages or update existing ones, each merged by `merge`.

        Returns the outcomes, and the messages that were stored again, neighbours included.
        """
        given = {message.id: message for message in messages}
        stored = self.store.catalog.documents_at([(conversation.id, key) for key in given])
        known = {key: row for (_, key), row in stored.items()}
        fresh: dict[str, Document] = {}
        changed: list[str] = []
        for key, message in given.items():
            row = merge(message_row(message, conversation), known.get(key))
            if known.get(key) != row:
                fresh[key] = row
                changed += [key] if key in known else []
        new = len(fresh) - len(changed)
        same = len(given) - len(fresh)
        report = ImportReport(added=new, changed=len(changed), unchanged=same)
        changes: list[DocumentChange] = []
        if not known and not any(self.store.catalog.documents(Selection(conversation.id), most=1)):
            rows = sorted(fresh.values(), key=_time)
            changes = self._store(conversation.id, [self.turns(conversation.id, rows, at) for at in range(len(rows))])
        elif fresh:
            moved = [key for key in changed if known[key].created_at != fresh[key].created_at]
            changes = self._put_among(conversation.id, fresh, known, moved)
        return report, changes

    def remove(self, conversation_id: str, key: str) -> list[DocumentChange]:
        """Remove a message and rewrite its former neighbours."""
        left = self._felt(conversation_id, [key])
        self.store.catalog.write(Removal(conversation_id, [key]))
        return self._rewrite(conversation_id, [each for each in left if each != key])

    def keep(self, conversation_id: str, keys: Container[str]) -> int:
        """Remove all messages except the given ones and those that the user added; return how many were removed."""
        rows = rows_in_order(self.store, conversation_id)
        removed = [row.key for row in rows if row.key not in keys and not was_added(row)]
        for key in removed:
            self.remove(conversation_id, key)
        return len(removed)

    def retitle(self, conversation: Conversation) -> None:
        """Update all messages of a conversation to its current title and state."""
        rows = [retitled(row, conversation) for row in rows_in_order(self.store, conversation.id)]
        self._store(conversation.id, [self.turns(conversation.id, rows, at) for at in range(len(rows))])

    def _put_among(
        self, conversation_id: str, fresh: Mapping[str, Document], known: Mapping[str, Document], moved: list[str]
    ) -> list[DocumentChange]:
        """Store messages among others. A message whose date changed is removed and inserted again."""
        if moved:
            left = self._felt(conversation_id, moved)
        else:
            left = []
        self.store.catalog.write(Removal(conversation_id, moved))
        new = [row for key, row in fresh.items() if key not in known or key in moved]
        # Without chunks at first, since the store determines the positions.
        self._store(conversation_id, [DocumentChange(row, f"{conversation_id}/{row.key}", ()) for row in new])
        felt = self._felt(conversation_id, list(fresh))
        return self._rewrite(conversation_id, list(dict.fromkeys([*felt, *left])), fresh)

    def _rewrite(
        self, conversation_id: str, keys: Sequence[str], fresh: Mapping[str, Document] | None = None
    ) -> list[DocumentChange]:
        """Store messages again, from `fresh` where it has them, otherwise unchanged."""
        window = self.turns.window
        known = fresh or {}
        changes = []
        for place, stretch in self._around(conversation_id, keys, window.before, window.after):
            rows = [known.get(row.key, row) for row in stretch]
            changes.append(self.turns(conversation_id, rows, place))
        return self._store(conversation_id, changes)

    def _store(self, conversation_id: str, changes: list[DocumentChange]) -> list[DocumentChange]:
        self.store.catalog.write(*(Placed(conversation_id, change) for change in changes))
        return changes

    # Reading stored messages

    def _felt(self, conversation_id: str, keys: Sequence[str]) -> list[str]:
        """Return the messages whose window contains one of these, including these."""
        window = self.turns.window
        stretches = self._around(conversation_id, keys, window.after, window.before)
        return list(dict.fromkeys(row.key for _, stretch in stretches for row in stretch))

    def _around(
        self, conversation_id: str, keys: Sequence[str], before: int, after: int
    ) -> Iterator[tuple[int, Sequence[Document]]]:
        """Yield the turns around each message, with its position among them."""
        if len(keys) > FEW:
            whole = self._stretch(conversation_id, keys, before, after)
        else:
            whole = []
        places = {row.key: place for place, row in enumerate(whole)}
        for key in keys:
            if whole:
                first = max(places[key] - before, 0)
                place = places[key] - first
                rows = whole[first : places[key] + after + 1]
            else:
                place, rows = self._near(conversation_id, key, before, after)
            if any(branch_of(row) for row in rows):
                # The turns between may be of other branches, so the neighbours may be further away.
                place, rows = self._near(conversation_id, key, before + OTHERS, after + OTHERS)
            yield place, rows

    def _near(self, conversation_id: str, key: str, before: int, after: int) -> tuple[int, Sequence[Document]]:
        """Return the turns around a message, and its position among them."""
        rows = self.store.catalog.around([(conversation_id, key)], before, after)[conversation_id, key]
        return [row.key for row in rows].index(key), rows

    def _stretch(self, conversation_id: str, keys: Sequence[str], before: int, after: int) -> Sequence[Document]:
        """Return the turns that surround many messages: a contiguous stretch if possible, otherwise all turns."""
        near = before + after
        first = (conversation_id, keys[0])
        rows = self.store.catalog.around([first], near, len(keys) + near)[first]
        places = {row.key: place for place, row in enumerate(rows)}
        if places.keys() >= set(keys):
            origin = places[keys[0]]
            positions = [places[key] for key in keys]
            begins = origin < near
            ends = len(rows) <= origin + len(keys) + near
            if (begins or min(positions) >= before) and (ends or max(positions) + after < len(rows)):
                return rows
        return rows_in_order(self.store, conversation_id)


def _time(row: Document) -> float:
    time = timestamp(row.created_at)
    if time is None:
        return _NEVER
    return time


# What is searched and embedded for a message: its own words and those of the turns around it


_timestamp = lru_cache(maxsize=1024)(timestamp)


@dataclass(frozen=True, slots=True)
class Window:
    """The turns around a message: how many before and after it, none separated by more than `GAP_S`.

    A neighbour contributes at most `words` of its words, those nearest to the message. The embedded text has at most
    `tokens` of the embedder; the message itself has priority.
    """

    before: int = 2
    after: int = 1
    words: int = 80
    tokens: int = 250

    def around(self, rows: Sequence[Document], place: int) -> tuple[list[Document], list[Document]]:
        """Return the turns before and after the one at `place`, in order."""
        first = place - self.before - OTHERS
        last = place + self.after + OTHERS
        before = islice(self._reach(rows[place], reversed(rows[max(first, 0) : place])), self.before)
        after = islice(self._reach(rows[place], rows[place + 1 : last + 1]), self.after)
        return [*before][::-1], [*after]

    def _reach(self, row: Document, others: Iterable[Document]) -> Iterator[Document]:
        """Yield the turns that lead to or follow a message, up to a gap, skipping those of unrelated branches."""
        nearest = row
        for other in others:
            if branch_of(other) not in ("", branch_of(row)):
                continue
            here = _timestamp(nearest.created_at)
            there = _timestamp(other.created_at)
            if here is not None and there is not None and abs(there - here) > GAP_S:
                return
            nearest = other
            yield other


@dataclass(frozen=True, slots=True)
class MessagePreparer:
    """Prepares an owner's messages for the store. `count` returns the number of embedder tokens of a text."""

    analyzer: Analyzer
    chunker: Chunker
    count: Callable[[str], int]
    owner: str
    window: Window = Window()

    def __call__(self, conversation_id: str, rows: Sequence[Document], place: int) -> DocumentChange:
        """Prepare the message at `place` among the ordered messages of its conversation."""
        row = rows[place]
        before, after = self.window.around(rows, place)
        identity = identity_of(self.owner, conversation_id, row.key)
        chunks = self.chunker(row, plain_blocks(row.text), self.count, identity=identity)
        if not chunks:
            # A message without words, such as a picture, keeps its position and is found through its neighbours.
            chunks = [Chunk(chunk_id(identity, (), row.text, 0), 0, row.text, (0, len(row.text)))]
        analyzed = []
        terms = message_terms(self.analyzer, row, before, after, chunks, self.window.words)
        for chunk, (head, neighbours, body) in zip(chunks, terms, strict=True):
            embedded = self._embedded(row, chunk.text, before)
            words = hash_of("\n".join((head, neighbours, body)))
            analyzed.append(AnalyzedChunk(chunk, head, neighbours, body, hash_of(embedded), embedded, words))
        return DocumentChange(row, f"{conversation_id}/{row.key}", tuple(analyzed))

    def count_chunks(self, text: str) -> int:
        """Return the number of chunks of a message with this text."""
        return max(len(self.chunker(Document("", text), plain_blocks(text), self.count, identity="")), 1)

    def _embedded(self, row: Document, text: str, before: Sequence[Document]) -> str:
        """Return the text to embed: the message itself, and as many preceding turns as fit."""
        turns = [f"{_label(row)}: {text}"]
        room = self.window.tokens - self.count(turns[0])
        for each in reversed(before):
            turn = f"{_label(each)}: {each.text}"
            size = self.count(turn)
            if size > room:
                turn = _last_words(turn, room / size)
            if room <= 0 or not turn:
                break
            turns.append(turn)
            room -= size
        return "\n".join(reversed(turns))


def message_terms(
    analyzer: Analyzer,
    row: Document,
    before: Sequence[Document],
    after: Sequence[Document],
    chunks: Sequence[Chunk],
    most: int,
) -> Iterator[tuple[str, str, str]]:
    """Yield the terms of each chunk of a message: of its title, speaker and date, of its neighbours, and its own.

    The turns before it lend at most so many of their last words to all chunks, those after it of their first to the
    last one.
    """
    head = analyzer.joined(f"{row.title}\n{_label(row)}\n{_date(row)}")
    lent: list[str] = []
    for each in before:
        lent += _terms(analyzer, each.text)[-most:]
    for chunk in chunks:
        if chunk is chunks[-1]:
            for each in after:
                lent += _terms(analyzer, each.text)[:most]
        yield head, " ".join(lent), " ".join(_terms(analyzer, chunk.text))


@lru_cache(maxsize=64)
def _terms(analyzer: Analyzer, text: str) -> Sequence[str]:
    """Return the terms of a text; cached, since the neighbours need them next."""
    return analyzer.terms(text)


def _label(row: Document) -> str:
    return str(row.metadata["speaker"] or row.metadata["role"])


def _last_words(text: str, share: float) -> str:
    """Return roughly this share of a text's words, from its end."""
    words = text.split()
    count = int(len(words) * share)
    if count:
        return " ".join(words[-count:])
    return ""


def _date(row: Document) -> str:
    """Return the date in forms that questions use, such as `Monday 8 May 2023 2023-05-08 13:56`."""
    if timestamp(row.created_at) is None or row.created_at is None:
        return ""
    date = parse_time(row.created_at)
    return f"{date:%A} {date.day} {date:%B %Y %Y-%m-%d %H:%M}"
