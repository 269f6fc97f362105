"""Configurations of clients: written with all else kept, or refused with what to write by hand."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rifflux.surfaces.shared.clients import CLIENTS

COMMAND = ["/bin/rifflux", "mcp", "--db", "/home/ann/a b.db"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("APPDATA", "XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def held(path: Path) -> Any:
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


@pytest.mark.parametrize("name", CLIENTS)
class TestEveryClient:
    def test_a_file_that_is_not_there_is_made(self, home: Path, name: str) -> None:
        client = CLIENTS[name]
        client.installed(COMMAND).write()
        assert client.file().is_relative_to(home)
        assert held(client.file()) == {client.key: {"rifflux": client.entry(COMMAND)}}

    def test_what_is_shown_is_what_is_written(self, name: str) -> None:
        client = CLIENTS[name]
        edit = client.installed(COMMAND)
        assert client.entry_text(COMMAND) == edit.after

    def test_all_else_stays(self, name: str) -> None:
        client = CLIENTS[name]
        path = client.file()
        path.parent.mkdir(parents=True, exist_ok=True)
        others = {"theme": "dark ä", client.key: {"other": {"command": "x", "args": ["-y"]}}}
        path.write_text(
            'theme = "dark ä"  # mine\n\n[mcp_servers.other]\ncommand = "x"\nargs = ["-y"]\n# the end\n'
            if path.suffix == ".toml"
            else json.dumps(others, indent=4, ensure_ascii=False),
            "utf-8",
        )
        before = path.read_text("utf-8")
        path.chmod(0o600)
        client.installed(COMMAND).write()
        assert held(path) == others | {client.key: others[client.key] | {"rifflux": client.entry(COMMAND)}}  # type: ignore[operator]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        again = client.installed(COMMAND)
        assert again.before == again.after
        client.installed([*COMMAND, "--watch"]).write()
        assert held(path)[client.key]["rifflux"]["args"][-1] == "--watch"
        client.uninstalled().write()
        assert held(path) == others
        assert path.read_text("utf-8").rstrip() == before.rstrip()
        assert [each.name for each in path.parent.iterdir() if "rifflux" in each.name or "tmp" in each.name] == []

    def test_what_is_damaged_is_left_alone(self, name: str) -> None:
        client = CLIENTS[name]
        path = client.file()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{ not at all", "utf-8")
        with pytest.raises(Exception, match="yourself:\n") as refused:
            client.installed(COMMAND)
        assert client.entry_text(COMMAND) in str(refused.value)
        assert path.read_text("utf-8") == "{ not at all"

    def test_nothing_to_remove(self, name: str) -> None:
        with pytest.raises(LookupError, match="nothing to remove"):
            CLIENTS[name].uninstalled()


def test_comments_in_json_are_not_lost() -> None:
    path = CLIENTS["zed"].file()
    path.parent.mkdir(parents=True)
    path.write_text('{\n  // mine\n  "theme": "One",\n}\n')
    with pytest.raises(Exception, match="it has comments"):
        CLIENTS["zed"].installed(COMMAND)
    assert "// mine" in path.read_text()


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { other = { command = "x" } }\n',
        'mcp_servers.rifflux.command = "x"\n',
        '[mcp_servers.rifflux]\n\ncommand = "x"\n',
    ],
)
def test_tables_in_other_spellings_are_left_alone(text: str) -> None:
    path = CLIENTS["codex"].file()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(Exception, match="yourself"):
        CLIENTS["codex"].installed(COMMAND)


def test_a_link_stays_a_link(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "claude.json").write_text("{}")
    (home / ".claude.json").symlink_to(home / "dotfiles" / "claude.json")
    CLIENTS["claude-code"].installed(COMMAND).write()
    assert (home / ".claude.json").is_symlink()
    assert "rifflux" in (home / "dotfiles" / "claude.json").read_text()


@pytest.mark.slow
class TestCommand:
    def test_it_asks_prints_writes_and_removes(self, run: Any) -> None:
        notes, file = run.folder / "notes", run.folder / ".claude.json"
        notes.mkdir()
        (notes / "a.md").write_text("The heron.")
        run("index", "notes", "--db", "own.db")
        asked = ("mcp", "install", "claude-code", "--db", "own.db")
        printed = json.loads(run(*asked, "--print", "--root", "notes").stdout)["mcpServers"]["rifflux"]
        assert printed["args"] == ["mcp", "--db", str(run.folder / "own.db"), "--root", str(notes)]
        assert Path(printed["command"]).is_absolute()
        assert not file.exists()
        assert run(*asked).returncode == 1  # nobody answers
        assert not file.exists()
        assert run(*asked, "--yes").returncode == 0
        assert json.loads(file.read_text())["mcpServers"]["rifflux"]["args"][:2] == ["mcp", "--db"]
        assert run("mcp", "uninstall", "claude-code", "--yes").returncode == 0
        assert json.loads(file.read_text()) == {"mcpServers": {}}
        assert "choose one of claude-code" in run.refusal("mcp", "uninstall", "emacs")
