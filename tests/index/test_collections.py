"""Collections: what is whose, who reads and changes it, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument, NotFound, OutOfScope, Scope
from rifflux.service.accounts import Accounts

HERON, CACHE = Document("heron", "The heron stands in the river."), Document("cache", "The cache expires.")


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash:32") as index:
        for user in ("ann", "bob"):
            Accounts(index.admin.store.registry).create(user)
        yield index


def found(index: Index, query: str = "heron river cache", **options: object) -> dict[str, str]:
    return {hit.document: hit.collection for hit in index.search(query, **options)}  # type: ignore[arg-type]


def of(index: Index, user: str) -> Index:
    return index.scoped(Scope(user))


class TestReading:
    def test_what_is_nobodys_is_private_until_it_is_shared(self, index: Index) -> None:
        index.add(HERON)
        ann = of(index, "ann")
        nothing = ann.search("heron")
        assert "rifflux collections share library --with ann" in nothing.trace.notes[-1]
        index.collections.share("library", "ann")
        assert found(ann) == {"heron": "/library"}
        index.collections.unshare("library", "ann")
        assert found(ann) == {}

    def test_a_search_covers_what_is_owned_and_shared(self, index: Index) -> None:
        ann, bob = of(index, "ann"), of(index, "bob")
        bob.add(HERON, collection="wiki")
        bob.add(Document("secret", "the heron of bob"), collection="diary")
        ann.add(CACHE)
        bob.collections.share("wiki", "everyone")
        assert found(ann) == {"heron": "bob/wiki", "cache": "library"}
        assert found(bob) == {"heron": "wiki", "secret": "diary"}
        assert found(index) == {}
        assert ann.status().documents == 2
        assert ann.document("bob/wiki/heron").text == HERON.text
        assert ann.why("heron", "heron").found

    @pytest.mark.parametrize("name", ["wiki", "bob/wiki"])
    def test_a_collection_narrows_by_filter_and_as_typed(self, index: Index, name: str) -> None:
        ann, bob = of(index, "ann"), of(index, "bob")
        bob.add(HERON, collection="wiki")
        ann.add(CACHE)
        bob.collections.share("wiki", "ann")
        assert found(ann, filter={"collections": name}) == {"heron": "bob/wiki"}
        assert found(ann, f"heron cache collection:{name}") == {"heron": "bob/wiki"}
        with pytest.raises(NotFound, match="choose from library, bob/wiki"):
            ann.search("heron", filter={"collections": "diary"})

    def test_ones_own_comes_first_by_name(self, index: Index) -> None:
        ann, bob = of(index, "ann"), of(index, "bob")
        for mine, text in ((ann, "mine"), (bob, "theirs")):
            mine.add(Document("note", text), collection="wiki")
        bob.collections.share("wiki", "ann")
        assert ann.document("note").text == "mine"
        assert ann.document("bob/wiki/note").text == "theirs"

    def test_a_group_reads_through_its_members(self, index: Index) -> None:
        index.add(HERON, collection="atlas")
        index.collections.set_group("birders", ["ann"])
        index.collections.share("atlas", "birders")
        assert found(of(index, "ann")) == {"heron": "/atlas"}
        assert found(of(index, "bob")) == {}
        index.collections.set_group("birders", [])
        assert found(of(index, "ann")) == {}

    def test_an_administrator_has_what_is_nobodys_and_no_more(self, index: Index) -> None:
        index.add(HERON)
        of(index, "bob").add(CACHE)
        root = index.scoped(Scope("root", administrator=True))
        assert found(root) == {"heron": "/library"}
        with pytest.raises(OutOfScope):
            of(index, "ann").scoped(Scope("ann", administrator=True))


class TestWriting:
    def test_a_reader_may_write_only_if_so_shared(self, index: Index) -> None:
        ann, bob = of(index, "ann"), of(index, "bob")
        bob.add(HERON, collection="wiki")
        bob.collections.share("wiki", "ann")
        for forbidden in (lambda: ann.add(CACHE, collection="bob/wiki"), lambda: ann.remove("heron")):
            with pytest.raises(OutOfScope, match="read only"):
                forbidden()
        bob.collections.share("wiki", "ann", write=True)
        ann.add(CACHE, collection="bob/wiki")
        assert found(bob) == {"heron": "wiki", "cache": "wiki"}
        assert ann.remove("heron") == 1
        assert found(bob) == {"cache": "wiki"}

    def test_a_folder_lies_in_one_collection(self, index: Index, tmp_path: Path) -> None:
        folder = tmp_path / "wiki"
        (folder / "birds").mkdir(parents=True)
        (folder / "birds" / "heron.md").write_text("# Heron\n\nIt stands in the river.")
        index.add(folder)
        for place in (folder, folder / "birds", tmp_path):
            with pytest.raises(InvalidArgument, match="--collection library"):
                index.add(place, collection="wiki")
        assert [each.name for each in index.collections.list()] == ["library"]
        assert index.collections.remove("library", folder) == 1
        index.add(folder, collection="wiki")
        assert found(index) == {"birds/heron.md": "wiki"}
        assert index.collections.get("wiki").roots == (str(folder),)
        of(index, "ann").add(folder)

    def test_an_update_covers_all_collections(self, index: Index, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text("heron")
            index.add(tmp_path / name, collection=name)
            (tmp_path / name / "b.md").write_text("heron")
        assert index.update().indexed_files == 2

    def test_nothing_is_made_for_a_path_that_is_not_there(self, index: Index, tmp_path: Path) -> None:
        with pytest.raises(NotFound):
            index.add(tmp_path / "none", collection="wiki")
        assert [each.name for each in index.collections.list()] == ["library"]


class TestManaging:
    def test_a_renamed_collection_keeps_its_documents_and_readers(self, index: Index) -> None:
        bob = of(index, "bob")
        bob.add(HERON, collection="wiki")
        bob.collections.share("wiki", "ann")
        before = {hit.chunk_id for hit in bob.search("heron")}
        bob.collections.rename("wiki", "atlas")
        bob.add(HERON, collection="wiki")
        assert found(of(index, "ann")) == {"heron": "bob/atlas"}
        assert {hit.chunk_id for hit in bob.search("heron", filter={"collections": "atlas"})} == before
        assert bob.collections.remove("atlas") == 1
        assert [each.name for each in bob.collections.list()] == ["library", "wiki"]

    @pytest.mark.parametrize("name", ["", " wiki", "bob/wiki", "w" * 101, "a\x1fb"])
    def test_names_that_cannot_be_are_refused(self, index: Index, name: str) -> None:
        with pytest.raises(InvalidArgument):
            index.collections.create(name)

    def test_only_the_owner_shares_and_what_is_not_seen_is_unknown(self, index: Index) -> None:
        ann, bob = of(index, "ann"), of(index, "bob")
        bob.add(HERON, collection="wiki")
        with pytest.raises(NotFound) as unseen:
            ann.collections.share("bob/wiki", "carl")
        with pytest.raises(NotFound) as unknown:
            ann.collections.share("bob/none", "carl")
        assert str(unseen.value).replace("wiki", "none") == str(unknown.value)
        bob.collections.share("wiki", "ann", write=True)
        with pytest.raises(OutOfScope, match="only bob"):
            ann.collections.share("bob/wiki", "carl")

    def test_an_administrator_is_told_that_nobody_goes_by_a_name(self, index: Index) -> None:
        with pytest.raises(NotFound, match="rifflux tokens create --user carl"):
            index.collections.share("library", "carl")
        assert of(index, "ann").collections.share("library", "carl").readers

    def test_a_library_stays(self, index: Index) -> None:
        for forbidden in (
            lambda: index.collections.remove("library"),
            lambda: index.collections.rename("library", "wiki"),
            lambda: index.collections.create("library"),
        ):
            with pytest.raises(InvalidArgument):
                forbidden()

    def test_names_of_users_groups_and_everyone_are_apart(self, index: Index) -> None:
        index.collections.set_group("birders", ["ann"])
        for name in ("birders", "everyone"):
            with pytest.raises(InvalidArgument):
                Accounts(index.admin.store.registry).create(name)
        for name in ("ann", "everyone"):
            with pytest.raises(InvalidArgument):
                index.collections.set_group(name, [])
        with pytest.raises(NotFound):
            index.collections.set_group("others", ["nobody"])

    def test_a_deleted_user_takes_their_collections_along(self, index: Index) -> None:
        bob = of(index, "bob")
        bob.add(HERON, collection="wiki")
        bob.collections.share("wiki", "ann")
        assert index.admin.delete_user("bob").collections == 1
        assert found(of(index, "ann")) == {}


def test_what_is_shared_is_ranked_as_one_index_would_rank_it(index: Index) -> None:
    texts = ("heron in the river", "river and river banks", "the cache of herons", "a heron, a cache, a river")
    for number, text in enumerate(texts):
        user = ("ann", "bob")[number % 2]
        of(index, user).add(Document(f"d{number}", text, created_at="2024-05-01"))
    of(index, "bob").collections.share("library", "ann")
    of(index, "bob").add(*(Document(f"x{n}", "river heron cache") for n in range(9)), collection="diary")
    with rifflux.open(":memory:", model="hash:32") as alone:
        alone.add(*(Document(f"d{n}", text, created_at="2024-05-01") for n, text in enumerate(texts)))
        for query in ("heron river", "cache", "river banks"):
            for mode in ("lexical", "semantic", "hybrid"):
                ours, theirs = (
                    {hit.document: (hit.score, hit.relevance) for hit in each.search(query, mode=mode)}
                    for each in (of(index, "ann"), alone)
                )
                assert ours == {each: pytest.approx(told, rel=1e-4) for each, told in theirs.items()}
