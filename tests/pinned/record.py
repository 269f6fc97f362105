"""Record the snapshot anew: `python -m tests.pinned.record`.

Do this only for an intended difference, and give its reason in the commit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.pinned.asking import SNAPSHOT, answers, written


def main() -> None:
    """Ask everything, and write it down."""
    with tempfile.TemporaryDirectory() as folder:
        found = answers(Path(folder))
    SNAPSHOT.write_text(written(found) + "\n", "utf-8")


if __name__ == "__main__":
    main()
