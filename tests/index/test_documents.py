"""Documents that are given one by one: put, uploaded, listed and removed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import (
    Conflict,
    Document,
    DocumentInfo,
    Index,
    InvalidArgument,
    ModelError,
    NotFound,
    OutOfScope,
    Scope,
    Unreadable,
)
from rifflux.service.accounts import Accounts
from rifflux.works import Work
from tests.support.files import make_pdf

RECORDS = b'{"_id": "r1", "text": "the heron of one"}\n{"_id": "r2", "text": "the heron of two"}\n'


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash:32") as index:
        for user in ("ann", "bob"):
            Accounts(index.registry).create(user)
        yield index


def of(index: Index, user: str) -> Index:
    return index.scoped(Scope(user))


def listed(index: Index, limit: int = 100, after: str | None = "") -> list[DocumentInfo]:
    """The list from a place on, so many at a time."""
    found: list[DocumentInfo] = []
    while after is not None:
        page = index.documents.list(limit=limit, after=after)
        assert bool(after) <= len(page.documents) <= limit
        found += page.documents
        after = page.next
    return found


def names(rows: Sequence[DocumentInfo]) -> list[str]:
    return [f"{each.collection}/{each.key}" for each in rows]


class TestPutting:
    def test_a_document_is_found_read_and_replaced(self, index: Index) -> None:
        ann = of(index, "ann")
        ann.collections.create("wiki")
        first = ann.documents.put(Document("bird", "the heron", metadata={"legs": 2}), collection="wiki")
        assert (first.key, first.collection, first.created, first.chunks) == ("bird", "wiki", True, 1)
        assert [(hit.key, hit.collection) for hit in ann.search("heron")] == [("bird", "wiki")]
        again = ann.documents.put(Document("bird", "the heron", metadata={"legs": 2}), collection="wiki")
        assert (again.created, again.chunks) == (False, 0)
        ann.documents.put(Document("bird", "a kingfisher"), collection="wiki")
        assert ann.document("bird").text == "a kingfisher"
        assert ann.search("heron", mode="lexical").hits == ()
        assert ann.status().documents == 1

    def test_a_key_is_drawn_where_none_is_given_and_kept_where_it_is_taken(self, index: Index) -> None:
        ann = of(index, "ann")
        assert ann.documents.put(Document("", "heron")).key != ann.documents.put(Document("", "heron")).key
        ann.documents.put(Document("bird", "heron"), new=True)
        with pytest.raises(Conflict, match="already: put it under this key"):
            ann.documents.put(Document("bird", "another"), new=True)
        assert ann.document("bird").text == "heron"

    @pytest.mark.parametrize("key", ["a\x1ebob", " bird", "x" * 1001, "\0", "a\nb"])
    def test_keys_that_cannot_be_are_refused(self, index: Index, key: str) -> None:
        with pytest.raises(InvalidArgument, match="a key is"):
            of(index, "ann").documents.put(Document(key, "heron"))

    @pytest.mark.parametrize(
        "metadata",
        [
            *({"n": float("nan")}, {"": 1}, {"x" * 201: 1}, {"o": object()}, {"long": "x" * 64_001}, {"a\0": 1}),
            {str(number): 1 for number in range(101)},
        ],
    )
    def test_metadata_that_cannot_be_searched_are_refused(self, index: Index, metadata: Any) -> None:
        ann = of(index, "ann")
        with pytest.raises(InvalidArgument, match="metadata"):
            ann.documents.put(Document("bird", "heron", metadata=metadata))
        with pytest.raises(InvalidArgument, match="metadata"):
            ann.documents.upload("bird.txt", b"heron", metadata=metadata)
        with pytest.raises(InvalidArgument, match="date"):
            ann.documents.put(Document("bird", "heron", created_at="yesterday"))
        assert listed(ann) == []

    def test_only_what_may_be_written_is(self, index: Index) -> None:
        ann, bob = of(index, "ann"), of(index, "bob")
        bob.collections.create("wiki")
        with pytest.raises(NotFound) as unseen:
            ann.documents.put(Document("bird", "heron"), collection="bob/wiki")
        with pytest.raises(NotFound) as unknown:
            ann.documents.upload("bird.txt", b"heron", collection="bob/none")
        assert str(unseen.value).replace("wiki", "none") == str(unknown.value)
        bob.collections.share("wiki", "ann")
        with pytest.raises(OutOfScope, match="read-only"):
            ann.documents.put(Document("bird", "heron"), collection="bob/wiki")
        bob.collections.share("wiki", "ann", write=True)
        ann.documents.put(Document("bird", "heron"), collection="bob/wiki")
        assert names(listed(ann)) == ["bob/wiki/bird"]
        assert names(listed(bob)) == ["wiki/bird"]
        assert ann.documents.remove("bird") == 1
        assert listed(bob) == []

    def test_vectors_that_cannot_be_made_are_told_and_the_document_kept(
        self, index: Index, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise ModelError("out of order")

        ann = of(index, "ann")
        monkeypatch.setattr("rifflux.ingest.embed.embed_changes", fail)
        stored = ann.documents.put(Document("bird", "heron"))
        assert (stored.chunks, stored.embedded_chunks) == (1, 0)
        assert "found by words" in stored.degraded[0].text
        assert [hit.key for hit in ann.search("heron")] == ["bird"]
        monkeypatch.undo()
        assert ann.documents.put(Document("bird", "heron")).degraded == ()
        ann.admin.embed()
        assert ann.status().embedded_chunks == 1

    def test_vectors_that_take_too_long_follow(self, index: Index) -> None:
        stored = of(index, "ann").documents.put(Document("bird", "heron"), embed_seconds=0)
        assert "still pending" in stored.degraded[0].text


class TestUploading:
    def test_a_file_is_found_by_its_text_and_called_after_itself(self, index: Index) -> None:
        ann = of(index, "ann")
        data = make_pdf([["The heron stands."]])
        stored = ann.documents.upload("../the_report.pdf", data, metadata={"team": "birds"})
        (hit,) = ann.search("heron", filter={"metadata": {"team": "birds"}})
        assert (hit.key, hit.title, hit.kind, hit.page) == (stored.key, "the report", "pdf", 1)
        assert "report" not in stored.key
        told = ann.documents.upload("a.pdf", make_pdf([["Herons"]]), key="k", title="Birds", created_at="2024-05-01")
        assert (told.key, ann.document("k").title, ann.document("k").created_at) == ("k", "Birds", "2024-05-01")

    def test_a_file_of_records_is_one_upload(self, index: Index) -> None:
        ann = of(index, "ann")
        stored = ann.documents.upload("birds.jsonl", RECORDS + b"no JSON\n", key="birds", license="CC0-1.0")
        assert (stored.documents, stored.chunks) == (2, 2)
        assert [each.path for each in stored.failed] == ["birds.jsonl:3"]
        assert {hit.key for hit in ann.search("heron")} == {"r1", "r2"}
        assert ann.document("documents/birds/r1").license == "CC0-1.0"
        ann.documents.upload("birds.jsonl", RECORDS.splitlines()[0], key="birds")
        assert [each.key for each in listed(ann)] == ["r1"]
        ann.documents.upload("birds.txt", b"no records any more", key="birds")
        assert names(listed(ann)) == ["library/birds"]
        ann.documents.upload("birds.jsonl", RECORDS, key="birds")
        assert ann.documents.remove("birds") == 2
        assert listed(ann) == []

    def test_a_license_of_one_record_is_not_that_of_the_next(self, index: Index) -> None:
        ann = of(index, "ann")
        records = [{"id": "r1", "text": "heron", "license": "CC0-1.0"}, {"id": "r2", "text": "egret"}]
        ann.documents.upload("birds.jsonl", "\n".join(map(json.dumps, records)).encode(), key="birds")
        licenses = {key: ann.document(f"documents/birds/{key}").license for key in ("r1", "r2")}
        assert licenses == {"r1": "CC0-1.0", "r2": None}

    def test_what_cannot_be_read_leaves_all_as_it_was(self, index: Index) -> None:
        ann = of(index, "ann")
        ann.documents.upload("bird.txt", b"heron", key="bird")
        with pytest.raises(Unreadable, match=r"bird\.pdf is encrypted: save a copy"):
            ann.documents.upload("bird.pdf", make_pdf([["x"]], encrypted=True), key="bird")
        assert ann.document("bird").text == "heron"
        assert ann.status().documents == 1

    def test_more_than_is_taken_at_once_is_refused(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rifflux.index.documents.MOST_DOCUMENTS", 1)
        with pytest.raises(Unreadable, match="split it"):
            of(index, "ann").documents.upload("birds.jsonl", RECORDS)
        assert listed(of(index, "ann")) == []

    def test_the_name_of_a_file_or_record_is_not_taken(self, index: Index, tmp_path: Path) -> None:
        (tmp_path / "bird.md").write_text("heron")
        (tmp_path / "list.jsonl").write_bytes(RECORDS)
        index.add(tmp_path)
        for key in ("bird.md", "r1", "list.jsonl"):
            with pytest.raises(InvalidArgument, match="choose another key"):
                index.documents.put(Document(key, "text"))

    def test_indexing_leaves_uploads_alone(self, index: Index, tmp_path: Path) -> None:
        (tmp_path / "bird.md").write_text("heron")
        index.add(tmp_path)
        index.documents.upload("other.md", b"# Kingfisher\n\nIt dives.", key="other")
        (tmp_path / "bird.md").unlink()
        assert index.sync(force=True, prune=True).deleted_files == 1
        index.add(tmp_path, prune=True)
        assert names(listed(index)) == ["library/other"]
        assert index.status().documents == 1


class TestRemoving:
    def test_a_file_of_a_folder_stays_removed(self, index: Index, tmp_path: Path) -> None:
        folder = tmp_path / "birds"
        folder.mkdir()
        for name in ("bird.md", "owl.md"):
            (folder / name).write_text("heron")
        index.add(folder)
        assert index.documents.remove("bird.md") == 1
        index.sync(force=True)
        assert names(listed(index)) == ["library/owl.md"]
        assert index.status().removed == {str(folder): ("/bird.md",)}

    def test_only_the_exact_key_and_only_in_the_collection_that_is_named(self, index: Index) -> None:
        ann = of(index, "ann")
        ann.collections.create("wiki")
        for collection in ("", "wiki"):
            ann.documents.put(Document("bird.md", collection or "own"), collection=collection)
        with pytest.raises(NotFound):
            ann.documents.remove("bird")
        with pytest.raises(InvalidArgument, match="2 documents"):
            ann.documents.remove("bird.md")
        assert ann.documents.remove("bird.md", collection="wiki") == 1
        assert names(listed(ann)) == ["library/bird.md"]


class TestListing:
    def test_what_is_visible_is_listed_with_its_facts_and_no_more(self, index: Index) -> None:
        ann, bob = of(index, "ann"), of(index, "bob")
        bob.works.add(Work("Closed", "the text", year=1871), Work("Open", "the text", year=1871, license="CC0-1.0"))
        bob.documents.put(Document("bird", "heron", "Bird"))
        assert listed(ann) == []
        bob.collections.share("library", "ann")
        told = {each.title: (each.withheld, each.created_at) for each in listed(ann)}
        assert told == {"Bird": (False, None), "Closed": (True, None), "Open": (False, "1871")}
        assert {each.title: each.created_at for each in listed(bob)} == {"Bird": None, "Closed": "1871", "Open": "1871"}

    def test_what_is_no_cursor_is_refused(self, index: Index) -> None:
        ann = of(index, "ann")
        for wrong in ("x", "bnVsbA==", "WzEsIDIsIDNd", "WyJub25lIiwgIiIsICIiXQ=="):
            with pytest.raises(InvalidArgument, match=r"cursor|begin again"):
                ann.documents.list(after=wrong)
        for wrong_size in (0, 1001):
            with pytest.raises(InvalidArgument, match="limit"):
                ann.documents.list(limit=wrong_size)
        with pytest.raises(NotFound):
            ann.documents.list(collections=["none"])

    @given(
        keys=st.lists(st.text("ab/é#", min_size=1, max_size=4), unique=True, max_size=12),
        limit=st.integers(1, 5),
        gone=st.sets(st.integers(0, 11)),
    )
    def test_pages_add_up_to_the_list(self, keys: list[str], limit: int, gone: set[int]) -> None:
        """Also while some that were listed go."""
        with rifflux.open(":memory:", model="hash:32") as index:
            index.add(*(Document(key, "x") for key in keys[::2]))
            index.add(*(Document(key, "x") for key in keys[1::2]), collection="wiki")
            everything = listed(index)
            wanted = [f"library/{key}" for key in sorted(keys[::2])], [f"wiki/{key}" for key in sorted(keys[1::2])]
            assert names(everything) == [*wanted[0], *wanted[1]]
            assert listed(index, limit) == everything
            page = index.documents.list(limit=limit)
            for number, each in enumerate(page.documents):
                if number in gone:
                    index.documents.remove(each.key, collection=each.collection)
            assert [*page.documents, *listed(index, limit, page.next)] == everything
