"""Fuzz the HTTP service by its OpenAPI document: no server error may be found.

    python -m bench fuzz

Starts a service of its own with a small index, and has schemathesis send what the document allows, and what it does
not, as an administrator.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from bench.service.load import serving
from rifflux.service.accounts import ADMIN, Accounts
from rifflux.store import open_store

CHECKS = "not_a_server_error,status_code_conformance,response_schema_conformance"


def main() -> None:
    """Run schemathesis against a new service, and end as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20, help="of each operation")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "index.db"
        with closing(open_store(db)) as store:
            token = Accounts(store.registry).create("administrator", ADMIN)[1]
        with serving(db, "--rate", "1000000") as url:
            program = Path(sys.executable).with_name("schemathesis")
            command = [str(program), "run", f"{url}/openapi.json", "--max-examples", str(arguments.examples)]
            command += ["--checks", CHECKS, "-H", f"Authorization: Bearer {token}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout[-1500:])
    print(f"schemathesis: exit status {done.returncode}")
    sys.exit(done.returncode)
