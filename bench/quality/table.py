"""Compare modes, fusions, rerankers, models and OpenSearch as a user asks: ten hits with relevance, warm.

    python -m bench table FOLDER_OF_COLLECTIONS [NAME ...] [--keep FOLDER] [--models FOLDER ...]
        [--cross-encoder FOLDER] [--questions 150] [--peers ENGINE ...] [--measured FILE] [--json] [--markdown FILE]

Every question is asked in every way once, the ways in turns that begin with another one each time, so that what else
the machine does falls on all; what was remembered of passages is forgotten before each search. P@5, nDCG@10 and MRR@10
are of the documents on the page, each at its best hit, in the mean over the collections. Milliseconds hold the
embedding of the question. `processor` is the median of the process's time on the processor, all threads, and `added` of
how much more of it a way takes than that in `than` in the same question: both hold on a machine that is not quiet.

Peers get our passages, titles and vectors, and the questions' vectors: their times are without embedding. They are
engines of `bench peers`; `--peers` without a name leaves them out. Indexes are built in a temporary folder, or kept in
--keep FOLDER, where the engines are installed too. `--measured` keeps every time and value in a file, and goes on from
it: what is in there is not asked again, so that the table may be made collection by collection.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality.kept import PAGE, markdown
from bench.shared import NAMES, SCOPES, forget, stored_vectors
from bench.speed.peers import ENGINES, EngineFailed, give, measured_engine
from rifflux.evaluate import Cache, Collection, read_beir
from rifflux.evaluate.measures import measured
from rifflux.index import Index
from rifflux.requests import HYBRID
from rifflux.retrieve.fuse import FUSIONS
from rifflux.retrieve.pipeline import NO_RERANKER
from rifflux.retrieve.steps.rerank import RerankSettings
from rifflux.retrieve.table import LEXICAL, SEMANTIC

MEASURES = {"p@5": "P@5", "ndcg@10": "nDCG@10", "mrr@10": "MRR@10"}
BUNDLED, WARMING = "bundled", 10
PEERS = ("opensearch",)
#: What a peer's ways are called in its report.
MODES = (LEXICAL, SEMANTIC, HYBRID)
CROSS_ENCODER = "cross-encoder"
PASSAGES = """
select document.key, document.title, chunk.text, vector.rounded, json_extract(document.metadata, :scope)
from chunk join document on document.id = chunk.document join vector on vector.chunk = chunk.id
order by chunk.id"""


@dataclass(frozen=True)
class Way:
    """A way to search: what it is called in the table, the arguments of `search`, and the way it is an addition to."""

    mode: str
    fusion: str = ""
    reranker: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    than: str = ""

    @property
    def name(self) -> str:
        """Return what other ways call it."""
        return ", ".join(filter(None, (self.mode, self.fusion, self.reranker)))


@dataclass
class Row:
    """What one way of asking reached: values by measure and collection, milliseconds by the clock and of the processor.

    `added` are those of the processor that it took more than another way.
    """

    engine: str
    way: Way
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    milliseconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    added: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the name of the engine and of the way."""
        return f"{self.engine}: {self.way.name}"

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over the collections."""
        return float(np.mean([values[measure] for values in self.values.values()]))

    def told(self) -> dict[str, Any]:
        """Return the row as one JSON object."""
        named = {"engine": self.engine, "mode": self.way.mode, "fusion": self.way.fusion, "reranker": self.way.reranker}
        p50, p95 = np.percentile(self.milliseconds, (50, 95)).tolist()
        times: dict[str, Any] = {"p50_ms": round(p50, 2), "p95_ms": round(p95, 2)}
        times |= {"processor_ms": _median(self.processor), "added_ms": _median(self.added)}
        times["than"] = self.way.than or None
        means = {measure: round(self.mean(measure), 4) for measure in MEASURES}
        return {**named, **means, **times, "collections": self.values}


def main() -> None:
    """Print the table; what is written grows with every collection, so that an interruption leaves something."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as temporary:
        measuring = Measuring(arguments, arguments.keep or Path(temporary), _measured(arguments.measured))
        for model in (BUNDLED, *arguments.models):
            for name in arguments.names or NAMES:
                measuring(model, name)
                if arguments.measured:
                    kept = [asdict(row) for row in measuring.rows.values()]
                    arguments.measured.write_text(json.dumps(kept), "utf-8")
                if arguments.markdown:
                    arguments.markdown.write_text("\n".join([*_tables(measuring.told()), ""]), "utf-8")
    told = measuring.told()
    print(json.dumps(told, indent=2) if arguments.json else "\n".join(_tables(told)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", help="a folder, or folder:qrels; all of them by default")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--models", nargs="*", default=[], help="folders of other embedding models")
    parser.add_argument("--cross-encoder", default="", help="its folder; without it there is no such row")
    parser.add_argument("--questions", type=int, default=150, help="of each collection, at most")
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=list(ENGINES))
    parser.add_argument("--measured", type=Path, help="a file of what was measured, to go on from")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


def _measured(path: Path | None) -> dict[str, Row]:
    """Read the rows that an earlier run left."""
    if path is None or not path.exists():
        return {}
    kept = (Row(**{**row, "way": Way(**row["way"])}) for row in json.loads(path.read_text("utf-8")))
    return {row.name: row for row in kept}


def ways(cross_encoder: bool = False) -> Iterator[Way]:
    """Yield each mode, each fusion without a reranker, and each reranker after the usual fusion."""
    yield Way(LEXICAL, options={"mode": LEXICAL})
    yield Way(SEMANTIC, options={"mode": SEMANTIC}, than=LEXICAL)
    for fusion in (*FUSIONS, "linear:by-specificity"):
        options = {"fusion": fusion, "rerank": NO_RERANKER}
        yield Way(HYBRID, fusion, options=options, than=LEXICAL if fusion == "rrf" else f"{HYBRID}, rrf")
    for reranker in ("features", "maxsim", *([CROSS_ENCODER] if cross_encoder else [])):
        yield Way(HYBRID, "adaptive", reranker, {"fusion": "adaptive", "rerank": reranker}, f"{HYBRID}, adaptive")


@dataclass
class Measuring:
    """Asks collections, and gathers the rows; `left_out` tells why a peer has none."""

    arguments: argparse.Namespace
    keep: Path
    rows: dict[str, Row] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """Return all rows, and why peers have none, as one JSON object."""
        return {"rows": [row.told() for row in self.rows.values()], "left_out": self.left_out}

    def __call__(self, model: str, name: str) -> None:
        """Add what one collection says of every way with one model, and of the peers with the bundled one."""
        collection = _read(self.arguments.data, name, self.arguments.questions)
        engine = "rifflux" if model == BUNDLED else f"rifflux, {Path(model).name}"
        settings = RerankSettings(cross_encoder=self.arguments.cross_encoder)
        peers = [peer for peer in self.arguments.peers if model == BUNDLED and not self._has(peer, name)]
        with Cache(self.keep, model=None if model == BUNDLED else model, rerankers=settings) as cache:
            if not self._has(engine, name):
                self._ask(engine, name, collection, cache.index(collection))
            for peer in peers:
                self._ask_peer(peer, name, collection, cache.index(collection))

    def _has(self, engine: str, name: str) -> bool:
        return any(row.engine == engine and name in row.values for row in self.rows.values())

    def _ask(self, engine: str, name: str, collection: Collection, index: Index) -> None:
        """Add what each way finds."""
        print(f"{name}: {engine} …", file=sys.stderr, flush=True)
        every = [*ways(bool(self.arguments.cross_encoder))]
        found = asked(index, collection, every)
        for way in every:
            answers = found[way.name]
            row = self._count(engine, way, name, collection, answers.rankings, answers.clock)
            row.processor += answers.processor
            if way.than:
                row.added += np.subtract(answers.processor, found[way.than].processor).tolist()

    def _ask_peer(self, engine: str, name: str, collection: Collection, index: Index) -> None:
        """Add what a peer finds with the same passages and vectors; it has no row if it fails once."""
        if engine in self.left_out:
            return
        print(f"{name}: {engine} …", file=sys.stderr, flush=True)
        documents = _give(self.keep / "peers", collection, index)
        try:
            report = measured_engine(engine, self.keep / "peers")
        except EngineFailed as error:
            self.left_out[engine] = str(error)
            self.rows = {name: row for name, row in self.rows.items() if row.engine != engine}
            return
        for mode in filter(report.__contains__, MODES):
            found = ([*dict.fromkeys(map(documents.__getitem__, places))] for places in report[mode]["found"])
            ranking = dict(zip([question.id for question in collection.questions], found, strict=True))
            self._count(engine, Way(mode), name, collection, ranking, report[mode]["ms"])

    def _count(
        self,
        engine: str,
        way: Way,
        name: str,
        collection: Collection,
        ranking: Mapping[str, Sequence[str]],
        milliseconds: Sequence[float],
    ) -> Row:
        fresh, values = Row(engine, way), dict[str, float]()
        row = self.rows.setdefault(fresh.name, fresh)
        for measure, each in measured(collection.questions, ranking).items():
            values[measure] = round(float(each.mean()), 6)
        row.values[name] = values
        row.milliseconds += milliseconds
        return row


def _read(data: Path, name: str, most: int) -> Collection:
    """Read a collection with at most so many of its questions, evenly chosen."""
    folder, _, qrels = name.partition(":")
    collection = read_beir(data / folder, qrels or "test", scope=SCOPES.get(folder))
    every = -(-len(collection.questions) // most)
    return replace(collection, questions=collection.questions[::every])


@dataclass
class Answers:
    """The documents of the page by question, and milliseconds of each by the clock and of the processor."""

    rankings: dict[str, list[str]] = field(default_factory=dict)
    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def asked(index: Index, collection: Collection, ways: Sequence[Way]) -> dict[str, Answers]:
    """Ask every question in every way; the answers by the name of the way."""
    answers = {way.name: Answers() for way in ways}
    for question in collection.questions[:WARMING]:
        for way in ways:
            index.search(question.text, top_k=PAGE, filter=collection.filter(question), **way.options)
    for number, question in enumerate(collection.questions):
        turn = number % len(ways)
        for way in (*ways[turn:], *ways[:turn]):
            forget()
            answer, start, busy = answers[way.name], time.perf_counter(), time.process_time()
            results = index.search(question.text, top_k=PAGE, filter=collection.filter(question), **way.options)
            answer.clock.append((time.perf_counter() - start) * 1000)
            answer.processor.append((time.process_time() - busy) * 1000)
            answer.rankings[question.id] = [*dict.fromkeys(map(collection.identify, results.hits))]
    return answers


def _median(milliseconds: Sequence[float]) -> float | None:
    return round(float(np.median(milliseconds)), 2) if milliseconds else None


def _give(work: Path, collection: Collection, index: Index) -> list[str]:
    """Write the passages of an index and the questions for peers; returns the document of each passage."""
    store: Any = index.admin.store
    rows = store.view.rows(PASSAGES, {"scope": f"$.{collection.scope or 'none'}"})
    documents, titles, texts, data, scopes = zip(*rows, strict=True)
    vectors = stored_vectors(data)
    questions = [question.text for question in collection.questions]
    embedded = np.stack([*map(index.admin.embedder.embed_query, questions)])
    passages = (
        {"title": one, "text": two, "scope": scope} for one, two, scope in zip(titles, texts, scopes, strict=True)
    )
    asked_of = (
        [str(question.metadata[collection.scope]) for question in collection.questions] if collection.scope else None
    )
    give(work, passages, vectors, questions, embedded, asked_of)
    return [*documents]


def _tables(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of all tables: the means with the times, and two measures by collection."""
    rows = told["rows"]
    head = (
        "engine",
        "mode",
        "fusion",
        "reranker",
        *MEASURES.values(),
        "p50 ms",
        "p95 ms",
        "processor ms",
        "added",
        "than",
    )
    yield from markdown(head, map(_line, rows))
    for engine, why in told["left_out"].items():
        yield f"\n{engine} is left out: {why}."
    for measure in ("ndcg@10", "p@5"):
        names = list(rows[0]["collections"])
        yield from ("", f"{MEASURES[measure]} by collection:", "")
        yield from markdown(("engine", *names), (_by_collection(row, measure, names) for row in rows))


def _by_collection(row: Mapping[str, Any], measure: str, names: Sequence[str]) -> Sequence[str]:
    values = [row["collections"].get(name, {}).get(measure) for name in names]
    return _called(row), *("" if value is None else f"{value:.3f}" for value in values)


def _called(row: Mapping[str, Any]) -> str:
    return f"{row['engine']}: {', '.join(filter(None, (row['mode'], row['fusion'], row['reranker'])))}"


def _line(row: Mapping[str, Any]) -> Sequence[str]:
    figures = (f"{row[measure]:.3f}" for measure in MEASURES)
    processor = "" if row["processor_ms"] is None else f"{row['processor_ms']:.1f}"
    added = "" if row["added_ms"] is None else f"{row['added_ms']:+.1f}"
    times = f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}", processor, added, row["than"] or ""
    return row["engine"], row["mode"], row["fusion"], row["reranker"], *figures, *times
