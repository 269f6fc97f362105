"""The metadata in front of a Markdown text: `key: value` lines and lists between two lines of `---`.

That is the part of YAML people write there; it needs no YAML parser, and a file can't be unreadable for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

__all__ = ["FrontMatter", "date_in", "front_matter"]

_FENCED = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"""^(?:"([^"\n]+)"|'([^'\n]+)'|([^\s:#'"\[\]{}-][^:\n]*?))[ \t]*:(?:[ \t]+(.*))?$""")
_ITEM = re.compile(r"[ \t]*-(?:[ \t]+(.*))?$")
_COMMENT = re.compile(r"(?:^|[ \t]+)#.*$")
_FLOW_ITEM = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]*)\s*(?:,|$)""")
_QUOTED = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')\s*(?:#.*)?""")
_ESCAPE = re.compile(r"\\(.)")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(\.\d+)?")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


#: A scalar, or a list of texts.
Value = bool | int | float | str | list[str]


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values by key, in the order of the file, and where the text begins behind them."""

    values: Mapping[str, Value] = field(default_factory=dict)
    end: int = 0


def front_matter(text: str) -> FrontMatter:
    """What stands between `---` lines at the very start of `text`; nothing if that isn't a list of keys."""
    fenced = _FENCED.match(text)
    if fenced is None:
        return FrontMatter()
    lines = fenced.group(1).split("\n")
    first = next((line for line in lines if _COMMENT.sub("", line).strip()), "")
    if first and not _ENTRY.match(first):
        return FrontMatter()  # a text between two rules
    values = {key: _value(scalar, rest) for key, scalar, rest in _entries(lines)}
    return FrontMatter({key: value for key, value in values.items() if value is not None}, fenced.end())


def date_in(values: Mapping[str, Value], *keys: str) -> str | None:
    """The first of these keys that holds an ISO 8601 date, made strict: a `T` before the time, no spaces."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, str) and _ISO_DATE.fullmatch(value):
            day, time = value[:10], value[11:].replace(" ", "")
            return f"{day}T{time}" if time else day
    return None


def _entries(lines: list[str]) -> list[tuple[str, str, list[str]]]:
    """Each key with what stands behind its colon and the lines that belong to it."""
    entries: list[tuple[str, str, list[str]]] = []
    for line in lines:
        entry = _ENTRY.match(line)
        if entry:
            key = entry[1] or entry[2] or entry[3]
            entries.append((key, (entry[4] or "").strip(), []))
        elif entries and line.strip() and not line.startswith("#"):
            entries[-1][2].append(line)
    return entries


def _value(scalar: str, rest: list[str]) -> Value | None:
    if scalar[:1] in {"|", ">"}:
        return dedent("\n".join(rest)).strip()
    if not scalar.startswith(('"', "'")):
        scalar = _COMMENT.sub("", scalar)
    if scalar.startswith("[") and scalar.endswith("]"):
        return _flow_list(scalar[1:-1])
    items = [_ITEM.match(line) for line in rest]
    if not scalar and items and all(items):
        return [_unquoted(_uncommented(item[1] or "")) for item in items if item]
    if rest:  # a scalar over several lines, or a mapping: kept as it is written
        return "\n".join(part for part in (scalar, dedent("\n".join(rest)).rstrip()) if part)
    return _scalar(scalar)


def _flow_list(inner: str) -> list[str]:
    items = (match[1].strip() for match in _FLOW_ITEM.finditer(inner))
    return [_unquoted(item) for item in items if item]


def _uncommented(scalar: str) -> str:
    return scalar if scalar.startswith(('"', "'")) else _COMMENT.sub("", scalar)


def _scalar(scalar: str) -> Value | None:
    if scalar.lower() in _WORDS:
        return _WORDS[scalar.lower()]
    number = _NUMBER.fullmatch(scalar)
    if number:
        return float(scalar) if number[1] else int(scalar)
    return _unquoted(scalar)


def _unquoted(scalar: str) -> str:
    quoted = _QUOTED.fullmatch(scalar)
    if quoted is None:
        return scalar.strip()
    if quoted[1] is not None:
        return _ESCAPE.sub(r"\1", quoted[1])
    return quoted[2].replace("''", "'")
