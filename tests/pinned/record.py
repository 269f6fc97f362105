"""Record the snapshot anew: `python -m tests.pinned.record`.

Only for a difference that is meant; CHANGELOG tells it with its reason. A key that is only called otherwise, or a
message that is only worded otherwise, belongs in `RENAMED` or `REWORDED` of `asking.py` instead.
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
