"""Measure a member's search of shared collections beside that of one index which belongs to nobody.

    python -m bench members --keep /tmp/members [--documents 25000] [--questions 100]

Everybody's index holds 20 collections that are shared, with so many documents together, and 50 users with a collection
of their own; a member sees the shared ones and the own. What they are told is compared, hit for hit and digit for
digit, with an index of the same owners that holds nothing else. Times are compared with an index in which the same
documents are nobody's, each question asked in both one right after the other.

Documents are sentences from the standard library's own documentation, recombined by chance; the vector of a text is the
mean of its sentences', by the bundled model.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import rifflux
from bench.service.load import percentile
from bench.service.meaning import SENTENCE, Meaning
from bench.shared import cached
from rifflux import Document
from rifflux.session.searching import Searcher
from rifflux.session.vectors import info_of
from rifflux.session.writing import Writer
from rifflux.store import PART, Store

SHARED, OWN = 20, 40
COLLECTIONS = [f"team{number}{PART}@documents" for number in range(SHARED)]
MEMBER = f"user0{PART}@own"
MODES = ("lexical", "hybrid")


def main() -> None:
    """Build the indexes where they are not kept, compare what is told, and print what it costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=25_000, help="in the shared collections together")
    parser.add_argument("--users", type=int, default=50, help="with documents of their own")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="where the indexes stay between runs")
    arguments = parser.parse_args()
    lines = texts()
    with ExitStack() as stack:
        folder: Path = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        views = [
            stack.enter_context(opened(folder, world, arguments, lines))._view
            for world in ("everybody", "alone", "nobody")
        ]
        labels = dict.fromkeys((*COLLECTIONS, MEMBER), "")
        everybody, alone = (replace(view, store=ready(view.store), labels=labels) for view in views[:2])
        nobody = views[2]
        chunks = [view.store.totals().chunks for view in (views[0], everybody, alone, nobody)]
        print(f"{everybody_chunks(views[0].store):,} chunks of everybody, {chunks[1]:,} seen, {chunks[3]:,} of nobody")
        asked = questions(lines, arguments.questions)
        for mode in MODES:
            compare(mode, Searcher(everybody), Searcher(alone), asked)
            measure(mode, Searcher(everybody), Searcher(nobody), asked)


def everybody_chunks(store: Store) -> int:
    """Count the chunks of all owners."""
    return sum(view.totals().chunks for view in store.views())


def texts() -> list[str]:
    """Return sentences of the standard library's documentation."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        with suppress(SyntaxError, UnicodeDecodeError):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    sentences = SENTENCE.split(" ".join((ast.get_docstring(node) or "").split()))
                    found |= dict.fromkeys(each for each in sentences if 30 <= len(each) <= 300)
    return list(found)


def documents(owner: str, count: int, lines: Sequence[str]) -> Iterator[Document]:
    """Yield the documents of an owner, always the same."""
    chance = random.Random(owner)
    for number in range(count):
        said = chance.sample(lines, chance.randint(3, 9))
        title = " ".join(chance.choice(lines).split()[:5])
        yield Document(
            f"{owner.partition(PART)[0]}-{number}", " ".join(said), title, kind=chance.choice(("note", "page"))
        )


def opened(folder: Path, world: str, arguments: argparse.Namespace, lines: Sequence[str]) -> rifflux.Index:
    """Open the index of a world, built if it is not there."""
    total, users = arguments.documents, arguments.users
    path = folder / f"{world}-{total}-{users}.db"
    owners = [*COLLECTIONS, MEMBER]
    if world == "everybody":
        owners += [f"user{number}{PART}@own" for number in range(1, users)]
    if not path.exists():
        start = time.perf_counter()
        with rifflux.open(path) as index:
            view = index.admin.searcher.view
            meaning = Meaning(view.embedder)
            view.store.semantic.use_model(info_of(view.embedder))
            for owner in owners:
                count = OWN if "user" in owner else total // SHARED
                theirs = view if world == "nobody" else replace(view, store=view.store.of(owner))
                Writer(theirs).add(*documents(owner, count, lines), embed=False)
                embed(theirs.store, meaning)
        print(f"built {path.name} in {time.perf_counter() - start:.0f} s", flush=True)
    index = rifflux.open(cached(path), create=False)
    index.admin.accelerate()
    return index


def embed(store: Store, meaning: Meaning) -> None:
    """Give each chunk that has none a vector."""
    for batch in store.semantic.pending(1000):
        vectors = meaning([each.text for each in batch])
        store.semantic.put_vectors([each.id for each in batch], [each.hash for each in batch], vectors)


def ready(store: Store) -> Store:
    """Return a member's view, once what makes it fast is built."""
    united = store.of(*COLLECTIONS, MEMBER)
    united.lexical.document_frequencies(["word"])
    if store.local:
        store.local.build()
    return united


def questions(lines: Sequence[str], count: int) -> list[str]:
    """Draw some words of some sentences."""
    chance = random.Random("questions")
    found = []
    for line in chance.sample(lines, count):
        words = [word for word in re.findall(r"\w+", line) if len(word) > 2] or line.split()
        place = chance.randrange(max(len(words) - 5, 1))
        found.append(" ".join(words[place : place + chance.randint(2, 6)]))
    return found


def compare(mode: str, everybody: Searcher, alone: Searcher, asked: Sequence[str]) -> None:
    """Print how many questions are answered alike."""
    answers = [(told(everybody, question, mode), told(alone, question, mode)) for question in asked]
    alike, hits = sum(one == other for one, other in answers), sum(len(one) for one, _ in answers)
    print(f"{mode}: {alike} of {len(asked)} questions answered alike, hit for hit and digit for digit; {hits} hits")


def told(searcher: Searcher, question: str, mode: str) -> list[Any]:
    """Return what a search tells of each hit."""
    return [*searcher.search(question, mode=mode).hits]


def measure(mode: str, member: Searcher, nobody: Searcher, asked: Sequence[str]) -> None:
    """Print medians and their ratio."""
    for question in asked[:20]:
        timed(nobody, question, mode)
        timed(member, question, mode)
    pairs = [(timed(nobody, question, mode), timed(member, question, mode)) for question in asked]
    first, second = zip(*pairs, strict=True)
    paired = statistics.median(member / nobody for nobody, member in pairs)
    for name, times in (("nobody's", first), ("member's", second)):
        print(f"  {name:10} p50 {percentile(times, 0.5):6.1f} ms   p95 {percentile(times, 0.95):6.1f} ms")
    ratio = percentile(second, 0.5) / percentile(first, 0.5)
    print(f"  x {ratio:.2f} of the p50; median of the pairs x {paired:.2f}", flush=True)


def timed(searcher: Searcher, question: str, mode: str) -> float:
    """Return the milliseconds of a search."""
    start = time.perf_counter()
    searcher.search(question, mode=mode)
    return 1000 * (time.perf_counter() - start)
