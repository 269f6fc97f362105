"""Configuration files of programs that start MCP servers: their locations, and the entry for Rifflux."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rifflux import InvalidArgument, NotFound, Unreadable
from rifflux.surfaces.shared.nouns import JsonObject

#: The name of the server in each file.
NAME = "rifflux"


def _home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _application(*parts: str) -> Path:
    """Return the folder where applications on this system keep user settings."""
    if sys.platform == "darwin":
        return _home("Library", "Application Support", *parts)
    if os.name == "nt":
        return Path(os.environ.get("APPDATA") or _home("AppData", "Roaming")).joinpath(*parts)
    return Path(os.environ.get("XDG_CONFIG_HOME") or _home(".config")).joinpath(*parts)


def _zed() -> Path:
    if os.name == "nt":
        return _application("Zed", "settings.json")
    return _home(".config", "zed", "settings.json")


def _codex() -> Path:
    return Path(os.environ.get("CODEX_HOME") or _home(".codex")) / "config.toml"


@dataclass(frozen=True, slots=True)
class Client:
    """A program that starts MCP servers: its file, the key of the servers in it, and the extra keys it requires."""

    title: str
    file: Callable[[], Path]
    key: str = "mcpServers"
    extra: Mapping[str, Any] | None = None

    def entry(self, command: Sequence[str]) -> JsonObject:
        """Return the entry of a server that a command starts."""
        program, *arguments = command
        return {**(self.extra or {}), "command": program, "args": arguments}

    def entry_text(self, command: Sequence[str]) -> str:
        """Return the entry as text of the file."""
        entry = self.entry(command)
        if self._is_toml:
            return _toml(self.key, entry)
        return _json({self.key: {NAME: entry}})

    @property
    def _is_toml(self) -> bool:
        return self.file().suffix == ".toml"

    def installed(self, command: Sequence[str]) -> Edit:
        """Return the file with the entry and nothing else changed. Raises `Unreadable` if that cannot be guaranteed."""
        return self._edit(self.entry(command), f"add this to {self.file()} yourself:\n{self.entry_text(command)}")

    def uninstalled(self) -> Edit:
        """Return the file without the entry. Raises `NotFound` if it has none."""
        edit = self._edit(None, f"take {NAME} out of {self.file()} yourself")
        if edit.before == edit.after:
            raise NotFound(f"{self.file()} has no server {NAME!r}: nothing to remove")
        return edit

    def _edit(self, entry: JsonObject | None, cure: str) -> Edit:
        path = self.file()
        try:
            if path.exists():
                before = path.read_text("utf-8")
            else:
                before = ""
        except (OSError, UnicodeDecodeError) as error:
            raise Unreadable(f"{path} cannot be read ({error}): {cure}") from error
        if self._is_toml:
            change = _changed_toml
        else:
            change = _changed_json
        try:
            return Edit(path, before, change(before, self.key, entry))
        except (ValueError, TypeError) as error:
            if isinstance(error, ValueError):
                reason = "it has comments, or is not valid"
            else:
                reason = str(error)
            raise Unreadable(f"{path} cannot be changed without harm ({reason}): {cure}") from error


#: The clients by name.
CLIENTS: Mapping[str, Client] = {
    "claude-code": Client("Claude Code", lambda: _home(".claude.json"), extra={"type": "stdio"}),
    "claude-desktop": Client("Claude Desktop", lambda: _application("Claude", "claude_desktop_config.json")),
    "codex": Client("Codex", _codex, "mcp_servers"),
    "cursor": Client("Cursor", lambda: _home(".cursor", "mcp.json")),
    "gemini": Client("Gemini CLI", lambda: _home(".gemini", "settings.json")),
    "vscode": Client("VS Code", lambda: _application("Code", "User", "mcp.json"), "servers", {"type": "stdio"}),
    "windsurf": Client("Windsurf", lambda: _home(".codeium", "windsurf", "mcp_config.json")),
    "zed": Client("Zed", _zed, "context_servers", {"source": "custom"}),
}


def client_of(name: str) -> Client:
    """Return a client by its name. Raises `InvalidArgument`."""
    if name not in CLIENTS:
        raise InvalidArgument(f"no client {name!r}; choose one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def server_command(*arguments: str) -> list[str]:
    """Return the command that starts this program from any folder."""
    script = Path(sys.executable).with_name("rifflux.exe" if os.name == "nt" else "rifflux")
    return [*([str(script)] if script.exists() else [sys.executable, "-m", "rifflux"]), *arguments]


@dataclass(frozen=True, slots=True)
class Edit:
    """A file's text before and after a pending change."""

    path: Path
    before: str
    after: str

    def write(self) -> None:
        """Make the change atomically, in the target of symbolic links, with the same permissions."""
        path = self.path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False, newline="") as new:
            try:
                new.write(self.after)
                new.flush()
                os.fsync(new.fileno())
                if path.exists():
                    Path(new.name).chmod(path.stat().st_mode & 0o7777)
                new.close()
                Path(new.name).replace(path)
            except BaseException:
                Path(new.name).unlink(missing_ok=True)
                raise


def _json(value: JsonObject, indent: str = "  ") -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


def _changed_json(text: str, key: str, entry: JsonObject | None) -> str:
    """Return the text with the entry under the key, or without it. Raises `ValueError` for what is no plain JSON."""
    whole = json.loads(text) if text.strip() else {}
    if isinstance(whole, dict):
        servers = whole.get(key, {})
    else:
        servers = None
    if not isinstance(servers, dict):
        raise TypeError(f"{key} is no object in it")
    if entry is None and NAME not in servers:
        return text
    changed = {name: value for name, value in servers.items() if name != NAME or entry is not None}
    if entry is not None:
        changed[NAME] = entry
    indent = re.search(r"\n([ \t]+)\S", text)
    return _json(whole | {key: changed}, indent[1] if indent else "  ")


def _toml(key: str, entry: JsonObject) -> str:
    """Return a TOML table. Strings and lists of them have the same syntax in JSON and TOML."""
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items()]
    return "\n".join([f"[{key}.{NAME}]", *lines]) + "\n"


def _changed_toml(text: str, key: str, entry: JsonObject | None) -> str:
    """Return the text with a table for the entry, or without it. Raises `ValueError` if anything else would change."""
    expected = tomllib.loads(text)
    servers = expected.setdefault(key, {})
    if entry is None and servers.pop(NAME, None) is None:
        return text
    own = re.compile(rf"^\[{key}\.{NAME}(\.\w+)?\][^\n]*\n(?:(?!\[|\s*(?:#|$))[^\n]*(?:\n|\Z))*", re.MULTILINE)
    rest = own.sub("", text)
    if entry is None:
        changed = rest
    else:
        servers[NAME] = entry
        changed = f"{rest.rstrip()}\n\n{_toml(key, entry)}".lstrip()
    found = tomllib.loads(changed)
    found.setdefault(key, {})
    if found != expected:
        raise TypeError(f"{key} is written in another way than in tables")
    return changed
