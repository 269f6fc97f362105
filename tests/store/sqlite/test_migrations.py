"""What an earlier version of an index holds besides documents is there when it is brought up to date."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from rifflux.service.nouns import (
    CollectionRecord,
    Event,
    Grant,
    JobRecord,
    LogEntry,
    QuestionDigest,
    Reaction,
    RecordedAnswer,
    SpendingSum,
    Token,
)
from rifflux.service.registry import Registry
from rifflux.store import Store, open_store
from rifflux.types.nouns import iso_time

#: Rows as version 3 of the tables had them.
ROWS = """
insert into admin_log values (7, 5.0, 'root', 'token.create', 'one', 'ann', '', 'role user');
insert into admin_log values (9, 6.5, 'root', 'group.set', 'birders', '', 'ann', 'joined');
update sqlite_sequence set seq = 12 where name = 'admin_log';
insert into token values ('one', 'ann', 'user', 'laptop', 1.5, 3.0, null, 9000000000.0, x'0aff');
insert into token values ('two', 'bob', 'admin', '', 1.0, null, 4.0, null, x'');
insert into event values (1, 2.0, 'judgement', 'where', 'c', 'a', '0001', 2, 'ann', 1);
insert into event values (2, 3.0, 'click', 'where', 'c', 'a', '', null, 'ann', 1);
insert into usage values (1, 'ann', 'search', 'm', 7, 0.5, 86401.0), (2, 'ann', 'search', 'm', 3, 0.25, 86402.0);
insert into question values (1, 'ann', x'01ff', 2.0, x'0203');
insert into answer values ('ann', 'k', x'aa', 5.0, 201, x'7b7d');
insert into job values ('j', 'ann', 'works', 'a.bib', 'running', 'store', 3, 9, 5.0, 6.0, 0.0, 0, '', '', 1);
insert into collection values ('ann' || char(31) || '@birds', 'ann', 'birds', 'what flies', 4.0);
insert into reader values ('birders', 'ann' || char(31) || '@birds', 1);
insert into user_group values ('birders'), ('empty');
insert into member values ('bob', 'birders');
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "index.db"
    path.write_bytes(gzip.decompress((Path(__file__).parent / "schema-3.db.gz").read_bytes()))
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(ROWS)
    store = open_store(path)
    yield store
    store.close()


def test_accounts_decisions_and_usage_are_there(store: Store) -> None:
    registry = Registry(store)
    one = Token("one", "ann", "user", "laptop", iso_time(1.5, "auto"), iso_time(3), None, iso_time(9e9))
    two = Token("two", "bob", "admin", "", iso_time(1), None, iso_time(4), None)
    assert registry.tokens() == [two, one]
    assert registry.token("one") == (one, b"\x0a\xff")
    joined = LogEntry("root", "group.set", iso_time(6.5, "auto"), "birders", "", "ann", "joined", 9)
    assert registry.log() == [joined, LogEntry("root", "token.create", iso_time(5), "one", "ann", "", "role user", 7)]
    registry.revoke("one", 10.0, LogEntry("root", "token.revoke", iso_time(10)))
    assert registry.log()[0].id > 12
    assert registry.spent() == [SpendingSum("1970-01-02", "ann", "search", "m", 2, 10, 0.75)]
    assert registry.questions() == [QuestionDigest("ann", b"\x01\xff", 2.0, b"\x02\x03")]
    answer = RecordedAnswer("ann", "k", b"\xaa", 5.0)
    assert registry.begin_answer(answer, 0.0) == RecordedAnswer("ann", "k", b"\xaa", 5.0, 201, b"{}")
    job = JobRecord("j", "ann", "works", "a.bib", "running", "store", 3, 9, 5.0, 6.0, stop=True)
    assert registry.jobs() == [job]


def test_feedback_and_sharing_are_there(store: Store) -> None:
    judged = Event("judgement", "where", "c", "a", "0001", 2, "ann", iso_time(2))
    clicked = Event("click", "where", "c", "a", user="ann", created_at=iso_time(3))
    assert Registry(store.of("ann")).events() == [judged, clicked]
    assert Registry(store).reactions() == [Reaction("ann", "click", "where", 3.0)]
    sharing = Registry(store).sharing
    birds = CollectionRecord("ann\x1f@birds", "ann", "birds", "what flies", 4.0)
    assert sharing.collections() == [birds]
    assert sharing.grants(birds.owner) == [Grant("birders", write=True)]
    assert sharing.groups() == {"birders": ("bob",), "empty": ()}
    assert sharing.shared_with("bob") == [(birds, True)]
