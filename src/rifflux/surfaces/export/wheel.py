"""Wheels of installed packages, made without a build or a network.

A wheel is a zip of the installed files with metadata. The record of an installed package lists its files. Rifflux may
be an editable install: then its files are those of its folder, and its requirements are in `pyproject.toml`, which may
be newer than pip's metadata.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from typing import Any

import rifflux
from rifflux import NotFound

#: The name of this package.
OURS = rifflux.__name__
#: Files about an installation, not about the package.
_OF_THIS_PLACE = {"RECORD", "RECORD.jws", "RECORD.p7s", "INSTALLER", "REQUESTED", "direct_url.json"}
#: The earliest time in a zip, so that equal contents make equal wheels.
_MOMENT = (1980, 1, 1, 0, 0, 0)
_CURE = "install it from a wheel, with 'pip install'"
_NEEDS = re.compile(r"^(?:Version|Requires-Dist|Provides-Extra): .*\n", re.MULTILINE)


def rebuild(name: str, folder: Path) -> Path:
    """Put a wheel of an installed package into a folder. Raises `NotFound` if it was not installed by pip."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise NotFound(f"{name} runs here without being installed: {_CURE}") from None
    files = {each: path.read_bytes() for each, path in _files(found)}
    facts = next((PurePosixPath(each).parent for each in files if each.endswith(".dist-info/WHEEL")), None)
    if facts is None:
        raise NotFound(f"{name} was not installed from a wheel, and none can be made of it: {_CURE}")
    tags = re.findall(r"^Tag: (\S+)", files[f"{facts}/WHEEL"].decode(), re.MULTILINE)
    tag = "-".join(".".join(dict.fromkeys(each)) for each in zip(*(tag.split("-") for tag in tags), strict=True))
    stem = facts.name.removesuffix(".dist-info")
    if name == OURS and (project := _project()):
        stem = f"{OURS}-{project['version']}"
        text = files[f"{facts}/METADATA"].decode()
        files[f"{facts}/METADATA"] = _metadata_of(text, project).encode()
        files = {each.replace(facts.name, f"{stem}.dist-info"): content for each, content in files.items()}
    target = folder / f"{stem}-{tag}.whl"
    _write(target, files, f"{stem}.dist-info/RECORD")
    return target


def requirements(wheel: Path) -> list[str]:
    """Return the requirements of a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        name = next(each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        head, _, _ = opened.read(name).decode().partition("\n\n")
    return re.findall(r"^Requires-Dist: (.*)$", head, re.MULTILINE)


def _files(found: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the files of a package by their names in its wheel."""
    recorded = {str(each): Path(str(each.locate())) for each in found.files or ()}
    package = Path(rifflux.__file__).parent
    if found.metadata["Name"] == OURS and _project():
        # The pointer to an editable install lies at the top.
        recorded = {each: path for each, path in recorded.items() if "/" in each}
        recorded |= {each.relative_to(package.parent).as_posix(): each for each in package.rglob("*") if each.is_file()}
    for each, path in sorted(recorded.items()):
        place = PurePosixPath(each)
        # Scripts that pip generated lie above the packages, and are generated again.
        outside = place.is_absolute() or place.parts[0] == ".."
        of_this_place = place.parent.suffix == ".dist-info" and place.name in _OF_THIS_PLACE
        if not outside and not of_this_place and "__pycache__" not in place.parts:
            yield each, path


def _project() -> Mapping[str, Any] | None:
    """Return the project table of `pyproject.toml` of an editable install."""
    file = Path(rifflux.__file__).parents[2] / "pyproject.toml"
    if not file.is_file():
        return None
    project: Mapping[str, Any] = tomllib.loads(file.read_text("utf-8")).get("project", {})
    if project.get("name") == OURS:
        return project
    return None


def _metadata_of(metadata: str, project: Mapping[str, Any]) -> str:
    """Return this package's metadata with its current version and requirements."""
    lines = [f"Version: {project['version']}", *(f"Requires-Dist: {each}" for each in project["dependencies"])]
    for extra, extra_requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        for each in extra_requirements:
            needed, _, marker = each.partition(";")
            if marker:
                condition = f"({marker.strip()}) and "
            else:
                condition = ""
            lines.append(f"Requires-Dist: {needed.strip()}; {condition}extra == '{extra}'")
    head, _, text = metadata.partition("\n\n")
    return _NEEDS.sub("", f"{head}\n") + "\n".join(lines) + f"\n\n{text}"


def _write(target: Path, files: Mapping[str, bytes], record: str) -> None:
    rows = io.StringIO()
    lines = csv.writer(rows, lineterminator="\n")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        for name, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.writerow((name, f"sha256={digest}", len(content)))
            _put(wheel, name, content)
        lines.writerow((record, "", ""))
        _put(wheel, record, rows.getvalue().encode())


def _put(wheel: zipfile.ZipFile, name: str, content: bytes) -> None:
    about = zipfile.ZipInfo(name, _MOMENT)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    wheel.writestr(about, content)
