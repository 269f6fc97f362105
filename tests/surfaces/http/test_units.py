"""The units of systemd run as they stand: as another user, who may write one folder, killed and started again."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rifflux
from tests.support.commands import PATIENCE
from tests.support.elsewhere import as_user, packages, python_of
from tests.support.ports import free_port
from tests.support.server import Running, ready

#: They start processes.
pytestmark = pytest.mark.slow

UNITS = Path(__file__).parents[3] / "deploy" / "systemd"
PROGRAM, STATE = "/opt/rifflux/bin/rifflux", "/var/lib/rifflux"


def lines(unit: str, key: str) -> list[str]:
    """The values of a key of a unit."""
    found = [line.partition("=") for line in (UNITS / unit).read_text().splitlines()]
    return [value.replace("$$", "$").replace("%%", "%") for name, _, value in found if name == key]


@dataclass(frozen=True)
class Machine:
    """A folder for the state, who runs the units, and by which Python."""

    state: Path
    user: str | None
    python: str

    def start(
        self, unit: str, number: int = 0, *more: object, instead: str = "", **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start a command of a unit, from a folder that its user cannot write."""
        command = instead or lines(unit, "ExecStart")[number].replace(STATE, str(self.state))
        program = f"{self.python} -m rifflux"
        settings = dict(each.split("=", 1) for each in lines(unit, "Environment"))
        environment = {name: value.replace(STATE, str(self.state)) for name, value in settings.items()}
        environment |= {"PATH": os.defpath, "HOME": "/nonexistent", "RIFFLUX_MODEL": "hash"}
        environment["PYTHONPATH"] = packages()
        return subprocess.Popen(
            [*shlex.split(command.replace(PROGRAM, program)), *map(str, more)],
            cwd="/",
            env=environment,
            umask=int(lines(unit, "UMask")[0], 8),
            start_new_session=True,
            **as_user(self.user),
            **options,
        )

    def run(self, unit: str, number: int) -> None:
        """Run a command of a unit to its end."""
        process = self.start(unit, number, stderr=subprocess.PIPE)
        _, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told

    def token(self) -> str:
        """Make a token, as whom the service runs as."""
        made = self.start("rifflux.service", 0, instead=f"{PROGRAM} tokens create --user ann", stdout=subprocess.PIPE)
        told, _ = made.communicate(timeout=PATIENCE)
        return told.decode().strip()

    def serve(self) -> Running:
        """Start the service."""
        port = free_port()
        log = Path(f"{self.state}.log")
        with log.open("ab") as sink:
            process = self.start("rifflux.service", 0, "--port", port, "--allow-host", "127.0.0.1", stderr=sink)
        service = Running(f"http://127.0.0.1:{port}", process, log)
        ready(service)
        return service


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A folder that belongs to the service alone; it runs as `nobody` where that can be tried."""
    user = "nobody" if os.geteuid() == 0 else None
    python = user and python_of(user)
    with tempfile.TemporaryDirectory() as folder:
        if user and python:
            shutil.chown(folder, user)
        yield Machine(Path(folder), user if python else None, python or sys.executable)
        Path(f"{folder}.log").unlink(missing_ok=True)


def stop(service: Running, number: int) -> None:
    """Send a signal to all processes of a service, and wait for its end."""
    os.killpg(service.process.pid, number)
    service.process.wait(PATIENCE)


def test_what_was_answered_survives_being_killed(machine: Machine) -> None:
    token = machine.token()
    service = machine.serve()
    try:
        with service.client(token) as client:
            assert client.post("/conversations", json={"id": "talk"}).status_code == 201
            assert client.post("/conversations/talk/messages", json={"text": "Herons fish."}).status_code == 201
        os.kill(service.workers[0], signal.SIGKILL)
        stop(service, signal.SIGKILL)
        service = machine.serve()
        with service.client(token) as client:
            assert "Herons fish." in client.get("/conversations/talk/messages").text
    finally:
        stop(service, signal.SIGTERM)
    assert service.process.returncode == 128 + signal.SIGTERM
    assert not [each for each in machine.state.iterdir() if each.stat().st_mode & 0o077]


def test_the_copy_of_every_night_can_be_searched(machine: Machine) -> None:
    index = machine.state / "index.db"
    with rifflux.open(index, model="hash") as opened:
        opened.add(rifflux.Document("heron", "Herons fish."))
    if machine.user:
        for each in machine.state.iterdir():
            shutil.chown(each, machine.user)
    (machine.state / "backups").mkdir()
    shutil.chown(machine.state / "backups", machine.user or os.geteuid())
    for _ in range(2):
        machine.run("rifflux-backup.service", 0)
        machine.run("rifflux-backup.service", 1)
    (copy,) = (machine.state / "backups").glob("*.db")
    with rifflux.open(copy) as opened:
        assert [hit.key for hit in opened.search("herons", mode="lexical")] == ["heron"]
