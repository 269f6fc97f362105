"""What a server may read where nobody said so."""

from __future__ import annotations

from pathlib import Path

import pytest

import rifflux
from rifflux.requests import ReindexRequest
from rifflux.surfaces.mcp import Workspace
from rifflux.surfaces.mcp.desk import Desk
from rifflux.surfaces.mcp.reindex import places_of
from rifflux.surfaces.shared.places import implied_roots


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "homes" / "ann"
    (home / "notes").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


class TestImpliedRoots:
    def test_the_working_directory(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(home / "notes")
        assert implied_roots() == [home / "notes"]

    @pytest.mark.parametrize("place", ["/", ".", ".."])
    def test_no_disk_and_no_home(self, home: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
        monkeypatch.chdir(home / place)
        assert implied_roots() == []

    def test_without_any_the_cure_is_told(self, home: Path) -> None:
        with Workspace(home / "index.db", roots=[], model="hash") as workspace:
            with pytest.raises(rifflux.OutsideRoots, match="add --root FOLDER"):
                workspace.places(["/etc/hostname"])
            with pytest.raises(rifflux.OutsideRoots, match="leave db_path out"):
                workspace.open("other.db")

    def test_where_nothing_is_named_the_roots_are_read_from_outside_them(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        roots = [home / "notes", home / "more"]
        roots[1].mkdir()
        with Workspace(home / "index.db", roots=roots, model="hash") as workspace:
            desk = Desk(workspace)
            monkeypatch.chdir(home)
            assert places_of(desk, ReindexRequest()) == roots
            monkeypatch.chdir(roots[1])
            assert places_of(desk, ReindexRequest()) == [roots[1]]
            assert places_of(desk, ReindexRequest(path=str(roots[0]))) == [roots[0]]
