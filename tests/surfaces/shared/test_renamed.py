"""Former names are taken, and what is taken is what the documentation says."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import InvalidArgument
from rifflux.surfaces.http import Service, ServiceSettings, create_app
from rifflux.surfaces.shared import renamed
from rifflux.surfaces.shared.config import load
from rifflux.surfaces.shared.renamed import current_flags, normalized
from rifflux.types.former import takes_former

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "renamed.md"


def test_the_documentation_shows_each_name_and_no_other() -> None:
    text = PAGE.read_text("utf-8")
    variables = {f"RIFFLUX_{old.upper()}": f"RIFFLUX_{new.upper()}" for old, new in renamed.SETTINGS.items()}
    tables = (renamed.KEYS, renamed.FLAGS, renamed.SETTINGS, variables, renamed.ANSWERS)
    expected = sorted(pair for table in tables for pair in table.items())
    assert sorted(re.findall(r"^\| `([\w-]+)` \| `([\w-]+)` \|$", text, re.MULTILINE)) == expected
    assert renamed.UNTIL in text.replace("\n", " ")


@pytest.mark.parametrize(
    ("given", "known", "expected"),
    [
        ({"licence": "x"}, ("license",), {"license": "x"}),
        ({"date_from": "2024", "to": 1}, ("since", "until"), {"since": "2024", "to": 1}),
        ({"date_range": {"start": "2024"}}, ("since", "until"), {"since": "2024"}),
        ({"date_range": ["2024", None]}, ("since", "until"), {"since": "2024", "until": None}),
        ({"date_range": 1}, ("date_range", "since", "until"), {"date_range": 1}),
        ({"token_budget": 5}, ("max_tokens",), {"max_tokens": 5}),
        ({"budget": 5}, ("budget", "max_tokens"), {"budget": 5}),
        ({"key": "a"}, ("query",), {"key": "a"}),
    ],
)
def test_former_keys_are_read_where_the_name_now_is_known(
    given: Mapping[str, object], known: tuple[str, ...], expected: Mapping[str, object]
) -> None:
    assert normalized(given, known) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"budget": 1, "max_tokens": 2},
        {"budget": 1, "token_budget": 2},
        {"date_range": {"start": "2024"}, "since": "2023"},
        {"date_range": {"begin": "2024"}},
        {"date_range": "2024"},
    ],
)
def test_a_key_given_twice_or_without_sense_is_refused(given: Mapping[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=r"given twice|has a start and an end"):
        normalized(given, ("max_tokens", "since", "until"))


def test_former_flags_are_read_up_to_the_end_of_options() -> None:
    words = ["retrieve", "--budget=5", "--from", "2024", "--", "--licence"]
    assert list(current_flags(words)) == ["retrieve", "--max-tokens=5", "--since", "2024", "--", "--licence"]


def test_former_settings_are_read(tmp_path: Path) -> None:
    assert load({"RIFFLUX_NEIGHBOURS": "hnsw"}).neighbors == "hnsw"
    (tmp_path / "config.toml").write_text("neighbours = 'hnsw'")
    assert load({"RIFFLUX_CONFIG": str(tmp_path / "config.toml")}).neighbors == "hnsw"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"budget": 5}, {"max_tokens": 5}),
        ({"date_range": ("1990", None)}, {"since": "1990", "until": None}),
        ({"date_range": None}, {"since": None, "until": None}),
        ({"max_tokens": 5}, {"max_tokens": 5}),
    ],
)
def test_former_arguments_are_read_in_python_with_a_warning(given: Any, expected: Any) -> None:
    @takes_former(budget="max_tokens", date_range=("since", "until"))
    def asked(**arguments: object) -> dict[str, object]:
        return arguments

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert asked(**given) == expected
    assert [each.category for each in warned] == [DeprecationWarning] * (given != expected)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"budget": 1, "max_tokens": 2}, "max_tokens is given twice"),
        ({"date_range": "1990"}, "date_range must be a pair"),
        ({"date_range": ("1990",)}, "date_range must be a pair"),
        ({"date_range": ("1990", "2000"), "until": "1995"}, "until is given twice"),
    ],
)
def test_arguments_given_twice_or_without_sense_are_refused(given: Any, told: str) -> None:
    index = rifflux.open(":memory:", profile="works")
    with index, pytest.warns(DeprecationWarning, match="is now"), pytest.raises(InvalidArgument, match=told):
        index.retrieve("sheaves", **given)


def test_former_keys_are_published_as_deprecated() -> None:
    with rifflux.open(":memory:") as index:
        schemas = create_app(Service(ServiceSettings(), index)).openapi()["components"]["schemas"]
    taken = {
        name: sorted(key for key, value in schema.get("properties", {}).items() if value.get("deprecated"))
        for name, schema in schemas.items()
    }
    assert taken["RetrieveIn"] == ["budget", "token_budget"]
    assert taken["RetrieveFilters"] == ["date_from", "date_range", "date_to"]
    assert taken["SearchMessagesIn"] == ["date_from", "date_range", "date_to", "neighbours"]
    assert taken["FeedbackIn"] == ["key"]
    assert taken["WorksIn"] == ["licence"]
    assert renamed.UNTIL in schemas["RetrieveIn"]["properties"]["budget"]["description"]
