"""Export the example notes with all packages, start the folder where nobody can write it, ask, kill, start and ask.

python scripts/exported.py      with the extra serve; packages are installed from the folder, without a network
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
PORT = 8651
#: Seconds that packages may take to install, and a service to start.
PATIENCE_S = 600.0


def main() -> None:
    """Make the folder and use it twice."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        rifflux("index", ROOT / "examples" / "notes", "--db", work / "index.db")
        rifflux("export", work / "site", "--offline", "--port", PORT, "--db", work / "index.db")
        tokens = work / "site" / "tokens.json"
        token = json.loads(tokens.read_text())["tokens"][0]["token"]
        tokens.unlink()
        for each in (work / "site").rglob("*"):
            each.chmod(each.stat().st_mode & 0o555)
        for _ in range(2):
            started = time.monotonic()
            ask(work, token)
            print(f"started, answered and killed in {time.monotonic() - started:.0f} s")


def rifflux(*arguments: object) -> None:
    """Run a command of this environment."""
    subprocess.run([sys.executable, "-m", "rifflux", *map(str, arguments)], check=True)


def ask(work: Path, token: str) -> None:
    """Start the service, search as the reader, and kill it."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(work), "PYTHON": sys.executable}
    command = [str(work / "site" / "run.sh"), "--state", str(work / "state"), "--workers", "2"]
    service = subprocess.Popen(command, cwd="/", env=environment, start_new_session=True)
    try:
        wait(service)
        asked = urllib.request.Request(
            f"http://127.0.0.1:{PORT}/search",
            json.dumps({"query": "letting dough rise slowly in the cold", "top_k": 1}).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        (hit,) = json.load(urllib.request.urlopen(asked))["results"]
        assert hit["document"] == "kitchen/bread.md", hit
    finally:
        os.killpg(service.pid, signal.SIGKILL)
        service.wait()


def wait(service: subprocess.Popen[bytes]) -> None:
    """Return when the service is ready."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        assert service.poll() is None, "it ended: see above"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/ready")
        except OSError:
            time.sleep(0.25)
        else:
            return
    raise TimeoutError("it was not ready in time")


if __name__ == "__main__":
    main()
