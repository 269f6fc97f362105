"""An exported bibliography is read back as the works it was made of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import rifflux
from rifflux import Index
from rifflux.errors import InvalidArgument, NotFound
from rifflux.types import Identifier, Tag
from rifflux.works import Work
from rifflux.works.export import bibtex, csl
from rifflux.works.importers.base import WorkSource
from rifflux.works.importers.bibtex import read
from rifflux.works.model import cite_keys
from tests.support.exploring import examples

WORK = Work(
    title="Sheaves & schemes: 100% of $\\mathcal{O}_X$",
    abstract="On C_n and {braces}.",
    authors=("Jean-Pierre Serre", "Bourbaki"),
    year=1955,
    date="1955-03",
    venue="Annals",
    identifiers=(Identifier("arxiv", "math/0102001"), Identifier("doi", "10.2307/1969915")),
    tags=(Tag("keyword", "sheaves"), Tag("msc", "14F05")),
    license="CC-BY-4.0",
    kind="article",
)
TOLD = ("title", "abstract", "authors", "year", "date", "venue", "license", "kind")


@pytest.mark.parametrize("format", ["bibtex", "csl"])
def test_what_is_exported_can_be_imported(index: Index, write: Any, format: str) -> None:
    index.works.add(WORK, source="mine", embed=False)
    exported = index.works.export("doi:10.2307/1969915", format=format)
    path = write("refs.bib" if format == "bibtex" else "refs.json", exported)
    with rifflux.open(":memory:", model="hash:64") as other:
        report = other.works.import_files(path, source="refs", embed=False)
        assert (report.added, report.failed, report.noted) == (1, (), ())
        back = other.works.get("refs:serre1955sheaves").work
    told = [name for name in TOLD if name != "kind" or format == "bibtex"]
    assert [getattr(back, name) for name in told] == [getattr(WORK, name) for name in told]
    assert set(back.identifiers) >= set(WORK.identifiers)
    assert Tag("keyword", "sheaves") in back.tags


text = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=20)


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=text, author=text, venue=text)
def test_no_title_breaks_a_bibliography(write: Any, title: str, author: str, venue: str) -> None:
    works = [Work(title, authors=(author,), venue=venue, year=2000), Work("The next", year=2001)]
    path = write("refs.bib", *(bibtex(work, f"key{number}") for number, work in enumerate(works)))
    keys = [getattr(each, "key", None) for each in read(WorkSource(path, "refs", str))]
    assert "key1" in keys


def test_keys_to_cite_by_are_unlike_each_other() -> None:
    works = [WORK, WORK, Work("A of it"), Work("Émile's Étude", authors=("É. Cartan",))]
    assert list(cite_keys(works)) == ["serre1955sheaves", "serre1955sheaves-2", "work", "cartanemiles"]


def test_an_abstract_without_a_license_is_not_exported(index: Index) -> None:
    index.works.add(Work("Title", "Secret words.", identifiers=(Identifier("doi", "10.1000/a"),)), embed=False)
    for format in ("bibtex", "csl"):
        assert "Secret" not in index.works.export("doi:10.1000/a", format=format)


def test_an_unknown_work_or_format_is_refused(index: Index) -> None:
    with pytest.raises(NotFound, match="source:key"):
        index.works.export("doi:10.1000/none")
    with pytest.raises(InvalidArgument, match="bibtex or csl"):
        index.works.export(format="ris")


def test_an_item_leaves_out_what_is_not_known() -> None:
    known = {"id": "k", "type": "document", "title": "Only a title", "license": "CC0-1.0"}
    assert csl(Work("Only a title", license="CC0-1.0"), "k") == known
