"""Looking after an index on a cluster: its state, creation, shards, snapshots."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from rifflux.errors import Busy, Conflict, Cure, InvalidArgument, NotFound, UnusableIndex
from rifflux.store.opensearch.address import ClusterAddress
from rifflux.store.opensearch.engine import ClusterIndex
from rifflux.store.opensearch.filters import JSON
from rifflux.store.opensearch.mapping import index_body
from rifflux.types import Progress

#: The most shards and copies that an index may be made with.
MOST_SHARDS = 1024
MOST_REPLICAS = 10
#: Seconds between two looks at a long job of the cluster.
_LOOK = 0.5
_SNAPSHOT = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")
#: Behind the name of an index, what the name of a copy of it begins with.
_COPY = "--"


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """The state of an index on a cluster. `health` is `green`, `yellow` (copies are missing) or `red` (parts are)."""

    address: str
    index: str
    health: str
    nodes: int
    version: str
    schema: int
    shards: int
    spread: int
    replicas: int
    unassigned: int
    rows: int
    deleted: int
    bytes: int
    is_blocked: bool


@dataclass(frozen=True, slots=True)
class Reindexed:
    """An index that was copied to one with other shards, which took its place."""

    former: str
    index: str
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """A snapshot of an index in a repository of the cluster."""

    repository: str
    name: str
    index: str
    rows: int


class ClusterAdministration:
    """Looks after the index at an address. Every method raises `RiffluxError` with the cure."""

    def __init__(self, location: str, *, is_secure: bool = False) -> None:
        self.address = ClusterAddress.of(location, is_secure=is_secure)

    def _open(self) -> ClusterIndex:
        return ClusterIndex.open(self.address, create=False)

    def role(self) -> JSON:
        """Return a role of OpenSearch's security plugin that reads one owner's rows; it has not been tried."""
        conditions = {"bool": {"filter": [{"term": {"owner": "${user.name}"}}]}}
        permissions = {
            "index_patterns": [f"{self.address.name}*"],
            "dls": json.dumps(conditions),
            "allowed_actions": ["read"],
        }
        return {"cluster_permissions": ["cluster_composite_ops_ro"], "index_permissions": [permissions]}

    def init(self, shards: int = 1, replicas: int = 1, spread: int = 1) -> ClusterStatus:
        """Create the index, with each owner's rows in `spread` of its shards.

        Raises `Conflict` if it exists: its shards are changed by `reindex`, which keeps the spread.
        """
        _check_shards(shards, replicas, spread)
        with closing(ClusterIndex.connect(self.address)) as engine:
            if engine.exists():
                raise Conflict(f"{self.address} exists", cure=Cure.COPY_SHARDS, address=str(self.address))
            engine.create(shards, replicas, spread)
        return self.status()

    def status(self) -> ClusterStatus:
        """Return the state of the index and of its cluster."""
        with closing(self._open()) as engine:
            name = engine.address.name
            client = engine.client
            health = engine.call(client.cluster.health, index=name)
            about = engine.call(client.info)
            index, settings = self._settings(engine)
            # What is on no node is not counted.
            stats = engine.call(client.indices.stats, index=name)["_all"]
            counted = stats["primaries"].get("docs", {})
            mapping = engine.call(client.indices.get_mapping, index=name)[index]["mappings"]
            return ClusterStatus(
                address=str(self.address),
                index=index,
                health=health["status"],
                nodes=health["number_of_nodes"],
                version=about["version"]["number"],
                schema=mapping["_meta"]["rifflux"]["schema"],
                shards=int(settings["number_of_shards"]),
                spread=engine.spread,
                replicas=int(settings["number_of_replicas"]),
                unassigned=health["unassigned_shards"],
                rows=counted.get("count", 0),
                deleted=counted.get("deleted", 0),
                bytes=stats["total"].get("store", {}).get("size_in_bytes", 0),
                is_blocked=_is_blocked(settings),
            )

    def _settings(self, engine: ClusterIndex) -> tuple[str, JSON]:
        """Return the name of the index, which may stand behind an alias, and its settings."""
        found = engine.call(engine.client.indices.get_settings, index=engine.address.name)
        ((index, each),) = found.items()
        return index, each["settings"]["index"]

    def reindex(
        self, shards: int | None = None, replicas: int | None = None, progress: Progress | None = None
    ) -> Reindexed:
        """Copy the index to one with other shards or replicas, and put that in its place at one moment.

        Searches go on; what is written meanwhile is refused. An interrupted copy is removed; one that was killed is
        finished by the next call, and until then the index takes no writes.
        """
        start = time.monotonic()
        with closing(self._open()) as engine:
            client = engine.client
            name = engine.address.name
            former, settings = self._settings(engine)
            shards = shards or int(settings["number_of_shards"])
            replicas = int(settings["number_of_replicas"]) if replicas is None else replicas
            _check_shards(shards, replicas, engine.spread)
            new = f"{name}{_COPY}{shards}.{replicas}"
            if new == former:
                new += ".0"
            mapping = engine.call(client.indices.get_mapping, index=former)[former]["mappings"]
            body = index_body(shards=shards, replicas=replicas, spread=engine.spread)
            vectors = {key: value for key, value in mapping["properties"].items() if key.startswith("vector_")}
            body["mappings"]["properties"] |= vectors
            # An interrupted run may have made it.
            with suppress(Conflict):
                engine.call(client.indices.create, index=new, body=body)
            block = {"index.blocks.write": True}
            engine.call(client.indices.put_settings, index=former, body=block)
            actions: list[JSON] = [{"add": {"index": new, "alias": name}}, {"remove_index": {"index": former}}]
            try:
                rows = self._copy(engine, former, new, progress)
                engine.call(client.indices.update_aliases, body={"actions": actions})
            except BaseException:
                # If this fails too, the index stays as it is and takes no writes, and the next call goes on.
                engine.call(client.indices.delete, index=new)
                engine.call(client.indices.put_settings, index=former, body={"index.blocks.write": None})
                raise
        return Reindexed(former, new, rows, time.monotonic() - start)

    def _copy(self, engine: ClusterIndex, former: str, new: str, progress: Progress | None) -> int:
        """Copy all rows, and return their number. Raises `Busy` if some are missing afterwards."""
        client = engine.client
        engine.call(client.indices.refresh, index=former)
        wanted = engine.call(client.count, index=former)["count"]
        body = {"source": {"index": former}, "dest": {"index": new}}
        started = engine.call(client.reindex, body=body, params={"wait_for_completion": "false"})
        while True:
            task = engine.call(client.tasks.get, task_id=started["task"])
            done = task["task"]["status"]
            if progress:
                progress("copy", done["created"] + done["updated"], wanted)
            if task["completed"]:
                break
            time.sleep(_LOOK)
        failures = task.get("response", {}).get("failures") or task.get("error")
        engine.call(client.indices.refresh, index=new)
        found = engine.call(client.count, index=new)["count"]
        if failures or found != wanted:
            raise Busy(
                f"{found:,} of {wanted:,} rows of {self.address} were copied: look at the cluster's health, and run it "
                "again"
            )
        return int(found)

    def snapshot(self, repository: str, name: str, folder: str = "") -> ClusterSnapshot:
        """Make a snapshot of the index in a repository of the cluster, and wait for it.

        With a `folder`, which all nodes must share and allow in `path.repo`, the repository is registered if missing.
        """
        _check_snapshot(name)
        with closing(self._open()) as engine:
            client = engine.client
            self._repository(engine, repository, folder)
            index, _ = self._settings(engine)
            rows = engine.call(client.count, index=index)["count"]
            body = {"indices": index, "include_global_state": False, "metadata": {"rifflux": {"rows": rows}}}
            parameters = {"wait_for_completion": "true", "request_timeout": 86_400}
            made = engine.call(
                client.snapshot.create, repository=repository, snapshot=name, body=body, params=parameters
            )["snapshot"]
            if made["state"] != "SUCCESS":
                raise Busy(f"the snapshot {name} of {self.address} is not complete: look at the cluster's health")
            return ClusterSnapshot(repository, name, index, rows)

    def _repository(self, engine: ClusterIndex, repository: str, folder: str = "") -> None:
        client = engine.client
        if engine.call(client.snapshot.get_repository, repository=repository, missing={}):
            return
        if not folder:
            raise NotFound(f"the cluster has no repository {repository!r}: register it there, or give its --folder")
        body = {"type": "fs", "settings": {"location": folder}}
        engine.call(client.snapshot.create_repository, repository=repository, body=body)

    def restore(self, repository: str, name: str) -> ClusterSnapshot:
        """Restore a snapshot to the address, where no index may be. Wait until it can be searched."""
        _check_snapshot(name)
        with closing(ClusterIndex.connect(self.address)) as engine:
            client = engine.client
            if engine.exists():
                raise Conflict(f"{self.address} exists: restore to another name, or delete it first")
            self._repository(engine, repository)
            found = engine.call(client.snapshot.get, repository=repository, snapshot=name, missing={})
            if not found:
                raise NotFound(f"the repository {repository!r} has no snapshot {name!r}")
            (snapshot,) = found["snapshots"]
            (index,) = snapshot["indices"]
            body = {
                "indices": index,
                "include_global_state": False,
                "include_aliases": False,
                "rename_pattern": ".+",
                "rename_replacement": engine.address.name,
                "index_settings": {"index.blocks.write": None},
            }
            parameters = {"wait_for_completion": "true", "request_timeout": 86_400}
            engine.call(client.snapshot.restore, repository=repository, snapshot=name, body=body, params=parameters)
            rows = engine.call(client.count, index=engine.address.name)["count"]
            known = (snapshot.get("metadata") or {}).get("rifflux", {}).get("rows", rows)
            if rows != known:
                raise UnusableIndex(f"{rows:,} of {known:,} rows of the snapshot {name} were restored: restore another")
            return ClusterSnapshot(repository, name, engine.address.name, rows)


def _check_shards(shards: int, replicas: int, spread: int) -> None:
    if not 1 <= shards <= MOST_SHARDS:
        raise InvalidArgument(f"an index has 1 to {MOST_SHARDS} shards, not {shards}")
    if not 0 <= replicas <= MOST_REPLICAS:
        raise InvalidArgument(f"an index has 0 to {MOST_REPLICAS} replicas, not {replicas}")
    if spread != 1 and not 1 < spread < shards:
        raise InvalidArgument(
            f"an owner is in 1 shard, or in fewer than all {shards}, not in {spread}: give more shards"
        )


def _check_snapshot(name: str) -> None:
    if not _SNAPSHOT.fullmatch(name):
        raise InvalidArgument(f"{name!r} cannot name a snapshot: use lower-case letters, digits, '-', '_' and '.'")


def _is_blocked(settings: Mapping[str, Any]) -> bool:
    blocks = settings.get("blocks", {})
    return any(str(blocks.get(each)).lower() == "true" for each in ("write", "read_only", "read_only_allow_delete"))
