"""What is answered today is what was recorded: 60 questions on up to four surfaces (see `record.py`)."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest

from tests.pinned.asking import SNAPSHOT, SURFACES, answers, written
from tests.pinned.questions import CASES

#: Lines of a difference that are shown.
MOST_LINES = 120
#: How far two processors may be apart where one of them computes with 24 bits: some units in the last place.
SINGLE_PRECISION = 1e-6
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
    expected = recorded[name].get(surface)
    before = written(expected).splitlines()
    now = written(with_recorded_numbers(found[name].get(surface), expected)).splitlines()
    lines = list(difflib.unified_diff(before, now, "recorded", "now", lineterm="", n=4))
    more = [f"… and {len(lines) - MOST_LINES} lines more"] if len(lines) > MOST_LINES else []
    assert not lines, f"{name} on {surface} differs\n" + "\n".join([*lines[:MOST_LINES], *more])


def with_recorded_numbers(found: Any, recorded: Any) -> Any:
    """Return what was found with the recorded value of each number that equals it but for rounding in single precision.

    Processors sum the numbers of a vector in different orders, which changes the last of its seven digits.
    """
    if isinstance(found, dict) and isinstance(recorded, dict):
        return {name: with_recorded_numbers(each, recorded.get(name)) for name, each in found.items()}
    if isinstance(found, list) and isinstance(recorded, list) and len(found) == len(recorded):
        return [with_recorded_numbers(each, then) for each, then in zip(found, recorded, strict=True)]
    both_numbers = isinstance(found, float) and isinstance(recorded, float)
    if both_numbers and math.isclose(found, recorded, rel_tol=SINGLE_PRECISION, abs_tol=SINGLE_PRECISION):
        return recorded
    return found


def test_all_that_was_recorded_is_asked(recorded: Answers) -> None:
    assert len(CASES) == len({case.name for case in CASES}) == 60
    assert {(name, surface) for name, each in recorded.items() for surface in each} == set(ASKED)
    assert SNAPSHOT.stat().st_size < 1_500_000
