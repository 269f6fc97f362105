"""Fuzz the HTTP service by its OpenAPI document: no server error, nothing that the document does not say.

    python -m bench fuzz [--examples N] [--only TEXT] [--role ROLE]

Starts two workers over an index that holds a thing of each kind, and has schemathesis send what the document allows,
and what it does not, with all its checks, as an administrator and as a user. Each operation is asked by a process and
with a token of its own, over things that are put back before: what one operation deletes is there for the next, and
what schemathesis remembers of large bodies is let go. `schemathesis.toml` lists with its reason what may be found.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import httpx2 as httpx

from bench.service.load import serving
from rifflux.service.accounts import ADMIN, USER, Accounts
from rifflux.service.registry import Registry
from rifflux.store import open_store

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
METHODS = ("get", "post", "put", "patch", "delete")
#: What is put back before each operation: a request, and the field of its answer that names what it made.
THINGS = (
    ("PUT", "/documents/caching", {"text": "# Caching\n\nCache entries live for ten minutes."}, ""),
    ("POST", "/collections", {"name": "wiki"}, ""),
    ("PUT", "/groups/staff", {"members": ["somebody"]}, ""),
    ("PUT", "/collections/wiki/readers/staff", None, ""),
    ("POST", "/conversations", {"id": "talk", "title": "Birds"}, ""),
    ("POST", "/conversations/talk/messages", {"id": "said", "text": "I saw a bittern"}, ""),
    ("POST", "/works", {"source": "brief", "records": [{"_id": "a", "title": "Cohomology", "text": "Of things."}]}, ""),
    ("POST", "/memories", {"text": "Ann drinks tea without milk", "category": "preference"}, "id"),
    ("POST", "/tokens", {"label": "spare"}, "id"),
)
SEARCH = "POST", "/search", {"query": "cache"}, "results"
NAMES = ("caching", "wiki", "library", "staff", "everyone", "somebody", "talk", "said", "brief:a")
#: A machine that does something else for a while is no fault of the service.
PATIENCE_S = 600
_GENERATED = re.compile(r"([\d,]+) generated")


def main() -> None:
    """Run schemathesis against new services, and end as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20, help="of each operation")
    parser.add_argument("--only", default="", help="operations with this in their names, such as 'PUT /groups'")
    parser.add_argument("--role", choices=(ADMIN, USER), help="of the token; left out: one after the other")
    arguments = parser.parse_args()
    roles = (arguments.role,) if arguments.role else (ADMIN, USER)
    failed = [_fuzzed(role, arguments.examples, arguments.only) for role in roles]
    sys.exit(1 if any(failed) else 0)


def _fuzzed(role: str, examples: int, only: str) -> list[str]:
    """Fuzz a new service with tokens of a role; return the operations that did not pass."""
    counts, failed = Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "index.db"
        with serving(db, "--workers", "2", "--rate", "1000000") as url:
            for operation in _operations(url):
                if only in operation:
                    generated, passed = _asked(db, url, role, operation, examples)
                    counts["generated"] += generated
                    counts["operations"] += 1
                    failed += [] if passed else [operation]
        (log,) = db.parent.glob("serve-*.log")
        answered = Counter(re.findall(r'"status": (\d{3})', log.read_text("utf-8")))
    statuses = ", ".join(f"{count:,} times {status}" for status, count in sorted(answered.items()))
    print(f"{role}: {counts['operations']} operations, {counts['generated']:,} cases generated; answered {statuses}")
    print(f"{role}: failed: {', '.join(failed) or 'none'}", flush=True)
    return failed


def _operations(url: str) -> list[str]:
    paths = httpx.get(f"{url}/openapi.json", timeout=PATIENCE_S).json()["paths"]
    return [f"{method.upper()} {path}" for path, known in paths.items() for method in METHODS if method in known]


def _asked(db: Path, url: str, role: str, operation: str, examples: int) -> tuple[int, bool]:
    """Fuzz one operation; return how many cases were made, and True if nothing was found."""
    token = _put_back(db, url, role)
    program = Path(sys.executable).with_name("schemathesis")
    command = [str(program), "--config-file", str(db.parent / CONFIGURATION.name), "--no-color", "run"]
    command += [f"{url}/openapi.json", "--include-name", operation, "--max-examples", str(examples)]
    command += ["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--request-timeout", str(PATIENCE_S)]
    command += ["-H", f"Authorization: Bearer {token}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=db.parent)
    found = _GENERATED.search(done.stdout)
    generated = int(found[1].replace(",", "")) if found else 0
    print(f"{role}: {operation}: {generated} cases, exit status {done.returncode}", flush=True)
    if done.returncode:
        print("\n".join(line[:400] for line in done.stdout.splitlines()), flush=True)
    return generated, not done.returncode


def _put_back(db: Path, url: str, role: str) -> str:
    """Put things of each kind into the index, and tell schemathesis what they are called; return a new token."""
    with closing(open_store(db)) as store:
        accounts = Accounts(Registry(store))
        for each in accounts.list():
            if each.revoked_at is None:
                accounts.revoke(each.id)
        token, administrator = accounts.create("somebody", role)[1], accounts.create("somebody", ADMIN)[1]
    names = [*NAMES]
    headers = {"Authorization": f"Bearer {administrator}"}
    for method, path, body, name in (*THINGS, SEARCH):
        # A connection each: one that idles while the machine does something else is closed by the service.
        answer = httpx.request(method, f"{url}{path}", json=body, headers=headers, timeout=PATIENCE_S).json()
        with suppress(KeyError):  # it may be there, and then nothing was made
            names += [answer[name]] if name == "id" else [hit["id"] for hit in answer.get(name, ())]
    (db.parent / "names.txt").write_text("\n".join(f'"{name}"' for name in names), "utf-8")
    (db.parent / CONFIGURATION.name).write_text(CONFIGURATION.read_text("utf-8"), "utf-8")
    return token


if __name__ == "__main__":
    main()
