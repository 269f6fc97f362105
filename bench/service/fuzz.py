"""Fuzz the HTTP service by its OpenAPI document: no server error, nothing that the document does not say.

    python -m bench fuzz [--examples N]

Starts two workers over a small index, and has schemathesis send what the document allows, and what it does not, with
all its checks, as an administrator and as a user. `schemathesis.toml` lists with its reason what may be found.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from bench.service.load import serving
from rifflux.service.accounts import ADMIN, USER, Accounts
from rifflux.store import open_store

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")


def main() -> None:
    """Run schemathesis against new services, and end as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20, help="of each operation")
    arguments = parser.parse_args()
    sys.exit(max(_fuzzed(role, arguments.examples) for role in (ADMIN, USER)))


def _fuzzed(role: str, examples: int) -> int:
    """Fuzz a new service with a token of a role; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "index.db"
        with closing(open_store(db)) as store:
            token = Accounts(store.registry).create("somebody", role)[1]
        with serving(db, "--workers", "2", "--rate", "1000000") as url:
            program = Path(sys.executable).with_name("schemathesis")
            command = [str(program), "--config-file", str(CONFIGURATION), "--no-color", "run", f"{url}/openapi.json"]
            command += ["--max-examples", str(examples), "--checks", "all", "--continue-on-failure"]
            command += ["--phases", "examples,coverage,fuzzing", "-H", f"Authorization: Bearer {token}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
    print("\n".join(line[:400] for line in done.stdout.splitlines()))
    print(f"schemathesis, token of {role}: exit status {done.returncode}", flush=True)
    return done.returncode
