"""Find where a claim says something else than the sentence it was taken from, in nearly the same words.

Shared words do not tell "is kept" from "is not kept", nor "at least" from "at most". A claim is compared with the one
sentence that it resembles most: its negation, its numbers with their units, words of opposite meaning, the sides of a
comparison, and words that claim more than the source does (`always`, `all`, `must`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rifflux.text.analyzer import fold

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|unable|fails? to|refuses? to|instead of"
    r"|hardly|nicht|kein\w*|nie|niemals|ohne|weder|pas|jamais|sans|ninguno?|nunca|sin|non|mai|senza|não|nem|sem"
    r"|niet|geen|nooit|zonder)\b|n['’]t\b",
    re.IGNORECASE,
)
#: What parts a sentence into what is said of different things.
_CLAUSE = re.compile(
    r"[;–—(]|:\s|,\s+(?=(?:but|while|whereas|though|although|and|or|so|which|aber|und|mais|et|pero|y)\b)"
    r"|\b(?:but|unless|whereas|although|though|aber|sondern|mais|pero)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(?<![\w.,])(\d+(?:[.,]\d+)*)[\s-]?(%|°|[^\W\d_]+)?")
_THAN = re.compile(r"\b(?:than|als|que|di|dan)\b", re.IGNORECASE)
_TOKEN = re.compile(r"\w+")
_GROUPED = re.compile(r",(?=\d{3}(?!\d))")

#: Words of opposite meaning. A claim with one side contradicts a sentence with the other side alone.
_OPPOSITES = (
    "more / less fewer",
    "most / least fewest",
    "maximum max maximal / minimum min minimal",
    "higher highest high / lower lowest low",
    "faster fastest fast quicker quick / slower slowest slow",
    "larger largest large bigger biggest big / smaller smallest small",
    "longer longest long / shorter shortest short",
    "older oldest old / newer newest new younger",
    "earlier earliest early / later latest late",
    "better best good / worse worst bad",
    "cheaper cheapest cheap / dearer expensive",
    "easier easy / harder hard difficult",
    "stronger strong / weaker weak",
    "before / after",
    "above over / below under",
    "increase increases increased increasing raise raises raised grow grows / decrease decreases decreased decreasing"
    " reduce reduces reduced lower lowers lowered shrink shrinks",
    "enable enables enabled enabling / disable disables disabled disabling",
    "allow allows allowed permit permits permitted / forbid forbids forbidden deny denies denied disallow disallowed"
    " prohibit prohibits prohibited prevent prevents prevented",
    "accept accepts accepted / reject rejects rejected refuse refuses refused",
    "start starts started begin begins began / stop stops stopped end ends ended",
    "open opens opened / close closes closed",
    "add adds added / remove removes removed delete deletes deleted",
    "include includes included / exclude excludes excluded omit omits omitted",
    "first / last",
    "next / last previous",
    "rise rises rose risen climb climbs climbed / fall falls fell fallen drop drops dropped sink sinks sank",
    "always / never",
    "true / false",
    "on / off",
    "in inside within / outside",
    "public / private",
    "required mandatory necessary / optional unnecessary",
    "same identical / different",
    "synchronous synchronously / asynchronous asynchronously",
    "automatic automatically / manual manually",
    "encrypted / unencrypted plaintext",
    "safe secure / unsafe insecure",
    "possible / impossible",
    "known / unknown",
    "valid / invalid",
    "success succeed succeeds succeeded / failure fail fails failed",
    "buy buys bought / sell sells sold",
    "up / down",
    "left / right",
    "north / south",
    "east / west",
    "morning / evening",
    "day daily / night nightly",
    "read reads / write writes",
    "input / output",
    "client clients / server servers",
    "ascending / descending",
    "local / remote",
    "temporary temporarily / permanent permanently",
    "mehr / weniger",
    "höchstens / mindestens",
    "vor / nach",
    "immer / nie",
    "größer / kleiner",
    "schneller / langsamer",
    "plus / moins",
    "avant / après",
)
#: Words that claim more than a sentence without one of their kind does.
_STRONG = (
    "always invariably constantly immer toujours siempre",
    "all every everything everyone each any entire entirely completely fully whole alle alles jede jeder jedes tous"
    " toutes todo todos",
    "only solely exclusively nur seulement solo alone",
    "must required requires mandatory have has need needs muss müssen doit",
    "guarantee guarantees guaranteed certainly definitely undoubtedly garantiert",
    "exactly precisely genau exactement",
    "instantly immediately sofort immédiatement",
    "forever permanently indefinitely",
    "impossible unbreakable infallible perfect perfectly",
    "unlimited infinite unbegrenzt",
)
#: A comparison in which a claim goes beyond its source: everything that is best or most of all.
_SUPERLATIVE = re.compile(r"\b(?:best|worst|most|least|[a-z]{2,}(?:iest|gest|test|dest|west|nest|rest|lest|hest))\b")
_LIKE_SUPERLATIVES = (
    "test tests latest request rest interest forest west nest guest quest suggest contest protest harvest digest"
    " southwest northwest honest modest arrest invest attest most least best"
)
_NO_SUPERLATIVE = frozenset(_LIKE_SUPERLATIVES.split())


def _sides() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for number, pair in enumerate(_OPPOSITES):
        for side, words in enumerate(pair.split(" / ")):
            for word in words.split():
                found.setdefault(word, []).append((number, side))
    return found


_SIDES = _sides()
_STRENGTH = {word: number for number, words in enumerate(_STRONG) for word in words.split()}


@dataclass(frozen=True)
class Statement:
    """A sentence, read for what may be turned around in it."""

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the words in lower case."""
        return tuple(word.casefold().replace("’", "'") for word in _WORD.findall(self.text))

    @cached_property
    def is_negated(self) -> bool:
        """Return True if the sentence denies something."""
        return len(_NEGATION.findall(self.text)) % 2 == 1

    @cached_property
    def amounts(self) -> frozenset[tuple[str, str]]:
        """Return the numbers, each with the unit or word behind it."""
        return frozenset(_amounts(self.text))

    @cached_property
    def sides(self) -> dict[int, set[int]]:
        """Return for each pair of opposites the sides of it that are named."""
        found: dict[int, set[int]] = {}
        for word in self.words:
            for number, side in _SIDES.get(word, ()):
                found.setdefault(number, set()).add(side)
        return found

    @cached_property
    def strengths(self) -> frozenset[int]:
        """Return the kinds of words that leave no exception."""
        return frozenset(_STRENGTH[word] for word in self.words if word in _STRENGTH)

    @cached_property
    def superlatives(self) -> frozenset[str]:
        """Return the words that put something above all others."""
        found = frozenset(_SUPERLATIVE.findall(self.text.casefold()))
        return found - (_NO_SUPERLATIVE - {"best", "worst", "most", "least"})

    def clauses(self) -> list[str]:
        """Return the parts of the sentence that speak of different things."""
        return [part.strip() for part in _CLAUSE.split(self.text) if part and part.strip()]


def contradicts(claim: Statement, source: Statement) -> bool:
    """Return True if a claim turns around or exaggerates the sentence that it resembles."""
    return (
        _other_amounts(claim, source)
        or _other_side(claim, source)
        or _swapped(claim, source)
        or _exaggerated(claim, source)
    )


def measures(text: str) -> frozenset[str]:
    """Return the units and the numbers in words that a text names."""
    words = [_singular(word) for word in _WORD.findall(fold(text))]
    return frozenset(word for word in words if word in _COUNTS or (word in _UNITS and word not in _AMBIGUOUS))


def _other_amounts(claim: Statement, source: Statement) -> bool:
    """Return True if a number has another unit in the source."""
    units: dict[str, set[str]] = {}
    for number, unit in source.amounts:
        units.setdefault(number, set()).add(unit)
    for number, unit in claim.amounts:
        if unit and units.get(number) and unit not in units[number] and unit in _UNITS and units[number] != {""}:
            return True
    return False


def _other_side(claim: Statement, source: Statement) -> bool:
    """Return True if the claim has a word where the source has only its opposite."""
    for pair, sides in claim.sides.items():
        other = source.sides.get(pair)
        if other and not sides & other:
            return True
    return False


def _swapped(claim: Statement, source: Statement) -> bool:
    """Return True if what is compared with `than` stands on the other side of it."""
    left = _compared(claim)
    right = _compared(source)
    if not left or not right:
        return False
    first, second = left
    before, behind = right
    return bool(first & behind) and bool(second & before)


def _compared(statement: Statement) -> tuple[set[str], set[str]] | None:
    """Return the words on both sides of a comparison without those that stand on both."""
    parts = _THAN.split(statement.text, maxsplit=1)
    if len(parts) < 2:
        return None
    before, behind = (set(_TOKEN.findall(part.casefold())) for part in parts)
    return before - behind, behind - before


def _exaggerated(claim: Statement, source: Statement) -> bool:
    """Return True if the claim leaves no exception where the source leaves one."""
    if claim.strengths - source.strengths:
        return True
    return bool(claim.superlatives - source.superlatives)


#: Units that are other words as well.
_AMBIGUOUS_WORDS = "s m g l an second time point cent foot feet pound tag watt degree volt b"
_AMBIGUOUS = frozenset(_AMBIGUOUS_WORDS.split())
#: Numbers in words.
_COUNT_WORDS = (
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty ninety"
    " hundred thousand million billion zwei drei vier fünf sechs sieben acht neun zehn zwölf hundert tausend"
)
_COUNTS = frozenset(_COUNT_WORDS.split())
_UNIT_WORDS = (
    "ms kilobyte megabyte gigabyte terabyte millisecond second sec s minute min hour h day week month year decade"
    " century byte kb kib mb mib gb gib tb tib bit pixel px mm cm m km metre meter kilometre kilometer mile inch"
    " foot feet g kg gram kilogram ton tonne pound litre liter l ml degree celsius fahrenheit percent % ° euro eur"
    " dollar usd cent franc krone kroner point time watt kw kwh volt ampere hz mhz ghz sekunde minute stunde tag"
    " woche monat jahr prozent stück jour semaine mois an heure"
)
_UNITS = frozenset(_UNIT_WORDS.split())


def _amounts(text: str) -> Iterator[tuple[str, str]]:
    for number, unit in _AMOUNT.findall(fold(text)):
        yield _GROUPED.sub("", number), _singular(unit)


def _singular(unit: str) -> str:
    """Return a unit without the ending of its plural."""
    if unit in _UNITS:
        return unit
    for ending in ("en", "es", "s", "n", "e"):
        if unit.endswith(ending) and unit.removesuffix(ending) in _UNITS:
            return unit.removesuffix(ending)
    return unit
