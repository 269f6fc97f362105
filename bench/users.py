"""What a user's search costs beside other users: alone in an index, and among all.

    python bench/users.py ../data --users 200 --messages 5000 --keep /tmp/users

Messages are lines of real text from the collections in the folder, recombined by chance; conversations of all users
come in turn, so that nobody's rows lie together. Vectors are made up. Each question is asked in both indexes one right
after the other, so that what else the machine does falls on both. `--keep` keeps the indexes; a million messages take
some ten minutes to build, `--users 40 --messages 1000` one.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from rifflux.conversations import Conversation, Conversations, Message, Thread
from rifflux.index import Index, open_index
from rifflux.policies import HYBRID_SEARCH
from rifflux.types import Scope

MODEL = "hash:384"
TURNS = 50
START = datetime(2024, 1, 1, tzinfo=UTC)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def main() -> None:
    """Build both indexes where they are not kept, and print what searches cost."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines = texts(arguments.data)
        size = f"{arguments.users}x{arguments.messages}"
        everybody, alone = folder / f"users-{size}.db", folder / f"alone-{arguments.messages}.db"
        people = [f"user{number}" for number in range(arguments.users)]
        build(everybody, people, arguments.messages, lines)
        build(alone, people[:1], arguments.messages, lines)
        measure(everybody, alone, people, lines, arguments.questions)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--messages", type=int, default=5000, help="of each user")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="where the indexes stay between runs")
    return parser.parse_args()


def texts(data: Path) -> list[str]:
    """Lines of real text of a message's length."""
    found: dict[str, None] = {}
    for path in sorted(data.glob("*/corpus.jsonl")):
        for line in path.open(encoding="utf-8"):
            sentences = _SENTENCE.split(json.loads(line)["text"])
            found |= dict.fromkeys(each for each in sentences if 20 <= len(each) <= 300)
    return list(found)


def build(path: Path, people: Sequence[str], messages: int, lines: Sequence[str]) -> None:
    """Make an index with so many messages of each, if it is not there."""
    if path.exists():
        return
    start, part = time.perf_counter(), path.with_name(path.name + ".part")
    with open_index(part, model=MODEL) as index:
        for number in range(messages // TURNS):
            for user in people:
                index.scoped(Scope(user)).conversations.put(thread(user, number, lines), embed=False)
        put = time.perf_counter() - start
        made_up(index)
        index.policies.set(HYBRID_SEARCH, True)
    shutil.move(part, path)
    seconds, count = time.perf_counter() - start, len(people) * (messages // TURNS) * TURNS
    print(
        f"built {count:,} messages of {len(people)} users in {seconds:.0f} s ({count / put:.0f} messages/s without "
        f"vectors), {path.stat().st_size / 2**20:.0f} MiB"
    )


def thread(user: str, number: int, lines: Sequence[str]) -> Thread:
    """A conversation by chance, always the same of the same user."""
    chance = random.Random(f"{user} {number}")
    id, begun = f"talk{number}", START + timedelta(hours=20 * number)
    turns = (
        Message(
            f"m{turn}",
            id,
            " ".join(chance.sample(lines, chance.choice((1, 1, 2)))),
            ("user", "assistant")[turn % 2],
            created_at=(begun + timedelta(minutes=turn)).isoformat(),
        )
        for turn in range(TURNS)
    )
    return Thread(Conversation(id, " ".join(chance.choice(lines).split()[:5])), tuple(turns))


def made_up(index: Index) -> None:
    """Give every message a vector by chance."""
    index.embed_changes([])
    width = index.embedder.dimension
    for view in index.store.views():
        with view.transaction():
            for batch in view.pending(4096):
                # The same in every index, for the ids are.
                drawn = [np.random.default_rng(chunk.id).standard_normal(width, np.float32) for chunk in batch]
                vectors = np.stack(drawn)
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                view.put_vectors([chunk.id for chunk in batch], [chunk.hash for chunk in batch], vectors)


def measure(everybody: Path, alone: Path, people: Sequence[str], lines: Sequence[str], count: int) -> None:
    """Print medians and 95th percentiles of one user's searches, and of those of users by chance."""
    with open_index(everybody, model=MODEL) as crowd, open_index(alone, model=MODEL) as single:
        for index in (crowd, single):
            index.accelerate()
        asked = list(questions(people[0], lines, count))
        for hybrid in (False, True):
            for index in (crowd, single):
                index.policies.set(HYBRID_SEARCH, hybrid)
            one, among = (index.scoped(Scope(people[0])).conversations for index in (single, crowd))
            check(one, among, asked)
            pairs = [(timed(one, question), timed(among, question)) for question in asked]
            print(f"{'hybrid' if hybrid else 'text only'}, one user:")
            report("alone", [first for first, _ in pairs])
            report("among all", [second for _, second in pairs], [first for first, _ in pairs])
            chance = random.Random(11)
            others = [crowd.scoped(Scope(chance.choice(people))).conversations for _ in asked]
            report("by chance", [timed(other, question) for other, question in zip(others, asked, strict=True)])


def questions(user: str, lines: Sequence[str], count: int) -> Iterator[str]:
    """Some words of some message of a user."""
    chance = random.Random(f"questions {user}")
    said = [message.text for number in range(10) for message in thread(user, number, lines).messages]
    for text in chance.choices(said, k=count):
        words = [word for word in text.split() if len(word) > 3] or text.split()
        yield " ".join(chance.sample(words, min(len(words), chance.randint(2, 6))))


def timed(conversations: Conversations, question: str) -> float:
    """Milliseconds of a search."""
    start = time.perf_counter()
    conversations.search(question)
    return 1000 * (time.perf_counter() - start)


def check(one: Conversations, among: Conversations, asked: Sequence[str]) -> None:
    """Both must answer alike: to the user, nobody else is there."""
    for question in asked[:20]:
        here, there = ([(hit.message.id, hit.score) for hit in talks.search(question)] for talks in (one, among))
        assert here == there, question


def report(name: str, milliseconds: Sequence[float], against: Sequence[float] = ()) -> None:
    """A line of figures, as ratios too."""
    figures = [percentile(milliseconds, share) for share in (0.5, 0.95)]
    line = f"  {name:10} p50 {figures[0]:6.1f} ms   p95 {figures[1]:6.1f} ms"
    if against:
        ratios = [figure / percentile(against, share) for figure, share in zip(figures, (0.5, 0.95), strict=True)]
        paired = statistics.median(second / first for first, second in zip(against, milliseconds, strict=True))
        line += f"   x {ratios[0]:.2f} and {ratios[1]:.2f}; median of the pairs x {paired:.2f}"
    print(line)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


if __name__ == "__main__":
    main()
