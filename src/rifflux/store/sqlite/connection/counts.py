"""Counting of the occurrences of a phrase by field, as a function of FTS5."""

from __future__ import annotations

from typing import Any

import apsw

#: The number of bits per field in the result of `field_counts`.
BITS = 20
MOST = (1 << BITS) - 1


def field_counts(row: apsw.FTS5ExtensionApi, /, *_: Any) -> int:
    """Return the occurrences in title, headings and body of a matched row, packed into one number."""
    counts = [0, 0, 0]
    for phrase in range(row.phrase_count):
        for number, places in enumerate(row.phrase_locations(phrase)):
            counts[number] += len(places)
    title, headings, body = (min(count, MOST) for count in counts)
    return (title << 2 * BITS) | (headings << BITS) | body
