"""Messages name tools to agents, and commands only as what the user may run."""

from __future__ import annotations

import pytest

from rifflux.surfaces.mcp.wording import for_agents


@pytest.mark.parametrize(
    ("for_people", "told"),
    [
        ("3 of 9 chunks have no vector yet: run 'rifflux index'", "3 of 9 chunks have no vector yet: call reindex"),
        ("no index at /x: make one with 'rifflux index FOLDER'", "no index at /x: call reindex"),
        ("2 files are read by the next 'rifflux index'", "2 files are read by the next reindex"),
        ("it is gone: 'rifflux index a.md' forgets it", "it is gone: reindex forgets it"),
        ("no memory 'x': take an id from 'rifflux memories list'", "no memory 'x': take an id from recall"),
        ("damaged: run 'rifflux doctor --repair'", "damaged: ask the user to run 'rifflux doctor --repair'"),
        ("nothing of ours: 5 results", "nothing of ours: 5 results"),
    ],
)
def test_commands_become_tools(for_people: str, told: str) -> None:
    assert for_agents(for_people) == told


@pytest.mark.parametrize(
    ("for_people", "told"),
    [
        ("3 of 9 chunks have no vector yet: run 'rifflux index'", "ask an administrator to run 'rifflux index'"),
        ("no index at /x: make one with 'rifflux index FOLDER'", "ask an administrator to make one with 'rifflux"),
        ("no memory 'x': take an id from 'rifflux memories list'", "take an id from recall"),
        ("damaged: run 'rifflux doctor --repair'", "ask an administrator to run 'rifflux doctor --repair'"),
    ],
)
def test_who_may_not_index_is_told_who_may(for_people: str, told: str) -> None:
    worded = for_agents(for_people, may_fill=False)
    assert told in worded
    assert "reindex" not in worded
