"""What is only for the record is written together, and not lost to a write that fails."""

from __future__ import annotations

import threading

import pytest

from rifflux.service.write_behind import Batch, WriteGate
from tests.support.commands import PATIENCE


def test_entries_are_written_together_once_the_first_has_waited() -> None:
    written: list[list[int]] = []
    moments = iter([0.0, 0.2, 0.4, 1.2, 1.2])
    batch = Batch(written.append, seconds=1.0, now=lambda: next(moments))
    for entry in (1, 2):
        batch.add(entry)
    assert written == []
    batch.add(3)
    assert written == [[1, 2, 3]]


def test_an_entry_is_written_though_no_other_follows() -> None:
    written: list[list[int]] = []
    done = threading.Event()

    def write(entries: list[int]) -> None:
        written.append(entries)
        done.set()

    Batch(write, seconds=0.01, now=lambda: 0.0).add(1)
    assert done.wait(PATIENCE)
    assert written == [[1]]


def test_what_could_not_be_written_is_written_with_what_follows() -> None:
    written: list[list[int]] = []

    def write(entries: list[int]) -> None:
        if entries == [1]:
            raise OSError("the disk is full")
        written.append(entries)

    batch = Batch(write, now=lambda: 0.0)
    batch.add(1)
    with pytest.raises(OSError, match="full"):
        batch.flush()
    batch.add(2)
    batch.flush()
    assert written == [[1, 2]]


def test_unwanted_entries_are_not_written() -> None:
    written: list[list[int]] = []
    batch = Batch(written.append, now=lambda: 0.0)
    for entry in (1, 2, 3):
        batch.add(entry)
    batch.drop(lambda entry: entry == 2)
    batch.flush()
    batch.flush()
    assert written == [[1, 3]]


def test_what_another_thread_writes_is_written_when_a_flush_returns() -> None:
    written: list[str] = []
    begun, may_end = threading.Event(), threading.Event()

    def write(entries: list[str]) -> None:
        begun.set()
        assert may_end.wait(PATIENCE)
        written.extend(entries)

    batch = Batch(write, seconds=60.0)
    batch.add("one")
    other = threading.Thread(target=batch.flush)
    other.start()
    begun.wait(PATIENCE)
    asked = threading.Thread(target=batch.flush)
    asked.start()
    asked.join(0.05)
    assert asked.is_alive()
    may_end.set()
    asked.join(PATIENCE)
    other.join(PATIENCE)
    assert written == ["one"]


def test_what_comes_after_it_was_closed_is_not_written() -> None:
    written: list[list[int]] = []
    batch = Batch(written.append, seconds=0.01, now=lambda: 0.0)
    batch.add(1)
    batch.close()
    batch.add(2)
    batch.flush()
    assert written == [[1]]


def test_closing_is_not_kept_from_by_what_cannot_be_written(caplog: pytest.LogCaptureFixture) -> None:
    def write(entries: list[int]) -> None:
        raise OSError("the disk is full")

    batch = Batch(write, seconds=60.0, now=lambda: 0.0)
    batch.add(1)
    batch.close()
    assert "the disk is full" in caplog.text


def test_a_gate_waits_for_those_who_passed_and_lets_nobody_pass_after() -> None:
    gate = WriteGate()
    begun, may_end = threading.Event(), threading.Event()

    def write() -> None:
        with gate.passing() as passed:
            assert passed
            begun.set()
            assert may_end.wait(PATIENCE)

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(PATIENCE)
    assert not gate.close(0.01)
    with gate.passing() as passed:
        assert not passed
    may_end.set()
    assert gate.close(PATIENCE)
    writer.join(PATIENCE)
