"""A second run does only what is new: unchanged files, chunks and vectors are left alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index
from rifflux.types import Tag
from tests.support.embedder import Counting


def chunk_ids(index: Index, key: str) -> dict[str, str]:
    """The ids of a document's chunks by their text."""
    return {hit.text: hit.id for hit in index.chunks(key)}


def found(index: Index, query: str) -> list[str]:
    return [hit.path for hit in index.search(query, mode="lexical")]


def test_a_folder_is_indexed_with_every_file(index: Index, folder: Path) -> None:
    report = index.add(folder)
    assert (report.indexed_files, report.skipped_files, report.deleted_files) == (3, 0, 0)
    assert (report.failed, report.skipped) == ((), ())
    assert report.chunks == report.embedded_chunks == index.status().chunks > 3
    assert report.indexed_paths == (str(folder),)
    assert (report.embedding_model, report.embedding_backend) == ("hash", "hash")
    assert found(index, "heron") == ["birds/heron.txt"]


def test_a_second_run_touches_nothing(index: Index, folder: Path) -> None:
    index.add(folder)
    generation = index.admin.store.records.setting("generation")
    report = index.add(folder)
    assert (report.indexed_files, report.skipped_files, report.chunks, report.embedded_chunks) == (0, 3, 0, 0)
    assert index.admin.store.records.setting("generation") == generation


def test_an_edit_in_one_section_leaves_the_chunks_of_the_others(tmp_path: Path, folder: Path) -> None:
    embedder = Counting()
    with rifflux.open(tmp_path / "index.db", model=embedder) as index:
        index.add(folder)
        before = chunk_ids(index, "cache.md")
        embedder.seen.clear()
        note = folder / "cache.md"
        note.write_text(note.read_text().replace("oldest", "least used"))
        report = index.add(folder)
        after = chunk_ids(index, "cache.md")
    kept = before.keys() & after.keys()
    assert {text: before[text] for text in kept} == {text: after[text] for text in kept}
    assert len(kept) == len(before) - 1
    assert report.indexed_files == report.embedded_chunks == 1
    assert len(embedder.seen) == 1
    assert "least used" in embedder.seen[0]


def test_text_before_a_chunk_moves_it_without_renaming_it(index: Index, folder: Path) -> None:
    index.add(folder)
    before = chunk_ids(index, "cache.md")
    note = folder / "cache.md"
    note.write_text("# Preface\n\nA new first section.\n\n" + note.read_text())
    index.add(folder)
    after = chunk_ids(index, "cache.md")
    assert before.items() <= after.items()
    assert {hit.text: hit.chunk_index for hit in index.chunks("cache.md")}["A new first section."] == 0


def test_a_new_time_on_the_same_content_reads_but_does_not_index(index: Index, folder: Path) -> None:
    index.add(folder)
    os.utime(folder / "cache.md", (1, 1))
    assert index.add(folder).indexed_files == 0
    generation = index.admin.store.records.setting("generation")
    assert index.add(folder).skipped_files == 3
    assert index.admin.store.records.setting("generation") == generation, "the new time was not remembered"


def test_force_reads_everything_and_changes_no_id(index: Index, folder: Path) -> None:
    index.add(folder)
    before = chunk_ids(index, "cache.md")
    report = index.add(folder, force=True)
    assert (report.indexed_files, report.embedded_chunks) == (3, 0)
    assert chunk_ids(index, "cache.md") == before


def test_what_is_gone_from_the_folder_goes_from_the_index(index: Index, folder: Path) -> None:
    index.add(folder)
    (folder / "birds/heron.txt").unlink()
    assert index.add(folder).deleted_files == 1
    assert found(index, "heron") == []
    assert found(index, "falcon") == ["birds/falcon.txt"]
    assert index.admin.check() == []


def test_without_prune_what_is_gone_stays(index: Index, folder: Path) -> None:
    index.add(folder)
    (folder / "birds/heron.txt").unlink()
    assert index.add(folder, prune=False).deleted_files == 0
    assert found(index, "heron") == ["birds/heron.txt"]


def test_a_renamed_file_is_found_under_its_new_name_only(index: Index, folder: Path) -> None:
    index.add(folder)
    (folder / "birds/heron.txt").rename(folder / "birds/egret.txt")
    report = index.add(folder)
    assert (report.indexed_files, report.deleted_files) == (1, 1)
    assert found(index, "heron") == ["birds/egret.txt"]


def test_equal_texts_are_embedded_once(tmp_path: Path) -> None:
    embedder = Counting()
    with rifflux.open(tmp_path / "index.db", model=embedder) as index:
        report = index.add(*(Document(f"copy {number}", "the very same words") for number in range(300)))
        index.add(Document("later copy", "the very same words"))
    assert report.embedded_chunks == 300
    # Besides, the scale of a model that nothing is known of is measured on texts of its own.
    assert embedder.seen.count("the very same words") == 1


def test_a_run_without_embedding_leaves_the_vectors_to_a_later_one(index: Index, folder: Path) -> None:
    report = index.add(folder, embed=False)
    assert (report.indexed_files, report.embedded_chunks, index.status().embedded_chunks) == (3, 0, 0)
    later = index.add(folder)
    assert (later.indexed_files, later.embedded_chunks) == (0, report.chunks)
    assert index.status().embedded_chunks == index.status().chunks


def test_progress_counts_up_to_the_total_of_each_stage(index: Index, folder: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    index.add(folder, progress=lambda *step: told.append(step))
    for stage in ("read", "embed"):
        steps = [(done, total) for name, done, total in told if name == stage]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


class TestRecords:
    """Each line of a JSON Lines file is a document of its own, under its own key."""

    @pytest.fixture
    def records(self, tmp_path: Path, index: Index) -> Path:
        path = tmp_path / "records.jsonl"
        path.write_text(
            '{"_id": "r1", "title": "First", "text": "the otter swims", "metadata": {"year": 2020}}\n'
            '{"_id": "r2", "title": "Second", "text": "the badger digs"}\n'
        )
        index.add(path)
        return path

    @pytest.mark.usefixtures("records")
    def test_a_hit_names_the_record_and_the_file(self, index: Index) -> None:
        (hit,) = index.search("otter", mode="lexical")
        assert (hit.key, hit.path, hit.title, hit.metadata["year"]) == ("r1", "records.jsonl", "First", 2020)

    def test_a_changed_record_is_replaced_and_the_others_keep_their_chunks(self, index: Index, records: Path) -> None:
        before = chunk_ids(index, "r2")
        records.write_text(records.read_text().replace("otter", "beaver"))
        index.add(records)
        assert found(index, "otter") == []
        assert found(index, "beaver") == ["records.jsonl"]
        assert chunk_ids(index, "r2") == before

    def test_a_vanished_record_goes(self, index: Index, records: Path) -> None:
        records.write_text(records.read_text().splitlines(keepends=True)[0])
        index.add(records)
        assert found(index, "badger") == []
        assert index.status().documents == 1

    def test_two_files_may_use_the_same_key(self, index: Index, records: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.jsonl"
        other.write_text('{"_id": "r1", "text": "the heron waits"}\n')
        index.add(other)
        assert index.status().documents == 3
        assert index.get(f"{other}/r1").text == "the heron waits"
        with pytest.raises(rifflux.InvalidArgument, match="2 documents") as refused:
            index.get("r1")
        assert f"{records}/r1" in str(refused.value)

    def test_a_file_is_known_by_its_absolute_path(self, index: Index, tmp_path: Path) -> None:
        only = tmp_path / "only.jsonl"
        only.write_text('{"_id": "r9", "text": "alone"}\n')
        index.add(only)
        assert index.get(str(only)).key == "r9"


class TestDocuments:
    """Documents that a program hands over."""

    def test_every_field_comes_back(self, index: Index) -> None:
        facts: Mapping[str, Any] = {"title": "T", "kind": "note", "created_at": "2024-01-02", "license": "CC0-1.0"}
        given = Document("a", "Some text.", metadata={"tags": ["x"]}, links=(rifflux.Link("b", "cites", 0.5),), **facts)
        index.add(given)
        assert index.get("a") == given
        (hit,) = index.search("text", mode="lexical")
        assert (hit.title, hit.kind, hit.created_at, hit.license) == tuple(facts.values())

    def test_the_same_key_replaces(self, index: Index) -> None:
        index.add(Document("a", "former words"))
        index.add(Document("a", "current words"))
        assert index.status().documents == 1
        assert index.get("a").text == "current words"

    def test_removing_takes_keys_and_paths(self, index: Index, folder: Path) -> None:
        index.add(Document("a", "text"), folder)
        assert index.remove("a", "cache.md", str(folder / "birds/heron.txt")).documents == 3
        assert [hit.path for hit in index.search("text cache heron falcon")] == ["birds/falcon.txt"]

    def test_one_unknown_key_removes_nothing(self, index: Index) -> None:
        index.add(Document("a", "text"))
        with pytest.raises(rifflux.NotFound, match="'nope'"):
            index.remove("a", "nope")
        assert index.status().documents == 1

    def test_a_document_with_only_a_title_is_found_by_it(self, index: Index) -> None:
        index.add(Document("a", "", title="Quarterly figures"))
        assert [hit.key for hit in index.search("quarterly", mode="lexical")] == ["a"]

    def test_half_a_surrogate_pair_costs_only_itself(self, index: Index) -> None:
        index.add(Document("a", "heron \ud83d otter"))
        assert [hit.key for hit in index.search("heron otter", mode="lexical")] == ["a"]

    @pytest.mark.parametrize(
        ("bad", "named"),
        [
            (Document("", "text"), "key"),
            (Document("  ", "text"), "key"),
            (Document("\ud800", "text"), "surrogate"),
            (Document("key", "text", title="x" * 1_001), "the limit is 1,000"),
            (Document("a", None), "text"),  # type: ignore[arg-type]
            (Document("a", "text", kind=3), "kind"),  # type: ignore[arg-type]
            (Document("a", "text", created_at=5), "created_at"),  # type: ignore[arg-type]
            (Document("a", "text", metadata=None), "metadata"),  # type: ignore[arg-type]
            (Document("a", "text", links=["b"]), "links"),  # type: ignore[list-item]
            (3, "paths, Document"),
            (None, "paths, Document"),
            ("", "paths, Document"),
        ],
    )
    def test_what_cannot_be_stored_is_refused_before_anything_is(self, index: Index, bad: Any, named: str) -> None:
        with pytest.raises(rifflux.InvalidArgument, match=named) as refused:
            index.add(Document("good", "text"), bad)
        assert isinstance(refused.value, ValueError)
        assert index.status().documents == 0


class TestUnchangedDocuments:
    NOTE = Document(
        "note",
        "The heron stands in the river.",
        "Heron",
        created_at="2024-05-01",
        metadata={"tags": ("red", "blue"), "year": 2024},
        links=[rifflux.Link("other"), rifflux.Link("cache", "mentions", 0.5)],
        tags=[Tag("arxiv", "math.AG"), Tag("arxiv", "math.AC")],
    )

    def test_what_is_given_again_unchanged_is_left_alone(self, index: Index) -> None:
        assert index.add(self.NOTE).indexed_files == 1
        generation = index.admin.store.records.setting("generation")
        report = index.add(self.NOTE)
        assert (report.indexed_files, report.skipped_files, report.chunks, report.embedded_chunks) == (0, 1, 0, 0)
        assert index.admin.store.records.setting("generation") == generation

    def test_it_is_stored_again_where_that_is_asked_for(self, index: Index) -> None:
        index.add(self.NOTE)
        assert index.add(self.NOTE, force=True).indexed_files == 1

    @pytest.mark.parametrize(
        "changed",
        [
            {"text": "The egret stands in the river."},
            {"title": "Egret"},
            {"kind": "code"},
            {"created_at": "2024-05-02"},
            {"metadata": {"tags": ("red", "blue"), "year": 2025}},
            {"links": [rifflux.Link("other")]},
            {"license": "CC-BY-4.0"},
            {"tags": [Tag("arxiv", "math.AG")]},
        ],
        ids=lambda changed: next(iter(changed)),
    )
    def test_any_change_is_stored(self, index: Index, changed: Mapping[str, Any]) -> None:
        index.add(self.NOTE)
        report = index.add(replace(self.NOTE, **changed))
        assert (report.indexed_files, report.skipped_files) == (1, 0)
        assert index.add(replace(self.NOTE, **changed)).indexed_files == 0

    def test_of_two_with_one_key_the_later_counts(self, index: Index) -> None:
        index.add(self.NOTE, replace(self.NOTE, text="An egret."))
        assert index.document("note").text == "An egret."


def test_a_file_written_anew_with_its_former_size_and_time_is_read(index: Index, folder: Path) -> None:
    index.add(folder, embed=False)
    note = folder / "birds" / "heron.txt"
    before = note.stat()
    for text in ("The kingfish dives in a river.", "The cormoran dives in a river."):
        if text.startswith("The c"):  # in place of the file, and not into it
            (folder / "new").write_text(text)
            (folder / "new").replace(note)
        else:
            note.write_text(text)
        os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert note.stat().st_size == before.st_size
        assert index.add(folder, embed=False).indexed_files == 1
        assert index.document("birds/heron.txt").text == text


def test_a_file_whose_rights_changed_is_not_parsed_again(index: Index, folder: Path) -> None:
    index.add(folder, embed=False)
    (folder / "cache.md").chmod(0o640)
    report = index.add(folder, embed=False)
    assert (report.indexed_files, report.chunks, report.unchanged_files) == (0, 0, 3)
