"""Counting tokens in ways that no other process survives or knows."""

from __future__ import annotations

import os


def count(text: str) -> int:
    """The words of a text; one that says so ends the process, or takes forever."""
    if "deadly" in text:
        os._exit(1)
    while "endless" in text:
        pass
    return len(text.split())
