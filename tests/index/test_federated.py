"""Everything at once: each source its own list, weighed, and no more asked than needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rifflux import Index, InvalidArgument
from rifflux.index import open_index
from rifflux.index.federated import Everything, quality_of, widened
from rifflux.types import Document, Filter, Scope

KINDS = {"knowledge": "knowledge", "files": "markdown", "notes": "note", "tasks": "task", "conversations": "message"}


@pytest.fixture
def index() -> Iterator[Index]:
    with open_index(":memory:", model="hash") as index:
        index.add(*(Document(f"{name}.1", "how long do cache entries live", kind=kind) for name, kind in KINDS.items()))
        index.add(Document("memory.1", "how long do cache entries live", kind="memory"))
        yield index


def asked_of_all(index: Index) -> Everything:
    """Everything, with a first source that holds nothing: no early return."""
    sources = index.everything.sources
    first = replace(sources[0], name="nothing", filter=lambda: Filter(kinds=("none",)), weight=1.0)
    return Everything((first, *sources))


def test_sources_are_weighed_as_agreed(index: Index) -> None:
    results = asked_of_all(index)("cache entries")
    scores = {hit.key.removesuffix(".1"): round(hit.score, 5) for hit in results}
    assert scores == {
        "knowledge": 0.02459,
        "files": 0.01967,
        "notes": 0.01639,
        "tasks": 0.01639,
        "conversations": 0.01311,
    }


def test_every_hit_tells_its_source_and_what_its_score_is_made_of(index: Index) -> None:
    for hit in asked_of_all(index)("cache entries"):
        name = hit.key.removesuffix(".1")
        assert hit.because(f"source:{name}").rank == 1
        assert sum(hit.because("sources").detail.values()) == pytest.approx(hit.score, abs=1e-12)


def test_a_long_list_does_not_crowd_out_a_short_one(index: Index) -> None:
    index.add(*(Document(f"more.{number}", f"cache entries {number}", kind="markdown") for number in range(50)))
    kinds = [hit.kind for hit in asked_of_all(index)("cache entries", top_k=40)]
    assert set(kinds) == set(KINDS.values())
    # A file counts 1.2 at its place, a note 1: its first comes before the fourteenth file.
    assert kinds[1:14] == ["markdown"] * 13
    assert set(kinds[14:16]) == {"note", "task"}


def test_where_the_first_source_answers_well_the_others_are_not_asked(index: Index) -> None:
    results = index.everything("how long do cache entries live")
    assert quality_of(results, {}) >= 0.85
    assert [hit.kind for hit in results] == ["knowledge"]
    assert set(results.trace.counts) == {"knowledge"}
    assert any("not asked" in note.text for note in results.trace.notes)


def test_a_source_of_which_there_is_nothing_is_not_asked(index: Index) -> None:
    index.remove(*(f"{name}.1" for name in ("knowledge", "tasks")))
    results = index.everything("how long do cache entries live")
    assert results.trace.counts == {"knowledge": 0, "files": 1, "notes": 1, "tasks": 0, "conversations": 1}
    assert {name for name, taken in results.trace.milliseconds.items() if taken} == {"files", "notes", "conversations"}
    assert {hit.key for hit in results} >= {"files.1", "notes.1", "conversations.1"}


def test_where_there_is_nothing_at_all_the_answer_is_empty(index: Index) -> None:
    index.remove(*(f"{name}.1" for name in KINDS))
    assert index.everything("how long do cache entries live").hits == ()


def test_quality_is_never_read_from_fused_ranks(index: Index) -> None:
    hits = asked_of_all(index)("cache entries").hits
    assert max(hit.score for hit in hits) < 0.1 <= quality_of(hits, {})


def test_where_little_is_found_the_question_is_widened(index: Index) -> None:
    with open_index(":memory:", model="hash") as index:
        index.add(Document("a", "refrigeration of foodstuffs", kind="note"), embed=False)
        results = index.everything('"refriger"')
    assert [hit.key for hit in results] == ["a"]
    assert any("refriger*" in note.text for note in results.trace.notes)


@pytest.mark.parametrize(
    ("query", "wider"),
    [
        ("cache", "cache cache*"),
        ('"a phrase" -not', "a phrase phrase* -not"),
        ("+must is", "must is must*"),
        ("a b", "a b"),
    ],
)
def test_widening(query: str, wider: str) -> None:
    assert widened(query) == wider


def test_a_filter_narrows_every_source(index: Index) -> None:
    results = asked_of_all(index)("cache entries", filter={"kinds": ("note", "markdown")})
    assert {hit.kind for hit in results} == {"note", "markdown"}


@pytest.mark.parametrize(
    ("query", "kinds", "found"),
    [
        ("cache entries", ("message", "memory"), {"message"}),
        ("cache entries", ("memory",), set()),
        ("kind:message cache entries", (), {"message"}),
        ("kind:note cache entries", (), {"note"}),
    ],
)
def test_a_kind_that_a_source_has_none_of_lets_nothing_else_through(
    index: Index, query: str, kinds: tuple[str, ...], found: set[str]
) -> None:
    index.add(Document("plain", "how long do cache entries live"))
    results = index.everything(query, filter={"kinds": kinds})
    assert {hit.kind for hit in results} == found


def test_a_question_is_embedded_once(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    embedder = index.admin.embedder
    original = embedder.embed_query

    def counting(_: Any, text: str) -> Any:
        asked.append(text)
        return original(text)

    monkeypatch.setattr(type(embedder), "embed_query", counting)
    asked_of_all(index)("cache entries")
    assert asked == ["cache entries"]


def test_sources_fuse_as_they_are_told(index: Index) -> None:
    (hit, *_) = asked_of_all(index)("cache entries", fusion="rrf:k=5")
    assert hit.because("rrf").rank == 1
    assert hit.because("rrf").score == pytest.approx(2 / 6)
    index.policies.set("hybrid_search", True)
    ann = index.scoped(Scope("ann"))
    ann.conversations.add(id="talk")
    ann.conversations.add_message("talk", "cache entries live ten minutes", id="m", embed=True)
    assert ann.everything("cache entries", fusion="rrf")[0].because("rrf").rank == 1
    ignored = ann.everything("cache entries", mode="lexical", fusion="rrf").trace.notes
    assert any(note.code == "fusion.ignored" for note in ignored)
    with pytest.raises(InvalidArgument, match="choose one of"):
        ann.everything("cache entries", fusion="magic")


def test_messages_of_conversations_are_among_the_sources(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    talk = ann.conversations.add("Caching")
    ann.conversations.add_message(talk.id, "entries live for ten minutes")
    ann.add(Document("a", "how long entries live", kind="note"))
    results = ann.everything("how long do entries live")
    assert {hit.kind for hit in results} == {"note", "message"}
    assert [hit.kind for hit in ann.search("entries live")] == ["note"]


def test_memories_are_not_among_documents(index: Index) -> None:
    ann = index.scoped(Scope("ann"))
    ann.memories.add("Ann likes tea")
    assert len(ann.search("tea")) == 0
    assert [memory.text for memory, _ in ann.memories.search("tea").memories] == ["Ann likes tea"]


def test_a_users_conversations_are_a_source_and_searched_by_words_alone_unless_an_administrator_says_so(
    index: Index,
) -> None:
    ann = index.scoped(Scope("ann"))
    ann.add(Document("note.1", "how long do cache entries live", kind="note"))
    ann.conversations.add(id="talk")
    ann.conversations.add_message("talk", "cache entries live ten minutes", id="m", embed=True)
    for hybrid in (False, True):
        index.policies.set("hybrid_search", hybrid)
        found = {hit.key: hit for hit in ann.everything("how long do cache entries live")}
        assert set(found) == {"note.1", "m"}
        assert found["m"].because("source:conversations").rank == 1
        assert (found["m"].because("semantic") is not None) == hybrid
