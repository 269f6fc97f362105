"""Online measures: what became of questions by day, without keeping their words, each user's apart."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.index import open_index
from rifflux.service.analytics import Day, Diary, digest_of, online, sketch_of
from rifflux.service.nouns import Event, QuestionDigest, Reaction
from rifflux.service.registry import Registry
from rifflux.store import Store, open_store
from rifflux.types.nouns import iso_time
from tests.support.server import serving

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
DAY = 86_400.0


def asked(user: str, query: str, at: float) -> QuestionDigest:
    return QuestionDigest(user, digest_of(query), NOON + at, sketch_of(query))


def told(user: str, kind: str, query: str, at: float) -> Reaction:
    return Reaction(user, kind, query, NOON + at)


class TestMeasures:
    def test_a_day_of_two_users(self) -> None:
        questions = [
            asked("ann", "cache ttl", 0),
            asked("ann", "cache expiry", 60),  # other words within five minutes, nothing used: reformulated
            asked("ann", "backups", 120),  # the one before was clicked: not reformulated
            asked("bob", "cache ttl", 10),
        ]
        reactions = [
            told("ann", "click", "cache expiry", 70),
            told("ann", "save", "Cache  Expiry", 80),
            told("ann", "click", "cache expiry", 90),
            told("bob", "not_relevant", "cache ttl", 20),
            told("bob", "click", "backups", 200),  # bob never asked that
        ]
        assert online(questions, reactions) == [Day("2026-03-01", 4, 1, 1, 1, 1, 1)]
        assert online(questions, reactions)[0].row() == {
            "day": "2026-03-01", "questions": 4, "click_through": 0.25, "saved": 0.25, "reformulated": 0.25,
            "not_relevant": 0.25, "unmatched": 1,
        }  # fmt: skip

    @pytest.mark.parametrize(("seconds", "questions"), [(1800, 1), (1801, 2)])
    def test_the_same_words_again_are_the_same_question_for_half_an_hour(self, seconds: float, questions: int) -> None:
        (day,) = online([asked("ann", "Cache", 0), asked("ann", "cache ", seconds)], [])
        assert (day.questions, day.reformulated) == (questions, 0)

    @pytest.mark.parametrize(("seconds", "reformulated"), [(300, 1), (301, 0)])
    def test_other_words_count_as_another_try_for_five_minutes(self, seconds: float, reformulated: int) -> None:
        (day,) = online([asked("ann", "cache", 0), asked("ann", "caching", seconds)], [])
        assert day.reformulated == reformulated

    @pytest.mark.parametrize(
        ("first", "second", "reformulated"),
        [
            ("proof of the Hahn-Banach theorem", "how is the Hahn-Banach theorem proved?", 1),
            ("cache ttl", "expiry of the cache", 1),
            ("pizza dough hydration", "C*-algebras of foliations", 0),
            ("what is the boiling point of water", "what is the capital of France", 0),
        ],
    )
    def test_only_a_question_in_similar_words_is_another_try(self, first: str, second: str, reformulated: int) -> None:
        (day,) = online([asked("ann", first, 0), asked("ann", f"{second} ", 60)], [])
        assert day.reformulated == reformulated

    def test_a_sketch_tells_no_words(self) -> None:
        assert b"cache" not in sketch_of("cache ttl")
        assert len(sketch_of("cache")) == len(sketch_of("a much longer question on how caches expire"))

    def test_a_click_that_comes_too_late_does_not_keep_a_question_from_being_reformulated(self) -> None:
        questions = [asked("ann", "cache", 0), asked("ann", "caching", 60)]
        (day,) = online(questions, [told("ann", "click", "cache", 90)])
        assert (day.clicked, day.reformulated) == (1, 1)

    def test_a_question_counts_on_the_day_that_it_was_asked(self) -> None:
        days = online([asked("ann", "cache", 0), asked("ann", "cache", DAY)], [told("ann", "export", "cache", DAY - 1)])
        assert [(day.day, day.questions, day.saved) for day in days] == [("2026-03-01", 1, 1), ("2026-03-02", 1, 0)]

    @given(
        st.lists(
            st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 400_000)),
            max_size=12,
            unique_by=lambda each: each[2],
        ),
        st.lists(
            st.tuples(
                st.sampled_from("ab"),
                st.sampled_from(("click", "save", "export", "not_relevant")),
                st.sampled_from("xyz"),
                st.integers(0, 400_000),
            ),
            max_size=12,
            unique=True,
        ),
    )
    def test_shares_are_shares_and_the_order_of_rows_does_not_matter(self, first: Any, second: Any) -> None:
        questions, reactions = [asked(*each) for each in first], [told(*each) for each in second]
        days = online(questions, reactions)
        random.Random(1).shuffle(reactions)
        assert online(reversed(questions), reactions) == days
        assert sum(day.questions for day in days) <= len(questions)
        assert sum(day.unmatched for day in days) <= len(reactions)
        for day in days:
            assert max(day.clicked, day.saved, day.reformulated, day.not_relevant) <= day.questions


class TestDiary:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_store(tmp_path / "index.db")
        yield store
        store.close()

    def test_keeps_no_words(self, store: Store, tmp_path: Path) -> None:
        diary = Diary(Registry(store))
        diary.note("ann", "zyzzyva maintenance")
        assert [day.questions for day in diary.days()] == [1]
        store.close()
        assert not any(b"zyzzyva" in file.read_bytes() for file in tmp_path.iterdir())

    def test_feedback_of_one_user_is_not_for_anothers_question(self, store: Store) -> None:
        diary = Diary(Registry(store), now=lambda: NOON)
        diary.note("ann", "cache")
        Registry(store.of("bob")).record(Event("click", "cache", "c", "a", created_at=iso_time(NOON + 1)))
        assert diary.days() == [Day("2026-03-01", 1, unmatched=1)]
        Registry(store.of("ann")).record(Event("click", "cache", "c", "a", created_at=iso_time(NOON + 1)))
        assert diary.days() == [Day("2026-03-01", 1, clicked=1, unmatched=1)]

    def test_a_span_of_days_is_told_and_old_questions_are_forgotten(self, store: Store) -> None:
        clock = NOON
        diary = Diary(Registry(store), now=lambda: clock)
        for day in range(3):
            clock = NOON + day * DAY
            diary.note("ann", "cache")
        noted = [day.day for day in diary.days()]
        assert noted == ["2026-03-01", "2026-03-02", "2026-03-03"]
        assert [day.day for day in diary.days(NOON - 12 * 3600 + DAY, NOON + 12 * 3600 + DAY)] == ["2026-03-02"]
        clock = NOON + 500 * DAY
        diary.note("ann", "cache")
        assert [day.questions for day in diary.days()] == [1]


@pytest.mark.slow
def test_the_service_tells_administrators_what_became_of_questions(tmp_path: Path, run: Any) -> None:
    (tmp_path / "cache.md").write_text("# Caching\n\nCache entries live for ten minutes.\n")
    with open_index(tmp_path / "index.db", model="hash") as index:
        index.add(tmp_path / "cache.md")
    user, admin = (
        run.json("tokens", "create", "--user", name, "--role", role, "--db", "index.db")["token"]
        for name, role in (("ann", "user"), ("root", "admin"))
    )
    with serving(run, "--db", "index.db") as service:
        with service.client(user) as client:
            for path in ("/search", "/retrieve", "/everything"):
                assert client.post(path, json={"query": f"cache {path}"}).status_code == 200
            assert client.get("/online").status_code == 403
        with service.client(admin) as client:
            (row,) = client.get("/online").json()["rows"]
            assert (row["questions"], row["reformulated"], row["click_through"]) == (
                3,
                pytest.approx(2 / 3, abs=1e-4),
                0,
            )
            assert client.get("/online", params={"since": "2999"}).json()["rows"] == []
            assert client.get("/online", params={"since": "someday"}).status_code == 422
    assert run.json("online", "--db", "index.db") == [row]
    assert "reformulated" in run("online", "--db", "index.db").stdout
