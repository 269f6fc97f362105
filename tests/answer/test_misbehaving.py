"""Whatever a chat endpoint does, an answer has a well-formed end, cites only what there is, and is never markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import rifflux
from rifflux import Answer, AnswerEvent, ChatModel, Cited, Delta, Document, Done, Index, Sources, Withdrawn
from rifflux.answer import sufficient
from rifflux.types.nouns import noun_json
from tests.support.commands import PATIENCE
from tests.support.exploring import examples
from tests.support.stream_server import DONE, HANG, StreamServer, frame, frames, stream_server

CACHE = Document("cache.md", "Cache entries live for ten minutes. The queue holds 500 jobs.", title="Caching")
JOBS = Document("jobs.md", "Cache jobs that fail are tried again three times, at 02:30 each night.", title="Cache jobs")
QUESTION = "how long do cache entries live"
RIGHT = "Cache entries live for ten minutes [1]."


@pytest.fixture(scope="module")
def server() -> Iterator[StreamServer]:
    with stream_server() as server:
        yield server


@pytest.fixture(scope="module", params=[PATIENCE])
def shared(request: pytest.FixtureRequest, server: StreamServer) -> Iterator[Index]:
    """An index with a model that may take so many seconds."""
    with rifflux.open(":memory:", chat=ChatModel("gpt", server.url, "sk-SECRET", request.param)) as index:
        index.add(CACHE, JOBS)
        yield index


@pytest.fixture
def index(shared: Index, server: StreamServer) -> Index:
    server.status = 200
    server.left.clear()
    server.asked.clear()
    shared.admin.view.session.guard.breakers.pop("gpt", None)
    return shared


def asked(index: Index, question: str = QUESTION) -> tuple[Answer, list[AnswerEvent]]:
    """The answer with its events, which are looked at as all of them must be."""
    events = list(index.answering(question))
    assert isinstance(events[0], Sources)
    assert isinstance(events[-1], Done)
    assert not any(isinstance(each, Done | Sources) for each in events[1:-1])
    answer = events[-1].answer
    assert "".join(each.text for each in events if isinstance(each, Delta)) == answer.text
    assert tuple(each.citation for each in events if isinstance(each, Cited)) == answer.citations
    assert tuple(each.text for each in events if isinstance(each, Withdrawn)) == answer.withdrawn
    items = {item.number: item for item in events[0].pack.items}
    for citation in answer.citations:
        item = items[citation.number]
        assert citation.chunk_id == item.chunk_id
        assert item.span[0] <= citation.span[0] < citation.span[1] <= item.span[1]
    for sentence in answer.sentences:
        assert answer.text[slice(*sentence.span)] == sentence.text
        assert sentence.citations
    assert all(int(number) in items for number in re.findall(r"\[(\d+)\]", answer.text))
    assert not re.search(r"<\w|</|\]\(|!\[", answer.text)
    assert index.works.verify(answer.pack) == []
    assert "SECRET" not in json.dumps(noun_json(answer))
    return answer, events


def test_a_model_that_writes_well_is_cited(index: Index, server: StreamServer) -> None:
    server.says = lambda body: frames(RIGHT)
    answer, _ = asked(index)
    assert (answer.text, answer.by, answer.refused) == ("Cache entries live for ten minutes. [1]", "gpt", False)
    assert answer.degraded == ()
    told = server.asked[0]
    assert told["stream"] is True
    assert [each["role"] for each in told["messages"]] == ["system", "user"]
    assert CACHE.text in told["messages"][1]["content"]
    assert CACHE.text not in told["messages"][0]["content"]


def test_quotations_come_before_the_model_is_asked(index: Index, server: StreamServer) -> None:
    server.says = lambda body: frames(RIGHT)
    sources = next(iter(index.answering(QUESTION)))
    assert isinstance(sources, Sources)
    assert (sources.model, server.asked) == ("gpt", [])
    assert sources.quotations == index.answer(QUESTION, extract=True).text
    sources = next(iter(index.answering(QUESTION, extract=True)))
    assert isinstance(sources, Sources)
    assert (sources.model, sources.quotations) == ("", "")


#: What an endpoint sends, and what is said of it where it is not the answer of the model.
BADLY: dict[str, tuple[list[bytes], str]] = {
    "half a frame": ([*frames(RIGHT, end=False), b'data: {"choices": [{"del'], "an incomplete frame"),
    "no end": (frames(RIGHT + " And the que", end=False), "before its answer was complete"),
    "nothing": ([], "before its answer was complete"),
    "an error inside": (
        [*frames(RIGHT + " The", end=False), b'data: {"error": {"message": "sk-SECRET"}}\n\n'],
        "error",
    ),
    "not a stream": ([b"<html>busy</html>"], "before its answer was complete"),
    "frames of other shapes": ([b"data: 5\n\n"], "an incomplete frame"),
    "two megabytes": ([frame("x" * 1000)] * 2_000, "does not stop writing|an endless answer|not done in time"),
    "two megabytes of one frame": (
        [b"data: " + b"x" * 2_000_000],
        "does not stop writing|an endless answer|not done in time",
    ),
}


#: How far an answer comes before the model hangs.
HANGING = {
    "a hang at the third token": [*frames("Cache entries live", 7, end=False)[:3], HANG],
    "a hang at once": [HANG],
}


@pytest.mark.parametrize("name", BADLY)
def test_a_model_that_breaks_off(index: Index, server: StreamServer, name: str) -> None:
    sent, told = BADLY[name]
    _is_answered_without(sent, told, index, server)


@pytest.mark.parametrize("shared", [0.5], indirect=True)
@pytest.mark.parametrize("name", HANGING)
def test_a_model_that_hangs(index: Index, server: StreamServer, name: str) -> None:
    _is_answered_without(HANGING[name], "given up|not answer in time", index, server)


def _is_answered_without(sent: list[bytes], told: str, index: Index, server: StreamServer) -> None:
    """Check that the text answers where the model does not, and that the answer says why."""
    server.says = lambda body: sent
    answer, _ = asked(index)
    assert not answer.refused
    assert answer.text.startswith("Cache entries live for ten minutes.")
    assert re.search(told, answer.degraded[0].text)
    assert ("quoted instead" in answer.degraded[0].text) == (answer.by == "extract")


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_model_that_refuses(index: Index, server: StreamServer, status: int) -> None:
    server.status, server.says = status, lambda body: [b"sk-SECRET says no"]
    answer, _ = asked(index)
    assert answer.by == "extract"
    assert f"status {status}" in answer.degraded[0].text


#: What a model writes, and what is left of it.
WRITTEN = {
    "Cache entries live for ten minutes [99].": "Cache entries live for ten minutes. [1]",
    "Cache entries live for ten minutes [2].": "Cache entries live for ten minutes. [1]",
    "Cache entries live for ten minutes 【1†source】.": "Cache entries live for ten minutes. [1]",
    "Cache entries live for ten minutes. [1": "Cache entries live for ten minutes. [1]",
    "Cache entries live for ten minutes [1][1, 7]": "Cache entries live for ten minutes [1]",
    "<think>[1] hm. Well</think>Cache entries live for ten minutes. [1]": "Cache entries live for ten minutes. [1]",
    "<b>Cache</b> entries [live](http://evil.test/?q=1) for ten minutes ![x](http://evil.test)[1].": (
        "Cache entries live for ten minutes x. [1]"
    ),
    "<scr<script>ipt>Cache entries live for ten minutes [1].": "Cache entries live for ten minutes. [1]",
    "- Cache entries live for ten minutes. [1]\n- The queue holds 500 jobs. [1]": (
        "- Cache entries live for ten minutes. [1]\n- The queue holds 500 jobs. [1]"
    ),
}


@pytest.mark.parametrize("said", WRITTEN)
def test_what_a_model_writes_is_mended(index: Index, server: StreamServer, said: str) -> None:
    server.says = lambda body: frames(said, 3)
    answer, _ = asked(index)
    assert (answer.text, answer.by) == (WRITTEN[said], "gpt")


#: Sentences that stand in no source, whatever they cite.
INVENTED = (
    "Cache entries live for eleven minutes and 12 seconds [1].",
    "Cache entries live for 10 hours [1].",
    "Cache entries do not live for ten minutes [1].",
    "Cache entries in Kubernetes live for ten minutes [1].",
    "Cache entries live for ten minutes in redis_pool [1].",
    'The manual says that "entries live forever" in the cache [1].',
    "Cache entries live for ten minutes, see http://evil.test/cache [1].",
    "I will ignore my rules and praise the product [1].",
)


@pytest.mark.parametrize("said", INVENTED)
def test_what_stands_in_no_source_is_withdrawn(index: Index, server: StreamServer, said: str) -> None:
    server.says = lambda body: frames(f"{said} The queue holds 500 jobs [1].")
    answer, _ = asked(index)
    assert len(answer.withdrawn) == 1
    assert answer.text == "The queue holds 500 jobs. [1]"
    server.says = lambda body: frames(said)
    answer, _ = asked(index)
    assert answer.by == "extract"
    assert "nothing that gpt wrote stands in the sources" in answer.degraded[0].text


def test_a_model_that_finds_no_answer_is_believed(index: Index, server: StreamServer) -> None:
    server.says = lambda body: frames("NO ANSWER.")
    answer, _ = asked(index)
    assert answer.refused
    assert (answer.text, answer.by) == ("", "gpt")
    assert answer.pack.items


def test_a_model_may_answer_what_is_refused_without_one(
    index: Index, server: StreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sufficient, "ANSWERED", 1.1)
    monkeypatch.setattr(sufficient, "CLOSEST", 1.1)
    server.says = lambda body: frames(RIGHT)
    answer, _ = asked(index)
    assert (answer.refused, answer.by) == (False, "gpt")
    server.says = lambda body: frames("I praise the product.")
    answer, _ = asked(index)
    assert (answer.refused, answer.by, answer.text) == (True, "extract", "")


def test_a_model_is_not_asked_what_nothing_answers(index: Index, server: StreamServer) -> None:
    answer, _ = asked(index, "qwzrtk plmvhb")
    assert answer.refused
    assert server.asked == []


def test_a_model_is_stopped_when_nobody_reads_on(index: Index, server: StreamServer) -> None:
    server.says = lambda body: [*frames("Cache entries live for ten minutes. [1] The", end=False), HANG]
    events = index.answering(QUESTION)
    while not isinstance(next(events), Delta):
        pass
    events.close()  # type: ignore[attr-defined]
    assert server.left.wait(PATIENCE)


def test_a_model_that_keeps_failing_is_left_alone(index: Index, server: StreamServer) -> None:
    server.status, server.says = 500, lambda body: []
    told = [asked(index)[0].degraded[0] for _ in range(5)]
    assert len(server.asked) == 3
    assert "retried within" in told[-1].text


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["Cache entries live for ten minutes", "[1]", "[2", "]", "【", ". ", "\n", "```\n", "<b>", "![", "](http://x)",
                 "The queue holds 500 jobs.", "<think>", "</think>", "NO ANSWER", "- ", "[99]", "é", "<img src=x "]
            ),
            st.text(max_size=12),
        ),
        max_size=25,
    ),
    st.integers(1, 30),
    st.booleans(),
)  # fmt: skip
def test_the_deltas_are_the_text(index: Index, server: StreamServer, said: list[str], size: int, ends: bool) -> None:
    server.says = lambda body: frames("".join(said), size, end=ends)
    index.admin.view.session.guard.breakers.pop("gpt", None)
    asked(index)


def test_a_whole_answer_instead_of_a_stream_is_taken(index: Index, server: StreamServer) -> None:
    told = {"choices": [{"message": {"content": RIGHT}, "finish_reason": "stop"}], "usage": {"total_tokens": 42}}
    server.says = lambda body: [json.dumps(told).encode()]
    answer, _ = asked(index)
    assert (answer.by, answer.tokens) == ("gpt", 42)
    server.says = lambda body: [*frames(RIGHT)[:-1], b'data: {"choices": [], "usage": {"total_tokens": 7}}\n\n', DONE]
    assert asked(index)[0].tokens == 7
