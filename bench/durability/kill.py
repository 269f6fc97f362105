"""End the process that works on an index at random moments, and check that nothing is lost.

    python -m bench kill [--kills 1000] [--seed 1] [--files 60] [--only OPERATION]... [--keep FOLDER]

A folder of texts changes at random; processes index it, follow it as it changes, pack the vectors, build the word index
and the graph of neighbours, switch the model, back up and mend, and are ended by SIGKILL. After each kill another
process checks the index, counts, reads documents and searches. In the end the index must hold what one that nobody
disturbed holds: the same documents, chunks, vectors and rankings.
The same seed makes the same changes and the same choices; the moments are the machine's. A thousand take about ten
minutes; so do four runs of 250 with different seeds.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw

import rifflux
from rifflux.ingest import sync
from rifflux.session.vectors import SETTING, read_all_vectors
from rifflux.store.sqlite.connection import derived
from rifflux.store.sqlite.lexical import words_index as words
from rifflux.store.sqlite.semantic import hnsw, vector_index

MODELS = ("hash:64", "hash:48")
WORDS = (
    *("heron", "river", "stone", "cache", "index", "query", "vector", "page", "leaf", "owl", "reed", "bank"),
    *("water", "bird", "nest", "tide", "shore", "moss", "rain"),
)
#: Marks the processes that a killed one had started.
MARK = "KILL_STARTED_BY"
#: Seconds that helpers of a killed process may take to notice.
PATIENCE = 10.0
TABLES = {
    "documents": """
        select namespace, key, title, kind, hash, whole, compressed
        from document join document_text on document_text.document = document.id
        where owner = 0 order by namespace, key""",
    "chunks": """
        select uid, headings, text, span_start, span_end, hash, position from chunk where owner = 0 order by uid""",
    "vectors": """
        select chunk.uid, vector.hash, vector.rounded from vector join chunk on chunk.id = vector.chunk
        join model on model.id = vector.model where model.state = 'active' and chunk.owner = 0 order by chunk.uid""",
}


@dataclass
class World:
    """A folder of texts that change, and the index of it. `versions` are all texts that each file ever had."""

    place: Path
    random: random.Random
    files: int
    versions: dict[str, list[str]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.place / "texts"

    @property
    def db(self) -> Path:
        return self.place / "index.db"

    def begin(self) -> None:
        """Write the first texts and index them undisturbed."""
        self.folder.mkdir(parents=True)
        for number in range(self.files):
            self._write(f"{number:04}.md")
        with rifflux.open(self.db, model=MODELS[0]) as index:
            index.add(self.folder)

    def change(self) -> None:
        """Rewrite a tenth of the files, drop one, and make another or bring one back."""
        names = sorted(path.name for path in self.folder.iterdir())
        for name in self.random.sample(names, max(1, len(names) // 10)):
            self._write(name)
        (self.folder / self.random.choice(names)).unlink()
        missing = {f"{number:04}.md" for number in range(self.files * 2)} - {*names}
        self._write(self.random.choice(sorted(missing)))

    def _write(self, name: str) -> None:
        mark = f"mark{name[:4]}x{len(self.versions.get(name, ())):03}"
        parts = [f"# {mark} {self.random.choice(WORDS)}"]
        for _ in range(self.random.randrange(1, 5)):
            parts.append(f"## {self.random.choice(WORDS)}")
            parts.append(" ".join(self.random.choices(WORDS, k=self.random.randrange(20, 200))))
        text = "\n\n".join(parts) + "\n"
        self.versions.setdefault(name, []).append(text)
        # In one step: who follows the folder shall not read half of it.
        half = self.place / "half"
        half.write_text(text)
        half.replace(self.folder / name)


# What is done to the index, each in a process of its own


def index(world: World) -> None:
    """Bring the index up to date; what is derived from it follows."""
    with rifflux.open(world.db) as index:
        index.add(world.folder)


def together(world: World) -> None:
    """Bring the index up to date with processes beside this one that read; they must end when it does."""
    sync.WORTHWHILE = 0
    with rifflux.open(world.db) as index:
        index.add(world.folder, processes=2, force=True)


def watch(world: World) -> None:
    """Follow the folder, in which something changes meanwhile, until the end."""
    with rifflux.open(world.db) as index:
        for _ in index.watch():
            pass


def build_words(world: World) -> None:
    """Write the words file anew."""
    _build(world, "words")


def build_matrix(world: World) -> None:
    """Pack the vectors anew."""
    _build(world, "vectors")


def build_graph(world: World) -> None:
    """Make the graph of neighbours anew, where it can be used."""
    _build(world, hnsw.NAME, "hnsw" if find_spec("usearch") else "scan")


def _build(world: World, name: str, neighbours: str = "scan") -> None:
    _forget(world, name)
    with rifflux.open(world.db, neighbors=neighbours) as index:
        index.admin.accelerate()


def _forget(world: World, *names: str) -> None:
    connection = apsw.Connection(str(world.db))
    connection.set_busy_timeout(10_000)
    for name in names:
        derived.forget(connection, name)
    connection.close()


def switch(world: World) -> None:
    """Switch to the model that is not in use."""
    with rifflux.open(world.db) as index:
        index.admin.switch(next(model for model in MODELS if model != index.admin.models()[0].model.spec))


def backup(world: World) -> None:
    """Copy the index."""
    with rifflux.open(world.db) as index:
        index.admin.backup(world.place / "copy.db", force=True)


def repair(world: World) -> None:
    """Damage the word index and some vectors, and mend them."""
    connection = apsw.Connection(str(world.db))
    connection.set_busy_timeout(10_000)
    connection.execute("begin immediate")
    connection.execute("delete from chunk_terms where rowid % 7 = 0")
    connection.execute("update vector set rounded = zeroblob(8) where id % 5 = 0")
    connection.execute("commit")
    connection.close()
    rifflux.repair(world.db)


OPERATIONS: dict[str, Callable[[World], None]] = {
    "index": index, "together": together, "watch": watch, "words": build_words, "matrix": build_matrix,
    "graph": build_graph, "switch": switch, "backup": backup, "repair": repair,
}  # fmt: skip
#: Operations that do not end by themselves, with the seconds they are given; the folder changes meanwhile.
LASTING = {"watch": 2.0}


# What must hold afterwards


def verify(world: World, operation: str, seed: int) -> None:
    """The index is sound, its counts agree, every document is some version of its file, and searches find it."""
    choice = random.Random(seed)
    if operation == "repair":
        rifflux.repair(world.db)
    with rifflux.open(world.db) as index:
        if any("cannot be used" in problem.what for problem in index.admin.check()):
            # What is derived may belong to the moment before the kill; then it is not used until it is built anew.
            index.admin.accelerate()
        problems = [problem for problem in index.admin.check() if "have no vector" not in problem.what]
        assert not problems, problems
        status, store = index.status(), index.admin.store
        keys = [file.path for root in store.catalog.roots() for file in store.catalog.files(root)]
        assert status.documents == status.files == len(keys)
        assert status.embedded_chunks <= status.chunks
        held = {key: index.document(key).text for key in keys}
        assert all(text in world.versions[key] for key, text in held.items()), "a file is half there"
        assert status.chunks == sum(len(index.chunks(key)) for key in keys)
        for key in choice.sample(sorted(held), min(5, len(held))):
            mark = held[key].split()[1]
            assert index.search(mark, mode="lexical", top_k=1)[0].key == key
        assert index.search(" ".join(choice.sample(WORDS, 3)))
    copy = world.place / "copy.db"
    if copy.exists():
        with rifflux.open(copy) as index:
            assert index.status().documents
        copy.unlink()


def compare(world: World) -> None:
    """The index, brought up to date, is the same as one of the same folder that nobody disturbed."""
    index(world)
    # What is derived may have seen the documents in another order; the tables must agree to the last digit.
    words.LEAST = vector_index.LEAST = sys.maxsize
    _forget(world, "words", "vectors*")
    with rifflux.open(world.db) as disturbed:
        model = disturbed.admin.models()[0].model.spec
        disturbed.admin.abort_switch()
        fresh = world.place / "fresh.db"
        with rifflux.open(fresh, model=model) as undisturbed:
            undisturbed.add(world.folder)
            assert disturbed.admin.check() == undisturbed.admin.check() == []
            # What was read of the vectors is of the moment when it was read.
            for each in (disturbed, undisturbed):
                each.admin.store.records.set(SETTING, "")
                read_all_vectors(each.admin.store, each.admin.view.profile, each.admin.view.embedder)
            for number in range(20):
                query = " ".join(random.Random(number).sample(WORDS, 3))
                for mode in ("lexical", "semantic", "hybrid"):
                    pages = [[(hit.id, round(hit.score, 4)) for hit in each.search(query, mode=mode)]
                             for each in (disturbed, undisturbed)]  # fmt: skip
                    assert pages[0] == pages[1], (query, mode)
    for name, statement in TABLES.items():
        ours, theirs = (_rows(path, statement) for path in (world.db, fresh))
        assert ours == theirs, f"{name} differ"
        print(f"{name}: {len(ours)}, the same as undisturbed")


def _rows(path: Path, statement: str) -> list[Any]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


# Processes


def start(work: Callable[[], None]) -> int:
    """Do something in a process of its own; returns its id."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    # Who is started from here has it too.
    os.environ[MARK] = str(os.getpid())
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def finish(child: int) -> bool:
    """Wait for a process; whether it ended well."""
    return os.waitpid(child, 0)[1] == 0


def kill(child: int, after: float) -> float | None:
    """End a process after so many seconds, and wait for its helpers; the seconds it took if it was faster."""
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < after:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0, "it failed before it was killed"
            return passed
        time.sleep(min(0.002, max(0.0, after - passed)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    deadline = time.monotonic() + PATIENCE
    while helpers := _helpers(child):
        if time.monotonic() > deadline:
            raise AssertionError(f"its helpers live on: {helpers}")
        time.sleep(0.01)
    return None


def _helpers(child: int) -> list[str]:
    """The processes that were started by one that is gone, where the system tells (`/proc`)."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={child}\0".encode() in (path / "environ").read_bytes():
                found.append(path.name)
        except OSError:
            continue
    return found


def main() -> None:
    """Kill as often as asked, compare in the end, and tell."""
    arguments = _arguments()
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="rifflux-kill-"))
    world = World(place / "world", random.Random(arguments.seed), arguments.files)
    words.LEAST = vector_index.LEAST = hnsw.LEAST = 1
    assert finish(start(world.begin)) or sys.exit(1)
    # The texts of the child's world are made again here, by the same random numbers.
    shutil.rmtree(world.folder)
    world.random.seed(arguments.seed)
    world.folder.mkdir()
    for number in range(world.files):
        world._write(f"{number:04}.md")
    killed: collections.Counter[str] = collections.Counter()
    begun = time.monotonic()
    run(world, arguments, killed)
    assert finish(start(partial(compare, world))) or sys.exit(1)
    minutes = (time.monotonic() - begun) / 60
    print(f"{sum(killed.values())} kills, nothing lost:", dict(sorted(killed.items())), f"in {minutes:.1f} minutes")
    if not arguments.keep:
        shutil.rmtree(place)


def run(world: World, arguments: argparse.Namespace, killed: collections.Counter[str]) -> None:
    """The kills; how long an operation takes is learnt from those that end before they are killed."""
    takes = dict.fromkeys(OPERATIONS, 0.3) | LASTING
    names = [name for name in OPERATIONS if not arguments.only or name in arguments.only]
    attempt = 0
    while sum(killed.values()) < arguments.kills:
        attempt += 1
        name = names[attempt % len(names)]
        world.change()
        child, after = start(partial(OPERATIONS[name], world)), world.random.uniform(0, 1.1 * takes[name])
        if name in LASTING:
            time.sleep(after / 2)
            world.change()
            after /= 2
        faster = kill(child, after)
        if faster is None:
            killed[name] += 1
        if name not in LASTING:
            takes[name] = faster or 1.02 * takes[name]
        if not finish(start(partial(verify, world, name, attempt))):
            sys.exit(f"after attempt {attempt} ({name}), see {world.place}; seed {arguments.seed}")
        if attempt % 100 == 0:
            print(f"{sum(killed.values())} kills in {attempt} attempts", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--only", action="append", choices=sorted(OPERATIONS))
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()
