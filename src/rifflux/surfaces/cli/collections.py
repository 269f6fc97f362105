"""`rifflux collections`: collections and their readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux.requests import CollectionRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import WhoseCommonOptions, group
from rifflux.surfaces.shared.nouns import collection_json

if TYPE_CHECKING:
    from rifflux import CollectionInfo

collections = group(
    "collections",
    """List, share, describe, rename and remove collections.

    A collection is named documents with an owner, a description and readers. Everybody has a library, which holds
    what no other collection was named for; without --user it is nobody's in particular, private until shared.""",
)

Name = Annotated[str, typer.Argument(help="Its name, as in 'rifflux collections list'.", metavar="NAME")]
With = Annotated[str, typer.Option("--with", help="A user, a group, or everyone.", metavar="WHO")]
_COLUMNS = ("name", "owner", "documents", "readers", "roots", "description")


@collections.command("list", epilog="Example: rifflux collections list --user ann")
def list_(here: WhoseCommonOptions) -> None:
    """List the collections of a user, and those shared with them."""
    with here.opened() as index:
        found = [collection_json(each) for each in index.collections.list()]
    if here.json:
        show.print_json(found)
        return
    rows = [
        {**each, "readers": _readers(each["readers"]), "roots": show.one_line(", ".join(each["roots"]))}
        for each in found
    ]
    show.table(rows, _COLUMNS, nothing="none", as_json=False)


@collections.command(epilog="Example: rifflux collections create minutes --description 'What was decided'")
def create(request: CollectionRequest, here: WhoseCommonOptions) -> None:
    """Create an empty collection; 'rifflux index PATH --collection NAME' creates one too."""
    with here.opened(create=True) as index:
        _print(here, "made", index.collections.create(**vars(request)))


@collections.command(
    epilog="""Examples:  rifflux collections share wiki --with everyone

rifflux collections share drafts --with bob --write --user ann"""
)
def share(
    here: WhoseCommonOptions,
    name: Name,
    who: With,
    write: Annotated[bool, typer.Option("--write", help="Let them change what it holds, too.")] = False,
) -> None:
    """Let a user, a group or everyone read a collection."""
    with here.opened() as index:
        _print(here, f"shared with {who}", index.collections.share(name, who, write=write))


@collections.command(epilog="Example: rifflux collections unshare wiki --with everyone")
def unshare(here: WhoseCommonOptions, name: Name, who: With) -> None:
    """Stop sharing a collection with a user, a group or everyone."""
    with here.opened() as index:
        _print(here, f"no longer shared with {who}", index.collections.unshare(name, who))


@collections.command(epilog="Example: rifflux collections describe wiki 'How we run the service'")
def describe(
    here: WhoseCommonOptions,
    name: Name,
    description: Annotated[str, typer.Argument(help="What it holds, in a sentence or two.")],
) -> None:
    """Describe a collection; agents see the description with what they find in it."""
    with here.opened() as index:
        _print(here, "described", index.collections.describe(name, description))


@collections.command(epilog="Example: rifflux collections rename wiki handbook")
def rename(here: WhoseCommonOptions, name: Name, new: Annotated[str, typer.Argument(help="Its new name.")]) -> None:
    """Rename a collection; its contents and readers stay."""
    with here.opened() as index:
        _print(here, "renamed", index.collections.rename(name, new))


@collections.command(
    epilog="""Examples:  rifflux collections remove drafts --yes

rifflux collections remove library ~/old-notes"""
)
def remove(
    here: WhoseCommonOptions,
    name: Name,
    roots: Annotated[list[Path] | None, typer.Argument(help="Only what is of these folders or files.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
) -> None:
    """Delete a collection with its contents, or only those of some roots. The files themselves stay."""
    with here.opened() as index:
        if not yes and not roots:
            holds = index.collections.get(name).documents
            typer.confirm(
                f"Remove the collection {name!r} with {show.counted(holds, 'document')}?", abort=True, err=True
            )
        count = index.collections.remove(name, *(roots or ()))
    show.outcome(f"{show.counted(count, 'document')} removed", {"name": name, "removed": count}, as_json=here.json)


def _print(here: WhoseCommonOptions, done: str, found: CollectionInfo) -> None:
    readers = _readers(collection_json(found)["readers"]) or "nobody else"
    show.outcome(f"{found.name} {done}; read by {readers}", collection_json(found), as_json=here.json)


def _readers(readers: list[dict[str, object]]) -> str:
    return ", ".join(f"{each['who']}{' (write)' if each['write'] else ''}" for each in readers)
