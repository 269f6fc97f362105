"""What reference managers and catalogs export: RIS, Zotero RDF, and answers of Crossref, Semantic Scholar, OpenAlex."""

from __future__ import annotations

import json

import pytest

from rifflux.index import Index
from tests.works.conftest import Write

RIS = """TY  - JOUR
TI  - A paper of
  two lines
AU  - Dijkstra, E. W.
AU  - Knuth, Donald
PY  - 1974/05//
JO  - CACM
DO  - 10.1145/361179
KW  - goto
AB  - Abstract here.
ER  -

TY  - BOOK
T1  - A book
A1  - Serre, J.-P.
Y1  - 1979
SN  - 978-0-387-98403-2
ID  - serre79
ER  -
TY  - JOUR
AU  - No, Title
ER  -
TY  - JOUR
TI  - Cut off
"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:z="http://www.zotero.org/namespaces/export#"
 xmlns:dcterms="http://purl.org/dc/terms/" xmlns:bib="http://purl.org/net/biblio#" xmlns:foaf="http://xmlns.com/foaf/0.1/"
 xmlns:dc="http://purl.org/dc/elements/1.1/">
<bib:Article rdf:about="#item_1"><z:itemType>journalArticle</z:itemType><dcterms:isPartOf rdf:resource="urn:issn:1"/>
 <bib:authors><rdf:Seq><rdf:li><foaf:Person><foaf:surname>Gödel</foaf:surname><foaf:givenName>Kurt</foaf:givenName>
 </foaf:Person></rdf:li></rdf:Seq></bib:authors><dc:title>Über Sätze</dc:title><dcterms:abstract>Text</dcterms:abstract>
 <dc:date>1931</dc:date><dc:subject><z:AutomaticTag><rdf:value>logic</rdf:value></z:AutomaticTag></dc:subject>
 <dc:identifier>DOI 10.1007/BF01700692</dc:identifier><dc:rights>CC BY 4.0</dc:rights></bib:Article>
<bib:Journal rdf:about="urn:issn:1"><dc:title>Monatshefte</dc:title><dc:identifier>ISSN 1</dc:identifier></bib:Journal>
<z:Attachment rdf:about="#item_9"><z:itemType>attachment</z:itemType><dc:title>Full Text</dc:title></z:Attachment>
</rdf:RDF>"""
OPENALEX = {
    "id": "https://openalex.org/W2741809807",
    "display_name": "A work",
    "authorships": [
        {"author": {"id": "https://openalex.org/A5023888391", "display_name": "Ann Able", "orcid": "https://orcid.org/0000-0002-1825-0097"}}
    ],
    "publication_year": 2018,
}  # fmt: skip
PAPER = {
    "paperId": "abc",
    "externalIds": {"DOI": "10.1234/x", "ArXiv": "2101.00001", "CorpusId": 1},
    "title": "Deep things",
    "abstract": "About.",
    "authors": [{"authorId": "1", "name": "Bo Best"}],
    "year": 2021,
    "publicationDate": "2021-02-03",
    "venue": "NeurIPS",
    "references": [{"paperId": "def", "externalIds": {"DOI": "10.1145/361179"}}, {"paperId": "ghi"}],
    "openAccessPdf": {"url": "https://example.org", "license": "CCBY"},
}
CROSSREF = {
    "DOI": "10.5555/z",
    "title": ["Cross"],
    "author": [{"given": "C.", "family": "Crane", "ORCID": "http://orcid.org/0000-0001-2345-6789"}],
    "issued": {"date-parts": [[2001, 2]]},
    "container-title": ["Acta"],
    "type": "journal-article",
    "reference": [{"DOI": "10.1234/x", "key": "1"}, {"unstructured": "no DOI"}],
    "license": [{"URL": "https://creativecommons.org/licenses/by/4.0/", "content-version": "vor"}],
}


def test_ris_is_read_with_its_places(index: Index, write: Write) -> None:
    report = index.works.import_files(write("library/shelf.ris", RIS))
    assert (report.added, report.sources) == (3, ("shelf",))
    assert [(each.path.rpartition(":")[2], each.reason) for each in report.failed[:1]] == [("20", "it has no title")]
    assert "ER" in report.failed[1].reason
    paper = index.works.get("10.1145/361179").work
    assert (paper.title, paper.authors) == ("A paper of two lines", ("E. W. Dijkstra", "Donald Knuth"))
    assert (paper.date, paper.year, paper.venue, paper.kind) == ("1974-05", 1974, "CACM", "article")
    assert [str(each) for each in paper.identifiers] == ["doi:10.1145/361179"]
    book = index.works.get("978-0-387-98403-2").work
    assert (book.title, book.authors, book.year) == ("A book", ("J.-P. Serre",), 1979)
    assert index.works.get("shelf:serre79").work.title == "A book"


def test_zotero_rdf_is_read(index: Index, write: Write) -> None:
    report = index.works.import_files(write("library.rdf", RDF), source="zotero")
    assert (report.added, report.failed) == (1, ())
    work = index.works.get("doi:10.1007/BF01700692").work
    assert (work.title, work.authors, work.year, work.venue) == ("Über Sätze", ("Kurt Gödel",), 1931, "Monatshefte")
    assert (work.license, work.abstract, [tag.value for tag in work.tags]) == ("CC-BY-4.0", "Text", ["logic"])


@pytest.mark.parametrize("name", ["answer.json", "answers.jsonl"])
def test_semantic_scholar_is_read(index: Index, write: Write, name: str) -> None:
    index.works.import_files(write("shelf.ris", RIS))
    given = {"total": 1, "data": [PAPER]} if name.endswith(".json") else PAPER
    index.works.import_files(write(name, json.dumps(given)), source="s2")
    found = index.works.get("s2:abc")
    assert (found.work.title, found.work.authors, found.work.venue) == ("Deep things", ("Bo Best",), "NeurIPS")
    assert [str(each) for each in found.work.identifiers] == ["arxiv:2101.00001", "doi:10.1234/x", "s2:abc"]
    assert (found.work.license, found.work.date) == ("CC-BY", "2021-02-03")
    assert [hit.title for hit in found.cites] == ["A paper of two lines"]


@pytest.mark.parametrize("message", [{"items": [CROSSREF]}, CROSSREF])
def test_answers_of_crossref_are_read(index: Index, write: Write, message: object) -> None:
    index.works.import_files(write("s2.jsonl", PAPER))
    index.works.import_files(write("answer.json", json.dumps({"status": "ok", "message": message})))
    found = index.works.get("10.5555/z")
    assert (found.work.authors, found.work.author_ids) == (("C. Crane",), ("orcid:0000-0001-2345-6789",))
    assert (found.work.license, [hit.title for hit in found.cites]) == ("CC-BY-4.0", ["Deep things"])
    assert [hit.title for hit in index.retrieve("text", filter={"authors": "0000-0001-2345-6789"}).reranked] == [
        "Cross"
    ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.ris", "nothing", "no RIS record"),
        ("a.rdf", "<a>", "not well-formed XML"),
        ("a.rdf", "<a/>", "no Zotero item"),
        ("a.rdf", '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "no Zotero item"),
    ],
)
def test_what_is_no_such_file_is_told(index: Index, write: Write, name: str, text: str, reason: str) -> None:
    report = index.works.import_files(write(name, text))
    assert report.added == 0
    assert reason in report.failed[0].reason
    assert "root:" not in str(report)


def test_a_file_called_as_a_scheme_lists_no_identifier_twice(index: Index, write: Write) -> None:
    report = index.works.import_files(write("openalex.json", json.dumps({"results": [OPENALEX]})))
    assert report.sources == ("openalex-json",)
    (listed,) = index.works.all()
    assert listed.identifiers == ("openalex:W2741809807",)
    assert [str(each) for each in index.works.get("W2741809807").work.identifiers] == ["openalex:W2741809807"]
    assert index.works.get("openalex-json:W2741809807").work.author_ids == (
        "orcid:0000-0002-1825-0097 openalex:A5023888391",
    )
    again = index.works.import_files(write("openalex.json", json.dumps({"results": [OPENALEX]})))
    assert (again.unchanged, again.added) == (1, 0)


def test_a_long_series_is_no_work_many_times(index: Index, write: Write) -> None:
    series = [{"_id": f"p{n}", "title": f"Algorithm {n}", "authors": ["Smith, J."], "year": 1960} for n in range(40)]
    report = index.works.import_files(write("series.jsonl", *series), source="series")
    assert (report.added, report.merged) == (40, 0)
