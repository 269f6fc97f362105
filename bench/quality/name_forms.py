"""Names of documents, taken from their titles, and the ten forms in which people write a name."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FORMS", "Name", "beginnings", "drawn", "in_form", "named_files", "named_records", "unique"]

#: Letters and digits that a title has at least.
SHORTEST = 4
#: Words of a title in which its number is looked for.
WITHIN = 6
#: A word has an abbreviation from so many letters on.
ABBREVIATED = 5
SENTENCES = (
    "my colleague mentioned {} during the meeting on Tuesday",
    "we came across {} while preparing the report and wonder what it says",
    "according to {} is this still allowed in our case",
    "does anyone remember {} from last year's review",
    "please have a look at {} before you answer the customer",
    "I keep forgetting what {} was about, could somebody remind me",
    "the second paragraph of my letter refers to {} without quoting it",
    "before lunch they were arguing about {} and nobody knew more",
)

_PUNCTUATION = re.compile(r"[^\w\s]|_")
_NUMBER = re.compile(r"(?<![\w.])(\d+)(?![^\W\d_])")
_WORD_NUMBER = re.compile(r"\b([A-Z][^\W\d_]*)[\s.\-]+(?=\d)")
_NUMBER_WORD = re.compile(r"^(\d[\d.]*)\s+(?=[A-Z])")
_NOT_ALIKE = re.compile(r"(?<!\d)0+(?=\d)")


@dataclass(frozen=True, slots=True)
class Name:
    """A name as its document spells it, and the document's key."""

    text: str
    document: str


# The forms


def lower_case(name: str) -> str:
    """Return `find the path` for `Find the Path`."""
    return name.lower()


def unpunctuated(name: str) -> str:
    """Return `12 CFR 4 17` for `12 CFR § 4.17`."""
    return " ".join(_PUNCTUATION.sub(" ", re.sub("['’]", "", name)).split())


def hyphens(name: str) -> str:
    """Return `Find-the-Path` for `Find the Path`."""
    return "-".join(name.split())


def leading_zeros(name: str) -> str:
    """Return `Chapter 07` for `Chapter 7`, and the other way round."""

    def changed(found: re.Match[str]) -> str:
        bare = found[1].lstrip("0")
        return bare if bare and bare != found[1] else f"0{found[1]}"

    return _NUMBER.sub(changed, name, count=1)


def number_first(name: str) -> str:
    """Return `7 Chapter` for `Chapter 7`."""
    words = name.split()
    place = next((i for i, word in enumerate(words) if i and re.match(r"\d", word)), 0)
    return " ".join([words[place].rstrip(",:;"), *words[:place], *words[place + 1 :]]) if place else name


def abbreviated(name: str) -> str:
    """Return `Ch. 7` for `Chapter 7`: the word before a number up to the consonant that its next vowel follows."""
    return re.sub(r"\b([A-Z][^\W\d_]+)(?=\s+\d)", lambda found: _short(found[1]), name, count=1)


def _short(word: str) -> str:
    found = re.match(r"(?i)(?:[^aeiouy]{2,}|[^aeiouy]*[aeiouy]+[^aeiouy]+)(?=[aeiouy])", word)
    return f"{found[0]}." if found and len(word) >= ABBREVIATED else word


def in_a_sentence(name: str) -> str:
    """Return the name amid other words, chosen by the name."""
    return SENTENCES[zlib.crc32(name.encode()) % len(SENTENCES)].format(name.rstrip(" .?!"))


def compact(name: str) -> str:
    """Return `RFC2119` for `RFC 2119`, and `30CFR` for `30 CFR`."""
    return _NUMBER_WORD.sub(r"\1", _WORD_NUMBER.sub(r"\1", name, count=1))


def reordered(name: str) -> str:
    """Return `Path Find the` for `Find the Path`: the second half first, where a number stays with its word."""
    units: list[str] = []
    for word in name.split():
        if units and re.match(r"\d", word):
            units[-1] += f" {word}"
        else:
            units.append(word)
    half = (len(units) + 1) // 2
    return " ".join([*units[half:], *units[:half]])


FORMS: Mapping[str, Callable[[str], str]] = {
    "exact": str, "lower case": lower_case, "unpunctuated": unpunctuated, "hyphens": hyphens,
    "leading zeros": leading_zeros, "number first": number_first, "abbreviated": abbreviated,
    "in a sentence": in_a_sentence, "compact": compact, "reordered": reordered,
}  # fmt: skip


def in_form(form: str, names: Iterable[Name]) -> Iterator[tuple[Name, str]]:
    """Yield each name that the form changes with what it is changed to; `exact` changes none and gives all."""
    for name in names:
        text = FORMS[form](name.text)
        if form == "exact" or text != name.text:
            yield name, text


# The names


def named_records(corpus: Path) -> Iterator[Name]:
    """Yield the title and key of each record of a collection that has a title."""
    for line in corpus.read_text("utf-8").split("\n"):
        if line.strip():
            record = json.loads(line)
            yield Name(" ".join((record.get("title") or "").split()), record["_id"])


def named_files(tree: Path) -> Iterator[Name]:
    """Yield the title and key of each Markdown file: the heading that it begins with, else its name."""
    for path in sorted(tree.rglob("*.md")):
        text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text("utf-8"), flags=re.DOTALL).lstrip()
        heading = re.match(r"#{1,2} +(.+)", text)
        yield Name((heading[1] if heading else path.stem).strip(), path.relative_to(tree).as_posix())


def unique(names: Iterable[Name]) -> list[Name]:
    """Return the names of which no other has the same letters and digits, nor the same words in another order."""
    fit = [name for name in names if sum(map(str.isalnum, name.text)) >= SHORTEST]
    counts = Counter(key for name in fit for key in _alike(name.text))
    return [name for name in fit if all(counts[key] == 1 for key in _alike(name.text))]


def _alike(text: str) -> set[str]:
    words = _NOT_ALIKE.sub("", unpunctuated(text.casefold())).split()
    return {"".join(words), " ".join(sorted(words))}


def beginnings(names: Sequence[Name]) -> list[Name]:
    """Return the names cut after the number that no other begins with too, if most of a collection have one.

    That is `30 CFR § 250.17` of `30 CFR § 250.17 Who may appeal?`.
    """
    counts = Counter(begun for name in names for begun in _beginnings(name.text))
    cut = ((name, next((begun for begun in _beginnings(name.text) if counts[begun] == 1), "")) for name in names)
    found = [Name(begun.rstrip(".:,"), name.document) for name, begun in cut if begun and begun != name.text]
    return found if 2 * len(found) > len(names) else []


def _beginnings(text: str) -> list[str]:
    words = text.split()
    ends = (place for place, word in enumerate(words[:WITHIN], 1) if any(map(str.isdigit, word)))
    return [" ".join(words[:end]) for end in ends]


def drawn(names: Iterable[Name], count: int, seed: int) -> list[Name]:
    """Draw so many names at most, those of one document once."""
    by_key = sorted({name.document: name for name in names}.values(), key=lambda name: name.document)
    return random.Random(seed).sample(by_key, min(count, len(by_key)))
