"""Notices: facts about an answer, as a code for programs and a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rifflux.errors import Cure, RiffluxError

__all__ = ["Cure", "Notice"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A fact that a caller should know about an answer.

    `code` is stable; `text` is one sentence that may change, so two notices are equal if code, cure and data are.
    `data` holds the plain values that the sentence mentions.
    """

    code: str
    text: str = field(compare=False)
    cure: Cure | None = None
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, error: RiffluxError, code: str = "", text: str = "") -> Notice:
        """Return an error as a notice with its own code and message, or with the given ones."""
        return cls(code or error.code, text or str(error), error.cure, error.data)

    def __str__(self) -> str:
        """Return the sentence."""
        return self.text
