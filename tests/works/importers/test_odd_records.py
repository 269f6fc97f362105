"""What bibliographies say in odd ways is understood, or told; nothing of it is lost or falsified."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rifflux import Index
from rifflux.text.schemes import mentioned_arxiv
from rifflux.types import Failure, Identifier, Link, Tag
from rifflux.works import Work, parse_identifier
from rifflux.works.importers.base import Entry, Problems, WorkSource, codes
from rifflux.works.importers.formats import read_works
from rifflux.works.importers.names import people, split_names
from rifflux.works.importers.readable import unmarked

BIBLIOGRAPHY = r"""@string{ams = "Amer. Math. Soc."}
@string{jams = ams # " Journal"}
@article{joined, title = "Bull" # {etin}, journal = "J. " # jams, year = 1947, month = "1~" # apr,
  author = {Erd{\H o}s, P. and {Barnes and Noble, Inc.} and King, Jr., Martin and others}}
@inproceedings{talk, crossref = {Icm}, title = {A talk}, author = {Doe, Jane}}
@proceedings{icm, title = {Proceedings of ICM}, year = 1998, publisher = {Documenta}, doi = {10.1000/icm}}
@article{undefined, title = {Undefined}, journal = nosuch, year = {c. 1900}, mrclass = {14F05 (18G40 55Nxx)}}
@article{runon, title = {Missing comma} author = {Foo, A.}, year = 2003}
@article{twice, title = {Notes twice}, note = {a}, note = {b}, date = {2020-13}}
@article{open, title = {Never closed,
@article{after, title = {After it}, crossref = {nobody}, date = {1999~}}
"""


def _read(path: Path) -> tuple[dict[str, Entry], list[Failure]]:
    """The entries of a file by key, and what could not be read."""
    found = list(read_works(WorkSource(path, path.stem, lambda other: other.stem)))
    return (
        {each.key: each for each in found if isinstance(each, Entry)},
        [each for each in found if isinstance(each, Failure)],
    )


def test_bibtex_resolves_strings_and_inherits_from_what_is_crossreferenced(write: Any) -> None:
    entries, _ = _read(write("refs.bib", BIBLIOGRAPHY))
    joined, talk = entries["joined"].work, entries["talk"].work
    assert (joined.title, joined.venue, joined.date) == ("Bulletin", "J. Amer. Math. Soc. Journal", "1947")
    assert joined.authors == ("P. Erdős", "Barnes and Noble Inc.", "Martin King Jr.")
    assert (talk.year, talk.venue, talk.identifiers) == (1998, "Proceedings of ICM", ())
    assert talk.citations == (Link("refs:Icm", "part"),)


def test_bibtex_that_is_wrong_is_told_with_its_place_and_reason(write: Any) -> None:
    entries, failed = _read(write("refs.bib", BIBLIOGRAPHY))
    assert (entries["undefined"].work.venue, entries["undefined"].work.year) == ("", 1900)
    assert "'nosuch'" in entries["undefined"].notes[0]
    assert [tag.value for tag in entries["undefined"].work.tags] == ["14F05", "18G40", "55Nxx"]
    assert (entries["runon"].work.title, entries["runon"].work.authors) == ("Missing comma", ("A. Foo",))
    assert entries["runon"].notes == ("a comma is missing after its 'title'",)
    assert (entries["twice"].work.year, len(entries["twice"].notes)) == (2020, 2)
    assert (entries["after"].work.year, entries["after"].notes) == (1999, ("its crossref 'nobody' does not exist",))
    (unclosed,) = failed
    assert unclosed.path.endswith("refs.bib:10")
    assert "closing" in unclosed.reason


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("arXiv preprint arXiv:1906.01234", "1906.01234"),
        ("Preprint, arXiv:1234.56781v2, 2020", "1234.56781"),
        (r"\url{https://arxiv.org/abs/math/0601001}", "math/0601001"),
        ("abs/1706.03763", "1706.03763"),
        ("Available on arXiv:1906.01234", "1906.01234"),
        ("Comment on arXiv:1906.01234", None),
        ("see also arXiv:1906.01234", None),
        ("arXiv:1906.01234 and arXiv:1906.01235", None),
    ],
)
def test_an_arxiv_number_among_words_is_the_works_own_unless_they_say_otherwise(text: str, named: str | None) -> None:
    found = mentioned_arxiv(text)
    assert (found.value if found else None) == named


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("https://arxiv.org/html/1906.01234v2", "arxiv:1906.01234"),
        ("https://arxiv.org/abs/1906.01234?context=math.AG", "arxiv:1906.01234"),
        ("https://openalex.org/works/W2741809807", "openalex:W2741809807"),
        ("https://openalex.org/W12", "openalex:W12"),
        ("W12", "None"),
        ("http://www.doi.org/10.1000/182", "doi:10.1000/182"),
        ("10.1061/(ASCE)0733-9399(2005)131:1(20)", "doi:10.1061/(asce)0733-9399(2005)131:1(20)"),
        ("10.1000/182).", "doi:10.1000/182"),
    ],
)
def test_identifiers_are_known_in_the_dresses_they_come_in(text: str, identifier: str) -> None:
    assert str(parse_identifier(text)) == identifier


def test_each_json_record_is_read_by_its_own_fields_or_as_the_others_of_its_file(write: Any) -> None:
    page = {"id": "w", "type": "webpage", "title": "A page", "DOI": "10.1000/page"}
    article = {"id": "z", "title": "An article", "container-title": "J", "issued": {"date-parts": [[2011, 3, 0]]}}
    entries, _ = _read(write("zotero.json", json.dumps([page, article])))
    assert entries["w"].work.identifiers == (Identifier("doi", "10.1000/page"),)
    assert (entries["z"].work.venue, entries["z"].work.date) == ("J", "2011-03")
    arxiv = {"id": "0704.0001", "title": r"Erd\H{o}s $\ell$", "categories": "math.AG", "authors": r"{\v S}af, I."}
    other = {"id": "https://openalex.org/W1", "display_name": "The <i>L</i><sup>2</sup> &amp; more"}
    entries, _ = _read(write("mixed.json", arxiv, other))
    assert entries["0704.0001"].work.identifiers == (Identifier("arxiv", "0704.0001"),)
    assert entries["0704.0001"].work.title == r"Erdős $\ell$"
    assert entries["W1"].work.title == "The L^2 & more"


def test_lines_after_one_that_is_broken_are_read(write: Any) -> None:
    entries, failed = _read(write("lines.json", "{broken", {"_id": "g", "title": "Good"}))
    assert list(entries) == ["g"]
    assert failed[0].path.endswith(":1")
    entries, _ = _read(write("list.json", '[{"_id": 1, "title": "One"},', '{"_id": 2, "title": "Two"}', "]"))
    assert list(entries) == ["1", "2"]


def test_a_key_that_a_source_has_twice_is_told_and_replaces_nothing(index: Index, write: Any) -> None:
    path = write("a.jsonl", {"id": "x", "title": "First of all"}, {"id": "x", "title": "Second", "year": 2999})
    report = index.works.import_files(path, embed=False)
    assert (report.added, report.updated, report.noted) == (1, 0, ())
    assert [(each.path[-2:], f"{path}:1" in each.reason) for each in report.failed] == [(":2", True)]
    assert index.works.get("a:x").work.title == "First of all"


def test_circles_by_strong_identifiers_are_told(index: Index, write: Any) -> None:
    one = {"id": "1", "title": "One", "doi": "10.1000/c1", "cites": ["doi:10.1000/c2"]}
    two = {"id": "2", "title": "Two", "doi": "10.1000/c2", "cites": ["https://doi.org/10.1000/C1"]}
    report = index.works.import_files(write("ring.jsonl", one, two), embed=False)
    assert [note.reason for note in report.noted] == ["they cite each other in a circle: 1 → 2"]


def test_circles_and_citations_are_followed_across_files(index: Index, write: Any) -> None:
    one = write("a.jsonl", {"id": "1", "title": "One", "doi": "10.1000/c1", "cites": ["doi:10.1000/c2"]})
    two = write("b.jsonl", {"id": "2", "title": "Two", "doi": "10.1000/c2", "cites": ["doi:10.1000/c1"]})
    report = index.works.import_files(one, two, two, embed=False)
    assert (report.dangling, report.unchanged, report.failed) == (0, 1, ())
    assert [note.reason for note in report.noted] == ["they cite each other in a circle: a:1 → b:2"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("John Smith, Jane Doe", ("John Smith", "Jane Doe")),
        ("van der Waerden, Bartel L.", ("Bartel L. van der Waerden",)),
        ("Smith, J., Doe, A.", ("J. Smith", "A. Doe")),
        ("A. One, B. Two and C. Three", ("A. One", "B. Two", "C. Three")),
        ("King, Martin, Jr.", ("Martin King Jr.",)),
        ("Carr, J. W. and others", ("J. W. Carr",)),
        ("J. Smith et al.", ("J. Smith",)),
    ],
)
def test_names_in_one_text(text: str, names: tuple[str, ...]) -> None:
    assert people(split_names(text)) == names


def test_a_particle_that_is_dropped_is_part_of_the_name() -> None:
    told = [{"given": "Ludwig", "dropping-particle": "van", "family": "Beethoven"}, {"family": "others"}]
    assert people(told) == ("Ludwig van Beethoven",)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<jats:p>We &lt;i&gt;see&lt;/i&gt; <mml:msup><mml:mi>X</mml:mi><mml:mn>2</mml:mn></mml:msup></jats:p>",
         "We see X^2"),
        ("<msubsup><mi>x</mi><mn>1</mn><mrow><mn>2</mn><mo>+</mo><mi>k</mi></mrow></msubsup>", "x_1^2+k"),
        ("<math><semantics><mi>x</mi><annotation>\\xi</annotation></semantics></math>", "x"),
        ("a<b and c>d, R<T>, p<0.05", "a<b and c>d, R<T>, p<0.05"),
    ],
)  # fmt: skip
def test_markup_goes_and_what_only_looks_like_it_stays(text: str, plain: str) -> None:
    assert unmarked(text) == plain


def test_of_a_date_that_cannot_be_the_year_is_kept_and_a_day_too_far_ahead_is_not() -> None:
    notes = Problems()
    assert [notes.date(text) for text in ("2020-13", "May 2020", "2011-03-00")] == ["2020", "2020", "2011-03"]
    assert [notes.year(value) for value in ("in press", "May 1999", 1999.0)] == [None, 1999, 1999]
    ahead = datetime.now(UTC) + timedelta(days=400)
    assert notes.date(ahead.replace(month=12, day=31).date().isoformat()) is None
    assert len(notes) == 5


def test_codes_of_a_classification_are_taken_apart() -> None:
    assert codes("MSC 2010: Primary 14F05 (18G40 55Nxx); secondary: 14-02") == ["14F05", "18G40", "55Nxx", "14-02"]


def test_a_key_that_is_an_identifier_names_the_work(write: Any) -> None:
    record: dict[str, Any] = {
        "id": "10.1000/x",
        "title": "T",
        "text": "x",
        "msc": "14F05 (14A15)",
        "authors": "A. One, B. Two",
    }
    record["cites"] = [{"doi": "10.1000/y"}]
    entries, _ = _read(write("a.jsonl", record))
    assert entries["10.1000/x"].work == Work(
        "T", "x", ("A. One", "B. Two"), identifiers=(Identifier("doi", "10.1000/x"),),
        tags=(Tag("msc", "14F05"), Tag("msc", "14A15")), citations=(Link("doi:10.1000/y"),),
    )  # fmt: skip


def test_subjects_of_a_record_are_its_subjects_in_any_form(index: Index, write: Any) -> None:
    index.works.import_files(
        write(
            "subjects.jsonl",
            {"id": 1, "title": "Links and knots", "license": "cc0", "subjects": ["math.GT", "57M25", "knot theory"]},
            {"id": 2, "title": "Braids and knots", "license": "cc0", "subjects": "math.GT; msc:20F36"},
            {"id": 3, "title": "Fields and knots", "license": "cc0", "subjects": {"arxiv": ["hep-th"]}},
            {"id": 4, "title": "Knots in ropes", "license": "cc0"},
        ),
        embed=False,
    )
    assert set(index.works.get("subjects:1").work.tags) == {
        Tag("arxiv", "math.GT"),
        Tag("keyword", "knot theory"),
        Tag("msc", "57M25"),
    }
    found = {
        subject: index.retrieve("knots", filter={"subjects": subject}) for subject in ("math.GT", "20F36", "hep-th")
    }
    titles = {subject: {hit.title for hit in each.reranked} for subject, each in found.items()}
    assert titles == {
        "math.GT": {"Links and knots", "Braids and knots"},
        "20F36": {"Braids and knots"},
        "hep-th": {"Fields and knots"},
    }
