"""The names of documents and passages as columns of the words file.

A name is a sequence of pieces: its words and numbers (`text.analyzer.PIECES`), and what stands between them unless that
is a blank. Each piece and each name is stored once. So a search compares the names of its candidates as whole numbers,
and analyzes a word when it first meets it in any name. What the columns do not have is read from the database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rifflux.store.catalog import ChunkFacts, ChunkNames, NameTable
from rifflux.text.analyzer import PIECES, Memo
from rifflux.types import Identifier, Ids

Array = NDArray[Any]

#: The columns of documents that hold numbers of names, and those that hold numbers of lists of names.
NAMES = ("title", "key", "namespace", "kind", "language")
LISTS = ("aliases", "identifiers")
#: Marks of the first words of title and key (see `text.analyzer.first_mark`), and whether the key is a path.
MARKS = ("title_mark", "key_mark")
#: The last is 1 for a document whose rows are damaged: its names are not here.
COLUMNS = (*NAMES, *LISTS, *MARKS, "by_path", "damaged")
#: The columns that a search compares, and the places of some.
_COMPARED = ("title", "key", "kind", "language", "by_path", *MARKS, "aliases", "damaged")
_FIRST_MARK = 5
_ALIASES = 7
_DAMAGED = 8
#: Sequences: pieces of bytes, names of pieces, lists of names; each with the places where they begin.
SEQUENCES = ("pieces", "names", "lists")


def pieces_of(name: str) -> Iterator[str]:
    """Yield the pieces of a name, of which `joined` makes it again."""
    end = 0
    for match in PIECES.finditer(name):
        between = name[end : match.start()]
        if (between != " ") if end else between:
            yield between
        yield match[0]
        end = match.end()
    if end < len(name):
        yield name[end:]


def joined(pieces: Sequence[str]) -> str:
    """Return the name of some pieces: a blank stands between two words that nothing else parts."""
    parts: list[str] = []
    follows_word = False
    for piece in pieces:
        is_word = piece[:1].isalnum()
        if is_word and follows_word:
            parts.append(" ")
        parts.append(piece)
        follows_word = is_word
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Sequences:
    """Sequences of numbers, one after another; the last of `starts` is where the last ends."""

    values: Array
    starts: Array

    def __getitem__(self, number: int) -> Array:
        start, end = self.starts[number : number + 2].tolist()
        return self.values[start:end]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def gathered(self, numbers: Ids) -> tuple[Ids, Ids]:
        """Return the values of some sequences, one after another, and the length of each."""
        starts = self.starts[numbers].astype(np.int64)
        lengths = self.starts[numbers + 1].astype(np.int64) - starts
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        return self.values[places].astype(np.int64), lengths


@dataclass(eq=False)
class NamesFile(NameTable):
    """The names in a mapped file: bytes of pieces, pieces of names, names of lists.

    Document `documents[d]` has `columns[…][d]`, and the chunk of row `r`, which is of the document at `places[r]`, the
    list of headings `heads[r]`. Name 0 and list 0 are empty.
    """

    spelled: Sequences
    names: Sequences
    lists: Sequences
    documents: Ids
    places: Array
    heads: Array
    columns: Mapping[str, Array]
    derived: dict[Hashable, Any] = field(default_factory=dict)
    text: Callable[[int], str] = field(init=False)

    @classmethod
    def of(cls, sections: Mapping[str, Array]) -> NamesFile:
        """Return the names in the sections of a file."""
        pieces, names, lists = (Sequences(sections[name], sections[f"{name}_starts"]) for name in SEQUENCES)
        documents, *columns = (sections["named"][name] for name in sections["named"].dtype.names or ())
        columns_by_name = dict(zip(COLUMNS, columns, strict=True))
        rows = sections["document_places"], sections["heads"]
        return cls(pieces, names, lists, np.ascontiguousarray(documents), *rows, columns_by_name)

    def __post_init__(self) -> None:
        self.text = Memo(self._text).__getitem__

    @property
    def pieces(self) -> int:
        return len(self.spelled)

    @cached_property
    def compared(self) -> Array:
        """Return the columns that a search compares, as one array."""
        return np.stack([self.columns[name].astype(np.int32) for name in _COMPARED], axis=1)

    @cached_property
    def lettered(self) -> Array:
        starts = self.spelled.starts
        held = starts[1:] > starts[:-1]
        found = np.zeros(len(held), np.bool_)
        # Others than ASCII's may be letters.
        found[held] = self.spelled.values[starts[:-1][held]] >= ord("A")
        return found

    def spellings(self, pieces: Sequence[int]) -> list[str]:
        numbers = np.array(pieces, np.int64)
        bounds = zip(self.spelled.starts[numbers].tolist(), self.spelled.starts[numbers + 1].tolist(), strict=True)
        data = self.spelled.values.data
        return [str(data[start:end], "utf-8", "surrogatepass") for start, end in bounds]

    def _text(self, name: int) -> str:
        return joined(self.spellings(self.names[name].tolist()))

    def gathered(self, names: Ids) -> tuple[Ids, Ids]:
        return self.names.gathered(names)

    def _listed(self, number: int) -> tuple[str, ...]:
        return tuple(map(self.text, self.lists[number].tolist()))

    def facts(self, row: int) -> ChunkFacts | None:
        """Return the names and facts of the chunk in a row, or None if its document is damaged."""
        place = int(self.places[row])
        if self.columns["damaged"][place]:
            return None
        title, key, namespace, kind, language = (self.text(int(self.columns[name][place])) for name in NAMES)
        aliases, identifiers = (self._listed(int(self.columns[name][place])) for name in LISTS)
        return ChunkFacts(
            title=title,
            headings=self._listed(int(self.heads[row])),
            aliases=aliases,
            key=key,
            is_path=bool(self.columns["by_path"][place]),
            namespace=namespace,
            language=language,
            kind=kind,
            identifiers=tuple(map(Identifier, identifiers[::2], identifiers[1::2])),
        )

    def of_chunks(self, rows: Ids, titled: Callable[[Collection[str]], Collection[int]]) -> ChunkNames | None:
        """Return the names of the chunks in some rows, or None if a document of theirs is damaged."""
        found = self.compared[self.places[rows]]
        if found[:, _DAMAGED].any():
            return None
        headings = np.full(len(rows), -1, np.int64)
        heads = self.heads[rows]
        if heads.any():
            held = heads > 0
            ends = self.lists.starts[heads[held] + np.int64(1)].astype(np.int64)
            headings[held] = self.lists.values[ends - 1]
        aliased = np.flatnonzero(found[:, _ALIASES]).tolist()
        return ChunkNames(
            table=self,
            titles=found[:, 0],
            keys=found[:, 1],
            kinds=found[:, 2],
            headings=headings,
            aliases={place: self.lists[int(found[place, _ALIASES])].tolist() for place in aliased},
            marks=found[:, _FIRST_MARK : _ALIASES + 1],
            in_language=bool(found[:, 3].any()),
            by_path=bool(found[:, 4].any()),
            titled=titled,
        )
