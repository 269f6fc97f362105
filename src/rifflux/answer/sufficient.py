"""Whether evidence is enough to answer from, told before any model is asked: else an answer is refused."""

from __future__ import annotations

from rifflux.answer.gather import Evidence

__all__ = ["refusal"]

#: The least relevance of the best passage that is answered from.
THRESHOLD = 0.75


def refusal(evidence: Evidence) -> str:
    """Return why a question is refused; empty if the evidence is enough."""
    if not evidence.pack.items:
        return "nothing was found: index something that answers it, or ask in other words"
    if evidence.pack.confidence < THRESHOLD:
        return "nothing that was found is near enough to answer it: these passages are the nearest"
    return ""
