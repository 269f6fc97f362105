"""What is answered today is what was recorded: 60 questions on up to four surfaces (see `record.py`)."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.pinned.asking import SNAPSHOT, SURFACES, answers, written
from tests.pinned.questions import CASES

#: Lines of a difference that are shown.
MOST_LINES = 120
ASKED = [(case.name, surface) for case in CASES for surface in SURFACES if getattr(case, surface) is not None]

Answers = Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def recorded() -> Answers:
    """What was answered when the snapshot was made."""
    told: Answers = json.loads(SNAPSHOT.read_text("utf-8"))
    return told


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What is answered now; asked once, in the order of the cases."""
    return answers(tmp_path_factory.mktemp("pinned"))


@pytest.mark.parametrize(("name", "surface"), ASKED, ids=[f"{name}-{surface}" for name, surface in ASKED])
def test_the_answer_is_as_it_was(name: str, surface: str, found: Answers, recorded: Answers) -> None:
    before, now = (written(each[name].get(surface)).splitlines() for each in (recorded, found))
    lines = list(difflib.unified_diff(before, now, "recorded", "now", lineterm="", n=4))
    more = [f"… and {len(lines) - MOST_LINES} lines more"] if len(lines) > MOST_LINES else []
    assert not lines, f"{name} on {surface} differs\n" + "\n".join([*lines[:MOST_LINES], *more])


def test_all_that_was_recorded_is_asked(recorded: Answers) -> None:
    assert len(CASES) == len({case.name for case in CASES}) == 60
    assert {(name, surface) for name, each in recorded.items() for surface in each} == set(ASKED)
    assert SNAPSHOT.stat().st_size < 1_500_000
