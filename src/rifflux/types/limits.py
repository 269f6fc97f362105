"""What reading a file may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """The time and memory of the process that reads a file, and the size of what it answers.

    `processor_s` counts seconds in which the process computes, where the system can limit them; `seconds` counts all,
    and ends a process that waits for something that never comes.
    """

    processor_s: int = 30
    seconds: float = 120.0
    memory_mb: int = 512
    answer_mb: int = 64

    @property
    def key(self) -> str:
        """Return what stands for the content of a file that was given up at these limits."""
        return f"limits {self.processor_s} s {self.memory_mb} MB"


#: The bounds of the two limits that can be set. A reader needs some memory before it reads anything.
READER_SECONDS = (1, 86_400)
READER_MEMORY_MB = (256, 1_048_576)
#: What a file may take unless the settings say otherwise.
READER_LIMITS = ReaderLimits()
