"""Source trees of published packages in five languages, fetched by each language's own package manager."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LANGUAGES", "PACKAGES", "Package", "fetch", "is_copy", "is_test", "source_tree"]

#: The suffixes of each language's sources.
LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "python": (".py",), "javascript": (".js", ".mjs", ".cjs"), "typescript": (".ts",), "go": (".go",), "rust": (".rs",)
}  # fmt: skip
#: What of a package belongs to its tree, besides sources.
BESIDE = (".md", ".rst", ".toml")


@dataclass(frozen=True, slots=True)
class Package:
    """A version of a package; `only` are the paths in it that are taken, all for none."""

    language: str
    name: str
    version: str
    only: tuple[str, ...] = ()


PACKAGES = (
    Package("python", "httpx", "0.28.1"),
    Package("python", "click", "8.1.8"),
    Package("javascript", "commander", "12.1.0"),
    Package("javascript", "express", "4.21.2"),
    Package("javascript", "ws", "8.18.0"),
    Package("typescript", "rxjs", "7.8.1", ("src/internal", "README.md")),
    Package("typescript", "mobx", "6.13.5", ("src", "dist/mobx.cjs.development.js", "dist/api", "dist/core")),
    Package("go", "github.com/spf13/cobra", "v1.8.1"),
    Package("go", "github.com/gorilla/mux", "v1.8.1"),
    Package("rust", "semver", "1.0.23"),
    Package("rust", "bytes", "1.7.1"),
)  # fmt: skip


def source_tree(folder: Path) -> Path:
    """Return the folder with the sources of all packages, `LANGUAGE/NAME/…`, fetched where they are not there yet."""
    for package in PACKAGES:
        fetch(package, folder / package.language / Path(package.name).name)
    return folder


def fetch(package: Package, target: Path) -> Path:
    """Fetch what is taken of a package into a folder, unless that exists; the folder."""
    if not target.exists():
        print(f"{package.name} {package.version} …", file=sys.stderr)
        with tempfile.TemporaryDirectory() as temporary:
            _taken(package, _FETCHED[package.language](package, Path(temporary)), target)
    return target


def is_copy(path: str) -> bool:
    """Return whether a file of the tree was built of others: declarations and bundles."""
    return "/dist/" in path or path.endswith((".d.ts", ".cjs"))


def is_test(path: str) -> bool:
    """Return whether a file of the tree is a test or a benchmark of its package."""
    return any(part in path for part in ("/tests/", "/test/", "_test.go", "/benches/", "/testing/"))


def _taken(package: Package, unpacked: Path, target: Path) -> None:
    kept = (*LANGUAGES[package.language], *(".js", ".ts"), *BESIDE)
    for file in sorted(unpacked.rglob("*")):
        path = file.relative_to(unpacked).as_posix()
        wanted = not package.only or any(path == each or path.startswith(f"{each}/") for each in package.only)
        if file.is_file() and file.suffix in kept and wanted and ".min." not in path:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target / path)


# One way for each registry


def _of_python(package: Package, work: Path) -> Path:
    _run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(work),
         f"{package.name}=={package.version}"], work
    )  # fmt: skip
    with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
        wheel.extractall(work / "unpacked")
    return work / "unpacked"


def _of_npm(package: Package, work: Path) -> Path:
    _run(["npm", "pack", "--silent", f"{package.name}@{package.version}"], work)
    with tarfile.open(next(work.glob("*.tgz"))) as archive:
        archive.extractall(work / "unpacked", filter="data")
    return work / "unpacked" / "package"


def _of_go(package: Package, work: Path) -> Path:
    told = _run(["go", "mod", "download", "-json", f"{package.name}@{package.version}"], work)
    return Path(json.loads(told)["Dir"])


def _of_cargo(package: Package, work: Path) -> Path:
    (work / "src").mkdir()
    (work / "src" / "lib.rs").touch()
    (work / "Cargo.toml").write_text(
        f'[package]\nname = "sources"\nversion = "0.0.0"\nedition = "2021"\n'
        f'[dependencies]\n{package.name} = "={package.version}"\n'
    )
    _run(["cargo", "vendor", "-q", "unpacked"], work)
    return work / "unpacked" / package.name


def _run(command: list[str], work: Path) -> str:
    try:
        return subprocess.run(command, cwd=work, check=True, stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        raise SystemExit(f"no {command[0]} here: install it, its packages are part of the measurement") from None


_FETCHED: Mapping[str, Callable[[Package, Path], Path]] = {
    "python": _of_python, "javascript": _of_npm, "typescript": _of_npm, "go": _of_go, "rust": _of_cargo
}  # fmt: skip
