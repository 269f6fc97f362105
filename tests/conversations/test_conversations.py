"""What a user can rely on: messages are found through their turns, narrowed before ranking, and changed one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import rifflux
from rifflux import InvalidArgument, NotFound, OutOfScope, Scope
from rifflux.conversations import Conversation, Conversations, Message, Thread
from rifflux.models.hashing import HashEmbedder
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.types import Vectors


def found(conversations: Conversations, query: str, **narrow: object) -> list[str]:
    return [hit.message.id for hit in conversations.search(query, **narrow)]  # type: ignore[arg-type]


def talk(conversations: Conversations, id: str, *texts: str, day: int = 1, **fields: object) -> None:
    """A conversation of ann and an assistant by turns; messages are called a0, a1, …"""
    conversations.add(id=id, created_at=f"2024-05-{day:02}", **fields)  # type: ignore[arg-type]
    for number, text in enumerate(texts):
        conversations.add_message(
            id, text, id=f"{id}{number}", role=("user", "assistant")[number % 2],
            created_at=f"2024-05-{day:02}T12:{number:02}:00Z",
        )  # fmt: skip


def test_an_answer_is_found_through_its_question(conversations: Conversations) -> None:
    talk(conversations, "a", "Where shall we spend the summer holidays?", "Lisbon, by train.", "Fine with me.")
    talk(conversations, "b", "Which compiler flags matter?", "Only -O2.")
    answers = found(conversations, "summer holidays")
    assert (answers[0], set(answers)) == ("a0", {"a0", "a1", "a2"})
    assert found(conversations, "lisbon train")[0] == "a1"


def test_a_hit_is_the_message_itself_with_its_title_and_neighbours(conversations: Conversations) -> None:
    talk(conversations, "a", "one apple", "two pears", "three plums", "four figs", title="Fruit")
    hit = conversations.search("plums", neighbors=1)[0]
    assert (hit.message.text, hit.title, hit.message.conversation_id) == ("three plums", "Fruit", "a")
    assert [message.text for message in hit.before] == ["two pears"]
    assert [message.text for message in hit.after] == ["four figs"]
    assert hit.hit.because("lexical") is not None


def test_turns_that_are_days_apart_are_no_neighbours(conversations: Conversations) -> None:
    conversations.add(id="a")
    conversations.add_message("a", "summer holidays", id="old", created_at="2024-05-01")
    conversations.add_message("a", "good morning", id="new", created_at="2024-05-03")
    assert found(conversations, "holidays") == ["old"]


@pytest.mark.parametrize(
    ("narrow", "wanted"),
    [
        ({}, {"a0", "a1", "b0", "b1", "c0", "c1"}),
        ({"conversation_id": "b"}, {"b0", "b1"}),
        ({"role": "assistant"}, {"a1", "b1", "c1"}),
        ({"since": "2024-05-02"}, {"b0", "b1", "c0", "c1"}),
        ({"until": date(2024, 5, 2)}, {"a0", "a1", "b0", "b1"}),
        ({"since": "2024-05-02", "until": "2024-05-02"}, {"b0", "b1"}),
        ({"project": "red"}, {"a0", "a1"}),
        ({"archived": True}, {"c0", "c1"}),
        ({"archived": False, "role": "user"}, {"a0", "b0"}),
        ({"conversation_id": "unknown"}, set()),
    ],
)
def test_searches_are_narrowed(conversations: Conversations, narrow: dict[str, object], wanted: set[str]) -> None:
    talk(conversations, "a", "cache words", "cache answer", day=1, project="red")
    talk(conversations, "b", "cache words", "cache answer", day=2)
    talk(conversations, "c", "cache words", "cache answer", day=3, archived=True)
    assert set(found(conversations, "cache", **narrow)) == wanted


def test_a_page_is_full_although_a_filter_leaves_little(conversations: Conversations) -> None:
    for day in range(1, 29):
        talk(conversations, f"t{day}", *["cache cache cache"] * 4, day=day)
    talk(conversations, "z", "a weak mention of one cache among many other words", day=30)
    assert found(conversations, "cache", conversation_id="z", top_k=1) == ["z0"]
    assert len(found(conversations, "cache", top_k=100)) == 100
    assert len(found(conversations, "cache")) == 20


def test_hits_can_be_grouped_by_conversation(conversations: Conversations) -> None:
    talk(conversations, "a", "cache", "cache cache", title="First")
    talk(conversations, "b", "cache and other words that are many more", title="Second")
    groups = conversations.search("cache").grouped()
    assert [(group.conversation_id, group.title, len(group.hits)) for group in groups] == [
        ("a", "First", 2),
        ("b", "Second", 1),
    ]


def test_a_long_message_is_one_hit(conversations: Conversations) -> None:
    talk(conversations, "a", "\n\n".join(f"Paragraph {n} about caches. " + "word " * 90 for n in range(8)))
    assert found(conversations, "caches") == ["a0"]
    assert len(conversations.search("caches")[0].message.text) > 3000


def test_who_spoke_and_when_are_words(conversations: Conversations) -> None:
    conversations.add(id="a", title="Budget")
    conversations.add_message("a", "yes", id="m", speaker="Caroline", created_at="2023-05-08T13:56:00")
    for question in ("caroline", "8 May 2023", "2023-05-08", "monday", "budget"):
        assert found(conversations, question) == ["m"], question


# Changing


def test_what_is_edited_is_found_as_it_is_now(conversations: Conversations) -> None:
    talk(conversations, "a", "old words", "an answer", "thanks")
    conversations.edit_message("a", "a0", text="new sentence", role="system")
    assert found(conversations, "old") == []
    assert set(found(conversations, "sentence")) == {"a0", "a1", "a2"}
    assert conversations.message("a", "a0").role == "system"


def test_what_is_deleted_is_forgotten_by_its_neighbours_too(conversations: Conversations) -> None:
    talk(conversations, "a", "first", "secret holiday", "third", "fourth")
    conversations.delete_message("a", "a1")
    assert found(conversations, "holiday") == []
    assert [message.id for message in conversations.messages("a")] == ["a0", "a2", "a3"]
    assert set(found(conversations, "first")) == {"a0", "a2", "a3"}, "those around it have closed ranks"


def test_a_message_with_another_date_moves(conversations: Conversations) -> None:
    talk(conversations, "a", "first", "second", "third")
    conversations.edit_message("a", "a0", created_at="2024-05-01T13:00:00Z")
    assert [message.id for message in conversations.messages("a")] == ["a1", "a2", "a0"]
    assert set(found(conversations, "first")) == {"a0", "a2"}, "what is two turns before it no longer knows it"


def test_messages_may_come_in_any_order(conversations: Conversations) -> None:
    at = "2024-05-01T12:0{}:00Z"
    conversations.add(id="a")
    messages = [Message(str(n), "a", f"word{n}", created_at=at.format(n)) for n in range(6)]
    for message in (messages[place] for place in (3, 1, 5, 0, 2, 4)):
        conversations.add_message("a", message.text, id=message.id, created_at=message.created_at)
    conversations.put(Thread(Conversation("b"), tuple(replace(each, conversation_id="b") for each in messages)))
    assert conversations.messages("a") == messages
    for message in messages:
        one_by_one = found(conversations, message.text, conversation_id="a")
        assert set(one_by_one) == set(found(conversations, message.text, conversation_id="b"))


@pytest.mark.parametrize("order", ["as they were said", "the last first", "every third"])
def test_messages_that_come_in_parts_have_the_neighbours_they_would_have_had_at_once(
    conversations: Conversations, order: str
) -> None:
    at = "2024-05-01T12:{:02}:{:02}Z".format
    words = ["".join(chr(97 + int(digit)) for digit in f"{n:03}") + "xum" for n in range(240)]
    turns = [Message(f"m{n}", "a", word, created_at=at(n // 60, n % 60)) for n, word in enumerate(words)]
    parts = [turns[place : place + 60] for place in range(0, 240, 60)]
    if order == "the last first":
        parts.reverse()
    elif order == "every third":
        parts = [turns[place::3] for place in range(3)]
    for part in parts:
        conversations.put(Thread(Conversation("a"), tuple(part)))
    at_once = tuple(replace(turn, conversation_id="b") for turn in turns)
    conversations.put(Thread(Conversation("b"), at_once))
    for turn in turns[::7] + turns[58:63]:
        wanted = set(found(conversations, turn.text, conversation_id="b"))
        assert set(found(conversations, turn.text, conversation_id="a")) == wanted, turn.text


@pytest.mark.parametrize("edited", range(8))
def test_an_edit_leaves_every_message_the_neighbours_it_would_have_had_at_once(
    conversations: Conversations, edited: int
) -> None:
    words = ["heron", "river", "barge", "willow", "otter", "ferry", "lantern", "harbour"]
    talk(conversations, "a", *words)
    conversations.edit_message("a", f"a{edited}", text="kingfisher")
    words[edited] = "kingfisher"
    at = "2024-05-01T12:{:02}:00Z".format
    turns = (Message(f"b{n}", "b", word, created_at=at(n)) for n, word in enumerate(words))
    conversations.put(Thread(Conversation("b"), tuple(turns)))
    for word in words:
        at_once = {id.replace("b", "a") for id in found(conversations, word, conversation_id="b")}
        assert set(found(conversations, word, conversation_id="a")) == at_once, word


def test_only_windows_that_hold_an_edited_message_are_embedded_anew() -> None:
    seen: list[str] = []

    class Recording(HashEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            seen.extend(texts)
            return super().embed_documents(texts)

    with rifflux.open(":memory:", model=Recording()) as index:
        conversations = index.scoped(Scope("ann")).conversations
        index.policies.set(HYBRID_SEARCH, "on")
        messages = tuple(Message(f"m{n}", "a", f"turn number {n}") for n in range(20))
        conversations.put(Thread(Conversation("a"), messages))
        seen.clear()
        conversations.edit_message("a", "m7", text="something else")
        assert sorted(text.rpartition("\n")[2] for text in seen) == [
            "user: something else", "user: turn number 8", "user: turn number 9"
        ]  # fmt: skip
        seen.clear()
        conversations.edit("a", title="Named", archived=True)
        conversations.edit_message("a", "m7", source="elsewhere")
        assert seen == []
        assert len(found(conversations, "named", archived=True, top_k=100)) == 20


def test_an_archived_conversation_takes_its_messages_along(conversations: Conversations) -> None:
    talk(conversations, "a", "cache words", title="Former")
    changed = conversations.edit("a", title="New name", project="red", archived=True)
    assert changed == conversations.get("a")
    assert found(conversations, "cache", archived=True, project="red") == ["a0"]
    assert (found(conversations, "former"), found(conversations, "new name")) == ([], ["a0"])


def test_conversations_and_messages_are_counted(conversations: Conversations) -> None:
    assert conversations.counts() == {"conversations": 0, "messages": 0}
    talk(conversations, "a", "cache", "words")
    talk(conversations, "b", "cache")
    assert conversations.counts() == {"conversations": 2, "messages": 3}


def test_a_deleted_conversation_is_gone(conversations: Conversations) -> None:
    talk(conversations, "a", "cache", "words")
    assert conversations.delete("a") == 2
    assert (conversations.list(), found(conversations, "cache")) == ([], [])
    with pytest.raises(NotFound, match="no conversation 'a'"):
        conversations.get("a")


def test_conversations_are_listed_by_date_and_narrowed(conversations: Conversations) -> None:
    talk(conversations, "b", "x", day=2, project="red")
    talk(conversations, "a", "x", "y", day=1, archived=True)
    assert [(each.id, each.messages) for each in conversations.list()] == [("a", 2), ("b", 1)]
    assert [each.id for each in conversations.list(archived=False)] == ["b"]
    assert [each.id for each in conversations.list(project="red")] == ["b"]


def test_bringing_a_thread_again_changes_only_what_changed(conversations: Conversations) -> None:
    thread = Thread(Conversation("a", "T"), tuple(Message(f"m{n}", "a", f"turn {n}") for n in range(12)), whole=True)
    assert conversations.put(thread).added == 12
    again = conversations.put(thread)
    assert (again.added, again.changed, again.unchanged, again.removed) == (0, 0, 12, 0)
    fewer = Thread(thread.conversation, (*thread.messages[:10], Message("m10", "a", "another turn")), whole=True)
    report = conversations.put(fewer)
    assert (report.changed, report.unchanged, report.removed) == (1, 10, 1)
    assert [message.text for message in conversations.messages("a")][-1] == "another turn"


def test_what_a_later_thread_does_not_say_stays(conversations: Conversations) -> None:
    known = Conversation("a", "T", "red", created_at="2024-05-01")
    conversations.put(Thread(known, (Message("m0", "a", "first"),)))
    conversations.put(Thread(Conversation("a", created_at="2024-06-01"), (Message("m1", "a", "second"),)))
    assert conversations.get("a") == replace(known, messages=2)


# Meaning


def test_meaning_is_searched_only_where_an_administrator_says_so(index: rifflux.Index) -> None:
    conversations = index.scoped(Scope("ann")).conversations
    talk(conversations, "a", "cache words")
    assert conversations.hybrid is False
    assert conversations.search("cache").trace.effective_mode == "lexical"
    index.policies.set(HYBRID_SEARCH, True)
    assert index.scoped(Scope("ann")).conversations.hybrid
    degraded = conversations.search("cache").trace
    assert (degraded.effective_mode, bool(degraded.degraded)) == ("lexical", True)
    talk(conversations, "b", "cache words")
    trace = conversations.search("cache words").trace
    assert (trace.effective_mode, trace.counts["semantic"]) == ("hybrid", 1)
    index.admin.embed()
    assert conversations.search("cache words").trace.counts["semantic"] == 2


def test_an_import_is_kept_though_the_model_fails(tmp_path: Path) -> None:
    class Failing(HashEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            raise ConnectionError("http://10.0.0.1/v1 says sk-SECRET")

    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "kingfisher"}]')
    with rifflux.open(":memory:", model=Failing()) as index:
        conversations = index.scoped(Scope("ann")).conversations
        report = conversations.import_files(path, embed=True)
        assert (report.added, report.embedded, found(conversations, "kingfisher")) == (1, 0, ["m000001"])
        assert "text is kept" in report.degraded[0].text
        assert "SECRET" not in str(report)


def test_a_search_chooses_its_fusion(index: rifflux.Index) -> None:
    conversations = index.scoped(Scope("ann")).conversations
    index.policies.set(HYBRID_SEARCH, True)
    talk(conversations, "a", "cache words", "other words")
    assert conversations.search("cache").trace.fusion == "adaptive"
    trace = conversations.search("cache", fusion="rrf:k=10").trace
    assert trace.fusion == "rrf"
    with pytest.raises(InvalidArgument, match="fusion"):
        conversations.search("cache", fusion="guess")


def test_only_who_opened_the_index_changes_a_policy(index: rifflux.Index) -> None:
    scoped = index.scoped(Scope("ann"))
    assert scoped.policies.get(HYBRID_SEARCH) is False
    with pytest.raises(OutOfScope, match="administrator"):
        scoped.policies.set(HYBRID_SEARCH, True)
    with pytest.raises(InvalidArgument, match="hybrid_search"):
        index.policies.set("hybrid", True)
    with pytest.raises(InvalidArgument, match="on or off"):
        index.policies.set(HYBRID_SEARCH, "maybe")
    index.admin.store.records.set("policy hybrid_search", "what a later version wrote")
    assert scoped.policies.get(HYBRID_SEARCH) is False


# Refusals


def test_conversations_need_a_scope(index: rifflux.Index) -> None:
    with pytest.raises(OutOfScope, match="Scope"):
        index.conversations  # noqa: B018


@pytest.mark.parametrize("user", ["", "  ", "a\nb", "a\x1fb", "x" * 300, None])
def test_a_scope_needs_a_name(user: str) -> None:
    with pytest.raises(InvalidArgument, match="user's id"):
        Scope(user)


def test_what_cannot_be_meant_is_refused(conversations: Conversations) -> None:
    talk(conversations, "a", "words")
    for top_k in (0, 101, True, "9"):
        with pytest.raises(InvalidArgument, match="top_k"):
            conversations.search("words", top_k=top_k)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="neighbors"):
        conversations.search("words", neighbors=-1)
    with pytest.raises(InvalidArgument, match="date"):
        conversations.search("words", since="yesterday")
    with pytest.raises(InvalidArgument, match="earlier one first"):
        conversations.search("words", since="2024-05-02", until="2024-05-01")
    with pytest.raises(InvalidArgument, match="empty"):
        conversations.search(" ")
    with pytest.raises(InvalidArgument, match="already"):
        conversations.add(id="a")
    with pytest.raises(InvalidArgument, match="already"):
        conversations.add_message("a", "again", id="a0")
    with pytest.raises(InvalidArgument, match="created_at"):
        conversations.add_message("a", "again", created_at="soon")
    with pytest.raises(InvalidArgument, match="role"):
        conversations.edit_message("a", "a0", role=" ")
    for unknown in (("a", "x"), ("x", "a0"), ("", "a")):
        with pytest.raises(NotFound, match="no message"):
            conversations.message(*unknown)
    with pytest.raises(NotFound, match="no conversation"):
        conversations.add_message("x", "words")
    assert found(conversations, "words") == ["a0"]


def test_a_search_by_words_that_finds_nothing_says_that_meaning_is_off(conversations: Conversations) -> None:
    talk(conversations, "a", "please cancel my subscription")
    assert conversations.search("terminate").trace.notes[-1].code == "messages.lexical"
    assert conversations.search("subscription").trace.notes == ()
