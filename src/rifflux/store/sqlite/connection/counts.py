"""Counting the places of a phrase by field, as a function of FTS5."""

from __future__ import annotations

from typing import Any

import apsw

#: How many bits the places in one field take in what `field_counts` returns.
BITS = 20
MOST = (1 << BITS) - 1


def field_counts(row: apsw.FTS5ExtensionApi, /, *_: Any) -> int:
    """Count the places of the only phrase of a query in title, headings and body of a matched row."""
    title, headings, body = (min(len(places), MOST) for places in row.phrase_locations(0))
    return (title << 2 * BITS) | (headings << BITS) | body
