"""Licenses by one name: SPDX identifiers where there is one.

What is shown of a work without any is decided in `rifflux.types` (`is_withheld`, `closed_document`, `closed_hit`), for
every profile.
"""

from __future__ import annotations

import re

__all__ = ["license_of"]

_CREATIVE_COMMONS = re.compile(
    r"(?:https?://)?creativecommons\.org/licenses/(?P<url>[a-z-]+)/(?P<number>\d\.\d)(?:/.*)?"
    r"|cc[\s-](?P<name>by(?:[\s-](?:nc|nd|sa))*)(?:[\s-](?P<version>\d\.\d))?",
    re.IGNORECASE,
)
_PUBLIC = re.compile(
    r"(?:https?://)?creativecommons\.org/publicdomain/zero/.*|cc0(?:[\s-]1\.0)?|cc-?zero", re.IGNORECASE
)
_ARXIV = re.compile(r"(?:https?://)?arxiv\.org/licenses/nonexclusive-distrib/(\d\.\d)/?", re.IGNORECASE)
#: What sources write where they know of none.
_NONE = frozenset({"", "unknown", "none", "null", "n/a", "unspecified"})


def license_of(text: str | None) -> str | None:
    """Return the license of a source, as an SPDX identifier if one is known, else as it stands; None for none."""
    text = " ".join((text or "").split())
    if text.lower() in _NONE:
        return None
    if _PUBLIC.fullmatch(text):
        return "CC0-1.0"
    if match := _ARXIV.fullmatch(text):
        return f"arXiv-nonexclusive-distrib-{match[1]}"
    if match := _CREATIVE_COMMONS.fullmatch(text):
        terms = re.sub(r"\s", "-", (match["url"] or match["name"]).upper())
        version = match["number"] or match["version"]
        return f"CC-{terms}-{version}" if version else f"CC-{terms}"
    return text
