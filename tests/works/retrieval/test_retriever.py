"""Retrieval of works: intents, citations, scores that add up, evidence that can be checked, licenses that hold."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux import Index
from rifflux.errors import Cure, InvalidArgument
from rifflux.evidence.pack import digest
from rifflux.index import open_index
from rifflux.surfaces.shared.packs import read_pack, retrieval_json
from rifflux.types import Hit, Identifier, Link, Tag
from rifflux.types.nouns import noun_json
from rifflux.works import Passage, Work
from rifflux.works.export import verify
from rifflux.works.intent.intents import INTENTS, MODES
from rifflux.works.retrieval.stages import NO_CITATIONS_FOLLOWED, NO_SCORES, RetrievalSettings
from tests.support.exploring import examples

SECRET = "zyzzyva"


#: What questions may be put together from.
PIECES = (
    *("papers similar to", "versus", "compare", "and", "for", "before reading", "by Serre", "Sheaf cohomology", "tag"),
    *("doi:10.1/etale", "doi:", "10.1/", "authors:", "year:1", "-x", '"', ":", "\ud800", "\ud8001a"),
)


def work(
    key: str,
    title: str,
    abstract: str,
    *,
    cites: Iterable[str] = (),
    year: int = 1990,
    authors: tuple[str, ...] = ("Ann Able",),
    license: str | None = "CC-BY-4.0",
    **more: Any,
) -> Work:
    return Work(
        title,
        abstract,
        authors=authors,
        year=year,
        identifiers=(Identifier("doi", f"10.1/{key}"),),
        citations=tuple(Link(f"doi:10.1/{each}") for each in cites),
        license=license,
        **more,
    )


WORKS = (
    work("sheaves", "Sheaf cohomology", "Sheaf cohomology of spaces by resolutions.", cites=("tohoku",), year=2010,
         tags=(Tag("arxiv", "math.AG"),)),
    work("tohoku", "Sur quelques points", "Abelian categories and derived functors.", year=1957, authors=("Alex G.",)),
    work("etale", "Etale cohomology", "Etale cohomology of schemes and its finiteness.", cites=("tohoku", "sheaves"),
         year=2015, authors=("Bob Best",), tags=(Tag("arxiv", "math.AG"),)),
    work("sorting", "Sorting by heaps", "Heapsort and quicksort compared on keys.", authors=("Cy Cole",)),
    work("closed", "Closed cohomology notes", f"Cohomology of closed things, a {SECRET} text.", license=None,
         authors=("Di Dale",), tags=(Tag("term", SECRET),),
         passages=(Passage(f"More of the {SECRET}.", "section", (f"{SECRET} heading",)),)),
)  # fmt: skip


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with open_index(":memory:", model="hash", profile="works") as index:
        report = index.works.add(*WORKS)
        assert report.added == len(WORKS)
        yield index


def titles(hits: Iterable[Hit]) -> list[str]:
    return [hit.title for hit in hits]


class TestRanking:
    def test_what_the_best_cite_becomes_a_candidate(self, index: Index) -> None:
        found = index.retrieve("sheaf cohomology of spaces", mode="prereq")
        assert "Sur quelques points" in titles(found.reranked)
        assert found.trace.counts["cited"] >= 1

    def test_scores_are_the_sum_of_what_is_shown(self, index: Index) -> None:
        for hit in index.retrieve("cohomology").reranked:
            parts = dict(hit.because("works").detail)
            values = parts.pop("values")
            assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-9)
            assert set(parts) == {"lexical", "semantic", "citation", "field_match", "freshness", "authority"}
            assert values.keys() == parts.keys()
            assert all(0 <= value <= 1 for value in values.values())
            shares = INTENTS["keywords"].weights.shares()
            assert parts == pytest.approx({name: shares[name] * value for name, value in values.items()})

    def test_components_are_told_before_and_after_weighing(self, index: Index) -> None:
        found = index.retrieve("cohomology")
        weights = found.decision.intent.weights.shares()
        for told in retrieval_json(found)["reranked"]:
            assert told["components"] == pytest.approx({name: weights[name] * told["values"][name] for name in weights})
            assert told["values"]["freshness"] > 0

    def test_no_component_speaks_of_what_is_not_told(self, index: Index) -> None:
        index.policies.set("facts", "nobody")
        for told in retrieval_json(index.retrieve("cohomology"))["reranked"]:
            assert (told["values"]["freshness"] == told["values"]["authority"] == 0) == told["withheld"]

    def test_a_long_title_is_a_name_and_a_short_one_a_subject(self) -> None:
        titles = ("The cohomology of closed manifolds", "Sheaf cohomology")
        with open_index(":memory:", model="hash", profile="works") as index:
            index.works.add(*(Work(title, "On things.", license="CC0-1.0") for title in titles))
            whole, subject = (index.retrieve(title).decision for title in titles)
        assert whole.intent.name == "lookup"
        assert "the name of a work here: The cohomology of closed manifolds" in whole.reason
        assert subject.intent.name == "keywords"

    def test_a_subject_that_is_the_question_counts_in_full(self) -> None:
        known = {"whole": "adequate functors", "part": "adequate functors of finite type", "none": "sheaves"}
        works = [
            Work(
                f"Paper {name}",
                "On the functors that are adequate.",
                license="CC0-1.0",
                tags=(Tag("keyword", subject),),
            )
            for name, subject in known.items()
        ]
        with open_index(":memory:", model="hash", profile="works") as index:
            index.works.add(*works)
            hits = {
                hit.title: hit.because("works").detail["field_match"]
                for hit in index.retrieve("adequate functor").reranked
            }
        weight = INTENTS["keywords"].weights.shares()["field_match"]
        assert hits["Paper whole"] == pytest.approx(weight)
        assert 0 < hits["Paper part"] < hits["Paper whole"]
        assert hits["Paper none"] == 0

    def test_codes_that_the_best_share_count_a_quarter(self, index: Index) -> None:
        found = {hit.title: hit.because("works").detail["field_match"] for hit in index.retrieve("cohomology").reranked}
        weight = INTENTS["keywords"].weights.shares()["field_match"]
        assert found["Etale cohomology"] == found["Sheaf cohomology"] == pytest.approx(weight / 4)
        assert found["Closed cohomology notes"] == 0

    def test_each_work_comes_once_and_always_in_the_same_order(self, index: Index) -> None:
        first, second = (index.retrieve("cohomology of closed things") for _ in range(2))
        assert len(set(titles(first.reranked))) == len(first.reranked)
        assert first.reranked == second.reranked
        assert first.evidence == second.evidence

    def test_filters_hold_for_what_is_cited_too(self, index: Index) -> None:
        late = index.retrieve("cohomology", filter={"since": "2000"})
        assert set(titles(late.reranked)) == {"Sheaf cohomology", "Etale cohomology"}
        tagged = index.retrieve("cohomology", filter={"subjects": ["math.AG"]})
        assert set(titles(tagged.reranked)) == {"Sheaf cohomology", "Etale cohomology"}
        assert index.retrieve("cohomology", filter={"subjects": ["arxiv:math.AG"]}).reranked == tagged.reranked
        assert index.retrieve("cohomology", filter={"sources": ["nowhere"]}).reranked == ()

    def test_a_comparison_finds_both_sides(self, index: Index) -> None:
        found = index.retrieve("heapsort versus etale cohomology")
        assert set(titles(found.reranked[:2])) == {"Sorting by heaps", "Etale cohomology"}
        sides = [index.retrieve(side).trace for side in found.decision.sides]
        for channel in ("lexical", "semantic", "fused"):
            assert found.trace.counts[channel] == sum(side.counts[channel] for side in sides)
        assert found.trace.understanding.kind == index.classify("heapsort versus etale cohomology").kind

    def test_what_a_question_leaves_out_is_left_out_of_what_is_cited_too(self, index: Index) -> None:
        def asked(limits: str) -> list[str]:
            return titles(index.retrieve(f"resolutions {limits}").reranked)

        assert "Sur quelques points" in asked("")
        assert "Sur quelques points" not in asked("-derived")
        assert set(asked('authors:"Bob Best"')) == {"Etale cohomology"}
        assert set(asked("year:2015")) == {"Etale cohomology"}
        sides = index.retrieve("spaces versus schemes year:2015 -heapsort")
        assert titles(sides.reranked) == ["Etale cohomology"]
        assert sides.decision.sides == ("spaces", "schemes")

    @pytest.mark.parametrize("name", ["doi:10.1/sheaves", "Sheaf cohomology", '"Sheaf cohomology"'])
    def test_a_named_work_is_what_is_looked_for_and_no_answer(self, index: Index, name: str) -> None:
        found = index.retrieve(f"papers similar to {name}")
        assert "Sheaf cohomology" not in titles([*found.reranked, *found.candidates])
        assert titles(found.reranked)[0] == "Etale cohomology"
        assert any("Sheaf cohomology" in note.text and "left out" in note.text for note in found.trace.notes)

    def test_prerequisites_of_a_work_are_what_it_cites(self, index: Index) -> None:
        for asked in (
            index.retrieve("what to read before studying doi:10.1/etale"),
            index.retrieve("Etale cohomology", mode="prereq"),
        ):
            assert set(titles(asked.reranked[:2])) == {"Sheaf cohomology", "Sur quelques points"}
            assert asked.decision.intent.weights == INTENTS["prereq"].about
        nothing = index.retrieve("prerequisites for doi:10.1/sorting")
        assert any("no citations of it are known" in note.text for note in nothing.trace.notes)

    def test_a_work_without_license_can_be_asked_about_and_is_not_told(self, index: Index) -> None:
        found = index.retrieve("papers similar to doi:10.1/closed")
        assert titles(found.reranked)
        assert "Closed cohomology notes" in " ".join(note.text for note in found.trace.notes)
        assert SECRET not in str(found)

    def test_what_a_work_without_license_cites_is_not_told(self) -> None:
        cited, closed = work("a", "Apples", "On apples."), work("b", "Pears", "On pears.", cites=("a",), license=None)
        with open_index(":memory:", model="hash", profile="works") as index:
            index.works.add(cited, closed)
            assert titles(index.retrieve("what to read before doi:10.1/b").reranked) == ["Apples"]
            index.policies.set("facts", "nobody")
            found = index.retrieve("what to read before doi:10.1/b")
        assert all(hit.because("works").detail["values"]["citation"] == 0 for hit in found.reranked)
        assert any("no license permits to tell its citations" in note.text for note in found.trace.notes)

    def test_a_work_that_is_looked_up_by_its_identifier_comes_first(self, index: Index) -> None:
        found = index.retrieve("doi:10.1/sorting")
        assert found.decision.intent.name == "lookup"
        assert titles(found.reranked)[0] == "Sorting by heaps"
        assert found.reranked[0].because("works").detail["values"]["lexical"] == 1
        assert found.reranked[0].relevance == 1
        assert not found.evidence.uncertain

    def test_notices_are_no_survey(self) -> None:
        with open_index(":memory:", model="hash", profile="works") as index:
            index.works.add(work("a", "Parsing", "On parsing."), work("b", "Erratum", "On parsing.", kind="erratum"))
            assert titles(index.retrieve("parsing", mode="survey").reranked) == ["Parsing"]
            trace = index.retrieve("parsing", mode="survey").trace
            assert trace.dropped["kind"] == 1
            assert any("left out for their kind: 1 passages" in note.text for note in trace.notes)
            assert set(titles(index.retrieve("parsing").reranked)) == {"Parsing", "Erratum"}
        with open_index(":memory:", model="hash", profile="works", intents={"survey": {"not_kinds": []}}) as index:
            index.works.add(work("b", "Erratum", "On parsing.", kind="erratum"))
            assert titles(index.retrieve("parsing", mode="survey").reranked) == ["Erratum"]

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"filter": {"since": 1970}}, "since"),
            ({"filter": {"since": "the seventies"}}, "seventies"),
            ({"filter": {"since": "1990", "until": "1980"}}, "from 1990 to 1980: give the earlier one first"),
            ({"max_tokens": "100"}, "whole number from 1 to 100000, not '100'"),
            ({"max_tokens": True}, "not True"),
            ({"filter": {"subjects": [1]}}, "'subjects' must be a string or a sequence of strings"),
            ({"filter": {"sources": [""]}}, "'sources' contains an empty name"),
            ({"cite": ["bibtex"]}, "choose one of bibtex, csl"),
            ({"filter": {"tags": "math.AG"}}, "no filter 'tags' of works; choose from since, until"),
            ({"filter": "math.AG"}, "filter must be a mapping"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, index: Index, wrong: dict[str, Any], told: str) -> None:
        with pytest.raises(InvalidArgument, match=re.escape(told)):
            index.retrieve("cohomology", **wrong)

    def test_subjects_are_compared_without_case_and_unknown_ones_are_told(self, index: Index) -> None:
        wanted = index.retrieve("cohomology", filter={"subjects": ["math.AG"]})
        for spelt in ("MATH.ag", "arXiv:math.AG", ["ARXIV:math.ag"]):
            assert index.retrieve("cohomology", filter={"subjects": spelt}).reranked == wanted.reranked
        nothing = {"subjects": None, "sources": None, "since": None, "until": None}
        assert index.retrieve("cohomology", filter=nothing).reranked
        found = index.retrieve("cohomology", filter={"subjects": ["math.AG", "math.XX"], "sources": "nowhere"})
        notes = [note.text for note in found.trace.notes]
        assert {"no work here has the subject 'math.XX'", "no work here is from a source 'nowhere'"} <= set(notes)
        assert not any("'math.AG'" in note for note in notes)

    @examples(60)
    @given(words=st.lists(st.sampled_from(PIECES), min_size=1, max_size=7), mode=st.sampled_from([None, *MODES]))
    def test_no_question_is_an_error(self, index: Index, words: list[str], mode: str | None) -> None:
        assert index.retrieve(" ".join(words), mode=mode).decision.intent.name in INTENTS


class TestStages:
    """A stage that hangs or fails costs its own time only, and is named."""

    @pytest.fixture
    def own(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
        """An index whose graph of citations does what `does` says, when it is asked by the named method."""
        with open_index(":memory:", model="hash", profile="works") as index:
            index.works.add(*WORKS)

            def broken(method: str, does: Callable[[], object]) -> Any:
                def instead(self: object, *_: Any, **__: Any) -> Any:
                    return does()

                monkeypatch.setattr(type(index.admin.store.catalog), method, instead)
                return index

            yield broken

    STAGES = (("linked", NO_CITATIONS_FOLLOWED, "works"), ("citations", NO_SCORES, None))

    @pytest.mark.parametrize(("method", "code", "reranker"), STAGES)
    def test_that_hangs(self, own: Any, method: str, code: str, reranker: str | None) -> None:
        ended = threading.Event()
        index = own(method, ended.wait)
        quick = RetrievalSettings(expansion_ms=20, rerank_ms=20)
        if reranker:
            quick = replace(quick, rerank_ms=5_000)
        try:
            reasons = []
            for _ in range(6):
                # Each request asks anew, as a service does: what hangs is counted over all of them.
                found = replace(index.retrieve, settings=quick)("sheaf cohomology")
                assert found.reranked[0].title == "Sheaf cohomology"
                assert found.trace.reranker == reranker
                reasons += [notice.text for notice in found.trace.degraded if notice.code == code]
                assert set(found.trace.degraded) <= set(found.evidence.notes)
            assert ["not finish in time" in reason for reason in reasons] == [True] * 4 + [False] * 2
            assert "still busy with 4 earlier requests" in reasons[-1]
            scoped = replace(index.using(index.profile).retrieve, settings=quick)
            assert any("still busy" in reason.text for reason in scoped("sheaf cohomology").trace.degraded)
        finally:
            ended.set()

    @pytest.mark.parametrize(("method", "code", "reranker"), STAGES)
    def test_that_fails(self, own: Any, method: str, code: str, reranker: str | None) -> None:
        def fails() -> None:
            raise ZeroDivisionError(SECRET)

        found = own(method, fails).retrieve("sheaf cohomology")
        assert found.reranked[0].title == "Sheaf cohomology"
        assert found.trace.reranker == reranker
        (reason,) = [notice for notice in found.trace.degraded if notice.code == code]
        assert "ZeroDivisionError" in reason.text
        assert SECRET not in str(found)
        assert reason in found.evidence.notes


@pytest.mark.parametrize("profile", ["files", "works"])
def test_a_question_is_read_as_the_index_was(profile: str) -> None:
    with open_index(":memory:", model="hash", profile=profile) as index:
        index.works.add(Work("On things", "Of α-stable things.", license="CC0-1.0"))
        found = index.retrieve("α")
        assert found.trace.counts["lexical"] == 1


@pytest.mark.parametrize("text", [None, "Sheaf cohomology of spaces."])
def test_an_index_without_works_names_the_cure(text: str | None) -> None:
    with open_index(":memory:", model="hash") as index:
        if text:
            index.add([{"key": "note", "text": text}])
        notices = {notice.code: notice for notice in index.retrieve("sheaf cohomology").trace.notes}
        assert notices["works.none"].cure == Cure.IMPORT_WORKS
        index.works.add(*WORKS[:1])
        assert "works.none" not in {notice.code for notice in index.retrieve("sheaf cohomology").trace.notes}


class TestEvidence:
    def test_every_passage_can_be_checked(self, index: Index) -> None:
        pack = index.retrieve("etale cohomology").evidence
        assert verify(pack, index.admin.store) == []
        assert read_pack(json.dumps(noun_json(pack))) == pack
        item = next(item for item in pack.items if item.text)
        for wrong in (replace(item, text=item.text + "x"), replace(item, hash="0" * 64), replace(item, key="none")):
            broken = replace(pack, items=tuple(wrong if each is item else each for each in pack.items))
            assert verify(broken, index.admin.store)

    def test_what_is_named_exactly_is_in_the_pack(self, index: Index) -> None:
        pack = index.retrieve("Sorting by heaps").evidence
        assert pack.items[0].title == "Sorting by heaps"
        assert pack.items[0].exact
        assert pack.items[0].citation_key == "cole1990sorting"

    @pytest.mark.parametrize("style", ["bibtex", "csl"])
    def test_cited_works_come_as_a_bibliography_where_it_is_asked_for(self, index: Index, style: str) -> None:
        plain, cited = (index.retrieve("etale cohomology", cite=each).evidence for each in (None, style))
        assert plain.bibliography == {}
        assert set(cited.bibliography) == {item.citation_key for item in cited.items}
        assert replace(cited, bibliography={}) == plain
        assert read_pack(json.dumps(noun_json(cited))) == cited
        entry = str(cited.bibliography["best2015etale"])
        assert "Etale cohomology" in entry
        assert "10.1/etale" in entry
        assert SECRET not in str(cited.bibliography)

    def test_a_bibliography_in_no_known_format_is_refused(self, index: Index) -> None:
        with pytest.raises(InvalidArgument, match="bibtex, csl"):
            index.retrieve("cohomology", cite="endnote")

    def test_a_question_without_answer_is_uncertain(self, index: Index) -> None:
        assert index.retrieve("xylophone maintenance in winter").evidence.uncertain

    @examples(30)
    @given(budget=st.integers(1, 60))
    def test_a_pack_never_exceeds_its_budget(self, index: Index, budget: int) -> None:
        found = index.retrieve("cohomology", max_tokens=budget)
        assert found.evidence.tokens <= budget
        assert sum(bool(item.text) for item in found.evidence.items) <= budget

    def test_a_work_that_is_all_title_can_be_checked(self) -> None:
        with open_index(":memory:", model="hash", profile="works") as index:
            index.works.add(work("bare", "A lonely title", ""), work("full", "Another title", "With a text."))
            found = index.retrieve("lonely title")
            assert verify(found.evidence, index.admin.store) == []
            assert found.evidence.items[0].text == ""

    @pytest.mark.parametrize("style", ["bibtex", "csl"])
    @pytest.mark.parametrize(
        ("change", "offline", "told"),
        [
            ({"span": (0, 3)}, True, "the span 0-3 does not match its 47 characters"),
            ({"span": (-47, 0)}, True, "the span -47-0"),
            ({"citation_key": "forged"}, True, "its citation key should be best2015etale"),
            ({"title": "Forged"}, True, "its citation key should be best2015forged"),
            ({"number": 9}, True, "not numbered from 1"),
            ({"text": "x", "hash": digest("x"), "span": (0, 1)}, False, "the work has another text at 0-1"),
            ({"text": "", "hash": "", "span": (0, 0), "withheld": True}, False, "although a recorded license permits"),
            ({"license": "CC0-1.0", "venue": "Forged"}, False, "different values for the work's venue, license"),
            ({"authors": ("Bob Best", "Ann Able")}, False, "different values for the work's authors"),
            ({"identifiers": ("doi:10.9/forged",)}, False, "different values for the work's identifiers"),
            ({"chunk_id": "0" * 16}, False, "the chunk 0000000000000000 is not one of the work's"),
            ({"heading_path": "Forged"}, False, "it is elsewhere in the work"),
        ],
    )
    def test_what_was_changed_is_told(
        self, index: Index, style: str, change: dict[str, Any], offline: bool, told: str
    ) -> None:
        pack = index.retrieve("Etale cohomology", cite=style).evidence
        assert verify(pack, index.admin.store) == verify(pack) == []
        changed = replace(pack, items=(replace(pack.items[0], **change), *pack.items[1:]))
        changed = read_pack(json.dumps(noun_json(changed)))
        assert any(told in problem for problem in verify(changed, index.admin.store))
        assert any(told in problem for problem in verify(changed)) == offline

    @pytest.mark.parametrize("style", ["bibtex", "csl"])
    def test_a_changed_bibliography_or_missing_items_are_told(self, index: Index, style: str) -> None:
        pack = index.retrieve("Etale cohomology", cite=style).evidence
        (key, *_), entry = pack.bibliography, pack.bibliography["best2015etale"]
        forged = entry.replace("Bob", "Rob") if style == "bibtex" else entry | {"title": "Forged"}
        for entries, problem in (
            ({key: forged}, f"the entry of {key} in the bibliography"),
            ({"forged": entry}, "the bibliography contains forged, which nothing cites"),
        ):
            assert problem in verify(replace(pack, bibliography=entries), index.admin.store)[0]
        assert "items are missing" in verify(replace(pack, items=(), bibliography={}))[0]
        empty = index.retrieve("cohomology", filter={"sources": ["nowhere"]}).evidence
        assert verify(empty, index.admin.store) == []

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("text", None), ("text", 3), ("span", [0]), ("span", ["a", "b"]), ("span", [0.5, 1]), ("document", None),
            ("authors", "Ann"), ("authors", [1]), ("number", True), ("license", 3), ("components", []), ("year", "x"),
            ("withheld", "no"), ("hash", None),
        ],
    )  # fmt: skip
    def test_values_that_cannot_be_are_refused_with_their_place(self, index: Index, name: str, value: object) -> None:
        told = noun_json(index.retrieve("etale cohomology").evidence)
        told["items"][0][name] = value
        with pytest.raises(InvalidArgument, match=f"this is not an evidence pack: the '{name}' of item 1 cannot be"):
            read_pack(json.dumps(told))

    @pytest.mark.parametrize("item", [False, True], ids=["pack", "item"])
    @pytest.mark.parametrize("change", ["more", "fewer"])
    def test_a_pack_of_another_format_is_refused_with_the_cure(self, index: Index, item: bool, change: str) -> None:
        pack = noun_json(index.retrieve("etale cohomology").evidence)
        part = pack["items"][0] if item else pack
        if change == "more":
            part["grade"] = 1
        else:
            del part["relevance" if item else "min_relevance"]
        with pytest.raises(InvalidArgument, match=r"another format"):
            read_pack(json.dumps(pack))

    def test_a_pack_that_is_none_is_refused(self) -> None:
        for text in (
            "[" * 100_000,
            '{"query": "\\ud800"}',
            "",
            "[]",
            "{}",
            '{"items": {}}',
            '{"query": "", "items": 3}',
            "3",
            "no json",
        ):
            with pytest.raises(InvalidArgument, match="not an evidence pack"):
                read_pack(text)
