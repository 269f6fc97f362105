"""Compare a user's search beside many other users on a cluster with the same one alone, and count requests of `index`.

    python scripts/cluster.py run                       # in another terminal; prints the address
    python -m bench crowd HOST:PORT [--owners 1000] [--messages 200] [--shards 3]

An index with several shards gets messages of many users, another one those of the first user alone. That user's
messages are searched in both, in turns. A search should touch one shard, and cost about the same. Then a folder is
indexed again, which changes nothing and looks for texts without a vector, as `rifflux index` does: it should not make
requests for each owner. Both indexes are deleted afterwards.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

import rifflux
from bench.speed.volume import ClusterRequest, noted
from rifflux import Message
from rifflux.conversations import Conversation, Thread
from rifflux.index.cluster import cluster_of
from rifflux.session import vectors
from rifflux.store.opensearch import OpenSearchStore

WORDS = 2_000
#: What a word is made of, by the digits of its number.
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu")
#: Words of a message.
LENGTH = 30
#: Users whose messages are written at a time.
WRITERS = 4
#: Searches that are not counted, so that models are loaded and statistics are read.
WARM = 5


@contextmanager
def watched() -> Iterator[tuple[list[str], list[int]]]:
    """Note the requests that are made within the block by name, and the number of shards that each search touched."""
    names: list[str] = []
    shards: list[int] = []

    def note(made: ClusterRequest) -> None:
        names.append(made.name)
        if made.name == "msearch":
            shards.extend(each["_shards"]["total"] for each in made.answer["responses"])

    with noted(note):
        yield names, shards


def text_of(seed: random.Random) -> str:
    """Return a text of words that are the more frequent, the lower their number."""
    numbers = (int(WORDS ** seed.random()) for _ in range(LENGTH))
    return " ".join("".join(SYLLABLES[int(digit)] for digit in str(number)) for number in numbers)


def write(index: rifflux.Index, user: str, messages: int) -> None:
    """Store a user's messages, which depend on the user's name alone."""
    seed = random.Random(user)
    talk = [Message(f"m{number}", "talk", text_of(seed)) for number in range(messages)]
    thread = Thread(Conversation("talk", f"Talk of {user}"), tuple(talk))
    index.scoped(rifflux.Scope(user)).conversations.put(thread, embed=False)


def search(index: rifflux.Index, user: str, question: str) -> float:
    """Search a user's messages; return the milliseconds."""
    view = index.scoped(rifflux.Scope(user))
    start = time.perf_counter()
    view.conversations.search(question)
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="HOST:PORT of a cluster")
    parser.add_argument("--owners", type=int, default=1_000)
    parser.add_argument("--messages", type=int, default=200, help="of each")
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--unmeasured", action="store_true", help="leave out measuring users' vectors")
    parser.add_argument("--within", help="name of an index that has the messages")
    options = parser.parse_args()
    if options.unmeasured:
        vectors.ENOUGH = sys.maxsize
    users = [f"user{number}" for number in range(options.owners)]
    names = [options.within or f"bench-{uuid.uuid4().hex}", f"bench-{uuid.uuid4().hex}"]
    places = [f"opensearch://{options.address}/{name}" for name in names]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        indexes = []
        for place in places:
            if not options.within or options.within not in place:
                cluster_of(place).init(shards=options.shards, replicas=0)
            indexes.append(stack.enter_context(rifflux.open(place, model="hash:64")))
            store = indexes[-1].admin.store
            assert isinstance(store, OpenSearchStore)
            stack.callback(store.engine.client.indices.delete, index=store.engine.address.name)
        crowd, alone = indexes
        start = time.perf_counter()
        with ThreadPoolExecutor(WRITERS) as writers:
            for _ in writers.map(partial(write, crowd, messages=options.messages), () if options.within else users):
                pass
        filling = time.perf_counter() - start
        write(alone, users[0], options.messages)
        notes = folder / "notes"
        notes.mkdir()
        (notes / "note.md").write_text("# Note\n\nA note of nobody.\n")
        start = time.perf_counter()
        with watched() as (firsts, _):
            crowd.add(notes)
        embedding = time.perf_counter() - start
        alone.add(notes)
        seed = random.Random(1)
        questions = [" ".join(text_of(seed).split()[:3]) for _ in range(options.searches + WARM)]
        with watched() as (requests, shards):
            times = [[search(index, users[0], question) for index in indexes] for question in questions]
        beside, by_itself = np.percentile(np.array(times[WARM:]), 50, axis=0)
        counts = []
        for index in indexes:
            with watched() as (again, _):
                index.add(notes)
            counts.append(len(again))
    rows = {
        "owners": f"{options.owners:,}",
        "messages of each": f"{options.messages:,}",
        "shards": options.shards,
        "writing all, s": f"{filling:.0f}",
        "embedding all, s": f"{embedding:.0f}",
        "requests of embedding all, of each owner": f"{len(firsts) / options.owners:.1f}",
        "searches of one user in each index": options.searches,
        "shards that a search touches, at most": max(shards),
        "requests of a search": f"{len(requests) / (2 * len(questions)):.1f}",
        "p50 beside the others, ms": f"{beside:.1f}",
        "p50 alone, ms": f"{by_itself:.1f}",
        "beside the others / alone": f"{beside / by_itself:.2f}",
        "requests of `index` that changes nothing, beside the others": counts[0],
        "the same, alone": counts[1],
    }
    print("| what | number |\n| --- | --- |")
    for name, value in rows.items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
