"""A reader's shell: one bash for a page, in an empty home with the examples of the repository."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import rifflux
from tests.docs.pages import ROOT, Command
from tests.support.commands import PATIENCE, client
from tests.support.ports import free_port

__all__ = ["Shell"]

#: The ports that the pages name; each becomes a free one.
PORTS = ("8642", "8765")
#: A line of progress, in whose place a terminal shows a bar.
PROGRESS = re.compile(r".+: (started(, [\d,]+ in all)?|[\d,]+ done, in [\d.]+ s|[\d,]+( of [\d,]+)?, [\d,]+/s.*)\n")


class Shell:
    """Runs commands one after the other, as they would be typed; variables last, and servers until the end."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.ports = {port: free_port() for port in PORTS}
        self._furnish()
        self._log = (home / ".typed").open("w+", encoding="utf-8")
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=home,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            encoding="utf-8",
            start_new_session=True,
        )

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self._bash.pid, signal.SIGTERM)
        self._bash.communicate()
        self._log.close()

    def environment(self) -> dict[str, str]:
        """Return this process's variables without settings of Rifflux, and with the home and the command."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RIFFLUX_")}
        source = str(Path(rifflux.__file__).parents[1])
        path = os.pathsep.join([str(self.home / ".bin"), kept.get("PATH", "")])
        return kept | {"HOME": str(self.home), "PATH": path, "PYTHONPATH": source, "COLUMNS": "100", "NO_COLOR": "1"}

    def run(self, command: Command) -> tuple[str, int]:
        """Run a command; return what it printed but progress, and its status. A server is waited for."""
        words = self.here(command.words)
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.write(f"{{ {words}\n}} </dev/null 2>&1\nprintf '\\n@@ %s\\n' $?\n")
        self._bash.stdin.flush()
        lines: list[str] = []
        for line in self._bash.stdout:
            if line.startswith("@@ "):
                break
            if not PROGRESS.fullmatch(line):
                lines.append(line)
        if words.split("#")[0].rstrip().endswith("&"):
            self._wait_for(words)
        return "".join(lines), int(line.removeprefix("@@ "))

    def here(self, text: str) -> str:
        """Put the free ports in the place of those that are named."""
        for port, free in self.ports.items():
            text = text.replace(port, str(free))
        return text

    def _furnish(self) -> None:
        """Put the command and the examples into the home."""
        (self.home / ".bin").mkdir()
        for name, words in (("rifflux", client()), ("python", [sys.executable])):
            script = self.home / ".bin" / name
            script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            script.chmod(0o755)
        shutil.copytree(ROOT / "examples", self.home / "examples")
        for folder in (ROOT / "examples").iterdir():
            if folder.is_dir():
                shutil.copytree(folder, self.home / folder.name)

    def _wait_for(self, words: str) -> None:
        """Wait until the server that was started listens, on the port it names or the usual one."""
        port = next((free for free in self.ports.values() if str(free) in words), self.ports[PORTS[0]])
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise TimeoutError(f"nothing listens on port {port} after: {words}")
