"""A command that brings an index of an earlier version up to date says so, and the copy that stays is named."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import rifflux

STORE = Path(__file__).parents[2] / "store" / "sqlite"


def test_the_upgrade_is_told_and_the_copy_that_stays_is_named_until_it_is_deleted(run: Any) -> None:
    db = run.folder / "index.db"
    db.write_bytes(gzip.decompress((STORE / "schema-6.db.gz").read_bytes()))
    (run.folder / "notes").mkdir()
    (run.folder / "notes" / "a.md").write_text("# Herons\n\nHerons fish.")
    done = run("index", "notes", "--no-embed", "--db", "index.db")
    assert done.returncode == 0, done.stderr
    assert "Upgrading: " in done.stderr
    # Nothing is left to upgrade.
    assert "Upgrading" not in run("index", "notes", "--no-embed", "--db", "index.db").stderr
    copy = run.folder / "index.db.schema-6"
    (named,) = [each for each in run.json("status", "--db", "index.db")["degraded"] if each["code"] == "copy.former"]
    assert named["data"] == {"file": copy.name, "bytes": copy.stat().st_size}
    assert copy.name in run("doctor", "--db", "index.db").stdout
    with rifflux.open(db) as index:
        assert "copy.former" in {each.code for each in index.status().degraded}
        # What the whole index takes is nobody's in particular.
        assert "copy.former" not in {each.code for each in index.scoped(rifflux.Scope("ann")).status().degraded}
    copy.unlink()
    assert "copy.former" not in {each["code"] for each in run.json("status", "--db", "index.db")["degraded"]}


def test_a_program_is_told_too(tmp_path: Path) -> None:
    db = tmp_path / "index.db"
    db.write_bytes(gzip.decompress((STORE / "schema-5.db.gz").read_bytes()))
    told: list[tuple[str, int, int | None]] = []
    for _ in range(2):
        rifflux.open(db, model="hash:32", progress=lambda *each: told.append(each)).close()
    assert {stage for stage, *_ in told} == {"copy", "upgrade"}
    assert all(total is not None and 0 <= done <= total for _, done, total in told)
    assert all(
        [total for name, done, total in told if name == stage and done == total] for stage in ("copy", "upgrade")
    )
    # The second time, there was nothing to do.
    assert len([each for each in told if each[0] == "copy"]) == 1
