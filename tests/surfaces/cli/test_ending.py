"""Whatever ends a command, it says so in one sentence, keeps what was done, and leaves a sound index."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import PATIENCE
from tests.support.stream_server import HANG, stream_server
from tests.support.stuck import StuckAt

#: Runs the command line, and reports when it begins, which is when a test may end it.
STARTED = """
import importlib, signal, sys
# A shell may have started the tests deaf to some of them.
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
main = importlib.import_module("rifflux.surfaces.cli.main")
run = main._run
def reported():
    print("started", flush=True)
    run()
main._run = reported
sys.argv = ["rifflux", *sys.argv[1:]]
main.main()
"""

#: Runs a command as the script of Rifflux does, and gets a signal when it begins to load a module.
LOADING = """
import os, signal, sys
from importlib.abc import MetaPathFinder
module, number, *words = sys.argv[1:]
for each in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_DFL)
class Ending(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == module:
            os.kill(os.getpid(), int(number))
sys.meta_path.insert(0, Ending())
sys.argv = ["rifflux", *words]
from rifflux.surfaces.cli import main
main()
"""


def begun(run: Any, *arguments: object, stuck: StuckAt | None = None) -> subprocess.Popen[str]:
    """Return a command that was just started in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", STARTED, *map(str, arguments)],
        cwd=run.folder,
        env=stuck.environment(run.environment) if stuck else run.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=run.hears_ctrl_c,
    )
    assert process.stdout
    assert process.stdout.readline() == "started\n"
    return process


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Some notes."""
    many = tmp_path / "many"
    many.mkdir()
    for number in range(300):
        (many / f"{number}.md").write_text(f"# Note {number}\n\nA marmot of the number {number}.\n")
    return many


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_indexing_with_a_sentence(run: Any, many: Path, number: signal.Signals) -> None:
    stuck = StuckAt("200.md", run.folder / "hook")
    process = begun(run, "index", many, stuck=stuck)
    stuck.wait(process)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number, said
    assert said.rstrip().endswith("; what was done so far is kept")
    assert "Traceback" not in said
    assert run("index", many).returncode == 0
    assert run("doctor").returncode == 0
    assert run.json("status")["documents"] == 300


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_command_that_only_starts_ends_without_a_traceback(run: Any, delay: float, number: signal.Signals) -> None:
    process = begun(run, "status")
    time.sleep(delay)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
    # It may have ended by itself before: there is no index.
    assert process.returncode in (2, 128 + number)


LATE = """
class Named:
    def __set_name__(self, owner, name):
        import os, signal
        os.kill(os.getpid(), signal.{number})
class Owner:
    named = Named()
"""


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_while_a_class_is_made_ends_without_a_traceback(
    run: Any, tmp_path: Path, number: str, status: int
) -> None:
    source = LATE.format(number=number)
    hook = "import rifflux.surfaces.cli.failed_calls as module\n"
    hook += f"module.deferred_failures = lambda _: exec({source!r}, {{}})\n"
    process = subprocess.run(
        [sys.executable, "-c", hook + STARTED, "status"],
        cwd=tmp_path,
        env=run.environment,
        text=True,
        capture_output=True,
        preexec_fn=run.hears_ctrl_c,
        check=False,
    )
    assert "Traceback" not in process.stderr
    assert process.returncode == status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("command", "module"), [("status", "numpy"), ("status", "typer"), ("serve", "fastapi"), ("mcp", "anyio")]
)
def test_a_command_that_still_loads_its_modules_ends_with_a_sentence(
    run: Any, command: str, module: str, number: signal.Signals
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADING, module, str(int(number)), command],
        cwd=run.folder,
        env=run.environment,
        text=True,
        capture_output=True,
        preexec_fn=run.hears_ctrl_c,
        timeout=PATIENCE,
    )
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("; what was done so far is kept\n")
    assert done.returncode == 128 + number


def test_waiting_for_a_model_can_be_ended_and_sources_are_quoted(run: Any) -> None:
    (run.folder / "cache.md").write_text("# Caching\n\nCache entries live for ten minutes.\n")
    assert run("index", "cache.md").returncode == 0
    with stream_server() as server:
        server.says = lambda body: [HANG]
        run.settings.update(RIFFLUX_CHAT_URL=server.url, RIFFLUX_CHAT_MODEL="gpt")
        process = begun(run, "ask", "how long do cache entries live")
        assert process.stderr
        while "waiting for gpt" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        quoted, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "Cache entries live for ten minutes. [1]" in quoted
