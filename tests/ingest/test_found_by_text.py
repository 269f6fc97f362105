"""A file of each format is indexed from a folder and found by what stands in it, from Python and from the shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Index
from tests.support.files import make_docx, make_mail, make_notebook, make_pdf, make_pptx, make_xlsx

#: File name, what is asked, and words of the passage that must come first.
QUESTIONS = [
    ("report.pdf", "albatross sightings", "albatross"),
    ("handbook.docx", "how long do entries live", "ten minutes"),
    ("design.pptx", "evict the oldest", "Evict the oldest"),
    ("birds.xlsx", "wingspan of the kestrel", "kestrel"),
    ("method.ipynb", "def lifetime", "lifetime"),
    ("letter.eml", "ferry timetable", "ferry"),
    ("page.html", "lighthouse keeper", "lighthouse"),
    ("manual.rst", "calibrating the sextant", "sextant"),
    ("engine.py", "compute buoyancy", "compute_buoyancy"),
    ("records.jsonl", "marmot burrows", "marmot"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each format."""
    folder = tmp_path_factory.mktemp("formats")
    contents: dict[str, bytes] = {
        "report.pdf": make_pdf([["An empty first page."], ["Two albatross sightings", "were recorded in May."]]),
        "handbook.docx": make_docx(),
        "design.pptx": make_pptx(),
        "birds.xlsx": make_xlsx({"Birds": [["name", "wingspan"], ["kestrel", 76], ["osprey", 150]]}),
        "method.ipynb": make_notebook(),
        "letter.eml": make_mail("Timetable", "The ferry leaves at noon, says the ferry timetable."),
        "page.html": b"<html><body><main><h1>Coast</h1><p>The lighthouse keeper writes a long letter every evening "
        b"and sends it with the boat on Monday.</p></main></body></html>",
        "manual.rst": b"Manual\n======\n\nCalibrating\n-----------\n\nTurn the screw of the sextant.\n",
        "engine.py": b'def compute_buoyancy(volume):\n    """How much it lifts."""\n    return volume * 9.81\n',
        "records.jsonl": b'{"_id": "m1", "title": "Marmots", "text": "The marmot burrows in the meadow."}\n',
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def db(folder: Path) -> Path:
    """An index of the folder."""
    path = folder / ".rifflux" / "index.db"
    with rifflux.open(path, model="hash") as index:
        report = index.add(folder)
    assert (report.failed, report.skipped) == ((), ())
    assert report.indexed_files == len(QUESTIONS)
    return path


@pytest.fixture(scope="module")
def formats(db: Path) -> Iterator[Index]:
    with rifflux.open(db, create=False) as index:
        yield index


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(("name", "query", "words"), QUESTIONS, ids=[name for name, *_ in QUESTIONS])
def test_it_is_found_by_its_text(formats: Index, mode: str, name: str, query: str, words: str) -> None:
    best = formats.search(query, mode=mode)[0]
    assert best.path == name
    assert words in best.text


@pytest.mark.parametrize(("name", "query", "words"), QUESTIONS[:5], ids=[name for name, *_ in QUESTIONS[:5]])
def test_it_is_found_from_the_shell(run: Any, db: Path, name: str, query: str, words: str) -> None:
    best = run.json("search", query, "--db", db)["results"][0]
    assert best["path"] == name
    assert words in best["text"]


def test_the_span_of_a_hit_is_where_its_text_stands_in_the_document(formats: Index) -> None:
    for name, query, _ in QUESTIONS:
        hit = next(hit for hit in formats.search(query) if hit.path == name)
        start, end = hit.span
        text = formats.document(hit.key).text
        assert text[start:end].strip()
        assert hit.text.endswith(text[start:end].strip()) or hit.text.strip() == text[start:end].strip()
