"""Fill small disks with an index, and run commands where not a byte is free.

    python -m bench disks [--sizes 2,5,10,20] [--only COMMAND]... [--keep FOLDER]

Needs the right to mount a disk in memory. On a disk of each size, in MB, notes are indexed that it has no room for.
Then it is filled to the last byte, and commands that read and commands that write are run on it. No command may end in
a traceback or in a sentence that is false: what fails names the full disk; what claims to have been done was done.
Reading goes on: searches and documents are those of before. In the end the index goes to a larger disk, where it is
sound and indexing comes to its end. Exit status 1 if anything was otherwise.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

MODEL = "hash:64"
#: What is false on a disk that is full, where nothing else is wrong.
FALSE = re.compile(r"nothing was changed|permissions|damaged|spelling|no index|not an index|another process|broken")
WORDS = ("heron", "river", "stone", "cache", "otter", "vector", "page", "leaf", "water", "tide", "shore", "moss")
#: Characters of notes for each byte of the disk: an index takes more than its text.
NOTES = 0.8
QUESTION = "heron river"


@dataclass
class Disk:
    """A small disk with an index of notes, and a larger one beside it."""

    place: Path
    other: Path
    notes: Path
    only: tuple[str, ...] = ()
    faults: list[str] = field(default_factory=list)
    runs: int = 0

    @property
    def db(self) -> Path:
        """Return the path of the index."""
        return self.place / "index.db"

    def run(self, name: str, *words: str | Path, db: Path | None = None) -> tuple[int, str]:
        """Run a command; return its status and output, after what it says was checked."""
        command = [sys.executable, "-m", "rifflux", *map(str, words), "--db", str(db or self.db)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        self.runs += 1
        if "Traceback" in done.stderr:
            self.fault(name, done.stderr)
        if done.returncode not in (0, 1) and "full" not in done.stderr:
            self.fault(name, f"status {done.returncode} without the reason: {done.stderr}")
        if FALSE.search(done.stderr):
            self.fault(name, f"a false sentence: {done.stderr}")
        return done.returncode, done.stdout

    def fault(self, name: str, what: str) -> None:
        """Note what was wrong."""
        self.faults.append(name)
        print(f"{name}: {what.strip()[-1500:]}")

    def expect(self, name: str, *, holds: bool) -> None:
        """Note a fault where something does not hold."""
        if not holds:
            self.fault(name, "does not do what it should")

    def fill(self) -> None:
        """Leave not a byte free."""
        with suppress(OSError), (self.place / "filler").open("wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass

    def documents(self, db: Path | None = None) -> int:
        """Return the number of documents that `status` counts."""
        status, found = self.run("status", "status", "--json", db=db)
        return int(json.loads(found)["documents"]) if not status else -1


@contextmanager
def small_disk(megabytes: float, top: Path) -> Iterator[Path]:
    """Mount a disk in memory."""
    place = top / f"disk-{megabytes:g}"
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={int(megabytes * 1024)}k", "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


# What is run on a full disk: each function returns whether what the command claims is so


def _reads(disk: Disk) -> Mapping[str, Callable[[], bool]]:
    """Return the commands that go on where not a byte is free."""

    def run(*words: str | Path) -> bool:
        return disk.run(str(words[0]), *words)[0] == 0

    def backup() -> bool:
        copy = disk.other / "copy.db"
        return run("backup", copy, "--force") and disk.documents(copy) == disk.documents()

    return {
        "search": lambda: run("search", QUESTION),
        "search --mode lexical": lambda: "notes" in disk.run("search", "search", QUESTION, "--mode", "lexical")[1],
        "get": lambda: run("get", "0.md"),
        "why": lambda: run("why", QUESTION, "0.md"),
        "ask": lambda: disk.run("ask", "ask", "What does the heron do?")[0] in (0, 1),
        "status": lambda: disk.documents() > 0,
        "doctor": lambda: "chunks have no vector" in (found := disk.run("doctor", "doctor")[1]) or "sound" in found,
        "collections list": lambda: run("collections", "list"),
        "works list": lambda: run("works", "list"),
        "backup elsewhere": backup,
        "export elsewhere": lambda: run("export", disk.other / "exported", "--force"),
    }


def _writes(disk: Disk) -> Mapping[str, Callable[[], bool]]:
    """Return the commands that need room: each fails, or does what it says."""
    work = disk.other / "works.jsonl"
    work.write_text(json.dumps({"title": "On herons", "abstract": "Herons stand. " * 400, "license": "CC0-1.0"}))
    talk = disk.other / "talk.jsonl"
    talk.write_text("\n".join(json.dumps({"role": "user", "content": f"Otters swim {n}. " * 20}) for n in range(200)))

    def changed(*words: str | Path, holds: Callable[[], bool] = lambda: True) -> bool:
        status, _ = disk.run(" ".join(map(str, words[:2])), *words)
        return status != 0 or holds()

    def listed(*words: str) -> str:
        return disk.run(words[0], *words)[1]

    return {
        "index": lambda: changed("index", disk.notes, "--no-embed", "--force"),
        "index --embed": lambda: changed("index"),
        "remove": lambda: changed("remove", "1.md", holds=lambda: "1.md" in listed("status")),
        "memories add": lambda: changed(
            "memories", "add", "Ann drinks tea", holds=lambda: "tea" in listed("memories", "list")
        ),
        "works import": lambda: changed(
            "works", "import", work, "--no-embed", holds=lambda: "herons" in listed("works", "list")
        ),
        "conversations import": lambda: changed("conversations", "import", talk, "--user", "ann", "--no-embed"),
        "collections create": lambda: changed(
            "collections", "create", "wiki", holds=lambda: "wiki" in listed("collections", "list")
        ),
        "tokens create": lambda: changed(
            "tokens", "create", "--user", "ann", holds=lambda: "ann" in listed("tokens", "list")
        ),
        "judge": lambda: changed("judge", QUESTION, "0.md", "--grade", "2"),
        "config set": lambda: changed("config", "set", "hybrid_search", "on"),
        "models switch": lambda: changed("models", "switch", "hash:32"),
        "doctor --build": lambda: changed("doctor", "--build"),
        "doctor --repair": lambda: changed("doctor", "--repair"),
        "backup beside": lambda: changed("backup", disk.place / "copy.db"),
        "restore": lambda: changed("restore", disk.other / "copy.db"),
    }


def check(disk: Disk, megabytes: float) -> None:
    """Index more than a disk holds, run everything on it, and bring the index to where there is room."""
    _write_notes(disk.notes, 0.02)
    status, _ = disk.run("index", "index", disk.notes, "--model", MODEL)
    disk.expect("a few notes have room", holds=status == 0)
    _write_notes(disk.notes, megabytes)
    status, _ = disk.run("index", "index", disk.notes, "--model", MODEL)
    disk.expect("a disk that runs full is told", holds=status == 2)
    for each in disk.place.glob("*.partial*"):
        disk.fault("index", f"{each.name} stays")
    stored = disk.documents()
    print(f"{megabytes:g} MB: {stored:,} of {len(list(disk.notes.iterdir())):,} notes are stored")
    disk.fill()
    commands = {**_reads(disk), **_writes(disk)}
    for name, command in commands.items():
        if not disk.only or name in disk.only:
            disk.fill()
            disk.expect(name, holds=command())
    disk.expect("nothing was lost", holds=disk.documents() >= stored - 1)
    # More room, with all that lies beside the index.
    larger = disk.other / "larger"
    shutil.rmtree(larger, ignore_errors=True)
    shutil.copytree(disk.place, larger, ignore=shutil.ignore_patterns("filler"))
    moved = larger / disk.db.name
    disk.expect("indexing comes to its end", holds=disk.run("index", "index", disk.notes, db=moved)[0] == 0)
    disk.expect("the index is sound", holds=disk.run("doctor", "doctor", db=moved)[0] == 0)
    disk.expect("all is there", holds=disk.documents(moved) >= len(list(disk.notes.iterdir())) - 1)


def _write_notes(folder: Path, megabytes: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    most = megabytes * 2**20 * NOTES
    size = number = 0
    while size < most:
        text = f"# Note {number}\n\n" + "".join(
            f"The {WORDS[(number * 7 + line) % 12]} near the {WORDS[(number + line * 5) % 12]} number{number * line}.\n"
            for line in range(60)
        )
        (folder / f"{number}.md").write_text(text)
        size += len(text)
        number += 1


def main() -> int:
    """Try each size; 1 if anything was otherwise."""
    arguments = _arguments()
    top = arguments.keep or Path(tempfile.mkdtemp(prefix="rifflux-disks-"))
    faults = runs = 0
    for megabytes in map(float, arguments.sizes.split(",")):
        with small_disk(megabytes, top) as place:
            other = top / f"other-{megabytes:g}"
            other.mkdir()
            disk = Disk(place, other, other / "notes", tuple(arguments.only or ()))
            check(disk, megabytes)
            faults += len(disk.faults)
            runs += disk.runs
    print(f"{runs} commands, {faults} faults")
    return min(faults, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="2,5,10,20")
    parser.add_argument("--only", action="append")
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
