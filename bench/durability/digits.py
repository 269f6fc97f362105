"""Ask questions while derived files come, go and are exchanged, and compare every score and order to the last digit.

    python -m bench digits [DATA] [--questions 500] [--documents 3000] [--model MODEL] [--seed 1] [--keep FOLDER]

The documents of DATA, or made ones, belong to three owners. Each question is put to one of them or to several together,
by words, by meaning or by default, with a filter or without. What an index answers before any derived file is built is
what it must answer while they are built, once they are, and whatever happens to each: it is moved aside, put back,
deleted, behind changes, of another index, made by a copy of this one, cut short, or has a wrong bit. An answer is its
hits' ids, scores and relevance, in their order.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import random
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import rifflux
from bench.shared import questions, sample
from rifflux import Document, Index
from rifflux.session.removing import Remover
from rifflux.session.searching import Searcher
from rifflux.session.writing import Writer
from rifflux.store import find_documents
from rifflux.store.sqlite.connection.derived import BackgroundBuilder
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import vector_index

OWNERS = ("", "ann", "bob")
#: Whose documents a question is put to, one or several together.
SCOPES: Sequence[Sequence[str]] = (("",), ("ann",), ("ann", "bob"), OWNERS)
MODES = ("hybrid", "lexical", "semantic", "hybrid-rerank")
FILTERS = (None, {"kinds": ["note"]}, {"metadata": {"third": 1}})
#: The derived files, by the end of their names.
DERIVED = ("words", "vectors")
WORDS = (
    *("heron", "river", "stone", "cache", "vector", "page", "leaf", "water", "bird", "nest", "tide", "shore", "moss"),
    *("rain", "owl", "E-102", "parse_url"),
)
#: The documents whose removal and return leaves a derived file behind.
CHANGED = 7

Answer = tuple[tuple[str, float, float | None], ...]


def main() -> None:
    """Ask in every state, and tell."""
    arguments = _arguments()
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="rifflux-digits-"))
    choice = random.Random(arguments.seed)
    documents = sample(choice, [*_documents(arguments.data)], arguments.documents)
    asked = [*_questions(arguments.data, arguments.questions, choice)]
    paths = {name: place / name / "index.db" for name in ("one", "other")}
    with _nothing_built():
        for path, given in zip(paths.values(), (documents, documents[::-1]), strict=True):
            fill(path, given, arguments.model)
        with rifflux.open(paths["one"], create=False) as index:
            expected = answers(index, asked)
    wrong: collections.Counter[str] = collections.Counter()
    compared = 0
    for state, found in states(paths, asked, documents, choice):
        compared += len(found)
        wrong[state] += sum(one != other for one, other in zip(found, expected[: len(found)], strict=True))
        print(f"{state:<40} {len(found):>7,} answers  {wrong[state]} differ", flush=True)
    if not arguments.keep:
        shutil.rmtree(place)
    print(f"{len(asked)} questions of {len(documents):,} documents, {compared:,} answers: {wrong.total()} differ")
    if wrong.total():
        sys.exit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, help="a folder of judged collections; made documents without it")
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--model", default="hash:64", help="such as minilm (hash:64)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def _documents(data: Path | None) -> Iterator[Document]:
    """Yield the documents of all collections, or made ones."""
    if data is None:
        choice = random.Random(0)
        for number in range(5000):
            text = " ".join(choice.choices(WORDS, k=choice.randint(3, 40)))
            yield Document(f"m{number}", text, " ".join(choice.choices(WORDS, k=2)))
        return
    for path in sorted(data.glob("*/corpus.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            yield Document(f"{path.parent.name}/{record['_id']}", record["text"], record.get("title", ""))


def _questions(data: Path | None, count: int, choice: random.Random) -> Iterator[str]:
    """Yield this many questions of the collections, or made ones."""
    if data is None:
        yield from (" ".join(choice.choices(WORDS, k=choice.randint(1, 5))) for _ in range(count))
        return
    yield from sample(choice, [*questions(data, count)], count)


def fill(path: Path, documents: Sequence[Document], model: str) -> None:
    """Make an index in which the owners have these documents in turns, with vectors."""
    path.parent.mkdir(parents=True)
    with rifflux.open(path, model=model) as index:
        view = index.admin.searcher.view
        for number, owner in enumerate(OWNERS):
            theirs = replace(view, store=view.store.of(owner))
            given = [
                replace(each, kind=("note", "text")[place % 2], metadata={"third": place % 3})
                for place, each in enumerate(documents[number :: len(OWNERS)])
            ]
            Writer(theirs).add(*given)


def answers(index: Index, asked: Sequence[str], until: Callable[[], bool] = lambda: False) -> list[Answer]:
    """Return what the index answers to the questions; no further ones once `until` is true."""
    view = index.admin.searcher.view
    searchers = [Searcher(replace(view, store=view.store.of(*owners))) for owners in SCOPES]
    found = []
    ways = itertools.cycle(itertools.product(MODES, FILTERS, searchers))
    for question, (mode, filter, searcher) in zip(asked, ways, strict=False):
        hits = searcher.search(question, mode=mode, filter=filter, top_k=20)
        found.append(tuple((hit.id, hit.score, hit.relevance) for hit in hits))
        if until():
            break
    return found


def states(
    paths: dict[str, Path], asked: Sequence[str], documents: Sequence[Document], choice: random.Random
) -> Iterator[tuple[str, list[Answer]]]:
    """Yield each state of the derived files, and what is answered in it."""
    path = paths["one"]
    words_index.LEAST = vector_index.LEAST = 1
    with rifflux.open(path, create=False) as index:
        building = threading.Thread(target=index.admin.accelerate)
        building.start()
        yield "while they are built", answers(index, asked, until=lambda: not building.is_alive())
        building.join()
        yield "built", answers(index, asked)
        yield "behind, while they follow", _behind(index, asked, documents)
    for name in DERIVED:
        yield from _in_other_hands(path, paths["other"], name, asked, choice)


def _behind(index: Index, asked: Sequence[str], documents: Sequence[Document]) -> list[Answer]:
    """Take some documents out of the index and put them back, and ask before the derived files follow."""
    view = index.admin.searcher.view
    chosen = documents[:: len(OWNERS)][:CHANGED]
    kept = [
        view.store.catalog.document(*place) for each in chosen for place in find_documents(view.store.catalog, each.key)
    ]
    Remover(view).remove(*(each.key for each in chosen))
    Writer(view).add(*(each for each in kept if each))
    return answers(index, asked)


def _in_other_hands(
    path: Path, other: Path, name: str, asked: Sequence[str], choice: random.Random
) -> Iterator[tuple[str, list[Answer]]]:
    """Yield what is answered after each thing that may happen to a derived file."""
    with rifflux.open(other, create=False) as index:
        index.admin.accelerate()
    beside = _beside(path, name)
    aside = beside.with_name(f"{name}.aside")
    copy = path.parent.with_name(f"copy-{name}") / path.name

    def built_by_a_copy() -> None:
        shutil.copytree(path.parent, copy.parent, dirs_exist_ok=True)
        _drop(_beside(copy, name))
        with rifflux.open(copy, create=False) as index:
            index.admin.accelerate()
        _exchange(_beside(copy, name), beside)

    def deleted() -> None:
        _drop(beside)

    def moved_aside() -> None:
        beside.rename(aside)

    def put_back() -> None:
        aside.rename(beside)

    def of_another_index() -> None:
        _exchange(_beside(other, name), beside)

    def cut_short() -> None:
        data = beside.read_bytes()
        _write(beside, data[: len(data) * 2 // 3])

    def with_an_exchanged_bit() -> None:
        data = bytearray(beside.read_bytes())
        data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
        _write(beside, bytes(data))

    for change in (
        moved_aside, put_back, of_another_index, built_by_a_copy, cut_short, with_an_exchanged_bit, deleted
    ):  # fmt: skip
        with rifflux.open(path, create=False) as index:
            index.admin.accelerate()
        with _nothing_built(), rifflux.open(path, create=False) as index:
            # The file is mapped by the first question; it changes under an open index.
            state = f"{name} {change.__name__.replace('_', ' ')}"
            answers(index, asked[:1])
            change()
            yield f"{state}, while open", answers(index, asked)
        with _nothing_built(), rifflux.open(path, create=False) as index:
            yield state, answers(index, asked)


@contextmanager
def _nothing_built() -> Iterator[None]:
    """Let no process build a derived file that nobody asks for."""
    kept = BackgroundBuilder.require, BackgroundBuilder.suggest
    BackgroundBuilder.require = BackgroundBuilder.suggest = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        BackgroundBuilder.require, BackgroundBuilder.suggest = kept  # type: ignore[method-assign]


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


def _drop(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()


def _exchange(source: Path, target: Path) -> None:
    _drop(target)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def _write(place: Path, data: bytes) -> None:
    """Put another file in the place of a mapped one, whose pages stay what they are."""
    place.unlink()
    place.write_bytes(data)


if __name__ == "__main__":
    main()
