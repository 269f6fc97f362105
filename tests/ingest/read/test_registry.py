"""Which reader takes a file, and what becomes of files that none can read."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import Unreadable
from rifflux.ingest.read import FORMATS, SUFFIXES, File, read, reader_for
from rifflux.types import Failure, Parsed
from tests.support.exploring import examples
from tests.support.files import make_docx, make_pdf, make_pptx, make_xlsx

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
OFFICE_BEHIND_PASSWORD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le")


def test_every_suffix_has_a_format_and_every_format_a_reader() -> None:
    assert set(SUFFIXES.values()) <= set(FORMATS)
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in SUFFIXES)
    for suffix in SUFFIXES:
        assert callable(reader_for(f"a{suffix}", b""))


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("photo.png", PNG),
        ("photo", PNG),
        ("a.zip", b"PK\x03\x04"),
        ("program", b"\x7fELF\0"),
        ("odd.xyz", b"a\0b\0c\0"),
        ("empty.xyz", b""),
        ("index.db", b"SQLite format 3\0"),
        ("index.db", b"any text at all"),
        ("logo.svg", b"<svg></svg>"),
    ],
)
def test_there_is_nothing_to_read_in(path: str, head: bytes) -> None:
    assert reader_for(path, head) is None
    with pytest.raises(Unreadable, match="which is not indexed"):
        read(File(path, head))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("README", "text"),
        ("LICENSE", "text"),
        ("notes.org", "text"),
        ("Makefile", "code"),
        ("sub/Dockerfile", "code"),
        ("A.MD", "markdown"),
        ("a.py", "code"),
    ],
)
def test_text_is_read_whatever_it_is_called(path: str, kind: str) -> None:
    data = "Wörter zu finden.\n".encode()
    assert reader_for(path, data) is not None
    (part,) = read(File(path, data))
    assert isinstance(part, Parsed)
    assert part.document.kind == kind
    assert "Wörter" in part.document.text


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.docx", PNG, "says .docx but holds a PNG image"),
        ("a.docx", b"only text", "says .docx but holds text"),
        ("a.docx", make_xlsx({"a": [["x"]]}), "could not be read as docx.*not a Word file"),
        ("a.docx", OFFICE_BEHIND_PASSWORD, "is encrypted: save a copy"),
        ("a.xlsx", OFFICE_BEHIND_PASSWORD, "is encrypted: save a copy"),
        ("a.pdf", b"<html>Not found</html>", "says .pdf but holds text"),
        ("a.pdf", make_docx(), "says .pdf but holds a ZIP archive"),
        ("a.md", PNG, "says .md but holds a PNG image"),
        ("a.md", b"text\0with\0zeros", "binary"),
        ("a.html", make_pdf([["x"]]), "says .html but holds a PDF"),
        ("a.pdf", b"", "is empty"),
        ("a.docx", b"", "is empty"),
        ("a.ipynb", b" \n", "is empty"),
        ("a.docx", make_docx()[:900], "broken or cut off"),
        ("a.pptx", make_pptx()[:-30], "broken or cut off"),
        ("a.xlsx", make_xlsx({"a": [["x"]]})[:-30], "broken or cut off"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "could not be read as spreadsheet"),
    ],
)
def test_the_reason_is_told(path: str, data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as told:
        read(File(path, data))
    assert "0x" not in str(told.value)


@pytest.mark.parametrize("path", ["a.md", "a.txt", "a.html", "a.py", "a.rst"])
def test_an_empty_text_is_an_empty_document(path: str) -> None:
    (part,) = read(File(path, b""))
    assert isinstance(part, Parsed)
    assert (part.document.text, part.blocks) == ("", ())


def test_no_document_holds_what_a_database_refuses() -> None:
    (part,) = read(File("a.jsonl", rb'{"_id": "a", "title": "\ud83d", "text": "x\u0000y\udc00z"}'))
    assert isinstance(part, Parsed)
    assert part.document.text == "x y\ufffdz"
    assert part.document.title.encode()


def test_a_library_is_imported_only_when_its_files_come() -> None:
    heavy = ["lxml", "pypdfium2", "docx", "pptx", "python_calamine", "nbformat"]
    code = f"import sys, rifflux.ingest.read; print([name for name in {heavy} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


WHOLE = {
    ".pdf": make_pdf([["Some words."]]),
    ".docx": make_docx(),
    ".pptx": make_pptx(),
    ".xlsx": make_xlsx({"a": [["x", 1]]}),
    ".ipynb": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}',
    ".html": b"<main><h1>x</h1><table><tr><td>1</table><ul><li>y",
    ".jsonl": b'{"id": 1, "text": "x", "links": ["y"]}\n{"id": 2}',
    ".json": b'[{"id": 1, "text": "x"}]',
    ".eml": b"From: a@b\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nhello\n--x--",
    ".mbox": b"From a@b Fri Mar 1\nSubject: x\n\nhello\n",
}


def sound(path: str, data: bytes) -> None:
    """Reading ends in `Unreadable` or in blocks that lie in the text, in order, apart."""
    try:
        parts = read(File(path, data))
    except Unreadable as error:
        assert "\n" not in str(error)  # noqa: PT017 (both outcomes are right)
        return
    for part in parts:
        if isinstance(part, Failure):
            continue
        position = 0
        for block in part.blocks:
            assert position <= block.start < block.end <= len(part.document.text)
            position = block.end


@examples(150)
@given(suffix=st.sampled_from(sorted(SUFFIXES)), data=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(suffix: str, data: bytes) -> None:
    sound(f"a{suffix}", data)


@examples(200)
@given(data=st.data(), suffix=st.sampled_from(sorted(WHOLE)))
def test_damaged_files_are_read_or_refused(data: st.DataObject, suffix: str) -> None:
    whole = bytearray(WHOLE[suffix])
    place = st.integers(0, len(whole) - 1)
    for position, byte in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=5)):
        whole[position] = byte
    sound(f"a{suffix}", bytes(whole[: data.draw(st.integers(1, len(whole)))]))
