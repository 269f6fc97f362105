"""What somebody sends is read in a place that it leaves before storing, and no more of it is stored than is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import rifflux
from rifflux import Document, InvalidArgument, Scope
from rifflux.conversations import conversations
from rifflux.session.intake import Intake

LONG = "word, " * 20_000
RECORDS = [{"_id": f"r{number}", "title": f"Of herons {number}", "text": "Herons fish."} for number in range(6)]
CHATS = [
    {"id": f"c{number}", "title": "Talk", "messages": [{"role": "user", "content": f"heron {number}"}]}
    for number in range(6)
]


def lines(records: list[dict[str, Any]]) -> bytes:
    """JSON Lines of records."""
    return "\n".join(map(json.dumps, records)).encode()


#: Ways to send six documents and one that is long, by name: short ones alone, and with the long one among them.
WAYS: dict[str, Callable[[rifflux.Index, bool, Intake], Any]] = {
    "documents": lambda index, long, intake: index.documents.upload(
        "a.jsonl", lines([*RECORDS, *[{"_id": "long", "text": LONG}] * long]), key="a", intake=intake
    ),
    "conversations": lambda index, long, intake: index.conversations.import_upload(
        "chat.json",
        json.dumps([*CHATS, *[{"id": "long", "messages": [{"role": "user", "content": LONG}]}] * long]).encode(),
        intake=intake,
    ),
    "works": lambda index, long, intake: index.works.import_upload(
        "refs.jsonl", lines([*RECORDS, *[{"_id": "long", "title": "Long", "abstract": LONG}] * long]), intake=intake
    ),
    "text": lambda index, long, intake: index.works.import_text(
        lines([*RECORDS, *[{"_id": "long", "title": "Long", "abstract": LONG}] * long]).decode(),
        source="refs",
        format="jsonl",
        intake=intake,
    ),
}


@pytest.fixture
def index() -> Iterator[rifflux.Index]:
    with rifflux.open(":memory:", model="hash:64") as index:
        yield index.scoped(Scope("ann"))


def chunks(index: rifflux.Index) -> int:
    """How many chunks there are of anybody."""
    return sum(view.totals().chunks for view in index.admin.store.views())


@pytest.mark.parametrize("way", WAYS)
def test_an_import_of_too_many_chunks_stores_nothing(index: rifflux.Index, way: str) -> None:
    with pytest.raises(InvalidArgument, match="5 chunks"):
        WAYS[way](index, False, Intake(request_chunks=5))
    assert chunks(index) == 0
    WAYS[way](index, False, Intake(request_chunks=6))
    assert chunks(index) == 6


@pytest.mark.parametrize("way", ["conversations", "works", "text"])
def test_of_an_import_what_is_too_long_fails_alone(index: rifflux.Index, way: str) -> None:
    (failed,) = WAYS[way](index, True, Intake(document_chunks=5)).failed
    assert "the limit of a document here is 5" in failed.reason
    assert chunks(index) == 6


def test_a_file_with_a_document_that_is_too_long_is_refused(index: rifflux.Index) -> None:
    with pytest.raises(InvalidArgument, match="the limit of a document here is 5"):
        WAYS["documents"](index, True, Intake(document_chunks=5))
    with pytest.raises(InvalidArgument, match="the limit of a document here is 5"):
        index.documents.put(Document("long", LONG), intake=Intake(document_chunks=5))
    assert chunks(index) == 0
    index.documents.put(Document("long", LONG))
    assert chunks(index) > 5


@pytest.mark.parametrize("way", ["documents", "conversations", "works"])
def test_the_place_for_reading_is_left_before_anything_is_stored(index: rifflux.Index, way: str) -> None:
    counted = []

    @contextmanager
    def place() -> Iterator[None]:
        counted.append(chunks(index))
        yield
        counted.append(chunks(index))

    reports = []

    def progress(stage: str, done: int, total: int | None) -> None:
        assert len(counted) == 2
        reports.append((stage, done, total))

    WAYS[way](index, False, Intake(place=place, progress=progress))
    assert counted == [0, 0]
    assert chunks(index) == 6
    assert reports[0] == ("store", 0, 6)
    assert [done for _, done, _ in reports] == sorted(done for _, done, _ in reports)


@pytest.mark.parametrize("way", ["documents", "conversations", "works"])
def test_an_import_that_is_ended_leaves_whole_documents_and_can_be_repeated(
    index: rifflux.Index, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "TOGETHER", 2)

    class Ended(Exception):
        pass

    def progress(stage: str, done: int, total: int | None) -> None:
        if done >= 3:
            raise Ended

    with pytest.raises(Ended):
        WAYS[way](index, False, Intake(progress=progress))
    assert chunks(index) < 6
    WAYS[way](index, False, Intake())
    assert chunks(index) == 6
