"""What the service keeps in the records of every engine."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from rifflux.service.nouns import (
    EVERYONE,
    CollectionRecord,
    Event,
    Grant,
    JobRecord,
    LogEntry,
    QuestionDigest,
    RecordedAnswer,
    Spending,
    Token,
)
from rifflux.service.registry import Registry
from rifflux.store import Capability, Placed, Store
from rifflux.testing.making import NeedsOpened, NeedsStore, change, needs, part
from rifflux.types.nouns import iso_time


def moment(seconds: float) -> str:
    """Return seconds since 1970 as ISO 8601."""
    return iso_time(seconds, "auto")


class RegistryContract(NeedsStore):
    """The behaviour of a registry for an owner, on every engine."""

    def test_events_are_recorded_in_order_whether_or_not_their_document_is_there(self, store: Store) -> None:
        judged = Event("judgement", "how long", "c", "a", "0" * 16, grade=2, user="ann", created_at=moment(1.5))
        clicked = Event("click", "how long", "c", "gone", created_at=moment(2))
        for event in (judged, clicked, judged):
            Registry(store).record(event)
        assert Registry(store).events() == [judged, clicked, judged]
        assert Registry(store).events("judgement") == [judged, judged]
        assert Registry(store).events("unknown") == []


class AccountsContract(NeedsOpened):
    """The behaviour of a registry for the whole index, on every engine."""

    def test_tokens_are_listed_as_made_and_revoked_for_ever(self, opened: Store) -> None:
        one = Token("1", "ann", "user", created_at=moment(1.0))
        two = Token("2", "bob", "admin", "laptop", created_at=moment(2.0), expires_at=moment(9))
        for token in (two, one):
            Registry(opened).put_token(token, token.id.encode())
        assert Registry(opened).tokens() == [one, two]
        assert Registry(opened).tokens("bob") == [two]
        assert Registry(opened).token("2") == (two, b"2")
        assert Registry(opened).token("3") is None
        Registry(opened).mark_used("1", 5.0)
        assert [Registry(opened).revoke(id, 6.0) for id in ("1", "1", "3")] == [True, False, False]
        assert Registry(opened).tokens()[0] == replace(one, used_at=moment(5), revoked_at=moment(6))

    def test_a_user_gets_no_more_valid_tokens_than_are_allowed(self, opened: Store) -> None:
        def put(id: str, user: str = "ann", at: float = 1.0, expires: float | None = None) -> bool:
            until = moment(expires) if expires else None
            token = Token(id, user, "user", created_at=moment(at), expires_at=until)
            return Registry(opened).put_token(token, b"", most=2)

        assert [put("1"), put("2", expires=5.0), put("3"), put("4", user="bob")] == [True, True, False, True]
        assert Registry(opened).token("3") is None
        assert not put("3", at=4.0)
        assert put("3", at=6.0)
        assert Registry(opened).revoke("1", 7.0)
        assert put("5", at=7.0)
        assert not put("6", at=8.0)

    def test_a_hundred_tokens_that_ended_are_remembered(self, opened: Store) -> None:
        for number in range(103):
            expires = moment(0.5) if number % 2 else None
            token = Token(f"{number:03}", "ann", "user", created_at=moment(number), expires_at=expires)
            Registry(opened).put_token(token, b"")
            Registry(opened).revoke(token.id, 200.0)
        Registry(opened).put_token(Token("x", "bob", "user", created_at=moment(300.0)), b"")
        Registry(opened).put_token(Token("y", "ann", "user", created_at=moment(300.0)), b"")
        assert [each.id for each in Registry(opened).tokens()] == [*(f"{n:03}" for n in range(3, 103)), "x", "y"]

    def test_an_answer_is_stored_by_user_and_key_until_it_is_old(self, opened: Store) -> None:
        one = RecordedAnswer("ann", "k", b"digest", 5.0)
        assert Registry(opened).begin_answer(one, 0.0) is None
        assert Registry(opened).begin_answer(replace(one, user="bob"), 0.0) is None
        assert Registry(opened).begin_answer(replace(one, request=b"other", time=6.0), 0.0) == one
        Registry(opened).end_answer("ann", "k", 201, b"{}")
        assert Registry(opened).begin_answer(one, 5.0) == replace(one, status=201, body=b"{}")
        Registry(opened).end_answer("bob", "k", 0, b"")
        assert Registry(opened).begin_answer(replace(one, user="bob"), 0.0) is None
        assert Registry(opened).begin_answer(replace(one, time=7.0), 6.0) is None

    def test_a_job_is_stored_until_it_is_old(self, opened: Store) -> None:
        registry = Registry(opened)
        one = JobRecord("1", "ann", "works", "a.bib", created_at=5.0, seen_at=5.0)
        other = replace(one, id="2", user="bob", created_at=6.0, seen_at=6.0)
        assert registry.begin_job(one, 1, 0.0, 0.0)
        assert registry.begin_job(other, 1, 0.0, 0.0)
        assert not registry.begin_job(replace(one, id="3"), 1, 0.0, 0.0)
        assert registry.begin_job(replace(one, id="3", created_at=7.0), 1, 5.5, 0.0)
        later = replace(one, stage="store", done=3, total=9, seen_at=8.0)
        assert registry.put_jobs([later]) == []
        assert registry.job("1") == later
        ended = replace(later, state="done", ended_at=9.0, status=200, report="{}", error="")
        registry.put_jobs([ended])
        assert registry.jobs("ann") == [registry.job("3"), ended]
        assert [each.id for each in registry.jobs()] == ["3", "2", "1"]
        assert registry.job("4") is None
        assert registry.begin_job(replace(one, id="4", seen_at=20.0), 5, 0.0, 7.0)
        assert {each.id for each in registry.jobs()} == {"1", "4"}

    def test_a_job_that_is_to_stop_or_is_forgotten_is_named(self, opened: Store) -> None:
        registry = Registry(opened)
        jobs = [JobRecord(id, user, "works", seen_at=1.0) for id, user in (("1", "ann"), ("2", "ann"), ("3", "bob"))]
        for each in jobs:
            assert registry.begin_job(each, 9, 0.0, 0.0)
        registry.stop_jobs("ann", "1")
        registry.stop_jobs("ann", "3")
        gone = JobRecord("9", "ann", "works")
        assert registry.put_jobs([*jobs, gone]) == ["1", "9"]
        registry.stop_jobs("ann")
        assert registry.put_jobs(jobs) == ["1", "2"]
        registry.erase("bob")
        assert registry.put_jobs(jobs[2:]) == ["3"]

    def test_spendings_are_summed_by_day_user_feature_and_model(self, opened: Store) -> None:
        day = 86_400.0
        Registry(opened).spend([Spending("ann", "answer", "m", 5, 0.5, time) for time in (1.0, 2.0, day)])
        assert [(each.day, each.calls, each.tokens) for each in Registry(opened).spent("ann")] == [
            ("1970-01-01", 2, 10),
            ("1970-01-02", 1, 5),
        ]
        assert Registry(opened).spent("ann", until=1.0) == Registry(opened).spent("bob") == []
        assert sum(each.cost for each in Registry(opened).spent("ann", 2.0)) == pytest.approx(1.0)

    def test_a_spending_is_reserved_within_a_budget_settled_and_taken_back(self, opened: Store) -> None:
        registry = Registry(opened)
        registry.spend([Spending("ann", "search", "m", 1, 5.0, 1.0), Spending("bob", "search", "m", 1, 5.0, 9.0)])
        first = registry.reserve(Spending("ann", "search", "m", 2, 0.6, 9.0), 1.0, since=2.0)
        assert first is not None
        assert registry.reserve(Spending("ann", "search", "m", 2, 0.6, 9.0), 1.0, since=2.0) is None
        registry.settle(first, Spending("ann", "search", "m", 1, 0.4, 9.0))
        second = registry.reserve(Spending("ann", "store", "m", 2, 0.6, 9.0), 1.0, since=2.0)
        assert second is not None
        assert sum(each.cost for each in registry.spent("ann", 2.0)) == pytest.approx(1.0)
        registry.settle(second, None)
        assert [(each.feature, each.tokens) for each in registry.spent("ann", since=2.0)] == [("search", 1)]

    def test_questions_stay_until_they_are_forgotten(self, opened: Store) -> None:
        old = QuestionDigest("ann", b"1", 1.0)
        new = QuestionDigest("bob", b"2", 2.0, b"sketch")
        Registry(opened).ask([old, new], forget_before=0.0)
        assert Registry(opened).questions() == [old, new]
        assert Registry(opened).questions(until=2.0) == [old]
        Registry(opened).ask([], forget_before=1.5)
        assert Registry(opened).questions() == [new]


class LogContract(NeedsOpened):
    """The behaviour of every registry's log of decisions."""

    wiki = CollectionRecord("bob\x1f@wiki", "bob", "wiki", "", 1.0)

    def decided(self, registry: Registry) -> None:
        """Log a decision of each kind, twice where the second time has no effect."""
        sharing = registry.sharing
        registry.put_token(Token("1", "ann", "user"), b"", LogEntry("root", "token.create", moment(1.0), "1", "ann"))
        for time in (2.0, 2.5):
            registry.revoke("1", time, LogEntry("root", "token.revoke", moment(time), "1", "ann"))
        registry.set("policy facts", "nobody", entry=LogEntry("root", "setting.change", moment(3.0), "facts"))
        sharing.put(self.wiki, LogEntry("bob", "collection.rename", moment(4.0), "wiki", "bob"))
        sharing.share(
            self.wiki.owner, Grant("ann"), LogEntry("bob", "collection.share", moment(5.0), "wiki", "bob", "ann")
        )
        for time in (6.0, 6.5):
            sharing.unshare(
                self.wiki.owner, "ann", LogEntry("bob", "collection.unshare", moment(time), "wiki", "bob", "ann")
            )
        for time, members in ((7.0, ["ann", "bob"]), (8.0, ["bob", "carl"])):
            sharing.put_group("design", members, LogEntry("root", "group.set", moment(time), "design"))
        for time in (9.0, 9.5):
            sharing.drop_group("design", LogEntry("root", "group.remove", moment(time), "design"))
        sharing.drop(self.wiki.owner, LogEntry("bob", "collection.remove", moment(10.0), "wiki", "bob"))

    def test_decisions_are_listed_newest_first(self, opened: Store) -> None:
        self.decided(Registry(opened))
        found = Registry(opened).log()
        assert [(each.action, each.done_at, each.who, each.detail) for each in reversed(found)] == [
            ("token.create", moment(1.0), "", ""),
            ("token.revoke", moment(2.0), "", ""),
            ("setting.change", moment(3.0), "", ""),
            ("collection.rename", moment(4.0), "", ""),
            ("collection.share", moment(5.0), "ann", ""),
            ("collection.unshare", moment(6.0), "ann", ""),
            ("group.set", moment(7.0), "ann", "joined"),
            ("group.set", moment(7.0), "bob", "joined"),
            ("group.set", moment(8.0), "ann", "left"),
            ("group.set", moment(8.0), "carl", "joined"),
            ("group.remove", moment(9.0), "", ""),
            ("collection.remove", moment(10.0), "", ""),
        ]
        assert [each.id for each in found] == sorted((each.id for each in found), reverse=True)
        assert Registry(opened).log(found[2].id, 4) == found[3:7]

    def test_what_was_not_done_is_not_listed(self, opened: Store) -> None:
        needs(opened, Capability.TRANSACTIONS)
        entry = LogEntry("root", "token.create", moment(1.0), "1", "ann")
        with suppress(RuntimeError), opened.transaction():
            Registry(opened).put_token(Token("1", "ann", "user"), b"", entry)
            raise RuntimeError
        assert not Registry(opened).erase("ann", LogEntry("root", "user.delete", moment(2.0), owner="ann"))
        assert (Registry(opened).tokens(), Registry(opened).log()) == ([], [])

    def test_who_is_erased_goes_by_a_number(self, opened: Store) -> None:
        self.decided(Registry(opened))
        erased = Registry(opened).erase("bob", LogEntry("root", "user.delete", moment(11.0), owner="bob"))
        entry, *before = Registry(opened).log()
        alias = f"deleted user {entry.id}"
        assert (entry.action, entry.owner, erased.log) == ("user.delete", alias, 5)
        assert all("bob" not in (each.user, each.owner, each.who) for each in before)
        assert [
            (each.user, each.owner, each.target, each.who) for each in before if each.action.startswith("coll")
        ] == [(alias, alias, "", who) for who in ("", "ann", "ann", "")]
        assert [each.who for each in before if each.action == "group.set"] == ["carl", "ann", alias, "ann"]

    def test_one_who_erases_themselves_is_named_no_more(self, opened: Store) -> None:
        Registry(opened).put_token(Token("1", "root", "admin"), b"")
        Registry(opened).erase("root", LogEntry("root", "user.delete", moment(1.0), owner="root"))
        (entry,) = Registry(opened).log()
        assert (entry.user, entry.owner) == (f"deleted user {entry.id}",) * 2

    def test_entries_are_stored_for_a_time(self, opened: Store) -> None:
        year = 365 * 86_400.0
        for user, time in (("root", 1.0), ("ann", 1.5 * year), ("root", 3 * year)):
            Registry(opened).put_token(
                Token(str(time), user, "user"), b"", LogEntry(user, "token.create", moment(time))
            )
        assert [each.done_at for each in Registry(opened).log()] == [moment(3 * year), moment(1.5 * year)]


class SharingContract(NeedsOpened):
    """The behaviour of every registry for collections, their readers and groups of users."""

    wiki = CollectionRecord("bob\x1f@wiki", "bob", "wiki", "what we know", 1.0)
    plans = CollectionRecord("bob\x1f@plans", "bob", "plans", "", 2.0)

    def test_a_collection_keeps_its_owner_and_readers_when_it_is_renamed(self, opened: Store) -> None:
        sharing = Registry(opened).sharing
        for record in (self.wiki, self.plans):
            sharing.put(record)
        sharing.share(self.wiki.owner, Grant("ann"))
        sharing.put(replace(self.wiki, name="atlas", description=""))
        assert [(each.owner, each.name) for each in sharing.collections("bob")] == [
            (self.wiki.owner, "atlas"),
            (self.plans.owner, "plans"),
        ]
        assert sharing.grants(self.wiki.owner) == [Grant("ann")]
        assert sharing.collections("ann") == []
        assert sharing.collections() == sharing.collections("bob")

    def test_it_is_read_by_those_named_by_a_group_and_by_everyone(self, opened: Store) -> None:
        sharing = Registry(opened).sharing
        for record in (self.wiki, self.plans):
            sharing.put(record)
        sharing.put_group("design", ["carl", "dora"])
        assert sharing.shared_with("ann") == sharing.shared_with("carl") == []
        sharing.share(self.wiki.owner, Grant("ann"))
        sharing.share(self.wiki.owner, Grant("design", write=True))
        sharing.share(self.plans.owner, Grant(EVERYONE))
        assert sharing.shared_with("ann") == [(self.plans, False), (self.wiki, False)]
        assert sharing.shared_with("carl") == [(self.plans, False), (self.wiki, True)]
        assert sharing.shared_with("bob") == []
        sharing.put_group("design", ["dora"])
        assert sharing.shared_with("carl") == [(self.plans, False)]
        assert [sharing.unshare(self.plans.owner, EVERYONE) for _ in range(2)] == [True, False]
        assert sharing.shared_with("carl") == []

    def test_the_more_of_two_ways_to_read_holds(self, opened: Store) -> None:
        sharing = Registry(opened).sharing
        sharing.put(self.wiki)
        sharing.put_group("design", ["ann"])
        sharing.share(self.wiki.owner, Grant("design", write=True))
        sharing.share(self.wiki.owner, Grant("ann"))
        assert sharing.shared_with("ann") == [(self.wiki, True)]

    def test_a_group_that_is_deleted_reads_nothing_when_it_is_back(self, opened: Store) -> None:
        sharing = Registry(opened).sharing
        sharing.put(self.wiki)
        sharing.put_group("design", ["ann"])
        sharing.put_group("empty", [])
        sharing.share(self.wiki.owner, Grant("design"))
        assert sharing.groups() == {"design": ("ann",), "empty": ()}
        assert [sharing.drop_group("design") for _ in range(2)] == [True, False]
        sharing.put_group("design", ["ann"])
        assert sharing.shared_with("ann") == []

    def test_users_are_those_with_something_stored(self, opened: Store) -> None:
        Registry(opened).put_token(Token("1", "ann", "user"), b"")
        Registry(opened).sharing.put_group("design", ["carl"])
        Registry(opened).sharing.put(self.wiki)
        part(opened.of("dora"), "messages").records.set("name", "value")
        assert Registry(opened).sharing.users() == {"ann", "bob", "carl", "dora"}

    def test_a_collection_that_is_dropped_takes_what_it_holds_and_no_more(self, opened: Store) -> None:
        for record in (self.wiki, self.plans):
            Registry(opened).sharing.put(record)
            opened.of(record.owner).catalog.write(Placed("c", change("a", "words", first_id=len(record.owner))))
        Registry(opened).sharing.share(self.wiki.owner, Grant("ann"))
        assert Registry(opened).sharing.drop(self.wiki.owner).documents
        assert Registry(opened).sharing.collections("bob") == [self.plans]
        assert Registry(opened).sharing.shared_with("ann") == []
        counts = [opened.of(each.owner).totals().documents for each in (self.wiki, self.plans)]
        assert counts == [0, 1]

    def test_who_is_erased_has_and_reads_no_collection(self, opened: Store) -> None:
        sharing = Registry(opened).sharing
        for record in (self.wiki, CollectionRecord("ann", "ann", "library")):
            sharing.put(record)
        sharing.put_group("design", ["ann", "bob"])
        sharing.share(self.wiki.owner, Grant("ann"))
        assert Registry(opened).erase("ann").collections == 1
        assert sharing.collections() == [self.wiki]
        assert sharing.grants(self.wiki.owner) == []
        assert sharing.groups() == {"design": ("bob",)}
