"""What is saved is found soon, whatever way editors save; what is ignored stays out; what vanishes comes back."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import watchfiles

import rifflux
from rifflux import Index, IndexReport
from rifflux.ingest import embed, watch
from rifflux.types import Vectors
from tests.support.commands import PATIENCE
from tests.support.embedder import Counting


def eventually(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def save(path: Path, text: str) -> None:
    """Write a file in one step: whoever follows it never reads half of it."""
    hidden = path.with_name(f".{path.name}.swp")
    hidden.write_text(text)
    hidden.rename(path)


def found(index: Index, query: str) -> list[str]:
    return sorted(hit.path for hit in index.search(query, mode="lexical", top_k=1000))


@dataclass
class Watching:
    """An index that is watched in a thread, with what it reported."""

    index: Index
    reports: list[IndexReport] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Watching:
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()
        eventually(lambda: self.reports or self.errors)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "it did not stop"
        assert self.errors == []

    def _follow(self) -> None:
        try:
            for report in self.index.watch(stop=self.stop):
                self.reports.append(report)
        except BaseException as error:
            self.errors.append(error)


@pytest.fixture
def watching(index: Index, folder: Path) -> Iterator[Watching]:
    """The folder of notes, watched."""
    index.add(folder)
    with Watching(index) as watching:
        yield watching


def test_nothing_is_missed_where_watching_begins_slowly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = watchfiles.watch

    def slowly(*paths: Path, **options: Any) -> Any:
        time.sleep(0.3)
        return begin(*paths, **options)

    monkeypatch.setattr(watchfiles, "watch", slowly)
    with watch.Watcher([tmp_path], (), lambda _: True) as watcher:
        (tmp_path / "new.md").write_text("A kingfisher.")
        assert watcher.wait(PATIENCE) == {tmp_path / "new.md"}


class TestSaving:
    def test_a_new_file_an_edit_and_a_removal_are_followed(self, watching: Watching, folder: Path) -> None:
        index, note = watching.index, folder / "new.md"
        note.write_text("A kingfisher.")
        eventually(lambda: found(index, "kingfisher") == ["new.md"])
        note.write_text("An osprey.")
        eventually(lambda: found(index, "osprey") == ["new.md"])
        assert found(index, "kingfisher") == []
        note.unlink()
        eventually(lambda: found(index, "osprey") == [])
        assert found(index, "heron") == ["birds/heron.txt"]

    def test_vectors_follow(self, watching: Watching, folder: Path) -> None:
        (folder / "new.md").write_text("A kingfisher.")
        eventually(lambda: watching.index.search("kingfisher", mode="semantic")[0].path == "new.md")
        eventually(lambda: sum(report.embedded_chunks for report in watching.reports) == 1)

    def _is_the_only_one(self, index: Index, word: str) -> bool:
        return found(index, word) == ["cache.md"]

    def test_a_save_by_renaming_is_one_too(self, watching: Watching, folder: Path) -> None:
        for text in ("A kingfisher.", "An osprey."):
            (folder / ".cache.md.swp").write_text(text)
            (folder / ".cache.md.swp").rename(folder / "cache.md")
            eventually(partial(self._is_the_only_one, watching.index, text.split()[1]))
        assert found(watching.index, "oldest") == []

    def test_a_moved_file_keeps_its_vectors(self, tmp_path: Path, folder: Path) -> None:
        with rifflux.open(tmp_path / "index.db", model=(embedder := Counting())) as index:
            index.add(folder)
            with Watching(index):
                embedder.seen.clear()
                (folder / "cache.md").rename(folder / "birds/cache.md")
                eventually(lambda: found(index, "oldest") == ["birds/cache.md"])
            assert index.status().embedded_chunks == index.status().chunks
        assert embedder.seen == []

    def test_a_folder_that_is_made_moved_and_removed_is_followed(self, watching: Watching, folder: Path) -> None:
        index = watching.index
        (folder / "deep/er").mkdir(parents=True)
        (folder / "deep/er/idea.md").write_text("A kingfisher.")
        eventually(lambda: found(index, "kingfisher") == ["deep/er/idea.md"])
        (folder / "deep/er/more.md").write_text("An osprey.")
        eventually(lambda: found(index, "osprey") == ["deep/er/more.md"])
        (folder / "deep").rename(folder / "other")
        eventually(lambda: found(index, "kingfisher osprey") == ["other/er/idea.md", "other/er/more.md"])
        shutil.rmtree(folder / "other")
        eventually(lambda: found(index, "kingfisher osprey") == [])

    @pytest.mark.slow
    def test_a_burst_of_files_is_followed_whole(self, watching: Watching, folder: Path) -> None:
        for number in range(watch.MANY * 3):
            (folder / f"birds/{number:04}.md").write_text(f"Kingfisher {number}.")
        eventually(lambda: len(found(watching.index, "kingfisher")) == watch.MANY * 3)

    def test_a_single_file_is_followed_and_its_neighbours_are_not(self, index: Index, folder: Path) -> None:
        index.add(folder / "cache.md")
        with Watching(index):
            (folder / "other.md").write_text("An osprey.")
            (folder / ".tmp").write_text("A kingfisher.")
            (folder / ".tmp").rename(folder / "cache.md")
            eventually(lambda: found(index, "kingfisher") == ["cache.md"])
        assert found(index, "osprey") == []


class TestRules:
    def test_what_is_ignored_or_hidden_stays_out(self, watching: Watching, folder: Path) -> None:
        (folder / ".gitignore").write_text("drafts/\n*.log.md\n")
        for name in ("drafts/a.md", "b.log.md", ".hidden/c.md", "node_modules/d.md", ".e.md"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("A kingfisher.")
        (folder / "last.md").write_text("An osprey.")
        eventually(lambda: found(watching.index, "osprey") == ["last.md"])
        assert found(watching.index, "kingfisher") == []

    def test_a_change_of_rules_is_followed(self, watching: Watching, folder: Path) -> None:
        (folder / ".gitignore").write_text("birds/\n")
        eventually(lambda: found(watching.index, "heron falcon") == [])
        (folder / ".gitignore").unlink()
        eventually(lambda: found(watching.index, "heron falcon") == ["birds/falcon.txt", "birds/heron.txt"])

    def test_an_index_inside_the_folder_does_not_follow_itself(self, folder: Path) -> None:
        with rifflux.open(folder / "index.db", model="hash") as index:
            index.add(folder)
            with Watching(index) as watching:
                save(folder / "new.md", "A kingfisher.")
                eventually(lambda: found(index, "kingfisher") == ["new.md"])
                time.sleep(1)
                # The first look at the folder may find the file already.
                assert len(watching.reports) <= 2


class TestVanishing:
    def test_a_folder_that_vanishes_stays_and_is_read_when_it_is_back(
        self, watching: Watching, folder: Path, tmp_path: Path
    ) -> None:
        folder.rename(tmp_path / "away")
        eventually(lambda: any(report.failed for report in watching.reports))
        assert found(watching.index, "heron") == ["birds/heron.txt"]
        (tmp_path / "away/birds/heron.txt").write_text("The egret stands in the river.")
        (tmp_path / "away").rename(folder)
        eventually(lambda: found(watching.index, "egret") == ["birds/heron.txt"])
        (folder / "new.md").write_text("A kingfisher.")
        eventually(lambda: found(watching.index, "kingfisher") == ["new.md"])

    def test_a_folder_that_another_process_adds_is_followed_too(
        self, watching: Watching, tmp_path: Path, run: Any
    ) -> None:
        (tmp_path / "more").mkdir()
        run.json("index", tmp_path / "more", "--db", tmp_path / "index.db")
        time.sleep(1)
        (tmp_path / "more/new.md").write_text("A kingfisher.")
        eventually(lambda: found(watching.index, "kingfisher") == ["new.md"])


@dataclass(frozen=True)
class Slow(Counting):
    """An embedder that takes its time."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        time.sleep(0.05 * len(texts))
        return super().embed_documents(texts)


def test_a_change_comes_before_vectors_that_take_long(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "BATCH", 2)
    for number in range(200):
        (folder / f"{number}.txt").write_text(f"Heron {number}.")
    with rifflux.open(tmp_path / "index.db", model=Slow()) as index:
        index.add(folder, embed=False)
        reports: list[IndexReport] = []
        stop = threading.Event()
        thread = threading.Thread(target=lambda: reports.extend(index.watch(stop=stop)))
        thread.start()
        eventually(lambda: index.status().embedded_chunks > 0)
        (folder / "new.md").write_text("A kingfisher.")
        eventually(lambda: found(index, "kingfisher") == ["new.md"])
        assert index.status().embedded_chunks < 200, "it waited for all vectors"
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


class TestCommand:
    @pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
    def test_it_reports_in_lines_and_ends_cleanly(
        self, run: Any, folder: Path, tmp_path: Path, stop: signal.Signals
    ) -> None:
        command = run.command("index", folder, "--watch", "--json", "--db", tmp_path / "index.db")
        process = subprocess.Popen(
            command,
            env=run.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=run.hears_ctrl_c,
        )
        assert process.stdout
        first = json.loads(process.stdout.readline())
        assert first["indexed_files"] == 3
        save(folder / "new.md", "A kingfisher.")
        second = json.loads(process.stdout.readline())
        assert (second["indexed_files"], second["embedded_chunks"]) == (1, 1)
        save(folder / "newer.md", "An osprey.")
        third = json.loads(process.stdout.readline())
        assert third["indexed_paths"] == [str(folder / "newer.md")]
        process.send_signal(stop)
        rest, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, rest) == (128 + stop, "")
        assert errors.splitlines()[-1].endswith("; what was done so far is kept")
        assert "Traceback" not in errors
        told = run.json("doctor", "--db", tmp_path / "index.db")
        assert (told["sound"], told["problems"]) == (True, [])
