"""One index for many threads and tasks: all answers are those of a search alone, and an end is an end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, RiffluxError
from rifflux.models.hashing import HashEmbedder
from tests.support.commands import PATIENCE

BIRDS = ("heron", "egret", "ibis", "stork", "crane", "bittern", "spoonbill", "flamingo")


@dataclass(frozen=True)
class Held(HashEmbedder):
    """Embeds a question about storks only once it may."""

    asked: threading.Event = field(default_factory=threading.Event, compare=False)
    may: threading.Event = field(default_factory=threading.Event, compare=False)

    def embed_query(self, text: str) -> Any:
        if "stork" in text:
            self.asked.set()
            assert self.may.wait(PATIENCE)
        return super().embed_query(text)


@pytest.fixture
def model() -> Held:
    return Held(64)


@pytest.fixture
def index(tmp_path: Path, model: Held) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", model=model) as index:
        index.add(*(Document(bird, f"A {bird} stands by the river.") for bird in BIRDS))
        yield index
        model.may.set()


def found(index: Index, query: str) -> list[tuple[str, float]]:
    return [(hit.key, hit.score) for hit in index.search(query)]


class TestTasks:
    def test_several_at_once_answer_as_one_alone(self, index: Index, model: Held) -> None:
        model.may.set()
        alone = [found(index, bird) for bird in BIRDS]

        async def together() -> list[list[tuple[str, float]]]:
            return await asyncio.gather(*(asyncio.to_thread(found, index, bird) for bird in BIRDS))

        assert asyncio.run(together()) == alone

    def test_adding_and_searching_at_once(self, index: Index, model: Held) -> None:
        model.may.set()

        async def together() -> None:
            more = [Document(f"{bird} {n}", f"The {bird} number {n}.") for n in range(5) for bird in BIRDS]
            tasks = [asyncio.to_thread(index.add, each) for each in more]
            await asyncio.gather(*tasks, *(asyncio.to_thread(index.search, bird) for bird in BIRDS))

        asyncio.run(together())
        assert index.status().documents == 6 * len(BIRDS)
        assert index.status().embedded_chunks == 6 * len(BIRDS)

    def test_a_task_that_is_cancelled_holds_up_nobody(self, index: Index, model: Held) -> None:
        async def cancelled() -> list[tuple[str, float]]:
            task = asyncio.create_task(asyncio.to_thread(index.search, "stork"))
            await asyncio.to_thread(model.asked.wait, PATIENCE)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            try:
                return await asyncio.to_thread(found, index, "heron")
            finally:
                model.may.set()

        assert asyncio.run(cancelled())[0][0] == "heron"
        assert found(index, "stork")[0][0] == "stork"

    def test_a_time_limit(self, index: Index, model: Held) -> None:
        async def limited() -> None:
            try:
                await asyncio.wait_for(asyncio.to_thread(index.search, "stork"), 0.01)
            finally:
                model.may.set()

        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(limited())
        assert found(index, "stork")[0][0] == "stork"


class TestThreads:
    def test_they_share_an_index(self, index: Index, model: Held) -> None:
        model.may.set()
        alone = {bird: found(index, bird) for bird in BIRDS}
        with ThreadPoolExecutor(8) as threads:
            answers = threads.map(lambda bird: (bird, found(index, bird)), BIRDS * 8)
            assert all(answer == alone[bird] for bird, answer in answers)

    def test_one_that_waits_for_the_model_holds_up_no_other(self, index: Index, model: Held) -> None:
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(found, index, "stork")
            assert model.asked.wait(PATIENCE)
            assert found(index, "heron")[0][0] == "heron"
            assert not waiting.done()
            model.may.set()
            assert waiting.result(PATIENCE)[0][0] == "stork"


class TestClosing:
    def test_a_closed_index_says_so(self, index: Index) -> None:
        index.close()
        for call in (lambda: index.search("heron"), lambda: index.add(Document("a", "b")), index.status):
            with pytest.raises(RiffluxError, match="closed"):
                call()
        index.close()

    def test_searches_under_way_end_with_an_answer_or_an_error_of_ours(self, index: Index, model: Held) -> None:
        model.may.set()
        begun = threading.Barrier(5)

        def until_closed() -> BaseException:
            begun.wait()
            while True:
                try:
                    assert index.search("heron")[0].key == "heron"
                except BaseException as error:
                    return error

        with ThreadPoolExecutor(4) as threads:
            ends = [threads.submit(until_closed) for _ in range(4)]
            begun.wait()
            index.close()
            for end in ends:
                error = end.result(PATIENCE)
                assert isinstance(error, RiffluxError), repr(error)

    def test_a_search_that_waits_for_the_model_when_it_closes(self, index: Index, model: Held) -> None:
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(index.search, "stork")
            assert model.asked.wait(PATIENCE)
            index.close()
            model.may.set()
            with pytest.raises(RiffluxError):
                waiting.result(PATIENCE)
