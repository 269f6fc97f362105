"""State shared by the routes: the open index, its callers and its limits."""

from __future__ import annotations

import gc
import hmac
import json
import math
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import structlog

from rifflux import DamagedIndex, Index, InvalidArgument, NotAnIndex, Progress, RiffluxError, Scope, Trace
from rifflux.models.guarded import ModelCallFailed
from rifflux.service.accounts import ADMIN, MOST_TOKENS, Accounts
from rifflux.service.analytics import Diary
from rifflux.service.jobs import GRACE_S, Jobs
from rifflux.service.nouns import Erased, Token
from rifflux.service.repeats import Repeats
from rifflux.session.intake import Intake
from rifflux.surfaces.http.counters import Counters
from rifflux.surfaces.http.limits import Buckets, Leases
from rifflux.surfaces.http.places import Places
from rifflux.surfaces.http.problems import DISK_FULL, Refused, is_disk_full, problem_json, refusal_of
from rifflux.surfaces.shared.network import is_loopback
from rifflux.surfaces.shared.nouns import JsonObject

log = structlog.get_logger("rifflux.http")

#: New objects after which the youngest generation is collected.
GARBAGE_AFTER = 20_000
#: Bytes of an uploaded file, by default.
UPLOAD_BYTES = 20_000_000
#: Chunks of one document, and of one request: a book of 2,000 pages, and years of conversations.
DOCUMENT_CHUNKS = 5_000
REQUEST_CHUNKS = 500_000
#: Seconds that the body of an upload may take to arrive, on top of what a request may take.
SEND_S = 30.0
#: Seconds after which the slot of a process that was reading a file is free again: reading may take half of that.
PLACE_S = 240.0
#: Answers that a user may have under way at a time.
STREAMS = 2
#: Seconds for which the service is not ready after a request met damage.
DAMAGE_S = 60.0
#: Users whose views of the index are cached between requests, with their rerankers.
MOST_VIEWS = 256

#: Settings that must be more than 0.
_POSITIVE = (
    "rate",
    "burst",
    "user_tokens",
    "document_chunks",
    "request_chunks",
    "max_body_bytes",
    "max_upload_bytes",
    "max_target_bytes",
    "timeout_s",
    "workers",
)


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How the service is run. `options` are settings of `surfaces.config` that the command line gave.

    `open` lets everybody on this machine in without a token, as the administrator of the owner '' (what the command
    line indexes). `hosts` are the names that a request may call this server by, and `origins` the web pages that may
    call it, besides the address that it listens on. `proxies` are the addresses of proxies, which are believed when
    they say whom they ask for and whether by TLS; `root_path` is what they cut off the paths. `certificate` and `key`
    are files for TLS without a proxy. `rate` is requests a minute for each user (`burst` of them at
    once), `user_tokens` the valid tokens that a user may have, `document_chunks` and
    `request_chunks` the chunks that a document and one request may bring, `timeout_s` how long a request may take,
    `watch` has the files of all collections followed, `shared` is a folder where the worker processes keep common
    counts.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    open: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    root_path: str = ""
    certificate: str = ""
    key: str = ""
    rate: float = 600.0
    burst: int = 60
    user_tokens: int = MOST_TOKENS
    document_chunks: int = DOCUMENT_CHUNKS
    request_chunks: int = REQUEST_CHUNKS
    max_body_bytes: int = 1_000_000
    max_upload_bytes: int = UPLOAD_BYTES
    max_target_bytes: int = 32_768
    timeout_s: float = 30.0
    watch: bool = False
    workers: int = 1
    shared: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.open and not is_loopback(self.host):
            raise InvalidArgument(
                f"without tokens the service listens on this machine only, not on {self.host}: "
                "leave out --open and make tokens with 'rifflux tokens create'"
            )
        if bool(self.certificate) != bool(self.key):
            raise InvalidArgument("TLS takes a certificate and its key: give both --tls-cert and --tls-key")
        if (self.root_path and not self.root_path.startswith("/")) or self.root_path.endswith("/"):
            raise InvalidArgument(f"a root path begins with / and does not end with it, not {self.root_path!r}")
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise InvalidArgument(f"{name} must be more than 0, not {getattr(self, name)}")

    def dumped(self) -> str:
        """Return the settings as text, for the worker processes."""
        return json.dumps(asdict(self))

    @classmethod
    def loaded(cls, text: str) -> ServiceSettings:
        """Return the settings that `dumped` wrote."""
        values: JsonObject = json.loads(text)
        return cls(**values | {name: tuple(values[name]) for name in ("hosts", "origins", "proxies")})

    @property
    def called(self) -> frozenset[str]:
        """Return the host names, without port, that a request may be addressed to."""
        if is_loopback(self.host):
            own = {"localhost", "127.0.0.1", "::1"}
        else:
            own = {self.host.lower()}
        return frozenset(own | {host.lower() for host in self.hosts})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request; `token` is the id of the token, empty where none is needed, `expires_at` when it ends."""

    user: str
    role: str
    token: str = ""
    expires_at: str | None = None

    @property
    def is_admin(self) -> bool:
        """Return True for an administrator, who may see settings and other people's usage."""
        return self.role == ADMIN


class Visit:
    """The session of the person who started the service: a pass that opens it once, and the key from then on."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._pass: str | None = secrets.token_urlsafe(32)
        self._key = secrets.token_urlsafe(32)
        self._lock = threading.Lock()

    @property
    def unused_pass(self) -> str:
        """Return the pass, empty once it was used."""
        return self._pass or ""

    def enter(self, text: str) -> str | None:
        """Return the key for a pass, the first time that it is used."""
        with self._lock:
            if self._pass is None or not hmac.compare_digest(text.encode(), self._pass.encode()):
                return None
            self._pass = None
            return self._key

    def caller(self, key: str) -> Caller | None:
        """Return who has the key."""
        if hmac.compare_digest(key.encode(), self._key.encode()):
            return self._caller
        return None


class Damage:
    """The time when a request last met a damaged index, shared by all workers in `folder`."""

    def __init__(self, folder: str | None) -> None:
        self._mark = Path(folder) / "damage" if folder else None
        self._at = -math.inf

    def note(self) -> None:
        """Record that a request met damage now."""
        self._at = time.time()
        if self._mark:
            with suppress(OSError):
                self._mark.touch()

    @property
    def is_recent(self) -> bool:
        """Return True for a while after a request met damage."""
        at = self._at
        if self._mark:
            with suppress(OSError):
                at = max(at, self._mark.stat().st_mtime)
        return time.time() - at < DAMAGE_S


class Service:
    """An open index with its callers, limits and counters."""

    def __init__(self, settings: ServiceSettings, index: Index, visit: Visit | None = None) -> None:
        self.settings = settings
        self.visit = visit
        self.index = index.using(stopped=self._model_stopped)
        self.repeats = Repeats(index.registry)
        # Records are written by a separate thread: a search must not wait for the disk.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="record")
        self.ledger = index.ledger
        self.ledger.served(self._later)
        registry = index.registry
        self.diary = Diary(registry, later=self._later)
        self.accounts = Accounts(registry, later=self._later, most_tokens=settings.user_tokens)
        self.buckets = Buckets(settings.shared or None, settings.rate / 60.0, settings.burst)
        self.streams = Leases(settings.shared or None, STREAMS)
        self.counters = Counters()
        self.damage = Damage(settings.shared or None)
        self.jobs = Jobs(registry, self._described)
        # Reading a file may take half a gigabyte for two minutes; a single user never has all slots.
        self.places = Places(settings.shared or None, max(os.cpu_count() or 1, 2), PLACE_S)
        self._refused = ""
        self._views: OrderedDict[tuple[str, bool], Index] = OrderedDict()
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Warm up, so that the first request does not wait. If it fails, searches say why."""
        try:
            with self.ledger.free():
                self.index.admin.warm()
                self._ask_something()
        except RiffluxError as error:
            log.warning("warming", cause=str(error))
        # Objects that exist by now stay: collecting them would hold up requests for a tenth of a second.
        gc.collect()
        gc.freeze()
        # An answer creates thousands of short-lived objects: collect after many, not during each.
        gc.set_threshold(GARBAGE_AFTER, 20, 50)

    def _ask_something(self) -> None:
        """Search for an existing text as the user of the most recently used token, without any remote model."""
        tokens = [each for each in self.accounts.list() if not each.revoked_at]
        latest = max(tokens, key=lambda each: each.used_at or "", default=None)
        if latest:
            view = self._view(latest.user, False)
        else:
            view = self.index
        for document in view.documents.list(limit=1).documents:
            question = document.title or document.key
            if self.index.admin.embeds_here:
                view.everything(question)
            else:
                view.search(question, mode="lexical")

    def of(self, caller: Caller) -> Index:
        """Return the caller's view of the index: what their user owns and what is shared with that user."""
        with self._lock:
            who = caller.user, caller.is_admin
            known = self._views.pop(who, None) or self._view(*who)
            self._views[who] = known
            while len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
            return known

    def failed(self, error: RiffluxError) -> Refused:
        """Return the problem for an error, and record damage for `/ready`."""
        if isinstance(error, DamagedIndex | NotAnIndex):
            self.damage.note()
        return refusal_of(error)

    def _described(self, error: Exception) -> tuple[int, str]:
        """Return the status and the error, as JSON, that a failed job is answered with."""
        if isinstance(error, RiffluxError):
            refusal = self.failed(error)
        elif isinstance(error, OSError) and is_disk_full(error):
            log.error("disk", cause=str(error))
            refusal = DISK_FULL
        else:
            id = secrets.token_hex(8)
            log.error("job", id=id, exc_info=error)
            message = f"this should not have happened: have an administrator look for {id} in the log"
            refusal = Refused(500, "error", message)
        return refusal.status, json.dumps(problem_json(refusal))

    def note_question(self, caller: Caller, query: str) -> None:
        """Record an answered question for the online measures; a read-only index skips this.

        Only then: a request that is refused is no question.
        """
        if not self.index.registry.read_only:
            self.diary.note(caller.user, query)

    def searched(self, caller: Caller, query: str, trace: Trace) -> None:
        """Record and count an answered search."""
        self.note_question(caller, query)
        self.counters.searched(trace)

    def _view(self, user: str, administrator: bool) -> Index:
        if user:
            return self.index.scoped(Scope(user, administrator))
        return self.index

    def _model_stopped(self, stopped: ModelCallFailed) -> None:
        """Count a failed call of a model and log its cause; for calls that were not made, only a new cause."""
        self.counters.embedder_failures.labels(stopped.sort).inc()
        was_called = stopped.sort in ("late", "error")
        if was_called or self._refused != stopped.cause:
            self._refused = self._refused if was_called else stopped.cause
            if stopped.error:
                failed = {"exc_info": stopped.error}
            else:
                failed = {}
            log.warning("model", sort=stopped.sort, model=stopped.model, cause=stopped.cause, **failed)

    def intake(self, caller: Caller, progress: Progress | None = None) -> Intake:
        """Return the intake of a caller's import: in a slot of theirs, within the limits of the service."""
        report = progress or (lambda stage, done, total: None)
        return Intake(
            place=lambda: self.places.claimed(caller.user, lambda: report("wait", 0, None)),
            document_chunks=self.settings.document_chunks,
            request_chunks=self.settings.request_chunks,
            progress=progress,
        )

    def accounts_of(self, caller: Caller) -> Accounts:
        """Return the accounts that the caller may see and change."""
        if caller.user:
            by = Token(caller.token, caller.user, caller.role, expires_at=caller.expires_at)
        else:
            by = None
        return replace(self.accounts, by=by)

    def delete(self, caller: Caller, user: str) -> Erased:
        """Delete a user. What other worker processes have not written yet of their usage may still be written."""
        # Their running jobs would bring back what is deleted.
        self.jobs.stop(user, seconds=GRACE_S)
        self.ledger.forget(user)
        self.diary.flush()
        with self._lock:
            for role in (False, True):
                self._views.pop((user, role), None)
        return self.accounts_of(caller).delete(user)

    def _later(self, work: Callable[[], None]) -> None:
        self._writer.submit(work).add_done_callback(_log_failure)

    def close(self) -> None:
        """Stop the jobs, write pending records, and close the index and the counters."""
        self.jobs.close()
        self.ledger.close()
        self.diary.close()
        self._writer.shutdown()
        self.buckets.close()
        self.streams.close()
        self.places.close()
        self.index.close()


def _log_failure(done: Future[None]) -> None:
    if error := done.exception():
        log.error("record", cause=str(error))
