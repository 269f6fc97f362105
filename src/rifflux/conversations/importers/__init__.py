"""Readers of the exports of services: one module per format, recognized by content."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

from rifflux.conversations.importers.base import ENDINGS, Format, Item, Tally, outline_of
from rifflux.conversations.importers.claude import CLAUDE
from rifflux.conversations.importers.discord import DISCORD, DISCORD_PACKAGE
from rifflux.conversations.importers.export import Export, opened
from rifflux.conversations.importers.openai import OPENAI
from rifflux.conversations.importers.plain import JSONL, MESSAGES
from rifflux.conversations.importers.slack import SLACK
from rifflux.conversations.importers.telegram import TELEGRAM
from rifflux.conversations.importers.whatsapp import WHATSAPP
from rifflux.errors import InvalidArgument, NotFound, Unreadable
from rifflux.types import Failure

__all__ = ["FORMATS", "Format", "Tally", "checked_format", "read"]

#: The formats, in the order in which they are tried.
FORMATS: Mapping[str, Format] = {
    "slack": SLACK,
    "discord-package": DISCORD_PACKAGE,
    "openai": OPENAI,
    "claude": CLAUDE,
    "telegram": TELEGRAM,
    "discord": DISCORD,
    "whatsapp": WHATSAPP,
    "jsonl": JSONL,
    "messages": MESSAGES,
}
#: The maximum depth of files in a folder or zip, except for exports that are recognized as a whole.
_DEPTH = 3


def read(sources: Sequence[str | Path], format: str | None = None, tally: Tally | None = None) -> Iterator[Item]:
    """Yield the conversations of exports: files, zips and folders; unreadable parts are yielded as `Failure`.

    `tally` counts what was recognized and left out. Raises `NotFound` for a path that does not exist and
    `InvalidArgument` for an unknown format, before reading anything.
    """
    checked_format(format)
    found = [Path(source).expanduser() for source in sources]
    for source in found:
        if not source.exists():
            raise NotFound(f"nothing at {source}: check the path's spelling")
    return _all(found, format, tally or Tally())


def checked_format(format: str | None) -> str | None:
    """Return the name of a known format. Raises `InvalidArgument`."""
    if format is not None and format not in FORMATS:
        raise InvalidArgument(f"no format {format!r}: choose one of {', '.join(FORMATS)}")
    return format


def _all(sources: Sequence[Path], format: str | None, tally: Tally) -> Iterator[Item]:
    for source in sources:
        try:
            with opened(source) as export:
                yield from _export(export, format, tally)
        except Unreadable as error:
            yield Failure.of(str(source), error)


def _export(export: Export, format: str | None, tally: Tally) -> Iterator[Item]:
    """Yield the content of one export, as a whole or file by file; zips within a folder are exports of their own."""
    for name in (format,) if format else FORMATS:
        holds = FORMATS[name].holds
        if holds and not export.alone and holds(export):
            tally.recognized[name] += 1
            yield from FORMATS[name].read(export, "", tally)
            return
    if format and FORMATS[format].holds:
        raise Unreadable(f"is no export of {FORMATS[format].service}: leave the format out, and it is recognized")
    known = 0
    for name in export.names:
        known += yield from _file(export, name, format, tally)
    if not known:
        services = ", ".join(each.service for each in FORMATS.values())
        raise Unreadable(f"is no export that is known: choose the zip or file as it was downloaded, of {services}")
    if others := len(export.names) - known:
        tally.skip("other files", others)


def _file(export: Export, name: str, format: str | None, tally: Tally) -> Generator[Item, None, bool]:
    """Yield the conversations of one file; return False if no format matches."""
    try:
        if export.folder and name.lower().endswith(".zip") and "/" not in name:
            with opened(export.folder / name) as packed:
                yield from _export(packed, format, tally)
            return True
        if (not name.lower().endswith(ENDINGS) and not export.alone) or name.count("/") >= _DEPTH:
            return False
        claimed = _format_of(export, name, format)
        if claimed is None:
            return False
        tally.recognized[claimed] += 1
        yield from FORMATS[claimed].read(export, name, tally)
        return True
    except Unreadable as error:
        yield Failure.of(export.label(name), error)
        return True


def _format_of(export: Export, name: str, format: str | None) -> str | None:
    """Return the first format that claims a file. A single file always has the format given by the caller."""
    if format and export.alone:
        return format
    outline = outline_of(export, name)
    for each in (format,) if format else FORMATS:
        if FORMATS[each].claims(name, outline):
            return each
    return None
