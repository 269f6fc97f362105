"""Run the service for one person on this machine, and open the page in a browser."""

from __future__ import annotations

import html
import logging
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from fastapi import FastAPI

from rifflux.service.accounts import ADMIN, USER
from rifflux.surfaces.http.app import create_app
from rifflux.surfaces.http.serve import SWITCH_S, build, follow
from rifflux.surfaces.http.service import Caller, Service, ServiceSettings, Visit
from rifflux.surfaces.shared.beside import beside
from rifflux.surfaces.shared.config import finder, load, open_configured
from rifflux.surfaces.shared.network import bound
from rifflux.surfaces.shared.serving import LocalServer
from rifflux.types.temporary import temporary_folder

HOST = "127.0.0.1"
#: There is one user, and search as you type sends many requests.
RATE = 60_000.0
BURST = 1_000


def browse(
    options: Mapping[str, Any], user: str, port: int, *, watch: bool, window: bool, opened: Callable[[str], object]
) -> None:
    """Serve until Ctrl-C; `opened` receives the address once the service answers. Its pass opens the page once."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    sys.setswitchinterval(SWITCH_S)
    configured = load(**options)
    with (
        open_configured(configured) as index,
        bound(HOST, port) as sockets,
        temporary_folder() as folder,
        beside(partial(follow, index, finder(configured)), "follow") if watch else nullcontext(),
    ):
        port = sockets[0].getsockname()[1]
        visit = Visit(Caller(user, USER if user else ADMIN))
        address = f"http://{HOST}:{port}/#pass={visit.unused_pass}"
        build(index)
        app = create_app(Service(ServiceSettings(HOST, port, rate=RATE, burst=BURST, options=options), index, visit))
        _Server(app, [partial(opened, address), *([partial(_open, address, folder)] if window else [])]).run([*sockets])


class _Server(LocalServer):
    """A server that calls functions once it has started."""

    def __init__(self, app: FastAPI, then: Sequence[Callable[[], object]]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="rifflux.surfaces.http.connections:Connection",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._then = then

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        # A text browser would block the server.
        for each in self._then if self.started else ():
            threading.Thread(target=each, daemon=True).start()


def _open(address: str, folder: Path) -> None:
    """Open the page through a file: all users of a machine can read the arguments of a process."""
    page = folder / "rifflux.html"
    page.touch(0o600)
    page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">')
    webbrowser.open(page.as_uri())
