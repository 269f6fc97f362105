"""Compare with what one would pick instead: the same texts, the same vectors, the same questions.

    python -m bench peers INDEX FOLDER_OF_COLLECTIONS [--work FOLDER] [--engines NAME...] [--chunks N] [--each N]

INDEX is made by `bench corpus`. Every engine runs in an environment of its own, made from `requirements/` in the work
folder, and is asked by one client, without embedding. nDCG@10 is over the collections' judgements, a document counting
at its best passage; recall is of the 20 nearest vectors against comparing all. Ratios within one run are what to look
at. All engines take about ten minutes on two cores, once their environments are made. txtai brings torch and CUDA's
libraries, 5.5 GB, though nothing is embedded here: name the other engines to do without.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

import rifflux
from bench.shared import stored_vectors
from rifflux.evaluate import read_beir
from rifflux.evaluate.collection import JudgedQuestion
from rifflux.evaluate.measures import measured
from rifflux.types import Vectors

HERE = Path(__file__).parents[1] / "peers"
#: Engine modules, and the requirements file of each; Rifflux runs in this environment.
ENGINES = {
    "rifflux_hybrid": "",
    "qdrant_edge": "qdrant",
    "lancedb_hybrid": "lancedb",
    "chroma": "chroma",
    "txtai_hybrid": "txtai",
    "tantivy_numpy": "tantivy",
    "bm25s_numpy": "bm25s",
    "sqlite": "sqlite",
    "opensearch": "",
}
COLLECTIONS = ("scifact", "nfcorpus", "cacm", "cosqa", "stacks", "cfr30", "srd5e")
#: How many neighbours recall is measured by, and differences of cosines that rounding explains.
NEAR, ROUNDING = 20, 1e-5
HEAD = "| engine | build s | size MB | peak MB | hybrid p50 | p95 | p99 ms | vectors p50 ms | recall@20 | nDCG@10 |"

CHUNKS = """
select document.namespace || '/' || document.key as document, document.title, document.kind, chunk.text, vector.rounded
from chunk join document on document.id = chunk.document join vector on vector.chunk = chunk.id
order by chunk.id limit ?"""


def main() -> None:
    """Prepare, measure, judge, print."""
    arguments = _arguments()
    questions = _questions(arguments.data, arguments.each)
    documents = _prepare(arguments, questions)
    exact = _Exact(arguments.work)
    print(f"{HEAD}\n| --- |{' ---: |' * 9}")
    for engine in arguments.engines:
        try:
            print(_row(measured_engine(engine, arguments.work), questions, documents, exact), flush=True)
        except EngineFailed as error:
            print(f"| {engine} | failed: {error} |", flush=True)


class EngineFailed(Exception):
    """An engine could not be installed, started or asked; says why."""


def measured_engine(engine: str, work: Path) -> Mapping[str, Any]:
    """Put an engine through what `give` wrote, in its own environment, and return its report."""
    result = work / f"{engine}.json"
    try:
        command = [_python(engine, work), HERE / "harness.py", engine, work, result]
        subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        raise EngineFailed(" ".join((error.stderr or str(error)).strip().splitlines()[-1:])) from None
    return dict(json.loads(result.read_text()))


def give(
    work: Path,
    texts: Iterable[Mapping[str, Any]],
    vectors: Vectors,
    questions: Sequence[str],
    asked: Vectors,
    scopes: Sequence[str] | None = None,
) -> None:
    """Write what every engine gets: texts and questions with their vectors, and the scope of each question."""
    work.mkdir(parents=True, exist_ok=True)
    np.save(work / "vectors.npy", vectors)
    np.save(work / "questions.npy", asked)
    _dump(work / "texts.jsonl", texts)
    _dump(work / "questions.jsonl", questions)
    (work / "scopes.json").write_text(json.dumps(scopes or [None] * len(questions)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("peers-work"))
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--each", type=int, default=40, help="questions of each collection")
    return parser.parse_args()


def _questions(data: Path, each: int) -> list[tuple[str, JudgedQuestion]]:
    return [
        (name, question) for name in COLLECTIONS for question in read_beir(data / name, "test").head(each).questions
    ]


def _prepare(arguments: argparse.Namespace, questions: Sequence[tuple[str, JudgedQuestion]]) -> list[str]:
    """Write what every engine gets; returns the document of each text."""
    work, rows = arguments.work, _rows(arguments)
    with rifflux.open(arguments.index, create=False) as index:
        asked = np.stack([index.admin.embedder.embed_query(question.text) for _, question in questions])
    vectors = stored_vectors([row[4] for row in rows])
    texts = ({"title": row[1], "kind": row[2], "text": row[3]} for row in rows)
    give(work, texts, vectors, [question.text for _, question in questions], asked)
    return [row[0] for row in rows]


def _rows(arguments: argparse.Namespace) -> list[Any]:
    connection = apsw.Connection(str(arguments.index), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute(CHUNKS, (arguments.chunks,)).fetchall()
    finally:
        connection.close()


def _dump(path: Path, rows: Iterable[Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


class _Exact:
    """All vectors compared with each question."""

    def __init__(self, work: Path) -> None:
        self._vectors, self._asked = np.load(work / "vectors.npy", mmap_mode="r"), np.load(work / "questions.npy")
        scores = self._asked @ self._vectors.T
        self._lowest = np.partition(scores, -NEAR, axis=1)[:, -NEAR] - ROUNDING

    def recall(self, near: Sequence[Sequence[int]]) -> float:
        """The share of the nearest that was found. Of texts that are equally near, one is as good as the other."""
        found = [
            np.count_nonzero(self._vectors[list(dict.fromkeys(places))] @ vector >= lowest)
            for places, vector, lowest in zip(near, self._asked, self._lowest, strict=True)
        ]
        return float(np.minimum(found, NEAR).mean() / NEAR)


def _python(engine: str, work: Path) -> Path:
    """The interpreter of an engine's environment, which is made where it is missing."""
    if not ENGINES[engine]:
        return Path(sys.executable)
    folder = work / ENGINES[engine]
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        wanted = HERE / "requirements" / f"{ENGINES[engine]}.txt"
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(wanted)], check=True)
    return python


def _row(
    report: Mapping[str, Any],
    questions: Sequence[tuple[str, JudgedQuestion]],
    documents: Sequence[str],
    exact: _Exact,
) -> str:
    p50, p95, p99 = np.percentile(report["hybrid"]["ms"], [50, 95, 99])
    recall = exact.recall(report["nearest"]["found"])
    judged = [JudgedQuestion(f"{name}/{q.id}", q.text, q.grades) for name, q in questions]
    rankings = {
        question.id: _keys(name, found, documents)
        for (name, _), question, found in zip(questions, judged, report["hybrid"]["found"], strict=True)
    }
    gain = measured(judged, rankings)["ndcg@10"].mean()
    figures = f"{report['build_s']:.1f} | {report['size_mb']:.0f} | {report['peak_mb']:.0f} | {p50:.2f} | {p95:.2f}"
    vectors = np.percentile(report["nearest"]["ms"], 50)
    return f"| {report['engine']} | {figures} | {p99:.2f} | {vectors:.2f} | {recall:.3f} | {gain:.3f} |"


def _keys(collection: str, found: Sequence[int], documents: Sequence[str]) -> list[str]:
    """The documents of a ranking by their ids in a collection, each once; those of others keep their places."""
    keys = [documents[place] for place in found]
    return list(dict.fromkeys(key.rpartition("/")[2] if f"/{collection}/" in key else key for key in keys))
