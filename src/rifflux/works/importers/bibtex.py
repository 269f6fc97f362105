"""BibTeX and BibLaTeX bibliographies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rifflux.text.licenses import license_of, permission_of
from rifflux.text.schemes import mentioned_arxiv
from rifflux.types import Failure, Identifier
from rifflux.works import Work, parse_identifier
from rifflux.works.importers.base import Entry, Problems, WorkSource, codes, local_link, month_of
from rifflux.works.importers.bib import BibEntry, entries
from rifflux.works.importers.names import people
from rifflux.works.importers.readable import readable

_VENUE = ("journal", "journaltitle", "booktitle", "series", "publisher", "school", "institution")
_IDENTIFIERS = {"doi": "doi", "mrnumber": "mr", "zblnumber": "zbl", "zbl": "zbl", "pmid": "pmid", "isbn": "isbn"}
_IDENTIFIERS |= {"openalex": "openalex", "arxiv": "arxiv", "arxivid": "arxiv"}
#: Fields that may contain an arXiv number besides the dedicated ones: as the whole value, or within text.
_NAMED = ("eprint", "journal", "url", "note", "howpublished", "number")
_MENTIONS = ("journal", "volume", "url", "howpublished", "note")

_ESCAPED = re.compile(r"\\([&%#_])")

Fields = Mapping[str, str]


def read(source: WorkSource) -> Iterator[Entry | Failure]:
    """Yield the works of a `.bib` file, and a failure with its line for each malformed entry."""
    for each in entries(source.path):
        yield each if isinstance(each, Failure) else _entry(source, each)


def _entry(source: WorkSource, entry: BibEntry) -> Entry | Failure:
    fields = entry.fields
    notes = Problems(entry.notes)
    place = f"{source.path}:{entry.line}"
    title = readable(": ".join(filter(None, (fields.get("title"), fields.get("subtitle")))))
    if not title:
        return Failure(place, "; ".join([f"{entry.key!r} has no title", *notes]))
    date = _date(fields, notes)
    work = Work(
        title=title,
        abstract=_ESCAPED.sub(r"\1", fields.get("abstract", "")),
        authors=_authors(fields.get("author") or fields.get("editor") or ""),
        year=int(date[:4]) if date else None,
        venue=readable(next((fields[name] for name in _VENUE if fields.get(name)), "")),
        identifiers=tuple(_identifiers(fields, notes)),
        tags=notes.tags("keyword", _split(fields.get("keywords", "")))
        + notes.tags("arxiv", _split(fields.get("primaryclass", "")))
        + notes.tags("msc", codes(fields.get("mrclass", ""))),
        citations=tuple(local_link(source.name, each, "part") for each in _split(fields.get("crossref", ""))),
        license=_license(fields),
        kind=entry.kind,
        date=date,
    )
    return Entry(place, entry.key, work, tuple(notes))


def _license(fields: Fields) -> str | None:
    """Return the license of an entry; `rights` and `copyright` mostly name the owner and seldom a license."""
    licenses = [license_of(readable(fields.get(name, ""))) for name in ("license", "rights", "copyright")]
    known = (each for each in licenses if permission_of(each))
    return licenses[0] or next(known, None) or next(filter(None, licenses), None)


def _authors(text: str) -> tuple[str, ...]:
    """Return the people of a field; braces keep group names together, as in `{Barnes and Noble}`."""
    from bibtexparser.middlewares.names import split_multiple_persons_names

    return tuple(map(readable, people([_one(each) for each in split_multiple_persons_names(text)])))


def _one(name: str) -> str:
    """Remove the braces of a group name, whose commas separate nothing."""
    if name.startswith("{") and name.endswith("}") and "{" not in name[1:]:
        return name[1:-1].replace(",", " ")
    return name


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.replace(";", ",").split(",") if each.strip()]


def _date(fields: Fields, notes: Problems) -> str | None:
    """Return BibLaTeX's date, or BibTeX's year and month."""
    if given := fields.get("date"):
        return notes.date(given.partition("/")[0].rstrip("~?%"))
    year = notes.year(fields.get("year", "").strip("{}() "))
    month = month_of(fields.get("month", ""))
    if year is None:
        return None
    return notes.date(f"{year:04}-{month:02}" if month else f"{year:04}")


def _identifiers(fields: Fields, notes: Problems) -> Iterator[Identifier]:
    for name, scheme in _IDENTIFIERS.items():
        yield from notes.identifiers(scheme, fields.get(name, "").replace("\\_", "_"))
    whole = (parse_identifier(fields.get(name, "")) for name in _NAMED)
    among = (mentioned_arxiv(fields.get(name, "")) for name in _MENTIONS)
    yield from dict.fromkeys(each for each in (*whole, *among) if each and each.scheme == "arxiv")
