"""An exported folder serves elsewhere: another user's, where nobody can write, in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux.surfaces.export.export import export
from rifflux.surfaces.shared.config import load
from tests.support.commands import PATIENCE
from tests.support.elsewhere import as_user, packages, python_of
from tests.support.places import read_only_view
from tests.support.ports import free_port
from tests.support.server import Running, ready

#: It starts processes.
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Place:
    """An exported folder, who starts it by which Python, and where that writes."""

    folder: Path
    state: Path
    user: str | None
    python: str
    packages: Path

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        """Run `run.sh`; packages other than ours are found without a network, and ours is in its wheel alone."""
        environment = {"PATH": os.defpath, "HOME": "/nonexistent", "PYTHON": self.python}
        environment |= {"PIP_NO_INDEX": "1", "PYTHONPATH": str(self.packages)}
        command = [str(self.folder / "run.sh"), "--state", str(self.state), *map(str, arguments)]
        return subprocess.Popen(
            command, cwd="/", env=environment, start_new_session=True, **as_user(self.user), **options
        )

    def run(self, *arguments: object) -> str:
        """Run a command to its end."""
        process = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        told, problems = process.communicate(timeout=240)
        assert process.returncode == 0, problems
        return told.decode()

    def serve(self) -> Running:
        """Start the service."""
        port, log = free_port(), self.state.parent / "serve.log"
        with log.open("ab") as sink:
            process = self.start("--port", port, "--workers", 2, stderr=sink)
        service = Running(f"http://127.0.0.1:{port}", process, log)
        ready(service)
        return service


@pytest.fixture
def place() -> Iterator[Place]:
    """What an index exports, in a folder that its user may read; `tokens.json` may be read by its owner alone."""
    user = "nobody" if os.geteuid() == 0 else None
    python = user and python_of(user)
    user = user if python else None
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        with rifflux.open(top / "index.db", model="hash") as index:
            index.add(rifflux.Document("heron", "Herons stand in shallow water.", title="Herons"))
            index.add(rifflux.Document("gull", "Gulls eat chips at the harbour.", title="Gulls"))
            index.scoped(rifflux.Scope("ann")).add(rifflux.Document("kestrel", "Kestrels hover."))
            export(index, load({}), top / "own")
        for each in ("state", "packages"):
            (top / each).mkdir()
        for found in filter(os.path.isdir, packages().split(os.pathsep)[1:]):
            for package in Path(found).iterdir():
                ours = package.name.startswith((rifflux.__name__, f"_{rifflux.__name__}", "__editable__"))
                link = top / "packages" / package.name
                if "site-packages" in found and not ours and package.suffix != ".pth" and not link.is_symlink():
                    link.symlink_to(package)
        if user:
            shutil.chown(top / "state", user)
            for file in (top / "own", *(top / "own").rglob("*")):
                shutil.chown(file, group=as_user(user)["group"])
                file.chmod(file.stat().st_mode | (0o050 if file.is_dir() or file.name == "run.sh" else 0o040))
            (top / "own" / "tokens.json").chmod(0o600)
        with read_only_view(top / "own", top / "view") as view:
            yield Place(view, top / "state", user, python or sys.executable, top / "packages")


def stop(service: Running, number: int) -> None:
    os.killpg(service.process.pid, number)
    service.process.wait(PATIENCE)


def test_it_is_started_asked_killed_and_started_again(place: Place) -> None:
    made = json.loads(place.run("tokens", "create", "--user", "carl", "--json"))["token"]
    assert len([*place.state.glob("environment-*/lib/*/site-packages/rifflux/__init__.py")]) == 1
    tokens = {each["user"]: each["token"] for each in json.loads((place.folder / "tokens.json").read_text())["tokens"]}
    told = {"kind": "click", "query": "herons", "document": "heron"}
    service = place.serve()
    try:
        for token in (tokens["reader"], tokens["admin"], made):
            with service.client(token) as client:
                found = client.post("/search", json={"query": "herons kestrels"}).json()
                assert [hit["document"] for hit in found["results"]] == ["heron", "gull"]
                assert client.post("/feedback", json=told).status_code == 204
                answer = client.post("/chat", json={"question": "Where do herons stand?", "stream": False}).json()
                assert "shallow water" in answer["text"]
        with service.client("rfx_0_0") as nobody:
            assert nobody.post("/search", json={"query": "herons"}).status_code == 401
        stop(service, signal.SIGKILL)
        service = place.serve()
        with service.client(tokens["admin"]) as admin:
            # Feedback was answered when it was on the disk; of questions a crash may lose the last second.
            (day,) = admin.get("/online").json()["rows"]
            assert day["questions"] or day["unmatched"]
            assert {each["user"] for each in admin.get("/tokens").json()["tokens"]} == {"admin", "carl", "reader"}
    finally:
        stop(service, signal.SIGTERM)
    assert service.process.returncode == 128 + signal.SIGTERM
    lines = [line.split("  ") for line in (place.folder / "SHA256SUMS").read_text().splitlines()]
    sums = {name: digest for digest, name in lines}
    files = {each.relative_to(place.folder).as_posix() for each in place.folder.rglob("*") if each.is_file()}
    assert files == {*sums, "SHA256SUMS", "tokens.json"}
    assert {name: sha256((place.folder / name).read_bytes()).hexdigest() for name in sums} == sums
