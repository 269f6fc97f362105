"""Code as its readers look for it: definitions before mentions, signatures before bodies, sources before their copies.

Only candidates of kind `code` move. Every reason is a factor of the score, so nothing is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import PurePosixPath

import numpy as np

from rifflux.retrieve.table import RANK, SCORE, Candidates, declare
from rifflux.store import CodePiece, Store
from rifflux.types import Query, Scores

__all__ = ["STAGE", "Definitions", "parts"]

STAGE = "code"
declare("code/*", "factor", "the factor for a definition that was asked for, and for tests, copies and vendored code")

#: A name has at most so many words, and so many of the best candidates are looked at.
_MOST_PARTS, _LOOKED_AT = 6, 120
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*")

# What stands before a name where it is defined: words that declare, among others; nothing that calls or compares.
_DECLARES = (
    r"(?:class|struct|interface|trait|enum|module|mod|namespace|object|protocol|extension|contract|def|defp|defmodule"
    r"|defmacro|function\s*\*?|func|fun|fn|type|record|union|sub|proc|macro(?:_rules!)?|const|let|var|val|impl(?:<[^>\n]*>)?"
    r"|table|view|procedure|trigger)"
)
_WORDS = r"(?:[\w<>,*&\[\]:.@()'#]+[ \t]+){0,6}?"
_OPENS = r"\s*(?:<[^\n=]*>)?\s*\([^;]{0,400}?\)[^;=\n]{0,80}\{"
_NEVER = re.compile(
    r"[ \t]*(?:return|await|throw|raise|yield|new|delete|import|from|use|using|assert|else|case|if|while)\b"
)

_TESTS = frozenset(
    ["test", "tests", "testing", "__tests__", "spec", "specs", "bench", "benches", "benchmark", "benchmarks"]
) | {"fixtures", "testdata"}
_VENDORED = frozenset(
    ["vendor", "vendored", "_vendor", "node_modules", "third_party", "third-party", "external", "site-packages"]
)
_BUILT = frozenset(["dist", "build", "out", "target", "generated"])
_TEST_NAME = re.compile(r"(?:\A|[._-])(?:tests?|spec|bench)(?:[._-]|\Z)")
_COPY_NAME = re.compile(r"\.(?:d\.[cm]?ts|cjs|min\.\w+|bundle\.\w+|umd\.\w+)\Z|[._-](?:min|bundle)\.\w+\Z")


def parts(name: str) -> tuple[str, ...]:
    """Return the words that a name is made of: `safe`, `join` of `safe_join`, of `safeJoin` and of `safe join`."""
    return tuple(part.lower() for part in _PART.findall(name))


@dataclass(frozen=True)
class Definitions:
    """Lifts what defines a name that the question asks for, and puts aside what is rarely meant.

    A piece that defines the name counts `defining` times more, `exact` times more again if it is spelled alike; other
    pieces under that name `bearing` times. Tests, copies that were built of other files, and vendored code count
    `aside`; a copy of a better candidate's definition counts `twin`. Of the pieces of one definition, the one with the
    signature takes the place of the best.
    """

    store: Store
    defining: float = 8.0
    bearing: float = 2.0
    exact: float = 1.5
    aside: float = 0.8
    twin: float = 0.5

    def __call__(self, query: Query, table: Candidates) -> Candidates:
        """Return the candidates in their new order, with a column for each reason."""
        if not len(table):
            return table
        seen = self.store.catalog.code_of(table.ids[:_LOOKED_AT])
        if not seen:
            return table
        pieces = [_Piece(seen[id]) if id in seen else None for id in table.ids[:_LOOKED_AT].tolist()]
        factors = self._factors(_asked(query), pieces)
        scores = table[SCORE] * _product(factors, len(table))
        scores, factors = self._without_twins(pieces, scores, factors)
        scores = _signatures_first(pieces, scores)
        if np.array_equal(scores, table[SCORE]):
            return table
        named = {name: _whole(values, len(table)) for name, values in factors.items() if not np.isnan(values).all()}
        before = table.ranks()
        table = table.with_stage(STAGE, named).scored(scores, before)
        moved = (
            ~np.isnan(np.array([table[f"{STAGE}/{name}"] for name in named])).all(0)
            if named
            else np.zeros(len(table), bool)
        )
        told = {"score": table[SCORE], RANK: table.ranks()}
        return table.with_stage(STAGE, {name: np.where(moved, values, np.nan) for name, values in told.items()})

    def _factors(self, asked: Sequence[str], pieces: Sequence[_Piece | None]) -> dict[str, Scores]:
        columns = {name: np.full(len(pieces), np.nan) for name in ("defines", "spelling", "named", "aside", "twin")}
        for place, piece in enumerate(pieces):
            if piece is None:
                continue
            found = [name for name in asked if piece.defines(name)]
            if found:
                columns["defines"][place] = self.defining
                if any(piece.spells(name) for name in found):
                    columns["spelling"][place] = self.exact
            elif any(piece.is_under(name) for name in asked):
                columns["named"][place] = self.bearing
            if piece.aside:
                columns["aside"][place] = self.aside
        return columns

    def _without_twins(
        self, pieces: Sequence[_Piece | None], scores: Scores, factors: dict[str, Scores]
    ) -> tuple[Scores, dict[str, Scores]]:
        """Return the scores, where what repeats the definition of a better source is lowered."""
        best: dict[tuple[str, tuple[str, ...]], int] = {}
        order = np.argsort(-scores[: len(pieces)], kind="stable").tolist()
        # Sources speak for their copies, whichever ranks higher.
        for place in sorted(order, key=lambda at: bool((piece := pieces[at]) and piece.is_copy)):
            piece = pieces[place]
            if piece is None or not piece.own:
                continue
            first = best.setdefault((piece.root, piece.own), place)
            other = pieces[first]
            if other and other.path != piece.path and (piece.is_copy or other.body == piece.body):
                factors["twin"][place] = self.twin
                scores[place] = min(scores[place], scores[first]) * self.twin
        return scores, factors


@dataclass(frozen=True)
class _Piece:
    """A passage of source code: what it may define, and what its path says of it."""

    piece: CodePiece

    @property
    def path(self) -> str:
        return self.piece.path

    @cached_property
    def symbol(self) -> str:
        """Return the name of the definition that it is a piece of, without that of its owner."""
        heading = self.piece.headings[-1] if self.piece.headings else ""
        return re.split(r"\.|::|#", re.sub(r"<.*", "", heading))[-1]

    @cached_property
    def own(self) -> tuple[str, ...]:
        return (self.symbol,) if self.symbol else ()

    @cached_property
    def body(self) -> str:
        return " ".join(self.piece.text.split())

    @cached_property
    def root(self) -> str:
        """Return the folder that its copies would be in too: what stands before source, test and built folders."""
        folders = PurePosixPath(self.path).parts[:-1]
        kept = []
        for folder in folders:
            if folder in _BUILT or folder in ("src", "lib", "source"):
                break
            kept.append(folder)
        return "/".join(kept)

    @cached_property
    def is_copy(self) -> bool:
        path = PurePosixPath(self.path)
        return bool(_BUILT.intersection(path.parts[:-1]) or _COPY_NAME.search(path.name.lower()))

    @cached_property
    def aside(self) -> bool:
        path = PurePosixPath(self.path.lower())
        folders = frozenset(path.parts[:-1])
        return bool(self.is_copy or folders & (_TESTS | _VENDORED) or _TEST_NAME.search(path.stem))

    def is_under(self, name: str) -> bool:
        return bool(self.symbol) and parts(self.symbol) == parts(name)

    def defines(self, name: str) -> bool:
        return _is_defined(self.piece.text, parts(name), under=self.is_under(name))

    def spells(self, name: str) -> bool:
        return self.symbol == name or bool(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", self.piece.text))


def _asked(query: Query) -> list[str]:
    """Return the names that are asked for: the whole question where it may be one, and what looks like one in it."""
    text = query.semantic_text or query.text
    whole = [text] if 0 < len(parts(text)) <= _MOST_PARTS and not re.search(r"[^\w\s.$:#>-]", text) else []
    marked = query.understanding.identifiers if query.understanding else ()
    named = [name for name in marked if _NAME.fullmatch(name)]
    last = [re.split(r"\.|::|->|#", name)[-1] for name in [*whole, *named]]
    return list(dict.fromkeys(filter(parts, [*whole, *named, *last])))


@cache
def _definition(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches the line that defines a name of these words, however it joins them."""
    name = rf"[_$#]*{'_*'.join(map(re.escape, words))}_*(?![\w$])"
    return re.compile(
        rf"^(?P<lead>[ \t]*)(?:"
        rf"{_WORDS}{_DECLARES}[ \t]+(?:\([^()\n]*\)[ \t]*|[\w.]+[.:])?{name}"
        rf"|{_WORDS}{name}{_OPENS}"
        rf"|(?:[\w$]+\.)+{name}\s*=\s*(?:[\w$.]+\s*=\s*)*(?:async\s+)?(?:function\b|class\b|\([^()\n]*\)\s*=>|[\w$]+\s*=>)"
        rf"|{name}\s*[:=]\s*(?:async\s+)?(?:function\b|\([^()\n]*\)\s*(?::[^=\n]+)?=>)"
        rf")",
        re.IGNORECASE | re.MULTILINE,
    )


def _is_defined(text: str, words: tuple[str, ...], *, under: bool) -> bool:
    """Return True if a text has the line that defines a name; `under` it, any line will do that the name begins."""
    if not words or words[0] not in text.lower():
        return False
    for found in _definition(words).finditer(text):
        if not _NEVER.match(found.group()):
            return True
    if not under:
        return False
    name = rf"[_$#]*{'_*'.join(map(re.escape, words))}_*(?![\w$])"
    return bool(
        re.search(rf"^(?![ \t]*(?:[*/#]|return\b)){_WORDS}(?:[\w$]+\.)*{name}[ \t]*[(:=<{{]", text, re.I | re.M)
    )


def _signatures_first(pieces: Sequence[_Piece | None], scores: Scores) -> Scores:
    """Return the scores, where of the pieces of one definition that with the signature has the best."""
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for place, piece in enumerate(pieces):
        if piece is not None and piece.symbol:
            groups.setdefault((piece.path, piece.piece.headings), []).append(place)
    for places in groups.values():
        best = max(places, key=lambda place: float(scores[place]))
        signed = next((at for at in places if (each := pieces[at]) and each.defines(each.symbol)), best)
        if signed != best:
            scores[signed], scores[best] = scores[best], max(scores[signed], scores[best] * (1 - 1e-6))
    return scores


def _product(factors: Mapping[str, Scores], rows: int) -> Scores:
    product = np.ones(rows)
    for values in factors.values():
        product[: len(values)] *= np.where(np.isnan(values), 1.0, values)
    return product


def _whole(values: Scores, rows: int) -> Scores:
    return np.concatenate([values, np.full(rows - len(values), np.nan)])
