"""A copy of an index holds what the index holds and answers as it does, wherever it was interrupted."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, InvalidArgument, NotFound, OutOfScope, Scope, Tag, UnusableIndex
from rifflux.conversations import Conversation, Message, Thread
from rifflux.index.copying import Copying, CopyReport, copy
from rifflux.store import open_store
from rifflux.store.sqlite.connection.connect import connect
from rifflux.testing.memory import MemoryStore
from tests.index.test_users import ANNS, BOBS, fill

QUESTIONS = ("heron", "the kestrel flies", "cache entries", "quantum curves", '"alpha river"')
#: Every term of every chunk, with its place.
TERMS = """
select chunk.uid, word.col, word."offset", word.term
from temp.{table}_posting as word join chunk on chunk.id = word.doc order by 1, 2, 3"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index with something in every table, which tests that change it copy before."""
    folder = tmp_path_factory.mktemp("source")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "cache.md").write_text(
        "---\ntags: [zeta, alpha]\ndate: 2024-05-01\naliases: [Store]\nversion: 1.5\n---\n"
        "# Cache\n\nEntries live an hour.\n\n## Rivers\n\nOther words about a river.\n"
    )
    (notes / "code.py").write_text("def entry(cache):\n    return cache.get(1)\n\nclass River:\n    depth = 2\n")
    (notes / "empty.txt").write_text("")
    (notes / "records.jsonl").write_text(
        "\n".join(f'{{"id": "r{number}", "text": "record {number} of the heron"}}' for number in range(90))
    )
    path = folder / "index.db"
    with rifflux.open(path, model="hash:32") as index:
        for user, word in (("ann", ANNS), ("bob", BOBS), ("", BOBS)):
            fill(index, user, word, folder / f"files-{word}")
        index.collections.set_group("birders", ["ann", "bob"])
        mine = index.scoped(Scope("ann"))
        mine.collections.share(ANNS, "bob")
        index.add(notes, language="english")
        tags = (Tag("msc", "14F05"), Tag("arxiv", "math.AG"))
        names = (rifflux.Identifier("doi", "10.1/x"), rifflux.Identifier("arxiv", "2101.00001"))
        index.add(Document("given", "a text on curves", "Given", tags=tags, identifiers=names))
        index.add(Document("leer", "die alten Flüsse", "Leer", language="german"))
        works = "\n".join(
            f"@article{{w{number}, title={{Quantum curves {number}}}, author={{Ada Lovelace}}, year={{2001}}}}"
            for number in range(5)
        )
        index.works.import_text(works, source="list", format="bibtex")
        turns = [
            Message(f"t{number}", "branched", f"turn {number} on the cache", created_at=f"2024-05-01T10:{number:02}:00")
            for number in range(12)
        ]
        turns[4:7] = [rifflux.Message(f"b{number}", "branched", "an older branch", branch="b0",
                                      created_at=f"2024-05-01T10:0{4 + number}:30") for number in range(3)]  # fmt: skip
        undated = [Message(f"u{number}", "undated", f"undated {number} " * 60) for number in range(4)]
        mine.conversations.put(Thread(Conversation("branched", "Branches"), tuple(turns)), embed=False)
        mine.conversations.put(Thread(Conversation("undated", "Undated"), tuple(undated)), embed=True)
        mine.conversations.add_message("branched", "came late", created_at="2024-05-01T10:02:30")
        for _ in range(3):
            mine.memories.search(ANNS)
        # It is added again, and so comes last.
        index.remove("leer")
        index.add(Document("leer", "die alten Flüsse", "Leer", language="german"))
    return path


@pytest.fixture
def changing(source: Path, tmp_path: Path) -> Path:
    """Return a copy of the index that a test may change."""
    path = tmp_path / "changing.db"
    with rifflux.open(source) as index:
        index.admin.backup(path)
    return path


def answers(path: Path) -> list[object]:
    """Return what searches of an index say to several people, with all digits."""
    found: list[object] = []
    with rifflux.open(path, create=False) as index:
        for question in QUESTIONS:
            found += [(hit.id, hit.score, hit.lines) for hit in index.search(question).hits]
        for mine in (index.scoped(Scope(user)) for user in ("ann", "bob")):
            for question in QUESTIONS:
                found += [(hit.id, hit.score) for hit in mine.search(question).hits]
                found += [(each.message.id, each.hit.score) for each in mine.conversations.search(question).hits]
                found += [(hit.id, hit.score) for hit in mine.everything(question).hits]
            found.append([each.name for each in mine.collections.list()])
            found.append([(each.text, each.uses) for each in mine.memories.all()])
        found.append(sorted(map(repr, index.registry.tokens())))
        found.append([(each.user, each.tokens) for each in index.registry.spent()])
    return found


def terms(path: Path) -> list[object]:
    connection, _ = connect(str(path), create=False)
    found: list[object] = []
    for table in ("chunk_terms", "owned_terms"):
        rows = connection.execute(TERMS.format(table=table)).fetchall()
        # Those of named owners begin with a number of the owner, which is the file's own.
        found += [(id, column, place, term.rpartition("|")[2]) for id, column, place, term in rows]
    connection.close()
    return found


def check(report: CopyReport) -> None:
    assert all(each.equal for each in report.parts)
    parts = {each.name: each.source for each in report.parts}
    names = ("documents", "chunks", "vectors", "files", "settings", "tokens", "collections", "feedback", "usage", "log")
    assert all(parts[name] for name in names), parts


def test_a_copy_holds_the_same_and_answers_the_same(source: Path, tmp_path: Path) -> None:
    before = answers(source)
    target = tmp_path / "copy.db"
    check(copy(source, target))
    assert terms(target) == terms(source)
    assert answers(target) == before
    with rifflux.open(target) as index:
        assert index.admin.check() == []


def killed(source: str | Path, target: str | Path, at: int) -> bool:
    """Copy in a process that is ended at the given call of its progress; return whether it was."""
    child = os.fork()
    if child == 0:
        calls = 0

        def progress(stage: str, done: int, total: int | None) -> None:
            nonlocal calls
            calls += 1
            if calls == at:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            copy(source, target, progress=progress)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.skipif(os.name != "posix", reason="processes are forked")
def test_a_copy_that_is_killed_again_and_again_ends_the_same(source: Path, tmp_path: Path) -> None:
    whole = copy(source, tmp_path / "whole.db")
    target = tmp_path / "copy.db"
    kills = 0
    while killed(source, target, 2 + kills // 4):
        kills += 1
        with pytest.raises(UnusableIndex, match="not complete") as caught:
            rifflux.open(target)
        assert caught.value.cure is rifflux.Cure.COPY
    assert kills > 3
    report = copy(source, target)
    assert report.parts == whole.parts
    assert terms(target) == terms(source)


def test_what_changes_meanwhile_is_taken_too(changing: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    changes: list[int] = []
    with rifflux.open(changing) as index:
        mine = index.scoped(Scope("ann"))

        def change(stage: str, done: int, total: int | None) -> None:
            if stage == "documents" and done == total and not changes:
                changes.append(done)
                index.remove("given")
                index.add(Document("late", "a new word", "Late"), Document("leer", "neue Flüsse", language="german"))
                index.add(Document("given", "added again"))
                mine.conversations.edit_message("branched", "t2", text="another wording")
                mine.memories.add("a new memory")
                index.admin.delete_user("bob")
                index.scoped(Scope("carol")).add(Document("hers", "of carol"))
                index.judge("cache", "given", grade=2)

        with pytest.raises(OutOfScope):
            mine.admin.copy(target)
        check(index.admin.copy(target, progress=change))
    with closing(open_store(target)) as store:
        assert "bob" not in {view.owner for view in store.views()}
    assert terms(target) == terms(changing)
    assert answers(target) == answers(changing)


def test_a_complete_copy_takes_what_came_since_unless_it_was_changed(changing: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    copy(changing, target)
    with rifflux.open(changing) as index:
        index.add(Document("later", "came later"))
    report = copy(changing, target)
    with rifflux.open(target) as copied:
        assert copied.document("later").text == "came later"
        copied.add(Document("its own", "only here"))
    with pytest.raises(InvalidArgument, match=r"changed since \(documents, chunks, vectors\)"):
        copy(changing, target)
    with rifflux.open(target) as copied:
        assert copied.document("its own").text == "only here"
    assert report.parts[0].equal


def test_a_target_that_is_something_else_is_left_alone(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "other.db"
    with rifflux.open(target, model="hash:32") as index:
        index.add(Document("mine", "something"))
    with pytest.raises(InvalidArgument, match="is not empty"):
        copy(source, target)
    with pytest.raises(InvalidArgument, match="is the index itself"):
        copy(target, target.parent / "." / target.name)
    copied = tmp_path / "copied.db"
    copy(target, copied)
    with pytest.raises(InvalidArgument, match=r"is a copy of .*other\.db"):
        copy(source, copied)
    for missing in (tmp_path / "missing.db", "opensearch://user:secret@localhost/name"):
        with pytest.raises((NotFound, InvalidArgument)) as caught:
            copy(missing, tmp_path / "new.db")
        assert "secret" not in str(caught.value)
    with pytest.raises(InvalidArgument) as refused:
        copy(source, "opensearch://user:secret@localhost/name")
    assert "secret" not in str(refused.value)
    assert not (tmp_path / "new.db").exists()


def test_a_copy_may_pass_through_another_engine(source: Path, tmp_path: Path) -> None:
    between = MemoryStore()
    target = tmp_path / "back.db"
    with closing(open_store(source)) as ours, closing(open_store(target)) as theirs:
        there = Copying(ours, between, "index", "memory").run()
        check(there)
        back = Copying(between, theirs, "memory", "file").run()
        assert back.parts == there.parts
    assert terms(target) == terms(source)
    assert answers(target) == answers(source)
