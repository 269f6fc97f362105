"""Bibliographies of works in BibTeX and CSL-JSON, which our own importers read back without loss."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from rifflux.errors import InvalidArgument
from rifflux.evidence.pack import Citing, EvidencePack
from rifflux.evidence.verify import verify as verify_pack
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Store
from rifflux.types import Document
from rifflux.works.model import Work, cite_keys, reference_of, work_of

#: The names of kinds of works in BibTeX and in CSL; anything else is `misc` and `document`.
_TYPES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("article", "article-journal", "journal-article", "preprint", "review"), ("article", "article-journal")
    ),
    **dict.fromkeys(("book", "monograph"), ("book", "book")),
    **dict.fromkeys(
        ("inproceedings", "paper-conference", "proceedings-article"), ("inproceedings", "paper-conference")
    ),
    **dict.fromkeys(("incollection", "inbook", "chapter", "book-chapter"), ("incollection", "chapter")),
    **dict.fromkeys(("phdthesis", "mastersthesis", "thesis", "dissertation"), ("phdthesis", "thesis")),
    "techreport": ("techreport", "report"),
}
_VENUE = {"article": "journal", "inproceedings": "booktitle", "incollection": "booktitle", "phdthesis": "school"}
_VENUE |= {"book": "publisher", "techreport": "institution"}
#: The note on a work whose license permits no more than title and identifiers.
_CLOSED = "No license is recorded that permits more: only title and identifiers are told."
_SPECIAL = re.compile(r"(?<!\\)[&%#_]")
_MATH = re.compile(r"(\$[^$]*\$)")


def bibtex(work: Work, key: str, *, complete: bool = True) -> str:
    """Format a work as a BibTeX entry, with a note unless it is `complete`."""
    kind = _kinds(work)[0]
    names = {each.scheme: each.value for each in reversed(work.identifiers)}
    fields = {
        "title": work.title,
        "author": " and ".join(_family_first(name) for name in work.authors),
        _VENUE.get(kind, "howpublished"): work.venue,
        "year": str(work.year or ""),
        "month": work.date[5:7] if work.date and len(work.date) >= 7 else "",
        "doi": names.get("doi", ""),
        "eprint": names.get("arxiv", ""),
        "archiveprefix": "arXiv" if "arxiv" in names else "",
        "isbn": names.get("isbn", ""),
        "keywords": ", ".join(tag.value for tag in work.tags if tag.scheme in ("keyword", "term")),
        "abstract": work.abstract,
        "license": work.license or "",
        "annote": "" if complete else _CLOSED,
    }
    lines = [f"  {name} = {{{_braced(name, value)}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def csl(work: Work, key: str, *, complete: bool = True) -> dict[str, object]:
    """Format a work as an item of CSL-JSON, with a note unless it is `complete`."""
    date = (work.date or f"{work.year:04}" if work.year else "")[:10]
    names = {each.scheme: each.value for each in reversed(work.identifiers)}
    item = {
        "id": key,
        "type": _kinds(work)[1],
        "title": work.title,
        "author": [dict(zip(("family", "given"), _parted(name), strict=True)) for name in work.authors],
        "issued": {"date-parts": [[int(part) for part in date.split("-")]]} if date else None,
        "container-title": work.venue,
        "DOI": names.get("doi"),
        "ISBN": names.get("isbn"),
        "note": f"arXiv:{names['arxiv']}" if "arxiv" in names else None,
        "keyword": ", ".join(tag.value for tag in work.tags if tag.scheme in ("keyword", "term")),
        "abstract": work.abstract,
        "license": work.license,
        "annote": None if complete else _CLOSED,
    }
    return {name: value for name, value in item.items() if value}


class Style(Protocol):
    """A formatter of a work under its citation key, with a note unless the entry is `complete`."""

    def __call__(self, work: Work, key: str, *, complete: bool = True) -> object:
        """Return the entry."""


def has_facts(work: Work) -> bool:
    """Return True if a work has facts beyond its title and identifiers."""
    return bool(work.authors or work.year or work.date or work.venue)


#: Bibliography formats by name.
STYLES: Mapping[str, Style] = {"bibtex": bibtex, "csl": csl}


def style_of(name: str) -> Style:
    """Return the formatter for `bibtex` (text) or `csl` (an item of CSL-JSON). Raises `InvalidArgument`."""
    if name not in STYLES:
        raise InvalidArgument(f"no format {name!r} of a bibliography: choose {' or '.join(STYLES)}")
    return STYLES[name]


def _kinds(work: Work) -> tuple[str, str]:
    return _TYPES.get(
        work.kind.lower(), ("article" if work.venue else "misc", "article-journal" if work.venue else "document")
    )


def _parted(name: str) -> tuple[str, str]:
    """Return the family name and the rest of `Given Family`; an institution is all family name."""
    given, _, family = name.rpartition(" ")
    return family, given


def _family_first(name: str) -> str:
    family, given = _parted(name)
    if given:
        return f"{family}, {given}"
    return f"{{{family}}}"


def _braced(name: str, value: str) -> str:
    """Return a value for braces: special characters outside formulas escaped, braces balanced."""
    if name in ("doi", "eprint", "isbn", "year", "month"):
        return value
    pieces = (piece if piece.startswith("$") else _SPECIAL.sub(r"\\\g<0>", piece) for piece in _MATH.split(value))
    return _balanced("".join(pieces))


def _balanced(text: str) -> str:
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
    if depth == 0:
        return text
    return re.sub(r"(?<!\\)[{}]", "", text)


# Citing works, and verifying packs of works


def _entry(document: Document, key: str, style: str) -> object:
    """Format a work without its abstract, since quoted text counts as evidence."""
    work = work_of(document)
    return style_of(style)(replace(work, abstract=""), key, complete=not document.withheld or has_facts(work))


CITING = Citing(reference_of, cite_keys, _entry)


def verify(
    pack: EvidencePack, store: Store | None = None, visible: LicensePolicy | None = None, parts: Sequence[Store] = ()
) -> list[str]:
    """Return the problems of a pack, one per line, also compared with the documents of `store` if given.

    `visible` is the license policy, by default that of the store's owner. `parts` are the stores of conversations and
    memories.
    """
    rule = visible or LicensePolicy(store=store)
    return verify_pack(pack, CITING, rule.document, *((store, *parts) if store else ()))
