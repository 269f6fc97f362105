"""The folders that may be read by default."""

from __future__ import annotations

from pathlib import Path


def implied_roots() -> list[Path]:
    """Return the working directory, which may be read unless it is all of a disk or of a home.

    Some clients start their servers there.
    """
    here = Path.cwd()
    try:
        home = Path.home().resolve()
    except RuntimeError:  # the home folder is unknown
        home = Path(here.anchor)
    if here == Path(here.anchor) or home.is_relative_to(here):
        return []
    return [here]
