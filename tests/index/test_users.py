"""A user who is deleted is gone: nothing remains of them in any table, and others keep all they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import rifflux
from rifflux import Document, Index, NotFound, OutOfScope, Scope
from rifflux.conversations import Conversation, Message, Thread
from rifflux.service.accounts import Accounts
from rifflux.service.analytics import Diary
from rifflux.service.jobs import Jobs
from rifflux.service.repeats import Repeats
from rifflux.service.usage import Ledger
from rifflux.store import SourceData
from rifflux.testing import everything
from rifflux.types import Link, Tag

#: What only ann says, and what only bob says.
ANNS, BOBS = "kestrel", "heron"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", model="hash:32") as index:
        for user, word in (("ann", ANNS), ("bob", BOBS), ("ann2", BOBS), ("", BOBS)):
            fill(index, user, word, tmp_path / f"files-{word}")
        index.collections.set_group("birders", ["ann", "bob", "ann2"])
        yield index


def fill(index: Index, user: str, word: str, folder: Path) -> None:
    """Give a user something in every table."""
    mine = index.scoped(Scope(user)) if user else index
    folder.mkdir(exist_ok=True)
    (folder / "a.md").write_text(f"# {word}\n\nThe {word} flies.\n")
    note = Document("note", f"a note on the {word}", tags=(Tag("s", word),), links=(Link("a.md"),))
    mine.add(folder, note)
    mine.admin.store.catalog.write(SourceData("documents", "note", {"source": word}))
    mine.judge(f"where is the {word}", "note")
    mine.note("click", f"where is the {word}", "note", user=user)
    mine.admin.declare_facets(word)
    if user:
        message = Message("m", "talk", f"I saw a {word}", created_at="2024-05-01")
        mine.conversations.put(Thread(Conversation("talk", word), (message,)), embed=True)
        mine.memories.add(f"likes the {word}")
        mine.memories.search(word)
        Accounts(index.registry).create(user, label=word)
        mine.collections.create(word)
        index.collections.set_group("birders", [user])
        Ledger(index.registry).bill(user, "model", word, lambda: 7, here=False).settle()
        Diary(index.registry, seconds=0).note(user, word)
        Repeats(index.registry).begin(user, word, b"request")
        jobs = Jobs(index.registry, lambda error: (500, ""))
        assert jobs.begin(user, "works", word)
        jobs.close()


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table by its name, but for the full-text tables' own."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        ours = [name for name in names if "_terms" not in name and not name.startswith("sqlite_")]
        return {name: connection.execute(f"select * from {name}").fetchall() for name in ours}


def owned(path: Path) -> dict[str, str]:
    """The tables with a column that says whose a row is, and that column."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        columns = connection.execute(
            "select t.name, c.name from sqlite_master t, pragma_table_info(t.name) c where t.type = 'table'"
        )
        return {table: column for table, column in columns if column in ("owner", "user")}


def test_nothing_remains_in_any_table(index: Index) -> None:
    path = Path(index.path)
    with closing(apsw.Connection(str(path))) as connection:
        numbers = {n for n, name in connection.execute("select id, name from owner") if name.split("\x1f")[0] == "ann"}
        for table, column in owned(path).items():
            held = {value for (value,) in connection.execute(f"select {column} from {table}")}
            assert held & (numbers | {"ann"}), f"{table} holds nothing of ann's: the test proves nothing for it"
        kinds = {kind for (kind,) in connection.execute("select kind from service_record where user = 'ann'")}
        assert kinds == {"answer", "collection", "event", "job", "member", "question", "spending", "token"}
    erased = index.admin.delete_user("ann")
    assert erased.documents == {"conversation": 1, "document": 1, "markdown": 1, "memory": 1, "message": 1}
    assert (erased.files, erased.events, erased.tokens, erased.calls, erased.questions) == (1, 2, 1, 1, 1)
    assert erased.settings
    for table, kept in rows(path).items():
        for row in kept:
            assert ANNS not in repr(row), table
            assert "ann" not in row, table
    with closing(apsw.Connection(str(path))) as connection:
        for table, column in owned(path).items():
            assert not numbers & {value for (value,) in connection.execute(f"select {column} from {table}")}, table
        for owner in numbers:
            assert not list(
                connection.execute("select rowid from owned_terms where owned_terms match ?", (f'"|{owner}|fli"',))
            )


def test_nothing_remains_in_the_files(index: Index) -> None:
    folder = Path(index.path).parent
    index.admin.delete_user("ann")
    left = [path.name for path in folder.glob("index.db*") if path.is_file() and ANNS.encode() in path.read_bytes()]
    assert left == []
    assert any(BOBS.encode() in path.read_bytes() for path in folder.glob("index.db*") if path.is_file())


def test_others_keep_all_they_have(index: Index) -> None:
    views = [view for view in index.admin.store.views() if view.owner.partition("\x1f")[0] != "ann"]
    assert len(views) == 7
    ids = list(range(1, 20))
    before = [everything(view, ids) for view in views]
    index.admin.delete_user("ann")
    assert [everything(view, ids) for view in views] == before
    assert index.admin.check() == []


def test_who_comes_back_begins_anew(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    talks = ann.conversations
    assert talks.search(ANNS).hits
    index.admin.delete_user("ann")
    assert (talks.list(), ann.memories.all(), ann.status().documents) == ([], [], 0)
    talks.add("again", id="talk")
    talks.add_message("talk", "a kestrel once more")
    assert [hit.message.text for hit in talks.search(ANNS)] == ["a kestrel once more"]


def test_only_who_opened_the_index_deletes_users_and_only_those_there_are(index: Index) -> None:
    with pytest.raises(OutOfScope):
        index.scoped(Scope("bob")).admin.delete_user("ann")
    for nobody in ("", "an", "Ann", "ann\x1fconversations"):
        with pytest.raises(NotFound, match="nothing is kept"):
            index.admin.delete_user(nobody)
