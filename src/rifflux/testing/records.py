"""The contract of records."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from rifflux.store import ABSENT, KEY, Delete, Put, Record, Store, Where, changed
from rifflux.testing.making import NeedsStore


class RecordsContract(NeedsStore):
    """The behaviour of every Records, for the whole index and for an owner."""

    def test_settings_are_remembered(self, store: Store) -> None:
        assert store.records.setting("name") is None
        store.records.set("name", "value")
        store.records.set("name", "newer")
        assert store.records.setting("name") == "newer"

    def test_settings_and_kinds_are_listed(self, store: Store) -> None:
        assert (store.records.settings(), {*store.records.kinds()}) == ({}, set())
        with store.records.lease("task"):
            store.records.set("name", "value", Put(Record("note", "a")))
            store.records.set("other", "")
            store.records.write(Put(Record("use", "b")))
            assert store.records.settings() == {"name": "value", "other": ""}
            assert {*store.records.kinds()} == {"note", "use"}
        store.records.write(Delete("use", "b"))
        assert {*store.records.kinds()} == {"note"}

    def test_a_task_is_had_until_the_block_ends(self, store: Store) -> None:
        for _ in range(2):
            with store.records.lease("task") as mine:
                assert mine

    def test_a_record_is_stored_replaced_and_deleted(self, store: Store) -> None:
        records = store.records
        assert records.get("note", "a") is None
        one = Record("note", "a", {"text": "é", "list": [1, None]}, "ann", 5.5, 0.25)
        assert records.write(Put(one))
        found = records.get("note", "a")
        assert found
        assert replace(found, number=0, version=ABSENT, owner="") == one
        assert records.write(Put(replace(one, value={})), Put(Record("note", "b")))
        after = records.get("note", "a")
        assert after
        assert (after.value, after.number) != (one.value, 0)
        assert after.version != found.version
        assert records.write(Delete("note", "a"), Delete("note", "missing"))
        assert [each.key for each in records.scan(Where("note"))] == ["b"]

    def test_a_conflict_writes_nothing(self, store: Store) -> None:
        records = store.records
        assert records.write(Put(Record("note", "a"), ABSENT))
        first = records.get("note", "a")
        assert first
        assert not records.write(Put(Record("note", "a", {"n": 1}), ABSENT), Put(Record("note", "b")))
        assert records.write(Put(replace(first, value={"n": 2}), first.version))
        assert not records.write(Put(replace(first, value={"n": 3}), first.version), Put(Record("note", "b")))
        assert [(each.key, each.value) for each in records.scan(Where("note"))] == [("a", {"n": 2})]
        records.write(Delete("note", "a"))
        records.write(Put(Record("note", "a")))
        assert not records.write(Put(first, first.version))

    def test_changes_at_the_same_time_are_all_made(self, store: Store) -> None:
        records = store.records
        records.write(Put(Record("note", "a", {"n": 0})))

        def count(_: int) -> bool:
            return changed(records, "note", "a", lambda each: replace(each, value={"n": each.value["n"] + 1}))

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(count, range(12)))
        after = records.get("note", "a")
        assert after
        assert after.value == {"n": 12}
        assert not changed(records, "note", "b", lambda each: each)

    def test_records_are_selected_in_the_order_of_creation(self, store: Store) -> None:
        records = store.records
        for number, (key, user) in enumerate((("x", "ann"), (f"g{KEY}1", "bob"), (f"g{KEY}2", "ann"), ("gh", "carl"))):
            records.write(Put(Record("note", key, user=user, time=float(number))))
        records.write(Put(Record("other", "x")))

        def keys(**selection: object) -> list[str]:
            return [each.key for each in records.scan(Where("note", **selection))]  # type: ignore[arg-type]

        assert keys() == ["x", f"g{KEY}1", f"g{KEY}2", "gh"]
        assert keys(prefix=f"g{KEY}") == [f"g{KEY}1", f"g{KEY}2"]
        assert keys(users=("ann",)) == ["x", f"g{KEY}2"]
        assert keys(users=()) == []
        assert keys(keys=("gh", "x", "none")) == ["x", "gh"]
        assert keys(since=1.0, until=3.0) == [f"g{KEY}1", f"g{KEY}2"]
        first, second = records.scan(Where("note"), most=2)
        assert (first.key, second.key) == ("x", f"g{KEY}1")
        assert [each.key for each in records.scan(Where("note"), after=second.number)] == [f"g{KEY}2", "gh"]
        newest = [*records.scan(Where("note"), most=2, newest=True)]
        assert [each.key for each in newest] == ["gh", f"g{KEY}2"]
        assert [each.key for each in records.scan(Where("note"), after=newest[-1].number, newest=True)] == [
            f"g{KEY}1",
            "x",
        ]
        assert [each.key for each in records.scan(Where("note"), most=3)] == ["x", f"g{KEY}1", f"g{KEY}2"]

    def test_records_are_summed_and_dropped(self, store: Store) -> None:
        records = store.records
        for key, user, tokens in (("a", "ann", 3), ("b", "bob", 4), ("c", "ann", 5)):
            records.write(Put(Record("use", key, {"tokens": tokens, "model": "m"}, user, amount=0.5)))
        sums = records.sum(Where("use"), ("user", "model"), ("tokens", "amount"))
        assert [(each.keys, each.count, each.totals) for each in sums] == [
            (("ann", "m"), 2, (8, 1.0)),
            (("bob", "m"), 1, (4, 0.5)),
        ]
        assert records.drop(Where("use", users=("ann",))) == 2
        assert records.drop(Where("use", users=("ann",))) == 0
        assert [each.key for each in records.scan(Where("use"))] == ["b"]

    def test_an_amount_is_reserved_up_to_its_limit(self, store: Store) -> None:
        records = store.records

        def reserve(number: int) -> bool:
            record = Record("use", str(number), user="ann", time=5.0, amount=0.1)
            return records.reserve(record, Where("use", users=("ann",), since=2.0), 0.3)

        records.write(
            Put(Record("use", "old", user="ann", time=1.0, amount=9.0)),
            Put(Record("use", "bobs", user="bob", time=5.0, amount=9.0)),
        )
        with ThreadPoolExecutor(3) as threads:
            assert sorted(threads.map(reserve, range(5))) == [False, False, True, True, True]
