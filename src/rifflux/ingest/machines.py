"""The machines that folders were read on, where several may write to an index."""

from __future__ import annotations

import json
import platform
from pathlib import Path

from rifflux.store import Capability, Store

_SETTING = "machines"


def machine_of(store: Store, root: Path | str) -> str:
    """Return the name of another machine that read a root; empty if it was this one, or the index is a file.

    On several machines, a path may lead to different folders.
    """
    if Capability.ONE_FILE in store.capabilities:
        return ""
    machine = _machines(store).get(str(root), "")
    return "" if machine == platform.node() else machine


def note_machine(store: Store, root: Path) -> None:
    """Record that a root was read on this machine."""
    machines = _machines(store)
    if machines.get(str(root)) != platform.node():
        machines[str(root)] = platform.node()
        store.records.set(_SETTING, json.dumps(machines, ensure_ascii=False, sort_keys=True), content=False)


def _machines(store: Store) -> dict[str, str]:
    recorded: dict[str, str] = json.loads(store.records.setting(_SETTING) or "{}")
    return recorded
