"""Explanations are for people: nothing but a surface reads one back."""

from __future__ import annotations

import ast
from pathlib import Path

import rifflux

SOURCE = Path(rifflux.__file__).parent
#: They show explanations, and `types` holds them.
SHOWING = ("surfaces", "testing", "types")
#: The parts of an explanation that a module could decide by.
READ = {"because", "detail"}


def test_nothing_below_the_surfaces_reads_an_explanation() -> None:
    reading = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in SHOWING
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in READ
    ]
    assert not reading
