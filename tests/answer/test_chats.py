"""Chats are recorded, continued, named, exported and deleted by their user, and nobody else sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

import rifflux
from rifflux import Document, Done, Index, InvalidArgument, NotFound, Scope
from rifflux.answer import chats


@pytest.fixture
def index(tmp_path: object) -> Iterator[Index]:
    with rifflux.open(f"{tmp_path}/index.db", model="hash") as index:
        index.scoped(Scope("ann")).add(
            Document("cache.md", "Cache entries live for ten minutes. The cache is emptied daily.", "Caching")
        )
        yield index


def test_an_answer_begins_a_chat_and_the_next_goes_on_from_it(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    first = ann.answer("how many minutes do cache entries live", chat="new")
    second = ann.answer("and when is it emptied?", chat=first.chat)
    assert second.chat == first.chat
    assert "cache" in second.searched
    chat = ann.chats.get(first.chat)
    assert [each.question for each in chat.answers] == [first.question, second.question]
    assert [each.text for each in chat.answers] == [first.text, second.text]
    assert chat.title == first.question
    assert [(each.id, each.count, each.answers) for each in ann.chats.list()] == [(chat.id, 2, ())]


def test_a_stream_is_recorded_once_it_is_done(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    *_, last = ann.answering("how many minutes do cache entries live", chat="new")
    assert isinstance(last, Done)
    assert ann.chats.get(last.answer.chat).answers[0].text == last.answer.text
    events = ann.answering("how many minutes do cache entries live", chat="new")
    next(events)
    assert len(ann.chats.list()) == 1


def test_nothing_is_recorded_unless_it_is_wanted(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    assert ann.answer("how many minutes do cache entries live").chat == ""
    assert ann.chats.list() == []


def test_a_chat_is_renamed_and_exported(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    answer = ann.answer("how many minutes do cache entries live", chat="new")
    assert ann.chats.edit(answer.chat, title=" Of  minutes ").title == "Of minutes"
    ann.answer("who is the emperor of Saturn", chat=answer.chat)
    markdown = ann.chats.get(answer.chat).markdown
    assert markdown.startswith("# Of minutes\n\n## how many minutes do cache entries live\n\n")
    assert "[1] Caching" in markdown
    assert "## who is the emperor of Saturn\n\n*Not answered:" in markdown
    with pytest.raises(InvalidArgument):
        ann.chats.edit(answer.chat, title="")


def test_nobody_else_sees_a_chat(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    id = ann.answer("how many minutes do cache entries live", chat="new").chat
    for other in (index, index.scoped(Scope("ben")), index.scoped(Scope("root", administrator=True))):
        assert other.chats.list() == []
        calls: list[Callable[[], object]] = [
            partial(other.chats.get, id),
            partial(other.chats.delete, id),
            partial(other.chats.edit, id, title="x"),
            partial(other.answer, "how long", chat=id),
            partial(other.answering, "how long", chat=id),
        ]
        for call in calls:
            with pytest.raises(NotFound):
                call()
    assert ann.chats.get(id).count == 1


def test_a_deleted_chat_is_gone_and_no_search_finds_one(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    id = ann.answer("how many minutes do cache entries live", chat="new").chat
    assert len(ann) == 1
    assert {hit.key for hit in ann.search("minutes cache entries live").hits} == {"cache.md"}
    assert {item.key for item in ann.answer("how many minutes do cache entries live").pack.items} == {"cache.md"}
    ann.chats.delete(id)
    assert ann.chats.list() == []
    with pytest.raises(NotFound):
        ann.chats.get(id)
    with pytest.raises(NotFound):
        ann.chats.delete(id)


def test_chats_go_with_their_user(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    ann.answer("how many minutes do cache entries live", chat="new")
    index.registry.erase("ann")
    assert index.scoped(Scope("ann")).chats.list() == []


def test_a_full_chat_takes_no_more(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chats, "MOST_ANSWERS", 1)
    ann = index.scoped(Scope("ann"))
    id = ann.answer("how many minutes do cache entries live", chat="new").chat
    with pytest.raises(InvalidArgument, match="begin another one"):
        ann.answer("and when is it emptied?", chat=id)


def test_an_answer_from_a_shared_document_is_shown_as_long_as_it_is_shared(index: Index) -> None:
    ben = index.scoped(Scope("ben"))
    ben.add(Document("pool.md", "The swimming pool is heated to thirty degrees.", "Pool"), collection="house")
    ben.collections.share("house", "ann")
    ann = index.scoped(Scope("ann"))
    id = ann.answer("how many degrees has the swimming pool", chat="new").chat
    ann.answer("how many minutes do cache entries live", chat=id)
    assert "thirty" in ann.chats.get(id).answers[0].text
    ben.collections.unshare("house", "ann")
    pool, cache = ann.chats.get(id).answers
    assert (pool.text, pool.reason, pool.sources) == ("", chats.NO_LONGER_SHARED, ())
    assert "ten minutes" in cache.text
    assert "thirty" not in ann.chats.get(id).markdown
    assert "thirty" not in str(ann.answer("and how many degrees?", chat=id))
    ann.chats.edit(id, title="House")
    ben.collections.share("house", "ann")
    assert "thirty" in ann.chats.get(id).answers[0].text


def test_chats_are_listed_by_pages(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    ids = [ann.answer("how many minutes do cache entries live", chat="new").chat for _ in range(3)]
    first = ann.chats.list(limit=2)
    assert [each.id for each in first] == ids[:0:-1]
    assert [each.id for each in ann.chats.list(first[-1].id, 2)] == ids[:1]
    with pytest.raises(InvalidArgument):
        ann.chats.list("chat0")
