"""`rifflux cluster`: look after an index on an OpenSearch cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, group

if TYPE_CHECKING:
    from rifflux.index.cluster import ClusterAdministration

cluster = group("cluster", "Look after an index on an OpenSearch cluster: --db opensearch://HOST:PORT/NAME.")

Shards = Annotated[int | None, typer.Option("--shards", help="Shards of the index, each searched by one core.")]
Replicas = Annotated[int | None, typer.Option("--replicas", help="Replicas of each shard, on other nodes.")]
Spread = Annotated[int, typer.Option("--spread", help="Shards of each owner: more for owners of millions of passages.")]
Repository = Annotated[str, typer.Argument(help="A repository for snapshots that the cluster knows.")]
Name = Annotated[str, typer.Argument(help="The snapshot.")]


def _cluster(here: CommonOptions) -> ClusterAdministration:
    from rifflux.index.cluster import cluster_of

    return cluster_of(str(here.settings().location(create=True)))


@cluster.command(epilog="Example: rifflux cluster status --db opensearch://localhost:9200/notes")
def status(here: CommonOptions) -> None:
    """Show the health, version, shards and size of the index."""
    found = _cluster(here).status()
    if here.json:
        show.print_json(asdict(found))
        return
    rows = [
        ("index", found.index),
        ("health", found.health + (f", {found.unassigned} shards on no node" if found.unassigned else "")),
        ("cluster", f"OpenSearch {found.version}, nodes: {found.nodes}"),
        ("shards", f"{found.shards}, with {found.replicas} replicas each; each owner is in {found.spread}"),
        ("rows", f"{found.rows:,}, and {found.deleted:,} deleted ones until segments are merged"),
        ("size", f"{found.bytes / 1e6:,.1f} MB"),
    ]
    if found.is_blocked:
        rows.append(("writes", "refused: the disk is nearly full, or the index is being copied"))
    show.pairs(rows)


@cluster.command(epilog="Example: rifflux cluster init --shards 3 --db opensearch://localhost:9200/notes")
def init(here: CommonOptions, shards: Shards = 1, replicas: Replicas = 1, spread: Spread = 1) -> None:
    """Create the index, and print a role for users who may read only their own content.

    The role is for OpenSearch's security plugin, and has not been tried.
    """
    made = _cluster(here)
    found = made.init(shards or 1, 1 if replicas is None else replicas, spread)
    _say(here, f"created {found.address}, with {found.shards} shards", {**asdict(found), "role": made.role()})
    if not here.json:
        show.note("a role for users who read only their own content (it has not been tried):")
        show.print_json(made.role())


@cluster.command(epilog="Example: rifflux cluster reindex --shards 6 --db opensearch://localhost:9200/notes")
def reindex(here: CommonOptions, shards: Shards = None, replicas: Replicas = None) -> None:
    """Copy the index to one with other shards or replicas, which then takes its place.

    Searches go on meanwhile, and writes are refused. If it is killed, run it again: it goes on.
    """
    with show.progress() as progress:
        done = _cluster(here).reindex(shards, replicas, progress)
    _say(here, f"copied {done.rows:,} rows to {done.index}, in {done.seconds:.1f} s", asdict(done))


@cluster.command(epilog="Example: rifflux cluster snapshot backups monday --db opensearch://localhost:9200/notes")
def snapshot(
    here: CommonOptions,
    repository: Repository,
    name: Name,
    folder: Annotated[str, typer.Option("--folder", help="Register it there, if the cluster lacks it.")] = "",
) -> None:
    """Make a snapshot of the index."""
    made = _cluster(here).snapshot(repository, name, folder)
    _say(here, f"made the snapshot {made.name} of {made.rows:,} rows", asdict(made))


@cluster.command(epilog="Example: rifflux cluster restore backups monday --db opensearch://localhost:9200/again")
def restore(here: CommonOptions, repository: Repository, name: Name) -> None:
    """Restore a snapshot to an address where there is no index."""
    made = _cluster(here).restore(repository, name)
    _say(here, f"restored {made.rows:,} rows to {made.index}", asdict(made))


def _say(here: CommonOptions, text: str, values: Mapping[str, Any]) -> None:
    show.outcome(show.one_line(text), values, as_json=here.json)
