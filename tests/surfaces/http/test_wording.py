"""Clients of a service are told of no commands: they cannot run any."""

from __future__ import annotations

from dataclasses import replace

import pytest

import rifflux
from rifflux import Done, Sources
from rifflux.surfaces.http.chat import told_to_clients
from rifflux.surfaces.http.wording import for_clients


@pytest.mark.parametrize(
    ("for_people", "told"),
    [
        ("3 of 9 chunks have no vector yet: run 'rifflux index'", "ask an administrator to index again"),
        ("no chunk has a vector: run 'rifflux index' without --no-embed to search by meaning", "to search by meaning"),
        ("no vectors for now: late; text is kept, and 'rifflux index' makes its vectors later", "late; text is kept"),
        ("its vectors are still to come (late): 'rifflux works import PATHS' makes them", "still to come (late)"),
        ("no memory 'x': take an id from 'rifflux memories list'", "an id from GET /memories"),
        ("nothing of ours: 5 results", "nothing of ours: 5 results"),
    ],
)
def test_commands_are_not_told(for_people: str, told: str) -> None:
    worded = for_clients(for_people)
    assert told in worded
    assert "rifflux" not in worded
    assert "--" not in worded


def test_no_event_of_an_answer_tells_a_command() -> None:
    stale = "about 1 of 64 files changed since they were read: run 'rifflux index'"
    with rifflux.open(":memory:", model="hash") as index:
        index.add(rifflux.Document("heron", "Herons stand in shallow water."))
        events = [*index.answering("where do herons stand")]
    sources, done = (next(each for each in events if isinstance(each, kind)) for kind in (Sources, Done))
    assert isinstance(sources, Sources)
    assert isinstance(done, Done)
    answer = replace(done.answer, notes=(stale,), degraded=(stale,))
    for event in (replace(sources, notes=(stale,)), Done(answer)):
        assert stale in str(event)
        assert stale not in str(told_to_clients(event))
        assert "ask an administrator" in str(told_to_clients(event))
