"""The works of an index: import, lookup, and decisions on likely duplicates."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rifflux.errors import Cure, InvalidArgument, NotFound
from rifflux.requests import WorksFileRequest, WorksImport, WorksRequest, WorksTextRequest, takes
from rifflux.session.arguments import checked_text
from rifflux.session.intake import UNBOUNDED
from rifflux.session.reading import identified
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView
from rifflux.session.writing import Embedded, Writer
from rifflux.store import MOST_IDENTIFIED, MOST_LINKED, Removal, Selection, Store, find_documents
from rifflux.text.licenses import license_of
from rifflux.text.schemes import SCHEMES
from rifflux.types import LICENSED, UNTOLD, Failure, Filter, Hit, Ids, Progress, Ranking, parted
from rifflux.types.temporary import temporary_folder
from rifflux.works import Work, work_of
from rifflux.works.listing import WorkSummary, of_whom, summary
from rifflux.works.model import display_identifiers
from rifflux.works.report import Doubt, WorksReport

if TYPE_CHECKING:
    from rifflux.evidence.pack import EvidencePack
    from rifflux.works.importers.base import Entry

#: A source's name, and its works in order.
Batch = tuple[str, Iterable["Entry | Failure"]]
#: The source name of works added by a program.
PROGRAM = "program"
#: Valid names of sources, whose keys are displayed as `source:key`.
_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}")
_UNTOLD = "same work? the evidence for and against is withheld: no license is recorded"


@dataclass(frozen=True, slots=True)
class WorkRecord:
    """A work of the index: namespace and key of its document, and its links by their first chunks.

    `withheld` means that no license permits displaying its text. `more_links` is True if it cites, or is cited by, more
    than `MOST_LINKED` works, of which only so many are given.
    """

    namespace: str
    key: str
    work: Work
    cites: tuple[Hit, ...] = ()
    cited_by: tuple[Hit, ...] = ()
    withheld: bool = field(default=False, metadata=UNTOLD)
    collection: str = ""
    more_links: bool = False


class WorksCatalog:
    """The works of an index, over one view of it."""

    def __init__(self, view: IndexView) -> None:
        self._view = view
        self._store = view.store
        self._writer = Writer(view)

    def add(
        self, *works: Work, source: str = PROGRAM, embed: bool = True, progress: Progress | None = None
    ) -> WorksReport:
        """Add works or update existing ones.

        A work is recognized by its first identifier, or by its title. `source` is the name of the list that it comes
        from.
        """
        from rifflux.works.importers.base import Entry

        entries = [Entry(f"work {number}", _key(work), work) for number, work in enumerate(works, start=1)]
        return self._bring([(source, entries)], None, embed, progress)

    def verify(self, pack: EvidencePack) -> list[str]:
        """Return the problems of a pack compared with what the caller may read, one per line; see `rifflux.verify`."""
        from rifflux.works.export import verify

        view = self._view.reading()
        if self._view.scope:
            parts = self._view.store.views()[1:]
        else:
            parts = ()
        return verify(pack, view.store, view.visible, parts)

    def import_files(
        self,
        *paths: str | Path,
        source: str | None = None,
        format: str | None = None,
        license: str | None = None,
        embed: bool = True,
        progress: Progress | None = None,
    ) -> WorksReport:
        """Import works from files, or from all files in folders whose extension has an importer.

        `source` names the list (by default the file's name); `format` overrides the extension; `license` applies to
        works whose source states none: without a license that permits it, no text of a work is displayed. Failures are
        reported with their places while the rest continues. Raises `NotFound` for a path that does not exist, and
        `InvalidArgument` for an unknown license, before reading anything.
        """
        WorksFileRequest(source=source, format=format)
        self._check_license(license)
        found = [file for path in paths for file in _files(Path(path).expanduser())]
        if source is not None and len(found) > 1:
            raise InvalidArgument(f"source {source!r} can name one file, not {len(found)}: import them one by one")
        if source is not None:
            _check_name(source)
        return self._bring(self._read(found, source, format, progress), license, embed, progress)

    @takes(WorksTextRequest)
    def import_text(self, text: str, request: WorksTextRequest) -> WorksReport:
        """Import works from a text, as `import_files` does from a file; references to other files are not followed.

        Places in the report are lines and numbers of `SOURCE.jsonl`, or the format's usual extension; vectors are made
        as in `import_upload`. Raises `InvalidArgument` for an unknown format or license, or an invalid source name.
        """
        from rifflux.works.importers import TEXTS, read_works
        from rifflux.works.importers.base import WorkSource

        source = request.source
        _check_name(source)
        self._check_license(request.license)
        with temporary_folder() as folder:
            path = folder / f"{source}{TEXTS[request.format]}"
            path.write_bytes(text.encode("utf-8", "replace"))
            entries = [*read_works(WorkSource(path, source, lambda _: source, alone=True), request.format)]
            report = self._take_in(source, entries, request)
        failed = tuple(each.within(path.parent) for each in report.failed)
        noted = tuple(each.within(path.parent) for each in report.noted)
        return replace(report, failed=failed, noted=noted)

    @takes(WorksFileRequest)
    def import_upload(self, name: str, data: bytes, request: WorksFileRequest) -> WorksReport:
        """Import the works of one uploaded file, as `import_files` does.

        `name` is its file name, and the default name of the source. References to other files are not followed. It is
        read in a separate process limited to 512 MB and 30 s; raises `Unreadable` if it exceeds them. Each work is
        stored completely or not at all. Vectors not made within `embed_seconds` are reported in `degraded` and made
        later. Raises `InvalidArgument`, before storing anything, for more chunks than `intake` allows; an overlong work
        is reported as failed.
        """
        from rifflux.ingest.parallel.apart import safe_name
        from rifflux.works.importers.sources import name_sent
        from rifflux.works.merging.sent import read_sent

        self._check_license(request.license)
        if request.source is not None:
            _check_name(request.source)
        source = request.source or name_sent(safe_name(checked_text("the name of a file", name)))
        intake = request.intake or UNBOUNDED
        limits = self._view.session.reader_limits
        entries = read_sent(name, data, source, request.format, intake.place, limits)
        return self._take_in(source, entries, request)

    def _take_in(self, source: str, entries: Sequence[Entry | Failure], request: WorksImport) -> WorksReport:
        """Store uploaded works within limits."""
        from rifflux.works.merging.importing import within_limits

        intake = request.intake or UNBOUNDED
        accepted = within_limits(entries, self._view.preparer, intake)
        intake.report("store", 0, len(accepted))

        def stored(count: int) -> None:
            intake.report("store", count, len(accepted))

        return self._bring(
            [(source, accepted)], request.license, request.embed, embed_seconds=request.embed_seconds, stored=stored
        )

    def _check_license(self, license: str | None) -> None:
        """Raise `InvalidArgument` for an empty license, or for an unknown one, which would permit nothing."""
        if license is None:
            return
        if (named := license_of(license)) is None:
            raise InvalidArgument(f"{license!r} names no license: say which one the works have, or leave it out")
        if not self._view.visible.knows(named):
            raise InvalidArgument(
                f"nobody knows the license {license!r}, so it would open no text: name one such as CC-BY-4.0, leave it "
                "out, or have an administrator say what it opens",
                cure=Cure.POLICY,
                policy="licenses",
                value=f"{named}=text",
            )

    def _read(
        self, paths: list[Path], name_hint: str | None, format: str | None, progress: Progress | None
    ) -> Iterator[Batch]:
        """Yield the name of each file's source with the works of the file."""
        from rifflux.works.importers import read_works
        from rifflux.works.importers.base import WorkSource
        from rifflux.works.importers.formats import is_light
        from rifflux.works.importers.sources import known_sources, name_source
        from rifflux.works.merging.sent import read_own

        for done, path in enumerate(paths):
            if progress:
                progress("read", done, len(paths))
            name = name_source(self._store, path, name_hint)
            source = WorkSource(path, name, partial(name_source, self._store))
            if is_light(path, format):
                yield name, read_works(source, format)
            else:
                limits = self._view.session.reader_limits
                yield name, read_own(source, known_sources(self._store), format, limits)
        if progress:
            progress("read", len(paths), len(paths))

    def _bring(
        self,
        batches: Iterable[Batch],
        license: str | None,
        embed: bool,
        progress: Progress | None = None,
        embed_seconds: float | None = None,
        stored: Callable[[int], None] | None = None,
    ) -> WorksReport:
        """Store and embed the works of each source; `stored` receives their number."""
        from rifflux.works.merging.importing import Bring, ImportTally

        start = time.perf_counter()
        tally = ImportTally()
        bring = Bring(self._store, self._view.preparer, tally, self._view.visible, license, stored)
        for source, entries in batches:
            bring(source, entries)
        tally.conclude(self._store)
        if embed:
            embedded = self._writer.embed_imported(progress, embed_seconds)
        else:
            embedded = Embedded()
        return WorksReport(
            **dict[str, Any](tally.counts),
            embedded_chunks=embedded.chunks,
            degraded=embedded.degraded,
            sources=tuple(dict.fromkeys(tally.sources)),
            doubts=tuple(self._disclosed(tally.doubts)),
            failed=tuple(tally.failed),
            noted=tuple(tally.noted),
            seconds=round(time.perf_counter() - start, 3),
        )

    # Looking up

    def get(self, identifier: str) -> WorkRecord:
        """Return the work with an identifier (`doi:10.1000/182`, `2101.00001`, `cacm:CACM-0100`) or a source's key.

        Raises `NotFound` if there is none, and `InvalidArgument` if there are several.
        """
        view = self._view.reading()
        store = view.store
        place = namespace, key = _place(identifier, view)
        document = store.catalog.document(*place)
        chunks = store.catalog.chunks_of(*place, most=1)
        if document is None:
            raise NotFound(f"{identifier!r} was removed meanwhile: look it up again")
        visible, disclosed = view.visible, view.visible.document(namespace, document)
        work, (name, owner) = work_of(disclosed), parted(namespace)
        work = replace(work, identifiers=display_identifiers(work.identifiers))
        label = view.labels[store.owner if owner is None else owner]
        if not visible.discloses_facts(namespace, document.license):
            return WorkRecord(name, key, work, withheld=True, collection=label)
        ids = np.array([int(hit.id, 16) for hit in chunks], np.int64)
        cites, cited_by = (_linked(store, ids, incoming=way) for way in (False, True))
        # Citations are facts of a work, so its license decides whether to disclose them.
        disclosed_hits = _hits(view, cited_by[:MOST_LINKED])
        citing = tuple(hit for hit in disclosed_hits if visible.discloses_facts(hit.place[0], hit.license))
        more = max(len(cites), len(cited_by)) > MOST_LINKED
        return WorkRecord(name, key, work, _hits(view, cites[:MOST_LINKED]), citing, disclosed.withheld, label, more)

    def remove(self, identifier: str) -> None:
        """Remove a work from the caller's own library. Raises like `get`."""
        namespace, key = _place(identifier, self._view)
        self._store.catalog.write(Removal(namespace, [key]))

    @takes(WorksRequest)
    def all(self, request: WorksRequest) -> list[WorkSummary]:
        """Return works by key: all, those of a source, or those whose license does not permit displaying more.

        `authors`, `venues` and `year` are as in `Index.retrieve`. Raises `NotFound` for an unknown source.
        """
        source = request.source
        view = self._view.reading()
        works = [(row.namespace, row.document) for row in view.store.catalog.documents(Selection(prefix=LICENSED))]
        found = [each for each in works if source is None or source in each[1].metadata.get("sources", ())]
        if source is not None and not found:
            raise NotFound(f"no work is of the source {source!r}", cure=Cure.LIST_WORKS)
        visible = view.visible
        if filter := Filter().of_works(request.authors, request.venues, request.year):
            found = [*of_whom(found, Searcher(view).with_spellings(filter), visible)]
        listed = [summary(visible, *each) for each in found]
        return [each for each in listed if not request.without_license or each.withheld]

    def export(self, *identifiers: str, format: str = "bibtex") -> str:
        """Return works as a bibliography: `bibtex`, or `csl` for CSL-JSON.

        Entries limited to title and identifiers carry a note.
        """
        from rifflux.works.export import has_facts, style_of
        from rifflux.works.model import cite_keys

        written = style_of(format)
        found = [self.get(identifier) for identifier in identifiers]
        keys = cite_keys([each.work for each in found])
        entries = [
            written(each.work, key, complete=not each.withheld or has_facts(each.work))
            for each, key in zip(found, keys, strict=True)
        ]
        if format == "bibtex":
            return "\n\n".join(map(str, entries))
        return json.dumps(entries, ensure_ascii=False, indent=2)

    # Likely duplicates

    def doubts(self) -> list[Doubt]:
        """Return the pairs of indexed works that may be the same, for a person to decide."""
        from rifflux.works.merging.matching import Doubts

        found = self._disclosed(Doubts.of(self._store).open.values())
        return sorted(found, key=lambda doubt: (doubt.one, doubt.other))

    def _disclosed(self, doubts: Collection[Doubt]) -> Iterator[Doubt]:
        """Yield the doubts between two indexed works, without reasons that a license does not disclose."""
        places = self._store.catalog.identified([name for doubt in doubts for name in (doubt.one, doubt.other)])
        documents = self._store.catalog.documents_at([place for found in places.values() for place in found])
        visible = self._view.visible
        closed = {place for place, each in documents.items() if not visible.discloses_facts(place[0], each.license)}
        for doubt in doubts:
            one = places.get(doubt.one)
            other = places.get(doubt.other)
            if one and other and one != other:
                yield replace(doubt, reason=_UNTOLD) if closed.intersection(one, other) else doubt

    def decide(self, one: str, other: str, *, same: bool) -> None:
        """Record whether two works are the same: merge them, or keep them separate from now on.

        Two works that were merged before are split again. A shared identifier, such as a DOI, stays with `one`: `other`
        loses it, also when its source is imported again. Raises `NotFound` for an unknown work, and `InvalidArgument`
        if both names belong to a single record.
        """
        from rifflux.works.merging.importing import Bring, ImportTally
        from rifflux.works.merging.matching import Doubts, records_of
        from rifflux.works.merging.splitting import disown, named_records, part

        places = [_place(name, self._view) for name in (one, other)]
        doubts = Doubts.of(self._store)
        bring = Bring(self._store, self._view.preparer, ImportTally(), self._view.visible)
        with self._store.transaction():
            merged = [records_of(self._store, place) for place in places]
            names = [named_records(records, name)[0] for records, name in zip(merged, (one, other), strict=True)]
            if same and places[0] != places[1]:
                bring.put(places[0], {**merged[1], **merged[0]}, places)
            elif not same and places[0] == places[1]:
                names = list(part(bring, doubts, places[0], one, other))
            if same:
                for name in chain(*merged):
                    doubts.disowned.pop(name, None)
            else:
                disown(bring, doubts, *names)
            doubts.close(names[0], names[1], apart=not same)
            doubts.save()


def _place(identifier: str, view: IndexView) -> tuple[str, str]:
    """Return the location of a work; if several collections have it, the caller's own come first."""
    identifier = checked_text("the name of a work", identifier)
    named = identified(view.store, identifier) or find_documents(view.store.catalog, identifier)
    places = [place for place in named if place[0].startswith(LICENSED)]
    if not places:
        raise NotFound(f"no work {identifier!r}: give an identifier such as doi:…, arxiv:… or source:key")
    owners = {parted(namespace)[1] for namespace, _ in places}
    first = next((owner for owner in view.labels if owner in owners), None)
    places = [(namespace, key) for namespace, key in places if parted(namespace)[1] == first]
    if len(places) > 1:
        choices = ", ".join(f"{parted(namespace)[0]}/{key}" for namespace, key in places[:5])
        many = f"{len(places)}" if len(places) < MOST_IDENTIFIED else f"{MOST_IDENTIFIED} or more"
        raise InvalidArgument(f"{identifier!r} is the name of {many} works: say which, one of {choices}")
    return places[0]


def _linked(store: Store, ids: Ids, *, incoming: bool) -> list[int]:
    """Return the first chunks of linked works, at most one more than a record lists."""
    edges = store.catalog.linked(ids, incoming=incoming, most=MOST_LINKED + 1)
    return [*dict.fromkeys(edge.chunk for edge in edges)]


def _hits(view: IndexView, ids: Sequence[int]) -> tuple[Hit, ...]:
    found = view.store.catalog.hydrate(Ranking(np.array(ids, np.int64), np.zeros(len(ids))))
    return tuple(view.redacted_hits(found))


def _key(work: Work) -> str:
    if not isinstance(work, Work):
        raise InvalidArgument(f"only Work values can be added, not {work!r}")
    if not work.title.strip():
        raise InvalidArgument("a work needs a title")
    if work.identifiers:
        return str(work.identifiers[0])
    return work.title


def _check_name(source: str) -> None:
    """Raise `InvalidArgument` for an invalid source name."""
    if not _NAME.fullmatch(source):
        raise InvalidArgument(f"{source!r} cannot be a source's name: use a letter, then letters, digits, . _ or -")
    if source.lower() in SCHEMES:
        raise InvalidArgument(f"{source!r} is a scheme of identifiers: call the source something else")


def _files(path: Path) -> list[Path]:
    """Return the files to import from a path; symbolic links that lead out of a folder are not followed."""
    from rifflux.works.importers.formats import is_known

    if not path.exists():
        raise NotFound(f"nothing at {path}: check the path's spelling")
    if not path.is_dir():
        return [path]
    folder = path.resolve()
    files = (each for each in path.rglob("*") if each.is_file() and each.resolve().is_relative_to(folder))
    return sorted(filter(is_known, files))
