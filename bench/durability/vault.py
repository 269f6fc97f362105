"""Index folders of real notes and documents on every surface, and account for each of their files.

    python -m bench vault FOLDER... [--uploads 300] [--keep FOLDER]

The folders are indexed by the command line, by Python and by an agent's tool `reindex`, each into an index of its own,
twice. Each file on the disk must be indexed, failed with a reason, left out with a reason, or left out by a rule that
its name shows; the counts of each report and of `status`, over HTTP too, must say the same, and a second run must find
nothing new. Some files are sent over HTTP: each is stored and listed, or refused with a reason. Exit status 1 if a file
was otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import apsw
import httpx2 as httpx
from anyio.from_thread import start_blocking_portal
from mcp import Client

import rifflux
from bench.service.load import serving
from rifflux.ingest.walk.find import GENERATED, RULES
from rifflux.surfaces.mcp.server import server
from rifflux.surfaces.mcp.workspace import Workspace

#: What a report says of its run, by the names that all surfaces have.
COUNTS = ("found_files", "indexed_files", "unchanged_files", "failed_kinds", "skipped_kinds")
PATIENCE_S = 3600.0
#: Its vectors take no time.
MODEL = "hash:32"


class Unaccounted(Exception):
    """A file that no surface says anything of, or counts that contradict each other."""


def main() -> int:
    """Index the folders on all surfaces; 1 if a file was lost sight of."""
    arguments = _arguments()
    top = arguments.keep or Path(tempfile.mkdtemp(prefix="rifflux-vault-"))
    top.mkdir(parents=True, exist_ok=True)
    roots = [folder.resolve() for folder in arguments.folders]
    on_disk = {path for root in roots for path in files_below(root)}
    print(f"{len(on_disk):,} files in {len(roots)} folders")
    faults = 0
    reports: dict[str, Mapping[str, Any]] = {}
    for name, index in {"command line": by_command, "Python": by_python, "MCP": by_agent}.items():
        db = top / f"{name.replace(' ', '-')}.db"
        first = index(db, roots)
        second = index(db, roots)
        try:
            verify(first, second, db, on_disk)
            reports[name] = {each: first[each] for each in COUNTS}
        except Unaccounted as error:
            faults += 1
            print(f"{name}: {error}")
    distinct = {json.dumps(report, sort_keys=True) for report in reports.values()}
    if len(distinct) > 1:
        faults += 1
        print("the surfaces differ:", reports)
    for report in [*reports.values()][:1]:
        print(json.dumps(report, sort_keys=True))
    faults += sent_over_http(top / "Python.db", sorted(on_disk), arguments.uploads)
    print("every file is accounted for" if not faults else f"{faults} faults")
    return min(faults, 1)


def files_below(root: Path) -> Iterator[str]:
    """Yield the files of a folder; a link to a folder is one of them."""
    for folder, names, files in os.walk(root):
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118
        for name in (*files, *links):
            yield os.path.join(folder, name)  # noqa: PTH118


def by_command(db: Path, roots: Sequence[Path]) -> Mapping[str, Any]:
    """Index with `rifflux index`; return its report and what `rifflux status` counts."""
    done = _rifflux("index", *roots, "--no-embed", "--db", db)
    status = _rifflux("status", "--db", db)
    listed = [each["path"] for each in (*done["failed"], *done["skipped"])]
    return {**done, "status": status, "listed": listed}


def _rifflux(*words: str | Path) -> Any:
    command = [sys.executable, "-m", "rifflux", *map(str, words), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def by_python(db: Path, roots: Sequence[Path]) -> Mapping[str, Any]:
    """Index with `Index.add`."""
    with rifflux.open(db) as index:
        report = index.add(*roots, embed=False)
        listed = [*(each.path for each in report.failed), *(each.path for each in report.skipped)]
        return {**asdict(report), "status": asdict(index.status()), "listed": listed}


def by_agent(db: Path, roots: Sequence[Path]) -> Mapping[str, Any]:
    """Index with the tool `reindex`, which lists only the first of what it leaves out, and makes vectors too."""
    with (
        Workspace(db, roots=list(roots), model=MODEL) as workspace,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server(workspace), read_timeout_seconds=PATIENCE_S)) as client,
    ):
        done = portal.call(client.call_tool, "reindex", {"paths": list(map(str, roots))}).structured_content
        status = portal.call(client.call_tool, "index_status", {}).structured_content
    assert done
    assert status
    notes = done["notes"]
    kinds = {"failed_kinds": notes.get("failed_kinds", {}), "skipped_kinds": notes.get("left_out_kinds", {})}
    return {**notes, **done, **kinds, "status": status, "listed": None}


def verify(first: Mapping[str, Any], second: Mapping[str, Any], db: Path, on_disk: set[str]) -> None:
    """Raise `Unaccounted` unless two runs account for every file, and `status` for the same."""
    for run in (first, second):
        parts = run["indexed_files"] + run["unchanged_files"]
        parts += sum(run["failed_kinds"].values()) + sum(run["skipped_kinds"].values())
        if run["found_files"] != parts:
            raise Unaccounted(f"{run['found_files']:,} were found, and {parts:,} are accounted for")
        for name, counted in {"failed_kinds": "failed_kinds", "skipped_kinds": "left_out"}.items():
            if run["status"][counted] != run[name]:
                raise Unaccounted(f"status counts {run['status'][counted]} as {counted}, the report {run[name]}")
    if second["indexed_files"] or second["unchanged_files"] != first["indexed_files"]:
        raise Unaccounted(f"a second run indexed {second['indexed_files']:,} of {first['indexed_files']:,} again")
    if first["listed"] is None:
        return
    with closing(apsw.Connection(str(db), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        known = {path for (path,) in connection.execute("select root || '/' || path from file")}
    silent = on_disk - known - set(first["listed"])
    by_rule = {_ruled_place(path) for path in silent if not _is_met_elsewhere(path, known)}
    counted = sum(count for kind, count in first["skipped_kinds"].items() if kind in RULES)
    if len(by_rule) != counted:
        raise Unaccounted(f"rules leave {counted:,} files out, and {len(by_rule):,} are not listed: {sorted(by_rule)}")


def _ruled_place(path: str) -> str:
    """Return the first part of a path whose name a rule leaves out; the path if none does, as of an ignored file."""
    parts = path.split("/")
    for end, name in enumerate(parts, start=1):
        if name.startswith(".") or (end < len(parts) and (name in GENERATED or name.endswith(".egg-info"))):
            return "/".join(parts[:end])
    return path


def _is_met_elsewhere(path: str, known: Collection[str]) -> bool:
    """Return True for a link to what is indexed, or walked, under its own path."""
    if not os.path.islink(path):  # noqa: PTH114
        return False
    real = os.path.realpath(path)
    return real in known or any(each.startswith(f"{real}/") for each in known) or os.path.exists(real)  # noqa: PTH110


def sent_over_http(db: Path, paths: Sequence[str], number: int) -> int:
    """Compare `status` over HTTP with the index, and send some files; return the number of faults."""
    with rifflux.open(db) as index:
        status = index.status()
    chosen = random.Random(1).sample(paths, min(number, len(paths)))
    faults = stored = refused = 0
    with serving(db, "--open", "--model", MODEL) as url, httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
        over_http = client.get("/status").json()
        for name in ("files", "left_out", "failed_kinds"):
            if over_http[name] != getattr(status, name):
                faults += 1
                print(f"/status counts {over_http[name]} as {name}, the index {getattr(status, name)}")
        for place, path in enumerate(chosen):
            if not os.path.isfile(path):  # noqa: PTH113
                continue
            with open(path, "rb") as file:  # noqa: PTH123
                answer = _sent(client, f"sent/{place}", os.path.basename(path), file.read())  # noqa: PTH119
            if answer.status_code in (200, 201):
                stored += 1
                faults += client.get(f"/documents/sent/{place}").status_code >= 500
            elif answer.status_code < 500 and answer.json()["detail"]:
                refused += 1
            else:
                faults += 1
                print(f"{path}: {answer.status_code} {answer.text[:200]}")
    print(f"{stored:,} files were stored over HTTP, and {refused:,} refused with a reason")
    return faults


def _sent(client: httpx.Client, key: str, name: str, data: bytes) -> httpx.Response:
    """Send a file, again while the service has too much to do."""
    while True:
        answer = client.put(f"/documents/{key}", files={"file": (name, data)}, headers={"Prefer": "wait=600"})
        if answer.status_code != 429:
            return answer


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--uploads", type=int, default=300)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
