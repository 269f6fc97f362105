"""Write what tests write into memory, where there is room: they sync thousands of times, and wait for a disk each time.

What is promised about a disk is that it is synced, and in which order; no test loses the power.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["use_memory"]

MEMORY = Path("/dev/shm")
#: Bytes that must be free: some times what all tests leave until they end.
ROOM = 4 << 30


def use_memory() -> None:
    """Have this process, and those that it starts, make temporary files in memory, unless TMPDIR says otherwise."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    status = os.statvfs(MEMORY)
    # In a container it may be small, and programs in it may not be started.
    if status.f_bavail * status.f_frsize >= ROOM and not status.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None
