"""Files of strangers: read as any other, in a process that can do no harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rifflux.errors import Unreadable
from rifflux.ingest.parallel import sent as sent_files
from rifflux.ingest.parallel.apart import apart, safe_name, sent
from rifflux.ingest.parallel.sent import read_sent
from rifflux.ingest.read import File, read
from rifflux.types.limits import ReaderLimits
from tests.support.commands import PATIENCE
from tests.support.files import make_docx, make_mail, make_notebook, make_pdf, make_pptx, make_xlsx

FILES = {
    "a.pdf": make_pdf([["The heron", "stands."], ["In the river."]]),
    "a.docx": make_docx(),
    "a.pptx": make_pptx(),
    "a.xlsx": make_xlsx({"Birds": [["name", "legs"], ["heron", 2]]}),
    "a.ipynb": make_notebook(),
    "a.eml": make_mail("Herons", "They stand in the river."),
    "a.md": b"---\naliases: [Heron]\n---\n# Birds\n\nThe heron stands.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "a.py": b"def stands(heron):\n    return True\n",
    "a.html": b"<html><body><main><h1>Birds</h1><p>The heron stands in the river.</p></main></body></html>",
    "a.jsonl": b'{"_id": "x", "text": "heron", "links": [{"key": "y"}]}\n{"text": "two"}\nnot JSON\n',
}


def call(name: str, path: Path, **limits: float) -> object:
    return apart(f"tests.support.strange:{name}", path, ReaderLimits(**limits))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("the content")
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_apart_as_it_is_read_here(name: str) -> None:
    here = read(File(name, FILES[name]))
    assert read_sent(name, FILES[name]) == here


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pdf", make_pdf([["x"]], encrypted=True), "is encrypted"),
        ("a.pdf", b"%PDF-1.7 cut off", "broken or cut off"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "a PNG image, which is not read: send text, or one of"),
        ("a.docx", b"", "is empty"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_sent(name, data)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hang", r"given up after 1 s .* split it"),
        ("compute", r"given up after 1 s .* split it"),
        ("stop", "ended the process .* split it"),
        ("fill", "takes more than 256 MB of memory .* split it"),
        ("flood", "ended the process .* 1 MB of text"),
        ("none", "ended the process"),
    ],
)
def test_what_exceeds_its_limits_is_ended(name: str, reason: str, path: Path) -> None:
    seconds = 1 if name == "hang" else PATIENCE
    processor_s = 1 if name == "compute" else 30
    with pytest.raises(Unreadable, match=reason):
        call(name, path, seconds=seconds, processor_s=processor_s, memory_mb=256, answer_mb=1)


def test_time_in_which_others_compute_is_not_counted(path: Path) -> None:
    assert call("dawdle", path, processor_s=1) == "the content"


def test_what_a_library_prints_is_no_answer(path: Path) -> None:
    assert call("prints", path) == "the content"


def test_the_process_knows_no_secrets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIFFLUX_API_KEY", "secret")
    found = call("environment", path)
    assert isinstance(found, list)
    assert "RIFFLUX_API_KEY" not in found
    assert "here" not in found


@pytest.mark.parametrize("answer", [[{"document": 1}], [{"odd": 1}], 7, [{"document": {}, "blocks": []}], None])
def test_an_answer_that_is_no_document_is_none(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_files, "apart", lambda *_: json.loads(json.dumps(answer)))
    with pytest.raises(Unreadable, match="did not return a document"):
        read_sent("a.txt", b"text")


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ann\\a.docx", "a.docx"),
        ("..", "file"),
        ("", "file"),
        ("a\0b\n.md", "a_b_.md"),
        (".bashrc", "bashrc"),
        ("x" * 300 + ".pdf", "x" * 196 + ".pdf"),
        ("ü" * 300, "ü" * 100),
        ("half\ud800.txt", "half_.txt"),
    ],
)
def test_names_are_made_safe(given: str, safe: str) -> None:
    assert safe_name(given) == safe
    with sent(given, b"x") as path:
        assert path.name == safe
        assert path.read_bytes() == b"x"
    assert not path.parent.exists()
