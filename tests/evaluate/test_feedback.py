"""What people judge is recorded in the index, and evaluates it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, InvalidArgument, NotFound
from rifflux.evaluate import Run, compare, read_feedback


@pytest.fixture
def index(tmp_path: Path) -> Iterator[rifflux.Index]:
    with rifflux.open(tmp_path / "notes.db", model="hash:32") as index:
        index.add(Document("cache", "Cache entries live for an hour."), Document("queue", "The queue holds jobs."))
        yield index


def test_judgements_come_back_as_a_collection(index: rifflux.Index) -> None:
    index.judge("how long do entries live", "cache", 2, user="ann")
    index.judge("how long do  entries live", "queue", 0)
    index.judge("jobs", index.search("jobs")[0].id)
    collection = read_feedback(index)
    assert (collection.name, collection.qrels) == ("notes", "feedback")
    assert [(question.text, dict(question.grades)) for question in collection.questions] == [
        ("how long do entries live", {"documents/cache": 2, "documents/queue": 0}),
        ("jobs", {"documents/queue": 1}),
    ]
    (outcome,) = compare(collection, [Run("lexical", {"mode": "lexical"})], lambda _: index)
    assert outcome.mean("ndcg@10") == 1


def test_the_last_judgement_counts(index: rifflux.Index) -> None:
    index.judge("jobs", "queue")
    index.judge("jobs", "cache", 3)
    index.judge("jobs", "queue", 0)
    (question,) = read_feedback(index).questions
    assert question.grades == {"documents/cache": 3, "documents/queue": 0}


def test_documents_that_are_gone_are_left_out(index: rifflux.Index) -> None:
    index.judge("jobs", "queue")
    index.judge("entries", "cache")
    index.remove("queue")
    assert [question.text for question in read_feedback(index).questions] == ["entries"]


def test_without_judgements_the_cure_is_named(index: rifflux.Index) -> None:
    index.judge("jobs", "queue", 0)
    with pytest.raises(InvalidArgument, match="record more judgements"):
        read_feedback(index)


def test_equal_names_in_two_folders_are_two_documents(tmp_path: Path) -> None:
    for name, text in (("one", "about caches"), ("two", "about queues")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(text)
    with rifflux.open(tmp_path / "both.db", model="hash:32") as index:
        index.add(tmp_path / "one", tmp_path / "two")
        index.judge("caches", str(tmp_path / "one" / "README.md"))
        collection = read_feedback(index)
        (outcome,) = compare(collection, [Run("lexical", {"mode": "lexical"})], lambda _: index)
    assert outcome.mean("mrr@10") == 1


@pytest.mark.parametrize("grade", [-1, 11, 1.5, True, "good"])
def test_a_grade_that_is_none_is_refused(index: rifflux.Index, grade: int) -> None:
    with pytest.raises(InvalidArgument, match="from 0 to 10"):
        index.judge("jobs", "queue", grade)


def test_nothing_is_recorded_of_what_is_unknown(index: rifflux.Index) -> None:
    with pytest.raises(NotFound):
        index.judge("jobs", "nowhere")
    with pytest.raises(InvalidArgument, match="empty"):
        index.judge(" ", "queue")
    assert index.registry.events() == []


def test_judging_leaves_the_vectors_in_memory_valid(index: rifflux.Index) -> None:
    before = index.admin.store.records.setting("generation")
    index.judge("jobs", "queue")
    assert index.admin.store.records.setting("generation") == before
