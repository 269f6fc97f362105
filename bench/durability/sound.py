"""Make indexes of every kind, age and state that nothing damaged, and check that `doctor` calls each sound.

    python -m bench sound [--indexes 100] [--seed 1] [--keep FOLDER]

Each holds some of files, documents, records, works, conversations, memories, chats, collections of several users and
languages, and goes through some of what may happen to an index: files that change, removals, another model, derived
files that are built, behind or gone, a process that is killed while it writes, a copy, an export, a restore, a repair,
an emptied log. Where vectors wait to be made, that is all that `doctor` may say. Exit status 1 if it says more.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import rifflux
from bench.durability.damage import WORDS
from rifflux import Cure, Document, Index, NotFound, Scope
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import vector_index

MODELS = ("hash:32", "hash:64", "hash:96")
#: What the derived files of an index end with.
DERIVED = (".words", ".vectors", ".neighbors")


@dataclass
class Made:
    """An index on its way: its folder, its path, its model, and whether vectors may wait to be made."""

    place: Path
    choice: random.Random
    db: Path
    model: str
    waiting: bool = False
    steps: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return some paragraphs."""
        heads = range(self.choice.randrange(1, 6))
        return "\n\n".join(f"# {self.word()} {n}\n\n" + " ".join(self.choice.choices(WORDS, k=40)) for n in heads)

    def word(self) -> str:
        """Return a word."""
        return self.choice.choice(WORDS)

    def embed(self) -> bool:
        """Return whether vectors are made now."""
        made = self.choice.random() < 0.8
        self.waiting = self.waiting or not made
        return made

    def opened(self) -> Index:
        """Open the index."""
        return rifflux.open(self.db, model=self.model)


# What an index may hold


def files(made: Made) -> None:
    """Index a folder with notes, mails, tables and code; some of it broken."""
    folder = made.place / "files"
    folder.mkdir(exist_ok=True)
    for number in range(made.choice.randrange(1, 20)):
        (folder / f"{made.word()}-{number}.md").write_text(made.text())
    (folder / "rows.csv").write_text("bird,place\n" + "".join(f"{made.word()},{made.word()}\n" for _ in range(30)))
    (folder / "more.jsonl").write_text("".join(json.dumps({"text": made.text()}) + "\n" for _ in range(9)))
    (folder / "broken.pdf").write_text("%PDF-1.7")
    with made.opened() as index:
        index.add(folder, embed=made.embed(), language=made.choice.choice(("", "german", "russian")))


def documents(made: Made) -> None:
    """Add documents, some with odd titles and no text."""
    with made.opened() as index:
        added = [Document(f"d{n}", made.text(), title=made.word(), metadata={"n": n}) for n in range(20)]
        index.add([*added, Document("empty", "", title="\u202eŒuvre 東京"), Document("bare", "")], embed=made.embed())


def works(made: Made) -> None:
    """Import works that cite each other."""
    lines = [
        {"title": f"On {made.word()} {n}", "abstract": made.text(), "doi": f"10.1/{n}", "references": [f"10.1/{n + 1}"]}
        for n in range(12)
    ]
    with made.opened() as index:
        index.works.import_text("\n".join(map(json.dumps, lines)), source="made", format="jsonl", license="CC0-1.0")


def users(made: Made) -> None:
    """Give two users messages, memories, documents and a collection that one shares."""
    with made.opened() as index:
        for name in ("ann", "bob"):
            theirs = index.scoped(Scope(name))
            theirs.add([Document(f"{name}{n}", made.text()) for n in range(5)], embed=made.embed())
            theirs.memories.add(f"{name} saw the {made.word()}")
            talk = theirs.conversations.add(made.word())
            for _ in range(4):
                theirs.conversations.add_message(talk.id, made.text())
        ann = index.scoped(Scope("ann"))
        if not any(each.name == "wiki" for each in ann.collections.list()):
            ann.collections.create("wiki")
            ann.collections.share("wiki", "bob")
        ann.documents.put(Document("page", made.text()), collection="wiki")


# What may happen to it


def changed(made: Made) -> None:
    """Change, add and delete files."""
    folder = made.place / "files"
    folder.mkdir(exist_ok=True)
    for path in sorted(folder.glob("*.md"))[::2]:
        path.write_text(made.text())
    for path in sorted(folder.glob("*.md"))[::3]:
        path.unlink()
    (folder / "new.md").write_text(made.text())
    with made.opened() as index:
        index.add(folder, embed=made.embed(), prune=True)


def removed(made: Made) -> None:
    """Remove documents and a user."""
    with made.opened() as index:
        keys = [each.key for each in index.documents.list().documents][::3]
        for key in keys[:5]:
            index.documents.remove(key)
        if made.choice.random() < 0.5:
            with suppress(NotFound):
                index.admin.delete_user("bob")


def switched(made: Made) -> None:
    """Switch to another model."""
    other = made.choice.choice([each for each in MODELS if each != made.model])
    with made.opened() as index:
        if index.status().embedded_chunks:
            index.admin.switch(other)
            made.model = other


def built(made: Made) -> None:
    """Build the derived files, then get behind."""
    with made.opened() as index:
        index.admin.accelerate()
        index.add([Document("later", made.text())], embed=made.embed())


def bared(made: Made) -> None:
    """Delete the derived files."""
    for ending in DERIVED:
        made.db.with_name(made.db.name + ending).unlink(missing_ok=True)


def killed(made: Made) -> None:
    """Kill a process that writes, at some moment, so that its log stays."""
    child = os.fork()
    if not child:
        with made.opened() as index:
            for number in range(100):
                index.add([Document(f"k{number}", made.text())], embed=False)
                if number == 30:
                    os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)
    made.waiting = True


def copied(made: Made) -> None:
    """Go on with a copy."""
    copy = made.place / f"copy-{len(made.steps)}.db"
    with made.opened() as index:
        index.admin.backup(copy)
    made.db = copy


def restored(made: Made) -> None:
    """Put a copy in the place of the index."""
    copy = made.place / f"restored-{len(made.steps)}.db"
    with made.opened() as index:
        index.admin.backup(copy)
    rifflux.restore(copy, made.db)


def exported(made: Made) -> None:
    """Go on with what belongs to nobody, as an export has it."""
    with made.opened() as index:
        if index.status().documents:
            target = made.place / f"exported-{len(made.steps)}.db"
            index.admin.extract(target)
            made.db = target


def repaired(made: Made) -> None:
    """Repair what is not damaged."""
    rifflux.repair(made.db)


def salvaged(made: Made) -> None:
    """Copy everything that can be read into a new file, as for a lost header, and read lost files again."""
    with made.opened() as index:
        if not index.status().documents:
            return  # There is nothing to read.
    with made.db.open("r+b") as file:
        file.write(bytes(100))
    rifflux.repair(made.db)
    with made.opened() as index:
        index.sync(embed=False)
    made.waiting = True


KINDS: tuple[Callable[[Made], None], ...] = (files, documents, works, users)
EVENTS = (changed, removed, switched, built, bared, killed, copied, restored, exported, repaired, salvaged)


def main() -> int:
    """Make as many as asked, and tell what `doctor` says against them."""
    arguments = _arguments()
    words_index.LEAST = vector_index.LEAST = 1
    top = arguments.keep or Path(tempfile.mkdtemp(prefix="rifflux-sound-"))
    met: collections.Counter[str] = collections.Counter()
    faults = 0
    for number in range(arguments.indexes):
        choice = random.Random(f"{arguments.seed}-{number}")
        place = top / str(number)
        place.mkdir(parents=True)
        made = Made(place, choice, place / "index.db", choice.choice(MODELS))
        made.opened().close()
        kinds = choice.sample(KINDS, choice.randrange(len(KINDS) + 1))
        for step in (*kinds, *choice.choices(EVENTS, k=choice.randrange(5))):
            made.steps.append(step.__name__)
            met[step.__name__] += 1
            step(made)
        with made.opened() as index:
            found = [*index.admin.check(), *rifflux.diagnose(made.db)]
        wrong = [
            each.what for each in found if not (made.waiting and each.cure is Cure.INDEX and "vector" in each.what)
        ]
        if wrong:
            faults += 1
            print(f"{place} ({', '.join(made.steps)}): {wrong}", flush=True)
        elif not arguments.keep:
            shutil.rmtree(place)
    print(
        f"{arguments.indexes} indexes, {faults} not called sound; what they went through: {dict(sorted(met.items()))}"
    )
    return min(faults, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--indexes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
