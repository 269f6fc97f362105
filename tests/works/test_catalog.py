"""Looking works up: as many statements for many works as for a few, and bounded lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from rifflux.index import open_index
from rifflux.types import Identifier, Link
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


def test_only_the_first_citing_works_are_given_and_the_rest_is_mentioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rifflux.works.catalog.MOST_LINKED", 3)
    cited = Work("A source", identifiers=(Identifier("doi", "10.1/cited"),), license="CC0-1.0")
    citing = [
        Work(
            f"Survey {each}",
            identifiers=(Identifier("doi", f"10.1/{each}"),),
            citations=(Link("doi:10.1/cited"),),
            license="CC0-1.0",
        )
        for each in range(4)
    ]
    with open_index(tmp_path / "works.db", model="hash") as index:
        index.works.add(cited, *citing[:3], embed=False)
        found = index.works.get("doi:10.1/cited")
        assert (len(found.cited_by), found.more_links) == (3, False)
        index.works.add(citing[3], embed=False)
        found = index.works.get("doi:10.1/cited")
        assert (len(found.cited_by), found.more_links) == (3, True)
        assert not index.works.get("doi:10.1/0").more_links
