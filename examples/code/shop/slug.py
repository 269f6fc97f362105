"""Addresses of pages."""

import re
import unicodedata


def slugify(title: str) -> str:
    """Turn a title into the last part of an address: lower case, hyphens between words."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
