"""One real cluster for all tests of the engine, started by the project's script; each test has an index of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
SCRIPT = Path(__file__).parents[2] / "scripts" / "cluster.py"
#: The status of the script where Java, Maven or the packages cannot be had.
UNAVAILABLE = 69


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """Start a node and return its `HOST:PORT`; `OPENSEARCH_TEST_NODE` names one that runs already."""
    if running := os.environ.get("OPENSEARCH_TEST_NODE"):
        yield running
        return
    pytest.importorskip("opensearchpy", reason="opensearch-py is not installed")
    installed = subprocess.run([sys.executable, SCRIPT, "install"], capture_output=True, text=True, timeout=900)
    if installed.returncode == UNAVAILABLE:
        pytest.skip(f"no cluster can be started here: {installed.stderr[-300:]}")
    assert not installed.returncode, installed.stderr
    command = [sys.executable, str(SCRIPT), "run", "--nodes", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdin
        word, *urls = process.stdout.readline().split()
        assert word == "ready"
        yield urls[0].removeprefix("http://")
        process.stdin.close()


@pytest.fixture
def cluster_folder(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for snapshots that the nodes may write to."""
    with urllib.request.urlopen(f"http://{cluster}/_nodes/settings", timeout=60) as answer:
        nodes = json.load(answer)["nodes"].values()
    (folder,) = {path for node in nodes for path in node["settings"]["path"]["repo"]}
    return Path(folder) / uuid.uuid4().hex


@pytest.fixture
def location(cluster: str) -> Iterator[Callable[[], str]]:
    """Return a function that returns the `HOST:PORT/NAME` of a new index, which is deleted after the test."""
    from opensearchpy import OpenSearch

    names: list[str] = []

    def new() -> str:
        names.append(f"test-{uuid.uuid4().hex}")
        return f"{cluster}/{names[-1]}"

    yield new
    with OpenSearch([f"http://{cluster}"]) as client:
        for name in names:
            client.indices.delete(index=f"{name}*", params={"ignore_unavailable": "true", "expand_wildcards": "all"})
