"""Importing works: match each with the stored ones, merge, and store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from rifflux.errors import InvalidArgument
from rifflux.ingest.chunking import plain_blocks
from rifflux.ingest.prepare import Preparer
from rifflux.session.intake import Intake
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Placed, Removal, SourceData, Store, Write
from rifflux.text.licenses import Permission, license_of
from rifflux.types import LICENSED, LONGEST_TITLE, Block, Document, Failure, Identifier, Tag, bounded_title
from rifflux.works import Work, document_of
from rifflux.works.importers.base import Entry
from rifflux.works.importers.latex.terms import DEFINITION, defined_terms
from rifflux.works.merging.citations import Citations
from rifflux.works.merging.matching import Doubts, Matcher, Place, records_of
from rifflux.works.merging.merge import dump, merged
from rifflux.works.report import Doubt

#: The number of works per transaction.
GROUP = 256
#: Above this number of failures of one sort, only their count is reported.
MAX_REPORTED = 20
#: The length of the text that names a work without a title.
OPENING = 100


@dataclass(slots=True)
class ImportTally:
    """The running report of an import; `counts` are those of a `WorksReport`, by name."""

    counts: Counter[str] = field(default_factory=Counter)
    sources: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    noted: list[Failure] = field(default_factory=list)
    citations: Citations = field(default_factory=Citations)

    def conclude(self, store: Store) -> None:
        """Report on the citations of the whole import, once everything is stored."""
        self.counts["dangling"], lost = self.citations.dangling(store)
        self.noted += [*_few(lost), *_few(list(self.citations.circles()))]


@dataclass(slots=True)
class Bring:
    """Stores works and counts them in `tally`. `license` applies to works whose source states none.

    `visible` is the license policy. `stored` receives the number of stored entries of a source, inside the transaction
    that stores the last of them.
    """

    store: Store
    prepare: Preparer
    tally: ImportTally
    visible: LicensePolicy
    license: str | None = None
    stored: Callable[[int], None] | None = None

    def __call__(self, source: str, entries: Iterable[Entry | Failure]) -> None:
        """Store the works of a source in batches; a failure of one does not affect the others."""
        self.tally.sources.append(source)
        doubts = Doubts.of(self.store)
        names: set[str] = set()
        matcher = Matcher(self.store, doubts)
        waiting = iter(entries)
        count = 0
        while group := list(islice(waiting, GROUP)):
            with self.store.transaction():
                for entry in group:
                    self._bring(source, entry, matcher, names)
                doubts.save()
                count += len(group)
                if self.stored:
                    self.stored(count)

    def _bring(self, source: str, entry: Entry | Failure, matcher: Matcher, names: set[str]) -> None:
        if isinstance(entry, Failure):
            self.tally.failed.append(entry)
            return
        name = f"{source}:{entry.key}"
        if name in names:
            former = self.tally.citations.place(name)
            reason = f"{entry.key!r} is what the work at {former} is called already: give each a key of its own"
            self.tally.failed.append(Failure(entry.place, reason))
            return
        self.tally.noted += [Failure(entry.place, note) for note in entry.notes]
        work = self._own(source, entry, matcher.doubts)
        names.add(name)
        self.tally.citations.add(entry.place, name, work)
        same, doubtful = matcher(name, work)
        self.tally.doubts += matcher.doubts.add(doubtful)
        records = {each: record for place in same for each, record in records_of(self.store, place).items()}
        self.put(same[0] if same else (LICENSED + source, entry.key), {**records, name: work}, same)

    def _own(self, source: str, entry: Entry, doubts: Doubts) -> Work:
        """Return the work with its source's name as an identifier and without citing itself.

        Identifiers that a person assigned to another work are left out.
        """
        work = doubts.without_disowned(f"{source}:{entry.key}", entry.work)
        identifiers = (*work.identifiers, Identifier(source, entry.key))
        own = set(map(str, identifiers))
        cited = tuple(link for link in work.citations if link.kind != "cites" or link.key not in own)
        if len(cited) < len(work.citations):
            self.tally.noted.append(Failure(entry.place, "it cites itself: that citation is left out"))
        terms = defined_terms(work.abstract) if work.kind == DEFINITION else ()
        tags = (*work.tags, *(Tag("term", term) for term in terms))
        license = license_of(work.license) or license_of(self.license)
        # The beginning of a text is text: an untitled work is named by its key unless its abstract may be displayed.
        is_open = self.visible.licensed(license) >= Permission.ABSTRACT
        title = bounded_title(work.title or (work.abstract[:OPENING] if is_open else "") or entry.key)
        if len(work.title) > LONGEST_TITLE:
            reason = f"its title has {len(work.title):,} characters: the first {LONGEST_TITLE:,} are kept"
            self.tally.noted.append(Failure(entry.place, reason))
        return replace(
            work, title=title, identifiers=identifiers, citations=cited, tags=tags, license=license, sources=(source,)
        )

    def put(self, place: Place, records: Mapping[str, Work], replaced: Iterable[Place]) -> None:
        """Store the merged records of one work at `place`, instead of the documents at `replaced`."""
        namespace, key = place
        former = list(replaced)
        document = document_of(merged(records), key, records.values())
        counts = self.tally.counts
        counts["unlicensed"] += self.visible.licensed(document.license) is Permission.NOTHING
        changes: list[Write] = [Removal(other[0], [other[1]]) for other in former if other != place]
        if former == [place] and document == self.store.catalog.document(*place):
            counts["unchanged"] += 1
        else:
            path = f"{namespace.removeprefix(LICENSED)}/{key}"
            change = self.prepare(namespace, document, blocks_of_parts(document), path)
            changes.append(Placed(namespace, change))
            counts["chunks"] += len(change.chunks)
            counts["updated" if former else "added"] += 1
            counts["merged"] += bool(former) and len(records) > 1
        if len(records) > 1:
            changes.append(SourceData(*place, {name: dump(work) for name, work in records.items()}))
        self.store.catalog.write(*changes)


def within_limits(entries: Sequence[Entry | Failure], prepare: Preparer, intake: Intake) -> Sequence[Entry | Failure]:
    """Replace works that have too many chunks by failures.

    Raises `InvalidArgument` if all works together have too many.
    """
    documents = [document_of(each.work, each.key) if isinstance(each, Entry) else None for each in entries]
    sizes = [len(document.text) if document else 0 for document in documents]
    count_all = intake.may_exceed(len(sizes), sum(sizes))
    accepted: list[Entry | Failure] = []
    total = 0
    for entry, document, size in zip(entries, documents, sizes, strict=True):
        if document is not None and (count_all or intake.may_be_too_long(size)):
            chunks = len(prepare("", document, blocks_of_parts(document), document.key).chunks)
            total += chunks
            intake.check_request(total)
            try:
                intake.check_document(document.key, chunks)
            except InvalidArgument as error:
                accepted.append(Failure.of(entry.place if isinstance(entry, Entry) else document.key, error))
                continue
        accepted.append(entry)
    return accepted


def _few(failures: list[Failure]) -> list[Failure]:
    more = len(failures) - MAX_REPORTED
    if more <= 0:
        return failures
    return [*failures[:MAX_REPORTED], Failure(failures[MAX_REPORTED].path, f"and {more} more like this")]


def blocks_of_parts(document: Document) -> tuple[Block, ...]:
    """Return the paragraphs of each part of a document, under the part's headings."""
    return tuple(
        Block(part.span[0] + block.start, part.span[0] + block.end, block.kind, part.headings, page=part.page)
        for part in document.parts
        for block in plain_blocks(document.text[slice(*part.span)])
    )
