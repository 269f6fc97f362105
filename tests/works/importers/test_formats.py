"""Works from arXiv, OpenAlex, CSL-JSON, BibTeX and PDF, as these programs write them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rifflux import Index
from rifflux.types import Identifier, Link, Tag
from rifflux.works import Work
from rifflux.works.importers import base

ARXIV: dict[str, Any] = {
    "id": "0704.0001", "submitter": "Someone",
    "authors": "C. Bal\\'azs, E. L. Berger (ANL) and P. M. Nadolsky",
    "title": "Calculation of prompt diphoton\n  production", "comments": "37 pages",
    "journal-ref": "Phys.Rev.D76:013009,2007",
    "doi": "10.1103/PhysRevD.76.013009", "report-no": None, "categories": "hep-ph math.AG",
    "license": "http://arxiv.org/licenses/nonexclusive-distrib/1.0/",
    "abstract": "  A fully differential calculation.\n",
    "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}, {"version": "v2", "created": "x"}],
    "update_date": "2008-11-26", "authors_parsed": [["Balázs", "C.", ""], ["Berger", "E. L.", "Jr."]],
}  # fmt: skip
OPENALEX: dict[str, Any] = {
    "id": "https://openalex.org/W2741809807", "doi": "https://doi.org/10.7717/PEERJ.4375",
    "display_name": "The state of OA",
    "ids": {"openalex": "https://openalex.org/W2741809807", "pmid": "https://pubmed.ncbi.nlm.nih.gov/29456894"},
    "publication_year": 2018, "publication_date": "2018-02-13", "type": "article", "cited_by_count": 12,
    "authorships": [{"author": {"display_name": "Heather Piwowar"}}, {"author": {}}],
    "primary_location": {"source": {"display_name": "PeerJ"}, "license": "cc-by"},
    "concepts": [{"display_name": "Open access", "score": 0.9}, {"display_name": "Guess", "score": 0.1}],
    "topics": [{"display_name": "Scholarly publishing"}],
    "abstract_inverted_index": {"Open": [0, 3], "access": [1], "is": [2]},
    "referenced_works": ["https://openalex.org/W1560783210"],
    "locations": [{"landing_page_url": "https://arxiv.org/abs/1802.00001"}],
}  # fmt: skip
CSL: dict[str, Any] = {
    "id": "serre55", "type": "article-journal", "title": "Faisceaux <i>algébriques</i> cohérents",
    "author": [{"family": "Serre", "given": "Jean-Pierre"}, {"literal": "N. Bourbaki"}],
    "issued": {"date-parts": [["1955", 3]]}, "container-title": "Annals of Mathematics", "DOI": "10.2307/1969915",
    "note": "arXiv:math/0102001", "keyword": "sheaves, cohomology",
}  # fmt: skip
BIBTEX = r"""
@string{annals = "Ann. of Math."}
@article{serre55,
  title = {Faisceaux {A}lg{\'e}briques $\mathcal{O}_X$-coh\'erents}, author = {Serre, Jean-Pierre and Paul Erd{\H o}s},
  journal = annals, year = 1955, month = mar, doi = {10.2307/1969915}, keywords = {sheaves; schemes},
  eprint = {math/0102001}, archivePrefix = {arXiv}, primaryClass = {math.AG}, mrclass = {14F05 (14A15)}
}
@article{broken, title = {No end, year = 1
@book{ega, title = {EGA}, subtitle = {I}, editor = {Grothendieck, A.}, date = {1960-01/1960-02}, publisher = {IHES}}
@inbook{part, crossref = {ega}, title = {Chapter 0}}
@misc{nothing, year = {2000}}
@misc{later, title = {Announced}, year = {2999}}
"""


def _only(index: Index, path: Path, license: str | None = None) -> Work:
    report = index.works.import_files(path, license=license, embed=False)
    assert (report.added, report.failed) == (1, ())
    key = next(iter({hit.key for hit in index.search("calculation open faisceaux", mode="lexical")}))
    return index.works.get(key).work


def test_arxiv_snapshot(index: Index, write: Any) -> None:
    work = _only(index, write("arxiv-metadata-oai-snapshot.json", ARXIV))
    assert (work.title, work.abstract) == (
        "Calculation of prompt diphoton production",
        "A fully differential calculation.",
    )
    assert work.authors == ("C. Balázs", "E. L. Berger Jr.")
    assert (work.year, work.date, work.updated) == (2007, "2007-04-02", "2008-11-26")
    assert set(work.identifiers) >= {Identifier("arxiv", "0704.0001"), Identifier("doi", "10.1103/physrevd.76.013009")}
    assert work.tags == (Tag("arxiv", "hep-ph"), Tag("arxiv", "math.AG"))
    assert (work.license, work.venue) == ("arXiv-nonexclusive-distrib-1.0", "Phys.Rev.D76:013009,2007")


def test_arxiv_authors_as_text(index: Index, write: Any) -> None:
    record = {name: value for name, value in ARXIV.items() if name != "authors_parsed"}
    assert _only(index, write("a.jsonl", record)).authors == ("C. Balázs", "E. L. Berger", "P. M. Nadolsky")


@pytest.mark.parametrize("whole", [True, False])
def test_openalex_from_its_api_and_its_snapshot(index: Index, write: Any, tmp_path: Path, whole: bool) -> None:
    if whole:
        path = write("works.json", {"meta": {"count": 1}, "results": [OPENALEX]})
    else:
        path = tmp_path / "part_000.gz"
        path.write_bytes(gzip.compress(json.dumps(OPENALEX).encode() + b"\n"))
        path = path.rename(tmp_path / "part_000.jsonl.gz")
    work = _only(index, path)
    assert (work.title, work.abstract) == ("The state of OA", "Open access is Open")
    assert (work.authors, work.venue, work.license) == (("Heather Piwowar",), "PeerJ", "CC-BY")
    named = {"openalex:W2741809807", "doi:10.7717/peerj.4375", "pmid:29456894", "arxiv:1802.00001"}
    assert set(map(str, work.identifiers)) >= named
    assert work.tags == (Tag("openalex", "Scholarly publishing"), Tag("openalex", "Open access"))  # the primary first
    assert work.citations == (Link("openalex:W1560783210"),)


def test_csl_json(index: Index, write: Any) -> None:
    work = _only(index, write("zotero.json", json.dumps([CSL])), license="MIT")
    assert (work.title, work.authors) == ("Faisceaux algébriques cohérents", ("Jean-Pierre Serre", "N. Bourbaki"))
    assert (work.date, work.venue, work.kind) == ("1955-03", "Annals of Mathematics", "article-journal")
    assert set(map(str, work.identifiers)) >= {"doi:10.2307/1969915", "arxiv:math/0102001"}
    assert work.tags == (Tag("keyword", "cohomology"), Tag("keyword", "sheaves"))


def test_bibtex(index: Index, write: Any) -> None:
    report = index.works.import_files(write("library.bib", BIBTEX), source="bib", license="MIT", embed=False)
    assert report.added == 4
    assert [failure.path.rpartition(":")[2] for failure in report.failed] == ["11", "8"]
    assert "'nothing' has no title" in report.failed[0].reason
    assert any("2999" in note.reason for note in report.noted)
    work = index.works.get("bib:serre55").work
    assert work.title == r"Faisceaux Algébriques $\mathcal{O}_X$-cohérents"
    assert work.authors == ("Jean-Pierre Serre", "Paul Erdős")
    assert (work.date, work.venue, work.kind) == ("1955-03", "Ann. of Math.", "article")
    assert set(map(str, work.identifiers)) == {"doi:10.2307/1969915", "arxiv:math/0102001", "bib:serre55"}
    assert set(work.tags) == {
        Tag("keyword", "sheaves"), Tag("keyword", "schemes"), Tag("arxiv", "math.AG"),
        Tag("msc", "14F05"), Tag("msc", "14A15"),
    }  # fmt: skip
    ega = index.works.get("bib:ega")
    assert (ega.work.title, ega.work.date, ega.work.authors) == ("EGA: I", "1960-01", ("A. Grothendieck",))
    assert [hit.key for hit in ega.cited_by] == ["part"]


def test_one_work_told_by_all_formats_is_one(index: Index, write: Any) -> None:
    arxiv = {**ARXIV, "id": "math/0102001", "title": "Faisceaux algébriques cohérents", "doi": None}
    openalex = {
        **OPENALEX,
        "doi": "10.2307/1969915",
        "display_name": "Faisceaux algebriques coherents",
        "locations": [],
    }
    paths = [
        write("a.json", json.dumps([arxiv])),
        write("o.json", json.dumps([openalex])),
        write("c.json", json.dumps([CSL])),
        write("b.bib", BIBTEX.partition("@article{broken")[0]),
    ]
    index.works.import_files(*paths, embed=False)
    assert index.status().documents == 1
    work = index.works.get("math/0102001").work
    assert work.sources == ("a", "b", "c", "o")
    assert work.license == "CC-BY AND arXiv-nonexclusive-distrib-1.0"
    assert index.works.import_files(*reversed(paths), embed=False).unchanged == 4


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("x.json", "{not json", "not valid JSON"),
        ("x.json", '"text"', "no list of works"),
        ("x.bib", "no entry at all", "no BibTeX entry"),
        ("x.pdf", "%PDF-1.4 broken", "PDF"),
        ("x.json", json.dumps([{**ARXIV, "title": ""}]), "no title"),
        ("x.json", json.dumps([{**OPENALEX, "id": "W"}]), "not an OpenAlex identifier"),
    ],
)
def test_what_cannot_be_read_is_told(index: Index, write: Any, name: str, text: str, reason: str) -> None:
    report = index.works.import_files(write(name, text), embed=False)
    assert report.added == 0
    assert reason in report.failed[0].reason


def test_a_file_that_is_too_large_is_told_and_not_read(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "huge.pdf"
    with path.open("wb") as file:
        file.truncate(200 * 2**20)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    report = index.works.import_files(path, embed=False)
    assert report.failed[0].reason == f"is 200 MB and over the limit of {base.LARGEST // 2**20} MB: split it"


def test_a_pdf_shows_title_abstract_and_stamp(index: Index, tmp_path: Path) -> None:
    lines = [
        "arXiv:2101.00001v2 [math.AG] 5 Jan 2021", "", "On the cohomology of things", "", "A. Author", "",
        "Abstract. We prove a result on things.", "", "1. Introduction", "", "Things are cohomological.",
    ]  # fmt: skip
    path = tmp_path / "paper.pdf"
    path.write_bytes(_pdf(lines))
    report = index.works.import_files(path, license="CC0-1.0", embed=False)
    assert (report.added, report.failed) == (1, ())
    work = index.works.get("2101.00001").work
    assert (work.abstract, work.year) == ("We prove a result on things.", 2021)
    assert work.title == "On the cohomology of things"
    assert work.tags == (Tag("arxiv", "math.AG"),)
    (hit, *_) = index.search("introduction", mode="lexical")
    assert (hit.heading_path, hit.page) == ("1. Introduction > page 1", 1)


def _pdf(lines: list[str]) -> bytes:
    """A PDF of one page with these lines; an empty one leaves a wide gap."""
    drawn = "".join(
        f"BT /F1 12 Tf 50 {750 - 20 * number} Td ({line}) Tj ET\n" for number, line in enumerate(lines) if line
    )
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(drawn)}>>\nstream\n{drawn}endstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, offsets = "%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 6\n0000000000 65535 f \n{table}{trailer}".encode()
