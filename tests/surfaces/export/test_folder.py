"""An export appears whole or not at all, and takes the place of a former one in one step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument, MissingExtra, NotFound, UnusableIndex
from rifflux.service.accounts import Accounts
from rifflux.surfaces.export import folder as folders
from rifflux.surfaces.export.export import export
from rifflux.surfaces.export.lock import needed
from rifflux.surfaces.export.wheel import rebuild, requirements
from rifflux.surfaces.shared.config import load
from tests.support.places import small_disk


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        index.add(Document("heron", "Herons stand in shallow water."))
        yield index


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of ours that takes no time to pack: its wheel is another's."""
    monkeypatch.setattr("rifflux.surfaces.export.export.OURS", "jinja2")


def everything(folder: Path) -> dict[str, bytes]:
    """The files of a folder with their contents, and what lies beside it."""
    found = {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    return found | {str(each): b"" for each in folder.parent.iterdir() if "index.db" not in each.name}


@pytest.mark.usefixtures("light")
class TestFolder:
    def test_only_its_owner_may_read_it(self, index: Index, tmp_path: Path) -> None:
        made = export(index, load({}), tmp_path / "out", port=8700)
        assert (made.documents, made.collections) == (1, ("library",))
        files = [tmp_path / "out", *(tmp_path / "out").rglob("*")]
        assert {each.stat().st_mode & 0o077 for each in files} == {0}
        assert "port=8700" in (tmp_path / "out" / "run.sh").read_text()
        facts = json.loads((tmp_path / "out" / "export.json").read_text())
        assert (facts["documents"], facts["model"]) == (1, "hash")

    def test_what_is_no_export_is_left_alone(self, index: Index, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis").write_text("years")
        (tmp_path / "file").write_text("mine")
        for target, told in (("mine", "no export"), ("file", "no export")):
            with pytest.raises(InvalidArgument, match=told):
                export(index, load({}), tmp_path / target, force=True)
        with pytest.raises(NotFound, match="no folder"):
            export(index, load({}), tmp_path / "none" / "out")
        export(index, load({}), tmp_path / "out")
        with pytest.raises(InvalidArgument, match="force=True"):
            export(index, load({}), tmp_path / "out")
        assert (tmp_path / "mine" / "thesis").read_text() == "years"

    def test_a_model_that_is_a_folder_goes_along(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("onnx")
        from tests.support.tiny_model import make_folder

        model = make_folder(tmp_path / "my model")
        with rifflux.open(tmp_path / "index.db", model=str(model)) as index:
            index.add(Document("kite", "red"), Document("sky", "blue"))
            export(index, load({}), tmp_path / "out")
        shutil.rmtree(model)
        moved = (tmp_path / "out").rename(tmp_path / "elsewhere")
        monkeypatch.chdir(moved / "index")  # as run.sh does
        with rifflux.open("index.db", state=tmp_path / "state.db") as served:
            found = served.search("blue", mode="semantic")
        assert (found.trace.effective_mode, found[0].key) == ("semantic", "sky")

    @pytest.mark.parametrize("step", [True, False], ids=["exchanged", "renamed"])
    def test_a_new_one_takes_its_place_and_keeps_the_tokens(
        self, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: bool
    ) -> None:
        if not step:
            monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
        target = tmp_path / "out"
        export(index, load({}), target)
        first = (target / "tokens.json").read_bytes()
        (target / "tokens.json").unlink()
        index.add(Document("gull", "Gulls eat chips."))
        assert export(index, load({}), target, force=True).documents == 2
        assert not (target / "tokens.json").exists()
        with rifflux.open(target / "index" / "index.db", state=tmp_path / "state.db") as there:
            accounts = Accounts(there.registry)
            for each in json.loads(first)["tokens"]:
                found = accounts.check(each["token"])
                assert found
                assert (found.user, found.role) == (each["user"], each["role"])
            assert there.admin.check() == []
        whole = everything(target)
        assert rifflux.diagnose(target / "index" / "index.db", state=tmp_path / "state.db") == []
        assert everything(target) == whole
        assert sorted(each.name for each in tmp_path.iterdir() if "." not in each.name) == ["out"]

    def test_a_failure_changes_nothing(self, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        export(index, load({}), tmp_path / "out")
        before = everything(tmp_path / "out")

        def fail(*_: object, **__: object) -> str:
            raise KeyboardInterrupt

        monkeypatch.setattr("rifflux.surfaces.export.export.render", fail)
        for target in ("out", "other"):
            with pytest.raises(KeyboardInterrupt):
                export(index, load({}), tmp_path / target, force=True)
        assert everything(tmp_path / "out") == before

    def test_a_full_disk_changes_nothing(self, index: Index, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk", 1000) as disk:
            for size in (100, 600, 990):
                subprocess.run(["mount", "-o", f"remount,size={size}k", str(disk)], check=True)
                with pytest.raises(UnusableIndex, match="full"):
                    export(index, load({}), disk / "out")
                assert [*disk.iterdir()] == []

    def test_what_a_killed_one_left_is_swept_away(self, index: Index, tmp_path: Path) -> None:
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        for process in (ended.pid, os.getppid()):
            (tmp_path / f".out.{process}.partial").mkdir()
        export(index, load({}), tmp_path / "out")
        assert [each.name for each in tmp_path.glob(".*")] == [f".out.{os.getppid()}.partial"]

    def test_settings_go_along_and_keys_do_not(self, index: Index, tmp_path: Path) -> None:
        words = tmp_path / "words.txt"
        words.write_text("heron, egret\n")
        given: dict[str, Any] = {
            "RIFFLUX_SYNONYMS": str(words),
            "RIFFLUX_LLM_KEY": "sk-secret",
            "RIFFLUX_TOP_K": "5",
            "RIFFLUX_BOOSTS": '{"identified": 2}',
            "RIFFLUX_FACETS": "tags,team",
            "RIFFLUX_DB": "elsewhere.db",
        }
        made = export(index, load(given), tmp_path / "out")
        config = tomllib.loads((tmp_path / "out" / "index" / "config.toml").read_text())
        assert config == {
            "synonyms": "synonyms.txt", "top_k": 5, "boosts": {"identified": 2}, "facets": ["tags", "team"]
        }  # fmt: skip
        assert made.notes == ("llm_key is not in the folder: set RIFFLUX_LLM_KEY where the server runs",)
        assert not any(b"sk-secret" in content for content in everything(tmp_path / "out").values())
        load({"RIFFLUX_CONFIG": str(tmp_path / "out" / "index" / "config.toml")})


def test_our_wheel_is_what_runs_here_with_what_it_needs(tmp_path: Path) -> None:
    wheel = rebuild("rifflux", tmp_path)
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        assert opened.testzip() is None
        assert opened.read("rifflux/__init__.py") == Path(rifflux.__file__).read_bytes()
    assert not [each for each in names if "__pycache__" in each or each.endswith(("direct_url.json", ".pth"))]
    assert {"rifflux/surfaces/export/templates/run.sh", "rifflux/models/minilm/LICENSE"} <= {*names}
    project = tomllib.loads((Path(rifflux.__file__).parents[2] / "pyproject.toml").read_text())["project"]
    wanted = len(project["dependencies"]) + sum(map(len, project["optional-dependencies"].values()))
    assert len(requirements(wheel)) == wanted


def test_what_is_locked_is_what_is_installed_and_a_missing_package_is_told() -> None:
    found = needed(["httpx2>=2.0", "no-such-package>=1; extra == 'serve'"], [])
    assert {"httpx2", "httpcore2"} <= found.keys()
    with pytest.raises(MissingExtra, match=r"no-such-package.*rifflux\[serve\]"):
        needed(["no-such-package>=1; extra == 'serve'"], ["serve"])
