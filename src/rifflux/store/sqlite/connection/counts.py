"""Counting the places of a phrase by field, as a function of FTS5."""

from __future__ import annotations

from typing import Any

import apsw

#: How many bits the places in one field take in what `field_counts` returns.
BITS = 20
MOST = (1 << BITS) - 1


def field_counts(row: apsw.FTS5ExtensionApi, /, *_: Any) -> int:
    """Count the places in title, headings and body of a matched row of the phrases of a query, of which it has one."""
    counts = [0, 0, 0]
    for phrase in range(row.phrase_count):
        for number, places in enumerate(row.phrase_locations(phrase)):
            counts[number] += len(places)
    title, headings, body = (min(count, MOST) for count in counts)
    return (title << 2 * BITS) | (headings << BITS) | body
