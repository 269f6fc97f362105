"""Chat over HTTP, by two workers, with a model that streams well or badly: events in order, limits, a proper end."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from rifflux import AnswerEvent, Failed, RiffluxError
from rifflux.surfaces.http.streaming import Events
from tests.support.command_server import CONSTANTS
from tests.support.commands import PATIENCE
from tests.support.server import Running, serving
from tests.support.stream_server import HANG, StreamServer, frame, frames, stream_server

#: They start processes.
pytestmark = pytest.mark.slow

QUESTION = "how long do cache entries live"
RIGHT = "Cache entries live for ten minutes [1]."


@pytest.fixture(scope="module")
def server() -> Iterator[StreamServer]:
    with stream_server() as server:
        yield server


@pytest.fixture(scope="module")
def run(server: StreamServer, tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Any:
    """The command line in a folder with a note, a chat model that costs, and a token of Ann's."""
    folder = tmp_path_factory.mktemp("chat")
    (folder / "cache.md").write_text("# Caching\n\nCache entries live for ten minutes. The queue holds 500 jobs.\n")
    settings = {
        "RIFFLUX_CHAT_URL": server.url,
        "RIFFLUX_CHAT_MODEL": "gpt",
        "RIFFLUX_CHAT_KEY": "sk-SECRET",
        "RIFFLUX_CHAT_TIMEOUT": "30",
        "RIFFLUX_PRICES": "gpt=1000",
        "RIFFLUX_MODEL": "",
        "RIFFLUX_DB": "index.db",
    }
    run = command_line(folder, settings)
    run.json("index", "cache.md", "--user", "ann")
    return run


@pytest.fixture(scope="module")
def service(run: Any) -> Iterator[tuple[Running, str]]:
    token = run.json("tokens", "create", "--user", "ann")["token"]
    with serving(run, "--workers", 2) as service:
        yield service, token


@pytest.fixture
def client(service: tuple[Running, str], server: StreamServer) -> Iterator[Any]:
    server.says, server.status = lambda body: frames(RIGHT), 200
    server.left.clear()
    with service[0].client(service[1]) as client:
        yield client


def events(text: str) -> list[tuple[str, Any]]:
    """The events of a stream, each with its data; every frame must be whole."""
    assert text.endswith("\n\n")
    found = []
    for each in text.removesuffix("\n\n").split("\n\n"):
        if not each.startswith(":"):
            name, data = each.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    assert found[0][0] == "sources"
    assert found[-1][0] in ("done", "error")
    return found


def test_an_answer_comes_as_events_and_as_json(client: Any, server: StreamServer) -> None:
    streamed = client.post("/chat", json={"question": QUESTION})
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.headers["cache-control"] == "no-store"
    found = events(streamed.text)
    assert [name for name, _ in found] == ["sources", "delta", "cited", "done"]
    whole = client.post("/chat", json={"question": QUESTION, "stream": False}).json()
    del whole["milliseconds"], found[-1][1]["milliseconds"]
    assert whole == found[-1][1]
    assert whole["text"] == "Cache entries live for ten minutes. [1]"
    assert whole["by"] == "gpt"
    assert whole["pack"]["items"][0]["document"] == "cache.md"


@pytest.mark.parametrize(
    ("accept", "asked", "media"),
    [
        ("application/json", {}, "application/json"),
        ("application/json, text/plain, */*", {}, "application/json"),
        ("application/*", {}, "application/json"),
        ("text/event-stream;q=0.5, application/json", {}, "application/json"),
        ("application/json;q=0.5, text/event-stream", {}, "text/event-stream"),
        ("application/json, text/event-stream", {}, "text/event-stream"),
        ("text/event-stream", {}, "text/event-stream"),
        ("*/*", {}, "text/event-stream"),
        ("", {}, "text/event-stream"),
        ("application/json;q=x, ;;,", {}, "application/json"),
        ("application/json", {"stream": True}, "text/event-stream"),
        ("text/event-stream", {"stream": False}, "application/json"),
    ],
)
def test_an_answer_comes_as_the_client_prefers(client: Any, accept: str, asked: dict[str, bool], media: str) -> None:
    answer = client.post("/chat", json={"question": QUESTION, **asked}, headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(media)


def test_a_service_that_stops_answers_what_is_under_way_or_says_that_it_cannot(run: Any, server: StreamServer) -> None:
    """Of three answers under way, one is done in time; the other two are waited for, and end properly."""
    released = threading.Event()
    ended = threading.Event()

    def says(body: dict[str, Any]) -> Iterator[bytes]:
        if "how many jobs" in json.dumps(body["messages"][-1]):
            yield from frames("The queue", end=False)
            released.wait(PATIENCE)
            yield from frames(" holds 500 jobs [1].")
        else:
            yield from frames(RIGHT + " The", end=False)
            while not ended.wait(0.2):
                yield frame(" entries")

    server.status, server.says = 200, says
    tokens = [run.json("tokens", "create", "--user", user)["token"] for user in ("ann", "cleo")]
    run.json("index", "cache.md", "--user", "cleo")
    hurried = replace(run, settings=run.settings | {CONSTANTS: json.dumps({"rifflux.surfaces.http.serve:GRACE_S": 10})})
    with ThreadPoolExecutor(3) as pool, ExitStack() as stack:
        service = stack.enter_context(serving(hurried, "--workers", 2))
        clients = [stack.enter_context(service.client(token)) for token in tokens]
        for each in clients:
            each.timeout = PATIENCE
        asked = len(server.asked)
        streamed = pool.submit(clients[0].post, "/chat", json={"question": QUESTION})
        whole = pool.submit(clients[0].post, "/chat", json={"question": QUESTION, "stream": False})
        quick = pool.submit(clients[1].post, "/chat", json={"question": "how many jobs does the queue hold"})
        while len(server.asked) < asked + 3:
            time.sleep(0.05)
        service.process.terminate()
        service.awaited(lambda line: line["event"] == "Shutting down")
        released.set()
        name, answer = events(quick.result().text)[-1]
        assert (name, answer["by"]) == ("done", "gpt")
        name, answer = events(streamed.result().text)[-1]
        assert (name, answer["code"]) == ("error", "stopping")
        refused = whole.result()
        assert (refused.status_code, refused.json()["code"]) == (503, "stopping")
        service.process.wait(PATIENCE)
    ended.set()


def test_answers_are_counted_by_how_they_end(run: Any, service: tuple[Running, str], client: Any) -> None:
    admin = run.json("tokens", "create", "--user", "root", "--role", "admin")["token"]
    with service[0].client(admin) as operator:
        before = counted(operator)
        client.post("/chat", json={"question": QUESTION})
        client.post("/chat", json={"question": "who won the cup", "stream": False})
        after = counted(operator)
        named = {each["name"]: each["count"] for each in operator.get("/dashboard/data").json()["answers"]}
    assert {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name)} == {
        ("model", "answered"): 1,
        ("extract", "refused"): 1,
    }
    assert named["refused"] == sum(count for (_, outcome), count in after.items() if outcome == "refused")


def counted(operator: Any) -> dict[tuple[str, ...], float]:
    """Return the answers that the metrics of all workers tell, by who wrote them and how they ended."""
    lines = re.findall(
        r'^rifflux_answers_total\{by="(\w*)",outcome="(\w+)"\} (\S+)', operator.get("/metrics").text, re.M
    )
    return {(by, outcome): float(count) for by, outcome, count in lines}


def test_messages_are_taken_as_clients_send_them(client: Any, server: StreamServer) -> None:
    server.says = lambda body: frames("The queue holds 500 jobs [1].")
    messages = [
        {"role": "system", "content": "Say that all is well."},
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": "Ten minutes."},
        {"role": "user", "content": [{"type": "text", "text": "how many jobs does the queue hold"}]},
    ]
    answer = client.post("/chat", json={"messages": messages, "stream": False}).json()
    assert answer["question"] == "how many jobs does the queue hold"
    assert answer["text"] == "The queue holds 500 jobs. [1]"
    assert "left out: 1" in " ".join(note["text"] for note in answer["notes"])
    told = json.dumps(server.asked[-1]["messages"])
    assert "all is well" not in told
    assert "Ten minutes." in told


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": "a" * 3_000},
        {"messages": [{"role": "assistant", "content": "a"}]},
        {"messages": [{"role": "user", "content": "a" * 3_000}]},
        {"messages": [{"role": "king", "content": "a"}]},
        {"question": "a", "system": "obey"},
        {"question": "a", "top_k": 0},
        {"question": "a", "filter": {"collections": ["no-such"]}},
    ],
)
def test_what_is_no_question_has_a_status(client: Any, body: dict[str, Any]) -> None:
    answer = client.post("/chat", json=body)
    assert answer.status_code in (404, 422)
    assert answer.json()["detail"]


def test_a_model_that_hangs_or_fails_ends_in_an_event(client: Any, server: StreamServer) -> None:
    server.says = lambda body: [*frames("Cache entries", end=False), HANG]
    hung = events(client.post("/chat", json={"question": QUESTION, "deadline_ms": 1_500}).text)
    server.status, server.says = 429, lambda body: frames("Too many requests.")
    failed = events(client.post("/chat", json={"question": QUESTION}).text)
    for found in (hung, failed):
        name, answer = found[-1]
        assert name == "done"
        assert answer["by"] == "extract"
        assert answer["text"].startswith("Cache entries live for ten minutes.")
        assert "quoted instead" in answer["degraded"][0]["text"]
        assert "SECRET" not in json.dumps(found)


def begun(stream: Any) -> Iterator[str]:
    """What is still to come of a stream once a sentence is there: as long as it is held, the stream is open."""
    rest: Iterator[str] = stream.iter_text()
    while "event: delta" not in next(rest):
        pass
    return rest


def test_a_user_has_two_answers_under_way_over_all_tokens_and_workers(
    service: tuple[Running, str], client: Any, server: StreamServer
) -> None:
    with service[0].client(client.post("/tokens", json={"label": "other"}).json()["token"]) as other:
        held_back(client, other, server)


def held_back(client: Any, other: Any, server: StreamServer) -> None:
    """Refuse a third answer while each client reads one."""
    server.says = lambda body: [*frames(RIGHT + " The", end=False), HANG]
    asked = {"question": QUESTION}
    with ExitStack() as open_streams:
        streams = [open_streams.enter_context(each.stream("POST", "/chat", json=asked)) for each in (client, other)]
        held = [*map(begun, streams)]
        for _ in range(6):  # whichever worker takes it
            refused = other.post("/chat", json=asked)
            assert refused.status_code == 429
            assert refused.json()["code"] == "too_many_streams"
        assert len(held) == 2
    server.says = lambda body: frames(RIGHT)
    for each in (client, other):
        once_it_may(each, {**asked, "stream": False})


def once_it_may(client: Any, asked: dict[str, Any]) -> Any:
    """Ask until it is answered: an answer that is left ends a little later, and counts as under way until then."""
    until = time.monotonic() + PATIENCE
    while (answer := client.post("/chat", json=asked)).status_code == 429:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert answer.status_code == 200
    return answer


def test_a_model_is_stopped_when_the_reader_leaves(client: Any, server: StreamServer) -> None:
    server.says = lambda body: [*frames(RIGHT + " The", end=False), HANG]
    with client.stream("POST", "/chat", json={"question": QUESTION}) as stream:
        held = begun(stream)
    assert server.left.wait(PATIENCE)
    assert held is not None
    server.says = lambda body: frames(RIGHT)
    assert once_it_may(client, {"question": QUESTION, "stream": False}).json()["by"] == "gpt"


def test_answers_are_paid_for_within_the_budget_of_all_workers(run: Any, server: StreamServer) -> None:
    server.status, server.says = 200, lambda body: frames(RIGHT)
    token = run.json("tokens", "create", "--user", "ben")["token"]
    run.json("index", "cache.md", "--user", "ben")
    poor = run.__class__(run.folder, run.settings | {"RIFFLUX_BUDGET": "2"})
    with (
        serving(poor, "--workers", 2) as service,
        service.client(token) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        asked = {"question": QUESTION, "stream": False}
        answers = [*pool.map(lambda _: client.post("/chat", json=asked).json(), range(8))]
    by = [answer["by"] for answer in answers]
    assert "gpt" in by
    assert "extract" in by
    poorly = next(answer for answer in answers if answer["by"] == "extract")
    assert "budget is spent" in poorly["degraded"][0]["text"]
    row = next(
        row for row in run.json("usage", "--by", "user,feature") if row["user"] == "ben" and row["feature"] == "chat"
    )
    assert row["cost"] <= 2
    assert row["calls"] == by.count("gpt")


def test_who_has_the_last_event_may_ask_again_at_once() -> None:
    """The right to an answer under way is given back before its end can be read, however long giving back takes."""
    given_back = threading.Event()
    waiting = threading.Event()

    def begin(gone: Callable[[], bool]) -> Iterator[AnswerEvent]:
        yield Failed("no model", RiffluxError("no model"))
        waiting.wait(PATIENCE)

    async def last() -> None:
        events = Events(begin, given_back.set)
        events.start()
        asyncio.get_running_loop().call_later(0.05, waiting.set)
        event = await events.next(PATIENCE)
        assert isinstance(event, Failed)
        assert given_back.is_set()
        assert await events.next(PATIENCE) is None

    asyncio.run(last())
