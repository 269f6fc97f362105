"""How many processor cores this process may keep busy."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
#: The lowest priority: a thread of the usual one weighs seventy times as much.
LOWEST = 19
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_cores() -> int:
    """Return the physical cores this process may run on, at least one.

    Two hardware threads of one core count once: they share its arithmetic units. A container's CPU quota
    counts too.
    """
    if not hasattr(os, "sched_getaffinity"):  # macOS, Windows
        return os.cpu_count() or 1
    cores = {_siblings(number) for number in os.sched_getaffinity(0)}
    return max(1, min(len(cores), _quota() or len(cores)))


def stand_back() -> None:
    """Let this thread, and those that it starts from now on, have what others leave of the processor.

    Only Linux knows priorities of threads; elsewhere nothing happens.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)


def _siblings(number: int) -> str:
    """Return the hardware threads on the core of thread `number`; the thread itself where that is unknown."""
    try:
        return Path(SIBLINGS.format(number)).read_text()
    except OSError:
        return str(number)


def _quota() -> int | None:
    """Return the whole cores that the control group grants, or None where it sets no limit (or is an old one)."""
    try:
        quota, period = QUOTA.read_text().split()
        return int(quota) // int(period)
    except (OSError, ValueError):
        return None
