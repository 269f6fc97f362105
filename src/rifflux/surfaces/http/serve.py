"""Run the service: one process, or several workers that share an index and a port."""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from multiprocessing import forkserver
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
import uvicorn._subprocess
from uvicorn.config import STARTUP_FAILURE

from rifflux import Cure, Finder, Index, RiffluxError, Scope
from rifflux.service.accounts import ADMIN, Accounts
from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.http.counters import SHARED
from rifflux.surfaces.http.service import Service, ServiceSettings
from rifflux.surfaces.shared.beside import beside
from rifflux.surfaces.shared.config import finder, load, open_configured
from rifflux.surfaces.shared.network import bound, is_loopback
from rifflux.surfaces.shared.serving import LocalServer, ServerProcesses
from rifflux.types.temporary import temporary_folder

if TYPE_CHECKING:
    from fastapi import FastAPI

log = structlog.get_logger("rifflux.http")

#: The environment variable with the settings of the service, for new processes.
SETTINGS = "_RIFFLUX_SERVICE"
#: Seconds after which a thread yields. A search queries the database dozens of times, and waits this long after each if
#: another thread computes: with Python's default of .005, two searches at once take several times as long.
SWITCH_S = 0.0001
#: Seconds that requests under way may take when the service is stopped.
GRACE_S = 20
#: Seconds after which following files is retried.
RETRY_S = 30.0
#: The niceness of the process that builds derived files.
NICE = 10


def serve(settings: ServiceSettings) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; requests under way are answered first."""
    configured = load(**dict(settings.options))
    several = settings.workers > 1
    with (
        bound(settings.host, settings.port) as sockets,
        temporary_folder() as shared,
    ):
        settings = replace(settings, shared=str(shared))
        os.environ[SETTINGS] = settings.dumped()
        if several:
            # A separate folder: every database in it is read as one of counts.
            os.environ[SHARED] = tempfile.mkdtemp(dir=shared)
            # Workers run in parallel; numpy threads in each would only compete.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            preload_workers()
        with (
            open_configured(configured, create=True) as index,
            beside(partial(follow, index, finder(configured)), "follow") if settings.watch else nullcontext(),
            beside(partial(keep_built, index), "build") if several else nullcontext(),
        ):
            log_as_json()
            announce(index, settings)
            build(index)
            _run(settings, sockets)


def preload_workers() -> None:
    """Start the process that workers are forked from; it imports the application in the background.

    Workers then start at once, also when one is replaced. The environment must hold their settings before. On macOS,
    whose libraries do not survive a fork, and on Windows, which has none, each worker imports everything itself.
    """
    if sys.platform in ("darwin", "win32"):
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["rifflux.surfaces.http.preloaded"])
    uvicorn._subprocess.spawn = context  # type: ignore[assignment]  # uvicorn has no setting for it
    # Without this, a module in the working directory could shadow ours.
    given = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONSAFEPATH"]
        if given is not None:
            os.environ["PYTHONSAFEPATH"] = given


def _run(settings: ServiceSettings, sockets: Sequence[socket.socket]) -> None:
    """Serve requests until the process receives a signal to stop."""
    configuration = uvicorn.Config(
        "rifflux.surfaces.http.serve:worker",
        factory=True,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_S,
        http="rifflux.surfaces.http.connections:Connection",
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=[*settings.proxies],
        root_path=settings.root_path,
        ssl_certfile=settings.certificate or None,
        ssl_keyfile=settings.key or None,
    )
    if configuration.is_ssl:
        scheme = "https"
    else:
        scheme = "http"
    log.info("starting", addresses=[f"{scheme}://{_address(each)}" for each in sockets], workers=settings.workers)
    if configuration.workers > 1:
        ServerProcesses(configuration, [*sockets]).run()
        return
    configuration.load_app()
    server = LocalServer(configuration)
    server.run([*sockets])
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if ":" in host:
        return f"[{host}]:{port}"
    return f"{host}:{port}"


def announce(index: Index, settings: ServiceSettings) -> None:
    """Log warnings about access and safety, each with its cure."""
    if not (settings.certificate or settings.proxies or is_loopback(settings.host)):
        log.warning(
            "unencrypted",
            host=settings.host,
            cure="tokens and texts can be read on the way: give --tls-cert and --tls-key, "
            "or listen on 127.0.0.1 behind a proxy that has them",
        )
    if index.registry.read_only:
        log.warning(
            "read_only",
            cure="the index cannot be written: feedback, usage, questions and the use of tokens are not kept; "
            "--state FILE keeps them elsewhere",
        )
    if settings.open:
        log.info("reads", user="", collections=[each.name for each in index.collections.list()])
        return
    tokens = [each for each in Accounts(index.registry).list() if each.revoked_at is None]
    if not tokens:
        log.warning("reads", cure="nobody has a token: 'rifflux tokens create --user NAME' makes one")
    for user, role in dict.fromkeys((each.user, each.role) for each in tokens):
        seen = index.scoped(Scope(user, role == ADMIN))
        names = [each.name for each in seen.collections.list() if each.documents]
        if names:
            log.info("reads", user=user, collections=names)
        else:
            cure = Cure.GIVE.advice(CURES, {"user": user})
            log.warning(
                "reads", user=user, collections=[], cure=f"nothing belongs to {user} or is shared with {user}: {cure}"
            )


def build(index: Index) -> None:
    """Build missing derived files: without them requests would pile up behind slow ones."""
    try:
        index.admin.accelerate()
    except RiffluxError as error:
        log.warning("building", cause=str(error))


def keep_built(index: Index, stop: threading.Event) -> None:
    """Build derived files while worker processes change the index, until it is stopped.

    A worker that did so itself would answer late.
    """
    if sys.platform == "linux":
        # This applies to the thread and to those that it starts.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    while not stop.is_set():
        try:
            for trouble in index.admin.keep_up(stop):
                log.warning("building", cause=trouble)
        except RiffluxError as error:
            log.warning("building", cause=str(error), again_in_s=RETRY_S)
            stop.wait(RETRY_S)


def follow(index: Index, finder: Finder, stop: threading.Event) -> None:
    """Keep the files of all collections up to date until it is stopped."""
    while not stop.is_set():
        try:
            for report in index.watch(finder=finder, stop=stop, everybody=True):
                for failure in report.failed:
                    log.warning("file", path=failure.path, cause=failure.reason)
        except RiffluxError as error:
            log.warning("following", cause=str(error), again_in_s=RETRY_S)
            stop.wait(RETRY_S)


def worker() -> FastAPI:
    """Return the application of one process, configured from the environment."""
    from rifflux.surfaces.http.app import create_app

    log_as_json()
    sys.setswitchinterval(SWITCH_S)
    settings = ServiceSettings.loaded(os.environ[SETTINGS])
    environment = {name: value for name, value in os.environ.items() if name != SETTINGS}
    configured = load(environment, **dict(settings.options))
    index = open_configured(configured, create=True)
    if settings.workers > 1:
        index.admin.leave_building()
    settings = replace(
        settings,
        user_tokens=configured.user_tokens,
        document_chunks=configured.document_chunks,
        request_chunks=configured.request_chunks,
    )
    return create_app(Service(settings, index))


def log_as_json() -> None:
    """Log one JSON object per line on standard error, including uvicorn's messages."""
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
    # Each request to a model would be logged with the address of its server.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
