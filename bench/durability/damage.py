"""Damage an index at random, and compare what `doctor` says with what is true.

    python -m bench damage [--damages 1000] [--seed 1] [--documents 500] [--repairs 0.3] [--keep FOLDER]

An index of files, documents, works, and the documents, memories and messages of two users, in English and not, is
copied with its derived files, and one of them is changed: bits, bytes, a block, a page of zeros, two pages exchanged,
an end cut off. `doctor` may call it sound only if every stored row and every answer is that of the undamaged index. A
share of the damaged ones is repaired, which ends within a minute, leaves nothing wrong but files to be read again, and
keeps every row whose pages are as they were. Nothing ends in an exception that is not Rifflux's own.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

import rifflux
from rifflux import Cure, Document, Scope
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.maintenance.pages import PAGE, DatabasePages
from rifflux.store.sqlite.semantic import vector_index

MODEL = "hash:64"
#: The longest that a repair may take, in seconds.
PATIENCE = 60.0
WORDS = (
    *("heron", "river", "stone", "cache", "Größe", "naïve", "vector", "page", "leaf", "цапля", "река", "東京"),
    *("water", "bird", "nest", "tide", "shore", "moss", "rain", "œuvre", "Ελλάδα", "🦉"),
)
#: Tables whose rows are compared after a repair, with the columns that no repair changes: a chunk whose document was
#: lost gets another public id, and the chunks of a document that lacks one are made again.
STORED = {
    "document": "id, owner, namespace, key, title, created_at",
    "chunk": "document, text",
    "document_text": "document, compressed",
}
#: What follows from the rest, and may differ between two equal indexes.
DERIVED = ("touched", "derived", "fresh_terms", "sqlite_sequence")


def main() -> None:
    """Damage as often as asked, and tell."""
    arguments = _arguments()
    words_index.LEAST = vector_index.LEAST = 1
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="rifflux-damage-"))
    (place / "sound").mkdir(parents=True)
    db = make(place / "sound", random.Random(arguments.seed), arguments.documents)
    expected = answers(db)
    rows = stored(db)
    if problems := rifflux.diagnose(db):
        sys.exit(f"the undamaged index is not sound: {problems}")
    counts: collections.Counter[str] = collections.Counter()
    longest = 0.0
    failures = []
    for number in range(arguments.damages):
        choice = random.Random(f"{arguments.seed}-{number}")
        folder = place / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place / "sound", folder, copy_function=shutil.copy)
        what = damage(folder, choice)
        counts[what.split()[0]] += 1
        try:
            took = judge(folder / db.name, db, expected, rows, counts, repairs=choice.random() < arguments.repairs)
            longest = max(longest, took)
        except Exception as error:
            counts["wrong"] += 1
            failures.append(f"{number} {what}: {type(error).__name__}: {str(error)[:300]}")
            print(failures[-1], flush=True)
            if not isinstance(error, Wrong):
                traceback.print_exc()
    if not arguments.keep:
        shutil.rmtree(place)
    print(f"{arguments.damages} damages of {db.name} and beside it: {dict(sorted(counts.items()))}")
    print(f"the longest repair took {longest:.1f} s; wrong {len(failures)}")
    if failures:
        sys.exit(1)


class Wrong(Exception):
    """A promise that was not kept."""


def make(folder: Path, choice: random.Random, documents: int) -> Path:
    """Make an index of everything that an index can hold; its path."""
    db = folder / "index.db"
    files = folder / "files"
    files.mkdir()
    for number in range(documents // 4):
        (files / f"{number:03}-{choice.choice(WORDS)}.md").write_text(_text(choice, number), "utf-8")
    with rifflux.open(db, model=MODEL) as index:
        index.add(files)
        index.add([Document(f"d{n}", _text(choice, n), metadata={"n": n, "wo": "Zürich"}) for n in range(documents)])
        works = [
            {"title": f"On {_line(choice, 6)}", "abstract": _line(choice, 80), "authors": ["Ångström, Ada"],
             "year": 1990 + n % 30, "doi": f"10.1000/{n}", "references": [f"10.1000/{n + 1}"]}
            for n in range(documents // 8)
        ]  # fmt: skip
        lines = "\n".join(json.dumps(work, ensure_ascii=False) for work in works)
        index.works.import_text(lines, source="made", format="jsonl", license="CC0-1.0")
        for user in ("ann", "bob"):
            theirs = index.scoped(Scope(user))
            theirs.add([Document(f"{user}{n}", _text(choice, n)) for n in range(documents // 8)])
            for n in range(5):
                theirs.memories.add(f"{user} saw the {choice.choice(WORDS)} {n} times")
            thread = theirs.conversations.add(f"The {choice.choice(WORDS)}")
            for _ in range(5):
                theirs.conversations.add_message(thread.id, _line(choice, 20))
        index.admin.accelerate()
    return db


def _line(choice: random.Random, words: int) -> str:
    return " ".join(choice.choices(WORDS, k=words))


def _text(choice: random.Random, number: int) -> str:
    """Return a text of some headings, now and then one of many pages."""
    paragraphs = 40 if number % 25 == 0 else choice.randrange(1, 5)
    return "\n\n".join(
        f"# {choice.choice(WORDS)} {number}\n\n{_line(choice, choice.randrange(10, 120))}" for _ in range(paragraphs)
    )


# Damages


def damage(folder: Path, choice: random.Random) -> str:
    """Change one file; return how, and which."""
    named = sorted(path for path in folder.glob("index.db*") if path.is_file() and path.suffix != ".lock")
    files = [path for path in named if path.stat().st_size]
    weights = [8 if path.name == "index.db" else 1 for path in files]
    (path,) = choice.choices(files, weights)
    data = bytearray(path.read_bytes())
    kind = choice.choices([*DAMAGES], [45, 20, 12, 6, 8, 9])[0]
    DAMAGES[kind](data, choice)
    path.write_bytes(data)
    return f"{kind} {path.name}"


def _bits(data: bytearray, choice: random.Random) -> None:
    for _ in range(choice.choice((1, 1, 1, 4))):
        data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)


def _bytes(data: bytearray, choice: random.Random) -> None:
    for _ in range(choice.choice((1, 1, 8))):
        data[choice.randrange(len(data))] = choice.randrange(256)


def _block(data: bytearray, choice: random.Random) -> None:
    start = choice.randrange(len(data)) // 512 * 512
    data[start : start + 512] = choice.randbytes(len(data[start : start + 512]))


def _zeros(data: bytearray, choice: random.Random) -> None:
    start = choice.randrange(len(data)) // PAGE * PAGE
    data[start : start + PAGE] = bytes(len(data[start : start + PAGE]))


def _exchanged(data: bytearray, choice: random.Random) -> None:
    pages = len(data) // PAGE
    if pages > 1:
        one, other = (choice.randrange(pages) * PAGE for _ in range(2))
        data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]


def _cut(data: bytearray, choice: random.Random) -> None:
    del data[choice.randrange(len(data)) :]


DAMAGES: dict[str, Callable[[bytearray, random.Random], None]] = {
    "bits": _bits, "bytes": _bytes, "block": _block, "zeros": _zeros, "exchanged": _exchanged, "cut": _cut,
}  # fmt: skip


# What is true


def judge(
    db: Path, sound: Path, expected: list[object], rows: dict[str, list[Any]], counts: collections.Counter[str],
    *, repairs: bool,
) -> float:  # fmt: skip
    """Compare what `doctor` says with what is true; return how long a repair took, 0 without one."""
    try:
        problems = rifflux.diagnose(db)
    except rifflux.RiffluxError:
        problems = None
    if problems == []:
        counts["called sound"] += 1
        if stored(db) != rows:
            raise Wrong("called sound, and a row differs")
        if answers(db) != expected:
            raise Wrong("called sound, and an answer differs")
        return 0.0
    counts["called damaged"] += 1
    # Whoever searches gets an answer, or one of our errors.
    try:
        answers(db)
    except rifflux.RiffluxError:
        counts["searches refused"] += 1
    if not repairs:
        return 0.0
    whole = untouched(db, sound)
    begun = time.monotonic()
    try:
        rifflux.repair(db)
    except rifflux.RiffluxError as error:
        counts["repairs refused"] += 1
        if any(whole.values()):
            raise Wrong(f"not repaired, though rows are whole: {error}") from error
        return time.monotonic() - begun
    took = time.monotonic() - begun
    counts["repaired"] += 1
    if took > PATIENCE:
        raise Wrong(f"the repair took {took:.0f} s")
    if left := [each.what for each in rifflux.diagnose(db) if each.cure is not Cure.INDEX]:
        raise Wrong(f"not sound after the repair: {left[:3]}")
    with closing(apsw.Connection(str(db))) as connection:
        for table, columns in STORED.items():
            present = set(connection.execute(f"select {columns} from {table}").fetchall())
            if lost := whole[table] - present:
                raise Wrong(f"{len(lost)} rows of {table} are lost, though their pages were whole")
    return took


def untouched(db: Path, sound: Path) -> dict[str, set[tuple[Any, ...]]]:
    """Return the rows of the undamaged index all of whose pages are the same in the damaged one, by table."""
    data = db.read_bytes()
    with closing(DatabasePages.read(sound)) as pages, closing(apsw.Connection(str(sound))) as connection:
        pages.damaged = frozenset(
            number
            for number in range(1, len(pages) + 1)
            if pages.page(number) != data[(number - 1) * PAGE : number * PAGE]
        )
        found = {}
        for table, columns in STORED.items():
            listed: Any = connection.execute(
                "select pageno from dbstat where name = ? and pagetype = 'leaf'", (table,)
            ).fetchall()
            numbers = {row.number for (page,) in listed for row in pages.rows(page) if row.whole}
            held: Any = connection.execute(f"select rowid, {columns} from {table}").fetchall()
            found[table] = {tuple(values) for number, *values in held if number in numbers}
    # A text whose document is lost belongs to nothing.
    documents = {row[0] for row in found["document"]}
    found["document_text"] = {row for row in found["document_text"] if row[0] in documents}
    return found


def stored(db: Path) -> dict[str, list[Any]]:
    """Return all rows of all tables that are not derived, texts as bytes."""
    with closing(apsw.Connection(str(db))) as connection:
        listed: Any = connection.execute("select name from sqlite_master where type = 'table' order by name").fetchall()
        return {name: _rows(connection, name) for (name,) in listed if name not in DERIVED and "_terms" not in name}


def _rows(connection: apsw.Connection, table: str) -> list[Any]:
    columns: Any = connection.execute(f"pragma table_info({table})").fetchall()
    listed = ", ".join(f"cast({name} as blob)" for _, name, *_ in columns)
    return sorted(connection.execute(f"select {listed} from {table}").fetchall(), key=repr)


def answers(db: Path) -> list[object]:
    """Return what an index answers, of every kind."""
    return list(_answers(db))


def _answers(db: Path) -> Iterator[object]:
    with rifflux.open(db, model=MODEL, create=False) as index:
        for mode in ("lexical", "semantic", "hybrid"):
            for query in ("heron river", "Größe цапля", "東京 moss", "hron", '"water bird"', "nai*"):
                yield [(hit.id, round(hit.score, 4), hit.text) for hit in index.search(query, mode=mode)]
        yield [work.title for work in index.works.all()]
        for user in ("ann", "bob"):
            theirs = index.scoped(Scope(user))
            yield [(hit.id, round(hit.score, 4), hit.text) for hit in theirs.search("bird nest", mode="hybrid")]
            yield [memory.text for memory in theirs.memories.all()]
        yield [index.document(f"d{number}").text for number in range(0, 25, 5)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--damages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--repairs", type=float, default=0.3)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()
