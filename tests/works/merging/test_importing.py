"""Importing works: what records become, how duplicates meet, and that importing again changes nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import rifflux
from rifflux import Index
from rifflux.errors import InvalidArgument, NotFound
from rifflux.types import WITHHELD, Identifier, Link, Scope, Tag
from rifflux.works import Work, parse_identifier
from rifflux.works.importers.names import people
from rifflux.works.merging.merge import merged
from tests.support.exploring import examples

SHEAVES: dict[str, Any] = {
    "title": "On coherent sheaves of projective schemes",
    "authors": ["Serre, Jean-Pierre"],
    "year": 1955,
}


def _snapshot(index: Index) -> list[Any]:
    """Everything that an index tells of its works."""
    keys = sorted({(hit.namespace, hit.key) for hit in index.search("sheaves OR works", top_k=100, mode="lexical")})
    return [index.admin.store.catalog.document(*key) for key in keys]


class TestRecords:
    def test_fields_of_everyday_names_map_to_a_work(self, index: Index, write: Any) -> None:
        path = write(
            "cacm/corpus.jsonl",
            {
                "_id": "C-2", "title": "Compilers", "text": "How they work.",
                "metadata": {
                    "year": 1959, "month": "February", "authors": ["Carr, J. W.", "Perlis, A."],
                    "keywords": "list, memory", "cr_categories": ["4.12"], "cites": ["C-1"], "cited_by": ["C-9"],
                    "doi": "10.1145/1.2", "volume": 2, "license": "cc0",
                },
            },
            {"_id": "C-1", "title": "Preliminary report", "text": "", "license": "cc0"},
        )  # fmt: skip
        report = index.works.import_files(path)
        assert (report.added, report.failed, report.noted) == (2, (), ())
        shelved = index.works.get("cacm:C-2")
        assert shelved.work == Work(
            title="Compilers",
            abstract="How they work.",
            authors=("J. W. Carr", "A. Perlis"),
            year=1959,
            date="1959-02",
            identifiers=(Identifier("cacm", "C-2"), Identifier("doi", "10.1145/1.2")),
            tags=(Tag("acm", "4.12"), Tag("keyword", "list"), Tag("keyword", "memory")),
            citations=(Link("cacm:C-1"),),
            license="CC0-1.0",
            sources=("cacm",),
            metadata={"volume": 2},
        )
        assert [hit.key for hit in shelved.cites] == ["C-1"]
        assert [hit.key for hit in index.works.get("C-1").cited_by] == ["C-2"]

    def test_passages_are_searched_under_their_headings(self, index: Index, write: Any) -> None:
        sections = [
            {"heading": "Flatness", "text": "Tensoring with a flat module is exact.", "kind": "theorem"},
            {"heading": "Proof", "text": "By Zorn.", "kind": "proof"},
        ]
        index.works.import_files(
            write("a.jsonl", {"id": "T", "title": "A lemma", "text": "Statement.", "sections": sections}), license="cc0"
        )
        (hit,) = index.search("zorn", mode="lexical")
        assert (hit.key, hit.heading_path, hit.text) == ("T", "Proof", "By Zorn.")
        (hit,) = index.search("tensoring", mode="lexical")
        assert hit.heading_path == "Flatness"
        document = index.admin.store.catalog.document("works/a", "T")
        assert document is not None
        assert [part.kind for part in document.parts] == ["abstract", "theorem", "proof"]
        assert document.text[slice(*document.parts[1].span)] == "Tensoring with a flat module is exact."

    def test_what_a_definition_defines_is_a_subject_of_it(self, index: Index, write: Any) -> None:
        text = r"A module is {\it $R$-flat} or \emph{flat} if {\it not} \emph{a b c d e f g h i}."
        record = {"id": 1, "title": "Definition", "text": text, "type": "definition"}
        index.works.import_files(write("a.jsonl", record), license="CC0-1.0")
        assert index.works.get("a:1").work.tags == (Tag("term", "R-flat"), Tag("term", "flat"))

    def test_subjects_are_searched_as_words(self, index: Index, write: Any) -> None:
        index.works.import_files(write("a.jsonl", {"id": 1, "title": "Untold", "tags": {"msc": ["14F05"]}}))
        assert [hit.title for hit in index.search("14F05", mode="lexical")] == ["Untold"]

    def test_a_work_without_a_license_has_none(self, index: Index, write: Any) -> None:
        records = [{"id": 1, "title": "Free"}, {"id": 2, "title": "Given"}, {"id": 3, "title": "Blank"}]
        records[1]["license"] = "http://creativecommons.org/licenses/by-sa/4.0/"
        records[2]["license"] = "unknown"
        index.works.import_files(write("a.jsonl", *records))
        licenses = [index.works.get(f"a:{number}").work.license for number in (1, 2, 3)]
        assert licenses == [None, "CC-BY-SA-4.0", None]

    def test_a_work_without_a_title_is_called_by_its_text_only_where_that_may_be_told(
        self, index: Index, write: Any
    ) -> None:
        records = [{"id": 1, "text": "Quokkas.", "license": "cc0"}, {"id": 2, "text": "Zyzzyvas."}, {"text": "Gnus."}]
        index.works.import_files(write("a.jsonl", *records))
        titles = {hit.key: hit.title for hit in index.search("quokkas zyzzyvas gnus", mode="lexical")}
        assert (titles.pop("1"), titles.pop("2")) == ("Quokkas.", "2")
        ((key, title),) = titles.items()
        assert key == title == "text-109df9434299"

    @pytest.mark.parametrize("license", ["", "  ", "unknown", "None"])
    def test_a_license_that_says_nothing_is_none(self, index: Index, write: Any, license: str) -> None:
        index.works.add(Work("Said by a program", "A zyzzyva.", license=license))
        assert index.search("zyzzyva", mode="lexical")[0].text == WITHHELD
        with pytest.raises(InvalidArgument, match="names no license"):
            index.works.import_files(write("a.jsonl", {"id": 1, "title": "One"}), license=license)

    def test_the_year_is_a_date_that_filters_know(self, index: Index, write: Any) -> None:
        index.works.import_files(
            write(
                "a.jsonl",
                {"id": 1, "title": "Sheaves early", "year": 1955},
                {"id": 2, "title": "Sheaves late", "year": 1999},
            )
        )
        assert [hit.key for hit in index.search("sheaves", mode="lexical", filter={"until": "1960"})] == ["1"]

    def test_a_license_can_be_given_for_works_whose_source_tells_none(self, index: Index, write: Any) -> None:
        path = write("a.jsonl", {"id": 1, "title": "One", "text": "own"}, {"id": 2, "title": "Two", "license": "mit"})
        index.works.import_files(path, license="cc by")
        works = [index.works.get(name).work for name in ("a:1", "a:2")]
        assert [(work.license, work.abstract) for work in works] == [("CC-BY", "own"), ("MIT", "")]

    @pytest.mark.parametrize("license", ["own", "open access", "CC BY for figures only"])
    def test_a_license_that_nobody_knows_is_refused_before_anything_is_read(
        self, index: Index, write: Any, license: str
    ) -> None:
        path = write("a.jsonl", {"id": 1, "title": "One", "text": "of mine"})
        refused = pytest.raises(InvalidArgument, match="leave it out, or have an administrator say what it opens")
        with refused:
            index.works.import_files(path, license=license)
        with refused:
            index.works.import_text(path.read_text(), source="a", format="jsonl", license=license)
        assert index.works.all() == []
        index.policies.set("licenses", {license: "text"})
        index.works.import_files(path, license=license)
        assert index.works.get("a:1").work.abstract == "of mine"


class TestBadInput:
    def test_each_slip_is_told_with_its_place_and_the_rest_goes_on(self, index: Index, write: Any) -> None:
        path = write(
            "bad.jsonl",
            {"id": "a", "title": "Good"},
            "{broken",
            {"id": "b"},
            {"id": "c", "title": "Future", "year": 2999, "license": "cc0"},
            {"id": "d", "title": "Odd", "tags": {"mcs": ["14F05"]}, "doi": "nonsense"},
            {"id": "e", "title": "Self", "cites": ["e", "nowhere"]},
            "[1]",
            {"id": "f", "title": "Metadata", "metadata": 3},
        )
        report = index.works.import_files(path)
        assert report.added == 4
        assert [(failure.path.rpartition(":")[2], failure.reason[:30]) for failure in report.failed] == [
            ("2", "not valid JSON: Expecting prop"),
            ("3", "it has neither a title nor a t"),
            ("7", "not a JSON object"),
            ("8", "its 'metadata' is not an objec"),
        ]
        told: dict[str, list[str]] = {failure.path.rpartition(":")[2]: [] for failure in report.noted}
        for failure in report.noted:
            told[failure.path.rpartition(":")[2]].append(failure.reason)
        assert "2999" in told["4"][0]
        assert any("'mcs'" in reason for reason in told["5"])
        assert any("'nonsense'" in reason for reason in told["5"])
        assert any("cites itself" in reason for reason in told["6"])
        assert any("'nowhere'" in reason for reason in told["6"])
        assert report.dangling == 1
        assert index.works.get("bad:c").work.year is None

    def test_an_endless_title_is_cut_and_told(self, index: Index, write: Any) -> None:
        path = write("long.bib", "@book{a, title={" + "endless " * 50_000 + "}, year={2001}}")
        report = index.works.import_files(path)
        (note,) = report.noted
        assert "1,000 are kept" in note.reason
        title = index.works.get("long:a").work.title
        assert title == "endless " * 123 + "endless…"
        assert index.works.import_files(path).unchanged == 1

    def test_circles_of_citations_are_told_once_and_kept(self, index: Index, write: Any) -> None:
        ring = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": []}
        path = write(
            "ring.jsonl", *({"id": key, "title": f"Work {key}", "cites": cites} for key, cites in ring.items())
        )
        report = index.works.import_files(path, license="MIT")
        assert [failure.reason for failure in report.noted] == ["they cite each other in a circle: a → b → c"]
        assert [hit.key for hit in index.works.get("ring:c").cites] == ["a"]

    def test_a_long_chain_of_citations_is_no_circle(self, index: Index, write: Any) -> None:
        records = ({"id": str(n), "title": f"Work {n}", "cites": [str(n + 1)]} for n in range(3000))
        report = index.works.import_files(write("chain.jsonl", *records), embed=False)
        assert [failure.reason for failure in report.noted] == ["it cites '3000', which is not there"]

    def test_a_file_of_another_kind_is_told_and_others_are_read(self, index: Index, write: Any) -> None:
        good, bad = write("good.jsonl", {"id": 1, "title": "Good"}), write("bad.xyz", "text")
        report = index.works.import_files(bad, good)
        assert report.added == 1
        assert [failure.path for failure in report.failed] == [str(bad)]

    def test_a_missing_file_or_unknown_format_is_refused_before_anything_is_read(
        self, index: Index, write: Any
    ) -> None:
        good = write("good.jsonl", {"id": 1, "title": "Good"})
        with pytest.raises(NotFound, match="spelling"):
            index.works.import_files(good, "nowhere.jsonl")
        with pytest.raises(InvalidArgument, match="jsonl"):
            index.works.import_files(good, format="marc")
        assert index.status().documents == 0


class TestAgain:
    def test_importing_again_changes_nothing(self, index: Index, write: Any) -> None:
        path = write("a.jsonl", {"id": 1, **SHEAVES}, {"id": 2, "title": "Works", "cites": [1], "tags": ["x"]})
        index.works.import_files(path)
        before = _snapshot(index)
        report = index.works.import_files(path)
        assert (report.added, report.updated, report.unchanged, report.chunks) == (0, 0, 2, 0)
        assert _snapshot(index) == before

    def test_importing_again_updates(self, index: Index, write: Any) -> None:
        record = {"id": 1, **SHEAVES, "license": "cc0"}
        index.works.import_files(write("a.jsonl", {**record, "tags": ["old", "kept"]}))
        report = index.works.import_files(write("a.jsonl", {**record, "title": "Sheaves anew", "tags": ["kept"]}))
        assert (report.added, report.updated) == (0, 1)
        work = index.works.get("a:1").work
        assert (work.title, work.tags) == ("Sheaves anew", (Tag("keyword", "kept"),))
        assert index.status().documents == 1

    def test_two_files_of_one_name_keep_their_keys_apart(self, index: Index, write: Any) -> None:
        one = write("one/x.jsonl", {"id": 1, "title": "First of all"})
        two = write("two/x.jsonl", {"id": 1, "title": "Second to none"})
        index.works.import_files(one, two)
        assert index.works.get("x:1").work.title == "First of all"
        assert index.works.get("x-2:1").work.title == "Second to none"
        assert index.works.import_files(two, one).unchanged == 2

    def test_a_file_that_was_moved_is_the_same_source(self, index: Index, write: Any) -> None:
        path = write("one/x.jsonl", {"id": 1, "title": "First of all"})
        index.works.import_files(path)
        moved = path.rename(path.parent.parent / "x.jsonl")
        assert index.works.import_files(moved).unchanged == 1

    @examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(order=st.permutations(["one", "two", "three"]), again=st.sampled_from(["one", "two", "three"]))
    def test_whatever_the_order_and_the_repetition_the_same_works_come_out(self, order: list[str], again: str) -> None:
        told = {
            "one": Work("On Sheaves and Works", "Short.", ("A. Weil",), 1950,
                        identifiers=(Identifier("doi", "10.1000/s"),)),
            "two": Work("On sheaves and works", "A longer abstract.", ("André Weil",), 1949, license="CC0-1.0",
                        identifiers=(Identifier("doi", "10.1000/s"), Identifier("arxiv", "2101.00001"))),
            "three": Work("On sheaves and works, II", "", ("A. Weil",), venue="Annals",
                          identifiers=(Identifier("arxiv", "2101.00001"),)),
        }  # fmt: skip
        with rifflux.open(":memory:", model="hash:64") as index:
            for source in [*order, again]:
                index.works.add(told[source], source=source, embed=False)
            (document,) = _snapshot(index)
        work = merged({f"{source}:x": replace(work, sources=(source,)) for source, work in told.items()})
        assert (document.title, document.license) == (work.title, "CC0-1.0")
        assert document.metadata["sources"] == ["one", "three", "two"]
        assert document.text == "A longer abstract."
        assert (document.metadata["year"], document.metadata["venue"]) == (1949, "Annals")
        assert {each.scheme for each in document.identifiers} == {"one", "two", "three", "doi", "arxiv", "title"}


class TestDuplicates:
    def _import(self, index: Index, *works: dict[str, Any]) -> int:
        """Works of as many sources; returns how many documents they became."""
        for number, fields in enumerate(works):
            work = Work(**{**fields, "authors": tuple(fields.get("authors", ()))})
            index.works.add(work, source=f"s{number}", embed=False)
        return index.status().documents

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"identifiers": ("10.1000/a",)}, {"title": "Other words", "identifiers": ("https://doi.org/10.1000/A",)}),
            ({"identifiers": ("2101.00001v1",)}, {"title": "Coherent sheaves", "identifiers": ("arXiv:2101.00001v9",)}),
            ({"identifiers": ("W2741809807",)}, {"identifiers": ("https://openalex.org/W2741809807",)}),
            ({}, {"title": "On Coherent Sheaves of Projective Schemes.", "authors": ["J.-P. Serre"], "year": 1956}),
            ({"title": "$C^*$-algebras of étale groupoids", "authors": ["A. Erdős"]},
             {"title": "{$C^*$}-Algebras of {\\'e}tale Groupoids", "authors": ["Erd\\H{o}s, A."], "year": 1955}),
        ],
    )  # fmt: skip
    def test_one_work_of_two_sources_is_one_document(self, index: Index, one: Any, other: Any) -> None:
        works = []
        for fields in (one, other):
            names = tuple(parse_identifier(text) for text in fields.get("identifiers", ()))
            authors = people(fields.get("authors", SHEAVES["authors"]))
            works.append({**SHEAVES, **fields, "identifiers": names, "authors": authors})
        assert self._import(index, *works) == 1

    @pytest.mark.parametrize(
        "other",
        [
            {"title": "On coherent sheaves of affine schemes and more"},
            {"authors": ("A. Grothendieck",)},
            {"title": "Errata", "authors": ()},
        ],
    )
    def test_what_differs_stays_apart_without_a_doubt(self, index: Index, other: Any) -> None:
        assert self._import(index, SHEAVES, {**SHEAVES, **other}) == 2
        assert index.works.doubts() == []

    @pytest.mark.parametrize(
        ("one", "other", "why"),
        [
            ({}, {"year": 1999}, "the years differ"),
            ({}, {"authors": ()}, "authors are missing"),
            ({}, {"title": "On coherent sheaves of projective scheme"}, "the titles are similar"),
            ({"identifiers": (Identifier("doi", "10.1000/a"),)}, {"identifiers": (Identifier("doi", "10.1000/b"),)},
             "different doi"),
            ({"identifiers": (Identifier("doi", "10.1000/a"),)},
             {"identifiers": (Identifier("doi", "10.1000/a"),), "title": "Cooking for all", "authors": ("J. Child",)},
             "different titles and authors"),
        ],
    )  # fmt: skip
    def test_what_may_be_one_work_is_for_a_person_to_say(self, index: Index, one: Any, other: Any, why: str) -> None:
        licensed = {**SHEAVES, "license": "CC0-1.0"}
        assert self._import(index, {**licensed, **one}, {**licensed, **other}) == 2
        (doubt,) = index.works.doubts()
        assert why in doubt.reason
        index.works.decide(doubt.one, doubt.other, same=True)
        assert index.status().documents == 1
        assert index.works.doubts() == []

    def test_works_that_were_said_to_be_two_stay_two(self, index: Index) -> None:
        works = SHEAVES, {**SHEAVES, "year": 1999}
        self._import(index, *works)
        (doubt,) = index.works.doubts()
        index.works.decide(doubt.one, doubt.other, same=False)
        assert self._import(index, *works) == 2
        assert index.works.doubts() == []

    def test_a_record_that_joins_two_documents_makes_them_one(self, index: Index) -> None:
        preprint = Work(
            "Sheaves and works",
            identifiers=(Identifier("arxiv", "2101.00001"),),
            citations=(Link("doi:10.1000/z"),),
            license="CC0-1.0",
        )
        printed = Work("Sheaves and works, revised at length", identifiers=(Identifier("doi", "10.1000/a"),))
        index.works.add(preprint, source="a", embed=False)
        index.works.add(printed, source="b", embed=False)
        assert index.status().documents == 2
        both = Work("Sheaves and works", identifiers=(*preprint.identifiers, *printed.identifiers))
        index.works.add(both, source="c", embed=False)
        assert index.status().documents == 1
        assert index.works.get("doi:10.1000/a").work.citations == preprint.citations
        for work, source in ((preprint, "a"), (printed, "b"), (both, "c")):
            assert index.works.add(work, source=source, embed=False).unchanged == 1

    def test_statements_with_equal_titles_of_one_source_are_no_duplicates(self, index: Index, write: Any) -> None:
        records = [{"id": n, "title": "Lemma, Cohomology of sheaves", "text": f"Number {n}."} for n in range(5)]
        report = index.works.import_files(write("s.jsonl", *records), embed=False)
        assert (report.added, report.doubts) == (5, ())


def test_users_keep_their_works_apart(index: Index, write: Any) -> None:
    path = write("a.jsonl", {"id": 1, "title": "One and the same work", "doi": "10.1000/a", "license": "cc0"})
    ann, bob = (index.scoped(Scope(name)) for name in ("ann", "bob"))
    ann.works.import_files(path, embed=False)
    with pytest.raises(NotFound):
        bob.works.get("doi:10.1000/a")
    assert bob.works.import_files(path, embed=False).added == 1
    assert ann.works.import_files(path, embed=False).unchanged == 1
    assert index.works.doubts() == bob.works.doubts() == []
    assert index.status().documents == 0


def test_a_merged_work_does_not_cite_itself() -> None:
    doi = Identifier("doi", "10.1000/a")
    works = {"list": Work("A work", identifiers=(doi,)), "paper": Work("A work", citations=(Link(str(doi)),))}
    assert merged(works).citations == ()


def test_merging_does_not_depend_on_the_order() -> None:
    works = {
        "a": Work("Short", "text", ("A. B.",), 2001, tags=(Tag("msc", "14"),), license="CC0-1.0"),
        "b": Work("Longer title", "other text", ("Ann B.", "C. D."), 2000, date="2000-05", license="MIT"),
        "c": Work("LONGER TITLE OF ALL", venue="V", metadata={"x": 1}),
    }
    results = {repr(merged({name: works[name] for name in order})) for order in permutations(works)}
    assert len(results) == 1
    work = merged(works)
    assert (work.title, work.year, work.date, work.venue) == ("Longer title", 2000, "2000-05", "V")
    assert work.license == "CC0-1.0 AND MIT"


def test_works_are_listed_with_what_may_be_told_of_them(index: Index, write: Any) -> None:
    index.works.import_files(
        write("a.jsonl", {"id": 1, "title": "Open", "text": "x", "license": "CC0-1.0", "doi": "10.1000/Open"}),
        write("b.jsonl", {"id": 1, "title": "Closed", "text": "x"}, r'{"id": 2, "title": "Half \ud800 a pair"}'),
        embed=False,
    )
    index.add(rifflux.Document("note", "no work"), embed=False)
    opened, closed = index.works.all()
    assert (opened.title, opened.identifiers, opened.sources) == ("Open", ("a:1", "doi:10.1000/open"), ("a",))
    assert (closed.title, closed.identifiers, closed.sources, closed.license) == ("Closed", ("b:1",), ("b",), None)
    assert index.works.all(without_license=True) == index.works.all(source="b") == [closed]
    assert index.works.all(source="a", without_license=True) == []
    index.policies.set("facts", "nobody")
    assert [each.sources for each in index.works.all()] == [("a",), ()]
    with pytest.raises(NotFound, match="no work is of the source 'c'"):
        index.works.all(source="c")


def test_a_work_is_found_by_every_identifier_that_is_told_of_it(index: Index, write: Any) -> None:
    record = {"id": "A1", "title": "One", "text": "Words.", "doi": "10.1000/One", "license": "cc0"}
    index.works.import_files(write("list.jsonl", record), source="Mine")
    for name in (*index.works.all()[0].identifiers, "https://doi.org/10.1000/ONE"):
        assert index.document(name).text == index.get(name).text == "Words."
        assert index.works.get(name).work.title == "One"
        assert index.judge("words", name, 2).key == index.why("words", name).hit.key == "A1"
    others = index.scoped(Scope("ann"))
    for ask in (others.document, others.get, others.works.get):
        with pytest.raises(NotFound):
            ask("doi:10.1000/one")


@pytest.mark.parametrize(
    ("format", "text", "name"),
    [
        ("jsonl", '{"id": 1, "title": "Things"}\n{"id": 2}', "mine:1"),
        ("csl", '[{"id": "c", "title": "Things"}, 7]', "mine:c"),
        ("bibtex", "@article{b, title={Things}}\n@article{broken, title={Never", "mine:b"),
        ("arxiv", '{"id": "math/0102001", "title": "Things", "abstract": ""}', "arxiv:math/0102001"),
        ("openalex", '{"id": "https://openalex.org/W1234567", "title": "Things"}', "openalex:W1234567"),
    ],
)
def test_a_text_is_imported_as_a_file_is(index: Index, format: str, text: str, name: str) -> None:
    report = index.works.import_text(text, source="mine", format=format, license="CC0-1.0", embed=False)
    assert (report.added, report.sources) == (1, ("mine",))
    assert index.works.get(name).work.license == "CC0-1.0"
    assert all(failure.path.startswith("mine.") for failure in report.failed)
    assert len(report.failed) == (format in ("jsonl", "csl", "bibtex"))
    twice = index.works.import_text(f"{text}\n{text}", source="mine", format=format, embed=False)
    assert "/" not in re.sub("math/0102001", "", str([*twice.failed, *twice.noted]))


def test_no_source_is_called_like_a_scheme(index: Index, write: Any) -> None:
    report = index.works.import_files(write("doi.jsonl", {"id": "10.1000/x", "title": "One"}), embed=False)
    assert report.sources == ("doi-jsonl",)
    for name in ("doi", "arXiv", "title"):
        with pytest.raises(InvalidArgument, match="scheme of identifiers"):
            index.works.import_files(write("other.jsonl", {"id": 1, "title": "Two"}), source=name)


def test_a_text_reaches_no_file(index: Index, tmp_path: Path) -> None:
    for name in ("secret.tex", "secret.bib"):
        (tmp_path / name).write_text("@article{one, title={Zyzzyva}}")
    text = "\\title{Paper}\n\\bibliography{%s}\n\\begin{document}\\input{%s} By \\cite{one}.\\end{document}"
    path = tmp_path / "secret"
    there = index.works.import_text(text % (path, path), source="paper", format="latex", embed=False)
    path = tmp_path / "nowhere"
    nowhere = index.works.import_text(text % (path, path), source="paper", format="latex", embed=False)
    assert str(there.noted).replace("secret", "nowhere") == str(nowhere.noted)
    assert "Zyzzyva" not in index.document("paper").text
    for source, format in (("paper", "pdf"), ("../paper", "latex"), ("arxiv", "latex")):
        with pytest.raises(InvalidArgument):
            index.works.import_text("x", source=source, format=format)
