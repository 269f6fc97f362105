"""`rifflux verify`: check the passages of an evidence pack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rifflux import InvalidArgument, NotFound
from rifflux.requests import Replay
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, WorksOf, app
from rifflux.surfaces.shared.nouns import JsonObject
from rifflux.surfaces.shared.packs import checked_json, read_pack, verified_json


@app.command(epilog="Example: rifflux verify evidence.json --replay")
def verify(
    here: CommonOptions,
    pack: Annotated[
        Path, typer.Argument(help="A pack, as 'rifflux retrieve --json' and 'rifflux ask --json' print it.")
    ],
    offline: Annotated[bool, typer.Option("--offline", help="Check it by itself, without the index.")] = False,
    replay: Replay = False,
    user: WorksOf = "",
) -> None:
    """Check every passage of an evidence pack against its hash and its work, and the facts of the work.

    With --replay, order, scores, confidence and notes too, by repeating the request. A changed index is reported as
    such. Exit status 1 if something differs.
    """
    from rifflux import verify as check

    if not pack.is_file():
        raise NotFound(f"no file at {pack}: save a pack with 'rifflux retrieve --json'")
    text = pack.read_text("utf-8", "replace")
    if offline:
        if replay:
            raise InvalidArgument("nothing can be asked again offline: leave out --offline or --replay")
        evidence = read_pack(text)
        found = verified_json(evidence, check(evidence))
    else:
        with here.opened(user) as index:
            found = checked_json(index, text, replay=replay)
    show.outcome("\n".join(found["problems"]) or _sound(found), found, as_json=here.json)
    if found["problems"]:
        raise typer.Exit(1)


def _sound(found: JsonObject) -> str:
    """Return a summary of what was checked."""
    count = found["items"]
    if count:
        summary = f"{show.counted(count, 'passage')} unchanged"
    else:
        summary = "it holds no passages to check"
    if found["replayed"] == "agrees":
        return f"{summary}; asked again, the answer is the same"
    if found["note"]:
        return f"{summary}; {found['note']}, so order and scores were not compared"
    return summary
