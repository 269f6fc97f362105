"""A file of works that somebody sends gives what that file gives."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Index, InvalidArgument, ModelError, Unreadable, WorksReport
from rifflux.store import Selection
from rifflux.testing import everything
from rifflux.types import Failure
from tests.support.files import make_pdf

RECORDS = [
    {"_id": "a", "title": "Rivers", "abstract": "Of rivers.", "authors": ["Able, Ann"], "year": 1990, "cites": ["b"]},
    {"_id": "b", "title": "Herons", "abstract": "Of herons.", "doi": "10.1000/b", "categories": "math.AG"},
]
LINES = "\n".join(map(json.dumps, RECORDS))
FILES = {
    "list.jsonl": f"{LINES}\nno JSON\n".encode(),
    "packed.jsonl.gz": gzip.compress(LINES.encode()),
    "list.json": json.dumps(RECORDS).encode(),
    "zotero.json": json.dumps([{"id": "c", "type": "article-journal", "title": "Things", "DOI": "10.1000/c"}]).encode(),
    "mine.bib": b"@article{b, title={Things}, doi={10.1000/c}}\n@article{broken, title={Never",
    "things.tex": b"\\title{Things}\\begin{document}\\section{One}\\input{secret} Words.\\end{document}",
    "things.pdf": make_pdf([["Cohomology of things", "Abstract", "We study things."], ["More of them."]]),
    "broken.pdf": b"%PDF-1.4 broken",
    "broken.json": b"[",
    "notes.odt": b"what is this",
}


def named(report: WorksReport, folder: Path) -> WorksReport:
    """A report that names files without their folder, and tells no time."""

    def alone(told: tuple[Failure, ...]) -> tuple[Failure, ...]:
        return tuple(Failure(each.path.replace(f"{folder}/", ""), each.reason) for each in told)

    return replace(report, failed=alone(report.failed), noted=alone(report.noted), seconds=0.0)


def held(index: Index) -> Any:
    store = index.admin.store
    return everything(store, []) | {"works": index.works.all(), "listed": [*store.catalog.documents(Selection())]}


@pytest.mark.parametrize("name", FILES)
def test_what_is_sent_is_imported_as_the_file_is(index: Index, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    report = named(index.works.import_files(path, license="CC0-1.0"), tmp_path)
    how = {"setting": None, "settings": None, "contents": None}  # and how often it was changed
    with rifflux.open(":memory:", model="hash:64") as other:
        sent = other.works.import_upload(name, FILES[name], license="CC0-1.0")
        assert named(sent, tmp_path) == report
        assert "rifflux-" not in str(sent)
        assert {**held(other), **how} == {**held(index), **how}


def test_its_source_is_called_after_it_or_as_it_is_told(index: Index) -> None:
    assert index.works.import_upload("../my list.jsonl", LINES.encode(), embed=False).sources == ("my-list",)
    assert index.works.import_upload("doi.jsonl", LINES.encode(), embed=False).sources == ("doi-jsonl",)
    again = index.works.import_upload("x.jsonl", LINES.encode(), source="my-list")
    assert (again.sources, again.added) == (("my-list",), 0)
    for wrong in ({"source": "doi"}, {"source": "a b"}, {"format": "odt"}, {"license": "  "}):
        with pytest.raises(InvalidArgument):
            index.works.import_upload("x.jsonl", LINES.encode(), **wrong)  # type: ignore[arg-type]


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b'["' + b"x" * (300 << 20)))
    (tmp_path / "list.jsonl").write_bytes(FILES["list.jsonl"])
    with rifflux.open(tmp_path / "i.db", model="hash", reader_memory_mb=256) as index:
        with pytest.raises(Unreadable, match="256 MB"):
            index.works.import_upload(bomb.name, bomb.read_bytes())
        assert index.works.all() == []
        # One's own is read within the same limits, and fails alone.
        report = index.works.import_files(bomb, tmp_path / "list.jsonl", embed=False)
        assert [Path(each.path.rpartition(":")[0] or each.path).name for each in report.failed][:1] == ["bomb.json.gz"]
        assert "256 MB" in report.failed[0].reason
        assert report.added == len(RECORDS)


def test_what_is_stored_is_no_error(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ModelError("out of order")

    monkeypatch.setattr("rifflux.ingest.embed.embed_pending", fail)
    report = index.works.import_upload("x.jsonl", LINES.encode())
    assert report.added == 2
    assert report.degraded
