"""Batches: what is written of an owner's contents becomes visible at one moment, or never.

Each row of a document or a chunk carries the number of the batch that wrote it, and the number of the one that
replaced or removed it. The owner's row says which batch was published last. A reader takes rows that were written up
to that batch and were not replaced up to it, so that it sees the contents before a batch or after it.

One batch of an owner is open at a time: it is taken, with a lease, by an update of the owner's row, and published by
another. Where its writer ended, the next one takes another number and declares the former void: rows of void batches
count for nobody, even if the cluster should carry out a delayed request of that writer later. Rows that nobody can see
any more are deleted by later batches.
"""

from __future__ import annotations

import os
import platform
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from rifflux.errors import Busy, RiffluxError
from rifflux.store.opensearch.filters import JSON, all_of, any_of, none_of, terms

if TYPE_CHECKING:
    from rifflux.store.opensearch.engine import Action, OwnedRows

#: Seconds after which another writer may take the place of one that is silent, between two looks at another's batch,
#: and until a writer gives up.
LEASE_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_PATIENCE = 90.0
#: Seconds that replaced rows are kept for readers who know an older state, and void numbers for delayed requests.
KEPT_SECONDS = 60.0
_VOID_SECONDS = 86_400.0
#: Rows that are written between two looks at the lease, and how many times as many are on their way at once.
_ROWS = 500
_SENDERS = 2
_RETRIES = 20
#: Up to so many different states of owners are conditions of a query each.
_MOST_ALIKE = 100

#: What `Published.condition` says, for the owner of each row.
_VISIBLE = """
def last = params.last[doc['owner'].value];
if (last == null || doc['batch'].size() == 0 || doc['batch'].value > last) { return false; }
def without = params.without[doc['owner'].value];
if (without != null && without.contains(doc['batch'].value)) { return false; }
if (doc['replaced'].size() == 0 || doc['replaced'].value > last) { return true; }
return without != null && without.contains(doc['replaced'].value);
"""

_BEGIN = """
if (ctx._source.batches == null) {
  ctx._source.batches = ['last': 0L, 'void': [], 'open': null, 'mark': [0L, 0.0], 'time': 0.0, 'unseen': 0L];
}
def batches = ctx._source.batches;
def open = batches.open;
boolean mine = open != null && open.token == params.token;
if (!mine && params.renews || open != null && !mine && open.until > params.now) {
  ctx.op = 'none';
} else if (mine) {
  open.until = params.until;
} else {
  if (open != null) { batches.void.add(open.number) }
  long number = ((Number) params.number).longValue();
  number = (long) Math.max(number, ((Number) batches.last).longValue() + 1);
  for (each in batches.void) { number = (long) Math.max(number, ((Number) each).longValue() + 1) }
  batches.open = ['number': number, 'token': params.token, 'holder': params.holder, 'until': params.until];
}
"""
_PUBLISH = """
def batches = ctx._source.batches;
if (batches == null || batches.open == null || batches.open.token != params.token) {
  ctx.op = 'none';
} else {
  if (params.now - batches.time > params.kept) {
    batches.unseen = batches.last;
    batches.mark = [batches.open.number, params.now];
  } else if (params.now - batches.mark[1] > params.kept) {
    batches.unseen = batches.mark[0];
    batches.mark = [batches.open.number, params.now];
  }
  batches.last = batches.open.number;
  batches.open = null;
  batches.time = params.now;
  ctx._source.changes += 1;
}
"""
_ABANDON = """
def batches = ctx._source.batches;
if (batches == null || batches.open == null || batches.open.token != params.token) {
  ctx.op = 'none';
} else {
  if (params.wrote) { batches.void.add(batches.open.number) }
  batches.open = null;
}
"""
_FORGET = "ctx._source.batches.void.removeIf(each -> params.numbers.contains(((Number) each).longValue()))"


@dataclass(frozen=True, slots=True)
class Published:
    """The batches of an owner that count: all up to the `last`, but for `void` ones.

    The last was published at a `time`, in seconds since 1970 by the clock of its writer.
    """

    last: int = 0
    void: tuple[int, ...] = ()
    time: float = 0.0

    @classmethod
    def of(cls, row: JSON) -> Published:
        """Read the batches of an owner's row."""
        batches = row.get("batches")
        if not batches:
            return cls()
        return cls(int(batches["last"]), tuple(int(each) for each in batches["void"]), float(batches["time"]))

    @property
    def condition(self) -> JSON:
        """Return the condition that a row is visible."""
        written: JSON = {"range": {"batch": {"lte": self.last}}}
        if not self.void:
            return all_of([written, none_of([_replaced(self.last)])])
        replaced = all_of([_replaced(self.last), none_of([terms("replaced", self.void)])])
        return all_of([written, none_of([terms("batch", self.void), replaced])])


def _replaced(last: int) -> JSON:
    return {"range": {"replaced": {"lte": last}}}


def visible_of(owners: Mapping[str, Published]) -> JSON:
    """Return the condition that a row of some owners is visible.

    A query has at most 1,024 conditions. A script, which is one, looks at each row: it is slower, and for many owners.
    """
    alike: dict[tuple[int, tuple[int, ...]], list[str]] = {}
    for owner, published in owners.items():
        alike.setdefault((published.last, published.void), []).append(owner)
    if len(alike) > _MOST_ALIKE:
        last = {owner: published.last for owner, published in owners.items()}
        void = {owner: published.void for owner, published in owners.items() if published.void}
        return {"script": {"script": {"source": _VISIBLE, "params": {"last": last, "without": void}}}}
    return any_of(all_of([terms("owner", names), owners[names[0]].condition]) for names in alike.values())


@dataclass
class ContentBatch:
    """An open batch: the rows that it writes carry its `number`, and are seen by this thread alone."""

    rows: OwnedRows
    token: str
    number: int
    last: Published
    renewed: float
    wrote: bool = False
    #: What was computed of the contents as this thread sees them.
    cache: dict[object, Any] = field(default_factory=dict)

    @classmethod
    def begin(cls, rows: OwnedRows) -> ContentBatch:
        """Take the next batch of an owner, as soon as nobody else has one. Raises `Busy`."""
        token = uuid.uuid4().hex
        end = time.monotonic() + _PATIENCE
        while True:
            renewed = time.monotonic()
            row = rows.update_owner(_BEGIN, _taken(token), _RETRIES)
            open = row["batches"]["open"]
            if open and open["token"] == token:
                last = Published.of(row)
                rows.engine.see({rows.owner: last.last})
                return cls(rows, token, int(open["number"]), last, renewed)
            if time.monotonic() > end:
                raise Busy(f"{rows.engine.address} is being written by {open['holder']}: try again")
            time.sleep(_LOOK_SECONDS)

    @property
    def published(self) -> Published:
        """Return what this thread sees: what was published before, and its own rows."""
        return Published(self.number, self.last.void)

    def write(self, actions: Iterable[Action], *, among: Iterable[str] = ()) -> None:
        """Carry out actions on rows of this batch, or that mark rows as replaced by it, each row once.

        While some are carried out, the next ones are taken from the iterable.
        """
        names = [*among]
        self.cache.clear()
        sent: deque[Future[object]] = deque()
        with ThreadPoolExecutor(_SENDERS) as senders:
            left = iter(actions)
            while some := [*islice(left, _ROWS)]:
                if len(sent) == _SENDERS:
                    sent.popleft().result()
                self.hold()
                self.wrote = True
                sent.append(senders.submit(self.rows.write, some, among=names))
            for each in sent:
                each.result()
        self.cache.clear()
        self.rows.engine.forget_states(self.rows.owner)

    def replace(self, id: str) -> Action:
        """Return the action that marks a row as replaced by this batch."""
        return "update", id, {"doc": {"replaced": self.number}}

    def hold(self) -> None:
        """Renew the lease if that is due. Raises `Busy` if another writer has taken the batch's place meanwhile."""
        renewed = time.monotonic()
        if renewed <= self.renewed + LEASE_SECONDS / 3:
            return
        row = self.rows.update_owner(_BEGIN, {**_taken(self.token), "renews": True}, _RETRIES)
        open = row["batches"]["open"]
        if not open or open["token"] != self.token:
            raise self._lost()
        self.renewed = renewed

    def _lost(self) -> Busy:
        seconds = f"{LEASE_SECONDS:.0f}"
        return Busy(f"{self.rows.engine.address} took over {seconds} s for a part of a write: try again")

    def publish(self) -> None:
        """Make the batch visible. Raises `Busy` if another writer has taken its place meanwhile."""
        values = {"token": self.token, "now": time.time(), "kept": KEPT_SECONDS}
        row = self.rows.update_owner(_PUBLISH, values, _RETRIES)
        published = Published.of(row)
        # A request that was sent twice finds that the first was carried out.
        if self.number > published.last or self.number in published.void:
            raise self._lost()
        self.rows.engine.wrote(self.rows.owner, self.last.last, self.number)
        if row["batches"]["unseen"] and row["batches"]["mark"][0] == self.number:
            # What is left is deleted by a later batch.
            with suppress(RiffluxError):
                _clean(self.rows, int(row["batches"]["unseen"]), published)

    def abandon(self) -> None:
        """Give the batch up: nobody will see it."""
        # If this fails too, the next writer does it when the lease has ended.
        with suppress(RiffluxError):
            self.rows.update_owner(_ABANDON, {"token": self.token, "wrote": self.wrote}, _RETRIES)


def _taken(token: str) -> JSON:
    now = time.time()
    holder = f"process {os.getpid()} on {platform.node()}"
    until = now + LEASE_SECONDS
    return {
        "token": token, "holder": holder, "now": now, "until": until, "number": int(now * 1e6), "renews": False
    }  # fmt: skip


def _clean(rows: OwnedRows, unseen: int, published: Published) -> None:
    """Delete the rows that were replaced up to a batch that everybody knows by now, and those of void batches."""
    engine = rows.engine
    own = [terms("owner", [rows.owner]), terms("type", ["chunk", "document"])]
    void = [number for number in published.void if number <= unseen]
    gone = [all_of([_replaced(unseen), none_of([terms("replaced", published.void)])]), terms("batch", void)]
    engine.change_everywhere([*own, any_of(gone)], None)
    if void:
        script = {"source": "ctx._source.remove('replaced')"}
        engine.change_everywhere([*own, terms("replaced", void)], script)
        former = [number for number in void if number < (time.time() - _VOID_SECONDS) * 1e6]
        if former:
            rows.update_owner(_FORGET, {"numbers": former}, _RETRIES)


@dataclass
class JoinedWrites:
    """What one thread writes of an owner together: a batch, if there are contents, and other rows after it.

    If it is `exclusive`, what the thread reads of the contents is not changed by anybody else until the end.
    """

    rows: OwnedRows
    batch: ContentBatch | None = None
    later: list[Action] = field(default_factory=list)
    exclusive: bool = False

    def begun(self) -> ContentBatch:
        """Return the batch, begun if necessary. Raises `Busy`."""
        if self.batch is None:
            self.batch = ContentBatch.begin(self.rows)
        return self.batch

    def reading(self) -> ContentBatch | None:
        """Return the batch with which contents are read; without one they are read as everybody does."""
        if self.exclusive:
            self.begun().hold()
        return self.batch


class OpenWrites(threading.local):
    """What this thread writes together, by owner."""

    def __init__(self) -> None:
        self.open: dict[str, JoinedWrites] = {}


@contextmanager
def written_together(rows: OwnedRows) -> Iterator[JoinedWrites]:
    """Publish what this thread writes of an owner's contents within the block at its end; nothing if it fails."""
    open = rows.engine.writing.open
    owner = rows.owner
    if owner in open:
        yield open[owner]
        return
    scope = open[owner] = JoinedWrites(rows)
    try:
        yield scope
        if scope.batch and scope.batch.wrote:
            scope.batch.publish()
        elif scope.batch:
            scope.batch.abandon()
        scope.batch = None
    except BaseException:
        if scope.batch:
            scope.batch.abandon()
        raise
    finally:
        del open[owner]
    if scope.later:
        rows.write([*scope.later, rows.change()])
