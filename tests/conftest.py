"""What all tests share."""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import rifflux

# Loaded first: it ends the process where usearch, which a test may import, was loaded before it.
importlib.import_module("onnxruntime")
# What tests write to an index gets the checksums that Rifflux writes.
importlib.import_module("rifflux.store.sqlite.connection.connect")
pytest.register_assert_rewrite("rifflux.testing", "tests.support")
from tests.support.scratch import use_memory  # noqa: E402

use_memory()
import tests.support.exploring  # noqa: E402, F401 - how property tests are run is settled before any is made
from tests.support.commands import client, run_command  # noqa: E402
from tests.support.patient import be_patient  # noqa: E402

be_patient()


@dataclass(frozen=True)
class CommandLine:
    """Runs `rifflux` as its users do: in a process of its own, in a folder, with no settings but those given.

    Calling it forks a process in which the package is imported already; `forked` gives the words for that, `command`
    those of a cold start.
    """

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment without any setting of Rifflux in it, and the embedder that is quick."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RIFFLUX_")}
        source = str(Path(rifflux.__file__).parents[1])
        ours = {"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / ".config"), "PYTHONPATH": source}
        return kept | ours | {"RIFFLUX_MODEL": "hash"} | self.settings

    def command(self, *arguments: object) -> list[str]:
        """The words that start it."""
        return [sys.executable, "-m", "rifflux", *map(str, arguments)]

    def forked(self, *arguments: object) -> list[str]:
        """The words that start it where the package is imported already."""
        return [*client(), *map(str, arguments)]

    def __call__(self, *arguments: object, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """Run to the end; `more` are variables of the environment."""
        done = run_command([str(each) for each in arguments], cwd or self.folder, self.environment | more)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *arguments: object, status: int = 0, **more: Any) -> Any:
        """What a command prints with --json; all of stdout must be that."""
        done = self(*arguments, "--json", **more)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    @staticmethod
    def hears_ctrl_c() -> None:
        """Have a new process end at Ctrl-C: its `preexec_fn`.

        A shell starts what runs in the background deaf to it, and so it may have started these tests. What is deaf
        stays so, as with any other program: Ctrl-C is meant for what runs in front.
        """
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def refusal(self, *arguments: object, **more: Any) -> str:
        """The message of a command that must be refused before anything is done."""
        done = self(*arguments, **more)
        assert (done.returncode, done.stdout) == (2, ""), done
        return done.stderr


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect tests without looking for garbage, as what is made for them stays; processes share the compiling."""
    gc.disable()
    try:
        import_share(session.config.rootpath)
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def import_share(root: Path) -> None:
    """Import every nth module of tests first, if this is one of n processes: it finds the others compiled afterwards.

    A module that cannot be imported is reported when its tests are collected.
    """
    place = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if count == 1:
        return
    for path in sorted((root / "tests").rglob("test_*.py"))[place::count]:
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that start processes or build large indexes first: the last files to run are then short ones."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    """The command line, in an empty folder."""
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def command_line() -> type[CommandLine]:
    """The command line for a folder of one's own choice, for what outlives a test."""
    return CommandLine
