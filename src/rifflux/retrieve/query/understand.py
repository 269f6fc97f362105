"""A question as it was typed becomes a Query: words, phrases, exclusions, prefixes and facets.

    "exact phrase"   must occur, its words next to each other; in a longer question that only mentions one
                     (more words outside quotes than inside), it counts extra instead
    -word  -"a b"    must not occur
    start*           any word that begins so
    field:value      for the facets the profile declares; anything else with a colon is plain words

Everything that is not clearly one of these is plain words. No input is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rifflux.text.analyzer import Analyzer, fold
from rifflux.types import Clause, Filter, Query

__all__ = ["parted", "understand"]

_PIECE = re.compile(
    r"""
    (?:(?<=\s)|^)(?P<minus>-)?"(?P<phrase>[^"]+)"
    | (?:(?<=\s)|^)-(?P<without>[^\W\d][^\s"]*)
    | (?:(?<=\s)|^)(?P<field>[^\W\d]\w*):(?:"(?P<quoted>[^"]+)"|(?P<value>[^\s":/][^\s"]*))
    | (?:(?<=\s)|^)(?P<prefix>\w[\w.-]+)\*(?=\s|$)
    | (?P<words>\S+|\s+)
    """,
    re.VERBOSE,
)

#: A facet's value that is a number may be stored as one.
_WHOLE, _DECIMAL = re.compile(r"-?\d{1,18}\Z"), re.compile(r"-?\d{1,15}\.\d{1,15}\Z")
#: A question without these is plain words.
_SYNTAX = frozenset('"-:*')


@dataclass
class _Reading:
    """The parts collected so far while going through the pieces of a question."""

    words: list[str] = field(default_factory=list)
    meaning: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    facets: dict[str, list[str]] = field(default_factory=dict)


def understand(text: str, analyzer: Analyzer, facets: Collection[str] = (), filter: Filter | None = None) -> Query:
    """Analyze a question. `facets` are the metadata fields that `field:value` may name, besides kind and path."""
    text = _comparable(text)
    reading = _read(text, {*facets, "kind", "path"})
    plain, meaning = " ".join(reading.words), " ".join(" ".join(reading.meaning).split())
    words, phrases = analyzer.terms(plain), _clauses(reading.required, analyzer)
    asked, limits = _halves(text, reading)
    mentioned = len(words) > sum(map(len, phrases))
    return Query(
        text=text,
        clauses=_alternatives(words, phrases if mentioned else ()),
        required=() if mentioned else phrases,
        excluded=_clauses(reading.excluded, analyzer),
        prefixes=tuple(dict.fromkeys(_prefixes(reading.prefixes, analyzer))),
        semantic_text=meaning,
        terms=tuple(words if reading.words == reading.meaning else analyzer.terms(meaning)),
        asked=asked,
        limits=limits,
        filter=_narrowed(filter or Filter(), reading.facets),
    )


def parted(text: str, facets: Collection[str] = ()) -> tuple[str, str]:
    """Return what a question asks for, and its exclusions and facets; each half is read as in the whole."""
    text = _comparable(text)
    return _halves(text, _read(text, {*facets, "kind", "path"}))


def _halves(text: str, reading: _Reading) -> tuple[str, str]:
    if not reading.asked and not reading.limits:
        return text, ""
    return " ".join("".join(reading.asked).split()), " ".join(reading.limits)


def _comparable(text: str) -> str:
    """Replace halves of surrogate pairs, as a broken terminal may send: nothing can store or compare them."""
    return text.encode("utf-8", "replace").decode()


def _alternatives(words: Sequence[str], phrases: Sequence[Clause]) -> tuple[Clause, ...]:
    """Return every word by itself, those of the phrases too, and the phrases whole; each once."""
    singles = [(word,) for word in (*words, *(word for phrase in phrases for word in phrase))]
    return tuple(dict.fromkeys([*singles, *phrases]))


def _read(text: str, facets: Collection[str]) -> _Reading:
    if _SYNTAX.isdisjoint(text):
        return _Reading([text], [text])
    reading = _Reading()
    for piece in _PIECE.finditer(text):
        narrows = piece["minus"] or piece["without"] or piece["field"] in facets
        (reading.limits if narrows else reading.asked).append(piece[0])
        kind = piece.lastgroup if piece.lastgroup not in ("quoted", "value") else "field"
        if kind == "phrase" and piece["minus"]:
            reading.excluded.append(piece["phrase"])
        elif kind == "phrase":
            reading.required.append(piece["phrase"])
            reading.meaning.append(piece["phrase"])
        elif kind == "without":
            reading.excluded.append(piece["without"])
        elif kind == "field" and piece["field"] in facets:
            reading.facets.setdefault(piece["field"], []).append(piece["quoted"] or piece["value"])
        else:
            if kind == "prefix":
                reading.prefixes.append(piece["prefix"])
            reading.words.append(piece[0] if kind != "prefix" else "")
            reading.meaning.append(piece["prefix"] or piece[0])
    return reading


def _clauses(phrases: list[str], analyzer: Analyzer) -> tuple[Clause, ...]:
    found = (tuple(analyzer.terms(phrase)) for phrase in phrases)
    return tuple(dict.fromkeys(clause for clause in found if clause))


def _prefixes(prefixes: list[str], analyzer: Analyzer) -> Iterator[str]:
    """Yield each prefix as typed and as a stem: stored terms are stems, so `configuration*` must find `configur`."""
    for prefix in prefixes:
        yield fold(prefix)
        yield from analyzer.terms(prefix)[:1]


def _narrowed(filter: Filter, facets: dict[str, list[str]]) -> Filter:
    if not facets:
        return filter
    metadata = {
        name: [each for value in values for each in _readings(value)]
        for name, values in facets.items()
        if name not in ("kind", "path")
    }
    return replace(
        filter,
        kinds=(*filter.kinds, *facets.get("kind", ())),
        paths=(*filter.paths, *facets.get("path", ())),
        metadata={**filter.metadata, **metadata},
    )


def _readings(value: str) -> Iterator[str | int | float]:
    """Yield a facet's value as it was typed, and as the number that it may be stored as."""
    yield value
    if _WHOLE.match(value):
        yield int(value)
    elif _DECIMAL.match(value):
        yield float(value)
