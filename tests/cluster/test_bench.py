"""Programs that measure a cluster run, on inputs so small that their figures mean nothing."""

from __future__ import annotations

import os
from pathlib import Path

import rifflux
from tests.support.commands import run_command
from tests.support.tiny_collections import write_tiny_collections

ROOT = Path(__file__).parents[2]


def test_a_cluster_is_compared_with_a_file(cluster: str, tmp_path: Path) -> None:
    data = write_tiny_collections(tmp_path)
    words = ["cluster", str(data), cluster, "--collections", "med", "--limit", "3", "--others", "2"]
    done = run_command(words, ROOT, os.environ, module="bench")
    assert done.returncode == 0, done.stderr
    assert "| med |" in done.stdout


def test_a_user_is_searched_beside_others_and_alone(cluster: str) -> None:
    words = ["crowd", cluster, "--owners", "3", "--messages", "2", "--shards", "2", "--searches", "2"]
    done = run_command(words, ROOT, os.environ, module="bench")
    assert done.returncode == 0, done.stderr
    assert "| shards that a search touches, at most | 1 |" in done.stdout


def test_vectors_of_bytes_are_compared_with_floats(cluster: str, tmp_path: Path) -> None:
    data = write_tiny_collections(tmp_path)
    with rifflux.open(tmp_path / "index.db", model="hash:64") as index:
        index.add(*(rifflux.Document(f"note{number}", f"heron number {number}") for number in range(30)))
    words = ["bytes", str(tmp_path / "index.db"), str(data), cluster, "--each", "1"]
    done = run_command(words, ROOT, os.environ, module="bench")
    assert done.returncode == 0, done.stderr
    assert "| byte |" in done.stdout


def test_a_filled_index_is_measured(cluster: str, tmp_path: Path) -> None:
    data = write_tiny_collections(tmp_path)
    words = ["volume", str(data), cluster, "--collections", "med", "--chunks", "8", "--questions", "2", "--shards", "1"]
    done = run_command([*words, "--model", "hash:64"], ROOT, os.environ, module="bench")
    assert done.returncode == 0, done.stderr
    assert "| recall@20 by meaning |" in done.stdout
