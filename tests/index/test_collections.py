"""Collections: what is whose, who reads and changes it, and what is refused."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument, NotFound, OutOfScope, Scope
from rifflux.service.accounts import Accounts
from rifflux.surfaces.shared.nouns import search_json
from rifflux.surfaces.shared.packs import retrieval_json
from rifflux.surfaces.shared.verdicts import verdict_json

HERON, CACHE = Document("heron", "The heron stands in the river."), Document("cache", "The cache expires.")


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash:32") as index:
        for user in ("ann", "bob"):
            Accounts(index.registry).create(user)
        yield index


def found(index: Index, query: str = "heron river cache", **options: object) -> dict[str, str]:
    return {hit.key: hit.collection for hit in index.search(query, **options)}  # type: ignore[arg-type]


def of(index: Index, user: str) -> Index:
    return index.scoped(Scope(user))


class TestReading:
    def test_what_is_nobodys_is_private_until_it_is_shared(self, index: Index) -> None:
        index.add(HERON)
        ann = of(index, "ann")
        nothing = ann.search("heron")
        notice = nothing.trace.notes[-1]
        assert (notice.cure, notice.data) == (rifflux.Cure.GIVE, {"user": "ann"})
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


class TestRoots:
    """Where others keep what they share is not told: a root goes by its folder's name."""

    @pytest.fixture
    def shared(self, index: Index, tmp_path: Path) -> Index:
        for name in ("wiki", "work"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "README.md").write_text(f"# Heron\n\nThe heron of the {name}.")
        bob = of(index, "bob")
        bob.add(tmp_path / "wiki", tmp_path / "work", collection="team")
        bob.collections.share("team", "ann")
        return index

    def test_a_reader_is_told_names_and_the_owner_places(self, shared: Index, tmp_path: Path) -> None:
        ann, bob = of(shared, "ann"), of(shared, "bob")
        assert {hit.root for hit in ann.search("heron")} == {"wiki", "work"}
        assert {hit.root for hit in bob.search("heron")} == {str(tmp_path / "wiki"), str(tmp_path / "work")}
        assert ann.status().roots == ann.collections.get("bob/team").roots == ("wiki", "work")
        assert (
            bob.status().roots
            == bob.collections.get("team").roots
            == (
                str(tmp_path / "wiki"),
                str(tmp_path / "work"),
            )
        )

    def test_no_answer_holds_a_place(self, shared: Index, tmp_path: Path) -> None:
        ann = of(shared, "ann")
        with pytest.raises(InvalidArgument) as ambiguous:
            ann.document("README.md")
        with pytest.raises(NotFound) as near:
            ann.document("REDME.md")
        (tmp_path / "work").rename(tmp_path / "gone")
        results = ann.search("heron")
        errors, why = (str(ambiguous.value), str(near.value)), ann.why("heron", "wiki/README.md")
        told = (ann.status(), verdict_json(why), results.to_dicts(), search_json(results), errors)
        assert str(tmp_path) not in repr(told)
        assert ann.status().freshness.missing_roots == ("work",)

    def test_a_list_of_documents_holds_no_place(self, shared: Index, tmp_path: Path) -> None:
        ann, told, after = of(shared, "ann"), [], ""
        while True:
            page = ann.documents.list(after=after, limit=1)
            told += [each.namespace for each in page.documents]
            if not (after := page.next or ""):
                break
            assert str(tmp_path) not in base64.urlsafe_b64decode(after).decode()
        assert told == ["wiki", "work"]

    def test_evidence_of_it_can_be_verified_by_both(self, shared: Index, tmp_path: Path) -> None:
        ann, bob = of(shared, "ann"), of(shared, "bob")
        for asking, other in ((ann, bob), (bob, ann)):
            found = asking.retrieve("heron")
            assert {item.key for item in found.evidence.items} == {"README.md"}
            assert (str(tmp_path) in repr(retrieval_json(found))) is (asking is bob)
            assert asking.works.verify(found.evidence) == other.works.verify(found.evidence) == []

    @pytest.mark.parametrize("name", ["work/README.md", "bob/team/work/README.md"])
    def test_a_root_and_path_name_a_document(self, shared: Index, name: str) -> None:
        assert "of the work" in of(shared, "ann").document(name).text


class TestWriting:
    def test_a_reader_may_write_only_if_so_shared(self, index: Index) -> None:
        ann, bob = of(index, "ann"), of(index, "bob")
        bob.add(HERON, collection="wiki")
        bob.collections.share("wiki", "ann")
        for forbidden in (lambda: ann.add(CACHE, collection="bob/wiki"), lambda: ann.remove("heron")):
            with pytest.raises(OutOfScope, match="read-only"):
                forbidden()
        bob.collections.share("wiki", "ann", write=True)
        ann.add(CACHE, collection="bob/wiki")
        assert found(bob) == {"heron": "wiki", "cache": "wiki"}
        assert ann.remove("heron").documents == 1
        assert found(bob) == {"cache": "wiki"}

    def test_a_folder_lies_in_one_collection(self, index: Index, tmp_path: Path) -> None:
        folder = tmp_path / "wiki"
        (folder / "birds").mkdir(parents=True)
        (folder / "birds" / "heron.md").write_text("# Heron\n\nIt stands in the river.")
        index.add(folder)
        for place in (folder, folder / "birds", tmp_path):
            with pytest.raises(InvalidArgument, match="in the collection library"):
                index.add(place, collection="wiki")
        assert [each.name for each in index.collections.list()] == ["library"]
        assert index.collections.remove("library", folder) == 1
        index.add(folder, collection="wiki")
        assert found(index) == {"birds/heron.md": "wiki"}
        assert index.collections.get("wiki").roots == (str(folder),)

    def test_what_is_known_goes_where_it_lies(self, index: Index, tmp_path: Path) -> None:
        for name in ("wiki", "notes"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "heron.md").write_text("# Heron\n\nIt stands in the river.")
        index.add(tmp_path / "wiki", collection="wiki")
        (tmp_path / "wiki" / "otter.md").write_text("# Otter\n\nIt swims in the river.")
        report = index.add(tmp_path / "wiki", tmp_path / "notes", CACHE)
        assert (report.indexed_files, report.skipped_files) == (3, 1)
        held = {each.name: each.documents for each in index.collections.list()}
        assert held == {"library": 2, "wiki": 2}
        (tmp_path / "wiki" / "otter.md").unlink()
        assert index.add(tmp_path / "wiki" / "otter.md").deleted_files == 1
        with pytest.raises(InvalidArgument, match="in the collection wiki"):
            index.add(tmp_path)

    def test_a_folder_that_others_have_is_not_refused(self, index: Index, tmp_path: Path) -> None:
        """A refusal would tell that somebody has it."""
        (tmp_path / "heron.md").write_text("# Heron")
        of(index, "bob").add(tmp_path, collection="wiki")
        of(index, "bob").collections.share("wiki", "ann", write=True)
        assert of(index, "ann").add(tmp_path).indexed_files == 1
        assert index.add(tmp_path).indexed_files == 1

    def test_an_update_covers_all_collections(self, index: Index, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text("heron")
            index.add(tmp_path / name, collection=name)
            (tmp_path / name / "b.md").write_text("heron")
        assert index.sync().indexed_files == 2

    def test_nothing_is_made_for_a_path_that_is_not_there(self, index: Index, tmp_path: Path) -> None:
        with pytest.raises(NotFound):
            index.add(tmp_path / "none", collection="wiki")
        assert [each.name for each in index.collections.list()] == ["library"]


class TestManaging:
    def test_a_renamed_collection_keeps_its_documents_and_readers(self, index: Index) -> None:
        bob = of(index, "bob")
        bob.add(HERON, collection="wiki")
        bob.collections.share("wiki", "ann")
        before = {hit.id for hit in bob.search("heron")}
        bob.collections.rename("wiki", "atlas")
        bob.add(HERON, collection="wiki")
        assert found(of(index, "ann")) == {"heron": "bob/atlas"}
        assert {hit.id for hit in bob.search("heron", filter={"collections": "atlas"})} == before
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
        with pytest.raises(NotFound, match="carl"):
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
                Accounts(index.registry).create(name)
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


TEXTS = ("heron in the river", "river and river banks", "the cache of herons", "a heron, a cache, a river")
Told = dict[str, tuple[float, float | None]]


def tell(index: Index, users: tuple[str, ...]) -> Index:
    """Let users have the texts by turns, and ann read what bob has; returns the index as ann has it."""
    for number, text in enumerate(TEXTS):
        of(index, users[number % len(users)]).add(Document(f"d{number}", text, created_at="2024-05-01"))
    for user in users[1:]:
        of(index, user).collections.share("library", "ann")
    return of(index, "ann")


def told(index: Index, query: str, mode: str) -> Told:
    return {hit.key: (hit.score, hit.relevance) for hit in index.search(query, mode=mode)}


@pytest.mark.parametrize("query", ["heron river", "cache", "river banks"])
class TestRanking:
    @pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid", "hybrid-rerank"])
    def test_it_is_to_the_digit_that_of_an_index_which_holds_nothing_else(
        self, index: Index, query: str, mode: str
    ) -> None:
        index.add(*(Document(f"y{n}", "cache banks") for n in range(5)))
        ann = tell(index, ("ann", "bob"))
        of(index, "bob").add(*(Document(f"x{n}", "river heron cache") for n in range(9)), collection="diary")
        with rifflux.open(":memory:", model="hash:32") as alone:
            assert told(ann, query, mode) == told(tell(alone, ("ann", "bob")), query, mode)

    def test_words_count_as_if_one_user_had_it_all(self, index: Index, query: str) -> None:
        """By meaning, cosines of several owners have the digits of packed vectors, and differ in the sixth."""
        with rifflux.open(":memory:", model="hash:32") as alone:
            one, several = tell(alone, ("ann",)), tell(index, ("ann", "bob"))
            assert told(several, query, "lexical") == told(one, query, "lexical")
            for document, found in told(several, query, "semantic").items():
                assert found == pytest.approx(told(one, query, "semantic")[document], abs=1e-5)
