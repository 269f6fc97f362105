"""A real service: a process of its own on a real port."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.support.commands import PATIENCE, ForkedCommand, start_command
from tests.support.ports import free_port

__all__ = ["Running", "ready", "serving", "tokens_of"]


@dataclass(frozen=True)
class Running:
    """A service that runs."""

    url: str
    process: ForkedCommand | subprocess.Popen[bytes]
    log: Path

    def client(self, token: str = "", **options: Any) -> httpx.Client:
        """What calls it with a token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Certificates of authorities take longer to load than most requests take.
        options.setdefault("verify", False)
        # The service closes connections that were idle for five seconds, maybe as a request comes.
        options.setdefault("limits", httpx.Limits(keepalive_expiry=2.0))
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE, **options)

    @property
    def workers(self) -> list[int]:
        """The processes that answer, where there are several."""
        (starter,) = (pid for pid in _children(self.process.pid) if "forkserver" in _name(pid))
        return _children(starter)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it logged so far, but a line that is being written."""
        whole, _, _ = self.log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    def awaited(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first line of the log that is wanted, once it is there."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for line in self.lines:
                if wanted(line):
                    return line
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _name(pid: int) -> str:
    """Return what a process was started as, and what it calls itself."""
    return "".join(Path(f"/proc/{pid}/{file}").read_text() for file in ("cmdline", "comm"))


@contextmanager
def serving(run: Any, *arguments: object) -> Iterator[Running]:
    """`rifflux serve` on a free port until the block ends."""
    port = free_port()
    log = run.folder / f"serve-{port}.log"
    with log.open("wb") as sink:
        words = ["serve", "--port", str(port), *(str(each) for each in arguments)]
        if "--timeout" not in words:
            words += ["--timeout", str(PATIENCE)]
        process = start_command(words, run.folder, run.environment, sink, sink)
    service = Running(f"http://127.0.0.1:{port}", process, log)
    try:
        ready(service)
        yield service
    finally:
        process.terminate()
        process.wait(PATIENCE)


def tokens_of(run: Any, **roles: str) -> dict[str, str]:
    """New tokens of users by their names, each of a role, for a service on `index.db`."""
    return {
        user: run.json("tokens", "create", "--user", user, "--role", role, "--db", "index.db")["token"]
        for user, role in roles.items()
    }


def ready(service: Running) -> None:
    """Wait until a service answers."""
    until = time.monotonic() + PATIENCE
    with service.client() as client:
        while time.monotonic() < until and service.process.poll() is None:
            try:
                if client.get("/health").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.02)
    raise AssertionError(service.log.read_text())
