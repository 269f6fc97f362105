"""Code as its readers look for it: definitions before mentions, signatures before bodies, sources before their copies.

Only candidates of kind `code` move. Every reason is a factor of the score, so nothing is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile

import numpy as np

from rifflux.retrieve.fuse.base import weights_of
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.anchors import AMID, Bearing
from rifflux.retrieve.table import NAMED, OUTRIGHT, SCORE, Candidates, declare, product
from rifflux.store import CodePiece
from rifflux.types import Hit, Query, Scores

STAGE = "code"
declare("code/*", "factor", "the factor for a definition that was asked for, and for tests, copies and vendored code")

#: A name has at most so many words, and so many of the best candidates are looked at.
_MOST_PARTS = 6
_LOOKED_AT = 200
# Characters before a name on the line that defines it, and behind it where its parameters are.
_LONGEST_LEAD = 200
_LONGEST_TAIL = 500
# A question of so many words may be quoted from a comment, where it shares that many of its runs of three words.
_SENTENCE = 5
_LEAST_QUOTED = 0.66
_MARKS = re.compile(r"[^\w']+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_OWNED = re.compile(r"\.|::|->|#")
_PARAMETERS = re.compile(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>")
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*")

# What stands before a name where it is defined: words that declare, among others; nothing that calls or compares.
_DECLARES = (
    r"(?:class|struct|interface|trait|enum|module|mod|namespace|object|protocol|extension|contract|def|defp|defmodule"
    r"|defmacro|function\s*\*?|func|fun|fn|type|record|union|sub|proc|macro(?:_rules!)?|const|let|var|val|table|view"
    r"|procedure|trigger)"
)
_WORDS = r"(?:[\w<>,*&\[\]:.@()'#]+[ \t]+){0,6}?"
_OPENS = r"\s*(?:<[^\n=]*>)?\s*\([^;]{0,400}?\)[^;=\n]{0,80}\{"
_NEVER = re.compile(
    r"[ \t]*(?:return|await|throw|raise|yield|new|delete|import|from|use|using|assert|else|case|if|while|impl)\b"
)

_TESTS = frozenset(
    ["test", "tests", "testing", "__tests__", "spec", "specs", "bench", "benches", "benchmark", "benchmarks"]
) | {"fixtures", "testdata"}
_VENDORED = frozenset(
    ["vendor", "vendored", "_vendor", "node_modules", "third_party", "third-party", "external", "site-packages"]
)
_BUILT = frozenset(["dist", "build", "out", "target", "generated"])
_SOURCES = frozenset(["src", "lib", "source", "sources"])
_TEST_NAME = re.compile(r"(?:\A|[._-])(?:tests?|spec|bench)[._-]")
_COPY_NAME = re.compile(r"\.(?:d\.[cm]?ts|cjs|min\.\w+|bundle\.\w+|umd\.\w+)\Z|[._-](?:min|bundle)\.\w+\Z")


@lru_cache(maxsize=1 << 14)
def parts(name: str) -> tuple[str, ...]:
    """Return the words that a name is made of: `safe`, `join` of `safe_join`, of `safeJoin` and of `safe join`."""
    return tuple(part.lower() for part in _PART.findall(name))


@dataclass(frozen=True)
class Definitions:
    """Lifts what defines a name that the question asks for, and puts aside what is rarely meant.

    A piece under the name that defines it counts `defining` times more, one that defines it inside something else
    `inside` times, and `exact` times more again if it is spelled alike; other pieces under that name `bearing` times.
    What a sentence is quoted from counts up to 1 + `quoting` times more. Tests, vendored code, and copies that were
    built of other files count `aside`; a copy of a better candidate's definition counts `twin`. Of the pieces of one
    definition, the one with the signature takes the place of the best.
    """

    defining: float = 8.0
    inside: float = 5.0
    bearing: float = 2.0
    exact: float = 2.0
    quoting: float = 2.0
    aside: float = 0.7
    twin: float = 0.5

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates in their new order, with a column for each reason."""
        if not len(table):
            return table
        seen = plan.evidence.code_of(table.ids[:_LOOKED_AT])
        if not seen:
            return table
        pieces = [_Piece(seen[id]) if id in seen else None for id in table.ids[:_LOOKED_AT].tolist()]
        factors, defining = self._factors(Bearing(plan, table.ids[:_LOOKED_AT], weights_of(plan)), pieces)
        scores = table[SCORE] * product(factors.values(), len(table))
        scores, factors = self._without_twins(pieces, scores, factors)
        before = scores.copy()
        scores = _signatures_first(pieces, scores, factors)
        changed = scores[: len(pieces)] / np.where(before, before, 1.0)[: len(pieces)]
        factors["signature"] = np.where(changed == 1, np.nan, changed)
        if np.array_equal(scores, table[SCORE]):
            return table
        named = np.nan_to_num(table[NAMED])
        outright = np.nan_to_num(table[OUTRIGHT])
        named[: len(pieces)] = np.maximum(named[: len(pieces)], defining)
        outright[: len(pieces)][defining > 0] = 1.0
        table = table.with_column(NAMED, named).with_column(OUTRIGHT, outright)
        return table.factored(STAGE, factors, scores)

    def _factors(self, evidence: Bearing, pieces: Sequence[_Piece | None]) -> tuple[dict[str, Scores], Scores]:
        """Return the factors of the pieces by reason, and how far the question is a name that each defines."""
        query = evidence.plan.query
        asked = _names_in(query)
        runs = _runs(query.semantic_text or query.text)
        columns = {
            name: np.full(len(pieces), np.nan) for name in ("defines", "spelling", "named", "quoted", "aside", "twin")
        }
        found = [{name: written for name in asked if piece and (written := piece.defines(name))} for piece in pieces]
        defining = np.zeros(len(pieces))
        bearing = np.zeros(len(pieces))
        for name in asked:
            holders = [name in each for each in found]
            called = [piece is not None and piece.is_under(name) for piece in pieces]
            terms = query.words[name]
            if name == (query.semantic_text or query.text):
                sureness = 1.0
            else:
                sureness = AMID
            defining = np.maximum(defining, evidence.strength(terms, evidence.ids[holders], sureness))
            bearing = np.maximum(bearing, evidence.strength(terms, evidence.ids[called], sureness))
        for place, piece in enumerate(pieces):
            if piece is None:
                continue
            if found[place]:
                under = any(piece.is_under(each) for each in found[place])
                columns["defines"][place] = 1 + ((self.defining if under else self.inside) - 1) * defining[place]
                if not found[place].keys().isdisjoint(found[place].values()):
                    columns["spelling"][place] = 1 + (self.exact - 1) * defining[place]
            elif bearing[place]:
                columns["named"][place] = 1 + (self.bearing - 1) * bearing[place]
            if runs and (share := piece.shared(runs)) >= _LEAST_QUOTED:
                columns["quoted"][place] = 1 + self.quoting * share
            if piece.place.aside:
                columns["aside"][place] = self.aside
        return columns, defining

    def _without_twins(
        self, pieces: Sequence[_Piece | None], scores: Scores, factors: dict[str, Scores]
    ) -> tuple[Scores, dict[str, Scores]]:
        """Return the scores, where what repeats the definition of a better source is lowered."""
        best: dict[tuple[str, tuple[str, ...]], int] = {}
        order = np.argsort(-scores[: len(pieces)], kind="stable").tolist()
        # Sources speak for their copies, whichever ranks higher.
        for place in sorted(order, key=lambda at: bool((piece := pieces[at]) and piece.place.is_copy)):
            piece = pieces[place]
            if piece is None or not piece.own:
                continue
            first = best.setdefault((piece.place.root, piece.own), place)
            other = pieces[first]
            if other and other.path != piece.path and (piece.place.is_copy or other.body == piece.body):
                factors["twin"][place] = self.twin
                scores[place] = min(scores[place], scores[first]) * self.twin
        return scores, factors


@dataclass(frozen=True, slots=True)
class OnlyDefining:
    """Keeps the passages of source code that define a name: those that spell it so, or else all that have its words.

    What stands before it is its owner: `Router.Handle` is a `Handle` under the heading `Router`.
    """

    name: str

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates that define the name."""
        del plan
        written = [self._written(hit) for hit in table.passages]
        exact = [place for place, each in enumerate(written) if each == _last(self.name)]
        return table.take(exact or [place for place, each in enumerate(written) if each])

    def _written(self, hit: Hit) -> str:
        """Return the name as a passage writes it that defines it, or nothing."""
        if hit.heading_path:
            headings = tuple(hit.heading_path.split(" > "))
        else:
            headings = ()
        owner = self.name.removesuffix(_last(self.name)).rstrip(".:->#")
        if hit.kind != "code" or _last(owner).lower() not in hit.heading_path.lower():
            return ""
        return _Piece(CodePiece(hit.path, headings, hit.text)).defines(_last(self.name))


@dataclass(frozen=True, slots=True)
class _Place:
    """What a path says of a file: whether it is a copy of another, and whether that or a test or somebody else's.

    Its copies would be in `root` too: what stands before folders of sources and of what was built.
    """

    root: str
    is_copy: bool
    aside: bool


@lru_cache(maxsize=1 << 14)
def _place(path: str) -> _Place:
    *folders, name = path.lower().split("/")
    kept = [*takewhile(lambda folder: folder not in _SOURCES and folder not in _BUILT, folders)]
    is_copy = not _BUILT.isdisjoint(folders) or bool(_COPY_NAME.search(name))
    aside = is_copy or not (_TESTS | _VENDORED).isdisjoint(folders) or bool(_TEST_NAME.search(name))
    return _Place("/".join(kept), is_copy, aside)


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
        if self.piece.headings:
            return _last(self.piece.headings[-1])
        return ""

    @cached_property
    def own(self) -> tuple[str, ...]:
        return parts(self.symbol)

    @cached_property
    def body(self) -> str:
        return " ".join(self.piece.text.split())

    @cached_property
    def plain(self) -> str:
        """Return the words of the passage with single blanks, without the marks of comments."""
        return f" {' '.join(_MARKS.sub(' ', self.lowered).split())} "

    def shared(self, runs: Sequence[str]) -> float:
        """Return the share of some runs of words that the passage has; 0 where it is below what counts."""
        # Most passages lack a word here and there, which is seen without taking them apart.
        lacking = sum(1 for run in runs if run.split(" ", 2)[1] not in self.lowered)
        if lacking > (1 - _LEAST_QUOTED) * len(runs):
            return 0.0
        return sum(run in self.plain for run in runs) / len(runs)

    @cached_property
    def place(self) -> _Place:
        return _place(self.piece.path)

    def is_under(self, name: str) -> bool:
        return bool(self.symbol) and parts(self.symbol) == parts(name)

    @cached_property
    def lowered(self) -> str:
        return self.piece.text.lower()

    def defines(self, name: str) -> str:
        """Return a name as it is written where this passage defines it; nothing where it does not."""
        words = parts(name)
        held = bool(words) and all(word in self.lowered for word in words)
        if held:
            return _defined(self.piece.text, words, under=self.is_under(name))
        return ""


@lru_cache(maxsize=1 << 14)
def _last(name: str) -> str:
    """Return a name without that of its owner and without its parameters: `send` of `Response<T>::send`."""
    return _OWNED.split(_PARAMETERS.sub("", name).rstrip())[-1]


def _runs(text: str) -> list[str]:
    """Return the runs of three words of a question that is a sentence."""
    words = _MARKS.sub(" ", text.lower()).split()
    if len(words) >= _SENTENCE:
        return [f" {' '.join(words[at : at + 3])} " for at in range(len(words) - 2)]
    return []


def _names_in(query: Query) -> list[str]:
    """Return the names in a question: the whole of it where it may be one, and what looks like one in it."""
    text = query.semantic_text or query.text
    if 0 < len(parts(text)) <= _MOST_PARTS and not re.search(r"[^\w\s.$:#>-]", text):
        whole = [text]
    else:
        whole = []
    if query.understanding:
        marked = query.understanding.identifiers
    else:
        marked = ()
    named = [name for name in marked if _NAME.fullmatch(name)]
    last = (_last(each) for each in [*whole, *named])
    return list(dict.fromkeys(filter(parts, [*whole, *named, *last])))


@dataclass(frozen=True, slots=True)
class _Name:
    """How a name may be written, and what a line looks like that defines it, or that it begins."""

    words: tuple[str, ...]
    written: re.Pattern[str]
    defining: re.Pattern[str]
    beginning: re.Pattern[str]


@lru_cache(maxsize=1 << 12)
def _name(words: tuple[str, ...]) -> _Name:
    """Return the patterns of a name of these words, however it joins them."""
    name = rf"[_$#]*{'_*'.join(re.escape(word) for word in words)}_*(?![\w$])"
    function = r"(?:async\s+)?(?:function\b|class\b|\([^()\n]*\)\s*(?::[^=\n]+)?=>|[\w$]+\s*=>)"
    defining = (
        rf"[ \t]*(?:{_WORDS}{_DECLARES}[ \t]+(?:\([^()\n]*\)[ \t]*|[\w.]+[.:])?{name}(?!\s*;)"
        rf"|{_WORDS}{name}{_OPENS}"
        rf"|(?:[\w$]+\.)+{name}\s*=\s*(?:[\w$.]+\s*=\s*)*{function}"
        rf"|{name}\s*[:=]\s*{function})"
    )
    beginning = rf"(?![ \t]*[*/#])[ \t]*{_WORDS}(?:[\w$]+\.)*{name}[ \t]*(?:[(<{{]|:(?!:)|=(?!=))"
    patterns = (rf"(?<![^\W_]){name}", defining, beginning)
    return _Name(words, *(re.compile(each, re.IGNORECASE) for each in patterns))


def _defined(text: str, words: tuple[str, ...], *, under: bool) -> str:
    """Return a name as the line writes it that defines it, or nothing; `under` it, a line will do that it begins."""
    name = _name(words)
    seen = -1
    for found in name.written.finditer(text):
        start = text.rfind("\n", 0, found.start()) + 1
        if start != seen and found.start() - start < _LONGEST_LEAD and not _NEVER.match(text, start):
            # A parameter list may go on for some lines.
            end = found.end() + _LONGEST_TAIL
            if name.defining.match(text, start, end) or (under and name.beginning.match(text, start, end)):
                return found.group()
        seen = start
    return ""


def _signatures_first(pieces: Sequence[_Piece | None], scores: Scores, factors: Mapping[str, Scores]) -> Scores:
    """Return the scores, where of the pieces of one definition that with the signature has the best.

    What defines an asked name inside it, or is quoted from below the signature, stays where it is.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for place, piece in enumerate(pieces):
        if piece is not None and piece.symbol:
            groups.setdefault((piece.path, piece.piece.headings), []).append(place)
    for places in groups.values():
        best = max(places, key=lambda place: float(scores[place]))
        if len(places) == 1 or np.isfinite(factors["defines"][best]):
            continue
        signed = next((at for at in places if (each := pieces[at]) and each.defines(each.symbol)), best)
        if signed != best and not (np.isfinite(factors["quoted"][best]) and _follows(pieces[best], pieces[signed])):
            scores[signed], scores[best] = scores[best], max(scores[signed], scores[best] * (1 - 1e-6))
    return scores


def led_by_signatures(table: Candidates, scores: Scores) -> Scores:
    """Return other scores of candidates that were read, where of a definition's pieces the signature has the best."""
    pieces: list[_Piece | None] = []
    for hit in table.passages:
        headings = tuple(filter(None, hit.heading_path.split(" > ")))
        code = CodePiece(hit.path, headings, hit.text, hit.chunk_index)
        pieces.append(_Piece(code) if hit.kind == "code" else None)
    factors = {name: table[f"{STAGE}/{name}"] for name in ("defines", "quoted")}
    if any(pieces):
        return _signatures_first(pieces, scores.copy(), factors)
    return scores


def _follows(one: _Piece | None, other: _Piece | None) -> bool:
    return bool(one and other and one.piece.position > other.piece.position)
