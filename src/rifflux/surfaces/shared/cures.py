"""A condition with its cure, in the words of a surface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rifflux import Cure


class Curable(Protocol):
    """An error, a notice or a problem."""

    @property
    def cure(self) -> Cure | None:
        """The cure."""

    @property
    def data(self) -> Mapping[str, Any]:
        """Values for the text of the cure."""


def cure_of(about: Curable, words: Mapping[Cure, str], **more: object) -> str:
    """Return the cure of a condition in the words of a surface; empty if it has none."""
    if about.cure is None:
        return ""
    return about.cure.advice(words, {**about.data, **more})


def with_cure(about: Curable, words: Mapping[Cure, str], **more: object) -> str:
    """Return the text of a condition, followed by its cure in the words of a surface."""
    cure = cure_of(about, words, **more)
    if cure:
        return f"{about}: {cure}"
    return str(about)
