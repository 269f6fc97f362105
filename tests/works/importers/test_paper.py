"""Papers as PDF: what of a work is recognized on pages of several kinds, and what is told where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rifflux import Index
from rifflux.types import Identifier, Link
from rifflux.works.importers import read_works
from rifflux.works.importers.base import Entry, WorkSource
from rifflux.works.importers.paper.references import link_of, title_of
from tests.support.papers import BOLD, ITALIC, Set, centered, column, typeset

ABSTRACT = (
    "Herons that hunt at night catch more fish than those that hunt by day, though fewer of them do so. We count both "
    "kinds at four rivers over three seasons, and explain the difference by the light of the moon."
)
WAITING = (
    "A heron waits in shallow water until a fish comes near, and strikes with a precision that needs patience. Young "
    "birds miss two times of three, as a long-standing observation says, and learn the angle of refraction slowly. "
)
COUNTING = "We counted strikes from a hide on the western bank, where the observers were not seen by any of the birds. "
TITLE = ["The Patience of Herons", "in Rivers without Moonlight"]
BRACKETED = [
    "[1] A. Lee and B. Ober. Striking fish through a bent surface of water. In Proceedings of Waders, 2001.",
    "[2] C. Ruiz. “Moonlight and the feeding of night birds,” Annals of Rivers, vol. 3, 1999. doi:10.1000/night",
    "[3] D. Quist. Personal communication, 2003.",
]
NUMBERED = [
    "1. Lee, A., Ober, B.: Striking fish through a bent surface of water. In: Wading Society, pp. 3-9 (2001)",
    "2. Ruiz, C.: Moonlight and the feeding of night birds. Annals of Rivers 3, 1-9 (1999)",
    "3. Quist, D.: A census of birds that wade in the rivers of the north. arXiv:2101.00001 (2021)",
]
DATED = [
    "Lee, A. and Ober, B. (2001). Striking fish through a bent surface of water. In Proceedings of the Wading Society.",
    "Quist, D. (2021). A census of birds that wade in the rivers of the north. Annals of Rivers 12, 40-71.",
    "Ruiz, C. (1999). Moonlight and the feeding of night birds. Annals of Rivers 3, 1-9.",
]
LEFT, RIGHT, WIDE = 54, 317, 240


def head(number: int) -> list[Set]:
    """The running head of a page."""
    return [Set("Annals of Waterside Studies", 54, 760, 8, ITALIC), Set(str(number), 540, 760, 8)]


def two_columns(references: Sequence[str] = BRACKETED) -> list[list[Set]]:
    """A paper like those of conferences: title and authors across, the rest in two columns, notes at the foot."""
    front = [
        *head(1),
        *centered(TITLE, 710, 16, BOLD),
        *centered(["Anna Lee, Jürgen Ober* and Carla M. Ruiz"], 660, 10),
        *centered(["Institute of Rivers, University of the North"], 646, 9, ITALIC),
    ]
    left = column(
        ["# Abstract", ABSTRACT, "# 1. Introduction", WAITING * 3 + "The left column ends in the middle of a"],
        LEFT,
        600,
        WIDE,
    )
    right = column(
        [f"sentence that the right one goes on with. {WAITING}", "# 2. Methods", "# 2.1 Counting", COUNTING * 3],
        RIGHT,
        600,
        WIDE,
        indent=False,
    )
    note = column(["* Supported by the fund for wading birds. Copyright 2004 by the authors."], LEFT, 90, WIDE, 7)
    second = [
        *head(2),
        *column(["# 3. Results", WAITING * 6], LEFT, 720, WIDE),
        *column([COUNTING * 4, "# References", *references], RIGHT, 720, WIDE),
    ]
    return [[*front, *left, *note, *right], second]


def one_column(
    references: Sequence[str], *, hanging: bool = False, heads: Sequence[str] = ("1", "2", "3")
) -> list[list[Set]]:
    """A paper like those of journals and preprints: all in one column, the abstract without a heading."""
    numbers = [f"{each} " if each else "" for each in heads]
    return [
        [
            *centered(TITLE, 720, 15, BOLD),
            *centered(["Anna Lee"], 670, 10),
            *centered(["anna@example.org"], 656, 9),
            *column([ABSTRACT], 120, 620, 370, 8, indent=False),
            *column(
                [f"# {numbers[0]}Introduction", WAITING * 4, f"# {numbers[1]}Waiting birds", COUNTING * 4], 90, 560, 430
            ),
        ],
        [
            *column([f"# {numbers[2]}Counting birds", WAITING * 3, "# References"], 90, 720, 430),
            *column(references, 90, 540, 430, 9, indent=False, hanging=hanging),
        ],
    ]


def read(path: Path, data: bytes) -> Entry:
    path.write_bytes(data)
    (entry,) = read_works(WorkSource(path, "paper", lambda _: "paper"))
    assert isinstance(entry, Entry)
    return entry


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    return read(tmp_path / "herons.pdf", typeset(two_columns()))


def test_a_paper_in_two_columns_is_a_work(entry: Entry) -> None:
    work = entry.work
    assert work.title == "The Patience of Herons in Rivers without Moonlight"
    assert work.authors == ("Anna Lee", "Jürgen Ober", "Carla M. Ruiz")
    assert work.abstract == ABSTRACT
    assert work.year == 2004
    assert entry.notes == ()


def test_sections_are_headings_and_pages_are_kept(entry: Entry) -> None:
    places = [each.headings for each in entry.work.passages if each.kind == "section"]
    assert places == [
        ("1. Introduction", "page 1"),
        ("2. Methods", "2.1 Counting", "page 1"),
        ("3. Results", "page 2"),
    ]


def test_text_goes_on_from_column_to_column_without_heads_notes_and_cut_words(entry: Entry) -> None:
    first, *_, note = entry.work.passages
    assert "The left column ends in the middle of a sentence that the right one goes on with." in first.text
    assert "a long-standing observation" in first.text
    text = "\n".join(each.text for each in entry.work.passages)
    assert "Annals of Waterside" not in text
    assert "- " not in text
    assert note.kind == "note"
    assert note.text.startswith("* Supported by the fund")


def test_references_are_listed_and_name_works(entry: Entry) -> None:
    assert entry.work.metadata["references"] == BRACKETED
    assert entry.work.citations == (
        Link("title:=strikingfishthroughbentsurfaceofwater", confidence=0.9),
        Link("doi:10.1000/night"),
    )


@pytest.mark.parametrize(
    ("references", "hanging", "last"),
    [
        (NUMBERED, False, "arxiv:2101.00001"),
        (DATED, True, "title:=moonlightandfeedingofnightbirds"),
    ],
)
def test_a_paper_in_one_column(tmp_path: Path, references: list[str], hanging: bool, last: str) -> None:
    work = read(tmp_path / "herons.pdf", typeset(one_column(references, hanging=hanging))).work
    assert (work.title, work.authors, work.abstract) == (" ".join(TITLE), ("Anna Lee",), ABSTRACT)
    assert [each.headings[0] for each in work.passages] == ["1 Introduction", "2 Waiting birds", "3 Counting birds"]
    assert work.metadata["references"] == references
    assert [link.key for link in work.citations][-1] == last
    assert len(work.citations) == 3


def test_headings_without_numbers(tmp_path: Path) -> None:
    work = read(tmp_path / "herons.pdf", typeset(one_column(NUMBERED, heads=("", "", "")))).work
    assert [each.headings[0] for each in work.passages] == ["Introduction", "Waiting birds", "Counting birds"]


def test_properties_of_the_file_decide_which_large_line_is_the_title(tmp_path: Path) -> None:
    pages = two_columns()
    pages[0] = [*centered(["THE WADING SOCIETY"], 740, 20, BOLD), *pages[0]]
    assert read(tmp_path / "a.pdf", typeset(pages)).work.title == "THE WADING SOCIETY"
    stated = typeset(pages, info="/Title (The patience of herons in rivers without moonlight)")
    assert read(tmp_path / "a.pdf", stated).work.title == " ".join(TITLE)
    other = typeset(two_columns(), info="/Title (Microsoft Word - final3.doc)")
    assert read(tmp_path / "a.pdf", other).work.title == " ".join(TITLE)


def test_what_is_not_recognized_is_told(tmp_path: Path) -> None:
    plain = [column([WAITING * 6, COUNTING * 5], 90, 720, 430)]
    entry = read(tmp_path / "memo_7.pdf", typeset(plain))
    work = entry.work
    assert (work.title, work.authors, work.abstract, work.year, work.citations) == ("memo_7", (), "", None, ())
    assert [each.headings for each in work.passages] == [("page 1",)]
    assert entry.notes == (
        "not recognized: title (using its file name, 'memo_7'), authors (cannot be found by name), abstract, "
        "sections (its passages have page numbers only), references (no citations)",
    )


@pytest.mark.parametrize(
    ("reference", "title"),
    [
        ("[7] A. B. Lee, C. Ruiz, and D. Quist. A method to count herons. J. Birds, 2001.", "A method to count herons"),
        ("Lee AB, Ruiz C. Counting of herons at night. J Birds 2001;3:1-9.", "Counting of herons at night"),
        ("LEE, A. B., AND RUIZ, C. Counting of herons at night. In 11th BIRDS (1987).", "Counting of herons at night"),
        ("Lee, A., Ruiz, C.: Herons vs. storks: a comparison. In: Birds (2001)", "Herons vs. storks: a comparison"),
        ("A. Lee et al. “Herons, or the art of waiting”. Proc. of Birds. 2009.", "Herons, or the art of waiting"),
        ("[2] The Heron Project. http://herons.example.org", ""),
        ("[3] D. Quist, Phys. Lett. 76 B, 461 (1978).", ""),
        ("[4] Personal communication.", ""),
    ],
)
def test_titles_of_references(reference: str, title: str) -> None:
    assert title_of(reference) == title


def test_a_short_title_names_nothing() -> None:
    assert link_of("[1] A. Lee. On herons alone. 2001.") is None


def test_citations_lead_to_works_of_other_sources_in_any_order(index: Index, tmp_path: Path) -> None:
    paper, refs = tmp_path / "herons.pdf", tmp_path / "birds.bib"
    paper.write_bytes(typeset(two_columns()))
    refs.write_text(
        "@article{bent, title={Striking Fish Through a Bent Surface of Water}, author={Lee, A.}, year=2001}\n"
        "@article{night, title={Moonlight}, doi={10.1000/night}}\n"
        "@article{longer, title={Striking Fish Through a Bent Surface of Water, Part II}, author={Lee, A.}}\n"
    )
    for path in (paper, refs):
        index.works.import_files(path, license="CC0-1.0", embed=False)
    cited = index.works.get("herons:herons").cites
    assert sorted(hit.title for hit in cited) == ["Moonlight", "Striking Fish Through a Bent Surface of Water"]
    assert [hit.title for hit in index.works.get("birds:bent").cited_by] == [" ".join(TITLE)]
    hits = index.search("hide on the western bank", mode="lexical")
    assert {(hit.heading_path, hit.page) for hit in hits} == {
        ("2. Methods > 2.1 Counting > page 1", 1),
        ("3. Results > page 2", 2),
    }


def test_a_paper_is_the_work_that_a_list_has(index: Index, tmp_path: Path) -> None:
    paper, refs = tmp_path / "herons.pdf", tmp_path / "birds.bib"
    paper.write_bytes(typeset(two_columns()))
    refs.write_text(
        f"@article{{h, title={{{' '.join(TITLE)}}}, author={{Lee, Anna and Ober, J.}}, year=2004, doi={{10.1000/h}}}}"
    )
    index.works.import_files(refs, paper, embed=False)
    assert Identifier("doi", "10.1000/h") in index.works.get("herons:herons").work.identifiers


def test_authors_in_blocks_side_by_side_and_over_several_lines(tmp_path: Path) -> None:
    first, *others = two_columns()
    names = [
        Set("Anna Lee, Jürgen Ober,", 60, 664, 10),
        Set("and Carla M. Ruiz", 70, 652, 10),
        Set("Institute of Rivers", 60, 640, 9, ITALIC),
        Set("Dora Quist", 380, 664, 10),
        Set("Port Lake, Ruritania", 360, 652, 9, ITALIC),
    ]
    kept = [each for each in first if not 640 < each.y < 665]
    work = read(tmp_path / "a.pdf", typeset([[*kept, *names], *others])).work
    assert work.authors == ("Anna Lee", "Jürgen Ober", "Carla M. Ruiz", "Dora Quist")


def first_page(
    *, head: Sequence[str] = (), below_title: Sequence[str] = (), body: Sequence[str] = (), foot: Sequence[str] = ()
) -> list[list[Set]]:
    """A paper of one page: running head, title, author, lines below them, text, and notes in small print."""
    return [
        [
            *column(head, 54, 765, 500, 8, indent=False),
            *centered(TITLE, 720, 15, BOLD),
            *centered(["Anna Lee"], 670, 10),
            *column(below_title, 120, 650, 370, 8, indent=False),
            *column(["# Abstract", ABSTRACT, "# 1 Introduction", WAITING * 3, *body], 90, 600, 430),
            *column(foot, 90, 70, 430, 7, indent=False),
        ]
    ]


OWN, OTHERS = "10.1000/heron", "10.2307/1969915"
SERRE = "J.-P. Serre, Faisceaux algébriques cohérents, Annals of Mathematics 61 (1955)"


@pytest.mark.parametrize(
    "page",
    [
        {"head": [f"Annals of Waterside Studies 12 (2004), 1-9      doi:{OWN}"]},
        {"head": [f"Lee et al. Waterside Studies (2004) 16:99 DOI {OWN}"]},
        {"below_title": [f"https://doi.org/{OWN}"]},
        {"below_title": [f"Received: 3 May 2003 / Accepted: 9 June 2004. Published online. DOI: {OWN}"]},
        {"foot": [f"Copyright 2004 ACM 0-89791-88-6/97/05 ...$5.00. DOI: https://doi.org/{OWN}"]},
        {"foot": [f"0022-1236/$ - see front matter © 2004 Elsevier Ltd. All rights reserved. doi:{OWN}"]},
        {"foot": [f"The final publication is available at Springer via http://dx.doi.org/{OWN}"]},
        {"foot": [f"Citation: Lee A (2004) {' '.join(TITLE)}. Waterside Studies 12: 1-9. doi:{OWN}"]},
    ],
)
def test_a_doi_in_a_publishers_form_is_the_papers_own(tmp_path: Path, page: dict[str, list[str]]) -> None:
    work = read(tmp_path / "own.pdf", typeset(first_page(**page))).work
    assert work.identifier("doi") == OWN
    assert work.citations == ()


@pytest.mark.parametrize(
    "page",
    [
        {"foot": [f"* This note extends {SERRE}, doi:{OTHERS}."]},
        {"foot": [f"1 See also doi:{OTHERS}."]},
        {"foot": [f"1 doi:{OTHERS}"]},
        {"foot": [f"{SERRE}, doi:{OTHERS}"]},
        {"foot": [f"This note extends a theorem of Serre. https://doi.org/{OTHERS} has the original."]},
        {"head": [f"Comment on Annals of Mathematics 61 (1955), doi:{OTHERS}"]},
        {"below_title": [f"A reply to {SERRE}, doi:{OTHERS}"]},
        {"body": [f"We go on with {SERRE}, https://doi.org/{OTHERS}, and count."]},
        {"body": ["# References", f"[1] {SERRE}. doi:{OTHERS}"]},
        {"body": ["# References", f"{SERRE}. doi:{OTHERS}", "D. Quist. Personal communication, 2003."]},
        {"body": [f"[1] {SERRE}. doi:{OTHERS}"]},
    ],
)
def test_a_doi_that_another_work_is_mentioned_by_is_cited(tmp_path: Path, page: dict[str, list[str]]) -> None:
    work = read(tmp_path / "mention.pdf", typeset(first_page(**page))).work
    assert work.identifiers == ()
    assert Link(f"doi:{OTHERS}") in work.citations


def test_a_paper_with_both_has_its_own_and_cites_the_other(tmp_path: Path) -> None:
    page = first_page(head=[f"Waterside Studies 12 doi:{OWN}"], foot=[f"* This note extends {SERRE}, doi:{OTHERS}."])
    work = read(tmp_path / "both.pdf", typeset(page)).work
    assert work.identifiers == (Identifier("doi", OWN),)
    assert work.citations == (Link(f"doi:{OTHERS}"),)


@pytest.mark.parametrize("info", [f"/doi ({OWN})", f"/Subject (Waterside Studies, 12 \\(2004\\) 1-9. doi:{OWN})"])
def test_properties_of_the_file_tell_its_doi(tmp_path: Path, info: str) -> None:
    page = first_page(foot=[f"doi:{OTHERS}"])
    work = read(tmp_path / "stated.pdf", typeset(page, info=info)).work
    assert work.identifiers == (Identifier("doi", OWN),)
    assert work.citations == (Link(f"doi:{OTHERS}"),)


def test_several_dois_in_the_form_of_its_own_are_none_of_them_and_told(tmp_path: Path) -> None:
    entry = read(tmp_path / "two.pdf", typeset(first_page(head=[f"doi:{OWN}"], foot=[f"doi:{OTHERS}"])))
    assert entry.work.identifiers == ()
    assert entry.work.citations == ()
    assert any(OWN in note and OTHERS in note for note in entry.notes)


def test_an_arxiv_stamp_is_a_line_by_itself_and_no_reference(tmp_path: Path) -> None:
    stamp = "arXiv:math/0211159v1 [math.DG] 11 Nov 2002"
    own = read(tmp_path / "own.pdf", typeset(first_page(head=[stamp]))).work
    assert own.identifier("arxiv") == "math/0211159"
    for body in (["# References", f"[1] G. Perelman, The entropy formula. {stamp}"], [f"It follows from {stamp}."]):
        mention = read(tmp_path / "mention.pdf", typeset(first_page(body=body))).work
        assert mention.identifiers == ()


def test_a_note_that_mentions_a_work_takes_over_none_of_its_citations(index: Index, tmp_path: Path) -> None:
    note, refs = tmp_path / "note.pdf", tmp_path / "refs.bib"
    note.write_bytes(typeset(first_page(foot=[f"* This note extends {SERRE}, doi:{OTHERS}."])))
    refs.write_text(
        f"@article{{fac, title={{Faisceaux algébriques cohérents}}, author={{Serre, J.-P.}}, doi={{{OTHERS}}}}}"
    )
    index.works.import_files(note, refs, embed=False)
    serre = index.works.get(f"doi:{OTHERS}")
    assert serre.work.title == "Faisceaux algébriques cohérents"
    assert [hit.title for hit in serre.cited_by] == [" ".join(TITLE)]
    assert index.works.doubts() == []
