"""Measure a user's search beside other users: alone in an index, and among all.

    python -m bench users ../data --users 2 20 200 --messages 5000 --keep /tmp/users --serve

For each number of users: one user's searches in an index of their own and among all, each question asked in both one
right after the other, so that what else the machine does falls on both; then searches of users by chance. With --serve,
searches over HTTP too, at a steady rate whether or not the earlier ones were answered: a latency counts from the moment
that a request was due. Files are read once before. --keep keeps the indexes, and goes on where filling them was
interrupted: a million messages take some minutes and 5 GB.

Messages are lines of real text from the collections in the folder, recombined by chance; a tenth of the users write
what the others write too, which nobody notices, as nothing of one user lies with another's. Conversations of all come
in turn, so that nobody's rows lie together. The vector of a message is the mean of its
sentences', by the bundled model.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2 as httpx
import numpy as np

from bench.service.load import LIMITS, Request, at_rate, percentile, serving, told
from bench.service.meaning import SENTENCE, Meaning
from bench.shared import cached
from rifflux.conversations import Conversation, Conversations, Message
from rifflux.conversations.model import conversation_row, message_row
from rifflux.conversations.profile import CONVERSATIONS
from rifflux.conversations.writing import MessagePreparer
from rifflux.index import Index, open_index
from rifflux.ingest.chunking import chunk_id, identity_of
from rifflux.service.accounts import Accounts
from rifflux.service.registry import Registry
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.session.vectors import info_of
from rifflux.store import PART, DocumentChange, Placed, open_store
from rifflux.types import Scope, Vectors

TURNS = 50
TEMPLATES = 10
START = datetime(2024, 1, 1, tzinfo=UTC)


def main() -> None:
    """Build the indexes where they are not kept, and print what searches cost."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines = texts(arguments.data)
        alone = folder / f"users-1x{arguments.messages}.db"
        build(alone, 1, arguments.messages, lines)
        for users in arguments.users:
            path = folder / f"users-{users}x{arguments.messages}.db"
            build(path, users, arguments.messages, lines)
            if not arguments.fill:
                cached(alone)
                measure(cached(path), alone, users, lines, arguments.questions)
            if arguments.serve:
                serve(cached(path), users, lines, arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--users", type=int, nargs="+", default=[200])
    parser.add_argument("--messages", type=int, default=5000, help="of each user")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="where the indexes stay between runs")
    parser.add_argument("--fill", action="store_true", help="only fill the indexes")
    parser.add_argument("--serve", action="store_true", help="ask over HTTP too")
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second over HTTP")
    parser.add_argument("--requests", type=int, default=600, help="over HTTP, after a third as many to warm up")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def texts(data: Path) -> list[str]:
    """Lines of real text of a message's length."""
    found: dict[str, None] = {}
    for path in sorted(data.glob("*/corpus.jsonl")):
        for line in path.open(encoding="utf-8"):
            sentences = SENTENCE.split(json.loads(line)["text"])
            found |= dict.fromkeys(each for each in sentences if 20 <= len(each) <= 300)
    return list(found)


def name_of(user: int) -> str:
    """What a user is called."""
    return f"user{user}"


# Filling an index


def build(path: Path, users: int, messages: int, lines: Sequence[str]) -> None:
    """Fill an index with so many messages of each; one that was interrupted goes on where it was."""
    start, rounds = time.perf_counter(), messages // TURNS
    with open_index(path) as index:
        index.admin.store.semantic.use_model(info_of(index.admin.embedder))
        index.policies.set(HYBRID_SEARCH, True)
        meaning = Meaning(index.admin.embedder)
        done = len(index.scoped(Scope(name_of(users - 1))).conversations.list())
        for number in range(done, rounds):
            templates = [Template.of(index, meaning, each, number, lines) for each in range(min(users, TEMPLATES))]
            # A conversation of everybody in one transaction: commits take longer than what is in them.
            with index.admin.store.transaction():
                for user in range(users):
                    templates[user % TEMPLATES].put(index, name_of(user))
    seconds, count = time.perf_counter() - start, users * (rounds - done) * TURNS
    if count:
        rate = f"{count:,} messages of {users} users in {seconds:.0f} s, {count / seconds:.0f} a second"
        print(f"stored {rate}; {path.stat().st_size / 2**20:.0f} MiB", flush=True)


@dataclass(frozen=True, slots=True)
class Template:
    """A conversation ready to be stored for any user: analyzing its messages takes longer than storing them."""

    conversation: Conversation
    changes: Sequence[DocumentChange]
    vectors: Vectors

    @classmethod
    def of(cls, index: Index, meaning: Meaning, template: int, number: int, lines: Sequence[str]) -> Template:
        """The conversation of a number."""
        conversation, messages = thread(template, number, lines)
        turns = MessagePreparer(index.profile.analyzer, CONVERSATIONS.chunker, index.admin.embedder.count_tokens, "")
        rows = [message_row(message, conversation) for message in messages]
        changes = [turns(conversation.id, rows, place) for place in range(len(rows))]
        texts = [each.chunk.text for change in changes for each in change.chunks]
        return cls(conversation, changes, meaning(texts))

    def put(self, index: Index, user: str) -> None:
        """Store it for a user, within a transaction."""
        view = index.admin.store.of(f"{user}{PART}{CONVERSATIONS.name}")
        id = self.conversation.id
        changes = [_renamed(change, view.owner, id) for change in self.changes]
        view.catalog.write(Placed("", DocumentChange(conversation_row(self.conversation), id, ())))
        view.catalog.write(*(Placed(id, change) for change in changes))
        chunks = [chunk for change in changes for chunk in change.chunks]
        view.semantic.put_vectors([each.chunk.id for each in chunks], [each.hash for each in chunks], self.vectors)


def _renamed(change: DocumentChange, owner: str, conversation_id: str) -> DocumentChange:
    """The same message as another owner's."""
    identity = identity_of(owner, conversation_id, change.document.key)
    chunks = (
        replace(each, chunk=replace(each.chunk, id=chunk_id(identity, (), each.chunk.text, number)))
        for number, each in enumerate(change.chunks)
    )
    return replace(change, chunks=tuple(chunks))


def thread(template: int, number: int, lines: Sequence[str]) -> tuple[Conversation, list[Message]]:
    """A conversation by chance, always the same of the same template."""
    chance = random.Random(f"{template} {number}")
    id, begun = f"talk{number}", START + timedelta(hours=20 * number)
    messages = [
        Message(
            f"m{turn}",
            id,
            " ".join(chance.sample(lines, chance.choice((1, 1, 2)))),
            ("user", "assistant")[turn % 2],
            created_at=(begun + timedelta(minutes=turn)).isoformat(),
        )
        for turn in range(TURNS)
    ]
    return Conversation(id, " ".join(chance.choice(lines).split()[:5]), created_at=begun.isoformat()), messages


# Measuring


def measure(everybody: Path, alone: Path, users: int, lines: Sequence[str], count: int) -> None:
    """Print medians and 95th percentiles of one user's searches, and of those of users by chance."""
    with open_index(everybody) as crowd, open_index(alone) as single:
        for index in (crowd, single):
            index.admin.accelerate()
        asked = list(questions(0, lines, count))
        for hybrid in (False, True):
            for index in (crowd, single):
                index.policies.set(HYBRID_SEARCH, hybrid)
            one, among = (index.scoped(Scope(name_of(0))).conversations for index in (single, crowd))
            check(one, among, asked)
            pairs = [(timed(one, question), timed(among, question)) for question in asked]
            print(f"{users} users, {'hybrid' if hybrid else 'text only'}:")
            report("alone", [first for first, _ in pairs])
            report("among all", [second for _, second in pairs], [first for first, _ in pairs])
            chance = random.Random(11)
            others = [crowd.scoped(Scope(name_of(chance.randrange(users)))).conversations for _ in asked]
            report("by chance", [timed(other, question) for other, question in zip(others, asked, strict=True)])


def questions(template: int, lines: Sequence[str], count: int) -> Iterator[str]:
    """Some words of some message of a user."""
    chance = random.Random(f"questions {template}")
    said = [message.text for number in range(10) for message in thread(template, number, lines)[1]]
    for text in chance.choices(said, k=count):
        words = [word for word in text.split() if len(word) > 3] or text.split()
        yield " ".join(chance.sample(words, min(len(words), chance.randint(2, 6))))


def timed(conversations: Conversations, question: str) -> float:
    """Milliseconds of a search."""
    start = time.perf_counter()
    conversations.search(question)
    return 1000 * (time.perf_counter() - start)


def check(one: Conversations, among: Conversations, asked: Sequence[str]) -> None:
    """Both must answer alike: to the user, nobody else is there. Packed vectors round cosines a little."""
    for question in asked[:20]:
        here, there = ([(hit.message, hit.score) for hit in talks.search(question)] for talks in (one, among))
        assert [message for message, _ in here] == [message for message, _ in there], question
        assert np.allclose([score for _, score in here], [score for _, score in there], atol=1e-4), question


def report(name: str, milliseconds: Sequence[float], against: Sequence[float] = ()) -> None:
    """A line of figures, as ratios too."""
    figures = [percentile(milliseconds, share) for share in (0.5, 0.95)]
    line = f"  {name:10} p50 {figures[0]:6.1f} ms   p95 {figures[1]:6.1f} ms"
    if against:
        ratios = [figure / percentile(against, share) for figure, share in zip(figures, (0.5, 0.95), strict=True)]
        paired = statistics.median(second / first for first, second in zip(against, milliseconds, strict=True))
        line += f"   x {ratios[0]:.2f} and {ratios[1]:.2f}; median of the pairs x {paired:.2f}"
    print(line, flush=True)


# Over HTTP


def serve(path: Path, users: int, lines: Sequence[str], arguments: argparse.Namespace) -> None:
    """Print how long searches over HTTP take, of users by chance."""
    with closing(open_store(path)) as store:
        tokens = [Accounts(Registry(store)).create(name_of(user))[1] for user in range(users)]
    asked = [list(questions(template, lines, 200)) for template in range(TEMPLATES)]
    workers = ("--workers", str(arguments.workers), "--rate", "1000000")
    chance = random.Random(3)
    with serving(path, *workers) as url, httpx.Client(base_url=url, timeout=60, limits=LIMITS) as client:

        def search() -> Request:
            user = chance.randrange(users)
            question = chance.choice(asked[user % TEMPLATES])
            headers = {"Authorization": f"Bearer {tokens[user]}"}
            body = {"query": question}

            def send() -> int:
                return client.post("/conversations/search", json=body, headers=headers).status_code

            return Request("search", send)

        for name, count in (("first", arguments.requests // 3), ("then", arguments.requests)):
            answers = at_rate((search() for _ in range(count)), arguments.rate)
            print(told(f"{users} users over HTTP at {arguments.rate:g}/s, {name} {count}", answers), flush=True)
