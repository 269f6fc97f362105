"""Collections are read whole and checked before anything is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from rifflux.errors import InvalidArgument, NotFound
from rifflux.evaluate import read_beir
from rifflux.types import Filter
from tests.support.collection import DOCUMENTS, JUDGEMENTS, QUERIES, write_collection


def test_a_collection_is_read_with_its_judgements(folder: Path) -> None:
    collection = read_beir(folder)
    assert (collection.name, collection.qrels, collection.corpus) == ("small", "test", folder / "corpus.jsonl")
    assert [question.id for question in collection.questions] == ["q1", "q2", "q3"]
    assert collection.questions[0].grades == {"cache": 2, "lock": 1}
    assert collection.questions[0].text == "how long do cache entries live"


def test_other_judgements_are_chosen_by_name(folder: Path) -> None:
    write_collection(folder, judgements=[("q2", "queue", 1)], qrels="dev")
    assert [question.id for question in read_beir(folder, "dev").questions] == ["q2"]


def test_questions_without_a_relevant_document_are_left_out(folder: Path) -> None:
    write_collection(folder, judgements=[("q1", "cache", 1), ("q2", "cache", 0)])
    assert [question.id for question in read_beir(folder).questions] == ["q1"]


def test_the_header_may_be_missing_and_lines_may_end_as_on_windows(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").write_bytes(b"q1\tcache\t1\r\nq2\tqueue\t1\r\n")
    assert len(read_beir(folder).questions) == 2


def test_a_limit_takes_the_first_questions(folder: Path) -> None:
    assert [question.id for question in read_beir(folder).head(2).questions] == ["q1", "q2"]
    assert len(read_beir(folder).head(None).questions) == 3


def test_a_scope_becomes_a_filter(folder: Path) -> None:
    collection = read_beir(folder, scope="team")
    assert collection.filter(collection.questions[0]) == Filter(metadata={"team": "storage"})
    assert read_beir(folder).filter(collection.questions[0]) is None


def test_missing_things_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no folder"):
        read_beir(tmp_path / "none")
    with pytest.raises(NotFound, match="name one of test"):
        read_beir(folder, "dev")
    (folder / "queries.jsonl").unlink()
    with pytest.raises(NotFound, match=r"no queries\.jsonl"):
        read_beir(folder)


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("corpus.jsonl", "{", r"corpus\.jsonl:5: not valid JSON"),
        ("corpus.jsonl", '{"text": "no id"}', r'corpus\.jsonl:5: .*"_id"'),
        ("corpus.jsonl", '{"_id": 7, "text": "a number"}', r'corpus\.jsonl:5: .*"_id"'),
        ("corpus.jsonl", '{"_id": "a", "metadata": [1]}', r'corpus\.jsonl:5: "metadata"'),
        ("queries.jsonl", "[]", r"queries\.jsonl:4: "),
        ("queries.jsonl", '{"_id": "q4", "text": " "}', r"queries\.jsonl:4: query 'q4' has no \"text\""),
        ("queries.jsonl", '{"_id": "q1", "text": "again"}', r"queries\.jsonl:4: query 'q1' occurs twice"),
        ("qrels/test.tsv", "q1\tcache", r"test\.tsv:6: not a query id"),
        ("qrels/test.tsv", "q1\tcache\tgood", r"test\.tsv:6: not a query id"),
    ],
)
def test_a_malformed_line_is_named(folder: Path, file: str, line: str, message: str) -> None:
    with (folder / file).open("a", encoding="utf-8") as opened:
        opened.write(line + "\n")
    with pytest.raises(InvalidArgument, match=message):
        read_beir(folder)


def test_bytes_that_are_no_text_are_refused(folder: Path) -> None:
    (folder / "queries.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidArgument, match="not UTF-8"):
        read_beir(folder)


def test_judgements_of_what_does_not_exist_name_the_first_few(folder: Path) -> None:
    write_collection(folder, judgements=[*JUDGEMENTS, *(("q1", f"gone{number}", 1) for number in range(7))])
    with pytest.raises(InvalidArgument, match=r"7 documents .*gone0, gone1, gone2, gone3, gone4, …\)"):
        read_beir(folder)
    write_collection(folder, judgements=[*JUDGEMENTS, ("q9", "cache", 1)])
    with pytest.raises(InvalidArgument, match=r"1 queries that do not exist \(q9\)"):
        read_beir(folder)


def test_judgements_that_find_nothing_relevant_are_refused(folder: Path) -> None:
    write_collection(folder, judgements=[("q1", "cache", 0)])
    with pytest.raises(InvalidArgument, match="no relevant document"):
        read_beir(folder)


def test_a_scope_must_be_shared_by_queries_and_documents(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"'q1' .*no metadata 'tema'"):
        read_beir(folder, scope="tema")
    write_collection(folder, documents=[{**each, "metadata": {"team": ["other"]}} for each in DOCUMENTS])
    with pytest.raises(InvalidArgument, match="no document has 'storage'"):
        read_beir(folder, scope="team")
    write_collection(folder, queries=[{**each, "metadata": None} for each in QUERIES])
    with pytest.raises(InvalidArgument, match="no metadata 'team'"):
        read_beir(folder, scope="team")
