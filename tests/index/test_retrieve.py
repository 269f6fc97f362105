"""Retrieval of works: intents, citations, scores that add up, evidence that can be checked, licences that hold."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.index import open_index
from rifflux.retrieve.works.cited import Cited
from rifflux.retrieve.works.intent import INTENTS, asked_for
from rifflux.retrieve.works.pack import digest
from rifflux.retrieve.works.verify import verify
from rifflux.scholar import ScholarSettings
from rifflux.surfaces.evidence import pack_json, read_pack
from rifflux.text.analyser import analyser
from rifflux.types import Identifier, Link, Tag
from rifflux.works import Passage, Work

SECRET = "zyzzyva"


def work(key, title, abstract, *, cites=(), year=1990, authors=("Ann Able",), licence="CC-BY-4.0", **more):
    return Work(
        title,
        abstract,
        authors=authors,
        year=year,
        identifiers=(Identifier("doi", f"10.1/{key}"),),
        citations=tuple(Link(f"doi:10.1/{each}") for each in cites),
        licence=licence,
        **more,
    )


WORKS = (
    work("sheaves", "Sheaf cohomology", "Sheaf cohomology of spaces by resolutions.", cites=("tohoku",), year=2010,
         tags=(Tag("arxiv", "math.AG"),)),
    work("tohoku", "Sur quelques points", "Abelian categories and derived functors.", year=1957, authors=("Alex G.",)),
    work("etale", "Etale cohomology", "Etale cohomology of schemes and its finiteness.", cites=("tohoku", "sheaves"),
         year=2015, authors=("Bob Best",), tags=(Tag("arxiv", "math.AG"),)),
    work("sorting", "Sorting by heaps", "Heapsort and quicksort compared on keys.", authors=("Cy Cole",)),
    work("closed", "Closed cohomology notes", f"Cohomology of closed things, a {SECRET} text.", licence=None,
         authors=("Di Dale",), tags=(Tag("term", SECRET),),
         passages=(Passage(f"More of the {SECRET}.", "section", (f"{SECRET} heading",)),)),
)  # fmt: skip


@pytest.fixture(scope="module")
def index():
    with open_index(":memory:", model="hash", profile="works") as index:
        report = index.works.add(*WORKS)
        assert report.added == len(WORKS)
        yield index


def titles(hits):
    return [hit.title for hit in hits]


class TestIntents:
    @pytest.mark.parametrize(
        ("text", "intent"),
        [
            ("Theorem 3.2 of Hartshorne", "lookup"),
            ("the paper by Noether on rings", "lookup"),
            ("foundational references for sheaf theory", "survey"),
            ("survey of spectral sequences", "survey"),
            ("quicksort versus heapsort", "compare"),
            ("difference between flat and projective modules", "compare"),
            ("what to read before studying stacks", "prereq"),
            ("prerequisites for algebraic geometry", "prereq"),
            ("papers similar to Sheaf cohomology", "related"),
            ("finiteness of etale cohomology", "generic"),
            ("etale cohomology finiteness", "keywords"),
            ("42", "generic"),
        ],
    )
    def test_rules(self, text, intent):
        asked = asked_for(text)
        assert asked.intent.name == intent
        assert asked.reason

    def test_which_words_make_a_sentence_depends_on_the_language(self):
        for language, intent in (("english", "keywords"), ("german", "generic")):
            assert asked_for("Garben auf Schemata", analyser=analyser(language)).intent.name == intent

    def test_a_mode_overrides_and_must_exist(self):
        assert asked_for("quicksort versus heapsort", "survey").intent.name == "survey"
        with pytest.raises(InvalidArgument, match="prereq"):
            asked_for("x", "psychic")

    def test_foundational_wording_forgets_age_and_weighs_citations(self):
        plain, leaning = (
            asked_for(text).intent.weights for text in ("survey of sheaves", "foundational survey of sheaves")
        )
        assert leaning.freshness == 0 < leaning.citation
        assert leaning.citation + leaning.authority > plain.citation + plain.authority

    def test_both_sides_are_told_apart(self):
        assert asked_for("difference between flat modules and projective modules").sides == (
            "flat modules", "projective modules"
        )  # fmt: skip
        assert asked_for("quicksort vs. heapsort").sides == ("quicksort", "heapsort")
        assert asked_for("compare").sides == ()

    def test_weights_of_every_intent_are_shares(self):
        for intent in INTENTS.values():
            assert sum(intent.weights.shares().values()) == pytest.approx(1.0)


class TestRanking:
    def test_what_the_best_cite_becomes_a_candidate(self, index):
        found = index.retrieve("sheaf cohomology of spaces", mode="prereq")
        assert "Sur quelques points" in titles(found.reranked)
        assert found.trace.counts["cited"] >= 1

    def test_scores_are_the_sum_of_what_is_shown(self, index):
        for hit in index.retrieve("cohomology").reranked:
            parts = dict(hit.because("works").detail)
            values = parts.pop("values")
            assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-9)
            assert set(parts) == {"lexical", "semantic", "citation", "field_match", "freshness", "authority"}
            assert values.keys() == parts.keys()
            assert all(0 <= value <= 1 for value in values.values())
            shares = INTENTS["keywords"].weights.shares()
            assert parts == pytest.approx({name: shares[name] * value for name, value in values.items()})

    def test_a_subject_that_is_the_question_counts_in_full(self):
        known = {"whole": "adequate functors", "part": "adequate functors of finite type", "none": "sheaves"}
        works = [
            Work(
                f"Paper {name}",
                "On the functors that are adequate.",
                licence="CC0-1.0",
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

    def test_codes_that_the_best_share_count_a_quarter(self, index):
        found = {hit.title: hit.because("works").detail["field_match"] for hit in index.retrieve("cohomology").reranked}
        weight = INTENTS["keywords"].weights.shares()["field_match"]
        assert found["Etale cohomology"] == found["Sheaf cohomology"] == pytest.approx(weight / 4)
        assert found["Closed cohomology notes"] == 0

    def test_each_work_comes_once_and_always_in_the_same_order(self, index):
        first, second = (index.retrieve("cohomology of closed things") for _ in range(2))
        assert len(set(titles(first.reranked))) == len(first.reranked)
        assert first.reranked == second.reranked
        assert first.evidence == second.evidence

    def test_filters_hold_for_what_is_cited_too(self, index):
        late = index.retrieve("cohomology", date_range=("2000", None))
        assert set(titles(late.reranked)) == {"Sheaf cohomology", "Etale cohomology"}
        tagged = index.retrieve("cohomology", subjects=["math.AG"])
        assert set(titles(tagged.reranked)) == {"Sheaf cohomology", "Etale cohomology"}
        assert index.retrieve("cohomology", subjects=["arxiv:math.AG"]).reranked == tagged.reranked
        assert index.retrieve("cohomology", sources=["nowhere"]).reranked == ()

    def test_a_comparison_finds_both_sides(self, index):
        found = index.retrieve("heapsort versus etale cohomology")
        assert set(titles(found.reranked[:2])) == {"Sorting by heaps", "Etale cohomology"}

    def test_a_citation_graph_that_hangs_costs_its_own_time_only(self, index):
        class Hanging(type(index.store)):
            def linked(self, ids, *, incoming=False):
                import time

                time.sleep(1)
                return []

        store = index.store.of("")
        store.__class__ = Hanging
        slow = replace(index.retrieve, cited=Cited(store), settings=ScholarSettings(expansion_ms=20))
        found = slow("sheaf cohomology")
        assert found.reranked[0].title == "Sheaf cohomology"
        assert any("citations were not followed" in reason for reason in found.trace.degraded)

    def test_a_late_score_leaves_the_merged_order(self, index):
        late = replace(index.retrieve, settings=ScholarSettings(rerank_ms=1e-6))
        found = late("sheaf cohomology")
        assert found.reranked[0].title == "Sheaf cohomology"
        assert any("merged order" in reason for reason in found.trace.degraded)


@pytest.mark.parametrize("profile", ["files", "works"])
def test_a_question_is_read_as_the_index_was(profile):
    with open_index(":memory:", model="hash", profile=profile) as index:
        index.works.add(Work("On things", "Of α-stable things.", licence="CC0-1.0"))
        found = index.retrieve("α")
        assert found.trace.counts["lexical"] == 1


class TestEvidence:
    def test_every_passage_can_be_checked(self, index):
        pack = index.retrieve("etale cohomology").evidence
        assert verify(pack, index.store) == []
        assert read_pack(json.dumps(pack_json(pack))) == pack
        item = next(item for item in pack.items if item.text)
        for wrong in (replace(item, text=item.text + "x"), replace(item, hash="0" * 64), replace(item, key="none")):
            broken = replace(pack, items=tuple(wrong if each is item else each for each in pack.items))
            assert verify(broken, index.store)

    def test_what_is_named_exactly_is_in_the_pack(self, index):
        pack = index.retrieve("Sorting by heaps").evidence
        assert pack.items[0].title == "Sorting by heaps"
        assert pack.items[0].exact
        assert pack.items[0].citation_key == "cole1990sorting"

    @pytest.mark.parametrize("style", ["bibtex", "csl"])
    def test_cited_works_come_as_a_bibliography_where_it_is_asked_for(self, index, style):
        plain, cited = (index.retrieve("etale cohomology", cite=each).evidence for each in ("", style))
        assert plain.bibliography == {}
        assert set(cited.bibliography) == {item.citation_key for item in cited.items}
        assert replace(cited, bibliography={}) == plain
        assert read_pack(json.dumps(pack_json(cited))) == cited
        entry = str(cited.bibliography["best2015etale"])
        assert "Etale cohomology" in entry
        assert "10.1/etale" in entry
        assert SECRET not in str(cited.bibliography)

    def test_a_bibliography_in_no_known_format_is_refused(self, index):
        with pytest.raises(InvalidArgument, match="bibtex or csl"):
            index.retrieve("cohomology", cite="endnote")

    def test_a_question_without_answer_is_uncertain(self, index):
        assert index.retrieve("xylophone maintenance in winter").evidence.uncertain

    @settings(max_examples=30, deadline=None)
    @given(budget=st.integers(1, 60), per_author=st.integers(1, 3))
    def test_a_pack_never_exceeds_its_budget(self, index, budget, per_author):
        found = index.retrieve("cohomology", budget=budget)
        assert found.evidence.tokens <= budget
        assert sum(bool(item.text) for item in found.evidence.items) <= budget

    def test_a_work_that_is_all_title_can_be_checked(self):
        with open_index(":memory:", model="hash", profile="works") as index:
            index.works.add(work("bare", "A lonely title", ""), work("full", "Another title", "With a text."))
            found = index.retrieve("lonely title")
            assert verify(found.evidence, index.store) == []
            assert found.evidence.items[0].text == ""

    @pytest.mark.parametrize("style", ["bibtex", "csl"])
    @pytest.mark.parametrize(
        ("change", "offline", "told"),
        [
            ({"span": (0, 3)}, True, "the span 0-3 is not that of its 47 characters"),
            ({"span": (-47, 0)}, True, "the span -47-0"),
            ({"citation_key": "forged"}, True, "its citation key should be best2015etale"),
            ({"title": "Forged"}, True, "its citation key should be best2015forged"),
            ({"number": 9}, True, "not numbered from 1"),
            ({"text": "x", "hash": digest("x"), "span": (0, 1)}, False, "the work says something else at 0-1"),
            ({"text": "", "hash": "", "span": (0, 0), "withheld": True}, False, "a licence is recorded"),
            ({"licence": "CC0-1.0", "venue": "Forged"}, False, "tells otherwise of the work's venue, licence"),
            ({"authors": ("Bob Best", "Ann Able")}, False, "otherwise of the work's authors"),
            ({"identifiers": ("doi:10.9/forged",)}, False, "otherwise of the work's identifiers"),
            ({"chunk_id": "0" * 16}, False, "the chunk 0000000000000000 is not one of the work's"),
            ({"heading_path": "Forged"}, False, "it stands elsewhere in the work"),
        ],
    )
    def test_what_was_changed_is_told(self, index, style, change, offline, told):
        pack = index.retrieve("Etale cohomology", cite=style).evidence
        assert verify(pack, index.store) == verify(pack) == []
        changed = replace(pack, items=(replace(pack.items[0], **change), *pack.items[1:]))
        changed = read_pack(json.dumps(pack_json(changed)))
        assert any(told in problem for problem in verify(changed, index.store))
        assert any(told in problem for problem in verify(changed)) == offline

    @pytest.mark.parametrize("style", ["bibtex", "csl"])
    def test_a_changed_bibliography_or_missing_items_are_told(self, index, style):
        pack = index.retrieve("Etale cohomology", cite=style).evidence
        (key, *_), entry = pack.bibliography, pack.bibliography["best2015etale"]
        forged = entry.replace("Bob", "Rob") if style == "bibtex" else entry | {"title": "Forged"}
        for entries, problem in (
            ({key: forged}, f"the entry of {key} in the bibliography"),
            ({"forged": entry}, "the bibliography holds forged, which nothing cites"),
        ):
            assert problem in verify(replace(pack, bibliography=entries), index.store)[0]
        assert "items are missing" in verify(replace(pack, items=(), bibliography={}))[0]
        empty = index.retrieve("cohomology", sources=["nowhere"]).evidence
        assert verify(empty, index.store) == []

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("text", None), ("text", 3), ("span", [0]), ("span", ["a", "b"]), ("span", [0.5, 1]), ("key", None),
            ("authors", "Ann"), ("authors", [1]), ("number", True), ("licence", 3), ("components", []), ("year", "x"),
            ("withheld", "no"), ("hash", None),
        ],
    )  # fmt: skip
    def test_values_that_cannot_be_are_refused_with_their_place(self, index, name, value):
        told = pack_json(index.retrieve("etale cohomology").evidence)
        told["items"][0][name] = value
        with pytest.raises(InvalidArgument, match=f"this is no evidence pack: the '{name}' of item 1 cannot be"):
            read_pack(json.dumps(told))

    def test_a_pack_that_is_none_is_refused(self):
        for text in (
            "[" * 100_000,
            '{"query": "\\ud800"}',
            "",
            "[]",
            "{}",
            '{"items": [{}]}',
            '{"items": {}}',
            '{"items": [3]}',
            "3",
            "no json",
        ):
            with pytest.raises(InvalidArgument, match="no evidence pack"):
                read_pack(text)
