"""A command that comes as far as a file, and no further: what may be told of it in the middle of its work."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.support.commands import PATIENCE

__all__ = ["StuckAt"]

HOOK = """
import sys, time
def stop(event, arguments):
    if event == "open" and str(arguments[0]).endswith({name!r}):
        open({reached!r}, "w").close()
        while True:
            time.sleep(0.05)
sys.addaudithook(stop)
"""


class Process(Protocol):
    """A process that runs."""

    def poll(self) -> int | None:
        """Return its exit status, or None while it runs."""


@dataclass(frozen=True)
class StuckAt:
    """Has each process of an environment wait for ever when it opens a file of this name; `folder` keeps the hook."""

    name: str
    folder: Path

    @property
    def _reached(self) -> Path:
        return self.folder / "reached"

    def environment(self, given: dict[str, str]) -> dict[str, str]:
        """Return the environment with the hook."""
        self.folder.mkdir()
        hook = HOOK.format(name=self.name, reached=str(self._reached))
        (self.folder / "sitecustomize.py").write_text(hook)
        return given | {"PYTHONPATH": os.pathsep.join([str(self.folder), given["PYTHONPATH"]])}

    def wait(self, process: Process) -> None:
        """Return once the file is opened."""
        until = time.monotonic() + PATIENCE
        while not self._reached.exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
