"""The channels' scores become one. A fusion is a value: its knobs are its fields, calling it fuses.

Pure functions of the table and of what is known about candidates: the order of the channels does not matter, a
repeated id counts once at its best rank, and ties go to the best rank in any channel, then to the lower id.
"""

from rifflux.retrieve.fuse.base import CandidateFacts, Fuse
from rifflux.retrieve.fuse.fusions import FUSIONS, Adaptive, Balanced, Linear, ReciprocalRank

__all__ = ["FUSIONS", "Adaptive", "Balanced", "CandidateFacts", "Fuse", "Linear", "ReciprocalRank"]
