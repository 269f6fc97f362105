"""Redaction of hits and documents by license, with exceptions for owners and by policy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rifflux.store import Store
from rifflux.types import LICENSED, REST_WITHHELD, WITHHELD, Document, Hit, Notice, Span, Tag, parted

if TYPE_CHECKING:
    from rifflux.text.licenses import Permission, Rules

# The license table is only loaded for works: most indexes have none.

#: The metadata fields that are bibliographic facts of a work. Other metadata may quote its text.
_FACTS = frozenset({"authors", "author_ids", "year", "venue", "sources", "primary", "cited_by_count"})
#: Further fields that are facts.
_DATED = frozenset({"kind", "created_at", "updated_at", "tags"})
#: The scheme of tags that are words of the text.
_QUOTED = "term"
_Place = tuple[str, str]


@dataclass(frozen=True)
class LicensePolicy:
    """The disclosure rules of a profile: works as far as their license permits, everything else in full.

    `licenses` are rules of the configuration, which the policies in the store override. `store` contains the policies
    and the documents; without one, no policy is set. Documents of the owners in `mine` are the caller's own: only for
    these may the policies disclose facts to the owner, and texts that no license opens. If it is None, all documents
    are the caller's. In a store of several owners, a namespace names its owner, as in `Hit.place`.
    """

    licenses: Rules = field(default_factory=dict)
    store: Store | None = None
    mine: Collection[str] | None = None

    def _owned(self, namespace: str) -> bool:
        """Return True if the documents of a namespace are the caller's own."""
        owner = parted(namespace)[1]
        if owner is None and self.store:
            owner = self.store.owner
        return self.mine is None or owner in self.mine

    @cached_property
    def rules(self) -> Rules:
        """Return the rules of the configuration, overridden by those of the policies, by license."""
        from rifflux.session.policies import LICENSES, Policies

        if self.store:
            return {**self.licenses, **Policies(self.store).get(LICENSES)}
        return self.licenses

    @cached_property
    def _facts(self) -> object:
        from rifflux.session.policies import FACTS, Policies

        if self.store:
            return Policies(self.store).get(FACTS)
        return "owner"

    @cached_property
    def _own_texts(self) -> bool:
        from rifflux.session.policies import OWN_TEXTS, Policies

        return self.store is not None and bool(Policies(self.store).get(OWN_TEXTS))

    # Permissions

    def licensed(self, license: str | None) -> Permission:
        """Return what a license permits everyone to see."""
        from rifflux.text.licenses import permission_of

        return permission_of(license, self.rules)

    def knows(self, license: str) -> bool:
        """Return True if the license's permission is known."""
        from rifflux.text.licenses import is_known

        return is_known(license, self.rules)

    def permission(self, namespace: str, license: str | None) -> Permission:
        """Return what the caller may see of a document in a namespace."""
        from rifflux.text.licenses import Permission

        if not namespace.startswith(LICENSED) or (permission := self.licensed(license)) is Permission.TEXT:
            return Permission.TEXT
        if self._own_texts and self._owned(namespace):
            return Permission.TEXT
        return permission

    def shows_all(self, namespace: str, license: str | None) -> bool:
        """Return True if the caller may see a document in full."""
        if not namespace.startswith(LICENSED):
            return True
        from rifflux.text.licenses import Permission

        return self.permission(namespace, license) is Permission.TEXT

    def discloses_facts(self, namespace: str, license: str | None) -> bool:
        """Return True if the caller may see the authors, date, venue and citations of a document."""
        if not namespace.startswith(LICENSED) or self.permission(namespace, license) or self._facts == "everyone":
            return True
        return self._facts == "owner" and self._owned(namespace)

    def discloses(self, hit: Hit, fields: Collection[str]) -> bool:
        """Return True if the caller may see the given metadata fields, dates or kind of a document."""
        if self.shows_all(hit.place[0], hit.license):
            return True
        return set(fields) <= _FACTS | _DATED and self.discloses_facts(hit.place[0], hit.license)

    def opened(self, licenses: Iterable[tuple[str, str | None]]) -> list[Notice]:
        """Return notices on texts that are visible although no known license permits it, with the reason."""
        from rifflux.text.licenses import permission_of

        ruled: set[str] = set()
        own = 0
        for namespace, license in licenses:
            known = permission_of(license)
            if namespace.startswith(LICENSED) and known < self.permission(namespace, license):
                by_rule = self.licensed(license) > known
                ruled |= {str(license)} if by_rule else set()
                own += not by_rule
        notices = []
        for name in sorted(ruled):
            text = f"a rule of the administrator opens the license {name!r}"
            notices.append(Notice("license.opened_by_rule", text, data={"license": name}))
        if own:
            text = f"shown to you as the owner, though no license permits it: {own} works"
            notices.append(Notice("license.shown_to_owner", text, data={"works": own}))
        return notices

    # Redaction

    def hit(self, hit: Hit) -> Hit:
        """Return a hit as the caller may see it."""
        return self.hits((hit,))[0]

    def hits(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return hits as the caller may see them; titles, identifiers and explanations are never withheld."""
        open = [self.shows_all(hit.place[0], hit.license) for hit in hits]
        if all(open):
            return [*hits]
        closed = [hit for hit, each in zip(hits, open, strict=True) if not each]
        ends = self._abstracts({hit.place for hit in closed if self.permission(hit.place[0], hit.license)})
        return [hit if each else self._partly(hit, ends) for hit, each in zip(hits, open, strict=True)]

    def document(self, namespace: str, document: Document) -> Document:
        """Return a document as the caller may see it: title and identifiers, plus facts, abstract or everything."""
        if self.shows_all(namespace, document.license):
            return document
        known = Document(
            document.key,
            WITHHELD,
            document.title,
            license=document.license,
            identifiers=document.identifiers,
            withheld=True,
        )
        if not self.discloses_facts(namespace, document.license):
            return known
        known = replace(
            known,
            kind=document.kind,
            created_at=document.created_at,
            updated_at=document.updated_at,
            metadata=_facts_of(document.metadata),
            links=document.links,
            tags=self.tags(namespace, document.license, document.tags),
        )
        end = _abstract_of(document)
        if not self.permission(namespace, document.license) or not end:
            return known
        if end < len(document.text):
            rest = f"\n\n{REST_WITHHELD}"
        else:
            rest = ""
        parts = [part for part in document.parts if part.span[1] <= end]
        return replace(known, text=document.text[:end] + rest, parts=tuple(parts), withheld=False)

    def tags(self, namespace: str, license: str | None, tags: Sequence[Tag]) -> tuple[Tag, ...]:
        """Return the tags of a document that the caller may see."""
        if self.shows_all(namespace, license):
            return tuple(tags)
        if self.discloses_facts(namespace, license):
            return tuple(tag for tag in tags if tag.scheme != _QUOTED)
        return ()

    def _partly(self, hit: Hit, abstracts: Mapping[_Place, int]) -> Hit:
        """Return a hit with its text withheld, unless it is part of the abstract."""
        if hit.span[1] <= abstracts.get(hit.place, 0):
            return replace(hit, metadata=_facts_of(hit.metadata))
        closed = replace(
            hit, text=WITHHELD, heading_path="", page=None, metadata=_facts_of(hit.metadata), withheld=True
        )
        if self.discloses_facts(hit.place[0], hit.license):
            return closed
        return replace(closed, kind="", created_at=None, updated_at=None, metadata={})

    def _abstracts(self, places: Collection[_Place]) -> Mapping[_Place, int]:
        """Return the end of the leading abstract in the text of each document."""
        if self.store and places:
            found = self.store.catalog.documents_at(sorted(places))
        else:
            found = {}
        return {place: _abstract_of(document) for place, document in found.items()}


def _abstract_of(document: Document) -> int:
    """Return the end of the leading abstract in a document's text, or 0 without one."""
    spans: list[Span] = [part.span for part in document.parts if part.kind == "abstract"]
    return next((end for start, end in spans if start == 0), 0)


def _facts_of(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in metadata.items() if name in _FACTS}
