"""Trace four requests on one-file inputs, and count what each goes through.

    python -m bench journeys [--hot a b c d] [--tree FOLDER] [--json]

a) A Markdown file becomes a stored vector, b) a question becomes a hit, c) two works are retrieved with evidence, and
d) two messages are imported into a scope. Every function of the package that is entered is noted, in order, threads
included. `moves` are the entries into another module than the one before, and `back` those among them into a module
that was entered earlier. Lambdas and generators are functions, comprehensions and generator expressions are not; a
generator is entered each time it goes on. Each request was made once before on another index with the bundled model, so
that nothing is imported or loaded while it is counted.

`--hot` lists the modules and functions of the named journeys, those most entered first. `--tree` traces the package of
another checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

__all__ = ["JOURNEYS", "Trace", "main", "traced"]

NOTE = "# Cache\n\nEntries of the cache live ten minutes.\n\n## Eviction\n\nThe oldest entry goes first.\n"
#: The date of the note's file, in seconds since 1970.
NOTED_AT = 1_600_000_000
WORKS = (
    {
        "id": "1",
        "title": "Sheaf cohomology",
        "text": "Sheaf cohomology of spaces by resolutions.",
        "authors": ["Ann Able"],
        "year": 2010,
    },
    {
        "id": "2",
        "title": "Etale cohomology",
        "text": "Etale cohomology of schemes and its finiteness.",
        "cites": ["1"],
    },
)
MESSAGES = (
    {"id": "m1", "role": "user", "text": "How long do entries live?", "created_at": "2024-01-01T00:00:00Z"},
    {"id": "m2", "role": "assistant", "text": "Ten minutes.", "created_at": "2024-01-01T00:01:00Z"},
)
#: Marks a function's code; the bodies of modules and classes have it not.
OPTIMIZED = 0x02
#: Comprehensions and generator expressions, which Python runs as functions, or part of the function around them.
COMPREHENSIONS = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}

Request = Callable[[], object]


@dataclass
class Trace:
    """The functions of a package in the order in which they were entered."""

    package: str
    entered: list[tuple[str, str]] = field(default_factory=list)
    dataclasses: set[str] = field(default_factory=set)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call, as `sys.setprofile` tells it."""
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(self.package):
            if code.co_flags & OPTIMIZED and code.co_name not in COMPREHENSIONS:
                self.entered.append((code.co_filename[len(self.package) :], code.co_qualname))
        elif _makes_dataclass(code):
            self.dataclasses.add(type(frame.f_locals.get("self")).__qualname__)

    @property
    def modules(self) -> set[str]:
        """Return the modules that were entered."""
        return {module for module, _ in self.entered}

    @property
    def functions(self) -> set[tuple[str, str]]:
        """Return the functions that were entered, each with its module."""
        return set(self.entered)

    @property
    def moves(self) -> int:
        """Count the entries into another module than the one before."""
        return sum(one[0] != next[0] for one, next in zip(self.entered, self.entered[1:], strict=False))


def _makes_dataclass(code: CodeType) -> bool:
    return code.co_filename == "<string>" and code.co_name == "__init__"


def traced(request: Request, package: str) -> Trace:
    """Make a request and return its trace."""
    trace = Trace(package)
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        request()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return trace


def _notes(folder: Path) -> Path:
    notes = folder / "notes"
    notes.mkdir()
    note = notes / "cache.md"
    note.write_text(NOTE)
    # Dates are parsed once; with the clock's, that would depend on whether a second has passed since the warm request.
    os.utime(note, (NOTED_AT, NOTED_AT))
    return notes


def _add(folder: Path) -> Request:
    import rifflux

    notes, index = _notes(folder), rifflux.open(folder / "index.db")
    return lambda: index.add(notes)


def _search(folder: Path) -> Request:
    import rifflux

    index = rifflux.open(folder / "index.db")
    index.add(_notes(folder))
    return lambda: index.search("how long do cache entries live")


def _retrieve(folder: Path) -> Request:
    import rifflux

    index = rifflux.open(folder / "index.db", profile="works")
    lines = "\n".join(map(json.dumps, WORKS))
    index.works.import_text(lines, source="few", format="jsonl", license="CC0-1.0")
    return lambda: index.retrieve("how does etale cohomology relate to sheaf cohomology")


def _import(folder: Path) -> Request:
    import rifflux

    file = folder / "export.jsonl"
    file.write_text(json.dumps({"id": "c1", "title": "Cache", "messages": MESSAGES}))
    index = rifflux.open(folder / "index.db")
    return lambda: index.scoped(rifflux.Scope("ann")).conversations.import_files(file, embed=True)


#: Each journey by its letter: its title, and what prepares it.
JOURNEYS: dict[str, tuple[str, Callable[[Path], Request]]] = {
    "a": ("one Markdown file to a stored vector", _add),
    "b": ("question to hit", _search),
    "c": ("retrieve of two works", _retrieve),
    "d": ("scoped import of two messages", _import),
}


def journeys() -> Iterator[tuple[str, Trace]]:
    """Trace each journey, and yield it with its letter."""
    import rifflux

    package = f"{Path(rifflux.__file__).parent}/"
    for letter, (_, prepare) in JOURNEYS.items():
        with tempfile.TemporaryDirectory() as folder:
            for name in ("warm", "traced"):
                (Path(folder) / name).mkdir()
            prepare(Path(folder) / "warm")()
            yield letter, traced(prepare(Path(folder) / "traced"), package)


def main() -> None:
    """Print a line for each journey, and what is hot where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hot", nargs="*", choices=list(JOURNEYS), default=[])
    parser.add_argument("--tree", type=Path, help="another checkout")
    parser.add_argument("--json", action="store_true", help="print the modules and functions of each journey as JSON")
    arguments = parser.parse_args()
    if arguments.tree:
        sys.path.insert(0, str(arguments.tree / "src"))
    traces = dict(journeys())
    if arguments.json:
        print(json.dumps({JOURNEYS[letter][0]: _counts(trace) for letter, trace in traces.items()}))
        return
    print("\n".join(lines(traces)))
    for letter in arguments.hot:
        print("\n".join(_hot(letter, traces[letter])))


def lines(traces: dict[str, Trace]) -> Iterator[str]:
    """Yield a Markdown table of the journeys."""
    yield "| journey | modules | functions | calls | moves (back) | dataclasses |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for letter, trace in traces.items():
        title, _ = JOURNEYS[letter]
        back = trace.moves - len(trace.modules) + 1
        yield (
            f"| {letter}) {title} | {len(trace.modules)} | {len(trace.functions)} "
            f"| {len(trace.entered)} | {trace.moves} ({back}) | {len(trace.dataclasses)} |"
        )


def _counts(trace: Trace) -> dict[str, int]:
    return {"modules": len(trace.modules), "functions": len(trace.functions)}


def _hot(letter: str, trace: Trace) -> Iterator[str]:
    into = Counter(
        next[0] for one, next in zip([("", ""), *trace.entered], trace.entered, strict=False) if one[0] != next[0]
    )
    calls, functions = Counter(trace.entered), Counter(module for module, _ in trace.functions)
    yield f"\n{letter}) {JOURNEYS[letter][0]}: moves into the module, its functions, each with its calls"
    for module, moves in into.most_common():
        names = sorted(((count, name) for (at, name), count in calls.items() if at == module), reverse=True)
        told = ", ".join(f"{name} {count}" if count > 1 else name for count, name in names)
        yield f"{moves:>4} {functions[module]:>3}  {module}: {told}"
