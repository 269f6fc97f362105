"""Fusion of the channels' scores into one score. A fusion is a callable value whose fields are its parameters.

Fusions are pure functions of the candidate table and the known facts: the order of the channels does not matter, a
repeated id counts once at its best rank, and ties go to the best rank in any channel, then to the lower id.
"""

from rifflux.retrieve.fuse.base import CandidateFacts, Fuse
from rifflux.retrieve.fuse.fusions import FUSIONS, Adaptive, Balanced, Linear, ReciprocalRank

__all__ = ["FUSIONS", "Adaptive", "Balanced", "CandidateFacts", "Fuse", "Linear", "ReciprocalRank"]
