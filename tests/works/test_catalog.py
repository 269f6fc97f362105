"""Looking works up takes as many statements for many works as for a few."""

from __future__ import annotations

from pathlib import Path

import pytest

from rifflux.index import open_index
from rifflux.types import Identifier
from rifflux.works import Work
from tests.support.statements import statements


@pytest.mark.parametrize("number", [2, 20])
def test_listing_takes_as_many_statements_whatever_the_number(tmp_path: Path, number: int) -> None:
    works = [Work(f"Work {each}", identifiers=(Identifier("doi", f"10.1/{each}"),)) for each in range(number)]
    with statements() as run, open_index(tmp_path / "works.db", model="hash") as index:
        index.works.add(*works, embed=False)
        run.clear()
        listed = index.works.all()
        assert (
            len(run) == 5
        )  # one for the collections, one for the works, one for each policy on what may be told of them
    assert [each.identifiers[0] for each in listed] == sorted(f"doi:10.1/{each}" for each in range(number))


def test_doubts_take_as_many_statements_whatever_their_number(tmp_path: Path) -> None:
    counts = []
    for number in (1, 6):
        titles = [f"On the cohomology of curves of genus {each} over finite fields" for each in "abcdef"[:number]]
        works = [Work(title, authors=("Ann Able",), year=year) for title in titles for year in (1990, 1993)]
        with statements() as run, open_index(tmp_path / f"{number}.db", model="hash") as index:
            index.works.add(*works[::2], source="one", embed=False)
            index.works.add(*works[1::2], source="other", embed=False)
            run.clear()
            assert len(index.works.doubts()) >= number
            counts.append(len(run))
    assert counts[0] == counts[1]
