"""Every program of `bench` runs, on inputs so small that its figures mean nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from bench.__main__ import programs

from tests.bench import test_programs
from tests.support.browser import CHROMIUM
from tests.support.commands import run_command
from tests.support.tiny_collections import write_tiny_collections, write_tiny_packages, write_tiny_papers

ROOT = Path(__file__).parents[2]

#: Programs that need more than a folder, with the test that runs each on a tiny input.
IN_TEST_PROGRAMS = {
    "scopes": "test_answers_are_compared_with_and_without_what_others_keep",
    "imports": "test_imports_are_measured_beside_uploads_and_searches",
    "workers": "test_workers_are_compared_on_real_services",
}

#: Programs whose exit status judges the figures, which mean nothing here, or the size of the index.
JUDGING = {"page", "retrieve", "switch", "workday"}

#: Programs that read what another one made, and where it is.
READS = {"calibrate": ("ranking", "KEEP"), "retrieve": ("works", "WORKS")}

#: The arguments of each program. DATA is a folder of collections, INDEX an index of them, KEEP and WORKS are folders
#: that several programs share, PACKAGES has what programs would fetch, TMP is an empty folder, and ROOT this checkout.
ARGUMENTS: dict[str, str] = {
    "corpus": "DATA INDEX",
    "ranking": "DATA scifact cacm --keep KEEP",
    "calibrate": "DATA KEEP scifact cacm",
    "features": "DATA scifact cacm --keep KEEP",
    "fusion": "DATA scifact cacm --keep KEEP",
    "naming": "DATA scifact --keep KEEP",
    "lifts": "DATA scifact --most 4 --forms 4 --parts anchors,rerank --keep KEEP",
    "forms": "DATA scifact --documents 4 --parts times --keep KEEP",
    "table": "DATA scifact --peers --keep KEEP",
    "answers": "DATA/questions.jsonl DATA/docs/rust-book",
    "sufficiency": "DATA/questions.jsonl INDEX",
    "claims": "DATA/claims.jsonl --show",
    "code": "--each 2 --keep PACKAGES",
    "pdf": "--each 4 --keep PACKAGES",
    "papers": "DATA/papers DATA/papers/truths.tsv --show",
    "refusals": "DATA --each 2 --index INDEX --keep TMP",
    "branches": "DATA/stacks TMP --queries 4",
    "conversations": "DATA/locomo --keep TMP",
    "formulas": "DATA/stacks --queries 4",
    "memories": "--most 4 --model hash:64",
    "models": "DATA hash:64 --names scifact,cacm --keep TMP",
    "names": "DATA scifact --titles 4 --keep TMP",
    "notes": "--modes lexical --keep TMP",
    "wordings": "DATA --topics 2 --nonsense 2 --mode lexical --keep TMP",
    "works": "DATA --collections cacm --keep WORKS",
    "packs": "DATA --collections cacm --keep WORKS",
    "intents": "DATA --keep WORKS",
    "who": "DATA --keep WORKS --authors 1 --items 2",
    "retrieve": "WORKS/cacm-works.db DATA/cacm --rate 5 --seconds 1 --warm-up 1",
    "latency": "INDEX DATA --each 2",
    "stages": "INDEX DATA --base ROOT --sizes 40 --each 2 --rounds 2 --work TMP",
    "why": "INDEX DATA/scifact/queries.jsonl --queries 2 --documents 2",
    "cold": "--index INDEX --runs 1",
    "indexing": "DATA --runs 1",
    "memory": "DATA INDEX --questions 4",
    "peers": "INDEX DATA --engines sqlite rifflux_hybrid --chunks 40 --each 1 --work TMP",
    "growth": "DATA INDEX --sizes 40 --keep TMP",
    "vectors": "DATA INDEX --questions 2 --hnsw",
    "sizes": "DATA/docs/rust-book --models hash:64",
    "parts": "INDEX",
    "watch": "DATA --saves 2",
    "compare": "DATA --base ROOT --documents 40 --questions 4 --rounds 1 --names scifact cacm",
    "concurrency": "--writers 2 --readers 2 --seconds 1",
    "digits": "--questions 12 --documents 30",
    "damage": "--damages 6 --documents 30 --repairs 1",
    "calls": "--kills 6 --files 4 --only index --only restore --only salvage",
    "kill": "--kills 2 --files 4",
    "hostile": "--scale 0.0001 --only deep.json --only blank --only root",
    "vault": "DATA/docs --uploads 4 --keep TMP",
    "sound": "--indexes 3",
    "disks": "--sizes 2 --only remove",
    "copies": "INDEX DATA --chunks 40 --kills 1 --each 1 --keep TMP",
    "switch": "INDEX --questions 3",
    "fuzz": "--examples 1 --only /facets --role user",
    "page": "INDEX DATA/scifact --questions 2 --warm-up 0 --key 10",
    "members": "--documents 20 --users 2 --questions 2 --keep TMP",
    "users": "DATA --users 2 --messages 20 --questions 4 --keep TMP",
    "workday": "--documents 20 --users 2 --messages 2 --seconds 1 --questions 10 --keep TMP",
    "journeys": "",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders and the index that arguments name."""
    top = tmp_path_factory.mktemp("tiny")
    data = write_tiny_collections(top / "data")
    packages = top / "packages"
    write_tiny_packages(packages / "sources", packages / "manuals" / "markdown")
    write_tiny_papers(data / "papers")
    places = {"INDEX": top / "index.db", "KEEP": top / "keep", "WORKS": top / "works"}
    return places | {"DATA": data, "PACKAGES": packages, "ROOT": ROOT}


def _words(arguments: str, places: dict[str, Path]) -> Sequence[str]:
    words: list[str] = []
    for word in arguments.split():
        head, slash, rest = word.partition("/")
        words.append(f"{places[head]}{slash}{rest}" if head in places else word)
    return words


@pytest.mark.slow
@pytest.mark.parametrize("name", ARGUMENTS)
def test_it_runs(name: str, places: dict[str, Path], tmp_path: Path) -> None:
    if name == "page" and CHROMIUM is None:
        pytest.skip("no Chromium: run scripts/browser.sh")
    if name == "calls" and (sys.platform != "linux" or shutil.which("cc") is None):
        pytest.skip("a library is compiled and loaded before the system's")
    if name == "disks" and not _may_mount(tmp_path):
        pytest.skip("a disk in memory is mounted")
    maker, made = READS.get(name, ("corpus", "INDEX"))
    if name != maker and not places[made].exists():
        _run(maker, places)
    _run(name, places | {"TMP": tmp_path})


def _may_mount(folder: Path) -> bool:
    """Return True if a disk in memory can be mounted, as the program does."""
    if sys.platform != "linux":
        return False
    place = folder / "mounted"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", str(place)], check=False, capture_output=True)
    if mounted.returncode == 0:
        subprocess.run(["umount", str(place)], check=True)
    return mounted.returncode == 0


def _run(name: str, places: dict[str, Path]) -> None:
    """Run a program in a process of its own: some change constants of the package while they measure."""
    done = run_command([name, *_words(ARGUMENTS[name], places)], ROOT, os.environ, module="bench")
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0 or name in JUDGING, done.stderr


def test_every_program_runs_on_a_tiny_input() -> None:
    # `make check` runs the first; the others need a cluster.
    assert {*ARGUMENTS, *IN_TEST_PROGRAMS} == {*programs()} - {
        "structure",
        "bytes",
        "cluster",
        "crowd",
        "nodes",
        "volume",
    }
    assert all(hasattr(test_programs, name) for name in IN_TEST_PROGRAMS.values())


def test_the_readme_names_every_program() -> None:
    rows = (ROOT / "bench" / "README.md").read_text("utf-8")
    assert [name for name in programs() if f"| `{name}` |" not in rows] == []
