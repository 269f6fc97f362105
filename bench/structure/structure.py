"""Print the figures of the code, or check that none got worse.

    python -m bench structure [--tree FOLDER] [--check] [--write]

`--tree` measures another checkout. `--check` fails if a figure exceeds its ceiling, or if the page of results is not
what this prints; `make check` runs it. `--write` writes that page.

A ceiling is what was reached, a target what is aimed for. When a figure falls, lower its ceiling in the same change.
Rates are per 1,000 lines. A tuple assignment is `a, b = x, y` with as many values written out as names. A circle is a
group of modules that import each other, imports inside functions included and imports for type checkers excluded.
Banned words are those of `BANNED` as a part of a name of a class, function, argument or field, or in the first line of
a docstring.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "bench" / "results" / "structure.md"

#: Words that say nothing about what a name stands for; the field has a term for each.
BANNED = ("told", "asked", "asking", "shown", "kept", "said", "held", "worded", "liking", "besides")
DENSE_CALLS = ("map", "partial", "itemgetter", "attrgetter", "chain")

#: Figure: its ceiling and its target.
LIMITS: dict[str, tuple[float, float]] = {
    "question to hit: modules": (39, 40),
    "question to hit: functions": (280, 280),
    "retrieve of two works: modules": (60, 60),
    "retrieve of two works: functions": (430, 430),
    "one Markdown file to a stored vector: modules": (40, 40),
    "one Markdown file to a stored vector: functions": (230, 230),
    "scoped import of two messages: modules": (40, 45),
    "scoped import of two messages: functions": (180, 230),
    "class names used twice": (0, 0),
    "tuple assignments, rate": (1, 1),
    "conditional expressions, rate": (12, 12),
    "map, partial, itemgetter, chain, rate": (3, 3),
    "fields of Query": (20, 20),
    "fields of Profile": (20, 20),
    "public names": (89, 90),
    "circles of imports": (0, 0),
    "imports of the root from surfaces": (0, 0),
    "banned words in names": (0, 0),
    "banned words in docstrings": (0, 0),
}


@dataclass(frozen=True)
class Module:
    """A module of the package: its path below the package, its source and its syntax tree."""

    name: str
    source: str
    tree: ast.Module


def main() -> int:
    """Print every figure with its ceiling and target; return 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--check", action="store_true", help="fail if a figure exceeds its ceiling")
    parser.add_argument("--write", action="store_true", help="write the page of results")
    options = parser.parse_args()
    figures = measured(options.tree)
    page = rendered(figures)
    print(page)
    if options.write:
        PAGE.write_text(page + "\n", "utf-8")
    if not options.check:
        return 0
    problems = list(_exceeded(figures))
    if _read_off(PAGE.read_text("utf-8")) != _read_off(page):
        problems.append(f"{PAGE.relative_to(ROOT)} is not what this prints: run 'python -m bench structure --write'")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def measured(tree: Path) -> dict[str, float]:
    """Measure the package of a checkout; return each figure by its name, in the order of the page."""
    package = tree / "src" / "rifflux"
    modules = [_read(path, package) for path in sorted(package.rglob("*.py"))]
    figures: dict[str, float] = {}
    figures.update(_journeys(tree))
    figures.update(_density(modules))
    figures.update(_names(modules))
    figures.update(_fields(modules))
    figures.update(_imports(tree))
    figures.update(_size(modules))
    return figures


def rendered(figures: dict[str, float]) -> str:
    """Return the figures as a page of Markdown."""
    lines = [
        "# Structure",
        "",
        "Made by `python -m bench structure --write`; `make check` fails if a figure exceeds its ceiling.",
        "",
        "| figure | now | ceiling | target |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, value in figures.items():
        limits = LIMITS.get(name)
        ceiling = f"{limits[0]:g}" if limits else ""
        target = f"{limits[1]:g}" if limits else ""
        lines.append(f"| {name} | {value:,.10g} | {ceiling} | {target} |")
    return "\n".join(lines)


def _read_off(page: str) -> list[str]:
    """Return the rows that have a ceiling and follow from the source; journeys depend on the Python that runs them."""
    names = [name for name in LIMITS if not name.endswith((": modules", ": functions"))]
    return [line for line in page.splitlines() if line.startswith(tuple(f"| {name} |" for name in names))]


def _exceeded(figures: dict[str, float]) -> Iterator[str]:
    for name, (ceiling, _) in LIMITS.items():
        if figures[name] > ceiling:
            yield f"{name}: {figures[name]:g}, at most {ceiling:g}"


def _read(path: Path, package: Path) -> Module:
    source = path.read_text("utf-8")
    return Module(str(path.relative_to(package)), source, ast.parse(source))


def _journeys(tree: Path) -> Iterator[tuple[str, float]]:
    """Trace the journeys in a process of their own, which imports the package of that checkout."""
    command = [sys.executable, "-m", "bench", "journeys", "--json", "--tree", str(tree)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    for title, counts in json.loads(done.stdout).items():
        yield f"{title}: modules", counts["modules"]
        yield f"{title}: functions", counts["functions"]


def _density(modules: list[Module]) -> Iterator[tuple[str, float]]:
    """Yield how much is packed into single statements, per 1,000 lines."""
    counts: Counter[str] = Counter()
    for module in modules:
        for node in ast.walk(module.tree):
            if _is_tuple_assignment(node):
                counts["tuple assignments, rate"] += 1
            elif isinstance(node, ast.IfExp):
                counts["conditional expressions, rate"] += 1
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DENSE_CALLS:
                counts["map, partial, itemgetter, chain, rate"] += 1
    lines = sum(module.source.count("\n") for module in modules)
    for name in (
        "tuple assignments, rate",
        "conditional expressions, rate",
        "map, partial, itemgetter, chain, rate",
    ):
        yield name, round(1000 * counts[name] / lines, 1)


def _is_tuple_assignment(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and isinstance(node.targets[0], ast.Tuple)
        and len(node.value.elts) == len(node.targets[0].elts)
    )


def _names(modules: list[Module]) -> Iterator[tuple[str, float]]:
    """Yield how often class names repeat, and how many names and docstrings hold a banned word."""
    classes: dict[str, set[str]] = defaultdict(set)
    names: set[tuple[str, str]] = set()
    docstrings = 0
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].add(module.name)
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.add((module.name, node.name))
                docstrings += _is_banned((ast.get_docstring(node) or "").partition("\n")[0], r"\b", r"\b")
            elif isinstance(node, ast.arg):
                names.add((module.name, node.arg))
            if isinstance(node, ast.ClassDef):
                names.update((module.name, field) for field in _annotated(node))
    yield "class names used twice", sum(len(places) > 1 for places in classes.values())
    yield "banned words in names", sum(_is_banned(_snake_case(name), "(?:^|_)", "(?:$|_)") for _, name in names)
    yield "banned words in docstrings", docstrings


def _annotated(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _is_banned(text: str, before: str, after: str) -> bool:
    return bool(re.search(f"{before}(?:{'|'.join(BANNED)}){after}", text.lower()))


def _fields(modules: list[Module]) -> Iterator[tuple[str, float]]:
    """Yield the number of fields of the values that travel furthest, and of the public names."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and node.name in ("Query", "Profile"):
                yield f"fields of {node.name}", sum(isinstance(each, ast.AnnAssign) for each in node.body)
        if module.name == "__init__.py":
            yield "public names", len(_public_names(module.tree))
            yield "imports of the root from surfaces", _imports_from_surfaces(module.tree)


def _public_names(tree: ast.Module) -> set[str]:
    """Return the names that the root imports as themselves, which is how it declares what is public."""
    aliases: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            aliases.update(alias.name for alias in node.names if alias.name == alias.asname)
    return aliases


def _imports_from_surfaces(tree: ast.Module) -> int:
    return sum(
        isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rifflux.surfaces")
        for node in ast.walk(tree)
    )


def _imports(tree: Path) -> Iterator[tuple[str, float]]:
    """Yield the number of circles among the modules."""
    sys.path.insert(0, str(tree / "src"))
    graph = grimp.build_graph("rifflux", exclude_type_checking_imports=True, cache_dir=None)
    imported = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    yield "circles of imports", sum(len(group) > 1 for group in _strongly_connected(imported))


def _strongly_connected(edges: dict[str, set[str]]) -> list[set[str]]:
    """Return the groups of nodes that reach each other (Kosaraju's algorithm)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in sorted(edges):
        _visit(start, edges, seen, order)
    reverse: dict[str, set[str]] = {node: set() for node in edges}
    for node, targets in edges.items():
        for target in targets:
            reverse[target].add(node)
    groups: list[set[str]] = []
    seen = set()
    for start in reversed(order):
        group: list[str] = []
        _visit(start, reverse, seen, group)
        if group:
            groups.append(set(group))
    return groups


def _visit(start: str, edges: dict[str, set[str]], seen: set[str], order: list[str]) -> None:
    """Append what is reachable from `start` and not yet seen to `order`, each node after those it leads to."""
    if start in seen:
        return
    seen.add(start)
    stack = [(start, iter(sorted(edges[start])))]
    while stack:
        node, targets = stack[-1]
        target = next((each for each in targets if each not in seen), None)
        if target is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(sorted(edges[target]))))


def _size(modules: list[Module]) -> Iterator[tuple[str, float]]:
    """Yield how much code there is; size is no aim, and has no ceiling."""
    yield "modules", len(modules)
    yield "lines", sum(module.source.count("\n") for module in modules)
    yield "nodes of the syntax trees", sum(sum(1 for _ in ast.walk(module.tree)) for module in modules)
    lengths: list[int] = []
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lengths += [(node.end_lineno or node.lineno) - node.lineno + 1]
    yield "functions", len(lengths)
    yield "lines of a function, median", statistics.median(lengths)
    yield "lines of a function, most", max(lengths)


if __name__ == "__main__":
    sys.exit(main())
