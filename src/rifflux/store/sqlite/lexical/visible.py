"""The part of the words file that some owners see, and the chunks changed since it was built."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.store.catalog import ChunkFacts, ChunkNames
from rifflux.store.lexical import FieldWeights, TermSequences
from rifflux.store.sqlite.connection.derived import Unfit
from rifflux.store.sqlite.lexical.words_file import WordsFile, fields_of
from rifflux.store.sqlite.query import (
    MOST_ROWS,
    NO_MATCHES,
    Matches,
    Terms,
    joined,
    norms,
    plain_words,
    words_of,
)
from rifflux.text.analyzer import AnyOf, NearSpelling
from rifflux.types import Clause, Ids, Scores

Array = NDArray[Any]
Mask = NDArray[np.bool_]

#: Up to this many runs of rows are cut from the postings individually.
FEW_RUNS = 8

_CHANGED = """
select chunk.id, chunk.owner, chunk.uid, chunk.document, chunk.length,
    fresh_terms.title, fresh_terms.headings, fresh_terms.body
from json_each(:chunks) as wanted cross join chunk on chunk.id = wanted.value
    left join fresh_terms on fresh_terms.chunk = chunk.id"""


@dataclass(frozen=True, slots=True)
class FreshChunk:
    """A chunk whose words are not in the file: its words by field, and their counts by term."""

    owner: int
    id: int
    document: int
    length: int
    fields: tuple[Sequence[str], Sequence[str], Sequence[str]]
    counts: Mapping[str, tuple[int, int, int]]

    @classmethod
    def of(cls, owner: int, id: int, document: int, length: int, texts: Sequence[str]) -> FreshChunk:
        """Return a chunk from the stored terms of its fields."""
        skipped = len(Terms(owner).prefix)
        title, headings, body = ([word[skipped:] for word in words_of(text) if word] for text in texts)
        counts: dict[str, list[int]] = {}
        for number, words in enumerate((title, headings, body)):
            for word in words:
                counts.setdefault(word, [0, 0, 0])[number] += 1
        found = {word: (one, two, three) for word, (one, two, three) in counts.items()}
        return cls(owner, id, document, length, (title, headings, body), found)

    def holding(self, words: Sequence[str], *, prefix: bool) -> tuple[int, int, int]:
        """Return how often each field contains a phrase, or one whose last word is a prefix."""
        if len(words) == 1 and not prefix:
            return self.counts.get(words[0], (0, 0, 0))
        whole = words[:-1] if prefix else words
        if not all(word in self.counts for word in whole):
            return 0, 0, 0
        one, two, three = (_times(each, words, prefix=prefix) for each in self.fields)
        return one, two, three


def _times(words: Sequence[str], phrase: Sequence[str], *, prefix: bool) -> int:
    """Return how often a phrase occurs in a sequence of words."""
    *whole, last = phrase
    size = len(whole)
    return sum(
        (words[place + size].startswith(last) if prefix else words[place + size] == last)
        and words[place : place + size] == whole
        for place in range(len(words) - size)
    )


@dataclass(frozen=True, slots=True)
class FreshChunks:
    """The chunks changed since a words file was built, up to an entry of the log; None for removed ones.

    `version` is the entry up to which the last of them were read: threads that follow at once may read different ones.
    """

    seen: int
    version: int = 0
    chunks: Mapping[int, FreshChunk | None] = field(default_factory=dict)

    def followed(self, connection: apsw.Connection, changed: Sequence[int], latest: int) -> FreshChunks:
        """Return the changed chunks after further changes. Raises `Unfit` if the words of one are unknown."""
        if not changed:
            return FreshChunks(latest, self.version, self.chunks)
        chunks: dict[int, FreshChunk | None] = {**self.chunks, **dict.fromkeys(changed)}
        rows: list[Any] = connection.execute(_CHANGED, {"chunks": json.dumps(changed)}).fetchall()
        for chunk, owner, id, document, length, *texts in rows:
            if texts[0] is None:
                raise Unfit("the words of a chunk that changed are not kept")
            chunks[chunk] = FreshChunk.of(owner, id, document, length, texts)
        return FreshChunks(latest, latest, chunks)


class MatchCache:
    """A cache of the rows of terms and phrases for all threads, up to `MOST_ROWS` rows."""

    def __init__(self) -> None:
        self._found: dict[tuple[Clause, bool], Matches] = {}
        self._rows = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[Clause, bool]) -> Matches | None:
        """Return the cached rows of a term or phrase, or None."""
        return self._found.get(key)

    def put(self, key: tuple[Clause, bool], matches: Matches) -> Matches:
        """Cache the rows of a term or phrase, and return them; drop all others if they are too many."""
        with self._lock:
            if self._rows > MOST_ROWS:
                self._found = {}
                self._rows = 0
            self._found[key] = matches
            self._rows += len(matches.rows)
        return matches


@dataclass(frozen=True)
class VisibleWords:
    """The rows that some owners see: runs of the file's rows, one after another, then the changed chunks.

    `runs` are the file's rows, `hidden` those of them that no longer count.
    """

    file: WordsFile
    runs: Sequence[slice]
    hidden: Ids
    fresh: Sequence[FreshChunk]
    _known: MatchCache = field(default_factory=MatchCache)
    _norms: dict[FieldWeights, Scores] = field(default_factory=dict)

    @classmethod
    def of(cls, file: WordsFile, fresh: FreshChunks, owners: Sequence[int]) -> VisibleWords:
        """Return what owners see of a file and of changed chunks."""
        runs: list[slice] = []
        for run in sorted((file.of(owner) for owner in owners), key=lambda each: each.start):
            if run.start == run.stop:
                continue
            if runs and runs[-1].stop == run.start:
                runs[-1] = slice(runs[-1].start, run.stop)
            else:
                runs.append(run)
        new = [each for each in fresh.chunks.values() if each and each.owner in owners]
        changed = file.rows_of_chunks(np.array([*fresh.chunks], np.int64))
        found = cls(file, runs, np.empty(0, np.int64), new)
        hidden = found._seen(changed[changed >= 0])
        return cls(file, runs, np.sort(hidden[hidden >= 0]), new)

    @property
    def nbytes(self) -> int:
        """Return its approximate memory."""
        return 32 * len(self.ids) if len(self.runs) > 1 or self.fresh else 8 * len(self.ids)

    @cached_property
    def _base(self) -> int:
        return sum(each.stop - each.start for each in self.runs)

    @cached_property
    def _sees_all(self) -> bool:
        """Return True if the rows here are those of the file."""
        return self._base == len(self.file) and not len(self.hidden) and not self.fresh

    @cached_property
    def _is_hidden(self) -> Mask | None:
        if not len(self.hidden):
            return None
        mask = np.zeros(self._base, np.bool_)
        mask[self.hidden] = True
        return mask

    @cached_property
    def _places(self) -> Array:
        """Return for each row of the file its row here, or -1 for an invisible one."""
        places = np.full(len(self.file), -1, np.int32)
        begun = 0
        for run in self.runs:
            size = run.stop - run.start
            places[run] = np.arange(begun, begun + size)
            begun += size
        return places

    def _column(self, stored: Array, fresh: Sequence[int]) -> Array:
        """Return a column of the file for the rows here, followed by that of the changed chunks."""
        parts = [stored[run] for run in self.runs]
        if fresh:
            parts.append(np.array(fresh, stored.dtype))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else stored[:0]

    @cached_property
    def ids(self) -> Ids:
        """Return the public id of each row."""
        return self._column(self.file.ids, [each.id for each in self.fresh])

    @cached_property
    def documents(self) -> Ids:
        """Return the document of each row."""
        return self._column(self.file.documents, [each.document for each in self.fresh])

    @cached_property
    def _lengths(self) -> Array:
        return self._column(self.file.lengths, [each.length for each in self.fresh])

    @property
    def chunks(self) -> int:
        """Return the number of chunks."""
        return len(self.ids) - len(self.hidden)

    @cached_property
    def _total_length(self) -> int:
        return int(self._lengths.sum(dtype=np.int64)) - int(self._lengths[self.hidden].sum(dtype=np.int64))

    def norms(self, weights: FieldWeights) -> Scores:
        """Return for each row what BM25 adds for its length."""
        known = self._norms.get(weights)
        if known is None:
            known = self._norms[weights] = norms(weights, self._lengths, self._total_length, self.chunks)
        return known

    def rows_of_ids(self, ids: Ids) -> Ids:
        """Return the row of each public id, or -1 for an invisible one."""
        rows = self.file.rows_of_ids(ids)
        if self._sees_all:
            return rows
        rows = np.where(rows >= 0, self._seen(rows), -1)
        if self._is_hidden is not None:
            rows = np.where((rows >= 0) & self._is_hidden[rows], -1, rows)
        if self.fresh:
            behind = {each.id: self._base + place for place, each in enumerate(self.fresh)}
            rows = np.array([behind.get(id, row) for id, row in zip(ids.tolist(), rows.tolist(), strict=True)])
        return rows.astype(np.int64)

    def _seen(self, rows: Array) -> Array:
        """Return the rows here of rows of the file, or -1 for invisible ones."""
        if len(self.runs) == 1:
            (run,) = self.runs
            return np.where((rows >= run.start) & (rows < run.stop), rows - run.start, -1)
        if not len(self.file):
            return rows
        return self._places[rows]

    def sequences(self, ids: Ids) -> TermSequences | None:
        """Return the terms of chunks in order; None if some of them are invisible, or not in the file."""
        rows = self.rows_of_ids(ids)
        if len(rows) and not 0 <= rows.min() <= rows.max() < self._base:
            return None
        return self.file.term_sequences(self._stored(rows))

    def names(self, ids: Ids) -> ChunkNames | None:
        """Return the names of chunks; None if some of them are invisible, or not in the file."""
        rows = self.rows_of_ids(ids)
        if not len(rows) or not 0 <= rows.min() <= rows.max() < self._base:
            return None
        rows = self._stored(rows)
        return self.file.names.of_chunks(rows, partial(self.file.titled, rows))

    def facts(self, ids: Ids) -> dict[int, ChunkFacts]:
        """Return the names and facts of those chunks that are visible and in the file."""
        rows = self.rows_of_ids(ids)
        held = np.flatnonzero((rows >= 0) & (rows < self._base))
        every = map(self.file.names.facts, self._stored(rows[held]).tolist())
        return {id: facts for id, facts in zip(ids[held].tolist(), every, strict=True) if facts}

    def matches(self, clause: Clause, *, prefix: bool = False) -> Matches:
        """Return the rows that contain a phrase of adjacent terms, or a term with a prefix."""
        key = clause, prefix
        known = self._known.get(key)
        if known is None:
            known = self._known.put(key, self._matches(plain_words(clause), prefix=prefix))
        return known

    def _matches(self, words: Sequence[str], *, prefix: bool) -> Matches:
        if not words:
            return NO_MATCHES
        if len(words) > 1:
            found = self._of_phrase(words, prefix=prefix)
        elif prefix:
            found = self._begun(words[0])
        else:
            number = self.file.number(words[0])
            found = NO_MATCHES if number is None else self._of_term(number)
        if not self.fresh:
            return found
        fresh = np.array([each.holding(words, prefix=prefix) for each in self.fresh], np.int64)
        held = np.flatnonzero(fresh.sum(axis=1))
        if not len(held):
            return found
        fresh = fresh[held]
        more = Matches(held + self._base, fresh.sum(axis=1), fresh[:, 0], fresh[:, 1])
        return joined([found, more])

    def _of_term(self, number: int) -> Matches:
        """Return the rows of the file that contain a term."""
        postings = self.file.postings(number)
        if len(self.runs) > FEW_RUNS:
            return self._visible(postings)
        stored = self.file.rows[postings]
        parts = []
        begun = 0
        for run in self.runs:
            first, last = np.searchsorted(stored, [run.start, run.stop]).tolist()
            cut = slice(postings.start + first, postings.start + last)
            rows = stored[first:last]
            if run.start != begun:
                rows = rows - (run.start - begun)
            parts.append(Matches(rows, self.file.counts[cut], self.file.titles[cut], self.file.headings[cut]))
            begun += run.stop - run.start
        return self._without_hidden(joined(parts))

    def _visible(self, postings: slice) -> Matches:
        """Return the postings whose rows are visible, in order."""
        rows = self._seen(self.file.rows[postings])
        file = self.file
        every = Matches(rows, file.counts[postings], file.titles[postings], file.headings[postings])
        return self._without_hidden(every.at(rows >= 0))

    def _without_hidden(self, found: Matches) -> Matches:
        if self._is_hidden is None or not len(found.rows):
            return found
        return found.at(~self._is_hidden[found.rows])

    def _begun(self, start: str) -> Matches:
        """Return the rows of the file with words that have a prefix."""
        numbers = self.file.beginning(start)
        postings = slice(int(self.file.starts[numbers.start]), int(self.file.starts[numbers.stop]))
        found = self._visible(postings)
        rows, places = np.unique(found.rows, return_inverse=True)
        columns = (found.counts, found.titles, found.headings)
        return Matches(rows, *(np.bincount(places, each, len(rows)).astype(np.int64) for each in columns))

    def _of_phrase(self, words: Sequence[str], *, prefix: bool) -> Matches:
        """Return the rows of the file that contain adjacent words, the last of which may be a prefix."""
        *whole, last = words
        known = [self.file.number(word) for word in ([*whole] if prefix else words)]
        numbers = [[number] for number in known if number is not None]
        if len(numbers) < len(known):
            return NO_MATCHES
        if prefix:
            begun = self.file.beginning(last)
            numbers.append([*range(begun.start, begun.stop)])
        rows: Array | None = None
        for each in sorted(numbers, key=len):
            held = _union([self._of_term(number).rows for number in each])
            rows = held if rows is None else np.intersect1d(rows, held, assume_unique=True)
        assert rows is not None, "a phrase has words"
        stored = self._stored(rows)
        found: Array | None = None
        for place, each in enumerate(numbers):
            occurrences = _union([self._occurrences(number, stored) for number in each]) - place
            found = occurrences if found is None else np.intersect1d(found, occurrences, assume_unique=True)
        assert found is not None, "a phrase has words"
        phrase_rows, fields = fields_of(found)
        holding, places = np.unique(phrase_rows, return_inverse=True)
        counts, titles, headings = (
            np.bincount(places, mask, len(holding)).astype(np.int64)
            for mask in (np.ones(len(places)), fields == 0, fields == 1)
        )
        return Matches(self._seen(holding), counts, titles, headings)

    def _occurrences(self, number: int, stored: Ids) -> Array:
        """Return the occurrences of a term in some rows of the file."""
        held = np.isin(stored, self.file.rows[self.file.postings(number)])
        return self.file.occurrences(number, stored[held])

    def _stored(self, rows: Array) -> Ids:
        """Return the rows of the file for rows here."""
        stored = rows.astype(np.int64)
        if self._sees_all:
            return stored
        begun = 0
        for run in self.runs:
            here = (rows >= begun) & (rows < begun + run.stop - run.start)
            stored[here] = rows[here] - begun + run.start
            begun += run.stop - run.start
        return stored

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> dict[str, int]:
        """Return the chunk counts of terms as `Lexical.vocabulary` does, without terms of invisible chunks."""
        counts = {}
        if isinstance(like, NearSpelling):
            among = self.file.near(start, shortest, longest, like)
        elif isinstance(like, AnyOf):
            among = self.file.any_of(start, shortest, longest, like)
        else:
            among = self.file.terms(start, shortest, longest)
        sees_all = self._is_hidden is None and self._base == len(self.file)
        for term, number in among:
            if like is not None and not like(term):
                continue
            if sees_all:
                count = int(self.file.starts[number + 1] - self.file.starts[number])
            else:
                count = len(self._of_term(number).rows)
            if count:
                counts[term] = count
        for term in self._fresh_terms(start):
            if shortest <= len(term) <= longest and (like is None or like(term)):
                counts[term] = counts.get(term, 0) + 1
        return counts

    def _fresh_terms(self, start: str) -> Iterator[str]:
        """Yield the terms with a prefix of each changed chunk."""
        for each in self.fresh:
            for term in each.counts:
                if term.startswith(start):
                    yield term


def _union(arrays: Sequence[Array]) -> Array:
    """Return the ascending union of disjoint ascending arrays."""
    if len(arrays) == 1:
        return arrays[0]
    return np.unique(np.concatenate(arrays)) if arrays else np.empty(0, np.int64)
