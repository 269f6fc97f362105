"""What every registry does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rifflux.store import Event, QuestionDigest, Spending, Store, Token
from rifflux.testing.making import NeedsOpened, NeedsStore

__all__ = ["AccountsContract", "RegistryContract"]


class RegistryContract(NeedsStore):
    """What every Registry does for an owner."""

    def test_settings_are_remembered(self, store: Store) -> None:
        assert store.registry.setting("name") is None
        store.registry.set("name", "value")
        store.registry.set("name", "newer")
        assert store.registry.setting("name") == "newer"

    def test_events_are_recorded_in_order_whether_or_not_their_document_is_there(self, store: Store) -> None:
        judged = Event("judgement", "how long", "c", "a", "0" * 16, grade=2, user="ann", time=1.5)
        clicked = Event("click", "how long", "c", "gone")
        for event in (judged, clicked, judged):
            store.registry.record(event)
        assert store.registry.events() == [judged, clicked, judged]
        assert store.registry.events("judgement") == [judged, judged]
        assert store.registry.events("unknown") == []

    def test_a_claim_is_had_until_the_block_ends(self, store: Store) -> None:
        for _ in range(2):
            with store.registry.claim("task") as mine:
                assert mine


class AccountsContract(NeedsOpened):
    """What every Registry does for the whole index."""

    def test_tokens_are_listed_as_made_and_revoked_for_ever(self, opened: Store) -> None:
        one, two = Token("1", "ann", "user", created_at=1.0), Token("2", "bob", "admin", "laptop", created_at=2.0)
        for token in (two, one):
            opened.registry.put_token(token, token.id.encode())
        assert opened.registry.tokens() == [one, two]
        assert opened.registry.token("2") == (two, b"2")
        assert opened.registry.token("3") is None
        opened.registry.mark_used("1", 5.0)
        assert [opened.registry.revoke(id, 6.0) for id in ("1", "1", "3")] == [True, False, False]
        assert opened.registry.tokens()[0] == replace(one, used_at=5.0, revoked_at=6.0)

    def test_spendings_are_summed_by_day_user_feature_and_model(self, opened: Store) -> None:
        day = 86_400.0
        opened.registry.spend([Spending("ann", "answer", "m", 5, 0.5, time) for time in (1.0, 2.0, day)])
        assert [(each.day, each.calls, each.tokens) for each in opened.registry.spent("ann")] == [
            ("1970-01-01", 2, 10),
            ("1970-01-02", 1, 5),
        ]
        assert opened.registry.spent("ann", until=1.0) == opened.registry.spent("bob") == []
        assert opened.registry.cost("ann", 2.0) == pytest.approx(1.0)

    def test_questions_are_kept_until_they_are_forgotten(self, opened: Store) -> None:
        old, new = QuestionDigest("ann", b"1", 1.0), QuestionDigest("bob", b"2", 2.0)
        opened.registry.ask([old, new], forget_before=0.0)
        assert opened.registry.questions() == [old, new]
        assert opened.registry.questions(until=2.0) == [old]
        opened.registry.ask([], forget_before=1.5)
        assert opened.registry.questions() == [new]
