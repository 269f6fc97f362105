"""What is exported holds what everybody may read, and no byte of anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Index, InvalidArgument, NotFound, OutOfScope, Scope
from rifflux.index.extract import Issued
from rifflux.service.accounts import Accounts
from rifflux.service.nouns import EVERYONE, QuestionDigest, Spending
from tests.support.exploring import examples
from tests.support.users import SECRETS, TEXTS, fill, share

#: Of everything that was done, what would tell of it in bytes; words of secrets are stemmed in the index.
TRACES = re.compile(rb"kestrel|zanzib|quokka|bobs|secret-place|rfx_|birders|annika", re.IGNORECASE)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """What users keep to themselves, what they share with one, a group or everyone, and what is nobody's."""
    files = tmp_path / "secret-place" / "notes"
    files.mkdir(parents=True)
    (files / "heron.md").write_text("# Herons\n\nHerons stand in shallow water.\n")
    with rifflux.open(tmp_path / "index.db", model="hash:32") as index:
        index.add(files)
        fill(index, "ann", TEXTS)
        fill(index, "bob", SECRETS, "bobs-")
        share(index)
        hide_from_everyone(index)
        registry = index.registry
        Accounts(registry).create("annika")
        registry.spend([Spending("annika", "search", "kestrel-model", 1, 1.0, 1.0)])
        registry.ask([QuestionDigest("annika", b"kestrels", 1.0)], 0.0)
        index.judge("kestrels in zanzibar", "heron.md", 2)
        yield index


def hide_from_everyone(index: Index) -> None:
    """Give users what they keep to themselves; what belongs to nobody is exported, so nothing of it is a secret."""
    for user, collection in (("carl", "bobs"), ("carl", "plans"), ("dora", "wiki"), ("bob", "wiki")):
        mine = index.scoped(Scope(user))
        mine.add(*(Document(f"bobs-{n}", text) for n, text in enumerate(SECRETS)), collection=collection)
        mine.collections.describe(collection, "about kestrels")
    index.collections.set_group("quokkas", ["bob"])
    index.scoped(Scope("carl")).collections.share("plans", "bob", write=True)
    index.scoped(Scope("bob")).collections.share("wiki", "quokkas", write=True)


def test_nothing_of_others_is_in_the_bytes(index: Index, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    made = index.admin.extract(tmp_path / "out" / "index.db", tokens=[Issued("reader", "user")])
    assert made.collections == ("library", "atlas")
    for file in (tmp_path / "out").rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert TRACES.findall(content) == [], file.name
    with rifflux.open(made.path, state=tmp_path / "state.db") as there:
        assert [each.user for each in there.registry.tokens()] == ["reader"]
        assert there.admin.check() == []


def test_answers_are_those_of_who_reads_what_everybody_may_read(index: Index, tmp_path: Path) -> None:
    index.collections.share("library", EVERYONE)
    made = index.admin.extract(tmp_path / "extracted.db")
    with rifflux.open(made.path, state=tmp_path / "state.db") as there:
        here, far = (each.scoped(Scope("stranger")) for each in (index, there))
        for question in ("cache river", "heron", "shallow water", "banks -cache", "riv*"):
            known = here.search(question)
            assert known
            assert far.search(question).to_dicts() == known.to_dicts()
        assert far.admin.counts()["chunks"] == here.admin.counts()["chunks"]
        assert [hit.key for hit in far.search("kestrel zanzibar quokka", mode="lexical")] == []


def test_a_collection_that_is_named_is_all_that_goes(index: Index, tmp_path: Path) -> None:
    made = index.admin.extract(tmp_path / "extracted.db", ["atlas"])
    assert (made.collections, b"shallow" in Path(made.path).read_bytes()) == (("atlas",), False)
    index.scoped(Scope("carl")).collections.share("wiki", EVERYONE)
    made = index.admin.extract(tmp_path / "other.db", ["carl/wiki"])
    with rifflux.open(made.path) as there:
        assert {hit.collection for hit in there.scoped(Scope("ann")).search("river")} == {"carl/wiki"}


@pytest.mark.parametrize("name", ["bob/wiki", "carl/plans", "none", "wiki"])
def test_what_not_everybody_may_read_cannot_be_named(index: Index, tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound, match="no collection"):
        index.admin.extract(tmp_path / "extracted.db", [name])
    with pytest.raises(OutOfScope):
        index.scoped(Scope("carl", administrator=True)).admin.extract(tmp_path / "extracted.db", [name])
    assert not (tmp_path / "extracted.db").exists()


def test_where_nothing_may_be_read_by_everybody_nothing_is_made(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model="hash:32") as index:
        index.scoped(Scope("ann")).add(Document("heron", "Herons fish."))
        with pytest.raises(InvalidArgument, match="nothing to export"):
            index.admin.extract(tmp_path / "extracted.db")


def test_a_work_goes_only_where_its_license_lets_everybody_read_it(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model="hash:32") as index:
        records = tmp_path / "works.bib"
        records.write_text(
            "@article{open, title={Open herons}, abstract={Herons fish.}, license={CC-BY-4.0}}\n"
            "@article{closed, title={Closed kestrels}, abstract={Kestrels hover.}}\n"
        )
        index.works.import_files(records)
        made = index.admin.extract(tmp_path / "extracted.db")
        assert (made.documents, made.left_out) == (1, 1)
        assert TRACES.findall(Path(made.path).read_bytes()) == []


@examples(6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    owners=st.lists(
        st.tuples(st.sampled_from(["", "ann", "bob"]), st.sampled_from(["library", "wiki", "plans"]), st.booleans()),
        min_size=1, max_size=6, unique_by=lambda each: each[:2],
    )
)  # fmt: skip
def test_whoever_has_what_a_word_leaves_only_where_it_may(
    tmp_path_factory: pytest.TempPathFactory, owners: list[tuple[str, str, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    goes = {each for each in owners if each[2] or not each[0]}
    with rifflux.open(folder / "index.db", model="hash:16") as index:
        for number, (user, collection, _) in enumerate(owners):
            mine = index.scoped(Scope(user)) if user else index
            mine.add(Document(f"key{number}", f"word{number}word and more"), collection=collection)
        for user, collection, shared in owners:
            if shared:
                (index.scoped(Scope(user)) if user else index).collections.share(collection, EVERYONE)
        if not goes:
            with pytest.raises(InvalidArgument):
                index.admin.extract(folder / "extracted.db")
            return
        index.admin.extract(folder / "extracted.db")
    content = (folder / "extracted.db").read_bytes()
    for number, each in enumerate(owners):
        assert (f"word{number}word".encode() in content) == (each in goes)
        assert (f"key{number}".encode() in content) == (each in goes)
