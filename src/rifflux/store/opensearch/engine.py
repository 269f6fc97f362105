"""The connection to a cluster, and the one place where requests are made: each is bound to the owners of its rows."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from importlib import import_module
from typing import Any, TypeVar

from rifflux.errors import (
    Busy,
    Conflict,
    Cure,
    DiskFull,
    InvalidArgument,
    MissingExtra,
    NewerIndex,
    NotAnIndex,
    NotFound,
    OutOfScope,
    ReadOnlyIndex,
    RiffluxError,
    UnusableIndex,
)
from rifflux.store.opensearch.address import PASSWORD, USER, ClusterAddress
from rifflux.store.opensearch.batches import (
    ContentBatch,
    JoinedWrites,
    OpenWrites,
    Published,
    visible_of,
    written_together,
)
from rifflux.store.opensearch.filters import JSON, all_of, terms
from rifflux.store.opensearch.mapping import SCHEMA_VERSION, index_body, vector_property
from rifflux.store.opensearch.nodes import OVERLOADED, Nodes
from rifflux.store.reader import Reads, Totals
from rifflux.store.semantic import ModelInfo, State
from rifflux.types import Notice

T = TypeVar("T")
#: What to do with a row: `index`, `create`, `update` or `delete`, its id, and a body.
Action = tuple[str, str, JSON | None]

#: The owner of the rows that concern the whole index; no user or collection has this name.
WORLD = "\x1c"
#: The type of the row that has the version of the records that decide who reads what.
RIGHTS = "rights"
#: The types of rows that are written in batches.
CONTENT = frozenset({"document", "chunk"})
#: The name by which a refresh may be asked for if chunks were written.
CHUNKS = "chunks"
#: Seconds that a request may take, that opening may take, and that another process's changes may stay unseen.
REQUEST_SECONDS = 30.0
OPEN_SECONDS = 5.0
STATE_SECONDS = 1.0
#: The copy of the node that is asked, if it has one, answers: another node may hang.
LOCAL: Mapping[str, str] = {"preference": "_local"}
#: Rows of one page of a list, values of an aggregation, and actions of one bulk request.
PAGE = 1_000
MOST_VALUES = 65_000
_BULK = 500
#: Any rest of a term in a regular expression. Behind a plain beginning, OpenSearch 2.19 fails on `.*` if no term has
#: that beginning.
ANYTHING = ".{0,}"
#: Owners whose statistics are cached, and whose states are.
_CACHED = 256
MOST_STATES = 4_096
_RETRIES = 5
#: What responses to searches omit of each hit, and those to searches for candidates.
_OMITTED = "-responses.hits.hits._index,-responses.hits.hits._routing"
NAMELESS = f"{_OMITTED},-responses.hits.hits._id"
#: The part of the time that is left after which the cluster is to answer a search from what it found by then.
_CUT_OFF = 0.5
_LEAST_SECONDS = 0.01
#: Seconds for which a search may take an older state, if the cluster does not tell the present one in time, and the
#: part of its time that it waits for that.
_OLDER_SECONDS = 30.0
#: Seconds after which searches find what was written, although it was not asked for: a node refreshes its copies once a
#: second.
_SETTLING_SECONDS = 5.0
_OLDER = "cluster.older"
#: Seconds after which records are read anew although their version is the same: a process may have ended between a
#: change and the new version.
_RIGHTS_SECONDS = 30.0
_STATE_SHARE = 1 / 3
#: Seconds to wait before an overloaded cluster is asked again.
_WAITS = (0.05, 0.2, 0.8)
#: Names the block of an index whose disk is nearly full, which a cluster answers with the status of an overload.
_FLOOD = "read-only-allow-delete"
#: What a bulk request answers for a row that is missing, or is there already, and is no failure.
_HARMLESS = {("create", 409), ("update", 404), ("delete", 404)}


def owner_key(owner: str) -> str:
    """Return the beginning of the ids of an owner's rows, which is also their routing."""
    return blake2b(owner.encode(), digest_size=10).hexdigest()


def row_id(owner: str, type: str, *parts: str) -> str:
    """Return the id of an owner's row."""
    digest = blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
    return f"{owner_key(owner)}.{type}.{digest}"


def vector_field(fingerprint: str) -> str:
    """Return the field of the vectors of a model."""
    return f"vector_{blake2b(fingerprint.encode(), digest_size=8).hexdigest()}"


@dataclass(slots=True)
class IndexState:
    """The state of some owners' rows at one time: changes, settings, visible batches, and the models of the index."""

    changes: Mapping[str, int]
    settings: Mapping[str, Mapping[str, str]]
    models: Mapping[str, tuple[ModelInfo, State]]
    batches: Mapping[str, Published]
    #: The version of the records that decide who reads what.
    rights: int
    #: When it was requested, and when it was there.
    read_at: float
    received_at: float
    known_until: float

    @property
    def version(self) -> object:
        """Return what changes with the contents of the owners, or with the models."""
        return *self.changes.values(), repr(self.models)

    def models_in(self, *states: State) -> list[ModelInfo]:
        """Return the models in some states."""
        return [model for model, state in self.models.values() if state in states]

    @property
    def active(self) -> ModelInfo | None:
        """Return the model that is searched."""
        return next(iter(self.models_in(State.ACTIVE)), None)


class Overloaded(Busy):
    """The cluster refused a request for now."""


class Unanswered(Busy):
    """A node did not answer in time."""


class Unreachable(UnusableIndex):
    """A node cannot be reached."""


class Bounds(threading.local):
    """The search that this thread is in: its deadline, what it took, when it began, and the states that it is of.

    If it is by meaning, also the field of the vectors.
    """

    deadline: float | None = None
    reads: Reads | None = None
    field: str | None = None
    since: float | None = None
    #: Which of the chunks that it found contain which clauses, by owners.
    holders: dict[tuple[str, ...], list[Any]]
    #: True after the index could not be refreshed for this search.
    is_stuck: bool = False
    #: True if what this search computes may not be what the whole of its state would give.
    is_partial: bool = False

    def __init__(self) -> None:
        self.states: dict[tuple[str, ...], IndexState] = {}
        self.holders = {}

    def now(self) -> float:
        """Return the moment by which a state is judged: within a search its beginning, so that it reads one state."""
        return time.monotonic() if self.since is None else self.since

    def left(self) -> float:
        """Return the seconds that are left for a request. Raises `Busy` if none are."""
        if self.deadline is None:
            return REQUEST_SECONDS
        left = self.deadline - time.perf_counter()
        if left <= 0:
            raise Busy("the deadline passed before the cluster was asked for everything: give more time")
        return min(left, REQUEST_SECONDS)


@dataclass
class ClusterIndex:
    """The client of a cluster for one index.

    What this process wrote is found by its next search: the index is refreshed before, if something was written.
    """

    address: ClusterAddress
    client: Any
    #: The nodes, for requests that only read.
    nodes: Nodes
    #: The bounds of the search that each thread is in.
    bounds: Bounds = field(default_factory=lambda: Bounds())
    #: What this thread writes together.
    writing: OpenWrites = field(default_factory=lambda: OpenWrites())
    #: Names by which a refresh may be asked for, with the number of the write.
    unrefreshed: dict[str, int] = field(default_factory=dict)
    #: The last state of some owners of which searches find all.
    settled: dict[tuple[str, ...], IndexState] = field(default_factory=dict)
    #: The first state after it that could not be had refreshed.
    settling: dict[tuple[str, ...], IndexState] = field(default_factory=dict)
    #: The last batch of each owner of which searches find all that others wrote.
    seen: dict[str, int] = field(default_factory=dict)
    states: dict[tuple[str, ...], IndexState] = field(default_factory=dict)
    caches: dict[tuple[str, ...], tuple[object, dict[object, Any]]] = field(default_factory=dict)
    #: The totals of owners, each with the version of the contents, and with the number of terms.
    totals: dict[str, tuple[object, Totals, int]] = field(default_factory=dict)
    #: Values of records that must be recent, until when they are, and the version of the rights that they are of.
    recent: dict[str, tuple[float, int, Any]] = field(default_factory=dict)
    #: The rows of chunks whose texts were read to make vectors of them, by owner and chunk.
    chunk_rows: dict[tuple[str, int], str] = field(default_factory=dict)
    #: When the last refresh began that all copies took part in.
    refreshed: float = 0.0
    #: The number of shards that each owner's rows are in.
    spread: int = 1
    _last: int = 0
    _writes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _refreshing: threading.Lock = field(default_factory=threading.Lock)
    #: When the thread that refreshes began to.
    _refreshing_since: float = math.inf
    _foreseeing: threading.Lock = field(default_factory=threading.Lock)
    _recovering: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, address: ClusterAddress, *, create: bool) -> ClusterIndex:
        """Connect to a cluster and find the index, or create it. Raises `UnusableIndex` and `InvalidArgument`."""
        engine = cls.connect(address)
        try:
            engine._find(create=create)
        except BaseException:
            engine.close()
            raise
        return engine

    @classmethod
    def connect(cls, address: ClusterAddress) -> ClusterIndex:
        """Return a client of a cluster, which connects with the first request."""
        try:
            opensearch = import_module("opensearchpy")
            serial = import_module("rifflux.store.opensearch.serial")
        except ImportError:
            raise MissingExtra(
                "an index on a cluster needs opensearch-py and orjson", cure=Cure.INSTALL, package="rifflux[opensearch]"
            ) from None
        # The client logs each failed request; errors are raised here, and say what to do.
        logging.getLogger("opensearch").setLevel(logging.ERROR)
        hosts = [{"host": host.strip("[]"), "port": port} for host, port in address.hosts]
        options = {
            "http_auth": (address.user, address.password) if address.user else None,
            "use_ssl": address.is_secure,
            "verify_certs": True,
            "ca_certs": address.authorities or None,
            "timeout": REQUEST_SECONDS,
            "pool_maxsize": 16,
            "serializer": serial.FastSerializer(),
        }
        client = opensearch.OpenSearch(hosts, **options, max_retries=2, retry_on_timeout=False)
        nodes = [opensearch.OpenSearch([host], **options, max_retries=0, retry_on_status=()) for host in hosts]
        return cls(address, client, Nodes(nodes))

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
        self.nodes.close()

    def _find(self, *, create: bool) -> None:
        indices = self.client.indices
        quick = {"request_timeout": OPEN_SECONDS}
        found = self.call(indices.get_mapping, index=self.address.name, params=quick, missing={})
        if not found:
            if not create:
                raise NotFound(f"there is no index {self.address}: index something into it first")
            try:
                self.create(shards=1, replicas=1)
            except Conflict:
                self._find(create=False)
            return
        if len(found) != 1:
            raise NotAnIndex(f"{self.address} names several indices: give the name of one")
        (mapping,) = found.values()
        about = mapping["mappings"].get("_meta", {}).get("rifflux", {})
        schema = about.get("schema")
        if schema is None:
            raise NotAnIndex(f"{self.address} is an index of something else: give another name")
        if schema > SCHEMA_VERSION:
            raise NewerIndex(f"{self.address} was made by a newer version of Rifflux: upgrade it here")
        if schema < SCHEMA_VERSION:
            raise UnusableIndex(
                f"{self.address} has the mapping of an earlier version: index it anew under another name"
            )
        self.spread = about.get("spread", 1)

    def exists(self) -> bool:
        """Return True if there is an index, or an alias of one, with this name."""
        parameters = {"request_timeout": OPEN_SECONDS}
        return bool(self.call(self.client.indices.exists, index=self.address.name, params=parameters))

    def create(self, shards: int, replicas: int, spread: int = 1) -> None:
        """Create the index. Raises `Conflict` if it exists, and `UnusableIndex` if the cluster lacks a plugin."""
        parameters = {"format": "json", "h": "component", "request_timeout": OPEN_SECONDS}
        nodes = self.call(self.client.cat.plugins, params=parameters)
        if not any(each["component"] == "opensearch-knn" for each in nodes):
            raise UnusableIndex(f"the cluster of {self.address} lacks the plugin opensearch-knn: install it there")
        body = index_body(shards=shards, replicas=replicas, spread=spread)
        self.call(self.client.indices.create, index=self.address.name, body=body)

    def call(self, request: Callable[..., Any], *, missing: Any = None, **arguments: Any) -> Any:
        """Make a request; return `missing`, if it is given, for what is not there. Raises `RiffluxError`."""
        if self.bounds.reads is not None:
            self.bounds.reads.requests += 1
        errors = import_module("opensearchpy.exceptions")
        try:
            return request(**arguments)
        except errors.NotFoundError as error:
            if missing is not None:
                return missing
            raise self._error(error) from None
        except errors.OpenSearchException as error:
            raise self._error(error) from None

    def read(
        self, request: str, *, share: float = 1.0, check: Callable[[Any], None] | None = None, **arguments: Any
    ) -> Any:
        """Make a request that only reads, by its name, within a share of the time that a search of this thread has.

        Where a node does not answer, others are asked. If none can be reached, or the cluster is overloaded, it is
        asked again after a while; `check` may say so of an answer by raising `Overloaded`. Raises `RiffluxError`.
        """
        waits = [*_WAITS]
        end = time.monotonic() + self.bounds.left() * (share if self.bounds.deadline else 1.0)
        while True:
            seconds = max(end - time.monotonic(), _LEAST_SECONDS)
            try:
                answer = self.call(self.nodes.request(request, seconds), **arguments)
                if check:
                    check(answer)
                return answer
            except (Overloaded, Unreachable):
                if not waits or waits[0] >= end - time.monotonic():
                    raise
                time.sleep(waits.pop(0))

    def rows_by_id(self, body: JSON, *, share: float = 1.0) -> list[JSON]:
        """Return what a request for rows by their ids finds, within a share of the time that a search has.

        A row of a part of the index that does not answer is not a missing one. Raises `RiffluxError`.
        """

        def check(answer: JSON) -> None:
            for each in answer["docs"]:
                error = each.get("error")
                if error and error.get("type") == "index_not_found_exception":
                    raise UnusableIndex(f"{self.address} is not there any more: index it anew")
                if error:
                    raise Overloaded(f"{self.address} is overloaded or not complete: look at the cluster's health")

        found = self.read("mget", share=share, check=check, index=self.address.name, body=body, params=LOCAL)
        return list(found["docs"])

    def is_partial(self, answer: JSON) -> bool:
        """Return True if a search was not answered by all shards or in time, and note it for a bounded search.

        Raises `Busy` outside of one.
        """
        shards = answer["_shards"]
        if not answer.get("timed_out") and not shards["failed"]:
            return False
        if self.bounds.reads is None:
            raise Busy(f"{self.address} answered only in part: look at the cluster's health")
        self.bounds.is_partial = True
        if shards["failed"]:
            text = f"{shards['failed']} of {shards['total']} parts of the index did not answer: hits may be missing"
            notice = Notice("cluster.partial", text, data={"failed": shards["failed"], "parts": shards["total"]})
        else:
            notice = Notice("cluster.late", "the cluster stopped searching at the deadline: hits may be missing")
        if notice not in self.bounds.reads.notices:
            self.bounds.reads.notices.append(notice)
        return True

    @contextmanager
    def bounded(self, deadline: float | None) -> Iterator[Reads]:
        """Bound the requests of this thread by a deadline within the block; yield what they took."""
        bounds = self.bounds
        former = {**vars(bounds)}
        reads = Reads()
        bounds.deadline, bounds.reads, bounds.field = deadline, reads, None
        bounds.since, bounds.states, bounds.holders = time.monotonic(), {}, {}
        bounds.is_stuck = bounds.is_partial = False
        try:
            yield reads
        finally:
            if bounds.is_partial:
                for owners in bounds.states:
                    self.caches.pop(owners, None)
                    for owner in owners:
                        self.totals.pop(owner, None)
            vars(bounds).clear()
            vars(bounds).update(former)
            if bounds.reads is not None:
                bounds.reads.requests += reads.requests

    def _error(self, error: Any) -> RiffluxError:
        """Return an error of the client as one of ours, without what a server may have repeated of a request."""
        kind = type(error).__name__
        status = getattr(error, "status_code", None)
        place = self.address
        if kind == "SSLError":
            return UnusableIndex(
                f"the certificate of {place} was refused: check the host's name, or set RIFFLUX_OPENSEARCH_CA"
            )
        if kind == "ConnectionTimeout":
            return Unanswered(f"{place} did not answer in time: try again, or look at the cluster's load")
        if status == "N/A" or kind == "ConnectionError":
            return Unreachable(f"{place} cannot be reached: check its hosts and ports, and that the cluster runs")
        if status == 401:
            return UnusableIndex(f"{place} refused the user or the password: set {USER} and {PASSWORD}")
        if status == 403 or (status == 429 and _FLOOD in str(error.info)):
            return self.forbidden(str(error.info))
        if status == 404:
            return UnusableIndex(f"{place} is not there any more: index it anew")
        if status == 409 or "already_exists" in str(error.error):
            return Conflict(f"{place} was changed by somebody else meanwhile: try again")
        if status in OVERLOADED:
            text = f"{place} is overloaded or not complete ({status}): try again, or look at the cluster's health"
            return Overloaded(text)
        if status == 400 and "invalid_index_name" in str(error.error):
            return InvalidArgument(f"OpenSearch refused the name {place.name!r}: give another one")
        return UnusableIndex(f"{place} refused a request ({status}, {error.error})")

    def forbidden(self, reason: str) -> RiffluxError:
        """Return the error of a request that was refused for a reason."""
        if "FORBIDDEN/8" in reason:
            return Busy(
                f"{self.address} takes no writes while it is copied to other shards, or after that was interrupted",
                cure=Cure.COPY_SHARDS,
                address=str(self.address),
            )
        if "cluster_block" in reason or _FLOOD in reason:
            return DiskFull(f"{self.address} takes no writes while its disk is nearly full: make room on the cluster")
        return ReadOnlyIndex(f"the user may not do this in {self.address}: give that user the right, or take another")

    def refresh(self, among: Iterable[str] | None = None) -> None:
        """Make what this process wrote visible to searches; with `among`, only if some of these rows were written.

        If that takes too long, a bounded search goes on without, and says so.
        """
        if not self._lacks(among):
            return
        try:
            if not self._refreshing.acquire(timeout=self._patience()):
                self.bounds.is_stuck = True
                raise Busy(f"{self.address} did not refresh its index in time: try again")
            self._refreshing_since = time.monotonic()
            try:
                if self._lacks(among):
                    self._refresh()
            finally:
                self._refreshing_since = math.inf
                self._refreshing.release()
        except Busy:
            if self.bounds.reads is None:
                raise
            self.bounds.is_partial = True
            self._note_older(0.0)

    def _patience(self) -> float:
        """Return the seconds to wait for another thread's refresh; searches do not wait for one that hangs."""
        left = self.bounds.left()
        if self.bounds.deadline is None:
            return left
        if self.bounds.is_stuck:
            return 0.0
        hanging = max(time.monotonic() - self._refreshing_since, 0.0)
        return max(left * _STATE_SHARE - hanging, 0.0)

    def _lacks(self, among: Iterable[str] | None) -> bool:
        if among is None or len(self.unrefreshed) > MOST_VALUES:
            return bool(self.unrefreshed)
        return not self.unrefreshed.keys().isdisjoint(among)

    def _refresh(self) -> None:
        """Make all that was written visible to searches on every node. Raises `Busy` if that failed on one.

        A search that tried in vain lets it be tried beside the next ones, which do not wait for it meanwhile: the nodes
        refresh their copies by themselves, too.
        """
        bounds = self.bounds
        if bounds.deadline is None:
            self._refresh_within(REQUEST_SECONDS)
            return
        if bounds.is_stuck or self._recovering.locked():
            raise Busy(f"{self.address} did not refresh its index in time: try again")
        try:
            self._refresh_within(max(bounds.left() * _STATE_SHARE, _LEAST_SECONDS))
        except Busy:
            # Tried in vain, it is not tried again by this search.
            bounds.is_stuck = True
            self._recover()
            raise

    def _refresh_within(self, seconds: float) -> None:
        writes = self._writes
        began = time.monotonic()
        # The node that is asked waits for the others: if it does not answer, it may be well.
        refresh = self.client.indices.refresh
        try:
            found = self.call(refresh, index=self.address.name, params={"request_timeout": seconds})
        except Unreachable as error:
            raise Busy(str(error)) from None
        if found["_shards"]["failed"]:
            raise Busy(f"{self.address} was not refreshed on all nodes: try again")
        with self._lock:
            self.refreshed = max(self.refreshed, began)
            self.unrefreshed = {name: number for name, number in self.unrefreshed.items() if number > writes}

    def _recover(self) -> None:
        """Refresh the index beside searches."""
        if not self._recovering.acquire(blocking=False):
            return

        def refresh() -> None:
            try:
                # If it fails, the next search tries it itself.
                with suppress(Exception):
                    self._refresh_within(REQUEST_SECONDS)
            finally:
                self._recovering.release()

        threading.Thread(target=refresh, name="refresh of the cluster", daemon=True).start()

    def note_changes(self, state: IndexState) -> None:
        """Have searches find what another process may have written before a state was read."""
        if state.received_at >= self.refreshed:
            self.note_writes(())

    def note_writes(self, names: Iterable[str]) -> None:
        """Remember that something was written that searches do not find before the next refresh."""
        with self._lock:
            self._writes += 1
            self.unrefreshed |= dict.fromkeys((*names, ""), self._writes)

    def see(self, last: Mapping[str, int]) -> None:
        """Have searches find all that others wrote up to a batch of each of some owners."""
        if any(self.seen.get(owner, 0) != number for owner, number in last.items()):
            self._refresh()
            self._note_seen(last)

    def _note_seen(self, last: Mapping[str, int]) -> None:
        if len(self.seen) > MOST_VALUES:
            self.seen.clear()
        self.seen |= last

    def wrote(self, owner: str, former: int, number: int) -> None:
        """Remember that this process published a batch after a former one."""
        if self.seen.get(owner, 0) == former:
            self.seen[owner] = number

    def visible(self, owners: tuple[str, ...]) -> JSON:
        """Return the condition that a document or a chunk of some owners is visible."""
        open = self.writing.open
        found: dict[str, Published] = {}
        for owner in owners:
            scope = open.get(owner)
            if scope and (batch := scope.reading()):
                found[owner] = batch.published
        if len(found) < len(owners):
            found = {**self.contents(owners, found).batches, **found}
        if len(owners) == 1:
            return found[owners[0]].condition
        return visible_of({owner: found[owner] for owner in owners})

    def contents(self, owners: tuple[str, ...], written: Container[str] = ()) -> IndexState:
        """Return the state of the contents of some owners, all of which searches find.

        If they cannot in time, it is an older one. Owners of whom this thread has `written` an open batch do not count.
        """
        state = self.state(owners)
        last = {owner: state.batches[owner].last for owner in owners if owner not in written}
        if state.received_at < self.refreshed:
            self._note_seen(last)
        try:
            self.see(last)
        except Busy:
            older = self._older(owners, self._settled(owners, state), math.inf)
            if older is None:
                raise
            return older
        self.settled[owners] = state
        if owners in self.settling and self.settling[owners].read_at <= state.read_at:
            self.settling.pop(owners, None)
        return state

    def _settled(self, owners: tuple[str, ...], state: IndexState) -> IndexState | None:
        """Return the last state of which searches find all, while those of a later one cannot be had refreshed."""
        first = self.settling.setdefault(owners, state)
        is_settled = time.monotonic() - first.read_at >= _SETTLING_SECONDS
        if time.time() - max(state.batches[owner].time for owner in owners) >= _SETTLING_SECONDS:
            # The last change was long ago.
            first = state
            is_settled = True
        if is_settled:
            self.settling.pop(owners, None)
            self.settled[owners] = first
            self._note_seen({owner: first.batches[owner].last for owner in owners})
        return self.settled.get(owners)

    def next_number(self) -> int:
        """Return a number that grows: microseconds since 1970, each once in this process."""
        with self._lock:
            self._last = max(self._last + 1, time.time_ns() // 1_000)
            return self._last

    def state(self, owners: tuple[str, ...], beside: Sequence[str] = ()) -> IndexState:
        """Return the state of some owners, at most a second old, or newer than the last write of this process.

        A search sees one state. Those of owners who are named `beside` are read with it, if it has to be read.
        """
        if owners in self.bounds.states:
            return self.bounds.states[owners]
        known = self.states.get(owners)
        if known and self.bounds.now() < known.known_until:
            return self._taken(owners, known)
        try:
            (read,) = self._read_states([owners], beside)
            return self._taken(owners, read)
        except Busy:
            older = self._older(owners, known, _OLDER_SECONDS)
            if older is None:
                raise
            return older

    def _taken(self, owners: tuple[str, ...], state: IndexState) -> IndexState:
        """Return the state that a search of this thread takes, and note if it is an older one."""
        bounds = self.bounds
        if bounds.reads is None:
            return state
        bounds.states[owners] = state
        age = bounds.now() - state.read_at
        if age > STATE_SECONDS:
            self._note_older(age)
        return state

    def _note_older(self, age: float) -> None:
        """Note that a search of this thread takes contents that may be older than a second."""
        reads = self.bounds.reads
        if reads is not None and all(each.code != _OLDER for each in reads.notices):
            text = "the cluster did not say in time what changed: newer documents may be missing"
            reads.notices.append(Notice(_OLDER, text, data={"seconds": round(age)}))

    def _read_states(self, wanted: Sequence[tuple[str, ...]], beside: Sequence[str] = ()) -> list[IndexState]:
        """Return the states of some views in one request, with which those of owners `beside` are read, too."""
        read_at = time.monotonic()
        writes = self._writes
        names = [*dict.fromkeys((*(name for owners in wanted for name in owners), *beside, ""))]
        docs: list[JSON] = [{"_id": row_id(name, "owner"), "routing": owner_key(name)} for name in names]
        docs += ({"_id": row_id(WORLD, type), "routing": owner_key(WORLD)} for type in ("models", RIGHTS))
        body = {"docs": docs}
        found = self.rows_by_id(body, share=_STATE_SHARE)
        received_at = time.monotonic()
        *rows, models_row, rights = [each.get("_source") or {} for each in found]
        models = {}
        for fingerprint, each in models_row.get("models", {}).items():
            models[fingerprint] = (ModelInfo(**each["model"]), State(each["state"]))
        by_name = dict(zip(names, rows, strict=True))
        states = {
            owners: IndexState(
                changes={name: by_name[name].get("changes", 0) for name in owners},
                settings={name: by_name[name].get("settings", {}) for name in (*owners, "")},
                models=models,
                batches={name: Published.of(by_name[name]) for name in owners},
                rights=rights.get("version", 0),
                read_at=read_at,
                received_at=received_at,
                known_until=read_at + STATE_SECONDS,
            )
            for owners in dict.fromkeys((*wanted, *((name,) for name in beside)))
        }
        with self._lock:
            if len(self.states) > MOST_STATES:
                self.states.clear()
                self.settled.clear()
                self.settling.clear()
            # What this process wrote meanwhile may be missing.
            if writes == self._writes:
                self.states |= states
        return [states[owners] for owners in wanted]

    def foresee(self) -> None:
        """Read states beside what a search of this thread does next, so that the next search need not wait for them."""
        old = time.monotonic() - STATE_SECONDS / 2
        due = [owners for owners in self.bounds.states if (known := self.states.get(owners)) and known.read_at < old]
        if not due or not self._foreseeing.acquire(blocking=False):
            return

        def read() -> None:
            self.bounds.deadline = time.perf_counter() + OPEN_SECONDS
            try:
                # If it fails, the next search asks itself, and says what is wrong.
                with suppress(Exception):
                    self._read_states(due)
            finally:
                self._foreseeing.release()

        threading.Thread(target=read, name="state of the cluster", daemon=True).start()

    def forget_states(self, owner: str = WORLD) -> None:
        """Have this process read states anew, after it wrote something of an owner, or of the world: all of them."""
        for states in (self.states, self.bounds.states):
            # Each state has the settings of nobody.
            if owner in ("", WORLD):
                states.clear()
            else:
                for owners in [each for each in [*states] if owner in each]:
                    states.pop(owners, None)

    def _older(self, owners: tuple[str, ...], known: IndexState | None, seconds: float) -> IndexState | None:
        """Return a state at most so many seconds old if a search of this thread may take it."""
        if known is None or self.bounds.reads is None or time.monotonic() - known.read_at > seconds:
            return None
        # The next searches need not wait for the present one, either.
        known.known_until = time.monotonic() + STATE_SECONDS
        self.states[owners] = known
        return self._taken(owners, known)

    def cache(self, owners: tuple[str, ...]) -> dict[object, Any]:
        """Return what was computed of the current contents of some owners."""
        for owner in owners:
            scope = self.writing.open.get(owner)
            if scope and (batch := scope.reading()):
                return batch.cache
        state = self.contents(owners)
        version = state.version
        known = self.caches.get(owners)
        if known and known[0] == version:
            return known[1]
        if len(self.caches) > _CACHED:
            self.caches.clear()
        fresh: dict[object, Any] = {}
        self.caches[owners] = version, fresh
        # Another process may have made the change, whose rows are there and not yet searched.
        self.note_changes(state)
        return fresh

    def cached(self, owners: tuple[str, ...], key: object, compute: Callable[[], T]) -> T:
        """Return a value of the current contents of some owners, computed once."""
        known = self.cache(owners)
        if key not in known:
            known[key] = compute()
        found: T = known[key]
        return found

    def recently(self, key: str, compute: Callable[[], T]) -> T:
        """Return a value that is at most a second old, or newer than the last write of this process."""
        known = self.recent.get(key)
        if known is None or self.bounds.now() >= known[0]:
            known = self.recent[key] = time.monotonic() + STATE_SECONDS, 0, compute()
        found: T = known[2]
        return found

    def by_rights(self, key: str, compute: Callable[[], T]) -> T:
        """Return a value of the records that decide who reads what, computed once for each version of them."""
        rights = self.state(("",)).rights
        known = self.recent.get(key)
        if known is None or known[1] != rights or self.bounds.now() >= known[0]:
            until = time.monotonic() + _RIGHTS_SECONDS
            try:
                self.see({WORLD: rights})
            except Busy:
                # While a node hangs that has a copy, the others refresh theirs once a second by themselves.
                until = time.monotonic() + STATE_SECONDS
            if len(self.recent) > MOST_VALUES:
                self.recent.clear()
            known = self.recent[key] = until, rights, compute()
        found: T = known[2]
        return found

    def change_rights(self) -> None:
        """Have every process read anew who reads what: what was written before is on all copies."""
        row = {"type": RIGHTS, "version": self.next_number()}
        OwnedRows(self, (WORLD,)).write([("index", row_id(WORLD, RIGHTS), row)])

    def add_vector_field(self, model: ModelInfo) -> None:
        """Have the cluster index the vectors of a model."""
        body = {"properties": {vector_field(model.fingerprint): vector_property(model.dimension)}}
        self.call(self.client.indices.put_mapping, index=self.address.name, body=body)

    def count_everywhere(self, conditions: Sequence[JSON], aggregations: JSON) -> JSON:
        """Return the number of rows of all owners that meet conditions, and aggregations of them."""
        self.refresh()
        body = {"size": 0, "track_total_hits": True, "query": all_of(conditions), "aggs": aggregations}
        found: JSON = self.read("search", index=self.address.name, body=body)
        return found

    def owners_like(self, prefix: str) -> list[str]:
        """Return the sorted names of owners that begin with a prefix."""
        conditions: list[JSON] = [{"term": {"type": "owner"}}]
        if prefix:
            conditions.append({"prefix": {"owner": prefix}})
        aggregations = {"owners": {"terms": {"field": "owner", "size": MOST_VALUES}}}
        found = self.count_everywhere(conditions, aggregations)
        return sorted(each["key"] for each in found["aggregations"]["owners"]["buckets"])

    def change_everywhere(self, conditions: Sequence[JSON], script: JSON | None, most: int | None = None) -> int:
        """Change rows of all owners that meet conditions by a script, or delete them without one; return how many."""
        self.refresh()
        body: JSON = {"query": all_of(conditions)}
        if script:
            body["script"] = script
        if most is not None:
            body["max_docs"] = most
        change = self.client.update_by_query if script else self.client.delete_by_query
        parameters = {"conflicts": "proceed", "refresh": "true", "request_timeout": 600}
        found = self.call(change, index=self.address.name, body=body, params=parameters)
        self.forget_states()
        return int(found["updated" if script else "deleted"])


@dataclass(frozen=True)
class OwnedRows:
    """The rows of some owners: every request names them, so that no role can reach others'."""

    engine: ClusterIndex
    owners: tuple[str, ...]
    #: Owners whose rows are probably read next.
    beside: tuple[str, ...] = ()

    @property
    def several(self) -> bool:
        """Return True if several owners are read together."""
        return len(self.owners) > 1

    @property
    def owner(self) -> str:
        """Return the owner, to write. Raises `OutOfScope` for several."""
        if self.several:
            raise OutOfScope("a view of several owners is only read")
        return self.owners[0]

    @property
    def is_open(self) -> bool:
        """Return True if this thread writes a batch of the owner, whose rows nobody else sees yet."""
        scope = self.engine.writing.open.get(self.owner)
        return scope is not None and scope.batch is not None

    @cached_property
    def routing(self) -> str:
        """Return the routing of the owners' rows."""
        return ",".join(map(owner_key, self.owners))

    @property
    def state(self) -> IndexState:
        """Return the state of the owners' rows."""
        return self.engine.state(self.owners, self.beside)

    def cached(self, key: object, compute: Callable[[], T]) -> T:
        """Return a value of the owners' current contents, computed once."""
        return self.engine.cached(self.owners, key, compute)

    def conditions(self, type: str, conditions: Iterable[JSON] = ()) -> list[JSON]:
        """Return conditions with that of the owners and of a type of rows, and that they are visible."""
        bound: list[JSON] = [terms("owner", self.owners), {"term": {"type": type}}, *conditions]
        if type in CONTENT:
            bound.append(self.visible)
        return bound

    @property
    def visible(self) -> JSON:
        """Return the condition that a document or a chunk is visible."""
        return self.engine.visible(self.owners)

    def together(self) -> AbstractContextManager[JoinedWrites]:
        """Publish what this thread writes of the owner's contents within the block at its end; see `batches`."""
        return written_together(self)

    @contextmanager
    def batch(self) -> Iterator[ContentBatch]:
        """Yield the batch to write the owner's contents with, which is published at the end of the outermost block."""
        with self.together() as scope:
            yield scope.begun()

    def body(self, type: str, conditions: Iterable[JSON] = (), **options: Any) -> JSON:
        """Return the body of a search for rows of a type that meet conditions."""
        return {"track_total_hits": False, "query": all_of(self.conditions(type, conditions)), **options}

    def search_all(
        self, bodies: Sequence[JSON], *, among: Iterable[str] | None = None, omitted: str = _OMITTED
    ) -> list[JSON]:
        """Return the responses to several searches, in one request.

        What this process wrote before is found; with `among`, only where it was written with one of these names.
        `omitted` is what the responses lack.
        """
        if not bodies:
            return []
        self.engine.refresh(among)
        lines: list[JSON] = []
        engine = self.engine
        engine.foresee()
        limit: JSON = {}
        if engine.bounds.deadline is not None:
            limit = {"timeout": f"{max(int(1_000 * _CUT_OFF * engine.bounds.left()), 1)}ms"}
        for each in bodies:
            lines += ({"routing": self.routing, "preference": "_local"}, {**each, **limit})
        parameters = {"filter_path": omitted}
        found = engine.read("msearch", check=self._check, index=engine.address.name, body=lines, params=parameters)
        for each in found["responses"]:
            engine.is_partial(each)
            # Without hits, nothing is left of them to omit something from.
            each.setdefault("hits", {}).setdefault("hits", [])
        return list(found["responses"])

    def _check(self, found: JSON) -> None:
        """Raise `UnusableIndex` if one of several searches was refused, and `Overloaded` if it was for now."""
        for each in found["responses"]:
            if "error" not in each:
                continue
            error = each["error"]
            causes = error.get("root_cause") or [error]
            text = f"{error.get('reason')}: {causes[0].get('reason')}"
            if each.get("status") in OVERLOADED:
                raise Overloaded(f"{self.engine.address} is overloaded or not complete: look at the cluster's health")
            raise UnusableIndex(f"{self.engine.address} refused a search ({text})")

    def search(self, type: str, conditions: Iterable[JSON] = (), **options: Any) -> JSON:
        """Return the response to one search."""
        (found,) = self.search_all([self.body(type, conditions, **options)])
        return found

    def count(self, type: str, conditions: Iterable[JSON] = ()) -> int:
        """Return the number of rows of a type that meet conditions."""
        found = self.search(type, conditions, size=0, track_total_hits=True)
        return int(found["hits"]["total"]["value"])

    def values(self, type: str, field: str, conditions: Iterable[JSON] = (), **options: Any) -> dict[Any, int]:
        """Return the values of a field with their numbers of rows."""
        counted = {"values": {"terms": {"field": field, "size": MOST_VALUES, **options}}}
        found = self.search(type, conditions, size=0, aggs=counted)
        return {each["key"]: each["doc_count"] for each in found["aggregations"]["values"]["buckets"]}

    def scan(
        self,
        type: str,
        conditions: Iterable[JSON] = (),
        fields: Sequence[str] | bool = True,
        order: Sequence[Any] = (),
        most: int | None = None,
        among: Iterable[str] | None = None,
        after: Sequence[Any] = (),
    ) -> Iterator[JSON]:
        """Yield the rows of a type that meet conditions, in an order, read in pages.

        `after` are the values of the order, and the id, of the row that they follow.
        """
        # All pages are of one state.
        query = all_of(self.conditions(type, conditions))
        left = most
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            body: JSON = {"track_total_hits": False, "query": query, "size": size, "_source": fields}
            body["sort"] = [*order, "row"]
            if after:
                body["search_after"] = [*after]
            (found,) = self.search_all([body], among=among)
            hits = found["hits"]["hits"]
            yield from (each["_source"] | {"_id": each["_id"]} for each in hits)
            if len(hits) < size:
                return
            after = hits[-1]["sort"]
            # What was written meanwhile is of a later state.
            among = ()
            if left is not None:
                left -= len(hits)

    def get(self, ids: Sequence[str], fields: Sequence[str] | bool = True) -> dict[str, JSON]:
        """Return rows by id as they are now, without missing ones."""
        keys = {owner_key(owner) for owner in self.owners}
        mine = [id for id in dict.fromkeys(ids) if id.partition(".")[0] in keys]
        found: dict[str, JSON] = {}
        for start in range(0, len(mine), PAGE):
            docs = [
                {"_id": id, "routing": id.partition(".")[0], "_source": fields} for id in mine[start : start + PAGE]
            ]
            for each in self.engine.rows_by_id({"docs": docs}):
                if each.get("found"):
                    found[each["_id"]] = each["_source"] | {
                        "_id": each["_id"], "_seq": (each["_seq_no"], each["_primary_term"])
                    }  # fmt: skip
        return found

    def write(self, actions: Iterable[Action], *, among: Iterable[str] = ()) -> list[JSON]:
        """Carry out actions on the owner's rows, and return what came of each.

        `among` are names by which `refresh` may be asked for. Raises `RiffluxError` for the first that failed; a row
        that is missing, or is there already, is no failure.
        """
        key = owner_key(self.owner)
        answers: list[JSON] = []
        lines: list[JSON] = []
        names = [*among]
        self.engine.note_writes(names)

        def send() -> None:
            if lines:
                client = self.engine.client
                name = self.engine.address.name
                answer = self.engine.call(client.bulk, index=name, body=lines, params={"request_timeout": 120})
                for each in answer["items"]:
                    ((action, item),) = each.items()
                    if item["status"] >= 400 and (action, item["status"]) not in _HARMLESS:
                        self._failed(item)
                    answers.append(item)
                lines.clear()

        for action, id, body in actions:
            header: JSON = {"_id": id, "routing": key}
            if action == "update":
                header["retry_on_conflict"] = _RETRIES
            lines.append({action: header})
            if body is not None:
                lines.append(body if action == "update" else {**body, "owner": self.owner, "row": id})
            if len(lines) >= 2 * _BULK:
                send()
        send()
        self.engine.note_writes(names)
        self.engine.forget_states(self.owner)
        return answers

    def put_if(self, id: str, row: JSON, version: tuple[int, int] | None) -> bool:
        """Store a row of the owner if it has still this version, or is still missing; return False if not."""
        parameters: JSON = {"routing": owner_key(self.owner)}
        if version is None:
            parameters["op_type"] = "create"
        else:
            parameters |= {"if_seq_no": version[0], "if_primary_term": version[1]}
        body = {**row, "owner": self.owner, "row": id}
        client = self.engine.client
        try:
            self.engine.call(client.index, index=self.engine.address.name, id=id, body=body, params=parameters)
        except Conflict:
            return False
        self.engine.note_writes(())
        return True

    def update_owner(self, source: str, values: JSON, retries: int) -> JSON:
        """Change the owner's row, which is made where it is missing, by a script; return it as it is then."""
        _, id, body = self.change(content=False)
        body = {**(body or {}), "script": {"source": source, "params": values}}
        parameters = {"routing": owner_key(self.owner), "retry_on_conflict": retries, "_source": "true"}
        client = self.engine.client
        found = self.engine.call(client.update, index=self.engine.address.name, id=id, body=body, params=parameters)
        self.engine.note_writes(())
        self.engine.forget_states(self.owner)
        row: JSON = found["get"]["_source"]
        return row

    def _failed(self, item: JSON) -> None:
        reason = item["error"].get("reason", "")
        if item["status"] == 403 or _FLOOD in reason:
            raise self.engine.forbidden(reason)
        if item["status"] in (409, 429, 503):
            raise Busy(f"{self.engine.address} is overloaded, or changed by others all the time: try again")
        raise UnusableIndex(f"{self.engine.address} refused a row ({item['error'].get('type')}: {reason})")

    def change(self, statement: str = "", values: JSON | None = None, *, content: bool = True) -> Action:
        """Return the action that counts a change of the owner's contents, and changes the owner's row by a statement.

        The row is made where it is missing.
        """
        source = f"ctx._source.changes += params.changes; {statement}"
        script = {"source": source, "params": {**(values or {}), "changes": int(content)}}
        upsert = {"type": "owner", "owner": self.owner, "changes": 0, "settings": {}}
        id = row_id(self.owner, "owner")
        body = {"script": script, "upsert": {**upsert, "row": id}, "scripted_upsert": True}
        return "update", id, body
