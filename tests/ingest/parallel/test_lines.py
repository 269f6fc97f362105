"""Long JSON Lines files are read some lines at a time, to the same end as if they were read whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Index
from rifflux.ingest import prepare, sync
from rifflux.ingest.prepare import lines_of, scan
from rifflux.ingest.walk.find import Finder, FoundFile
from rifflux.ingest.walk.inside import Place
from rifflux.store import find_documents


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        yield index


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as long."""
    monkeypatch.setattr(prepare, "WHOLE", 0)
    monkeypatch.setattr(prepare, "STRETCH", 300)


def records(path: Path, number: int, **changed: str) -> Path:
    """A file of numbered records; some without an id, some with another text."""
    texts = {str(each): f"Heron {each} stands in the river." for each in range(number)} | changed
    own_id = [{"_id": name, "title": f"No. {name}", "text": text} for name, text in texts.items()]
    path.write_text("".join(json.dumps(record) + "\n" for record in [*own_id, {"text": "A record without an id."}]))
    return path


def place(path: Path) -> Place:
    """Where a file lies."""
    (found,) = Finder()(path.parent.resolve(), path)
    assert isinstance(found, FoundFile)
    return found.place


def contents(index: Index) -> list[tuple[str, str, str]]:
    found = index.search("heron record egret", mode="lexical", top_k=1000)
    return sorted((hit.key, hit.id, hit.text) for hit in found)


def test_what_is_found_is_the_same(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = records(tmp_path / "birds.jsonl", 60)
    report = index.add(path)
    whole = contents(index)
    assert (report.indexed_files, len(whole)) == (1, 61)
    monkeypatch.setattr(prepare, "WHOLE", 0)
    monkeypatch.setattr(prepare, "STRETCH", 300)
    assert len(list(lines_of(place(path)))) > 10
    again = index.add(path, force=True)
    assert (again.indexed_files, again.chunks, again.embedded_chunks) == (1, 61, 0)
    assert contents(index) == whole


@pytest.mark.usefixtures("short")
class TestChanges:
    def test_what_changed_is_changed_and_what_is_gone_goes(self, index: Index, tmp_path: Path) -> None:
        index.add(records(tmp_path / "birds.jsonl", 60))
        report = index.add(records(tmp_path / "birds.jsonl", 50, **{"7": "An egret."}))
        assert (report.indexed_files, report.embedded_chunks) == (1, 2), "the edited one, and the one without an id"
        assert index.status().documents == 51
        assert [hit.key for hit in index.search("egret", mode="lexical")] == ["7"]

    def test_untouched_content_is_not_parsed(self, index: Index, tmp_path: Path) -> None:
        path = records(tmp_path / "birds.jsonl", 60)
        index.add(path)
        path.touch()
        report = index.add(path)
        assert (report.indexed_files, report.skipped_files, report.chunks) == (0, 1, 0)

    def test_a_run_that_ended_within_the_file_is_gone_on_with(
        self, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sync, "GROUP", 1)
        path, real = records(tmp_path / "birds.jsonl", 60), prepare._lines

        def interrupted(*arguments: object) -> object:
            if find_documents(index.admin.store.catalog, "20"):
                raise KeyboardInterrupt
            return real(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(prepare, "_lines", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.add(path, embed=False)
        assert 20 < index.status().documents < 61, "nothing of it was searchable yet"
        monkeypatch.setattr(prepare, "_lines", real)
        assert index.add(path).indexed_files == 1
        assert index.status().documents == 61
        assert index.add(path).skipped_files == 1


@pytest.mark.usefixtures("short")
class TestBadLines:
    def test_they_are_told_by_number_and_the_rest_is_indexed(self, index: Index, tmp_path: Path) -> None:
        path = records(tmp_path / "birds.jsonl", 30)
        good = path.read_text().splitlines()
        path.write_text("\n".join([*good[:20], "no JSON", *good[20:]]))
        report = index.add(path)
        assert [failure.path for failure in report.failed] == [f"{path}:21"]
        assert index.status().documents == 31

    def test_the_last_of_several_with_one_id_counts(self, index: Index, tmp_path: Path) -> None:
        path = records(tmp_path / "birds.jsonl", 30)
        with path.open("a") as file:
            file.write('{"_id": "3", "text": "An egret."}\n')
        report = index.add(path)
        assert [failure.path for failure in report.failed] == [f"{path}:4"]
        assert "line 32" in report.failed[0].reason
        assert index.get("3").text == "An egret."

    def test_of_many_only_the_number_is_told(self, index: Index, tmp_path: Path) -> None:
        path = records(tmp_path / "birds.jsonl", 3)
        path.write_text(path.read_text() + "no JSON\n" * 100)
        report = index.add(path)
        assert len(report.failed) == 21
        assert report.failed[-1].reason == "80 more lines could not be read"

    def test_a_file_without_any_good_line_cannot_be_read(self, index: Index, tmp_path: Path) -> None:
        path = tmp_path / "birds.jsonl"
        path.write_text("no JSON\n" * 100)
        report = index.add(path)
        assert [failure.path for failure in report.failed] == [str(path)]
        assert "no line with a document; line 1 is not valid JSON" in report.failed[0].reason
        assert index.add(path).failed == report.failed


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_any_encoding_and_line_end_is_read(index: Index, tmp_path: Path, encoding: str, newline: str) -> None:
    path = records(tmp_path / "birds.jsonl", 60, **{"7": "Ein Fischreiher fährt über die Brücke."})
    text = "".join(json.dumps(json.loads(line), ensure_ascii=False) + "\n" for line in path.read_text().splitlines())
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    assert index.add(path).failed == ()
    assert index.status().documents == 61
    assert index.get("7").text == "Ein Fischreiher fährt über die Brücke."
    assert index.get("birds.jsonl#61").text == "A record without an id."


@given(st.lists(st.text("ab\u00e9 ", max_size=200), max_size=30), st.booleans())
def test_lines_are_whole_and_numbered(tmp_path_factory: pytest.TempPathFactory, texts: list[str], ended: bool) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    data = "\n".join(texts).encode() + b"\n" * ended
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "STRETCH", 100)
        found = list(lines_of(place(path)))
    assert b"".join(each.data for each in found) == data
    assert [each.last for each in found] == [False] * (len(found) - 1) + [True] * bool(found)
    for each in found:
        numbered = data.splitlines(keepends=True)[each.first - 1 :]
        assert b"".join(numbered).startswith(each.data)
    assert scan(place(path))[1]
