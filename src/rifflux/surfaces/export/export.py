"""The export: an index of what everybody may read, Rifflux itself, and three ways to start them elsewhere."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rifflux import Index, InvalidArgument, __version__
from rifflux.index.extract import Extracted, Issued
from rifflux.surfaces.export.folder import FACTS, SUMS, made_anew, sums
from rifflux.surfaces.export.lock import needed
from rifflux.surfaces.export.render import render
from rifflux.surfaces.export.wheel import OURS, rebuild, requirements
from rifflux.surfaces.shared.config import Settings

if TYPE_CHECKING:
    from rifflux import Progress

_TOKENS = "tokens.json"
#: Settings of locations and of finding files, which do not apply elsewhere.
_OF_THIS_PLACE = ("db", "state", "threads", "hidden", "all_files", "exclude", "max_file_mb", "synonyms", "rerank_model")
_WORKERS = 2


@dataclass(frozen=True, slots=True)
class Exported:
    """A finished export: its contents, what it lacks, and how long it took.

    `left_out` counts works whose license does not permit distribution; `notes` list other differences.
    """

    path: str
    bytes: int
    collections: tuple[str, ...]
    documents: int
    chunks: int
    left_out: int
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Program:
    """Rifflux's wheel, its locked requirements, and a name for both."""

    wheel: str
    extras: str
    versions: Mapping[str, str]
    build: str


def export(
    index: Index,
    settings: Settings,
    target: str | Path,
    collections: Sequence[str] = (),
    *,
    port: int = 8642,
    offline: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Create or renew a folder that serves collections elsewhere; see `Index.admin.extract` for which are allowed.

    `port` is its default port. With `offline` it contains all packages, for this system and Python only. The folder
    appears once it is complete; `force` replaces a former export, which keeps its tokens.
    """
    start = time.perf_counter()
    place = Path(target).expanduser().resolve()
    if not place.name:
        raise InvalidArgument(f"{target} is no folder to be made: name another")
    with made_anew(place, force=force) as folder:
        extracted = _contents(index, folder, place, collections, progress)
        notes = [*_settings(settings, folder), *_notes_on(extracted)]
        program = _program(settings, folder, extracted, offline=offline, progress=progress)
        _templates(folder, place.name, program, extracted, port=port, offline=offline)
        facts = {
            "rifflux": __version__,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": _python(),
            "platform": f"{platform.system()} {platform.machine()}".lower(),
            "model": extracted.model,
            **{name: getattr(extracted, name) for name in ("collections", "documents", "chunks", "left_out")},
        }
        _write(folder / FACTS, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
        _write(folder / SUMS, sums(folder, _TOKENS))
        total = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    return Exported(
        str(place), total, extracted.collections, extracted.documents, extracted.chunks, extracted.left_out,
        round(time.perf_counter() - start, 3), tuple(notes),
    )  # fmt: skip


def _contents(
    index: Index, folder: Path, former: Path, collections: Sequence[str], progress: Progress | None
) -> Extracted:
    """Write the index, the models that are folders, and the tokens; those of a former export stay valid."""
    (folder / "index").mkdir()
    former_index = former / "index" / "index.db"
    tokens = (Issued("reader", "user"), Issued("admin", "admin"))
    if former_index.is_file():
        extracted = index.admin.extract(folder / "index/index.db", collections, former=former_index, progress=progress)
        if (former / _TOKENS).is_file():
            shutil.copyfile(former / _TOKENS, folder / _TOKENS)
            (folder / _TOKENS).chmod(0o600)
    else:
        extracted = index.admin.extract(folder / "index/index.db", collections, tokens=tokens, progress=progress)
        token_file = {"tokens": [asdict(each) for each in extracted.tokens]}
        _write(folder / _TOKENS, json.dumps(token_file, indent=2) + "\n")
    for name, source in extracted.models.items():
        shutil.copytree(source, folder / "index" / name)
    return extracted


def _settings(settings: Settings, folder: Path) -> list[str]:
    """Write the settings that apply elsewhere, and return notes on the others."""
    known = {each.name: each for each in fields(settings) if each.name in settings.origins}
    keys = [name for name, each in known.items() if each.metadata.get("secret") and getattr(settings, name)]
    changed = {name: getattr(settings, name) for name in known if name not in (*keys, *_OF_THIS_PLACE)}
    if not settings.base_url:
        changed.pop("model", None)  # the index records its own
    if settings.synonyms:
        shutil.copyfile(Path(settings.synonyms).expanduser(), folder / "index" / "synonyms.txt")
        changed["synonyms"] = "synonyms.txt"
    if settings.rerank_model:
        source = Path(settings.rerank_model).expanduser()
        changed["rerank_model"] = "models/reranker" if source.is_dir() else settings.rerank_model
        if source.is_dir():
            shutil.copytree(source, folder / "index/models/reranker")
    lines = [f"{name} = {_toml(value)}\n" for name, value in changed.items()]
    _write(folder / "index" / "config.toml", "".join(lines))
    return [f"{each} is not in the folder: set RIFFLUX_{each.upper()} where the server runs" for each in keys]


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"
    return json.dumps(value, ensure_ascii=False)


def _notes_on(extracted: Extracted) -> list[str]:
    notes = []
    if extracted.left_out:
        notes.append(f"left out: {extracted.left_out} works whose text no license lets be handed on")
    if extracted.without_vectors:
        notes.append(f"{extracted.without_vectors} is a model of a program's own: words alone answer there")
    return notes


def _program(
    settings: Settings, folder: Path, extracted: Extracted, *, offline: bool, progress: Progress | None
) -> _Program:
    """Write Rifflux's wheel and the lock; with `offline` the wheels of all locked packages."""
    (folder / "wheels").mkdir()
    wheel = rebuild(OURS, folder / "wheels")
    extras = sorted({"serve", *_extras(settings, extracted)})
    versions = needed(requirements(wheel), extras)
    for number, name in enumerate(versions if offline else (), 1):
        rebuild(name, folder / "wheels")
        if progress:
            progress("pack", number, len(versions))
    lock = "".join(f"{name}=={version}\n" for name, version in versions.items())
    _write(folder / "rifflux.lock", f"# As installed with Python {_python()} on {platform.platform()}\n{lock}")
    build = sha256(wheel.read_bytes() + lock.encode()).hexdigest()[:12]
    return _Program(wheel.name, ",".join(extras), versions, build)


def _extras(settings: Settings, extracted: Extracted) -> Iterator[str]:
    """Return the extras that the server needs for its way of searching."""
    if settings.neighbors == "hnsw":
        yield "hnsw"
    if (extracted.models or settings.rerank_model) and find_spec("tokenizers"):
        yield "tokenizers"


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _templates(folder: Path, name: str, program: _Program, extracted: Extracted, *, port: int, offline: bool) -> None:
    """Write three ways to start the server, and instructions."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "export"
    ours = f"wheels/{program.wheel}[{program.extras}]"
    source = "--no-index --find-links {}/wheels ".format
    common = {"name": name, "port": port, "python": _python(), "version": __version__}
    started = f"/srv/{name}/run.sh --port {port} --state /var/lib/rifflux-{name} --workers {_WORKERS}"
    files: Mapping[str, Mapping[str, object]] = {
        "run.sh": {"build": program.build, "ours": ours, "pip": source('"$folder"') if offline else ""},
        "rifflux.service": {
            "about": f"# Serves /srv/{name}, which is only read; what is written goes to /var/lib/rifflux-{name}.\n"
            "# Settings, and keys of model endpoints, go into /etc/rifflux.env (mode 0600): RIFFLUX_API_KEY=...",
            "description": f"Rifflux serving {name}",
            "state": f"rifflux-{name}",
            "folder": f"/srv/{name}/index",
            "environment": "",
            "command": f"{started} --proxy 127.0.0.1 --allow-host search.example.org",
        },
        "Dockerfile": {
            "usage": f"docker build -t {name} .",
            "install": "COPY rifflux.lock /source/\nCOPY wheels /source/wheels/\n"
            "RUN python -m venv /opt/rifflux && /opt/rifflux/bin/pip install --no-cache-dir "
            f"{source('/source') if offline else ''}--constraint /source/rifflux.lock '/source/{ours}'",
            "contents": "COPY --chown=10001 index /srv/index/",
            "folder": "/srv/index",
            "settings": "RIFFLUX_DB=/srv/index/index.db RIFFLUX_CONFIG=/srv/index/config.toml "
            "RIFFLUX_STATE=/data/state.db",
        },
        "compose.yaml": {
            "usage": "docker compose up --build --detach",
            "tokens": "docker compose exec rifflux rifflux tokens create --user ann",
            "build": "      context: .",
            "command": f"    command: serve --host 0.0.0.0 --workers {_WORKERS} --allow-host localhost "
            "--allow-host 127.0.0.1 --allow-host ${RIFFLUX_NAME:-localhost}",
            "network": f'    ports: ["127.0.0.1:{port}:8642"]\n\nvolumes:\n  data:',
        },
        "README.md": {
            "made": datetime.now(UTC).date().isoformat(),
            "documents": f"{extracted.documents:,}",
            "collections": ", ".join(extracted.collections),
            "from": " from `wheels`" if offline else ", for which it loads packages",
        },
    }
    for template, values in files.items():
        _write(folder / template, render(template, common | dict(values)))
    (folder / "run.sh").chmod(0o700)
    # Contents of an image are distributed with it, so tokens are left out.
    _write(folder / ".dockerignore", "*\n!index\n!rifflux.lock\n!wheels\n")


def _write(file: Path, text: str) -> None:
    """Write a file that its owner alone may read."""
    with open(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:  # noqa: PTH123
        opened.write(text)
