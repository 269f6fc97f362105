"""Measure what a switch of models costs those who search meanwhile.

    python -m bench switch INDEX.db [--questions 300] [--model MODEL] [--threads N]

Works on a copy of the index. One process searches, first alone, then while `rifflux models switch` runs in another,
again and again in turn, so that both see the same of a noisy machine; printed are the medians and 95th percentiles of
both, and their ratio. Without --model, the bundled model with a shorter window is switched to: as much work as any.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rifflux
from rifflux import Index
from rifflux.models.onnx import BUNDLED
from rifflux.store.sqlite.connection.texts import LEFT

ROUNDS = 5
WAIT = 120.0


def main() -> None:
    """Search alone and beside a switch, in turn, and tell."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(shutil.copy(arguments.index, Path(folder) / "index.db"))
        model = arguments.model or str(_other_model(Path(folder) / "other"))
        with rifflux.open(db) as index:
            index.admin.accelerate()
            questions = _questions(index, arguments.questions)
            _times(index, questions)
            alone, beside = [], []
            for _ in range(ROUNDS):
                alone += _times(index, questions)
                switching = _start(db, model, arguments.threads)
                _until_it_embeds(index, switching)
                beside += _times(index, questions)
                progress = index.status().switching
                _pause(switching)
        if progress is None:
            sys.exit("the switch was over before it was measured: take a larger index")
        print(f"{progress.chunks:,} chunks, {progress.vectors:,} of them embedded anew meanwhile")
        for name, times in (("alone", alone), ("beside a switch", beside)):
            print(f"{name:<16} p50 {statistics.median(times):6.2f} ms   p95 {_p95(times):6.2f} ms")
        print(f"ratio            p50 {statistics.median(beside) / statistics.median(alone):6.3f}      "
              f"p95 {_p95(beside) / _p95(alone):6.3f}")  # fmt: skip


def _other_model(folder: Path) -> Path:
    """The bundled model, to be cut off earlier: another model to the index, and as much work."""
    shutil.copytree(BUNDLED, folder)
    settings = json.loads((folder / "rifflux.json").read_text())
    (folder / "rifflux.json").write_text(json.dumps(settings | {"name": "other", "max_tokens": 200}))
    return folder


def _questions(index: Index, number: int) -> list[str]:
    """Beginnings of documents: they find something, and no two are alike."""
    statement = f"select {LEFT} from document_text order by document limit :most"
    keys = index.admin.store.view.rows(statement, {"most": number})  # type: ignore[attr-defined]
    return [" ".join(text.split()[:8]) or "nothing" for (text,) in keys]


def _times(index: Index, questions: list[str]) -> list[float]:
    times = []
    for question in questions:
        begun = time.perf_counter()
        index.search(question)
        times.append((time.perf_counter() - begun) * 1000)
    return times


def _start(db: Path, model: str, threads: int | None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rifflux", "models", "switch", model, "--db", str(db)]
    return subprocess.Popen([*command, *(["--threads", str(threads)] if threads else [])], stdout=subprocess.DEVNULL)


def _until_it_embeds(index: Index, switching: subprocess.Popen[bytes]) -> None:
    """Wait for the first vectors of this process: until then it only starts."""
    before = index.status().switching
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline and switching.poll() is None:
        now = index.status().switching
        if now and now.vectors > (before.vectors if before else 0):
            return
        time.sleep(0.1)
    sys.exit("the switch does not get on, or was over at once: take a larger index")


def _pause(switching: subprocess.Popen[bytes]) -> None:
    """End the switch; the next goes on where it was."""
    switching.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    switching.wait()


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[18]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--model")
    parser.add_argument("--threads", type=int)
    return parser.parse_args()
