"""Runs the service: one process, or several workers that share an index and a port."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn

from rifflux import Finder, Index, RiffluxError, Scope
from rifflux.service.accounts import ADMIN
from rifflux.surfaces.http.counters import SHARED
from rifflux.surfaces.http.service import Service, ServiceSettings
from rifflux.surfaces.shared.config import finder, load, open_configured

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["SETTINGS", "announce", "following", "serve", "worker"]

log = structlog.get_logger("rifflux.http")

#: The variable that holds the service's settings: a new process gets nothing but the environment.
SETTINGS = "_RIFFLUX_SERVICE"
#: Seconds after which a thread lets others compute. A search asks the database dozens of times, and waits as long for
#: its turn after each where another thread computes: with Python's own .005 two at once take several times as long.
SWITCH_S = 0.0005
#: Seconds that requests under way may take to end when the service is stopped.
GRACE_S = 20
#: Seconds after which files are followed again where that failed.
RETRY_S = 30.0


def serve(settings: ServiceSettings) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered first."""
    configured = load(**dict(settings.options))
    with (
        tempfile.TemporaryDirectory(prefix="rifflux-") as shared,
        open_configured(configured, create=True) as index,
        following(index, finder(configured)) if settings.watch else nullcontext(),
    ):
        log_as_json()
        announce(index, settings)
        settings = replace(settings, shared=shared)
        os.environ[SETTINGS] = settings.dumped()
        if settings.workers > 1:
            os.environ[SHARED] = shared
        uvicorn.run(
            "rifflux.surfaces.http.serve:worker",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers if settings.workers > 1 else None,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=GRACE_S,
            limit_concurrency=None,
        )


def announce(index: Index, settings: ServiceSettings) -> None:
    """Log who can read what, and whose token finds nothing, with the cure."""
    if settings.open:
        log.info("reads", user="", collections=[each.name for each in index.collections.list()])
        return
    tokens = [each for each in index.admin.store.registry.tokens() if each.revoked_at is None]
    if not tokens:
        log.warning("reads", cure="nobody has a token: 'rifflux tokens create --user NAME' makes one")
    for user, role in dict.fromkeys((each.user, each.role) for each in tokens):
        seen = index.scoped(Scope(user, role == ADMIN))
        held = [each.name for each in seen.collections.list() if each.documents]
        if held:
            log.info("reads", user=user, collections=held)
        else:
            log.warning("reads", user=user, collections=[], cure=seen.admin.nothing)


@contextmanager
def following(index: Index, finder: Finder) -> Iterator[None]:
    """Keep the files of all collections up to date, in a thread, until the block ends."""
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(index, finder, stop), name="follow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _follow(index: Index, finder: Finder, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            for report in index.watch(finder=finder, stop=stop, everybody=True):
                for failure in report.failed:
                    log.warning("file", path=failure.path, cause=failure.reason)
        except RiffluxError as error:
            log.warning("following", cause=str(error), again_in_s=RETRY_S)
            stop.wait(RETRY_S)


def worker() -> FastAPI:
    """Return the application of one process, as the environment describes it."""
    from rifflux.surfaces.http.app import create_app

    log_as_json()
    sys.setswitchinterval(SWITCH_S)
    settings = ServiceSettings.loaded(os.environ[SETTINGS])
    environment = {name: value for name, value in os.environ.items() if name != SETTINGS}
    configured = load(environment, **dict(settings.options))
    index = open_configured(configured, create=True)
    return create_app(Service(settings, index))


def log_as_json() -> None:
    """Log one JSON object a line on standard error, our own messages and uvicorn's alike."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    render = structlog.processors.JSONRenderer()
    handler = logging.StreamHandler()
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=render, foreign_pre_chain=shared))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # Each request to a model would be a line, with the address of its server.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
