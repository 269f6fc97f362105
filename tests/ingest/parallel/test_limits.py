"""What a hostile file may take of the machine: its own reader, for a while, and nothing else."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux.ingest import prepare
from rifflux.ingest.prepare import lines_of
from rifflux.ingest.walk.find import Finder, FoundFile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems limit less")


def test_a_file_that_takes_too_much_memory_fails_alone(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "deep.js").write_text("{\n" * 4_000_000)
    (folder / "good.md").write_text("# Herons\n\nHerons fish at dawn.\n")
    with rifflux.open(tmp_path / "i.db", model="hash", reader_memory_mb=256) as index:
        report = index.add(folder, embed=False)
        assert [Path(each.path).name for each in report.failed] == ["deep.js"]
        assert "memory" in report.failed[0].reason
        assert report.indexed_files == 1
        again = index.add(folder, embed=False)
        assert [each.reason for each in again.failed] == [each.reason for each in report.failed]
    with rifflux.open(tmp_path / "i.db", model="hash", reader_memory_mb=1024) as index:
        assert not [each for each in index.add(folder, embed=False).failed if "256" in each.reason]


def test_a_file_that_takes_too_much_time_fails_alone(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "wide.html").write_text(f"<p {' '.join(f'a{n}=1' for n in range(200_000))}>Herons</p>")
    (folder / "good.md").write_text("# Herons\n\nHerons fish at dawn.\n")
    with rifflux.open(tmp_path / "i.db", model="hash", reader_seconds=2) as index:
        report = index.add(folder, embed=False)
        assert report.indexed_files == 1
        assert [each.reason for each in report.failed] == [
            "was given up after 2 s of reading: split it, or save it in a plainer format"
        ]


@pytest.mark.parametrize("wrong", [{"reader_seconds": 0}, {"reader_memory_mb": 8}, {"reader_memory_mb": 512.5}])
def test_limits_that_no_reader_could_keep_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(rifflux.InvalidArgument, match="must be a whole number"):
        rifflux.open(tmp_path / "i.db", model="hash", **wrong)


def test_a_line_that_is_too_long_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "LONGEST_LINE", 2**20)
    long = '{"text": "' + "heron " * 2**18 + '"}\n'
    lines = ['{"_id": "a", "text": "Herons fish."}\n', long, '{"_id": "b", "text": "Owls hoot."}\n', long.rstrip()]
    source = tmp_path / "records.jsonl"
    source.write_text("".join(lines))
    with rifflux.open(tmp_path / "i.db", model="hash") as index:
        report = index.add(source, embed=False)
        assert [each.path.rpartition(":")[2] for each in report.failed] == ["2", "4"]
        assert {hit.key for hit in index.search("herons owls", mode="lexical")} == {"a", "b"}


def test_a_long_line_is_read_apart_from_others(tmp_path: Path) -> None:
    short = b'{"text": "Herons fish."}\n'
    long = b'{"text": "' + b"heron " * 2**17 + b'"}\n'
    (tmp_path / "records.jsonl").write_bytes(short * 3 + long + short)
    (found,) = (each for each in Finder()(tmp_path) if isinstance(each, FoundFile))
    stretches = list(lines_of(found.place))
    assert [(each.first, each.data) for each in stretches] == [(1, short * 3), (4, long), (5, short)]
    assert [each.last for each in stretches] == [False, False, True]


ENDLESS = """
from rifflux.types.limits import ReaderLimits
from rifflux.ingest.parallel.pool import WorkerPool
from rifflux.ingest.prepare import Given
from rifflux.types import Document
from tests.ingest.parallel.test_pool import preparer

pool = WorkerPool(1, preparer(), ReaderLimits(processor_s=86_400))
print(pool._workers[0].process.pid, flush=True)
list(pool([Given("notes", Document("a", "An endless one."))]))
"""


def test_a_reader_ends_with_the_process_that_started_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    reader = os.pidfd_open(int(process.stdout.readline()))
    process.kill()
    process.wait()
    process.stdout.close()
    # A descriptor of a process can be read once it has ended.
    assert select.select([reader], [], [], 180)[0]
    os.close(reader)
