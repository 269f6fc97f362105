"""Hits tell the lines of their files, and a document is read by its name, or some lines of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, Index, NotFound
from rifflux.store import Placed
from rifflux.testing.making import change
from tests.support.files import make_pdf, make_pptx

CODE = "import os\n\n\ndef alpha():\n    return 1\n\n\ndef beta():\n    return 2\n"
NOTE = "---\ntitle: Cache\n---\n# Cache\n\nEntries live.\n\n## Eviction\n\nThe oldest goes.\n"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbf" + CODE.encode())
    (tmp_path / "deep" / "Cache.md").write_bytes(NOTE.replace("\n", "\r\n").encode())
    (tmp_path / "r.jsonl").write_text('{"_id": "k1", "text": "one"}\n{"_id": "k2", "text": "osprey\\nowl"}\n')
    (tmp_path / "page.html").write_text("<html>\n<body>\n<main><p>A kingfisher dives.</p></main></body></html>")
    with rifflux.open(":memory:", model="hash") as index:
        index.add(tmp_path)
        yield index


@pytest.mark.parametrize(
    ("question", "lines"), [("beta", (8, 9)), ("entries", (6, 6)), ("oldest", (10, 10)), ("osprey", None)]
)
def test_lines_are_those_of_the_file(index: Index, question: str, lines: tuple[int, int] | None) -> None:
    assert index.search(question, mode="lexical")[0].lines == lines


def test_what_is_no_text_on_the_disk_has_no_lines(index: Index) -> None:
    hit = index.search("kingfisher", mode="lexical")[0]
    assert (hit.lines, hit.page) == (None, None)


def test_hits_of_pdf_files_and_slides_have_the_page_they_begin_on(index: Index, tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(make_pdf([["A bittern booms."], [], ["A curlew calls."]]))
    (tmp_path / "deck.pptx").write_bytes(make_pptx())
    index.add(tmp_path)
    assert [hit.page for hit in index.chunks("paper.pdf")] == [1, 3]
    assert {hit.heading_path.split(":")[0]: hit.page for hit in index.chunks("deck.pptx")}.items() >= {
        ("Slide 1", 1),
    }


@pytest.mark.parametrize(("heading", "page"), [("page 12", 5), ("Slide 12", 5), ("Results", 5), ("page 12", None)])
def test_the_page_of_a_hit_is_what_its_reader_says_whatever_the_heading(
    index: Index, heading: str, page: int | None
) -> None:
    put = change("paper", "A bittern booms.", kind="pdf", metadata={"pages": 20})
    chunk = replace(put.chunks[0].chunk, headings=(heading,), page=page)
    index.admin.store.catalog.write(Placed("docs", replace(put, chunks=(replace(put.chunks[0], chunk=chunk),))))
    assert [hit.page for hit in index.chunks("paper")] == [page]


def test_chunks_tell_their_lines_too(index: Index) -> None:
    chunks = index.chunks("a.py")
    assert [chunk.lines for chunk in chunks] == [(1, 1), (4, 5), (8, 9)]
    found = index.get(chunks[-1].id)
    assert isinstance(found, rifflux.Hit)
    assert found.lines == (8, 9)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py:8-9", "def beta():\n    return 2"),
        ("a.py:1", "import os"),
        ("a.py:9-999", "    return 2\n"),
        ("deep/Cache.md:6", "Entries live."),
        ("Cache:6-6", "Entries live."),
    ],
)
def test_some_lines_of_a_document(index: Index, name: str, text: str) -> None:
    assert index.document(name).text == text


@pytest.mark.parametrize("name", ["Cache.md", "cache", "CACHE.MD", "deep/cache"])
def test_a_document_is_known_by_the_name_of_its_file(index: Index, name: str) -> None:
    assert index.document(name).key == "deep/Cache.md"


@pytest.mark.parametrize("name", ["Cahce.md", "Cash", "deep/Cach.md"])
def test_a_name_that_nothing_has_tells_what_is_like_it(index: Index, name: str) -> None:
    with pytest.raises(NotFound, match=r"did you mean deep/Cache\.md"):
        index.document(name)


def test_of_two_files_of_one_name_neither_is_meant(index: Index) -> None:
    index.add(Document("other/cache.md", "Another."))
    with pytest.raises(rifflux.InvalidArgument, match="2 documents"):
        index.document("cache")
