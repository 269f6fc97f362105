"""Run a bench program by its name: `bench NAME [ARGUMENTS]`; without a name, list them."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
GROUPS = ("quality", "speed", "durability", "service", "structure")


def programs() -> dict[str, Path]:
    """Return the module of each program by its name; a program is a module with a `main`."""
    modules = (path for group in GROUPS for path in sorted((HERE / group).glob("*.py")))
    return {path.stem: path for path in modules if "\ndef main(" in path.read_text("utf-8")}


def main() -> int:
    """Run the program that the first argument names."""
    found = programs()
    if len(sys.argv) < 2 or sys.argv[1] not in found:
        print(_listed(found))
        return 0 if sys.argv[1:] in ([], ["-h"], ["--help"]) else 2
    name = sys.argv[1]
    sys.argv = [f"python -m bench {name}", *sys.argv[2:]]
    status: int | None = importlib.import_module(f"bench.{found[name].parent.name}.{name}").main()
    return status or 0


def _listed(found: dict[str, Path]) -> str:
    lines = ["python -m bench NAME [ARGUMENTS]    --help after a name tells its arguments"]
    for group in GROUPS:
        lines.append(f"\n{group}")
        lines += [f"  {name:<14}{_first_line(path)}" for name, path in found.items() if path.parent.name == group]
    return "\n".join(lines)


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n", 1)[0]


if __name__ == "__main__":
    sys.exit(main())
