"""Results in a program: how they print, as dictionaries and as a table; and arguments that cannot be meant."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument
from rifflux.models.hashing import HashEmbedder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "heron.md").write_text("# Birds\n\n## Herons\n\nA heron stands\nin the river.\n")
    with rifflux.open(":memory:", model=HashEmbedder(64)) as index:
        index.add(tmp_path / "notes", Document("egret", "An egret \x1b[31mflies\x07 " + "far away " * 40, "Egrets"))
        yield index


class TestPrinted:
    def test_a_line_on_the_search_and_one_on_each_hit(self, index: Index) -> None:
        found = index.search("heron river")
        head, *hits = str(found).splitlines()
        assert head == f"{len(found)} hits for 'heron river' (hybrid)"
        assert hits[0].startswith(" 1 heron.md:5  Birds > Herons  ")
        assert hits[0].endswith("  A heron stands in the river.")
        assert repr(found) == str(found)

    def test_a_line_is_short_and_moves_no_cursor(self, index: Index) -> None:
        for line in str(index.search("an egret flies", mode="lexical")).splitlines():
            assert len(line) < 130
            assert line.isprintable()

    def test_one_hit_and_none(self, index: Index) -> None:
        assert str(index.search("heron", mode="lexical")).startswith("1 hit for 'heron' (lexical)\n")
        assert str(index.search("zebra", mode="lexical")) == "0 hits for 'zebra' (lexical)"

    def test_what_degraded_is_told(self) -> None:
        with rifflux.open(":memory:", model=HashEmbedder(64)) as index:
            index.add(Document("heron", "A heron."), embed=False)
            assert "\ndegraded: no chunk has a vector" in str(index.search("heron"))


class TestDictionaries:
    def test_they_are_what_the_command_prints(self, run: Any, tmp_path: Path) -> None:
        (tmp_path / "heron.txt").write_text("A heron stands in the river.")
        run("index", "heron.txt")
        printed = run.json("search", "heron")["results"]
        with rifflux.open(tmp_path / ".rifflux" / "index.db", model="hash") as index:
            found = index.search("heron").to_dicts()
        for each in printed:
            del each["score_breakdown"]
        assert json.loads(json.dumps(found)) == printed

    def test_none(self, index: Index) -> None:
        assert index.search("zebra", mode="lexical").to_dicts() == []


class TestTable:
    def test_a_row_a_hit_by_rank(self, index: Index) -> None:
        pytest.importorskip("pandas", reason="pandas is in the extra 'integrations'")
        found = index.search("heron river")
        table = found.to_pandas()
        assert table.index.name == "rank"
        assert table.index.tolist() == [*range(1, len(found) + 1)]
        assert table.path.tolist() == [hit.path for hit in found]
        assert table.score.tolist() == [hit.score for hit in found]
        assert list(table.columns) == list(found.to_dicts()[0])

    def test_an_empty_one_has_the_same_columns(self, index: Index) -> None:
        pytest.importorskip("pandas", reason="pandas is in the extra 'integrations'")
        none = index.search("zebra", mode="lexical").to_pandas()
        assert (len(none), list(none.columns)) == (0, list(index.search("heron").to_pandas().columns))

    def test_without_pandas_the_error_names_it(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        imported = builtins.__import__

        def without(name: str, *more: Any, **named: Any) -> Any:
            if name == "pandas":
                raise ImportError(name)
            return imported(name, *more, **named)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(rifflux.MissingExtra, match="pip install 'pandas'"):
            index.search("heron").to_pandas()


@pytest.mark.parametrize("query", [5, None, b"heron", ["heron"]])
def test_a_question_that_is_no_text_is_told_so(index: Index, query: Any) -> None:
    for call in (index.search, index.classify, lambda asked: index.judge(asked, "egret")):
        with pytest.raises(InvalidArgument, match="the query must be text, not"):
            call(query)


class TestFolderOfANewIndex:
    def test_it_is_made(self, tmp_path: Path) -> None:
        with rifflux.open(tmp_path / ".rifflux" / "index.db"):
            assert (tmp_path / ".rifflux" / "index.db").exists()

    def test_those_above_it_are_not(self, tmp_path: Path) -> None:
        with pytest.raises(rifflux.NotFound, match=f"no folder {tmp_path}/nowhere: make it, or check the path"):
            rifflux.open(tmp_path / "nowhere" / "dir" / "index.db")
        assert not any(tmp_path.iterdir())

    def test_a_file_in_its_place_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(rifflux.UnusableIndex, match="check its path"):
            rifflux.open(tmp_path / "file" / "index.db")
