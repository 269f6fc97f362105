"""Show that a user's answers do not depend on what others keep to themselves.

    python -m bench scopes [--requests 2000] [--words 5000] [--foreign 22000] [--markdown PAGE]

Two worlds are built that differ only in what Ann may not see (see `strangers.py`). The same drawn requests are sent to
both over HTTP, the page without scripts, MCP and the command line, with the derived files missing, built, and behind
what changed since; every byte of the answers is compared, but for times, request ids and the place of the index. Then
misspelt and abbreviated words are searched in both: what is corrected must be the same, and no word that only others
have may come back. Ends with status 1 if anything differs or comes back.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.service.strangers import (
    STATES,
    SURFACES,
    Built,
    Request,
    Words,
    built_in,
    drawn,
    misspelt,
    terms_of,
    worlds,
)
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import vector_index

__all__ = ["Compared", "Searched", "compare", "search_words"]

#: Words of an answer, as foreign words are looked for in it.
_WORD = re.compile(r"\b[a-z]{4,}\b")
#: Differences that are printed.
MOST_SHOWN = 10


@dataclass
class Compared:
    """How many requests were sent by surface, and those that were answered otherwise in the other world."""

    sent: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    differing: list[tuple[Request, Any, Any]] = field(default_factory=list)


@dataclass
class Searched:
    """How many words were searched and corrected, what was corrected otherwise, and foreign words that came back."""

    words: int = 0
    corrected: int = 0
    differing: list[str] = field(default_factory=list)
    foreign: list[tuple[str, str]] = field(default_factory=list)


def main() -> None:
    """Build the worlds, send the requests, search the words, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000, help="over all surfaces and states together")
    parser.add_argument("--words", type=int, default=5000, help="misspelt and abbreviated")
    parser.add_argument("--foreign", type=int, default=22_000, help="chunks that only others may read")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help="write the results to this page")
    arguments = parser.parse_args()
    # One pair is below every size at which files are derived without the others, one is above all of them.
    sizes = (200, max(words_index.LEAST, vector_index.LEAST) + 200)
    share = -(-arguments.requests // (len(sizes) * len(STATES)))
    lines = list(_head(arguments))
    failed = False
    seeds = iter(range(arguments.seed, arguments.seed + len(sizes) * len(STATES)))
    for visible in sizes:
        with tempfile.TemporaryDirectory() as folder:
            built = built_in(Path(folder), visible=visible, foreign=arguments.foreign, seed=arguments.seed)
            for state in STATES:
                start = time.perf_counter()
                found = compare(built, state, share, seed=next(seeds))
                failed |= bool(found.differing)
                lines.append(_compared_row(visible, state, found))
                print(lines[-1], f"{time.perf_counter() - start:.0f} s", flush=True)
                _show(found)
            if visible == sizes[0]:
                searched = search_words(built, arguments.words, seed=arguments.seed)
    failed |= bool(searched.differing or searched.foreign)
    lines += _searched_lines(searched, arguments.foreign)
    print("\n".join(lines))
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(lines) + "\n", "utf-8")
    sys.exit(1 if failed else 0)


def compare(built: Built, state: str, count: int, seed: int) -> Compared:
    """Send drawn requests to both worlds, and compare every byte of the answers."""
    found = Compared()
    with worlds(built, state) as (alone, crowded):
        for request in drawn(built, count, seed):
            here, there = alone.ask(request), crowded.ask(request)
            found.sent[request.surface] += 1
            found.answered[f"{request.surface} {request.name}"] += 1
            if here != there:
                found.differing.append((request, here, there))
    return found


def search_words(built: Built, count: int, seed: int) -> Searched:
    """Search misspelt and abbreviated words in both worlds, and look for foreign words in what comes back."""
    found = Searched()
    foreign = {*built.words.foreign, *terms_of(built.words.foreign)} - {*built.words.visible}
    with worlds(built, "built") as (alone, crowded):
        for question in _questions(built.words, count, seed):
            request = Request("http", "search", target="/search", body={"query": question, "mode": "lexical"})
            here, there = alone.ask(request), crowded.ask(request)
            notes = there["body"]["diagnostics"]["notes"]
            found.words += 1
            found.corrected += any(note["code"] == "query.variants" for note in notes)
            if here != there:
                found.differing.append(question)
            asked = set(_WORD.findall(question.lower())) | terms_of([question])
            for word in sorted(set(_WORD.findall(str(there).lower())) & foreign - asked):
                found.foreign.append((question, word))
    return found


def _questions(words: Words, count: int, seed: int) -> Iterator[str]:
    """Draw words that are misspelt or abbreviated, of which half stand in foreign texts alone."""
    chance = random.Random(seed)
    for _ in range(count):
        word = chance.choice((chance.choice(words.visible), chance.choice(words.foreign)))
        if chance.random() < 0.5:
            yield chance.choice((word, misspelt(word, chance)))
        else:
            yield f"{word[: chance.randint(1, 5)]}{chance.choice(('', '.'))} {chance.randint(1, 30)}"


def _show(found: Compared) -> None:
    for request, here, there in found.differing[:MOST_SHOWN]:
        print(f"  {request}", file=sys.stderr)
        for place, one, other in _differences(here, there):
            print(f"    {place}: {one!r:.200} with the others: {other!r:.200}", file=sys.stderr)


def _differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from _differences(one.get(name), other.get(name), f"{place}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from _differences(first, second, f"{place}/{number}")
    elif one != other:
        yield place, one, other


_INTRODUCTION = """\
# What others keep to themselves changes no answer

    {command}

With the hash model, seed {seed}.

Ann owns documents, conversations, memories and works, and reads a collection that Sam shares with her. The same drawn
requests are sent to an index of just that, and to one in which others keep private documents as well, with words that
misspell, shorten and continue hers. Answers differ if any byte does, but for times, ids of requests, and digests of
packs, which cover a time.
"""


def _head(arguments: argparse.Namespace) -> Iterator[str]:
    given = f"--requests {arguments.requests} --words {arguments.words} --foreign {arguments.foreign}"
    yield _INTRODUCTION.format(command=f"python -m bench scopes {given} --markdown PAGE", seed=arguments.seed)
    yield "| chunks Ann reads | derived files | " + " | ".join(SURFACES) + " | answers that differ |"
    yield "| ---: | --- | " + "---: | " * len(SURFACES) + "---: |"


def _compared_row(visible: int, state: str, found: Compared) -> str:
    counts = " | ".join(f"{found.sent[surface]:,}" for surface in SURFACES)
    return f"| {visible:,} | {state} | {counts} | {len(found.differing)} |"


def _searched_lines(found: Searched, foreign: int) -> Sequence[str]:
    return (
        "",
        f"Of {found.words:,} misspelt and abbreviated words, half of them drawn from the {foreign:,} foreign chunks, "
        f"{found.corrected:,} were",
        f"corrected or completed. {len(found.differing)} were answered otherwise without the foreign chunks. "
        f"{len(found.foreign)} answers had a word or a term",
        "that stands only in foreign chunks and not in the question.",
    )
