"""Judged collections in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/NAME.tsv.

Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models", NeurIPS 2021.
Everything is validated before indexing, since errors in the judgements would look like bad ranking.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rifflux.errors import Cure, InvalidArgument, NotFound
from rifflux.index import Index
from rifflux.service.nouns import JUDGEMENT
from rifflux.types import Filter, Hit

#: The maximum number of unknown ids that a message lists.
MOST_NAMED = 5
_HEADER = ["query-id", "corpus-id", "score"]

Grades = Mapping[str, int]
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A judged question. `grades` maps each judged document to its grade: 0 for irrelevant, growing with relevance."""

    id: str
    text: str
    grades: Grades
    metadata: Record = field(default_factory=dict)


def by_key(hit: Hit) -> str:
    """Return the id of a hit's document in a collection's judgements: its key."""
    return hit.key


@dataclass(frozen=True, slots=True)
class Collection:
    """Judged questions, and the file of the judged documents.

    `qrels` names the set of judgements. `scope` is a metadata field: a question is searched only among the documents
    that share its value. `corpus` is None if an index of the documents exists already. `identify` returns the id of a
    hit's document in the judgements.
    """

    name: str
    qrels: str
    questions: tuple[JudgedQuestion, ...]
    corpus: Path | None = None
    scope: str | None = None
    identify: Callable[[Hit], str] = by_key

    def head(self, limit: int | None) -> Collection:
        """Return the collection with its first `limit` questions, or all for None."""
        return replace(self, questions=self.questions[:limit])

    def filter(self, question: JudgedQuestion) -> Filter | None:
        """Return the filter for the scope of a question."""
        if self.scope:
            return Filter(metadata={self.scope: question.metadata[self.scope]})
        return None


def read_beir(folder: str | Path, qrels: str = "test", *, scope: str | None = None) -> Collection:
    """Read and validate the collection in a folder.

    Questions without a relevant document are dropped, since all rankings score the same on them. Raises `NotFound` for
    a missing file, and `InvalidArgument` for a malformed line (with its place), for judgements of questions or
    documents that do not exist, and for a `scope` that questions and documents do not share.
    """
    folder = Path(folder).expanduser()
    corpus = _file(folder, "corpus.jsonl")
    judgements = _judgements(folder, qrels)
    documents = {record["_id"]: record.get("metadata") or {} for _, record in _records(corpus)}
    queries = _read_queries(_file(folder, "queries.jsonl"))
    grades = _grades(judgements)
    _refuse_unknown(judgements, "queries", grades, queries)
    judged = dict.fromkeys(document for graded in grades.values() for document in graded)
    _refuse_unknown(judgements, "documents", judged, documents)
    questions = tuple(
        JudgedQuestion(id, record["text"], grades[id], record.get("metadata") or {})
        for id, record in queries.items()
        if any(grade > 0 for grade in grades.get(id, {}).values())
    )
    if not questions:
        raise InvalidArgument(f"{judgements} contains no relevant document, so nothing can be measured")
    if scope:
        _check_scope(folder, scope, questions, list(documents.values()))
    return Collection(folder.resolve().name, qrels, questions, corpus, scope)


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not folder.is_dir():
        raise NotFound(f"no folder {folder}: give one that contains corpus.jsonl, queries.jsonl and qrels/NAME.tsv")
    if not path.is_file():
        raise NotFound(f"{folder} has no {name}: a collection contains corpus.jsonl, queries.jsonl and qrels/NAME.tsv")
    return path


def _judgements(folder: Path, name: str) -> Path:
    path = folder / "qrels" / f"{name}.tsv"
    if not path.is_file():
        there = ", ".join(sorted(each.stem for each in path.parent.glob("*.tsv"))) or "none"
        raise NotFound(f"{folder} has no judgements qrels/{name}.tsv: name one of {there}")
    return path


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Return the place (`file:number`) and the text of each nonblank line."""
    try:
        # Not splitlines, because JSON may contain Unicode line separators unescaped.
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{path} is not UTF-8 text: {error}") from None
    return ((f"{path}:{number}", line) for number, line in enumerate(lines, 1) if line and not line.isspace())


def _records(path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the place and object of each line, checking its `_id` and that its metadata is an object."""
    for place, line in _lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidArgument(f"{place}: not valid JSON: {error}") from None
        if not isinstance(record, dict) or not isinstance(record.get("_id"), str):
            raise InvalidArgument(f'{place}: not an object with a string "_id"')
        if not isinstance(record.get("metadata") or {}, dict):
            raise InvalidArgument(f'{place}: "metadata" is not an object')
        yield place, record


def _read_queries(path: Path) -> dict[str, Record]:
    queries: dict[str, Record] = {}
    for place, record in _records(path):
        if not isinstance(record.get("text"), str) or not record["text"].strip():
            raise InvalidArgument(f'{place}: query {record["_id"]!r} has no "text"')
        if record["_id"] in queries:
            raise InvalidArgument(f"{place}: query {record['_id']!r} occurs twice")
        queries[record["_id"]] = record
    return queries


def _grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for place, line in _lines(path):
        fields = [each.strip() for each in line.split("\t")]
        if fields == _HEADER:
            continue
        try:
            query, document, grade = fields
            grades.setdefault(query, {})[document] = int(grade)
        except ValueError:
            raise InvalidArgument(
                f"{place}: not a query id, a document id and a whole number, separated by tabs: {line[:80]!r}"
            ) from None
    return grades


def _refuse_unknown(path: Path, what: str, judged: Mapping[str, object], known: Mapping[str, object]) -> None:
    unknown = [id for id in judged if id not in known]
    if unknown:
        named = ", ".join(unknown[:MOST_NAMED]) + ", …" * (len(unknown) > MOST_NAMED)
        raise InvalidArgument(
            f"{path} judges {len(unknown)} {what} that do not exist ({named}): remove those lines, or use the "
            f"{'queries' if what == 'queries' else 'corpus'}.jsonl for which they were made"
        )


def _check_scope(folder: Path, scope: str, questions: Sequence[JudgedQuestion], documents: Sequence[Record]) -> None:
    """Reject a misspelt scope, which would find nothing and count as bad ranking."""
    known = {each for metadata in documents for each in _values(metadata.get(scope))}
    for question in questions:
        values = _values(question.metadata.get(scope))
        if not values:
            raise InvalidArgument(f"query {question.id!r} of {folder} has no metadata {scope!r} for its scope")
        if known.isdisjoint(values):
            raise InvalidArgument(
                f"query {question.id!r} of {folder}: no document has {values[0]!r} as its metadata {scope!r}"
            )


def _values(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if value is None:
        return []
    return [value]


# Collections of users' judgements: the events of kind `judgement` in an index


def read_feedback(index: Index) -> Collection:
    """Return the judgements recorded in an index, as a collection for the same index.

    The last judgement of a query and document counts. Judgements of deleted documents, and queries without any relevant
    document, are dropped. Raises `InvalidArgument` if nothing remains.
    """
    grades: dict[str, dict[str, int]] = {}
    for event in index.registry.events(JUDGEMENT):
        graded = grades.setdefault(" ".join(event.query.split()), {})
        graded[_qualified(event.namespace, event.key)] = event.grade or 0
    for graded in grades.values():
        for missing in [document for document in graded if document not in index]:
            del graded[missing]
    questions = tuple(
        JudgedQuestion(f"q{number}", query, graded)
        for number, (query, graded) in enumerate(grades.items(), 1)
        if any(grade > 0 for grade in graded.values())
    )
    if not questions:
        raise InvalidArgument(f"{index.path} contains no judgement of a document as relevant", cure=Cure.JUDGE)
    name = Path(index.path).stem
    return Collection(name, "feedback", questions, identify=lambda hit: _qualified(hit.namespace, hit.key))


def _qualified(collection: str, key: str) -> str:
    """Return a key with its collection, since two collections may contain files of the same name."""
    return f"{collection}/{key}"
