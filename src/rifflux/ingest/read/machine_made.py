"""Recognition of text that programs wrote for programs: nobody searches for it, and it fills an index.

Content decides where it can: the length of lines, runs of base64, headers of generators, statements of dumps. Lock
files look like any other data, so `lock_files.txt` lists their names; names of minified code and maps of it say so.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

#: Nobody writes code in lines of this many bytes on average.
LONG_LINES = 400
#: A JSON file larger than this without documents is data.
LARGE_DATA = 2**18
#: The minimum share of a text in unbroken runs of base64 for it to be a drawing, or other data.
ENCODED = 0.5
_HEAD = 2048
#: Files up to this many bytes are read whatever their content: they take little room.
_SMALL = 1024

_CODE = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".css", ".scss", ".less"})
_CATALOGUES = frozenset({".po", ".pot", ".xlf", ".xliff"})
_LIKE_CODE = re.compile(r"\.(?:[chmr]|cc|cpp|cs|go|hh|hpp|java|kt|lua|php|py|pyi|rb|rs|scala|swift|vb)\Z")
_RUN = re.compile(rb"[A-Za-z0-9+/]{200,}")
_MIXED = re.compile(rb"(?=.*[0-9])(?=.*[a-z]).*[A-Z]")
#: The comments of generators in the first lines: Go's convention, and that of many others.
_GENERATED = re.compile(
    rb"^\W*(?:@generated\b|code generated\b.*\bdo not edit|"
    rb".*\b(?:auto-?generated|automatically generated|generated (?:by|from|code))\b.*\bdo not (?:edit|modify))",
    re.IGNORECASE | re.MULTILINE,
)
_INSERT = re.compile(rb"^(?:INSERT INTO|COPY .* FROM stdin)\b", re.IGNORECASE | re.MULTILINE)


def machine_made(path: str, data: bytes) -> str:
    """Return the kind of a machine-made file, such as `lock` or `minified`, or an empty string for others."""
    name = PurePosixPath(path).name.lower()
    if name.endswith((".map", ".min.css", ".min.js")):
        return "generated"
    if len(data) <= _SMALL:
        return ""
    suffix = PurePosixPath(name).suffix
    if name in _lock_files():
        return "lock"
    if suffix in _CATALOGUES:
        return "catalogue"
    if suffix in (".pdf", ".docx", ".pptx", ".xlsx", ".ods", ".xls", ".eml", ".mbox", ".ipynb", ".jsonl", ".ndjson"):
        return ""
    if suffix in _CODE and len(data) > LONG_LINES * (data.count(b"\n") + 1):
        return "minified"
    if (suffix in _CODE or _LIKE_CODE.search(name)) and _GENERATED.search(data, 0, _HEAD):
        return "generated"
    if suffix == ".sql" and len(_INSERT.findall(data)) * 2 > data.count(b"\n"):
        return "dump"
    if suffix == ".json" and len(data) > LARGE_DATA:
        from rifflux.ingest.read.jsonl import holds_records

        return "" if holds_records(data) else "dump"
    encoded = sum(len(run) for run in _RUN.findall(data) if _MIXED.match(run, 0, 200))
    if encoded > ENCODED * len(data):
        return "drawing"
    return ""


@cache
def _lock_files() -> frozenset[str]:
    lines = files(__package__).joinpath("lock_files.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))
