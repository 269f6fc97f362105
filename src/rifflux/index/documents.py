"""Single documents, as opposed to indexed folders: put, upload, list and remove them in any collection."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rifflux.errors import Conflict, InvalidArgument, Unreadable
from rifflux.requests import SENT_S, DocumentsRequest, FileRequest, takes
from rifflux.service.collections import VisibleCollection
from rifflux.session.arguments import checked_document, checked_text
from rifflux.session.intake import UNBOUNDED, Intake
from rifflux.session.license_policy import LicensePolicy
from rifflux.session.reading import Reader
from rifflux.session.session import IndexView
from rifflux.session.writing import DOCUMENTS, Writer
from rifflux.store import (
    DocumentChange,
    FileRemoval,
    Listed,
    Placed,
    Removal,
    Selection,
    Store,
    find_documents,
    has_file,
)
from rifflux.text.dates import parse_time
from rifflux.types import Document, Failure, Notice, Parsed, of_owner, parted, visible_namespace

if TYPE_CHECKING:
    from rifflux.index.facets import Facet
    from rifflux.index.places import DocumentAt

#: Documents of one upload, and characters of all their texts.
MOST_DOCUMENTS = 10_000
MOST_TEXT = 10_000_000
#: Characters of a key; fields of metadata, characters of a field's name, of all of it as JSON.
LONGEST_KEY = 1_000
MOST_FIELDS = 100
LONGEST_FIELD = 200
LONGEST_METADATA = 64_000
#: Marks a namespace that a cursor may contain, since it is not a folder: its documents may be removed meanwhile.
_READABLE = "="
_BEGIN = ("", "")


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document in a list, with the number of its passages; `withheld` says that a license forbids its text.

    Its key is unique within `namespace`: a folder, a list of works, or `documents` for single documents.
    """

    key: str
    namespace: str
    collection: str
    path: str
    title: str
    kind: str
    created_at: str | None
    updated_at: str | None
    license: str | None
    withheld: bool
    chunks: int


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of a list; `next` is the cursor of the following page, None at the end."""

    documents: tuple[DocumentInfo, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of storing a document or a file.

    `documents` counts those of the file: a mailbox or JSON Lines hold many. `created` says that the key is new,
    `failed` lists parts of the file that could not be read. `degraded` says what is still missing: vectors.
    """

    key: str
    collection: str
    created: bool
    documents: int
    chunks: int
    embedded_chunks: int
    failed: tuple[Failure, ...] = ()
    degraded: tuple[Notice, ...] = ()


class Documents:
    """Single documents in the collections that the caller may write.

    Indexing never removes them. A file with several documents, such as a mailbox, is one upload: its key covers all of
    them.
    """

    def __init__(self, view: IndexView) -> None:
        self._view = view

    def put(
        self,
        document: Document,
        *,
        collection: str = "",
        new: bool = False,
        embed_seconds: float | None = SENT_S,
        intake: Intake = UNBOUNDED,
    ) -> Stored:
        """Store a document in the caller's library or an existing collection, replacing what had its key.

        With `new`, a key in use is refused; an empty key is replaced by a new one. Committed documents are never
        reported as failed: vectors that are not made within `embed_seconds` are listed in `degraded`, and follow.
        Raises `NotFound` for an unknown collection, `OutOfScope` for a read-only one, and `InvalidArgument`.
        """
        from rifflux.ingest.chunking import blocks_of

        target = self._view.rights.writable(collection)
        key = _checked_key(document.key)
        language = self._view.language_of(document.language)
        metadata = _checked_metadata(document.metadata)
        document = checked_document(replace(document, key=key, metadata=metadata, language=language))
        _check_dates(document.created_at, document.updated_at)
        parts = [Parsed(document, blocks_of(document))]
        return self._store(target, key, parts, new=new, embed_seconds=embed_seconds, intake=intake)

    @takes(FileRequest)
    def upload(self, name: str, data: bytes, request: FileRequest) -> Stored:
        """Store the documents of a file of any readable kind, as `put` does; `name` says its kind, and is no path.

        It is read in a separate process within `reader_seconds` and `reader_memory_mb` (see `rifflux.open`). A title
        and a date are those of a file that is one document; a license is that of documents which state none; metadata
        are added to what is read. The text is analyzed in `language`, by default that of the index. Raises `Unreadable`
        with the reason for a file that cannot be read; nothing is stored then.
        """
        from rifflux.ingest.parallel.apart import safe_name
        from rifflux.ingest.parallel.sent import read_sent

        intake = request.intake or UNBOUNDED
        target = self._view.rights.writable(request.collection)
        name = safe_name(checked_text("the name of a file", name))
        key = _checked_key(request.key)
        stated = _checked_metadata(request.metadata)
        language = self._view.language_of(request.language)
        _check_dates(request.created_at)
        if not data.strip():
            raise Unreadable(f"{name} is empty, so nothing was stored")
        try:
            found = read_sent(name, data, self._view.session.reader_limits, intake.place)
        except Unreadable as error:
            raise Unreadable(f"{name} {error}") from None
        parts: list[Parsed] = []
        failed: list[Failure] = []
        for part in found:
            if isinstance(part, Failure):
                failed.append(part)
                continue
            document = part.document
            if document.key == name:
                title = request.title or document.title
                dated = request.created_at or document.created_at
                document = replace(document, key=key, title=title, created_at=dated)
            license = document.license or request.license
            metadata = {**document.metadata, **stated}
            document = replace(document, license=license, metadata=metadata, language=language)
            parts.append(replace(part, document=checked_document(document)))
        if parts and not any(each.document.text.strip() for each in parts):
            raise Unreadable(f"{name} has no text in it, so nothing was stored")
        stored = self._store(target, key, parts, new=request.new, embed_seconds=request.embed_seconds, intake=intake)
        return replace(stored, failed=tuple(failed))

    def at(self, name: str) -> DocumentAt:
        """Return the document of a chunk's id, opened there, or of a name as in `Index.document`, at its first passage.

        Raises `NotFound` for an unknown name, and for a document without any passage.
        """
        from rifflux.index.places import document_at

        return document_at(self._view, name)

    def facets(self, limit: int = 20) -> tuple[Facet, ...]:
        """Return the facets of a search: collections, kinds, folders and the declared metadata fields.

        Each has up to `limit` values with the number of documents that have them, the most frequent first.
        """
        from rifflux.index.facets import facets_of

        return facets_of(self._view, limit)

    def _store(
        self,
        target: VisibleCollection,
        key: str,
        parts: Sequence[Parsed],
        *,
        new: bool,
        embed_seconds: float | None,
        intake: Intake,
    ) -> Stored:
        """Replace the documents of one key atomically."""
        _check_size(parts)
        intake.report("store", 0, len(parts))
        view = replace(self._view, store=self._view.session.store.of(target.owner))
        parts_by_place = {(_namespace(key, each.document.key), each.document.key): each for each in parts}
        known = _known(view.store, key)
        changes = _changed(view, key, parts_by_place, known)
        intake.check((change.document.key, len(change.chunks)) for _, change in changes)
        with view.store.transaction():
            # Another writer may have taken the key meanwhile.
            known = _known(view.store, key)
            if new and known:
                raise Conflict(f"there is a document {key!r} already: put it under this key, or leave out the key")
            former = [
                Removal(namespace, [name]) for namespace, name in known if (namespace, name) not in parts_by_place
            ]
            view.store.catalog.write(*former, *(Placed(namespace, change) for namespace, change in changes))
            intake.report("store", len(parts), len(parts))
        stored = [change for _, change in changes]
        made = Writer(view).embed_soon(stored, embed_seconds)
        chunks = sum(len(change.chunks) for change in stored)
        return Stored(key, target.label, not known, len(parts_by_place), chunks, made.chunks, degraded=made.degraded)

    def remove(self, key: str, *, collection: str = "") -> int:
        """Remove a document, or all of an upload, by its key; return the number of removed documents.

        A file of an indexed folder stays removed until it is named itself again. Raises `NotFound`, and `OutOfScope`
        for a read-only document.
        """
        from rifflux.ingest.sync import leave_out, pattern_of

        reader = Reader(self._view, [collection] if collection else ())
        places = reader.places_of(key, exactly=True)
        if len({namespace for namespace, _ in places}) > 1 or parted(places[0][0])[0] != f"{DOCUMENTS}/{key}":
            places = [reader.place_of(key)]
        namespace, owner = parted(places[0][0])
        if owner is None:
            owner = reader.store.owner
        target = self._view.rights.writable(reader.view.labels[owner])
        store = self._view.session.store.of(target.owner)
        name = places[0][1]
        if not has_file(store.catalog, namespace, name):
            return store.catalog.write(Removal(namespace, [name for _, name in places]))
        with store.transaction():
            leave_out(store, namespace, [pattern_of(name)])
            return store.catalog.write(FileRemoval(namespace, [name]))

    @takes(DocumentsRequest)
    def list(self, request: DocumentsRequest) -> DocumentPage:
        """List the documents that the caller may read, or those of some collections, by collection and key.

        `after` is the `next` of the page before. Documents that come or go meanwhile do not shift a page. Raises
        `NotFound` for an unknown collection and `InvalidArgument` for an invalid cursor.
        """
        collections = request.collections
        limit = request.limit
        visible = self._view.rights.visible(collections)
        found: list[DocumentInfo] = []
        reading = Reader(self._view, collections)
        policy = reading.view.visible
        label, mark, key = _cursor(request.after) if request.after else (visible[0].label, "", "")
        labels = [each.label for each in visible]
        last = ""
        if label not in labels:
            raise InvalidArgument("the cursor is of another list: begin again without it")
        for each in visible[labels.index(label) :]:
            store = self._view.session.store.of(each.owner)
            if mark and each.label == label:
                place = (_marked(store, mark), key)
            else:
                place = _BEGIN
            for row in store.catalog.documents(Selection(), after=place, most=limit - len(found) + 1):
                if len(found) == limit:
                    return DocumentPage(tuple(found), last)
                found.append(_info(each, row, policy, several=reading.several))
                last = _spelled(each.label, _mark(row.namespace), row.document.key)
        return DocumentPage(tuple(found))


def _info(within: VisibleCollection, row: Listed, visible: LicensePolicy, *, several: bool) -> DocumentInfo:
    """Return a document as the caller may see it; with `several` owners, its namespace names the owner."""
    namespace = of_owner(row.namespace, within.owner if several else None)
    disclosed = visible.document(namespace, row.document)
    return DocumentInfo(
        key=disclosed.key,
        namespace=visible_namespace(row.namespace, owned=within.owned),
        collection=within.label,
        path=row.path,
        title=disclosed.title,
        kind=disclosed.kind,
        created_at=disclosed.created_at,
        updated_at=disclosed.updated_at,
        license=disclosed.license,
        withheld=not visible.shows_all(namespace, row.document.license),
        chunks=row.chunks,
    )


def _namespace(key: str, name: str) -> str:
    """Return the namespace of a document of an upload, which depends on whether the upload has several."""
    if name == key:
        return DOCUMENTS
    return f"{DOCUMENTS}/{key}"


def _known(store: Store, key: str) -> list[tuple[str, str]]:
    """Return the places of the documents of a key. Raises `InvalidArgument` if something else has that name."""
    several = f"{DOCUMENTS}/{key}"
    known = find_documents(store.catalog, key)
    if any(namespace != several and (namespace, name) != (DOCUMENTS, key) for namespace, name in known):
        raise InvalidArgument(f"{key!r} names a file or a record of this collection already: choose another key")
    return known


def _changed(
    view: IndexView, key: str, parts_by_place: Mapping[tuple[str, str], Parsed], known: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, DocumentChange]]:
    """Return the new and changed documents, prepared for the store."""
    from rifflux.ingest.prepare import is_same

    known_documents = view.store.catalog.documents_at(known)
    prepare = view.preparer
    changed = {
        place: part for place, part in parts_by_place.items() if not is_same(part.document, known_documents.get(place))
    }
    return [(place[0], prepare(place[0], part.document, part.blocks, key)) for place, part in changed.items()]


def _check_size(parts: Sequence[Parsed]) -> None:
    """Raise `Unreadable` for more than one upload may hold."""
    characters = sum(len(each.document.text) for each in parts)
    if len(parts) > MOST_DOCUMENTS or characters > MOST_TEXT:
        raise Unreadable(
            f"it holds {len(parts):,} documents of {characters:,} characters: at most {MOST_DOCUMENTS:,} of "
            f"{MOST_TEXT:,} are taken at once, so split it"
        )


def _checked_key(key: str) -> str:
    """Return the checked key of a document, a new one if empty. Raises `InvalidArgument`."""
    if not isinstance(key, str) or len(key) > LONGEST_KEY or not key.isprintable() or key != key.strip():
        raise InvalidArgument(
            f"a key is up to {LONGEST_KEY} printable characters without spaces around them, not {key!r}"
        )
    return key or secrets.token_hex(8)


def _check_dates(*dates: str | None) -> None:
    for each in dates:
        if each is not None:
            parse_time(each)


def _checked_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata that can be stored and searched. Raises `InvalidArgument`."""
    if not isinstance(metadata, Mapping) or len(metadata) > MOST_FIELDS:
        raise InvalidArgument(f"metadata are up to {MOST_FIELDS} fields with their values")
    for name in metadata:
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_FIELD or not name.isprintable():
            raise InvalidArgument(f"a field of metadata has a name of 1 to {LONGEST_FIELD} characters, not {name!r}")
    try:
        size = len(json.dumps(dict(metadata), allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"metadata hold texts, finite numbers, truth values, and lists of them: {error}"
        ) from None
    if size > LONGEST_METADATA:
        raise InvalidArgument(
            f"metadata are at most {LONGEST_METADATA} characters as JSON, not {size}: keep less there"
        )
    return metadata


# Cursors of a list; they do not reveal where others keep their files


def _mark(namespace: str) -> str:
    if not PurePath(namespace).is_absolute():
        return f"{_READABLE}{namespace}"
    return blake2b(namespace.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _marked(store: Store, mark: str) -> str:
    """Return the namespace of a cursor. Raises `InvalidArgument` if it is gone."""
    if mark.startswith(_READABLE):
        return mark.removeprefix(_READABLE)
    names = (str(name) for name, _ in store.catalog.values("namespace", Selection()))
    found = next((name for name in names if _mark(name) == mark), None)
    if found is None:
        raise InvalidArgument("what the cursor stands in is gone: begin again without it")
    return found


def _spelled(*place: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _cursor(text: str) -> tuple[str, str, str]:
    """Return the label of a collection, and the mark of a namespace and the key there. Raises `InvalidArgument`."""
    try:
        label, mark, key = json.loads(base64.urlsafe_b64decode(checked_text("a cursor", text)))
    except (ValueError, TypeError, RecursionError):
        raise InvalidArgument("that is no cursor: give the `next` of the page before, as it is") from None
    return checked_text("a cursor", label), checked_text("a cursor", mark), checked_text("a cursor", key)
