"""Limits on the resources that reading one file may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Limits for the process that reads one file.

    `processor_s` bounds processor time, where the operating system supports such a limit; `seconds` bounds wall-clock
    time and also ends a process that waits for something that never comes. Memory and the size of the result are
    bounded too.
    """

    processor_s: int = 30
    seconds: float = 120.0
    memory_mb: int = 512
    answer_mb: int = 64

    @property
    def key(self) -> str:
        """Return a cache key for files that were abandoned at these limits."""
        return f"limits {self.processor_s} s {self.memory_mb} MB"


#: The bounds of the two configurable limits. A reader needs some memory before it reads anything.
READER_SECONDS = (1, 86_400)
READER_MEMORY_MB = (256, 1_048_576)
#: The limits that apply unless the settings say otherwise.
READER_LIMITS = ReaderLimits()
