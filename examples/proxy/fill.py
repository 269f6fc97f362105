"""Put a folder into the index for each user: python fill.py FOLDER USER..."""

from __future__ import annotations

import os
import sys

import rifflux


def main(folder: str, *users: str) -> None:
    """Give each user the folder, with ids, counts and scores of the user's own."""
    with rifflux.open(os.environ["RIFFLUX_DB"], model=os.environ.get("RIFFLUX_MODEL")) as index:
        for user in users:
            report = index.scoped(rifflux.Scope(user)).add(folder)
            print(f"{user}: {report.indexed_files} files")


if __name__ == "__main__":
    main(*sys.argv[1:])
