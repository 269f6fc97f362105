"""The candidate table: rows keep their columns, absent values are NaN, and every column is declared."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.retrieve import table as retrieval_table
from rifflux.retrieve.fuse.base import Weights, weighed
from rifflux.retrieve.table import COUNT, Candidates, columns, declare, declared, joined, trails
from rifflux.types import Ranking, Why

NOTED = declare("noted/told", "factor", "a column of these tests")


def ranking(*ids: int) -> Ranking:
    return Ranking(np.array(ids, np.int64), np.arange(len(ids), 0, -1, dtype=np.float64))


def table(*scores: float) -> Candidates:
    return Candidates.of(Ranking(np.arange(len(scores), dtype=np.int64), np.array(scores, np.float64)))


class TestCandidates:
    def test_rankings_join_in_rows(self) -> None:
        found = joined({"one": ranking(4, 2), "two": ranking(2, 9)})
        assert found.ids.tolist() == [2, 4, 9]
        np.testing.assert_array_equal(found["one/rank"], [2, 1, np.nan])
        np.testing.assert_array_equal(found["two/score"], [2, np.nan, 1])

    def test_what_is_below_the_pool_lends_its_places(self) -> None:
        found = joined({"one": ranking(4, 2), "two": ranking(2, 9, 4)}, 1)
        assert found.ids.tolist() == [2, 4]
        assert found["two/rank"].tolist() == [1, 3]

    def test_an_absent_column_is_not_a_number(self) -> None:
        assert np.isnan(table(1, 2)["noted/told"]).all()

    def test_a_column_that_is_not_declared_is_refused(self) -> None:
        with pytest.raises(KeyError, match="declared"):
            table(1).with_column("magic", np.ones(1))

    def test_values_of_the_first_rows_are_completed(self) -> None:
        np.testing.assert_array_equal(table(1, 2).with_column(NOTED, np.ones(1))[NOTED], [1, np.nan])

    @given(st.lists(st.sampled_from([0.0, 1.0, 1.0 + 1e-15, 2.0]), max_size=8))
    def test_an_order_is_by_value_then_id(self, scores: list[float]) -> None:
        found = table(*scores).with_column(NOTED, np.array(scores)).scored(np.array(scores))
        assert found.ids.tolist() == sorted(range(len(scores)), key=lambda id: (-round(scores[id], 12), id))
        assert found[NOTED].tolist() == [scores[id] for id in found.ids.tolist()]

    def test_every_column_has_a_unit_and_a_line(self) -> None:
        assert all(each.unit and each.about and "\n" not in each.about for each in columns())
        assert declared("semantic/rank").name == "*/rank"

    def test_a_column_is_looked_up_while_others_are_declared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As a thread does that is the first to need a module with columns of its own."""

        def declaring(name: str, pattern: str) -> bool:
            declare(f"late/{len(columns())}", COUNT, "a column of these tests")
            return fnmatchcase(name, pattern)

        with monkeypatch.context() as patched:
            patched.setattr(retrieval_table, "_COLUMNS", {each.name: each for each in columns()})
            patched.setattr(retrieval_table, "fnmatchcase", declaring)
            declared.cache_clear()
            assert declared("semantic/rank").name == "*/rank"
        declared.cache_clear()


class TestTrails:
    def test_explanations_are_written_from_columns(self) -> None:
        found = joined({"one": ranking(4, 2)}).with_stage("collapse", {"others": np.array([np.nan, 2])})
        assert trails(found) == [
            (Why("one", 2, 1.0),),
            (Why("one", 1, 2.0), Why("collapse", None, None, {"others": 2})),
        ]


class TestWeights:
    def test_addends_add_up(self) -> None:
        scores, addends = weighed({"a": np.array([1.0]), "b": np.array([0.5])}, Weights({"a": 3, "b": 1}).shares())
        assert scores.tolist() == [0.875]
        assert {name: each.tolist() for name, each in addends.items()} == {"a": [0.75], "b": [0.125]}

    def test_unknown_components_name_the_known(self) -> None:
        with pytest.raises(InvalidArgument, match=r"'c'.*a, b"):
            Weights({"a": 1, "b": 1}).but(c=2)

    @pytest.mark.parametrize("values", [{"a": -1.0}, {"a": 0.0}, {"a": float("nan")}])
    def test_weights_that_mean_nothing_are_refused(self, values: dict[str, float]) -> None:
        with pytest.raises(InvalidArgument):
            Weights(values)
