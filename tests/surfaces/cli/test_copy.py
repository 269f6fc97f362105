"""`rifflux copy` shows both sides, and an interrupted one goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rifflux
from rifflux import Document, InvalidArgument, NotFound
from rifflux.surfaces.cli import copy, show
from rifflux.surfaces.cli.app import app
from rifflux.types import Progress

__all__ = ["copy"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "index.db"
    with rifflux.open(path, model="hash:32") as index:
        index.add(*(Document(f"d{number}", f"text {number}") for number in range(200)))
    return path


def test_it_shows_what_both_sides_have(source: Path, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["copy", str(source), str(tmp_path / "copy.db")])
    assert told.exit_code == 0
    rows = [line.split() for line in told.stdout.splitlines()]
    assert ["documents", "200", "200", "yes"] in [row[:4] for row in rows]
    assert {"vectors", "settings", "tokens", "collections", "feedback", "usage"} <= {row[0] for row in rows}
    again = CliRunner().invoke(app, ["copy", str(source), str(tmp_path / "copy.db"), "--json"])
    parts = {each["name"]: each for each in json.loads(again.stdout)["parts"]}
    assert (parts["vectors"]["source"], parts["vectors"]["target"], parts["vectors"]["equal"]) == (200, 200, True)


def test_an_interrupted_one_says_how_it_goes_on(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "copy.db"

    @contextmanager
    def interrupting() -> Iterator[Progress]:
        def progress(stage: str, done: int, total: int | None) -> None:
            raise KeyboardInterrupt

        yield progress

    with monkeypatch.context() as patch:
        patch.setattr(show, "progress", interrupting)
        told = CliRunner().invoke(app, ["copy", str(source), str(target)])
    assert told.exit_code == 130
    assert "run the same command again" in told.stderr
    assert CliRunner().invoke(app, ["copy", str(source), str(target)]).exit_code == 0
    with rifflux.open(target) as index:
        assert index.status().documents == 200


def test_another_target_is_refused_with_the_way_out(source: Path) -> None:
    told = CliRunner().invoke(app, ["copy", str(source), str(source)])
    assert isinstance(told.exception, InvalidArgument)
    assert "give another place" in str(told.exception)


def test_a_source_that_is_not_there_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    """The command has no option that names another index."""
    told = CliRunner().invoke(app, ["copy", str(tmp_path / "none.db"), str(tmp_path / "copy.db")])
    assert isinstance(told.exception, NotFound)
    assert (told.exception.cure, list(tmp_path.iterdir())) == (None, [])
