"""Measure where the time of a default search goes, stage by stage, at several sizes, beside another checkout.

    python -m bench stages INDEX DATA [--base CHECKOUT] [--sizes 5000,25000,100000] [--each N] [--work FOLDER]

INDEX is made by `bench corpus`: its passages, evenly drawn, and their vectors are indexed anew by each checkout, in a
process of its own that stays, and kept in the work folder for the next time. Both answer the same questions in turns,
ten hits each, as searches are by default, with the vector of the question given. Everyday questions are the first of
each collection of DATA; `frequent` ones are made of the terms that most passages hold. `first` is a question that the
process was never asked, `again` the least of the rounds after that, stage by stage, so that what else the machine does
counts little. Printed are the medians of all questions in milliseconds; `rest` is what no stage measures, `whole` the
sum, also as processor time, and the last column the ratio of this checkout to the other. Without `--base` this checkout
is measured alone.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
WHOLE = "whole"
#: The processor time of a search, which depends less on what else the machine does.
PROCESSOR = "whole, processor"
REST = "rest"
#: Frequent terms that questions are made of, how many such questions there are, and how many terms each has.
FREQUENT = 40
MADE = 40
TERMS = 3
#: Questions that come before those that count.
WARMING = 20

BATCH = 4096

PASSAGES = """
select chunk.uid, chunk.hash, document.key from chunk join document on document.id = chunk.document order by chunk.id"""

_WORD = re.compile(r"[a-z]{4,}")

#: The milliseconds of one search by stage.
Times = Mapping[str, float]


def main() -> None:
    """Print a table for each size and kind of question."""
    arguments = _arguments()
    if arguments.child:
        _serve(arguments.child, Path(arguments.work))
        return
    with tempfile.TemporaryDirectory() as folder:
        work = Path(arguments.work or folder)
        for size in map(int, arguments.sizes.split(",")):
            for line in _tables(arguments, work / str(size), size):
                print(line, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--base", type=Path, help="another checkout")
    parser.add_argument("--sizes", default="5000,25000,100000", help="numbers of passages")
    parser.add_argument("--each", type=int, default=12, help="questions of each collection")
    parser.add_argument("--rounds", type=int, default=5, help="how often each question is asked again")
    parser.add_argument("--work", default="", help="where the indexes are kept")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _tables(arguments: argparse.Namespace, work: Path, size: int) -> Iterator[str]:
    work.mkdir(parents=True, exist_ok=True)
    asked = _prepared(arguments, work, size)
    trees = [ROOT, *([arguments.base.resolve()] if arguments.base else [])]
    sides = [_Side(tree, work) for tree in trees]
    try:
        _ask(sides, [*asked["warming"]], 0)
        for kind in ("everyday", "frequent"):
            first, again = _ask(sides, asked[kind], arguments.rounds)
            yield f"\n{size:,} passages, {len(asked[kind])} {kind} questions, milliseconds (median)\n"
            yield from _table(first, again)
    finally:
        for side in sides:
            side.end()


def _prepared(arguments: argparse.Namespace, work: Path, size: int) -> dict[str, list[int]]:
    """Write the texts, vectors and questions, unless they are there; return the questions' places by kind."""
    from bench.shared import questions, stored_vectors
    from bench.speed.peers import CHUNKS, give

    known = work / "kinds.json"
    if not known.exists():
        import apsw

        import rifflux

        connection = apsw.Connection(str(arguments.index), flags=apsw.SQLITE_OPEN_READONLY)
        rows: list[Any] = connection.execute(CHUNKS, (1 << 40,)).fetchall()
        connection.close()
        rows = [rows[place] for place in np.linspace(0, len(rows) - 1, min(size, len(rows))).astype(int)]
        everyday = [*dict.fromkeys(questions(arguments.data, arguments.each))]
        random.Random(1).shuffle(everyday)
        texts = everyday + _frequent([row[3] for row in rows])
        with rifflux.open(arguments.index, create=False) as index:
            asked = np.stack([index.admin.embedder.embed_query(text) for text in texts])
        vectors = stored_vectors([row[4] for row in rows])
        give(work, ({"title": row[1], "kind": row[2], "text": row[3]} for row in rows), vectors, texts, asked)
        counted = range(len(everyday))
        warming = min(WARMING, len(everyday) // 2)
        kinds = {
            "warming": [*counted[:warming]],
            "everyday": [*counted[warming:]],
            "frequent": [*range(len(everyday), len(texts))],
        }
        known.write_text(json.dumps(kinds))
    found: dict[str, list[int]] = json.loads(known.read_text())
    return found


def _frequent(texts: Sequence[str]) -> list[str]:
    """Return questions of the words that most texts hold, but for those that are left out of every search."""
    from rifflux.text.analyzer import analyzer

    counts: Counter[str] = Counter()
    for text in texts[:: max(1, len(texts) // 4000)]:
        counts.update(set(_WORD.findall(text.lower())))
    known = analyzer()
    words = [word for word, _ in counts.most_common(4 * FREQUENT) if known.terms(word)][:FREQUENT]
    generator = random.Random(0)
    made = [" ".join(generator.sample(words, min(TERMS, len(words)))) for _ in range(MADE)]
    return [*dict.fromkeys(made)]


class _Side:
    """A process that answers with the package of one checkout."""

    def __init__(self, tree: Path, work: Path) -> None:
        own = tree / ".venv" / "bin" / "python"
        python = str(own) if own.exists() else sys.executable
        command = [python, __file__, "-", "-", "--work", str(work), "--child", str(tree)]
        environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree / 'bench' / 'peers'}"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._line()

    def __call__(self, place: int) -> Times:
        """Return the times of one search."""
        assert self._process.stdin
        self._process.stdin.write(f"{place}\n")
        self._process.stdin.flush()
        found: Times = json.loads(self._line())
        return found

    def _line(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the process ended early, with {self._process.wait()}")
        return line

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


def _ask(sides: Sequence[_Side], places: Sequence[int], rounds: int) -> tuple[list[list[Times]], list[list[Times]]]:
    """Return the times of each question by side: when it is asked first, and the least of the rounds after that."""
    first: list[list[Times]] = [[] for _ in sides]
    again: list[list[Times]] = [[] for _ in sides]
    for number, place in enumerate(places):
        found: list[list[Times]] = [[] for _ in sides]
        for turn in range(rounds + 1):
            for step in range(len(sides)):
                side = (step + turn + number) % len(sides)
                found[side].append(sides[side](place))
        for side, times in enumerate(found):
            first[side].append(times[0])
            if rounds:
                again[side].append(_least(times[1:]))
    return first, again


def _least(times: Sequence[Times]) -> Times:
    names = dict.fromkeys(name for each in times for name in each if name not in (WHOLE, PROCESSOR))
    found = {name: min(each.get(name, 0.0) for each in times) for name in names}
    return {**found, WHOLE: sum(found.values()), PROCESSOR: min(each[PROCESSOR] for each in times)}


def _median(times: Sequence[Times]) -> Times:
    names = dict.fromkeys(name for each in times for name in each)
    return {name: statistics.median(each.get(name, 0.0) for each in times) for name in names}


def _table(first: Sequence[Sequence[Times]], again: Sequence[Sequence[Times]]) -> Iterator[str]:
    """Yield a table of the medians by stage: of the other checkout, of this one, and their ratio, for both."""
    columns: list[dict[str, float]] = []
    heads = []
    for name, sides in (("first", first), ("again", again)):
        for label, times in reversed([*zip(("now", "before"), sides, strict=False)]):
            columns.append({**_median(times), f"{WHOLE}, p95": _high(times)})
            heads.append(f"{name}, {label}")
        if len(sides) > 1:
            ratio = {
                key: columns[-1][key] / value for key, value in columns[-2].items() if value and key in columns[-1]
            }
            columns.append(ratio)
            heads.append("ratio")
    stages = dict.fromkeys(name for column in columns for name in column)
    yield f"| stage | {' | '.join(heads)} |\n| --- |{' ---: |' * len(heads)}"
    for stage in stages:
        cells = [f"{column[stage]:.2f}" if stage in column else "" for column in columns]
        yield f"| {stage} | {' | '.join(cells)} |"


def _high(times: Sequence[Times]) -> float:
    return float(np.percentile([each[WHOLE] for each in times], 95))


# In the process of a side


def _serve(tree: Path, work: Path) -> None:
    """Answer the questions that standard input names by their places."""
    engine: Any = importlib.import_module("engines.rifflux_hybrid")

    import rifflux

    asked = np.load(work / "questions.npy")
    questions = [json.loads(line) for line in (work / "questions.jsonl").open(encoding="utf-8")]
    folder = work / str(tree.resolve()).replace(os.sep, "-")
    given = engine.Given(asked.shape[1])
    given.backend = "onnx"  # as a model in this process, whose calls are not billed
    if not _is_built(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with rifflux.open(folder / "index.db", profile=engine.WHOLE, model=given) as index:
            _build(index, given, work)
        (folder / "built").touch()
    index = rifflux.open(folder / "index.db", create=False, profile=engine.WHOLE, model=given)
    index.admin.accelerate()
    print("ready", flush=True)
    for line in sys.stdin:
        place = int(line)
        given.asked = asked[place]
        begun = time.process_time()
        start = time.perf_counter()
        results: Any = index.search(questions[place], top_k=10)
        whole = (time.perf_counter() - start) * 1000
        processor = (time.process_time() - begun) * 1000
        stages = dict(results.trace.milliseconds)
        rest = whole - sum(stages.values())
        print(json.dumps({**stages, REST: rest, WHOLE: whole, PROCESSOR: processor}), flush=True)


def _is_built(folder: Path) -> bool:
    """Return True if there is an index that this checkout reads."""
    import rifflux

    if not (folder / "built").exists():
        return False
    try:
        rifflux.open(folder / "index.db", create=False, model="hash").close()
    except rifflux.RiffluxError:
        return False
    return True


def _build(index: Any, given: Any, work: Path) -> None:
    """Index the texts and give each passage the vector of its text; only what both checkouts have is used."""
    import rifflux
    from rifflux.store import ModelInfo

    texts = (json.loads(line) for line in (work / "texts.jsonl").open(encoding="utf-8"))
    documents = (
        rifflux.Document(str(place), each["text"], each["title"], kind=each["kind"]) for place, each in enumerate(texts)
    )
    index.add(*documents, embed=False)
    store = index.admin.store
    store.semantic.use_model(ModelInfo(given.name, given.backend, given.dimension, given.fingerprint, given.spec))
    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    rows = store.view.rows(PASSAGES)
    for start in range(0, len(rows), BATCH):
        ids, hashes, keys = zip(*rows[start : start + BATCH], strict=True)
        store.semantic.put_vectors(ids, hashes, vectors[[int(key) for key in keys]])


if __name__ == "__main__":
    main()
