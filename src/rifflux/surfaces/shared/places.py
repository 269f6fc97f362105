"""The folders that may be read where nobody said so."""

from __future__ import annotations

from pathlib import Path


def implied_roots() -> list[Path]:
    """Return the working directory, which may be read unless it is all of a disk or of a home.

    Clients start their servers where they please, some of them there.
    """
    here = Path.cwd()
    try:
        home = Path.home().resolve()
    except RuntimeError:  # nobody's home is known
        home = Path(here.anchor)
    if here == Path(here.anchor) or home.is_relative_to(here):
        return []
    return [here]
