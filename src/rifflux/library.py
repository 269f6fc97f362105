"""The works of an index: importing, looking up, and what to do about likely duplicates."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rifflux.errors import InvalidArgument, NotFound
from rifflux.retrieve.works.licences import is_withheld, shown, shown_document
from rifflux.store.base import Store
from rifflux.types import Failure, Hit, Progress, Ranking
from rifflux.works import Work, parse_identifier, work_of
from rifflux.works.report import Doubt, WorksReport

if TYPE_CHECKING:
    from rifflux.ingest.prepare import Preparer
    from rifflux.ingest.works.base import Entry
    from rifflux.ingest.works.bring import Tally
    from rifflux.ingest.works.doubts import Doubts

__all__ = ["Library", "Shelved"]

#: The name of the source of works that a program gives.
PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class Shelved:
    """A work of the index, with the collection and key of its document, and what it is linked to, by first chunks."""

    collection: str
    key: str
    work: Work
    cites: tuple[Hit, ...] = ()
    cited_by: tuple[Hit, ...] = ()


class Library:
    """The works of an index. `preparer` makes what prepares documents, `embed` gives vectors to those without one."""

    def __init__(self, store: Store, preparer: Callable[[], Preparer], embed: Callable[[Progress | None], int]) -> None:
        self._store = store
        self._preparer = preparer
        self._embed = embed

    def add(
        self, *works: Work, source: str = PROGRAM, embed: bool = True, progress: Progress | None = None
    ) -> WorksReport:
        """Add works, or bring those that are there up to date.

        A work is known by its first identifier, or by its title. `source` is the name of the list they come from.
        """
        from rifflux.ingest.works.base import Entry

        entries = [Entry(f"work {number}", _key(work), work) for number, work in enumerate(works, start=1)]
        return self._run(lambda tally: self._bring(tally, source, entries), embed=embed, progress=progress)

    def import_files(
        self,
        *paths: str | Path,
        source: str | None = None,
        format: str | None = None,
        licence: str | None = None,
        embed: bool = True,
        progress: Progress | None = None,
    ) -> WorksReport:
        """Import the works of files, or of all files of folders that an importer knows by their suffix.

        `source` names the list that a file is (else it is called after itself), `format` says what it is in, and
        `licence` is that of works whose source tells none: without one, only title and identifiers of a work are ever
        told. What cannot be read is in the report with its place, and the rest goes on. Raises `NotFound` for a path
        that does not exist, before anything is read.
        """
        from rifflux.ingest.works import FORMATS

        if format is not None and format not in FORMATS:
            raise InvalidArgument(f"no format {format!r}: choose one of {', '.join(FORMATS)}")
        found = [file for path in paths for file in _files(Path(path).expanduser())]
        if source is not None and len(found) > 1:
            raise InvalidArgument(f"source {source!r} can name one file, not {len(found)}: import them one by one")
        run = partial(self._files, found, source, format, licence, progress)
        return self._run(run, embed=embed, progress=progress)

    def _files(
        self,
        paths: list[Path],
        wanted: str | None,
        format: str | None,
        licence: str | None,
        progress: Progress | None,
        tally: Tally,
    ) -> None:
        from rifflux.ingest.works import read_works
        from rifflux.ingest.works.base import Source
        from rifflux.ingest.works.sources import name_source

        for done, path in enumerate(paths):
            if progress:
                progress("read", done, len(paths))
            name = name_source(self._store, path, wanted)
            entries = read_works(Source(path, name, partial(name_source, self._store)), format)
            self._bring(tally, name, entries, licence)
        if progress:
            progress("read", len(paths), len(paths))

    def _bring(self, tally: Tally, source: str, entries: Iterable[Entry | Failure], licence: str | None = None) -> None:
        from rifflux.ingest.works.bring import Bring

        Bring(self._store, self._preparer(), tally, licence)(source, entries)

    def _run(self, bring: Callable[[Tally], None], *, embed: bool, progress: Progress | None) -> WorksReport:
        from rifflux.ingest.works.bring import Tally

        start = time.perf_counter()
        bring(tally := Tally())
        embedded = self._embed(progress) if embed else 0
        return WorksReport(
            added=tally.added,
            updated=tally.updated,
            merged=tally.merged,
            unchanged=tally.unchanged,
            dangling=tally.dangling,
            unlicensed=tally.unlicensed,
            chunks=tally.chunks,
            embedded_chunks=embedded,
            doubts=tuple(tally.doubts),
            failed=tuple(tally.failed),
            noted=tuple(tally.noted),
            seconds=round(time.perf_counter() - start, 3),
        )

    # Looking up

    def get(self, identifier: str) -> Shelved:
        """The work of an identifier (`doi:10.1000/182`, `2101.00001`, `cacm:CACM-0100`) or of a source's own key.

        Raises `NotFound` if no work has it, and `InvalidArgument` if several do.
        """
        collection, key = self._place(identifier)
        document = self._store.document(collection, key)
        chunks = self._store.chunks_of(collection, key)
        if document is None:
            raise NotFound(f"{identifier!r} was removed meanwhile: look it up again")
        work = work_of(shown_document(collection, document))
        if is_withheld(collection, document.licence):
            return Shelved(collection, key, work)
        ids = np.array([int(hit.chunk_id, 16) for hit in chunks[:1]], np.int64)
        cites, cited_by = ([edge.chunk for edge in self._store.linked(ids, incoming=way)] for way in (False, True))
        return Shelved(collection, key, work, self._hits(cites), self._hits(cited_by))

    def export(self, *identifiers: str, format: str = "bibtex") -> str:
        """Works as a bibliography: `bibtex`, or `csl` for CSL-JSON.

        Of works without a licence record only title and identifiers are told, and a note says so.
        """
        from rifflux.works.export import cite_keys, style_of

        written = style_of(format)
        works = [self.get(identifier).work for identifier in identifiers]
        entries = [written(work, key) for work, key in zip(works, cite_keys(works), strict=True)]
        return "\n\n".join(entries) if format == "bibtex" else json.dumps(entries, ensure_ascii=False, indent=2)

    def _hits(self, ids: list[int]) -> tuple[Hit, ...]:
        unique = list(dict.fromkeys(ids))
        return tuple(shown(self._store.hydrate(Ranking(np.array(unique, np.int64), np.zeros(len(unique))))))

    def _place(self, identifier: str) -> tuple[str, str]:
        parsed = parse_identifier(identifier)
        places = self._store.identified([str(parsed)]).get(str(parsed), []) if parsed else []
        places = places or self._store.find_documents(identifier)
        if not places:
            raise NotFound(f"no work {identifier!r}: give an identifier such as doi:…, arxiv:… or source:key")
        if len(places) > 1:
            named = ", ".join(f"{collection}/{key}" for collection, key in places[:5])
            raise InvalidArgument(f"{identifier!r} is the name of {len(places)} works: say which, one of {named}")
        return places[0]

    # Likely duplicates

    def doubts(self) -> list[Doubt]:
        """The pairs that may be one work and are two in the index: what a person should decide."""
        from rifflux.ingest.works.doubts import Doubts

        return sorted(self._open(Doubts.of(self._store)), key=lambda doubt: (doubt.one, doubt.other))

    def _open(self, doubts: Doubts) -> Iterator[Doubt]:
        places = self._store.identified([name for doubt in doubts.open.values() for name in (doubt.one, doubt.other)])
        for doubt in doubts.open.values():
            one, other = places.get(doubt.one), places.get(doubt.other)
            if one and other and one != other:
                yield doubt

    def decide(self, one: str, other: str, *, same: bool) -> None:
        """Say of two works whether they are one: then they are merged, else they are not asked about again.

        Raises `NotFound` for an unknown work.
        """
        from rifflux.ingest.works.bring import Bring, Tally
        from rifflux.ingest.works.doubts import Doubts
        from rifflux.ingest.works.matching import records_of

        places = [self._place(name) for name in (one, other)]
        doubts = Doubts.of(self._store)
        with self._store.transaction():
            doubts.close(one, other, apart=not same)
            doubts.save()
            if same and places[0] != places[1]:
                records = {name: work for place in places for name, work in records_of(self._store, place).items()}
                Bring(self._store, self._preparer(), Tally()).put(places[0], records, places)


def _key(work: Work) -> str:
    if not isinstance(work, Work):
        raise InvalidArgument(f"only Work values can be added, not {work!r}")
    if not work.title.strip():
        raise InvalidArgument("a work needs a title")
    return str(work.identifiers[0]) if work.identifiers else work.title


def _files(path: Path) -> list[Path]:
    from rifflux.ingest.works.formats import is_known

    if not path.exists():
        raise NotFound(f"nothing at {path}: check the path's spelling")
    return sorted(each for each in path.rglob("*") if each.is_file() and is_known(each)) if path.is_dir() else [path]
