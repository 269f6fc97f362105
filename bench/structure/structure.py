"""Print the figures of the code: files, lines, functions, `Any`, names used twice, and the four journeys.

    python -m bench structure [--tree FOLDER]

`--tree` measures another checkout, such as the commit before an issue. Lengths of functions are lines from `def` to
the end, without decorators; a line counts as one with `Any` where the name occurs in its code, imports apart.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 400


@dataclass(frozen=True)
class Module:
    """A module of the package: its path in there, its lines, and its tree."""

    name: str
    lines: tuple[str, ...]
    tree: ast.Module


def main() -> None:
    """Print one line a figure, then the table of the journeys."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT)
    tree: Path = parser.parse_args().tree
    package = tree / "src" / "rifflux"
    modules = [_read(path, package) for path in sorted(package.rglob("*.py"))]
    for what, figure in _figures(modules, package):
        print(f"{what:<44} {figure}")
    print(flush=True)
    subprocess.run([sys.executable, "-m", "bench", "journeys", "--tree", str(tree)], cwd=ROOT, check=True)


def _read(path: Path, package: Path) -> Module:
    text = path.read_text("utf-8")
    return Module(str(path.relative_to(package)), tuple(text.splitlines()), ast.parse(text))


def _figures(modules: list[Module], package: Path) -> Iterator[tuple[str, str]]:
    lengths = sorted(_lengths(modules))
    entries = [each for each in package.iterdir() if not each.name.startswith("__") and each.name != "py.typed"]
    yield "entries at the top", str(len(entries))
    yield "files", str(len(modules))
    yield "lines", f"{sum(len(module.lines) for module in modules):,}"
    yield "lines of code, without docstrings", f"{sum(_code(module) for module in modules):,}"
    long = [f"{module.name} {len(module.lines)}" for module in modules if len(module.lines) > LONGEST]
    yield f"files over {LONGEST} lines", f"{len(long)}  {', '.join(long)}"
    median, p90 = statistics.median(lengths), lengths[int(0.9 * len(lengths))]
    yield "functions; lines at the median, p90, most", f"{len(lengths):,}; {median:g}, {p90}, {lengths[-1]}"
    yield "lines with `Any`", str(sum(_with_any(module) for module in modules))
    twice = {name: at for name, at in _classes(modules).items() if len(at) > 1}
    told = "; ".join(f"{name}: {', '.join(at)}" for name, at in twice.items())
    yield "class names used twice", f"{len(twice)}  {told}"


def _lengths(modules: Iterable[Module]) -> Iterator[int]:
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (node.end_lineno or node.lineno) - node.lineno + 1


def _code(module: Module) -> int:
    """Count the lines that are neither blank, nor a comment, nor of a docstring."""
    told: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            told.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(module.lines, start=1)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") and at not in told for at, line in lines)


def _with_any(module: Module) -> int:
    code = (line.partition("#")[0] for line in module.lines if " import " not in line)
    return sum(bool(re.search(r"\bAny\b", line)) for line in code)


def _classes(modules: Iterable[Module]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module.name)
    return found
