"""An index moves from a file to a cluster and back, and is the same index at both ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, UnusableIndex
from rifflux.index.copying import copy
from tests.index.test_copying import answers, check, killed, source, terms
from tests.pinned.asking import SNAPSHOT
from tests.pinned.asking import answers as pinned
from tests.pinned.test_pinned import with_recorded_numbers

__all__ = ["source"]


def test_it_is_the_same_there_and_back_although_it_was_killed(
    source: Path, tmp_path: Path, location: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was killed holds its lease until this has passed.
    monkeypatch.setattr("rifflux.store.opensearch.leases.LEASE_SECONDS", 3.0)
    there = f"opensearch://{location()}"
    assert killed(source, there, 2)
    with pytest.raises(UnusableIndex, match="not complete"):
        rifflux.open(there)
    moved = copy(source, there)
    check(moved)
    back = tmp_path / "back.db"
    assert killed(there, back, 2)
    returned = copy(there, back)
    assert returned.parts == moved.parts
    assert terms(back) == terms(source)
    assert answers(back) == answers(source)


def test_what_changes_on_the_cluster_meanwhile_is_taken_too(tmp_path: Path, location: Callable[[], str]) -> None:
    there = f"opensearch://{location()}"
    target = tmp_path / "copy.db"
    with rifflux.open(there, model="hash:32") as index:
        index.add(*(Document(f"d{number}", f"text {number} on rivers") for number in range(100)))
        changes: list[int] = []

        def change(stage: str, done: int, total: int | None) -> None:
            if stage == "documents" and not changes:
                changes.append(done)
                index.remove("d0")
                index.add(Document("d1", "another text"), Document("d0", "it is back"), Document("d99", "changed"))

        report = index.admin.copy(target, progress=change)
        assert changes
        assert all(each.equal for each in report.parts)
        found = [index.document(key).text for key in ("d0", "d1", "d99")]
    with rifflux.open(target) as copied:
        assert copied.status().documents == 100
        assert [copied.document(key).text for key in ("d0", "d1", "d99")] == found


def test_the_pinned_questions_are_answered_as_ever_after_it(location: Callable[[], str], tmp_path: Path) -> None:
    def moved(path: Path) -> None:
        there = f"opensearch://{location()}"
        copy(path, there)
        for each in path.parent.glob(f"{path.name}*"):
            each.unlink()
        copy(there, path)

    recorded = json.loads(SNAPSHOT.read_text("utf-8"))
    found = pinned(tmp_path, moved)
    assert with_recorded_numbers(found, recorded) == recorded
