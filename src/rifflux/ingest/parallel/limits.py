"""The limits of a process that reads files, enforced by the system.

Parsers of PDF and Office files are large and written in C, and a small file can make any reader compute for hours or
fill the memory. Therefore a reading process has a memory limit, a limit of processor time per file, and ends with the
process that started it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

#: A thread, or a memory arena, per core would reserve much of a reading process's memory.
FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
MB = 2**20
#: The exit status of a process that ran out of memory.
OUT_OF_MEMORY = 71
#: The exit status of a process at its limit of processor time; None on systems without one.
LATE = -signal.SIGXCPU if sys.platform != "win32" else None
#: The request of Linux's prctl(2) to signal this process when its parent's thread ends.
_PR_SET_PDEATHSIG = 1


def confine(memory: int, parent: int) -> None:
    """Limit the memory of this process, in bytes, where the system can, and end it when its `parent` ends."""
    if sys.platform == "win32":
        return
    import resource

    # Some systems reject some of them.
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def allow(processor_s: int, answer: int | None = None) -> None:
    """Allow this process `processor_s` more seconds of processor time.

    With `answer`, no more time follows, and the process may write at most `answer` bytes to a file.
    """
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 1 + processor_s
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    limits = {resource.RLIMIT_CPU: (seconds, most)}
    if answer is not None:
        # The signal of the first limit identifies the reason; the second limit ends a process that ignores it.
        limits = {resource.RLIMIT_CPU: (seconds, seconds + 1), resource.RLIMIT_FSIZE: (answer, answer)}
    for kind, bounds in limits.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, bounds)


def late(seconds: float) -> str:
    """Return why a file that exceeds its time limit is not read."""
    return f"was given up after {seconds:g} s of reading: split it, or save it in a plainer format"


def too_large(memory_mb: int) -> str:
    """Return why a file that exceeds its memory limit is not read."""
    return f"takes more than {memory_mb} MB of memory to read: split it, or save it in a plainer format"


def is_short(memory: int) -> bool:
    """Return True if this process has used so much memory that an error may be due to a lack of it.

    Libraries written in C report that in various ways: as broken XML, for one.
    """
    try:
        with open("/proc/self/status", "rb") as status:  # noqa: PTH123 (it is memory that is short)
            peak = next(line for line in status if line.startswith(b"VmPeak:"))
    except (OSError, StopIteration):
        return False
    return 2 * 1024 * int(peak.split()[1]) > memory


def has_swollen(process: int, memory: int) -> bool:
    """Return True if a process has used most of its memory, so that the next file would fail for lack of it."""
    try:
        with open(f"/proc/{process}/statm", "rb") as statm:  # noqa: PTH123 (after each few files)
            pages = int(statm.read().split()[0])
    except (OSError, ValueError, IndexError):
        return False
    return 4 * pages * os.sysconf("SC_PAGE_SIZE") > 3 * memory
