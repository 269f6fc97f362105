"""Ranking of source code: definitions before mentions, signatures before bodies, sources before copies.

Only candidates of kind `code` move. Every reason is a factor of the score and appears in the explanation.
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
from rifflux.retrieve.table import NAMED, OUTRIGHT, SCORE, Candidates, declare, filled, product
from rifflux.store import CodePiece
from rifflux.types import Hit, Query, Scores

STAGE = "code"
declare("code/*", "factor", "the factor for a requested definition, and for tests, copies and vendored code")

#: The maximum number of words in a name, and of candidates examined.
_MOST_PARTS = 6
_LOOKED_AT = 200
# The maximum characters before a name on the line that defines it, and after it for its parameters.
_LONGEST_LEAD = 200
_LONGEST_TAIL = 500
# The minimum words of a query that may be quoted from a comment, and the minimum share of its runs of three words.
_SENTENCE = 5
_LEAST_QUOTED = 0.66
_MARKS = re.compile(r"[^\w']+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_OWNED = re.compile(r"\.|::|->|#")
_PARAMETERS = re.compile(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>")
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*")

# Patterns of what precedes a name in its definition: declaring words among others, but nothing that calls or compares.
_DECLARES = (
    r"(?:class|struct|interface|trait|enum|module|mod|namespace|object|protocol|extension|contract|def|defp|defmodule"
    r"|defmacro|function\s*\*?|func|fun|fn|type|record|union|sub|proc|macro(?:_rules!)?|const|let|var|val|table|view"
    r"|procedure|trigger)"
)
_WORDS = r"(?:[\w<>,*&\[\]:.@()'#]+[ \t]+){0,6}?"
_OPENS = r"\s*(?:<[^\n=]*>)?\s*\([^;]{0,400}?\)[^;=\n]{0,80}\{"
_FUNCTION = r"(?:async\s+)?(?:function\b|class\b|\([^()\n]*\)\s*(?::[^=\n]+)?=>|[\w$]+\s*=>)"
#: What stands before and behind a name on a line that defines it, and on one that begins with it.
_DEFINING = tuple(
    (re.compile(lead, re.IGNORECASE), re.compile(tail, re.IGNORECASE))
    for lead, tail in (
        (rf"[ \t]*{_WORDS}{_DECLARES}[ \t]+(?:\([^()\n]*\)[ \t]*|[\w.]+[.:])?", r"(?!\s*;)"),
        (rf"[ \t]*{_WORDS}", _OPENS),
        (r"[ \t]*(?:[\w$]+\.)+", rf"\s*=\s*(?:[\w$.]+\s*=\s*)*{_FUNCTION}"),
        (r"[ \t]*", rf"\s*[:=]\s*{_FUNCTION}"),
    )
)
_BEGINNING = (
    re.compile(rf"(?![ \t]*[*/#])[ \t]*{_WORDS}(?:[\w$]+\.)*", re.IGNORECASE),
    re.compile(r"[ \t]*(?:[(<{]|:(?!:)|=(?!=))"),
)
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
    """Return the words of a name: `safe` and `join` for `safe_join`, `safeJoin` and `safe join`."""
    return tuple(part.lower() for part in _PART.findall(name))


@dataclass(frozen=True)
class Definitions:
    """Raises definitions of names in the query and lowers pieces that are rarely meant.

    A piece whose heading is the defined name is multiplied by `defining`, one that defines it inside something else by
    `inside`, and again by `exact` if the spelling is identical; other pieces under that name by `bearing`. A piece that
    contains the query as a quotation is multiplied by up to 1 + `quoting`. Tests, vendored code and copies built from
    other files are multiplied by `aside`; a copy of a better candidate's definition by `twin`. Of the pieces of one
    definition, the one with the signature takes the best position.
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
        seen = plan.evidence.code_of(table.ids[:_LOOKED_AT], table.ids[: plan.passages])
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
        named = filled(table[NAMED])
        outright = filled(table[OUTRIGHT])
        named[: len(pieces)] = np.maximum(named[: len(pieces)], defining)
        outright[: len(pieces)][defining > 0] = 1.0
        table = table.with_column(NAMED, named).with_column(OUTRIGHT, outright)
        return table.factored(STAGE, factors, scores)

    def _factors(self, evidence: Bearing, pieces: Sequence[_Piece | None]) -> tuple[dict[str, Scores], Scores]:
        """Return the factors of the pieces by reason, and how far the query is a name that each piece defines."""
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
        """Return the scores with copies of a better source's definition lowered."""
        best: dict[tuple[str, tuple[str, ...]], int] = {}
        order = np.argsort(-scores[: len(pieces)], kind="stable").tolist()
        # Sources take precedence over their copies, whichever rank higher.
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
    """Selects passages of source code that define a name: exact spellings, otherwise all with its words.

    A qualifier is the owner: `Router.Handle` is a `Handle` under the heading `Router`.
    """

    name: str

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates that define the name."""
        del plan
        written = [self._written(hit) for hit in table.passages]
        exact = [place for place, each in enumerate(written) if each == _last(self.name)]
        return table.take(exact or [place for place, each in enumerate(written) if each])

    def _written(self, hit: Hit) -> str:
        """Return the name as spelled in a passage that defines it, or an empty string."""
        if hit.heading_path:
            headings = tuple(hit.heading_path.split(" > "))
        else:
            headings = ()
        owner = self.name.removesuffix(_last(self.name)).rstrip(".:->#")
        if hit.kind != "code" or _last(owner).lower() not in hit.heading_path.lower():
            return ""
        return _Piece(CodePiece(hit.path, headings, hit.text)).defines(_last(self.name))


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Properties of a file by its path: whether it is a copy, and the words that show a copy, a test or vendored code.

    `root` is the path before folders of sources and build output, which copies share with their source.
    """

    root: str
    is_copy: bool
    aside: Sequence[str]


@lru_cache(maxsize=1 << 14)
def file_place(path: str) -> FilePlace:
    """Return the properties of a file by its path."""
    *folders, name = path.lower().split("/")
    kept = [*takewhile(lambda folder: folder not in _SOURCES and folder not in _BUILT, folders)]
    is_copy = not _BUILT.isdisjoint(folders) or bool(_COPY_NAME.search(name))
    aside = [folder for folder in folders if folder in _TESTS | _VENDORED | _BUILT]
    return FilePlace("/".join(kept), is_copy, (*aside, *_TEST_NAME.findall(name), *_COPY_NAME.findall(name)))


@dataclass(frozen=True)
class _Piece:
    """A passage of source code: the names it may define, and its path's properties."""

    piece: CodePiece

    @property
    def path(self) -> str:
        return self.piece.path

    @cached_property
    def symbol(self) -> str:
        """Return the unqualified name of the definition that this is a piece of."""
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
        """Return the words of the passage, separated by single spaces, without comment marks."""
        return f" {' '.join(_MARKS.sub(' ', self.lowered).split())} "

    def shared(self, runs: tuple[str, ...]) -> float:
        """Return the share of word runs found in the passage, or 0 below the minimum."""
        # Most passages lack words of the runs, which is detected without normalizing their text.
        lowered = self.lowered
        left = (1 - _LEAST_QUOTED) * len(runs)
        for word in _first_words(runs):
            left -= word not in lowered
            if left < 0:
                return 0.0
        return sum(run in self.plain for run in runs) / len(runs)

    @cached_property
    def place(self) -> FilePlace:
        return file_place(self.piece.path)

    def is_under(self, name: str) -> bool:
        return bool(self.symbol) and parts(self.symbol) == parts(name)

    @cached_property
    def lowered(self) -> str:
        return self.piece.text.lower()

    def defines(self, name: str) -> str:
        """Return the name as spelled where this passage defines it, or an empty string."""
        words = parts(name)
        held = bool(words) and all(word in self.lowered for word in words)
        if held:
            return _defined(self.piece.text, words, under=self.is_under(name))
        return ""


@lru_cache(maxsize=1 << 14)
def _last(name: str) -> str:
    """Return a name without its qualifier and parameters: `send` of `Response<T>::send`."""
    return _OWNED.split(_PARAMETERS.sub("", name).rstrip())[-1]


def _runs(text: str) -> tuple[str, ...]:
    """Return the runs of three words of a query that is a sentence."""
    words = _MARKS.sub(" ", text.lower()).split()
    if len(words) >= _SENTENCE:
        return tuple(f" {' '.join(words[at : at + 3])} " for at in range(len(words) - 2))
    return ()


@lru_cache(maxsize=64)
def _first_words(runs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first word of each run."""
    return tuple(run.split(" ", 2)[1] for run in runs)


def _names_in(query: Query) -> list[str]:
    """Return the names in a query: the whole query if it may be a name, and identifiers in it."""
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


@lru_cache(maxsize=1 << 12)
def _written(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a name of the given words, however they are joined."""
    return re.compile(rf"(?<![^\W_])[_$#]*{'_*'.join(re.escape(word) for word in words)}_*(?![\w$])", re.IGNORECASE)


def _defined(text: str, words: tuple[str, ...], *, under: bool) -> str:
    """Return the name as spelled in its definition; `under` its heading, a line that begins with it suffices.

    What stands around a name is matched apart from it: patterns that contain the name would be compiled for each one.
    """
    around = (*_DEFINING, _BEGINNING) if under else _DEFINING
    for found in _written(words).finditer(text):
        name, behind = found.span()
        start = text.rfind("\n", 0, name) + 1
        if name - start < _LONGEST_LEAD and not _NEVER.match(text, start):
            # A parameter list may span several lines.
            end = behind + _LONGEST_TAIL
            if any(lead.fullmatch(text, start, name) and tail.match(text, behind, end) for lead, tail in around):
                return found.group()
    return ""


def _signatures_first(pieces: Sequence[_Piece | None], scores: Scores, factors: Mapping[str, Scores]) -> Scores:
    """Return the scores with the best score of each definition's pieces moved to the one with the signature.

    A piece that defines a requested name inside, or is quoted from below the signature, keeps its position.
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
    """Return new scores of candidates with passages, giving each definition's best score to its signature."""
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
