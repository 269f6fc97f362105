"""What an evidence pack holds, as an index is set up: caps by work, author and venue, weights of each intent."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.evidence.choose import fitted
from rifflux.evidence.pack import EvidencePack
from rifflux.index import Index, open_index
from rifflux.surfaces.shared.config import load
from rifflux.surfaces.shared.packs import retrieval_json
from rifflux.types import Identifier, Link, Tag
from rifflux.works import Passage, Work
from rifflux.works.export import verify
from rifflux.works.intent.intents import INTENTS, adjusted_intents

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
        license="CC-BY-4.0",
    )


#: Seven of one author in one venue, four of others in another venue, and one with many pages.
WORKS = (
    *(work(number, "Ann Able", "Annals") for number in range(7)),
    *(work(number, f"Author {'NOPQ'[number - 7]}", "Bulletin") for number in range(7, 11)),
    work(11, "Zoe Zorn", "", passages=PAGES, subject="math.AT"),
)


def codes(pack: EvidencePack) -> set[str]:
    """The codes of the notices of a pack."""
    return {notice.code for notice in pack.notes}


def asked(intents: Any = None, **more: Any) -> tuple[Counter[str], Counter[str], Counter[str], Any]:
    """How often authors, venues and works are in a pack, and the pack."""
    with open_index(":memory:", model="hash", profile="works", intents=intents) as index:
        index.works.add(*WORKS)
        pack = index.retrieve("cohomology of stacks", **{"max_tokens": 20_000, "top_k": 20} | more).evidence
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
        limits = INTENTS["generic"].limits
        assert authors["Ann Able"] == limits.caps["authors"]
        assert max(venues.values()) <= limits.caps["venues"]
        assert max(passages.values()) == limits.per_document
        assert len(passages) >= limits.least
        assert "evidence.groups_left_out" in codes(pack)

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
        assert "evidence.repeated_groups" in codes(pack)

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
        assert other.decision.intent == INTENTS["survey"]

    def test_hold_where_a_work_is_named_too(self) -> None:
        about = adjusted_intents({"prereq": {"citation": 2}})["prereq"].about
        plain = INTENTS["prereq"].about
        assert about
        assert plain
        assert (about["citation"], about["lexical"]) == (2, plain["lexical"])

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
            ({"survey": {"seeds": 0}}, "intents.survey.seeds must be a whole number of 1 or more, not 0"),
            ({"survey": {"neighbours": "few"}}, "intents.survey.neighbours must be a whole number"),
            ({"survey": {"not_kinds": "erratum"}}, "intents.survey.not_kinds must be a list of kinds of works"),
            ({"lookup": dict.fromkeys(("lexical", "semantic", "field_match", "authority"), 0)}, "all weights are 0"),
        ],
    )
    def test_that_cannot_be_meant_are_refused_with_their_place(self, changes: Any, told: str) -> None:
        with pytest.raises(InvalidArgument) as refused:
            adjusted_intents(changes)
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


def told(*works: Work, query: str = "sheaf cohomology", **more: Any) -> Any:
    """What is retrieved of some works, and problems with the evidence, which must be none."""
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(*works)
        found = index.retrieve(query, **more)
        assert verify(found.evidence, index.admin.store) == []
        assert verify(found.evidence) == []
    return found


def sheaf(number: int, abstract: str | None = None, **more: Any) -> Work:
    doi = Identifier("doi", f"10.1000/{number}")
    return Work(
        **{
            "title": f"Sheaf {number}",
            "abstract": f"Sheaf cohomology of kind {number}." if abstract is None else abstract,
            "identifiers": (doi,),
            "license": "CC-BY-4.0",
        }
        | more
    )


def long(number: int, words: int = 40) -> tuple[Passage, ...]:
    """Two passages about sheaves, which no other work has."""
    return tuple(
        Passage("Sheaf cohomology. " + " ".join(f"w{number}{part}{place}" for place in range(words)), headings=(part,))
        for part in "ab"
    )


def titles(pack: Any) -> list[str]:
    return list(dict.fromkeys(item.title for item in pack.items))


class TestBudget:
    WORKS = tuple(sheaf(number, passages=long(number), abstract="") for number in range(6))

    @pytest.mark.parametrize(("budget", "works"), [(20_000, 6), (1_500, 4), (400, 4), (170, 4), (90, 2), (45, 1)])
    def test_is_shared_by_the_works_that_there_must_be(self, budget: int, works: int) -> None:
        pack = told(*self.WORKS, max_tokens=budget).evidence
        assert len(titles(pack)) >= works
        assert pack.tokens <= budget
        if budget == 170:
            assert [each.data for each in pack.notes if each.code == "budget.cut"] == [{"passages": 4}]

    @given(
        sizes=st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=4), max_size=6),
        budget=st.integers(1, 120),
        least=st.integers(1, 5),
    )
    def test_is_never_exceeded_and_passages_keep_their_places(
        self, sizes: list[list[int]], budget: int, least: int
    ) -> None:
        works = [(f"t{number}", [" ".join(["w"] * size) for size in each]) for number, each in enumerate(sizes)]
        fit = fitted(works, lambda text: len(text.split()), budget, least)
        assert fit.tokens == sum(len(text.split()) + 1 for texts in fit.texts for text in texts.values()) <= budget
        for (_, texts), told in zip(works, fit.texts, strict=True):
            assert all(texts[place].startswith(text) for place, text in told.items())
            assert not told or min(told) == 0
        if budget >= sum(len(texts[0].split()) + 1 for _, texts in works[:least]):
            assert all(told[0] == texts[0] for (_, texts), told in zip(works[:least], fit.texts, strict=False))

    def test_cuts_what_is_named_rather_than_leaving_it_out(self) -> None:
        monads = Work("Monads", " ".join(f"monads{each}" for each in range(300)), license="CC0-1.0")
        others = [Work(f"On monads {each}", "A short text on monads.", license="CC0-1.0") for each in range(3)]
        pack = told(monads, *others, query="Monads", max_tokens=120).evidence
        (item,) = [item for item in pack.items if item.title == "Monads"]
        assert item.exact
        assert item.number == 1
        assert monads.abstract.startswith(item.text)
        assert item.span == (0, len(item.text))
        assert 0 < len(item.text) < len(monads.abstract)

    def test_counts_what_is_quoted_once(self) -> None:
        works = [sheaf(each, abstract=" ".join(f"sheaf cohomology w{each}n{n}" for n in range(99))) for each in (1, 2)]
        pack = told(*works, max_tokens=700, cite="bibtex").evidence
        assert all("abstract" not in entry for entry in pack.bibliography.values())
        assert len(pack.bibliography) == 2

    def test_asks_for_as_many_works_as_the_settings_do(self) -> None:
        changes = {"keywords": {"least_works": 12, "per_work": 1}}
        with open_index(":memory:", model="hash", profile="works", intents=changes) as index:
            index.works.add(*map(sheaf, range(14)))
            assert len(index.retrieve("sheaf cohomology").evidence.items) == 12


class TestNamed:
    WORKS = (
        Work(
            "Serre duality",
            "A theorem on coherent sheaves.",
            authors=("Jean-Pierre Serre",),
            identifiers=(Identifier("doi", "10.1000/sd"), Identifier("tag", "06Z4")),
            license="CC0-1.0",
        ),
        Work("Duality of sheaves", "Serre duality on coherent sheaves, a theorem.", license="CC0-1.0"),
        Work("Duality theorem", "The theorem on coherent sheaves by Serre.", license="CC0-1.0"),
    )

    @pytest.mark.parametrize(
        "query",
        [
            "Serre duality",
            "serre DUALITY?",
            "Serre duality theorem",
            "the theorem of Serre duality",
            "paper Serre duality by Serre",
            "doi:10.1000/sd",
            "coherent sheaves in https://doi.org/10.1000/SD",
            "tag 06Z4",
            "06Z4",
            '"Serre duality" on coherent sheaves',
            "State the Serre duality",
            "State the Serre duality theorem.",
            "proof of the Serre duality theorem",
            "What does Serre duality say?",
            "what Serre duality says",
        ],
    )
    def test_comes_first(self, query: str) -> None:
        pack = told(*self.WORKS, query=query).evidence
        assert (pack.items[0].title, pack.items[0].exact) == ("Serre duality", True)
        assert not any(item.exact for item in pack.items[1:])

    @pytest.mark.parametrize("query", ["Serre", "Serre duality by Grothendieck"])
    def test_is_not_what_is_spoken_of(self, query: str) -> None:
        assert not any(item.exact for item in told(*self.WORKS, query=query).evidence.items)

    @pytest.mark.parametrize(
        ("query", "heading"),
        [
            ("Hahn-Banach theorem", "Theorem 2.1 (Hahn–Banach)"),
            ("Theorem 2.1", "Theorem 2.1 (Hahn–Banach)"),
            ("prebase", "Definition 2.2 (base, prebase)"),
            ("Baire category", "2 Baire category"),
        ],
    )
    def test_may_be_a_passage(self, query: str, heading: str) -> None:
        headings = ("1 Functionals", "Theorem 2.1 (Hahn–Banach)", "2 Baire category", "Definition 2.2 (base, prebase)")
        passages = tuple(Passage(f"On what {each} tells.", headings=("2 Spaces", each)) for each in headings)
        book = Work("Lectures", "On spaces.", passages=passages, license="CC0-1.0")
        other = Work("Notes", f"{query}, {query} and {query}.", license="CC0-1.0")
        item = told(other, book, query=query).evidence.items[0]
        assert (item.title, item.heading_path, item.exact) == ("Lectures", f"2 Spaces > {heading}", True)
        closed = replace(book, license=None)
        assert not any(item.exact for item in told(other, closed, query=query).evidence.items)

    def test_counts_in_the_score_if_and_only_if_it_does_in_the_pack(self) -> None:
        for query in ("State the Serre duality theorem", "Serre duality by Grothendieck", "coherent sheaves"):
            found = told(*self.WORKS, query=query, min_relevance=0.0)
            exact = {item.title for item in found.evidence.items if item.exact}
            values = {hit.title: hit.because("works").detail["values"]["lexical"] for hit in found.reranked}
            assert all(values[title] == 1 for title in exact)
            assert exact == ({"Serre duality"} if query.startswith("State") else set())

    def test_does_not_tell_who_wrote_what_is_withheld(self) -> None:
        closed = replace(self.WORKS[0], license=None)
        with open_index(":memory:", model="hash", profile="works") as index:
            index.works.add(closed)
            index.policies.set("facts", "nobody")
            for who in ("Serre", "Grothendieck"):
                (item,) = index.retrieve(f"Serre duality by {who}").evidence.items
                assert (item.title, item.exact) == ("Serre duality", False)


class TestDiversity:
    def test_a_passage_of_several_works_is_quoted_once(self) -> None:
        same = "The quick spectral sequence converges to the sheaf cohomology of the total complex in all degrees."
        pack = told(sheaf(1, same), sheaf(2, same + " "), sheaf(3), sheaf(4, same + " ", passages=long(4))).evidence
        assert len({item.hash for item in pack.items}) == len(pack.items) == 4
        assert len(titles(pack)) == 3
        assert "evidence.quoted_once" in codes(pack)

    def test_symbols_make_a_statement_another_one(self) -> None:
        one, other = sheaf(1, "Sheaf cohomology if $x < y$."), sheaf(2, "Sheaf cohomology if $x > y$.")
        assert len(told(one, other).evidence.items) == 2

    def test_an_author_is_one_however_the_name_is_written(self) -> None:
        names = ["J.-P. Serre", "Jean-Pierre Serre", "Serre, J.-P.", "J. P. Serre", "JP Serre", "Serre, Jean Pierre"]
        works = [sheaf(place, authors=(name,)) for place, name in enumerate(names)]
        others = [sheaf(10 + place, authors=(f"{letter}. Serre",)) for place, letter in enumerate("ABC")]
        pack = told(*works, *others).evidence
        assert sum(name in names for item in pack.items for name in item.authors) == 3
        assert len(titles(pack)) == 6

    def test_fields_are_those_of_the_primary_category(self) -> None:
        tags = {"NT": ("math.NT", "math.AG"), "AG": ("math.AG",)}
        works = [sheaf(each, tags=tuple(Tag("arxiv", tag) for tag in tags["AG"])) for each in range(12)]
        last = sheaf(
            99,
            "Of numbers, with a word on sheaf theory at the very end.",
            title="Numbers",
            tags=tuple(Tag("arxiv", tag) for tag in tags["NT"]),
        )
        assert "Numbers" not in titles(told(*works, last, mode="survey", top_k=5).evidence)
        found = told(*works, last, mode="survey", top_k=5, min_relevance=0.0)
        assert found.reranked[-1].title != "Numbers"
        (item,) = [item for item in found.evidence.items if item.title == "Numbers"]
        assert (item.number, item.rank) == (2, 13)
        (notice,) = [each for each in found.evidence.notes if each.code == "evidence.below_the_list"]
        assert notice.data == {"documents": 1}
        assert "Numbers" not in titles(told(*works, last, mode="lookup", top_k=5).evidence)

    def test_of_works_without_codes_the_chapter_is_the_field(self) -> None:
        works = [
            sheaf(each, tags=(Tag("term", f"t{each}"),), metadata={"chapter": "Ends" if each > 5 else "Ways"})
            for each in range(8)
        ]
        pack = told(*works, mode="survey").evidence
        places = [int(title.split()[1]) > 5 for title in titles(pack)]
        assert places[:4] in ([True, False, True, False], [False, True, False, True])


class TestTheList:
    def test_evidence_is_of_the_works_that_are_listed(self) -> None:
        for top_k, works in ((5, 5), (10, 10), (3, 4), (1, 4)):
            found = told(*map(sheaf, range(14)), top_k=top_k)
            listed = {hit.title for hit in found.reranked}
            cited = titles(found.evidence)
            assert len(cited) == works
            assert set(cited[: len(listed)]) == listed
            assert all((item.rank <= top_k) == (item.title in listed) for item in found.evidence.items)

    def test_confidence_is_that_of_what_is_packed(self) -> None:
        one, other = (told(*map(sheaf, range(14)), top_k=top_k).evidence for top_k in (3, 4))
        assert replace(one, notes=()) == replace(other, notes=())

    def test_without_a_text_nothing_is_certain(self) -> None:
        pack = told(*(sheaf(each, license=None) for each in range(3))).evidence
        assert (pack.uncertain, pack.confidence, len(pack.items)) == (True, 0.0, 3)
        assert "evidence.no_text" in codes(pack)

    def test_candidates_have_every_channel_and_every_listed_work(self) -> None:
        cited = sheaf(50, "Nothing in common.", title="Old")
        citing = sheaf(51, citations=(Link("doi:10.1000/50"),))
        found = retrieval_json(told(cited, citing, sheaf(52), top_k=100))
        places = {(each["collection"], each["document"]) for each in found["candidates"]}
        assert {(each["collection"], each["document"]) for each in found["reranked"]} <= places
        near = [each for each in found["candidates"] if each["scores"].get("cited")]
        assert len(near) == found["diagnostics"]["counts"]["cited"] > 0
        assert all(len(set(each["identifiers"])) == len(each["identifiers"]) > 0 for each in found["candidates"])


class TestWeight:
    """A pack holds what is relevant, says how little is not, and begins with what can be quoted."""

    WORKS = (
        sheaf(1),
        sheaf(2, ""),
        Work("Sheaves", "", license="CC0-1.0"),
        *(Work(f"Other {each}", "Of something else entirely.", license="CC0-1.0") for each in range(3)),
    )

    def test_what_is_not_relevant_is_left_out_and_counted(self) -> None:
        everything, some = (told(*self.WORKS, min_relevance=each) for each in (0.0, None))
        assert len(some.evidence.items) < len(everything.evidence.items)
        assert some.reranked == everything.reranked
        assert some.evidence.min_relevance == INTENTS["keywords"].limits.min_relevance == 0.3
        assert all(item.relevance >= 0.3 or item.exact for item in some.evidence.items)
        (notice,) = [each for each in some.evidence.notes if each.code == "evidence.low_relevance"]
        weak = sum((hit.relevance or 0) < 0.3 for hit in some.reranked)
        assert notice.data == {"documents": weak}

    def test_a_question_that_nothing_answers_has_an_empty_pack(self) -> None:
        pack = told(*self.WORKS, query="best pizza in Naples").evidence
        assert (pack.items, pack.uncertain, pack.confidence) == ((), True, 0.0)

    @pytest.mark.parametrize("least", [-0.1, 1.1, "much", True])
    def test_a_minimum_that_cannot_be_meant_is_refused(self, least: Any) -> None:
        with pytest.raises(InvalidArgument, match="min_relevance must be a number from 0 to 1"):
            told(*self.WORKS, min_relevance=least)

    def test_the_minimum_is_a_setting_of_each_intent(self) -> None:
        with open_index(
            ":memory:", model="hash", intents={"keywords": {"min_relevance": 0.9}}, profile="works"
        ) as index:
            index.works.add(*self.WORKS)
            assert index.retrieve("sheaf cohomology").evidence.min_relevance == 0.9

    def test_nothing_without_a_text_comes_before_one_with(self) -> None:
        bare = Work("Sheaf cohomology", "", license="CC0-1.0")
        pack = told(bare, *self.WORKS, min_relevance=0.0).evidence
        texts = [bool(item.text) for item in pack.items]
        assert texts == sorted(texts, reverse=True)
        assert not all(texts)
        assert [item.number for item in pack.items] == list(range(1, len(texts) + 1))

    def test_what_scores_far_less_than_the_best_is_left_out(self) -> None:
        named = Work("Adequate functors", "On adequate functors of rings.", license="CC0-1.0")
        others = [Work(f"On {each}", f"Adequate words, and functors {each}.", license="CC0-1.0") for each in "abcde"]
        pack = told(named, *others, query="adequate functors").evidence
        assert titles(pack) == [named.title]
        assert "evidence.low_score" in codes(pack)


class TestTheFirstPage:
    """Of one author or venue, the first page has few works as long as others answer; the rest begins the next."""

    def test_holds_few_of_one_author_and_the_next_page_the_rest(self) -> None:
        mine = [sheaf(each, authors=("A. Able",)) for each in range(6)]
        words = "Sheaf cohomology, with some words about quite other kinds of things as well,"
        others = [sheaf(each, f"{words} {each}.", authors=(f"{chr(each)}. Other",)) for each in range(66, 75)]
        pages = [told(*mine, *others, top_k=10, offset=offset).reranked for offset in (0, 10)]
        authors = [[hit.metadata["authors"][0] for hit in page].count("A. Able") for page in pages]
        assert authors == [3, 3]
        assert len({hit.title for page in pages for hit in page}) == 15
        first = told(*mine, *others)
        (note,) = [note for note in first.trace.notes if note.code == "works.repeated"]
        assert note.data == {"moved": 3, "offset": 10}
        scores = [hit.score for hit in first.reranked]
        assert scores == sorted(scores, reverse=True)

    def test_is_not_filled_with_what_is_not_relevant(self) -> None:
        mine = [sheaf(each, authors=("A. Able",)) for each in range(5)]
        others = [Work(f"Else {each}", "Of something else.", authors=("B. Other",), license="CC0-1.0") for each in "12"]
        found = told(*mine, *others, top_k=5)
        assert [hit.metadata["authors"] for hit in found.reranked] == [["A. Able"]] * 5

    def test_of_an_author_who_is_asked_for_no_number_is_too_many(self) -> None:
        mine = [sheaf(each, authors=("A. Able",)) for each in range(6)]
        others = [sheaf(each, authors=("B. Other",)) for each in range(10, 16)]
        found = told(*mine, *others, query='sheaf cohomology authors:"A. Able"', top_k=6)
        assert len(found.reranked) == 6
        assert len(titles(found.evidence)) == 6

    def test_pages_hold_all_works_once(self) -> None:
        works = [sheaf(each, authors=("A. Able",)) for each in range(9)]
        pages = [told(*works, top_k=4, offset=offset) for offset in (0, 4, 8, 12)]
        assert [len(page.reranked) for page in pages] == [4, 4, 1, 0]
        assert len({hit.title for page in pages for hit in page.reranked}) == 9
        assert [item.rank for item in pages[1].evidence.items] == [5, 6, 7, 8]
