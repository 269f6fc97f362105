"""Works as JSON records with common field names, which need no mapping.

A field may be in the record itself or in its `metadata`:

    title                                             the title; a record needs one, or a text
    abstract, text, summary                           the abstract
    authors, author, creators                         a list of names or of objects with a name, or names in one text
    year, publication_year · month · date, published  the date of publication
    venue, journal, booktitle, publisher              the venue
    doi, arxiv, openalex, mr, zbl, pmid, isbn, tag, label    identifiers; others as identifiers: {scheme: value}
    categories (arXiv) · msc · cr_categories, acm · keywords · jel · pacs    subjects; others as tags: {scheme: [value]}
    subjects                                          subjects of any scheme: math.GT, 57M25, msc:57M25, else keywords
    cites, references, citations                      cited works: identifiers, or keys of other records of the file
    passages, sections                                a list of objects with text, and heading, kind, label
    license, rights · type, kind · updated            license, kind, and date of the last update
    cited_by                                          ignored: it follows from the citations of the others
    proof                                             ignored: it would rank statements lower; give it as a passage

`_id`, `id` or `key` is the source's key of the work, and also an identifier if it has the form of one. Without it, the
first identifier is the key. Other fields with plain values become metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import chain
from typing import Any

from rifflux.text.licenses import license_of
from rifflux.text.schemes import STRONG, subject_scheme
from rifflux.types import Failure, Identifier, Link, Tag
from rifflux.works import Passage, Work, parse_identifier
from rifflux.works.importers.base import Entry, Placed, Problems, Record, WorkSource, codes, local_link, month_of
from rifflux.works.importers.names import people_known, split_names
from rifflux.works.model import WORK

#: The accepted names of each field, in order of precedence.
_FIELDS = {
    "key": ("_id", "id", "key"),
    "title": ("title",),
    "abstract": ("abstract", "text", "summary"),
    "authors": ("authors", "author", "creators"),
    "year": ("year", "publication_year"),
    "date": ("date", "published", "publication_date", "created_at"),
    "updated": ("updated", "updated_at"),
    "venue": ("venue", "journal", "booktitle", "publisher"),
    "license": ("license", "licence", "rights"),
    "kind": ("type", "kind"),
    "cites": ("cites", "references", "citations"),
    "passages": ("passages", "sections"),
}
_IDENTIFIERS = {each: each for each in ("doi", "arxiv", "openalex", "mr", "zbl", "pmid", "isbn", "tag", "label")}
_IDENTIFIERS["arxiv_id"] = "arxiv"
_TAGS = {each: each for each in ("msc", "acm", "jel", "pacs")}
_TAGS |= {"categories": "arxiv", "cr_categories": "acm", "keywords": "keyword", "msc_codes": "msc"}
_OTHERS = ("metadata", "identifiers", "tags", "subjects", "month", "proof", "cited_by")
_KNOWN = frozenset(chain(*_FIELDS.values(), _IDENTIFIERS, _TAGS, _OTHERS))


def work_entry(source: WorkSource, placed: Placed) -> Entry | Failure:
    """Convert a record to a work. Returns a `Failure` without a title and text."""
    place, record = placed
    metadata = record.get("metadata") or {}
    if not isinstance(metadata, dict):
        return Failure(place, "its 'metadata' is not an object")
    fields: Record = {**metadata, **record}
    notes = Problems()
    abstract = _text(fields, "abstract")
    title = _text(fields, "title")
    if not (title or abstract):
        return Failure(place, "it has neither a title nor a text")
    identifiers = tuple(_identifiers(fields, notes))
    key = str(_first(fields, "key") or (identifiers[0] if identifiers else title or _mark(abstract)))
    year = notes.year(_first(fields, "year"))
    month = month_of(str(fields.get("month") or ""))
    date = notes.date(_first(fields, "date")) or notes.date(f"{year:04}-{month:02}" if year and month else None)
    given = _first(fields, "authors")
    authors, author_ids = people_known(split_names(given) if isinstance(given, str) else given)
    work = Work(
        title=title,
        abstract=abstract,
        authors=authors,
        author_ids=author_ids,
        year=year or (int(date[:4]) if date else None),
        venue=_text(fields, "venue"),
        identifiers=identifiers,
        tags=tuple(_tags(fields, notes)),
        passages=tuple(_passages(fields, notes)),
        citations=tuple(_citations(fields, source.name, notes)),
        license=license_of(_text(fields, "license")),
        kind=_text(fields, "kind") or WORK,
        date=date,
        updated=notes.date(_first(fields, "updated")),
        metadata={name: value for name, value in fields.items() if name not in _KNOWN and _is_plain(value)},
    )
    return Entry(place, key, work, tuple(notes))


def _mark(text: str) -> str:
    """Return a key derived from the text, for a record without any name."""
    return f"text-{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _first(fields: Record, field: str) -> Any:
    return next((fields[name] for name in _FIELDS[field] if fields.get(name) not in (None, "", [])), None)


def _text(fields: Record, field: str) -> str:
    value = _first(fields, field)
    if isinstance(value, str):
        return value.strip()
    return ""


def _values(value: object) -> list[object]:
    """Return the items of a list, or of a text separated by commas or semicolons."""
    if isinstance(value, str):
        return [each.strip() for each in value.replace(";", ",").split(",") if each.strip()]
    if isinstance(value, list):
        return value
    if value is None:
        return []
    return [value]


def _identifiers(fields: Record, notes: Problems) -> Iterator[Identifier]:
    key = parse_identifier(str(_first(fields, "key") or ""))
    if key and key.scheme in STRONG:
        yield key
    for name, scheme in _IDENTIFIERS.items():
        if isinstance(fields.get(name), str | int):
            yield from notes.identifiers(scheme, fields[name])
    others = fields.get("identifiers") or {}
    if isinstance(others, Mapping):
        for scheme, values in others.items():
            yield from notes.identifiers(str(scheme), values)
        return
    for text in _values(others):
        if identifier := parse_identifier(str(text)):
            yield identifier
        else:
            notes.append(f"{text!r} is not an identifier: write it as scheme:value")


def _tags(fields: Record, notes: Problems) -> Iterator[Tag]:
    for name, scheme in _TAGS.items():
        value = fields.get(name)
        if isinstance(value, str) and scheme in ("arxiv", "msc"):
            value = codes(value)
        yield from notes.tags(scheme, _values(value))
    others = fields.get("tags") or {}
    if isinstance(others, Mapping):
        for scheme, values in others.items():
            yield from notes.tags(str(scheme), _values(values))
    else:
        yield from notes.tags("keyword", _values(others))
    subjects = fields.get("subjects") or {}
    if isinstance(subjects, Mapping):
        for scheme, values in subjects.items():
            yield from notes.tags(str(scheme), _values(values))
    else:
        for subject in _values(subjects):
            yield from notes.tags(*subject_scheme(str(subject)))


def _passages(fields: Record, notes: Problems) -> Iterator[Passage]:
    for each in _values(_first(fields, "passages")):
        if isinstance(each, dict):
            text = each.get("text")
        else:
            text = each
        if not isinstance(text, str) or not text.strip():
            notes.append("a passage has no text")
            continue
        given = each if isinstance(each, dict) else {}
        heading = str(given.get("heading") or given.get("title") or "")
        kind = str(given.get("kind") or "section")
        yield Passage(text.strip(), kind, (heading,) if heading else (), str(given.get("label") or ""))


def _citations(fields: Record, source: str, notes: Problems) -> Iterator[Link]:
    for name in _FIELDS["cites"]:
        for value in _values(fields.get(name)):
            if isinstance(value, dict):
                given = _cited_name(value)
            else:
                given = value
            if not isinstance(given, str | int) or given == "":
                notes.append(f"its citation {value!r} is not an identifier")
                continue
            known = parse_identifier(str(given))
            yield Link(str(known)) if known else local_link(source, str(given))


def _cited_name(cited: Record) -> object:
    """Return the name of a cited work given as an object: a key, or an identifier under its scheme."""
    named = (f"{scheme}:{cited[name]}" for name, scheme in _IDENTIFIERS.items() if cited.get(name))
    return _first(cited, "key") or next(named, "")


def _is_plain(value: object) -> bool:
    scalar = (str, int, float, bool)
    return isinstance(value, scalar) or (isinstance(value, list) and all(isinstance(each, scalar) for each in value))
