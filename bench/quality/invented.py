"""Collections that a seed invents: numbered sections, citations, dotted codes, cases, part numbers and the like.

Kinds, letters and names are made up anew by each seed, so that no rule can know them. The text is sentences of other
collections at random, and every document mentions some others of its collection by name.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.quality.name_forms import Name

__all__ = ["COLLECTIONS", "invent", "pronounceable", "sentences"]

DOCUMENTS = 240
#: Whose prose fills the documents.
PROSE = ("scifact", "srd5e", "cfr30")
#: Characters of a sentence, from and to; sentences that are read of a collection.
LENGTH, READ = (40, 220), 3000
#: Share of the documents whose title goes on after the name.
SUBJECTS = 0.5
_ONSETS = (*"bcdfghjklmnprstvwz", "br", "dr", "fl", "gr", "pl", "qu", "st", "tr")
_VOWELS = (*"aeiou", "ai", "ea", "ou")
_CODAS = (*"bdgklmnprstx", "ld", "nd", "rk", "rn", "st")


def pronounceable(choice: random.Random, syllables: int = 2) -> str:
    """Return a word that does not exist."""
    return "".join(
        choice.choice(_ONSETS) + choice.choice(_VOWELS) + choice.choice(_CODAS if each == syllables - 1 else ("", "n"))
        for each in range(syllables)
    )


def sentences(data: Path) -> list[str]:
    """Return sentences of the collections, as they stand."""
    found: list[str] = []
    for name in PROSE:
        texts = (json.loads(line)["text"] for line in (data / name / "corpus.jsonl").open(encoding="utf-8"))
        split = (each.strip() for text in texts for each in re.split(r"(?<=[.!?])\s+", text))
        fit = (each for each in split if LENGTH[0] <= len(each) <= LENGTH[1])
        found += [each for _, each in zip(range(READ), fit, strict=False)]
    return found


def invent(folder: Path, data: Path, seed: int) -> dict[str, list[Name]]:
    """Write each collection's corpus.jsonl below the folder; the names by collection."""
    prose = sentences(data)
    named = {}
    for kind in COLLECTIONS:
        name = f"{kind}-{seed}"
        named[name] = list(_written(folder / name / "corpus.jsonl", kind, prose, random.Random(f"{kind} {seed}")))
    return named


def _written(corpus: Path, kind: str, prose: Sequence[str], choice: random.Random) -> Iterator[Name]:
    names = COLLECTIONS[kind](choice)
    keys = choice.sample(range(10_000, 99_999), len(names))
    lines = []
    for key, name in zip(keys, names, strict=True):
        title, text = _titled(name, prose, choice), _text(names, prose, choice)
        lines.append(json.dumps({"_id": f"d{key}", "title": title, "text": text}))
        yield Name(name, f"d{key}")
    corpus.parent.mkdir(parents=True, exist_ok=True)
    if not corpus.exists() or corpus.read_text("utf-8") != "\n".join(lines):
        corpus.write_text("\n".join(lines), "utf-8")


def _titled(name: str, prose: Sequence[str], choice: random.Random) -> str:
    if choice.random() > SUBJECTS:
        return name
    words = re.findall(r"\b[a-z]{4,}\b", choice.choice(prose))[:3]
    return f"{name}{choice.choice((': ', ' ', '. '))}{' '.join(words).capitalize()}"


def _text(names: Sequence[str], prose: Sequence[str], choice: random.Random) -> str:
    said = choice.sample(prose, choice.randint(2, 5))
    others = choice.sample(names, choice.randint(0, 3))
    said += [choice.choice(("See also {}.", "As {} has it, this may differ.", "Compare {}.")).format(o) for o in others]
    choice.shuffle(said)
    return " ".join(said)


# What each collection's documents are called


def sections(choice: random.Random) -> list[str]:
    """Return `Tolvard 17`: three kinds, each numbered through."""
    kinds = [pronounceable(choice).capitalize() for _ in range(3)]
    return [f"{kind} {number}" for kind in kinds for number in range(1, DOCUMENTS // 3 + 1)]


def chapters(choice: random.Random) -> list[str]:
    """Return `Part 3, Section 17`, where both kinds are words that everybody knows."""
    outer, inner = (
        choice.sample(["Part", "Book", "Title", "Volume"], 1)[0],
        choice.choice(["Section", "Article", "Rule"]),
    )
    return [f"{outer} {first}, {inner} {second}" for first in range(1, 13) for second in range(1, DOCUMENTS // 12 + 1)]


def citations(choice: random.Random) -> list[str]:
    """Return `31 K.Q.V. § 340.17`, and another two made-up forms of statutes."""
    letters, word = _letters(choice, 3), pronounceable(choice).capitalize()
    volume = choice.randint(4, 60)
    made = [
        *(f"{volume} {'.'.join(letters)}. § {n // 20 + 301}.{n % 20 + 1}" for n in range(DOCUMENTS // 3)),
        *(f"{word[:4]}. {letters[0]}{letters[1]}. art. {n + 1}" for n in range(DOCUMENTS // 3)),
        *(f"{letters[2]}.S. {1950 + n // 4}, c. {choice.randint(2, 40)}{n % 4}" for n in range(DOCUMENTS // 3)),
    ]
    return list(dict.fromkeys(made))


def dotted(choice: random.Random) -> list[str]:
    """Return `4.12.3`."""
    return _distinct(lambda: ".".join(str(choice.randint(1, most)) for most in (9, 20, 12)))


def cases(choice: random.Random) -> list[str]:
    """Return `Brimald v. Corstan`, where people go to court more than once."""
    people = [pronounceable(choice).capitalize() for _ in range(DOCUMENTS)]
    parties: dict[frozenset[str], str] = {}
    while len(parties) < DOCUMENTS:
        one, other = choice.sample(people, 2)
        parties.setdefault(frozenset((one, other)), f"{one} v. {other}")
    return list(parties.values())


def parts(choice: random.Random) -> list[str]:
    """Return `TQ-4410-B` and `KLW7-220`."""
    one, other = "".join(_letters(choice, 2)), "".join(_letters(choice, 3))
    return _distinct(
        lambda: choice.choice([
            f"{one}-{choice.randint(1000, 9999)}-{choice.choice('ABCDE')}",
            f"{other}{choice.randint(1, 9)}-{choice.randint(100, 999)}",
        ])
    )  # fmt: skip


def numbered(choice: random.Random) -> list[str]:
    """Return `ZBN 2119`: letters and a number, as RFCs have them."""
    letters = "".join(_letters(choice, 3))
    return [f"{letters} {number}" for number in choice.sample(range(12, 9000), DOCUMENTS)]


def verses(choice: random.Random) -> list[str]:
    """Return `Holam 3:16`, in one of eight books."""
    books = [pronounceable(choice).capitalize() for _ in range(8)]
    return _distinct(lambda: f"{choice.choice(books)} {choice.randint(1, 20)}:{choice.randint(1, 30)}")


def diagnoses(choice: random.Random) -> list[str]:
    """Return `K21.9`."""
    return _distinct(lambda: f"{choice.choice('BDFHKMPR')}{choice.randint(10, 99)}.{choice.randint(0, 9)}")


def _letters(choice: random.Random, count: int) -> list[str]:
    return choice.sample("BCDFGHJKLMNPQRSTVWXZ", count)


def _distinct(made: Callable[[], str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < DOCUMENTS:
        found.setdefault(made())
    return list(found)


COLLECTIONS: Mapping[str, Callable[[random.Random], list[str]]] = {
    each.__name__: each for each in (sections, chapters, citations, dotted, cases, parts, numbered, verses, diagnoses)
}
