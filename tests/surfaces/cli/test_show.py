"""Progress in a log, and names that would move the cursor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rifflux.surfaces.cli.show import ProgressLines


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_long_work_prints_a_line_at_the_start_every_ten_seconds_and_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    progress = ProgressLines(clock)
    for done in range(101):
        progress("read", done, 100)
        clock.now += 0.25
    progress.end()
    assert lines(capsys) == [
        "Reading files: started, 100 in all",
        "Reading files: 40 of 100, 4/s, about 15 s left",
        "Reading files: 80 of 100, 4/s, about 5 s left",
        "Reading files: 100 done, in 25.2 s",
    ]


def test_the_files_of_several_folders_are_one_stage(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = ProgressLines(clock)
    for _ in range(2):
        for done in range(6):
            progress("read", done, 5)
            clock.now += 1.0
    progress("embed", 3, 3)
    progress.end()
    assert lines(capsys) == [
        "Reading files: started, 5 in all",
        "Reading files: 9 of 10, 1/s, about 1 s left",
        "Reading files: 10 done, in 12.0 s",
        "Embedding chunks: started, 3 in all",
        "Embedding chunks: 3 done, in 0.0 s",
    ]


def test_work_of_unknown_size_tells_its_rate(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = ProgressLines(clock)
    progress("read", 1, None)
    clock.now += 20.0
    progress("read", 40, None)
    assert lines(capsys) == ["Reading files: started", "Reading files: 40, 2/s"]


def test_a_log_tells_when_indexing_starts_and_ends(run: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "walrus.md").write_text("# Walrus\n\nThe walrus rests.\n")
    first = run("index", notes).stderr.splitlines()
    assert [line.partition(":")[0] for line in first] == ["Reading files"] * 2 + ["Embedding chunks"] * 2
    # Nothing is read, so nothing is told of reading.
    assert run("index", notes).stderr == ""


@pytest.mark.parametrize("mark", ["\n", "\r", "\t", "\x1b[31m", "\u202e", "\u2028"])
def test_a_file_name_stays_on_its_line(run: Any, tmp_path: Path, mark: str) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / f"odd{mark}name.md").write_text("# Walrus\n\nThe walrus rests.\n")
    assert run("index", notes).returncode == 0
    first = run("search", "walrus").stdout.splitlines()[0]
    assert mark not in first
    assert "name.md" in first


@pytest.mark.parametrize("mark", ["\n", "\x1b[31m", "\x9b31m", "\u202e"])
def test_no_command_prints_what_a_name_controls(run: Any, tmp_path: Path, mark: str) -> None:
    notes = tmp_path / f"no{mark}tes"
    notes.mkdir()
    odd = notes / f"odd{mark}name.md"
    odd.write_text("# Walrus\n\nThe walrus rests.\n")
    os.utime(odd, (2**34, 2**34))  # a date that is reported
    commands = (
        ("index", notes),
        ("index", notes, "--json"),
        ("status",),
        ("why", "walrus", odd),
        ("get", f"odd{mark}names.md"),
        ("remove", f"odd{mark}names.md"),
        ("collections", "list"),
        ("index", f"missing{mark}folder"),
        ("restore", f"missing{mark}file"),
        ("backup", tmp_path / f"cop{mark}y"),
        ("restore", tmp_path / f"cop{mark}y", "--as", tmp_path / f"sec{mark}ond"),
    )
    for command in commands:
        done = run(*command)
        printed = done.stdout + done.stderr
        if mark == "\n":
            assert "no\ntes" not in printed, command
            assert "odd\nname" not in printed, command
            assert "missing\nf" not in printed, command
            assert "cop\ny" not in printed, command
            assert "sec\nond" not in printed, command
        else:
            assert mark not in printed, command
