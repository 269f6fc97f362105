"""Whatever is going on when a process is killed: the index stays sound, and the work goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rifflux
from tests.support.commands import PATIENCE

#: They start processes.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(os.name != "posix", reason="processes are forked")
def test_twenty_random_kills_lose_nothing(tmp_path: Path) -> None:
    options = ["--kills", "20", "--files", "30", "--keep", str(tmp_path / "kept")]
    done = subprocess.run(
        [sys.executable, "-m", "bench", "kill", *options],
        cwd=ROOT,
        env={"PYTHONPATH": str(Path(rifflux.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "20 kills, nothing lost" in done.stdout
    assert "vectors: " in done.stdout
