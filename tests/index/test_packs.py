"""What an evidence pack holds, as an index is set up: caps by work, author and venue, weights of each intent."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rifflux.errors import InvalidArgument
from rifflux.index import Index, open_index
from rifflux.retrieve.works.adjust import adjusted
from rifflux.retrieve.works.intent import INTENTS
from rifflux.surfaces.config import load
from rifflux.surfaces.evidence import retrieval_json
from rifflux.types import Identifier, Link, Tag
from rifflux.works import Passage, Work

PAGES = tuple(
    Passage(
        f"Cohomology of stacks, page {page}. " + "Cohomology of sheaves on stacks. " * 30, "page", (f"Page {page}",)
    )
    for page in range(4)
)


def work(number: int, author: str, venue: str, *, passages: tuple[Passage, ...] = (), subject: str = "math.AG") -> Work:
    return Work(
        f"Cohomology of stacks, part {number}",
        f"On the cohomology of stacks, number {number}.",
        authors=(author,),
        venue=venue,
        year=1990 + number,
        identifiers=(Identifier("doi", f"10.1/{number}"),),
        citations=(Link("doi:10.1/0"),) if number else (),
        tags=(Tag("arxiv", subject),),
        passages=passages,
        licence="CC-BY-4.0",
    )


#: Seven of one author in one venue, four of others in another venue, and one with many pages.
WORKS = (
    *(work(number, "Ann Able", "Annals") for number in range(7)),
    *(work(number, f"Author {'NOPQ'[number - 7]}", "Bulletin") for number in range(7, 11)),
    work(11, "Zoe Zorn", "", passages=PAGES, subject="math.AT"),
)


def asked(intents: Any = None, **more: Any) -> tuple[Counter[str], Counter[str], Counter[str], Any]:
    """How often authors, venues and works are in a pack, and the pack."""
    with open_index(":memory:", model="hash", profile="works", intents=intents) as index:
        index.works.add(*WORKS)
        pack = index.retrieve("cohomology of stacks", budget=20_000, **more).evidence
    works = {item.key: item for item in pack.items}
    return (
        Counter(name for item in works.values() for name in item.authors),
        Counter(item.venue for item in works.values() if item.venue),
        Counter(item.key for item in pack.items),
        pack,
    )


class TestCaps:
    def test_as_they_are_by_default(self) -> None:
        authors, venues, passages, pack = asked()
        packing = INTENTS["generic"].packing
        assert authors["Ann Able"] == packing.per_author
        assert max(venues.values()) <= packing.per_venue
        assert max(passages.values()) == packing.per_work
        assert len(passages) >= packing.least_works
        assert "repeated authors or venues were left out" in " ".join(pack.notes)

    @pytest.mark.parametrize("most", [1, 2, 4])
    def test_of_an_author(self, most: int) -> None:
        authors, _, _, _ = asked({"generic": {"per_author": most}})
        assert authors["Ann Able"] == most

    @pytest.mark.parametrize("most", [2, 3])
    def test_of_a_venue(self, most: int) -> None:
        _, venues, _, _ = asked({"generic": {"per_venue": most, "per_author": 9}})
        assert venues == {"Annals": most, "Bulletin": most}

    @pytest.mark.parametrize("most", [1, 3])
    def test_of_a_work(self, most: int) -> None:
        _, _, passages, _ = asked({"generic": {"per_work": most}})
        assert max(passages.values()) == most

    def test_are_lifted_rather_than_giving_too_few_works(self) -> None:
        authors, _, passages, pack = asked({"survey": {"per_author": 1, "least_works": 9}}, mode="survey")
        assert len(passages) == 9
        assert authors["Ann Able"] > 1
        assert "there were too few others" in " ".join(pack.notes)

    def test_a_broad_question_is_spread_over_subjects(self) -> None:
        _, _, _, pack = asked(mode="survey")
        assert len({item.key for item in pack.items[:2]} & {"program:doi:10.1/11", "doi:10.1/11"}) == 1


class TestWeights:
    def test_are_those_that_were_asked_for(self) -> None:
        changes = {"prereq": {"lexical": 0, "semantic": 0, "citation": 1, "authority": 3, "field_match": 0}}
        with open_index(":memory:", model="hash", profile="works", intents=changes) as index:
            index.works.add(*WORKS)
            found = index.retrieve("cohomology of stacks", mode="prereq")
            other = index.retrieve("cohomology of stacks", mode="survey")
        assert retrieval_json(found)["diagnostics"]["weights"] == {
            "lexical": 0, "semantic": 0, "citation": 0.25, "field_match": 0, "freshness": 0, "authority": 0.75
        }  # fmt: skip
        assert found.reranked[0].title == "Cohomology of stacks, part 0"
        assert other.asked.intent == INTENTS["survey"]

    def test_hold_for_every_user(self) -> None:
        from rifflux.types import Scope

        with open_index(":memory:", model="hash", intents={"generic": {"follow": []}}) as index:
            scoped: Index = index.scoped(Scope("ann"))
            assert scoped.retrieve.intents["generic"].follow == ()

    def test_come_from_the_settings(self, tmp_path: Any, run: Any) -> None:
        (tmp_path / ".rifflux").mkdir()
        (tmp_path / ".rifflux" / "config.toml").write_text("[intents.generic]\nauthority = 1\nper_author = 1\n")
        with open_index(tmp_path / ".rifflux" / "index.db", model="hash", profile="works") as index:
            index.works.add(*WORKS)
        found = run.json("retrieve", "cohomology of stacks")
        assert found["diagnostics"]["weights"]["authority"] == pytest.approx(1 / 2.25)
        assert "intents" in run("config").stdout
        told = run.json("retrieve", "cohomology of stacks", RIFFLUX_INTENTS='{"generic": {"authority": 0}}')
        assert told["diagnostics"]["weights"]["authority"] == 0

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"psychic": {}}, "no intent 'psychic'; choose from generic, keywords, lookup"),
            ({"survey": 3}, "intents.survey must be a table"),
            ({"survey": {"fame": 1}}, "intents.survey: no setting 'fame'; choose from lexical"),
            ({"survey": {"citation": -1}}, "intents.survey.citation must be a weight, a number of 0 or more, not -1"),
            ({"survey": {"citation": "much"}}, "not 'much'"),
            ({"survey": {"citation": True}}, "not True"),
            ({"survey": {"citation": float("nan")}}, "not nan"),
            ({"survey": {"per_author": 0}}, "per_author must be a whole number of 1 or more, not 0"),
            ({"survey": {"per_work": 1.5}}, "not 1.5"),
            ({"survey": {"spread": 1}}, "spread must be true or false"),
            ({"survey": {"follow": ["up"]}}, "'out' (what is cited)"),
            ({"lookup": dict.fromkeys(("lexical", "semantic", "field_match", "authority"), 0)}, "all weights are 0"),
        ],
    )
    def test_that_cannot_be_meant_are_refused_with_their_place(self, changes: Any, told: str) -> None:
        with pytest.raises(InvalidArgument) as refused:
            adjusted(changes)
        assert told in str(refused.value)
        with pytest.raises(InvalidArgument):
            open_index(":memory:", intents=changes)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ('{"survey": {"fame": 1}}', "RIFFLUX_INTENTS: intents.survey: no setting 'fame'"),
            ("survey", "RIFFLUX_INTENTS must be a table"),
            ("[1]", "RIFFLUX_INTENTS: intents must be a table"),
        ],
    )
    def test_of_a_wrong_variable_are_refused(
        self, text: str, told: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InvalidArgument) as refused:
            load({"RIFFLUX_INTENTS": text, "XDG_CONFIG_HOME": str(tmp_path)})
        assert told in str(refused.value)
