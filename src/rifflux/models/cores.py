"""Processor cores and priorities available to this process."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
#: The lowest priority: a thread of normal priority has seventy times its weight.
LOWEST = 19
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_cores() -> int:
    """Return the number of physical cores that this process may run on, at least one.

    Two hardware threads of one core count once, because they share its arithmetic units. A container's CPU quota counts
    too.
    """
    if not hasattr(os, "sched_getaffinity"):  # macOS, Windows
        return os.cpu_count() or 1
    cores = {_siblings(number) for number in os.sched_getaffinity(0)}
    return max(1, min(len(cores), _quota() or len(cores)))


def stand_back() -> None:
    """Give this thread, and those that it starts later, the lowest priority.

    Only Linux has priorities of threads; elsewhere this does nothing.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)


def _siblings(number: int) -> str:
    """Return the hardware threads on the core of thread `number`, or the thread itself if that is unknown."""
    try:
        return Path(SIBLINGS.format(number)).read_text()
    except OSError:
        return str(number)


def _quota() -> int | None:
    """Return the whole cores granted by the control group; None without a limit or with an old control group."""
    try:
        quota, period = QUOTA.read_text().split()
        return int(quota) // int(period)
    except (OSError, ValueError):
        return None
