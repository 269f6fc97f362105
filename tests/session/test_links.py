"""A folder ends where it ends: nothing that a link leads to outside of it is read, and what is inside is read once."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import rifflux
from rifflux import Finder, Index, IndexReport
from rifflux.ingest.walk import inside
from rifflux.ingest.walk.find import FoundFile

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege there")

PATIENCE = 180.0  # seconds: how long a busy machine may take for what takes a fraction of one
#: What stands in every file inside a root, and in every file outside.
INSIDE, OUTSIDE = "heron", "kestrel"


@dataclass(frozen=True)
class Arrangement:
    """Files and links: at first, what is changed then, and the paths that are to be found in the root at the end.

    Each line is a command: `file PATH`, `folder PATH`, `link PATH TARGET`, `hard PATH TARGET`, `move PATH TARGET`,
    `remove PATH`, `index PATH` (an index of Rifflux's). Paths begin in a folder that holds the folders `root` and
    `out`; a target of a link is as it is written into the link, where `BASE` stands for that folder.
    """

    name: str
    first: str
    then: str
    found: str

    def __str__(self) -> str:
        return self.name

    def do(self, base: Path, commands: str) -> None:
        for line in filter(None, map(str.strip, commands.split(";"))):
            verb, name, *target = line.split()
            path = base / name
            match verb:
                case "file":
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(f"A {INSIDE if name.startswith('root') else OUTSIDE} stands in {name}.")
                case "folder":
                    path.mkdir(parents=True)
                case "link":
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.symlink_to(target[0].replace("BASE", str(base)))
                case "hard":
                    path.hardlink_to(base / target[0])
                case "move":
                    path.rename(base / target[0])
                case "remove":
                    if path.is_symlink() or path.is_file():
                        path.unlink()
                    else:
                        shutil.rmtree(path)
                case "index":
                    with rifflux.open(path, model="hash") as index:
                        index.add(rifflux.Document("own", "An owl."))
                case _:
                    raise AssertionError(line)

    def prepare(self, base: Path) -> Path:
        """Make what every arrangement has, and what this one has at first; returns the root."""
        self.do(base, "file root/own.md; file out/secret.md; file out/deep/more.md")
        self.do(base, self.first)
        return base / "root"

    @property
    def wanted(self) -> set[str]:
        return {"own.md", *self.found.split()}


ARRANGEMENTS = [
    Arrangement(*map(str.strip, line.split("|")))
    for line in """
file out, relative            | | link root/a.md ../out/secret.md |
file out, absolute            | | link root/a.md BASE/out/secret.md |
folder out, relative          | | link root/a ../out |
folder out, absolute          | | link root/a BASE/out |
folder out, deep              | folder root/x/y | link root/x/y/a ../../../out |
folder out, slash at its end  | | link root/a BASE/out/ |
folder above                  | | link root/a .. |
folder above by its path      | | link root/a BASE |
the disk                      | | link root/a / |
chain of files out            | | link root/b.md ../out/secret.md; link root/a.md b.md |
chain of folders out          | | link root/b ../out; link root/a b |
chain by a link outside       | file root/in/x.md; link out/back ../root/in | link root/a ../out/back | in/x.md
chain out and back to hidden  | file root/.in/x.md; link out/back ../root/.in | link root/a ../out/back | a/x.md
chain in and out again        | link out/on secret.md; link root/.b.md ../out/on | link root/a.md .b.md |
link in the middle            | link root/b ../out | link root/a.md b/secret.md |
link in the middle, inside    | file root/.in/x.md; link root/b .in | link root/a.md b/x.md | b/x.md a.md
dots inside a link            | folder root/in | link root/in/a.md ./../in/../../out/secret.md |
dots that come back           | file root/.in/x.md | link root/a.md ../root/.in/../.in/x.md | a.md
dots behind a link            | link root/b ../out/deep | link root/a.md b/../secret.md |
dangling                      | | link root/a.md nothing.md |
dangling out                  | | link root/a.md ../out/nothing.md |
dangling, target comes        | link root/a.md in/x.md | file root/in/x.md | in/x.md
dangling, hidden target comes | link root/a.md .in/x.md; folder root/.in | file root/.in/x.md | a.md
dangling, target comes out    | link root/a.md ../out/late.md | file out/late.md |
target comes in its folder    | link root/a ../out/late | file out/late/x.md |
to itself                     | | link root/a a |
to each other                 | | link root/a b; link root/b a |
to the root                   | | link root/a . |
to the root by its path       | | link root/a BASE/root |
to a parent inside            | file root/in/x.md | link root/in/up .. | in/x.md
to a sibling file             | file root/in/x.md | link root/a.md in/x.md | in/x.md
to a sibling folder           | file root/in/x.md | link root/a in | in/x.md
to a hidden file              | file root/.in.md | link root/a.md .in.md | a.md
to a hidden folder            | file root/.in/x.md; file root/.in/y/z.md | link root/a .in | a/x.md a/y/z.md
to a hidden folder by path    | file root/.in/x.md | link root/a BASE/root/.in | a/x.md
new file in a linked folder   | file root/.in/x.md; link root/a .in | file root/.in/y.md | a/x.md a/y.md
loop in a linked folder       | file root/.in/x.md; link root/.in/up ../.in | link root/a .in | a/x.md
link out in a linked folder   | file root/.in/x.md; link root/a .in | link root/.in/y ../../out | a/x.md
link removed, file            | file root/.in.md; link root/a.md .in.md | remove root/a.md |
link removed, folder          | file root/.in/x.md; link root/a .in | remove root/a |
middle of a chain removed     | file root/.in/x.md; link root/.b .in; link root/a .b | remove root/.b |
target removed                | file root/.in/x.md; link root/a.md .in/x.md | remove root/.in |
target hidden then shown      | file root/.in/x.md; link root/a .in | move root/.in root/in; remove root/a; link root/a in | in/x.md
link turned out               | file root/.in/x.md; link root/a .in | remove root/a; link root/a ../out |
link turned in                | file root/.in/x.md; link root/a ../out | remove root/a; link root/a .in | a/x.md
middle turned out             | file root/.in/x.md; link root/.b .in; link root/a .b | remove root/.b; link root/.b ../out |
file became a link out        | file root/a.md | remove root/a.md; link root/a.md ../out/secret.md |
folder became a link out      | file root/a/secret.md; file root/a/b.md | move root/a gone; link root/a ../out |
upper folder became a link    | file root/a/deep/more.md | move root/a gone; link root/a ../out |
folder renamed                | file root/a/x.md; link root/a/y ../../out | move root/a root/b | b/x.md
folder moved in with links    | file box/x.md; link box/y.md ../out/secret.md | remove box/x.md; file root/in/x.md; move box root/box | in/x.md
folder moved out              | file root/a/x.md; link root/b a | move root/a gone |
ignore file is a link         | file root/a.md; file root/b.md; link root/.gitignore ../out/secret.md | file root/c.md | a.md b.md c.md
hard link inside              | file root/a.md | hard root/b.md root/a.md | a.md b.md
an index inside               | | index root/i.db |
an index, linked              | index root/.in/i.db | link root/a .in |
lock of an index, linked      | index out/i.db; index root/.i.db | link root/a.md .i.db.read.lock; link root/b.md ../out/i.db.read.lock |
index that came as a folder   | index box/i.db; file root/in.md | move box root/box | in.md
""".strip().splitlines()  # noqa: E501
]


def contents(index: Index, word: str) -> set[str]:
    return {hit.path for hit in index.search(word, mode="lexical", top_k=1000)}


def paths(index: Index, root: Path) -> set[str]:
    """Return all that the index holds of a root."""
    return {file.path for file in index.admin.view.store.catalog.files(str(root))}


def eventually(holds: Callable[[], object], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = tmp_path.resolve() / "base"
    base.mkdir()
    return base


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        yield index


def test_there_are_forty_arrangements() -> None:
    assert len(ARRANGEMENTS) >= 40
    assert len({each.name for each in ARRANGEMENTS}) == len(ARRANGEMENTS)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS, ids=str)
@pytest.mark.parametrize("descriptors", [True, False], ids=["descriptors", "paths"])
class TestIndexing:
    @pytest.fixture(autouse=True)
    def system(self, descriptors: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inside, "HAS_DESCRIPTORS", descriptors)

    def test_once(self, index: Index, base: Path, arrangement: Arrangement) -> None:
        root = arrangement.prepare(base)
        arrangement.do(base, arrangement.then)
        index.add(root)
        assert paths(index, root) == arrangement.wanted
        assert contents(index, OUTSIDE) == set()

    def test_again(self, index: Index, base: Path, arrangement: Arrangement) -> None:
        root = arrangement.prepare(base)
        index.add(root)
        assert contents(index, OUTSIDE) == set()
        arrangement.do(base, arrangement.then)
        index.sync()
        assert paths(index, root) == arrangement.wanted
        assert contents(index, OUTSIDE) == set()


def test_watching(index: Index, base: Path) -> None:
    """All arrangements at once, each in a root of its own."""
    places = {arrangement: base / str(number) for number, arrangement in enumerate(ARRANGEMENTS)}
    for arrangement, place in places.items():
        place.mkdir()
        arrangement.prepare(place)
    index.add(*(place / "root" for place in places.values()))
    stop = threading.Event()
    reports: list[IndexReport] = []
    errors: list[BaseException] = []

    def follow() -> None:
        try:
            reports.extend(index.watch(stop=stop, embed=False))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        eventually(lambda: reports or errors, lambda: "watching did not begin")
        for arrangement, place in places.items():
            arrangement.do(place, arrangement.then)
        # The system reports changes behind links that lead out, too.
        for place in places.values():
            (place / "out/secret.md").write_text(f"Another {OUTSIDE}.")
            (place / "out/new.md").write_text(f"A new {OUTSIDE}.")

        def missing() -> list[str]:
            return [
                f"{arrangement}: {paths(index, place / 'root')}, not {arrangement.wanted}"
                for arrangement, place in places.items()
                if paths(index, place / "root") != arrangement.wanted
            ]

        eventually(lambda: errors or not missing(), missing)
        # What is changed last is found last, so everything before it was looked at.
        last = next(iter(places.values())) / "root/last.md"
        last.write_text(f"The last {INSIDE}.")
        eventually(lambda: "last.md" in paths(index, last.parent), lambda: "the last change was not followed")
        last.unlink()
        eventually(lambda: "last.md" not in paths(index, last.parent), lambda: "the last change was not followed")
    finally:
        stop.set()
        thread.join(PATIENCE)
    assert errors == []
    assert not thread.is_alive()
    for arrangement, place in places.items():
        assert paths(index, place / "root") == arrangement.wanted, arrangement.name
    assert contents(index, OUTSIDE) == set()


class TestRoots:
    def test_a_root_that_is_a_link_is_the_folder_that_it_leads_to(self, index: Index, base: Path) -> None:
        (base / "real").mkdir()
        (base / "real/a.md").write_text(f"A {INSIDE}.")
        (base / "root").symlink_to("real")
        index.add(base / "root")
        assert paths(index, base / "real") == {"a.md"}

    @pytest.mark.parametrize("descriptors", [True, False], ids=["descriptors", "paths"])
    @pytest.mark.parametrize("name", ["root", "root/in"])
    def test_a_root_that_became_a_link_is_not_followed_and_nothing_is_lost(
        self, index: Index, base: Path, name: str, descriptors: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also where what became a link is a folder above the root."""
        monkeypatch.setattr(inside, "HAS_DESCRIPTORS", descriptors)
        for folder, word in (("root/in", INSIDE), ("out/in", OUTSIDE), ("out", OUTSIDE)):
            (base / folder).mkdir(parents=True, exist_ok=True)
            (base / folder / "a.md").write_text(f"A {word}.")
        index.add(base / "root/in")
        (base / name).rename(base / "gone")
        (base / name).symlink_to(base / "out")
        report = index.sync()
        assert contents(index, OUTSIDE) == set()
        assert contents(index, INSIDE) == {"a.md"}
        assert [failure.path for failure in report.failed] == [str(base / "root/in")]
        assert str(base / "out") in report.failed[0].reason

    def test_a_root_in_another_one_ends_where_it_ends(self, index: Index, base: Path) -> None:
        """A link to what only the outer root holds is not read under the inner one's name, nor twice."""
        for name in ("root/.inner/a.md", "root/b.md", "out/c.md"):
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            (base / name).write_text(f"A {OUTSIDE if name.startswith('out') else INSIDE}.")
        (base / "root/.inner/up.md").symlink_to("../b.md")
        (base / "root/.inner/out.md").symlink_to("../../out/c.md")
        index.add(base / "root", base / "root/.inner")
        assert paths(index, base / "root/.inner") == {"a.md"}
        assert paths(index, base / "root") == {"b.md"}
        assert contents(index, OUTSIDE) == set()

    def test_a_single_file_that_became_a_link_out_is_not_followed(self, index: Index, base: Path) -> None:
        (base / "root").mkdir()
        (base / "root/a.md").write_text(f"A {INSIDE}.")
        (base / "secret.md").write_text(f"A {OUTSIDE}.")
        index.add(base / "root/a.md")
        (base / "root/a.md").unlink()
        (base / "root/a.md").symlink_to("../secret.md")
        index.sync()
        assert contents(index, OUTSIDE) == set()
        assert contents(index, INSIDE) == set()


class TestExchange:
    """What is exchanged for a link after it was found, and before it is opened."""

    @pytest.mark.parametrize("descriptors", [True, False], ids=["descriptors", "paths"])
    @pytest.mark.parametrize("name", ["root/in/a.md", "root/in", "root", "root/in/pipe.md"])
    def test_it_is_not_read(self, base: Path, name: str, descriptors: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inside, "HAS_DESCRIPTORS", descriptors)
        for folder, word in (("root/in", INSIDE), ("out/in", OUTSIDE), ("out", OUTSIDE)):
            (base / folder).mkdir(parents=True, exist_ok=True)
            (base / folder / "a.md").write_text(f"A {word}.")
        (found,) = Finder()(base / "root")
        assert isinstance(found, FoundFile)
        with found.place.open() as file:
            assert INSIDE.encode() in file.read()
        if name.endswith("pipe.md"):
            (base / "root/in/a.md").unlink()
            os.mkfifo(base / "root/in/a.md")
        else:
            (base / name).rename(base / "gone")
            (base / name).symlink_to(base / "out" / ("a.md" if name.endswith("a.md") else ""))
        with pytest.raises(OSError, match="took its place"):
            found.place.open()

    @pytest.mark.skipif(not inside.HAS_DESCRIPTORS, reason="only descriptors are safe at any moment")
    def test_folders_that_are_exchanged_all_the_time_let_nothing_in(self, index: Index, base: Path) -> None:
        """Another thread exchanges a file, a folder and a folder above for links, while the folder is indexed."""
        for name in ("root/a.md", "root/b/a.md", "root/c/b/a.md", "out/a.md", "out/b/a.md"):
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            word = OUTSIDE if name.startswith("out") else INSIDE
            (base / name).write_text(f"A {word} in {name}. " + "x" * 1000)
        targets = {"root/a.md": "out/a.md", "root/b": "out/b", "root/c": "out"}
        for name, target in targets.items():
            (base / f"{name}.link").symlink_to(base / target)
        stop = threading.Event()

        def exchange() -> None:
            while not stop.is_set():
                for name in targets:
                    (base / name).rename(base / f"{name}.own")
                    (base / f"{name}.link").rename(base / name)
                    (base / name).rename(base / f"{name}.link")
                    (base / f"{name}.own").rename(base / name)

        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            for _ in range(60):
                index.add(base / "root", force=True, embed=False)
                assert contents(index, OUTSIDE) == set()
        finally:
            stop.set()
            thread.join()


def test_a_folder_of_works_ends_where_it_ends_too(index: Index, base: Path) -> None:
    for name, word in (("root/a.ris", INSIDE), ("out/b.ris", OUTSIDE)):
        (base / name).parent.mkdir(exist_ok=True)
        (base / name).write_text(f"TY  - JOUR\nTI  - On the {word}\nAU  - Doe, Ann\nPY  - 2001\nER  - \n")
    (base / "root/link.ris").symlink_to("../out/b.ris")
    (base / "root/folder").symlink_to("../out")
    report = index.works.import_files(base / "root", license="CC0-1.0", embed=False)
    assert report.failed == ()
    assert report.added == 1
