"""End the process that works on an index at its system calls, and check that nothing is lost.

    python -m bench calls [--kills 500] [--seed 1] [--files 30] [--only OPERATION]... [--first 1]
                          [--keep FOLDER]

As `kill`, but not at random moments: a small library, compiled here and loaded before the system's, counts the calls
that change files (rename, link, unlink, ftruncate, fsync and write in all their forms) and ends the process at one of
them. Of repair, salvage, restore, backup and migration each call but the writes is met in turn, of the others any is.
Besides what `kill` does, an index with a damaged header is salvaged, a backup restored, works are imported, a copy of
the index is migrated, the index is exported, and a document is sent. In the end nothing temporary is left. Printed are
the kills by operation, and those operations of which every call was met.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import rifflux
from bench.durability import kill
from bench.durability.kill import World, finish, start
from rifflux import Cure, Document, Scope
from rifflux.ingest.parallel.apart import sent
from rifflux.store.sqlite.connection import connect
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import vector_index

#: Names the library to the process that is started with it.
LIBRARY = "RIFFLUX_BENCH_CALLS"
WORKS = 12
#: How long an operation that does not end by itself is given, in seconds, and the longest that any is.
LASTING = 2.0
PATIENCE = 180.0
#: What is left of an unfinished change.
TEMPORARY = ("*.partial*", "*.new", "*.old", "*.new-*", "*.whole")
_ANY, _NO_WRITES = 0, 1
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>
static long left = -1, met = 0;
static int only = 0;
void rifflux_arm(long number, int which) { left = number; met = 0; only = which; }
long rifflux_met(void) { return met; }
static void step(int writes) {
    if (left < 0 || (only && writes)) return;
    __sync_fetch_and_add(&met, 1);
    if (__sync_sub_and_fetch(&left, 1) == 0) kill(getpid(), SIGKILL);
}
#define WRAP(type, name, writes, parameters, arguments) \
    type name parameters { \
        static type (*next) parameters; \
        if (!next) next = (type (*) parameters)dlsym(RTLD_NEXT, #name); \
        step(writes); \
        return next arguments; \
    }
WRAP(int, rename, 0, (const char *a, const char *b), (a, b))
WRAP(int, renameat, 0, (int a, const char *b, int c, const char *d), (a, b, c, d))
WRAP(int, link, 0, (const char *a, const char *b), (a, b))
WRAP(int, linkat, 0, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e))
WRAP(int, unlink, 0, (const char *a), (a))
WRAP(int, unlinkat, 0, (int a, const char *b, int c), (a, b, c))
WRAP(int, rmdir, 0, (const char *a), (a))
WRAP(int, ftruncate, 0, (int a, off_t b), (a, b))
WRAP(int, ftruncate64, 0, (int a, off_t b), (a, b))
WRAP(int, fsync, 0, (int a), (a))
WRAP(int, fdatasync, 0, (int a), (a))
WRAP(ssize_t, write, 1, (int a, const void *b, size_t c), (a, b, c))
WRAP(ssize_t, pwrite, 1, (int a, const void *b, size_t c, off_t d), (a, b, c, d))
WRAP(ssize_t, pwrite64, 1, (int a, const void *b, size_t c, off_t d), (a, b, c, d))
"""


def salvage(world: World) -> None:
    """Lose the header of the index, and put what can be read into a new one."""
    with world.db.open("r+b") as file:
        file.write(bytes(100))
    rifflux.repair(world.db)


def restore(world: World) -> None:
    """Copy the index, and put the copy in its place."""
    copy = world.place / "restored.db"
    with rifflux.open(world.db) as index:
        index.admin.backup(copy, force=True)
    rifflux.restore(copy, world.db)


def export(world: World) -> None:
    """Copy what belongs to nobody to an index of its own, over a former one."""
    with rifflux.open(world.db) as index:
        index.admin.extract(world.place / "exported.db")


def import_works(world: World) -> None:
    """Import works into the library of a user."""
    works = [
        {"title": f"Work {number}", "abstract": "A heron stands.", "doi": f"10.1/{number}"} for number in range(WORKS)
    ]
    with rifflux.open(world.db) as index:
        library = index.scoped(Scope("ann")).works
        library.import_text("\n".join(map(json.dumps, works)), source="made", format="jsonl", license="CC0-1.0")


def migrate(world: World) -> None:
    """Bring a copy of the index to the next version of the tables."""
    old = world.place / "migrated.db"
    if not old.exists():
        with rifflux.open(world.db) as index:
            index.admin.backup(old)
    _know_next_version()
    rifflux.open(old).close()


def _know_next_version() -> None:
    version = connect.SCHEMA_VERSION
    connect.MIGRATIONS = {version: lambda connection, _: connection.execute("create table added (id integer)")}
    connect.SCHEMA_VERSION = version + 1


def send(world: World) -> None:
    """Keep what was sent while it is read, and store it for a user."""
    tempfile.tempdir = str(world.place)
    with sent("note.md", b"# A note\n\nA kingfisher dives.") as path, rifflux.open(world.db) as index:
        index.scoped(Scope("ann")).add([Document("note", path.read_text())])


OPERATIONS: dict[str, Callable[[World], None]] = {
    **{name: kill.OPERATIONS[name] for name in ("index", "together", "watch", "words", "matrix")},
    **{name: kill.OPERATIONS[name] for name in ("switch", "backup", "repair")},
    "salvage": salvage, "restore": restore, "export": export, "import": import_works, "migrate": migrate, "send": send,
}  # fmt: skip
#: Operations of which each call is met in turn.
EXCHANGES = ("repair", "salvage", "restore", "export", "migrate", "backup")


def verify(world: World, name: str, seed: int) -> None:
    """What must hold after a kill: what `kill` looks at, and what belongs to a user, whole or not at all."""
    if name == "salvage":
        rifflux.repair(world.db)
        # What was lost is read again.
        kill.index(world)
    kill.verify(world, "repair" if name == "repair" else "index", seed)
    with rifflux.open(world.db) as index:
        ann = index.scoped(Scope("ann"))
        assert all(work.title.startswith("Work ") for work in ann.works.all())
        if "note" in {each.key for each in ann.documents.list().documents}:
            assert ann.document("note").text == "# A note\n\nA kingfisher dives."
    exported = world.place / "exported.db"
    if exported.exists():
        with rifflux.open(exported, create=False) as index:
            assert [each.what for each in index.admin.check() if each.is_damage] == []
    old = world.place / "migrated.db"
    if old.exists():
        with rifflux.open(world.db) as index:
            expected = index.status().documents
        _know_next_version()
        with rifflux.open(old) as index:
            assert index.status().documents > 0.5 * expected
            assert [each.what for each in index.admin.check() if each.cure is not Cure.INDEX] == []
        for each in world.place.glob("migrated.db*"):
            each.unlink()


def main() -> None:
    """Kill as often as asked, compare in the end, and tell."""
    arguments = _arguments()
    if LIBRARY not in os.environ:
        sys.exit(_started_with_library())
    library = ctypes.CDLL(os.environ[LIBRARY])
    library.rifflux_met.restype = ctypes.c_long
    words_index.LEAST = vector_index.LEAST = 1
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="rifflux-calls-"))
    world = World(place / "world", random.Random(arguments.seed), arguments.files)
    world.begin()
    killed: collections.Counter[str] = collections.Counter()
    begun = time.monotonic()
    met = run(world, arguments, library, killed)
    for name in OPERATIONS:
        if name != "watch" and (not arguments.only or name in arguments.only):
            assert finish(start(partial(OPERATIONS[name], world))) or sys.exit(f"{name} fails undisturbed")
            assert finish(start(partial(verify, world, name, 0))) or sys.exit(f"{name} leaves what is wrong")
    left = sorted(each.name for pattern in TEMPORARY for each in world.place.glob(pattern))
    if left:
        sys.exit(f"left lying: {left}")
    assert finish(start(partial(kill.compare, world))) or sys.exit(1)
    minutes = (time.monotonic() - begun) / 60
    print(f"{sum(killed.values())} kills, nothing lost:", dict(sorted(killed.items())), f"in {minutes:.1f} minutes")
    print("every call was met of:", dict(sorted(met.items())))


def run(world: World, arguments: argparse.Namespace, library: Any, killed: collections.Counter[str]) -> dict[str, int]:
    """Kill; return the number of calls of each operation whose calls were all met in turn.

    How many calls another operation makes is learnt from those that end before they are killed.
    """
    met: dict[str, int] = {}
    calls = dict.fromkeys(OPERATIONS, 40)
    turn = dict.fromkeys(EXCHANGES, arguments.first - 1)
    names = [name for name in OPERATIONS if not arguments.only or name in arguments.only]
    attempt = 0
    while sum(killed.values()) < arguments.kills:
        attempt += 1
        name = names[attempt % len(names)]
        world.change()
        if name in EXCHANGES:
            turn[name] += 1
            number, which = turn[name], _NO_WRITES
        else:
            number, which = world.random.randint(1, calls[name]), _ANY
        child = start(partial(_armed, library, number, which, OPERATIONS[name], world))
        if name == "watch":
            time.sleep(LASTING / 2)
            world.change()
        ended = _wait(child, LASTING if name == "watch" else PATIENCE)
        if ended is None or os.WIFSIGNALED(ended):
            killed[name] += 1
            if which == _ANY and number > 0.8 * calls[name]:
                calls[name] *= 2
        elif os.WEXITSTATUS(ended):
            sys.exit(f"{name} failed before it was killed, see {world.place}; seed {arguments.seed}")
        elif name in EXCHANGES:
            met[name] = number - 1
            turn[name] = 0
        else:
            calls[name] = max(8, int(0.9 * number))
        if not finish(start(partial(verify, world, name, attempt))):
            sys.exit(f"after attempt {attempt} ({name}, call {number}), see {world.place}; seed {arguments.seed}")
        for each in world.place.glob("index.db.[dr]e*-*"):
            each.unlink()
        if attempt % 50 == 0:
            print(f"{sum(killed.values())} kills in {attempt} attempts", flush=True)
    return met


def _armed(library: Any, number: int, which: int, work: Callable[[World], None], world: World) -> None:
    library.rifflux_arm(ctypes.c_long(number), which)
    work(world)
    library.rifflux_arm(ctypes.c_long(-1), _ANY)


def _wait(child: int, seconds: float) -> int | None:
    """Return how a process ended; None for one that had to be killed after so many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _started_with_library() -> int:
    """Compile the library, and run this program again with it; its status."""
    with tempfile.TemporaryDirectory(prefix="rifflux-library-") as folder:
        library = Path(folder) / "calls.so"
        compiled = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), "-x", "c", "-", "-ldl"]
        subprocess.run(compiled, input=_SOURCE.encode(), check=True)
        added = {LIBRARY: str(library), "LD_PRELOAD": str(library)}
        command = [sys.executable, "-m", "bench", "calls", *sys.argv[1:]]
        return subprocess.run(command, env={**os.environ, **added}, check=False).returncode


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--only", action="append", choices=sorted(OPERATIONS))
    parser.add_argument("--first", type=int, default=1, help="the call of an exchange to begin with")
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()
