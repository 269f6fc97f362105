"""Read the amounts in a text as values, so that `twenty minutes`, `20 min` and `1200 s` are the same.

A reading is a value of a kind of thing: seconds, months, bytes, a time of the day, a currency, or a plain number.
What can be read in several ways (`half past ten`, `90s`) has several readings; an amount stands where one of them does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rifflux.text.analyzer import fold
from rifflux.text.lexicon import phrase_lists, word_lists

#: A value and what it is of; `` is a plain number, `clock` a time of the day in minutes.
Reading = tuple[float, str]

#: What a number is of where no word follows it: `it costs 79`.
BARE = "bare"
_PER_CENT = re.compile(r"\bper cent\b")
_GROUPED = re.compile(r"(?<=\d)[,\u202f\u00a0'](?=\d{3}(?!\d))")
_DEGREES = re.compile(r"(?:°\s?|\bdegrees? )([cf])(?:elsius|ahrenheit)?\b")
_RAISED = re.compile("[²³]")
#: Parts of one of a unit, and one and a half.
_PARTS = (
    (re.compile(r"\bthree[ -]quarters of (?:an? )?"), "0.75 "),
    (re.compile(r"\b(?:a|one) quarter of (?:an? )?"), "0.25 "),
    (re.compile(r"\ban? (\w+) and a half\b"), r"1.5 \1"),
    (re.compile(r"\bone and a half\b"), "1.5"),
    (re.compile(r"\b(\d+) and a half\b"), r"\1.5"),
)
_DEGREE = {"c": " celsius ", "f": " fahrenheit "}
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[%°€$£]|[^\s\w]")
_CLOCK = re.compile(
    r"(?<![\d:.,])(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d))?\s?(?P<half>[ap])\.?m\b\.?"
    r"|(?<![\d:.,])(?P<hour24>\d{1,2}):(?P<minute24>[0-5]\d)(?![\d:])"
)
_PAST = re.compile(r"\b(?P<part>half|quarter|\d{1,2}|[a-z]+)(?: minutes?)? (?P<way>past|to) (?P<of>\d{1,2}|[a-z]+)\b")
_HOURS = 12
_HALF_DAY = 720
_HALF_HOUR = 30.0
_QUARTER = 15.0
#: Units that are other words as well, and count only behind a number.
_AMBIGUOUS = word_lists("amounts")["ambiguous"]
#: Kinds of which `degrees` may be meant.
_TEMPERATURES = frozenset(("celsius", "fahrenheit"))
#: Units of these kinds stand before their number, too.
_BEFORE = frozenset(("euros", "dollars", "sterling", "francs", "kroner"))


def _units() -> dict[str, Reading]:
    found: dict[str, Reading] = {}
    for kind, lines in phrase_lists("amounts").items():
        if kind in ("numbers", "ambiguous"):
            continue
        for line in filter(None, lines):
            factor, *names = line.split()
            found.update((fold(name), (float(factor), kind)) for name in names)
    return found


def _numbers() -> dict[str, float]:
    found: dict[str, float] = {}
    for line in filter(None, phrase_lists("amounts")["numbers"]):
        value, *names = line.split()
        found.update((fold(name), float(value)) for name in names)
    return found


_UNITS = _units()
_NUMBERS = _numbers()
_TEN = 10.0
_HUNDRED = 100.0
_THOUSAND = 1000.0
#: What stands before a unit of which there is one.
_ONE = frozenset(("a", "an", "one", "per", "every", "each"))
#: The longest unit that has no plural.
SHORTEST = 2
_ENDINGS = ("s", "es", "en", "n", "e")


@dataclass(frozen=True)
class Amounts:
    """The amounts of a text.

    `values` are its numbers with their readings, and each number itself; `ones` are units behind `a` or `every`,
    `counted` those behind a number, and `units` the others.
    """

    values: tuple[tuple[float, frozenset[Reading]], ...]
    ones: frozenset[Reading]
    units: frozenset[Reading]
    counted: frozenset[Reading]

    @cached_property
    def readings(self) -> frozenset[Reading]:
        """Return every reading of every amount."""
        return self.ones.union(*(readings for _, readings in self.values))

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Return the numbers without what they are of."""
        return frozenset(number for number, _ in self.values)

    def stand_in(self, source: Amounts) -> bool:
        """Return True if each amount stands in a source, in whatever form, and each unit."""
        there = source.units | source.readings
        return not self.missing(source) and self.ones <= there and self.units <= there | source.counted

    def missing(self, source: Amounts) -> list[float]:
        """Return the numbers that do not stand in a source as what they are here."""
        return [number for number, readings in self.values if not source.holds(number, readings)]

    def holds(self, number: float, readings: frozenset[Reading]) -> bool:
        """Return True if a number stands here: in one of its readings, or without saying of what it is."""
        if readings & self.readings or (number, "") in self.readings:
            return True
        if _is_temperature(number, readings) and _is_temperature(number, self.readings):
            return (number, "degrees") in readings | self.readings
        return (number, BARE) in readings and number in self.numbers


@lru_cache(maxsize=4096)
def amounts_in(text: str) -> Amounts:
    """Return the amounts of a text."""
    text = _GROUPED.sub("", _PER_CENT.sub("percent", fold(_RAISED.sub("", text))))
    text = _DEGREES.sub(lambda found: _DEGREE[found[1]], text)
    for pattern, value_of in _PARTS:
        text = pattern.sub(value_of, text)
    values: list[tuple[float, frozenset[Reading]]] = []

    def clock(found: re.Match[str]) -> str:
        values.append((-1.0, _time(found)))
        return " . "

    def past(found: re.Match[str]) -> str:
        if readings := _past(found):
            values.append((-1.0, readings))
            return " . "
        return found[0]

    tokens = ["", *_TOKEN.findall(_PAST.sub(past, _CLOCK.sub(clock, text))), "", ""]
    ones: set[Reading] = set()
    units: set[Reading] = set()
    named: set[Reading] = set()
    place = 1
    while place < len(tokens) - 2:
        token = tokens[place]
        value, after = _value(tokens, place)
        if value is None:
            unit = _unit(token)
            if unit and token not in _AMBIGUOUS and tokens[place - 1] in _ONE:
                ones.add(unit)
            elif unit and token not in _AMBIGUOUS:
                units.add(unit)
            place += 1
            continue
        before = _unit(tokens[place - 1])
        place = after
        if tokens[after] == "-":
            after += 1
        unit = _unit(tokens[after])
        readings = {(round(value, 6), "")}
        if not tokens[after].isalpha():
            readings.add((round(value, 6), BARE))
        if unit:
            named.add(unit)
            if tokens[after] != "s":
                readings.clear()
            readings.add((round(value * unit[0], 6), unit[1]))
            place = after + 1
        elif before and before[1] in _BEFORE:
            readings = {(round(value * before[0], 6), before[1])}
        values.append((value, frozenset(readings)))
    return Amounts(tuple(values), frozenset(ones), frozenset(units), frozenset(named))


def _is_temperature(number: float, readings: frozenset[Reading]) -> bool:
    """Return True if a number of degrees may be a temperature."""
    return any((number, kind) in readings for kind in ("degrees", *_TEMPERATURES))


def is_unit(word: str) -> bool:
    """Return True if a word is a unit of something."""
    return _unit(fold(word)) is not None


def _time(found: re.Match[str]) -> frozenset[Reading]:
    hour = int(found["hour"] or found["hour24"])
    minute = int(found["minute"] or found["minute24"] or 0)
    if found["half"]:
        hour = hour % _HOURS + _HOURS * (found["half"] == "p")
    return frozenset({(float(60 * hour + minute), "clock")})


def _past(found: re.Match[str]) -> frozenset[Reading]:
    """Return the readings of `half past ten`, in the morning and in the evening."""
    hour = _single(found["of"])
    part = {"half": _HALF_HOUR, "quarter": _QUARTER}.get(found["part"], _single(found["part"]))
    if hour is None or part is None or hour > 2 * _HOURS or (found["way"] == "to" and found["part"].isdecimal()):
        return frozenset()
    if found["way"] == "to":
        part = -part
    minutes = 60 * hour + part
    return frozenset({(minutes, "clock"), ((minutes + _HALF_DAY) % (2 * _HALF_DAY), "clock")})


def number_in(word: str) -> float | None:
    """Return the number that a word is, None if it is none."""
    return _single(fold(word))


def _single(word: str) -> float | None:
    if word.isdecimal():
        return float(word)
    return _NUMBERS.get(word)


def _value(tokens: list[str], place: int) -> tuple[float | None, int]:
    """Return the number that begins at a token, and the place behind it; None if none does."""
    token = tokens[place]
    following = tokens[place + 1]
    if token == "half" and following in ("a", "an") and _unit(tokens[place + 2]):
        return 0.5, place + 2
    value: float | None = None
    if token[0].isdecimal():
        value = _decimal(token)
    elif token in _NUMBERS:
        value = _NUMBERS[token]
    elif token in ("a", "an") and _NUMBERS.get(following, 0) >= _HUNDRED:
        value = 1.0
    if value is None:
        return None, place
    total = 0.0
    if value >= _THOUSAND and not token[0].isdecimal():
        total = value
        value = 0.0
    after = place + 1
    while after < len(tokens) - 1:
        joined = after
        if tokens[after] in ("-", "and") and not token[0].isdecimal():
            joined += 1
        other = _NUMBERS.get(tokens[joined])
        if other is None or (tokens[after] == "and" and not total and value < _HUNDRED):
            break
        if token[0].isdecimal() and other < _HUNDRED:
            break
        if other >= _THOUSAND:
            total += value * other
            value = 0.0
        elif other == _HUNDRED:
            value = max(value, 1.0) * other
        elif (not value and total) or (value and not value % _HUNDRED) or (_tens(value) and other < _TEN):
            value += other
        else:
            break
        after = joined + 1
    return total + value, after


def _tens(value: float) -> bool:
    """Return True for a number that ends in tens, such as twenty, without ones."""
    return value % _HUNDRED >= 2 * _TEN and not value % _TEN


def _decimal(token: str) -> float | None:
    parts = token.replace(",", ".").split(".")
    if len(parts) > 2:
        return float("".join(parts))
    return float(".".join(parts))


def _unit(token: str) -> Reading | None:
    """Return what one of a unit is, in the singular or the plural."""
    if token in _UNITS:
        return _UNITS[token]
    for ending in _ENDINGS:
        stem = token.removesuffix(ending)
        if stem != token and len(stem) > SHORTEST and stem in _UNITS:
            return _UNITS[stem]
    return None
