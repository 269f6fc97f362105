"""What every engine is put through: build from the same texts and vectors, then the same questions, one at a time.

    python harness.py ENGINE DATA_FOLDER RESULT_FILE

Runs in the engine's own environment and needs nothing but numpy and the engine. ENGINE is a module of `engines/` with
a class `Engine`: `build(texts, vectors, folder)`, `hybrid(text, vector, k) -> ids`, `nearest(vector, k) -> ids`, ids
being places in the texts. It may have `lexical(text, k) -> ids`, `close()`, and `warming`, how many searches come first
that are not counted. Where scopes.json gives each question a scope, those three are asked with `scope`.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "2")

import numpy as np

K, NEAR, WARMING = 10, 20, 20


def main() -> None:
    """Measure one engine."""
    name, data, result = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    texts = [json.loads(line) for line in (data / "texts.jsonl").open(encoding="utf-8")]
    questions = [json.loads(line) for line in (data / "questions.jsonl").open(encoding="utf-8")]
    vectors = np.load(data / "vectors.npy", mmap_mode="r")
    asked = np.load(data / "questions.npy")
    sys.path.insert(0, str(Path(__file__).parent))
    engine = importlib.import_module(f"engines.{name}").Engine()
    scopes = json.loads((data / "scopes.json").read_text()) if (data / "scopes.json").exists() else [None] * len(asked)
    narrow = [{} if scope is None else {"scope": scope} for scope in scopes]
    ways = {
        "semantic": lambda place: engine.nearest(asked[place], K, **narrow[place]),
        "hybrid": lambda place: engine.hybrid(questions[place], asked[place], K, **narrow[place]),
        "nearest": lambda place: engine.nearest(asked[place], NEAR, **narrow[place]),
    }
    if hasattr(engine, "lexical"):
        ways["lexical"] = lambda place: engine.lexical(questions[place], K, **narrow[place])
    with tempfile.TemporaryDirectory(dir=data) as folder:
        try:
            start = time.perf_counter()
            engine.build(texts, vectors, Path(folder))
            build = time.perf_counter() - start
            size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
            warming = getattr(engine, "warming", WARMING)
            report = {way: _timed(ask, len(questions), warming) for way, ask in ways.items()}
        finally:
            if hasattr(engine, "close"):
                engine.close()
    used = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    about = {"engine": name, "build_s": build, "size_mb": size / 1e6, "peak_mb": sum(used) / 1024}
    result.write_text(json.dumps(about | report))


def _timed(ask: Any, count: int, warming: int) -> dict[str, list[Any]]:
    """Ask every question: what was found, and how long it took."""
    for place in range(warming):
        ask(-1 - place % count)
    found, times = [], []
    for place in range(count):
        start = time.perf_counter()
        ids = ask(place)
        times.append((time.perf_counter() - start) * 1000)
        found.append([int(id) for id in ids])
    return {"found": found, "ms": times}


def fused(*rankings: Any, k: int, constant: float = 60.0) -> list[int]:
    """Reciprocal rank fusion, for engines that have none of their own."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, id in enumerate(ranking, 1):
            scores[int(id)] = scores.get(int(id), 0.0) + 1.0 / (constant + rank)
    return sorted(scores, key=lambda id: (-scores[id], id))[:k]


class Exact:
    """Vectors in memory, compared with all of them."""

    def __init__(self, vectors: Any) -> None:
        self.vectors = np.ascontiguousarray(vectors, np.float32)

    def __call__(self, vector: Any, k: int) -> Any:
        """The places of the nearest vectors."""
        scores = self.vectors @ vector
        best = np.argpartition(-scores, k)[:k]
        return best[np.argsort(-scores[best], kind="stable")]


if __name__ == "__main__":
    main()
