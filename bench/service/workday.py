"""Load the HTTP service as on a working day; kill a worker, and let the model hang.

    python -m bench workday --keep /tmp/workday [--documents 25000] [--users 50] [--messages 2000] [--seconds 60]

Documents in collections shared with everyone, and users with conversations and memories of their own. Two workers
answer requests at a steady rate, half of them searches of documents, the others searches of messages, of memories, of
everything and writes (messages and memories in turn) as 4 : 2 : 2 : 2. A latency counts from when its request was due,
whether or not the earlier ones were answered.

1. steady: the bundled model embeds questions; the first requests of the new service are told apart;
2. a worker is killed in the middle with SIGKILL, and every write that was acknowledged must be there afterwards;
3. questions are embedded by an endpoint, which answers, then hangs for a minute, then answers again.

Texts are sentences of the standard library's documentation, recombined by chance; the vector of
a text is the mean of its sentences', by the bundled model, and so the endpoint has it.
The load of the machine stands with each phase. Fails if a p95 is over the limit, a request was answered 5xx, or a write
was lost.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import apsw
import httpx2 as httpx

from bench.service.hanging import HangingEndpoint, embedding_endpoint
from bench.service.load import LIMITS, Answer, Request, at_rate, kill_worker, percentile, serving, told
from bench.service.meaning import Meaning
from bench.service.members import documents, embed, questions, texts
from bench.service.users import TEMPLATES, build, name_of
from bench.service.users import questions as message_questions
from bench.shared import cached
from rifflux.index import Index, open_index
from rifflux.models import load_embedder
from rifflux.service.accounts import Accounts
from rifflux.service.collections import Rights
from rifflux.service.nouns import EVERYONE
from rifflux.service.registry import Registry
from rifflux.session.vectors import info_of
from rifflux.session.writing import Writer
from rifflux.store import ModelInfo, open_store
from rifflux.types import Scope

P95_MS = 90.0
COLLECTIONS = 20
MEMORIES = 20
KILLED_AFTER = 0.5
#: Of twenty requests, in an order by chance.
MIX = {"search": 10, "messages": 4, "memories": 2, "everything": 2, "message": 1, "memory": 1}
SET_MODEL = "update model set name = ?, backend = ?, dimension = ?, fingerprint = ?, spec = ? where state = 'active'"


def main() -> None:
    """Build the index where it is not kept, run the phases, and print what they cost."""
    arguments = _arguments()
    lines = texts()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        db = folder / f"workday-{arguments.documents}-{arguments.users}x{arguments.messages}.db"
        if not db.exists():
            fill(db, arguments, lines)
        if arguments.fill:
            return
        faults = [*bundled(db, arguments, lines), *hung(db, arguments, lines)]
    for fault in faults:
        print(f"not as it shall be: {fault}")
    sys.exit(bool(faults))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=25_000, help="shared with everyone")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--messages", type=int, default=2000, help="of each user")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second")
    parser.add_argument("--seconds", type=float, default=60.0, help="of a phase")
    parser.add_argument("--questions", type=int, default=2000, help="different ones")
    parser.add_argument("--keep", type=Path, help="where the index stays between runs")
    parser.add_argument("--fill", action="store_true", help="only fill the index")
    return parser.parse_args()


# Filling the index


def fill(db: Path, arguments: argparse.Namespace, lines: Sequence[str]) -> None:
    """Make the index; its name is there once all of it is."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=db.parent) as folder:
        made = Path(folder) / db.name
        build(made, arguments.users, arguments.messages, lines)
        with open_index(made) as index:
            share(index, arguments.documents, lines)
            for user in range(arguments.users):
                remember(index, user, lines)
        made.rename(db)
    print(f"made {db.name} in {time.perf_counter() - start:.0f} s, {db.stat().st_size / 2**20:.0f} MiB", flush=True)


def share(index: Index, count: int, lines: Sequence[str]) -> None:
    """Fill collections that everyone may read."""
    view, rights = index.admin.searcher.view, Rights(index.registry.sharing)
    meaning = Meaning(view.embedder)
    for number in range(COLLECTIONS):
        collection = rights.create(f"team{number}")
        theirs = replace(view, store=view.store.of(collection.owner))
        Writer(theirs).add(*documents(f"team{number}", count // COLLECTIONS, lines), embed=False)
        embed(theirs.store, meaning)
        rights.share(collection.label, EVERYONE)


def remember(index: Index, user: int, lines: Sequence[str]) -> None:
    """Save memories of a user."""
    memories = index.scoped(Scope(name_of(user))).memories
    for line in random.Random(f"memories {user}").sample(lines, MEMORIES):
        memories.add(line)


def use_model(db: Path, model: ModelInfo) -> None:
    """Have an index believe that its vectors are those of a model; then build what makes it fast."""
    with closing(apsw.Connection(str(db))) as connection:
        connection.execute(SET_MODEL, (model.name, model.backend, model.dimension, model.fingerprint, model.spec))
    with open_index(db, model=model.spec) as index:
        index.admin.accelerate()


# Asking


@dataclass
class Day:
    """Makes the requests of many users, and remembers what was acknowledged and what degraded.

    Of each kind it asks `different` questions. Each of the `clients` has the token of a user, and connections of its
    own: those of one for all would stay with the worker that was left when another was killed.
    """

    clients: Sequence[httpx.Client]
    lines: Sequence[str]
    different: int
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    written: list[tuple[httpx.Client, str]] = field(default_factory=list)
    degraded: Counter[str] = field(default_factory=Counter)
    talks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._documents = questions(self.lines, self.different)
        self._messages = [
            list(message_questions(each, self.lines, self.different // TEMPLATES)) for each in range(TEMPLATES)
        ]
        for client in self.clients:
            self.talks.append(client.post("/conversations", json={"title": "today"}).json()["id"])

    def requests(self, count: int) -> Iterator[Request]:
        """Yield so many requests in the proportions of the mix."""
        return itertools.islice(self._endless(), count)

    def _endless(self) -> Iterator[Request]:
        kinds = [kind for kind, share in MIX.items() for _ in range(share)]
        while True:
            self.chance.shuffle(kinds)
            yield from map(self._request, kinds)

    def _request(self, kind: str) -> Request:
        user = self.chance.randrange(len(self.clients))
        path, body = self._asked(kind, user)

        def send() -> int:
            reply = self.clients[user].post(path, json=body)
            if reply.is_success:
                self._note(kind, user, reply.json())
            return reply.status_code

        return Request(kind, send)

    def _asked(self, kind: str, user: int) -> tuple[str, dict[str, str]]:
        match kind:
            case "messages":
                return "/conversations/search", {"query": self.chance.choice(self._messages[user % TEMPLATES])}
            case "memories":
                return "/memories/search", {"query": self.chance.choice(self._documents)}
            case "message":
                return f"/conversations/{self.talks[user]}/messages", {"text": self._said()}
            case "memory":
                return "/memories", {"text": self._said()}
            case _:
                return f"/{kind}", {"query": self.chance.choice(self._documents)}

    def _said(self) -> str:
        return f"{self.chance.choice(self.lines)} {self.chance.getrandbits(32):x}"

    def _note(self, kind: str, user: int, answer: Mapping[str, Any]) -> None:
        for reason in answer.get("diagnostics", answer)["degraded"]:
            # Searches give notices, stored documents and messages plain sentences.
            self.degraded[reason["text"] if isinstance(reason, dict) else reason] += 1
        if kind == "message":
            self.written.append((self.clients[user], f"/conversations/{self.talks[user]}/messages/{answer['id']}"))
        elif kind == "memory" and answer["memory"]:
            self.written.append((self.clients[user], f"/memories/{answer['memory']['id']}"))

    def lost(self) -> int:
        """Count the writes that were acknowledged and are not there."""
        return sum(client.get(path).status_code != 200 for client, path in self.written)


@contextmanager
def begun(db: Path, arguments: argparse.Namespace, lines: Sequence[str], model: str) -> Iterator[Day]:
    """Yield the day of a new service, once its first requests were answered."""
    with closing(open_store(db)) as store:
        tokens = [Accounts(Registry(store)).create(name_of(user))[1] for user in range(arguments.users)]
    options = ("--workers", str(arguments.workers), "--rate", "1000000", "--model", model)
    with serving(cached(db), *options) as url, ExitStack() as stack:
        named = [{"Authorization": f"Bearer {token}"} for token in tokens]
        made = (httpx.Client(base_url=url, headers=each, timeout=60, limits=LIMITS, verify=False) for each in named)
        day = Day([stack.enter_context(client) for client in made], lines, arguments.questions)
        phase("first requests", day, arguments.rate, arguments.seconds / 4)
        yield day


# Phases


def bundled(db: Path, arguments: argparse.Namespace, lines: Sequence[str]) -> list[str]:
    """Run the phases whose questions the bundled model embeds; what is not as it shall be."""
    model = load_embedder()
    use_model(db, info_of(model))
    with begun(db, arguments, lines, model.name) as day:
        found = phase("steady", day, arguments.rate, arguments.seconds)
        kill = threading.Timer(KILLED_AFTER * arguments.seconds, kill_worker)
        kill.start()
        found += phase("a worker killed", day, arguments.rate, arguments.seconds)
        kill.join()
        lost = day.lost()
        print(f"writes acknowledged: {len(day.written)}, lost: {lost}", flush=True)
    return [*found, f"{lost} acknowledged writes were lost"] if lost else found


def hung(db: Path, arguments: argparse.Namespace, lines: Sequence[str]) -> list[str]:
    """Run the phases in which an endpoint embeds, and hangs; what is not as it shall be."""
    meaning = Meaning(load_embedder())
    # The machine that asks does not embed meanwhile.
    count = arguments.questions
    meaning([*questions(lines, count)])
    for template in range(TEMPLATES):
        meaning([*message_questions(template, lines, count // TEMPLATES)])
    with embedding_endpoint(meaning) as endpoint:
        use_model(db, info_of(load_embedder(endpoint.spec)))
        with begun(db, arguments, lines, endpoint.spec) as day:
            found = phase("an endpoint embeds", day, arguments.rate, arguments.seconds / 2)
            found += hang(endpoint, day, arguments)
            found += phase("the endpoint answers again", day, arguments.rate, arguments.seconds / 2)
    return found


def hang(endpoint: HangingEndpoint, day: Day, arguments: argparse.Namespace) -> list[str]:
    """Run the phase in which the endpoint hangs."""
    with endpoint.hanging():
        found = phase("the endpoint hangs", day, arguments.rate, arguments.seconds)
    print(f"  calls that the endpoint got while it hung: {endpoint.calls}", flush=True)
    return found


def phase(name: str, day: Day, rate: float, seconds: float) -> list[str]:
    """Ask for so many seconds, print what it cost by kind, and return what is not as it shall be."""
    day.degraded.clear()
    load = os.getloadavg()[0]
    answers = at_rate(day.requests(int(rate * seconds)), rate)
    print(f"{name} (load of the machine {load:.1f} before, {os.getloadavg()[0]:.1f} after)")
    for kind in (*MIX, "all"):
        print(f"  {told(kind, [each for each in answers if kind in ('all', each.kind)])}", flush=True)
    for reason, count in day.degraded.most_common(3):
        print(f"  degraded {count} times: {reason}")
    return faults(name, answers)


def faults(name: str, answers: Sequence[Answer]) -> list[str]:
    """Return what of a phase is over the limits; nothing of connections that ended with a worker."""
    p95 = percentile([each.milliseconds for each in answers], 0.95)
    errors = sum(each.failure.startswith("5") for each in answers)
    limits = ((f"p95 is {p95:.0f} ms, over {P95_MS:g}", p95 > P95_MS), (f"{errors} answers of 5xx", errors > 0))
    return [f"{name}: {fault}" for fault, holds in limits if holds]
