"""The program that compares a cluster with a file runs, on inputs so small that its figures mean nothing."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.commands import run_command
from tests.support.tiny_collections import write_tiny_collections

ROOT = Path(__file__).parents[2]


def test_a_cluster_is_compared_with_a_file(cluster: str, tmp_path: Path) -> None:
    data = write_tiny_collections(tmp_path)
    words = ["cluster", str(data), cluster, "--collections", "med", "--limit", "3"]
    done = run_command(words, ROOT, os.environ, module="bench")
    assert done.returncode == 0, done.stderr
    assert "| med |" in done.stdout
