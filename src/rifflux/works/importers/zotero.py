"""Zotero RDF exports: items in Dublin Core, with people as FOAF and the containing publication.

dc:title · dcterms:abstract · bib:authors (bib:editors) · dc:date · dcterms:isPartOf: the journal or book
dc:identifier: `DOI 10.1000/182`, `ISBN …`, a URL · dc:subject · dc:rights · z:itemType
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rifflux.errors import Unreadable
from rifflux.text.licenses import license_of
from rifflux.types import Failure, Identifier
from rifflux.works import Work, parse_identifier
from rifflux.works.importers.base import Entry, Problems, WorkSource, content
from rifflux.works.importers.names import people
from rifflux.works.importers.readable import unmarked
from rifflux.works.model import WORK

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_SPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "z": "http://www.zotero.org/namespaces/export#",
    "bib": "http://purl.org/net/biblio#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prism": "http://prismstandard.org/namespaces/1.2/basic/",
}
#: Item types that are not works.
_OTHERS = frozenset(("attachment", "note", "annotation"))


def read(source: WorkSource) -> Iterator[Entry | Failure]:
    """Yield the works of a file. Raises `Unreadable` unless it is Zotero RDF."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(content(source.path), parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"is not well-formed XML: {error}") from None
    if root.tag == _name("rdf:RDF"):
        items = [each for each in root if _text(each, "z:itemType")]
    else:
        items = []
    if not items:
        raise Unreadable("contains no Zotero item: export the library as 'Zotero RDF'")
    named = {about: each for each in root if (about := each.get(_name("rdf:about")))}
    for item in items:
        if _text(item, "z:itemType") not in _OTHERS:
            yield _entry(f"{source.path}:{item.sourceline}", item, named)


def _entry(place: str, item: Element, named: dict[str, Element]) -> Entry | Failure:
    title = unmarked(_text(item, "dc:title"))
    if not title:
        return Failure(place, "it has no title")
    notes = Problems()
    whole = _whole(item, named)
    identifiers = tuple(_identifiers(item, whole, notes))
    given = _text(item, "dc:date")
    if given[:4].isdigit():
        date = notes.date(given)
    else:
        date = None
    people_of = [*(_person(each) for each in item.iterfind("bib:authors//foaf:Person", _SPACES))]
    editors = [*(_person(each) for each in item.iterfind("bib:editors//foaf:Person", _SPACES))]
    work = Work(
        title=title,
        abstract=unmarked(_text(item, "dcterms:abstract")),
        authors=people(people_of or editors),
        year=int(date[:4]) if date else notes.year(given),
        venue=unmarked(_text(whole, "dc:title") if whole is not None else _text(item, "dc:publisher//foaf:name")),
        identifiers=identifiers,
        tags=notes.tags(
            "keyword", list(filter(None, (_subject(each) for each in item.iterfind("dc:subject", _SPACES))))
        ),
        license=license_of(_text(item, "dc:rights")),
        kind=_text(item, "z:itemType") or WORK,
        date=date,
    )
    key = str(item.get(_name("rdf:about")) or (identifiers[0] if identifiers else title)).removeprefix("#")
    return Entry(place, key, work, tuple(notes))


def _name(short: str) -> str:
    space, _, name = short.partition(":")
    return f"{{{_SPACES[space]}}}{name}"


def _text(item: Element, path: str) -> str:
    found = item.find(path, _SPACES)
    if found is not None:
        return " ".join("".join(map(str, found.itertext())).split())
    return ""


def _whole(item: Element, named: dict[str, Element]) -> Element | None:
    """Return the journal or book that an item is part of: nested, or referenced by name."""
    part = item.find("dcterms:isPartOf", _SPACES)
    if part is None:
        return None
    return named.get(str(part.get(_name("rdf:resource")) or ""), part[0] if len(part) else None)


def _person(person: Element) -> dict[str, str]:
    given = _text(person, "foaf:givenName") or _text(person, "foaf:givenname")
    return {"family": _text(person, "foaf:surname"), "given": given}


def _subject(subject: Element) -> str:
    """Return the text of a subject, which may be an automatic tag."""
    return " ".join("".join(map(str, subject.itertext())).split())


def _identifiers(item: Element, whole: Element | None, notes: Problems) -> Iterator[Identifier]:
    for each in (
        *item.iterfind("dc:identifier", _SPACES),
        *(whole.iterfind("dc:identifier", _SPACES) if whole is not None else ()),
    ):
        text = " ".join("".join(map(str, each.itertext())).split())
        scheme, _, value = text.partition(" ")
        if scheme.upper() in ("DOI", "ISBN", "PMID"):
            yield from notes.identifiers(scheme.lower(), value)
        elif (known := parse_identifier(text)) and known.scheme in ("arxiv", "doi"):
            yield known
    about = parse_identifier(str(item.get(_name("rdf:about")) or ""))
    if about and about.scheme in ("arxiv", "doi"):
        yield about
