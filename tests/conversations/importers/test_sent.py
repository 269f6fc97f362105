"""An export that somebody sends is read in a process apart, within bounds, and told of with all that is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import rifflux
from rifflux import NothingImported, Scope
from rifflux.conversations import Conversations
from rifflux.conversations.importers import Tally, sent
from rifflux.conversations.importers.sent import LIMITS, read_sent
from rifflux.models.hashing import HashEmbedder
from rifflux.types import Failure, Vectors
from rifflux.types.limits import ReaderLimits
from tests.support.commands import PATIENCE

CHAT = json.dumps([{"role": "user", "content": "kingfisher"}, {"role": "assistant", "content": "heron"}]).encode()


def failure(name: str, data: bytes, limits: ReaderLimits = LIMITS) -> str:
    """The reason for which nothing is read of an export."""
    with read_sent(name, data, None, Tally(), limits) as read:
        (found,) = read.items()
    assert isinstance(found, Failure)
    assert found.path == name
    return found.reason


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (ReaderLimits(seconds=0.01), "given up after 0.01 s"),
        (
            ReaderLimits(memory_mb=16),
            "(ended the process that read it, which may have|takes more than) 16 MB of memory",
        ),
        (ReaderLimits(answer_mb=1), "ended the process .* give 1 MB of text"),
    ],
    ids=["time", "memory", "answer"],
)
def test_what_exceeds_its_limits_is_ended(limits: ReaderLimits, reason: str) -> None:
    long = json.dumps([{"role": "user", "content": "x" * 10_000} for _ in range(200)]).encode()
    assert re.search(reason, failure("chat.json", long, limits))


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("chat.json", b'[{"role": "user", "content": ' + b"[" * 200_000, "nested too deeply"),
        ("chat.zip", b"PK\3\4 and no more", "damaged zip"),
        ("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(99), "no export that is known"),
        ("other.json", b'{"shape": "of nobody"}', "no export that is known"),
        ("empty.json", b"", "no export that is known"),
    ],
)
def test_an_export_of_an_unknown_shape_is_refused_with_the_reason(
    conversations: Conversations, name: str, data: bytes, reason: str
) -> None:
    with pytest.raises(NothingImported, match=reason) as refused:
        conversations.import_upload(f"/home/ann/{name}", data)
    assert "/tmp" not in str(refused.value)
    assert conversations.list() == []


@pytest.mark.parametrize("line", ["7", "{}", '{"conversation": {"id": 1}, "messages": [{}]}', "no JSON", "[" * 10_000])
def test_an_answer_that_is_no_conversation_is_none(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def answered(call: str, path: Path, limits: ReaderLimits, **options: Any) -> Any:
        path.with_name(f"{path.name}.threads").write_text(line)
        counts = {"count": 1, "messages": 1, "characters": 1}
        return {"recognized": {}, "skipped": {}, "notes": {}, "undated": 0, **counts}

    monkeypatch.setattr(sent, "apart", answered)
    assert "no conversation" in failure("chat.json", CHAT)


def test_titles_and_names_that_are_too_long_are_cut(conversations: Conversations) -> None:
    record = {
        "id": "c",
        "title": "word " * 80_000,
        "messages": [{"role": "user", "name": "N" * 9_000, "content": "heron"}],
    }
    conversations.import_upload("chat.json", json.dumps([record]).encode())
    (talk,) = conversations.list()
    assert talk.title.endswith("word…")
    assert len(talk.title) <= 1_000
    assert all(len(turn.speaker) <= 1_000 for turn in conversations.messages(talk.id))
    with pytest.raises(rifflux.InvalidArgument, match="title has more than 1,000 characters"):
        conversations.add("x" * 1_001)


def test_vectors_that_take_long_follow(tmp_path: Path) -> None:
    go_on = Event()

    class Slow(HashEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            go_on.wait(PATIENCE)
            return super().embed_documents(texts)

    with rifflux.open(tmp_path / "index.db", model=Slow()) as index:
        talks = index.scoped(Scope("ann")).conversations
        report = talks.import_upload("chat.json", CHAT, embed=True, embed_seconds=0.05)
        works = index.works.import_text(
            '{"_id": "a", "title": "Rivers"}', source="mine", format="jsonl", embed_seconds=0.05
        )
        assert (report.added, report.embedded, works.added) == (2, 0, 1)
        for told in (report.degraded[0], works.degraded[0]):
            assert told.code == "vectors.pending"
        assert talks.search("kingfisher").hits
        go_on.set()
        index.admin.embed()
        assert talks.search("kingfisher").trace.degraded == ()
