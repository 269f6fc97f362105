"""What a reader of a file that was made to do harm may do."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

__all__ = ["compute", "dawdle", "environment", "fill", "flood", "hang", "prints", "stop"]


def hang(path: Path) -> None:
    """Never end."""
    threading.Event().wait()


def compute(path: Path) -> None:
    """Compute without end."""
    while True:
        pass


def dawdle(path: Path) -> str:
    """Wait for longer than may be computed, as on a machine that is busy with something else."""
    time.sleep(2)
    return path.read_text()


def stop(path: Path) -> None:
    """End as after a fault in a library."""
    os.abort()


def fill(path: Path) -> int:
    """Ask for more memory than there may be."""
    return len(bytearray(2**30))


def flood(path: Path) -> str:
    """Answer more than is taken."""
    return "x" * (3 * 2**20)


def prints(path: Path) -> str:
    """Say something that is no answer."""
    sys.stdout.write("{}")
    return path.read_text()


def environment(path: Path) -> Sequence[str]:
    """Tell what the process knows of the one that started it, and where it looks for modules."""
    return [*os.environ, "" if "" not in sys.path else "here"]
