"""How many statements a search costs, and a retrieval of works."""

from __future__ import annotations

from pathlib import Path

import pytest

import rifflux
from rifflux.types import Document, Identifier
from rifflux.works import Work
from tests.support.statements import statements

#: For what was asked before of an index that did not change meanwhile.
SEARCH, RETRIEVE = 13, 29


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_a_search_asks_the_database_a_few_times(tmp_path: Path, mode: str) -> None:
    with statements() as asked, rifflux.open(tmp_path / "index.db") as index:
        index.add(*(Document(f"d{number}", f"The heron number {number} stands in the river.") for number in range(30)))
        index.search("heron river", mode=mode)
        before = len(asked)
        index.search("river heron", mode=mode)
        assert 0 < len(asked) - before <= SEARCH


def test_a_retrieval_of_two_works_asks_the_database_a_few_times(tmp_path: Path) -> None:
    titles = {"10.1/a": "Rivers and herons of the north", "10.1/b": "Caches by rivers and their herons"}
    with statements() as asked, rifflux.open(tmp_path / "index.db", profile="works") as index:
        index.works.add(*(Work(title, identifiers=(Identifier("doi", doi),)) for doi, title in titles.items()))
        index.retrieve("herons in rivers")
        before = len(asked)
        assert len(index.retrieve("rivers of herons").reranked) == 2
        assert 0 < len(asked) - before <= RETRIEVE
