"""Reading stored chunks and documents by any of their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rifflux.errors import InvalidArgument, NotFound, OutOfScope
from rifflux.requests import FeedbackRequest, JudgeRequest, takes
from rifflux.service.nouns import JUDGEMENT, Event
from rifflux.service.registry import Registry
from rifflux.session.arguments import checked_query, checked_text
from rifflux.session.session import IndexView
from rifflux.store import MOST_IDENTIFIED, Store, chunk_at, find_documents
from rifflux.types import Document, Hit, of_owner, parted, visible_namespace
from rifflux.types.nouns import iso_time


class Reader:
    """Reads chunks and documents that the caller of a view may read, optionally in named collections only."""

    def __init__(self, view: IndexView, collections: Sequence[str] = ()) -> None:
        self.own = view
        self.view = view.reading(collections)
        self.store = self.view.store

    def get(self, id: str) -> Hit | Document:
        """Return a chunk by id, or a document by any name that `document` accepts. Raises `NotFound`."""
        hit = self.chunk(id)
        if hit:
            return self.view.redacted_hits([hit])[0]
        return self.document(id)

    def chunk(self, id: str) -> Hit | None:
        """Return a chunk by id, including the user's messages and memories, or None."""
        id = checked_text("the name of a chunk or document", id)
        views = (self.store, *(self.own.store.views()[1:] if self.view.scope else ()))
        return next((hit for view in views if (hit := chunk_at(view.catalog, id))), None)

    def document(self, key: str) -> Document:
        """Return a document by key, path, absolute path, identifier, or unique file name.

        It has its whole text, or only some lines of it (`notes/cache.md:10-40`). Raises `NotFound`.
        """
        from rifflux.session.places import cut_to, in_lines

        part = None if self.named(key) else in_lines(key)
        whole = self.stored(part[0] if part else key)
        if part:
            return cut_to(whole, part[1])
        return whole

    def stored(self, key: str) -> Document:
        """Return a document with its whole text. Raises `NotFound`."""
        namespace, key = self.place_of(key)
        document = self.store.catalog.document(namespace, key)
        if document is None:
            raise NotFound(f"{key!r} was removed meanwhile: search again")
        return self.view.visible.document(namespace, document)

    def chunks(self, key: str) -> list[Hit]:
        """Return the chunks of a document in reading order, or those on some lines. Raises `NotFound`."""
        from rifflux.session.places import in_lines

        part = None if self.named(key) else in_lines(key)
        hits = self.store.catalog.chunks_of(*self.place_of(part[0] if part else key))
        found = self.view.redacted_hits(hits)
        if part is None:
            return found
        first, last = part[1]
        return [hit for hit in found if hit.lines and hit.lines[0] <= last and hit.lines[1] >= first]

    def place_of(self, key: str) -> tuple[str, str]:
        """Return the namespace and key of the document named by a key, a path or an identifier (`doi:10.1000/182`).

        A name prefixed with a collection, as in `bob/wiki/cache.md`, is looked up there, and one prefixed with a root's
        folder in that root; otherwise the caller's own documents precede shared ones. Raises `NotFound`, and
        `InvalidArgument` for an ambiguous name.
        """
        found = self.places_of(key)
        if len(found) > 1:
            places = ", ".join(self._spelled(*place) for place in found[:5])
            many = f"{len(found)}" if len(found) < MOST_IDENTIFIED else f"{MOST_IDENTIFIED} or more"
            raise InvalidArgument(
                f"{key!r} is the name of {many} documents: choose one of {places}, or give the id of a chunk"
            )
        return found[0]

    def places_of(self, key: str, *, exactly: bool = False) -> list[tuple[str, str]]:
        """Return the places that a name may mean, as in `place_of`, or `exactly`. Raises `NotFound`."""
        from rifflux.session.places import lookalikes, namesakes

        found = self._own(self.named(key) or ([] if exactly else namesakes(self.store, key)))
        if not found:
            near = ", ".join(lookalikes(self.store, key))
            if near:
                cure = f"did you mean {near}?"
            else:
                cure = "take an id or path from the results of a search"
            raise NotFound(f"no chunk or document {key!r}: {cure}")
        return found

    def _own(self, places: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the caller's own places if there are any, otherwise all."""
        own = [place for place in places if self.view.owns(self._owner_of(place[0]))]
        if self.several and own:
            return own
        return places

    def _owner_of(self, namespace: str) -> str:
        """Return the owner in a namespace, or the owner of the store."""
        owner = parted(namespace)[1]
        if owner is None:
            return self.store.owner
        return owner

    def named(self, key: str) -> list[tuple[str, str]]:
        """Return the namespaces and keys of documents with a key, path or identifier."""
        key = checked_text("the name of a document", key)
        found = find_documents(self.store.catalog, key) or identified(self.store, key)
        if found:
            return found
        labels = [label for label in self.view.labels.values() if key.startswith(f"{label}/")]
        within = [Reader(self.own, [label])._among(key.removeprefix(f"{label}/"), self.several) for label in labels]
        return [place for places in within for place in places] or self._below(key)

    def _below(self, key: str) -> list[tuple[str, str]]:
        """Return the places of a name that follows a root's folder name."""
        folder, _, name = key.partition("/")
        roots = [root for root in self.store.catalog.roots() if name and PurePath(root).name == folder]
        return [
            place for root in dict.fromkeys(roots) for place in find_documents(self.store.catalog, f"{root}/{name}")
        ]

    @property
    def several(self) -> bool:
        """Return True if documents of several collections are read, so that namespaces include the owner."""
        return len(self.store.owners) > 1

    def _among(self, key: str, several: bool) -> list[tuple[str, str]]:
        """Return the places of a name in this collection, with the owner if `several` are read."""
        owner = self.store.owner if several else None
        return [(of_owner(namespace, owner), key) for namespace, key in self.named(key)]

    def _spelled(self, namespace: str, key: str) -> str:
        """Return an unambiguous name of a document; another user's root is named by its folder alone."""
        name, owner = parted(namespace)
        name = visible_namespace(name, owned=self.view.owns(self._owner_of(namespace)))
        if owner is None:
            return f"{name}/{key}"
        return f"{self.view.labels[owner]}/{name}/{key}"


# Feedback: judgements and uses of documents


@dataclass(frozen=True, slots=True)
class Feedback:
    """Records judgements and other events in a view."""

    view: IndexView

    @takes(JudgeRequest)
    def judge(self, request: JudgeRequest) -> Event:
        """Record how well a document answers a query, for evaluation from feedback.

        `document` is as in `why`. `grade` is 0 for irrelevant and grows with relevance; a later judgement of the same
        pair replaces an earlier one. Raises `NotFound` for an unknown document and `InvalidArgument` for an empty query
        or an invalid grade. In a scope, the user is the user of the scope.
        """
        return self.note(JUDGEMENT, **vars(request))

    @takes(FeedbackRequest)
    def note(self, request: FeedbackRequest) -> Event:
        """Record a user's action on a document that a query found, such as `click` or `save`.

        `document` is as in `judge`. Raises `NotFound` for an unknown one and `InvalidArgument` for an empty query. In a
        scope, the user is the user of the scope.
        """
        query = request.query
        user = request.user
        document = request.document
        scope = self.view.scope
        if scope and user not in ("", scope.user_id):
            raise OutOfScope(f"events of {scope.user_id!r} are recorded under that name: leave out the user")
        checked_query(query)
        kind = checked_text("the kind of an event", request.kind)
        user = checked_text("the user of an event", user)
        reader = Reader(self.view)
        hit = reader.chunk(document)
        namespace, key = (hit.namespace, hit.key) if hit else reader.place_of(document)
        namespace = parted(namespace)[0]
        who = user or (scope.user_id if scope else "")
        event = Event(
            kind,
            query,
            namespace,
            key,
            hit.id if hit else "",
            request.grade,
            who,
            iso_time(self.view.session.now(), "auto"),
        )
        Registry(self.view.store).record(event)
        return event


# Documents by their identifiers


def identified(store: Store, name: str) -> list[tuple[str, str]]:
    """Return (namespace, key) of the documents with an identifier, as typed or in its canonical spelling.

    Title keys, which find duplicates, are not names: they would reveal whether a guessed author is right.
    """
    from rifflux.text.names import TITLE
    from rifflux.text.schemes import parse_identifier

    parsed = parse_identifier(name)
    if parsed and parsed.scheme == TITLE:
        return []
    spellings = list(dict.fromkeys([name, *([str(parsed)] if parsed else [])]))
    found = store.catalog.identified(spellings)
    return next((found[each] for each in spellings if each in found), [])
