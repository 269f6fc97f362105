"""`rifflux groups`: names for sets of users, to share collections with."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, group

groups = group("groups", "Names for sets of users, to share collections with.")

Name = Annotated[str, typer.Argument(help="The group's name.")]


@groups.command("list")
def list_(here: CommonOptions) -> None:
    """List the groups with their members."""
    with here.opened() as index:
        found = index.collections.groups()
    if here.json:
        show.print_json([{"name": name, "members": list(members)} for name, members in found.items()])
        return
    rows = [{"name": name, "members": ", ".join(members)} for name, members in found.items()]
    show.table(rows, ("name", "members"), nothing="no groups yet: 'rifflux groups set NAME USER...'", as_json=False)


@groups.command("set", epilog="Example: rifflux groups set design ann bob")
def set_(
    here: CommonOptions,
    name: Name,
    members: Annotated[list[str] | None, typer.Argument(help="All of its users: those it had before are replaced.")] = (
        None
    ),
) -> None:
    """Set the users of a group, replacing those it had."""
    with here.opened() as index:
        index.collections.set_group(name, members or [])
    record = {"name": name, "members": sorted(set(members or []))}
    show.outcome(f"{name}: {', '.join(record['members']) or 'nobody'}", record, as_json=here.json)


@groups.command(epilog="Example: rifflux groups remove design")
def remove(here: CommonOptions, name: Name) -> None:
    """Delete a group, which ends what was shared with it."""
    with here.opened() as index:
        index.collections.remove_group(name)
    show.outcome(f"{name} removed", {"removed": name}, as_json=here.json)
