"""Have what gives up after a fraction of a second wait as long as tests do: a busy machine takes its time."""

from __future__ import annotations

from rifflux.works.retrieval.stages import RetrievalSettings

__all__ = ["be_patient"]

LIMIT_MS = 180_000.0


def be_patient() -> None:
    """Let retrievals of works in this process, and in those forked from it, follow citations and score in any time."""
    _, _, *others = RetrievalSettings.__init__.__defaults__ or ()
    RetrievalSettings.__init__.__defaults__ = (LIMIT_MS, LIMIT_MS, *others)
