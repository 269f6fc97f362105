"""Build a large index of real text: all collections of a folder, cut into short passages.

    python -m bench corpus FOLDER_OF_COLLECTIONS INDEX [--no-embed] [--model hash:384]

The passages are about half the usual length, which makes more than 100,000 of the collections here. Run again,
it goes on where it was stopped. Vectors of `hash:384` take as much space as those of the bundled model, and no time.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import rifflux
from rifflux.ingest.chunking import Chunker
from rifflux.session.profile import profile

__all__ = ["SHORT", "build"]

#: The profile of files with shorter passages.
SHORT = replace(profile("files"), name="short", chunker=Chunker(target_tokens=136, floor_tokens=88))


def build(data: Path, index: Path, *, embed: bool = True, model: str | None = None) -> int:
    """Index every collection of a folder and return how many chunks there are."""
    corpora = sorted(data.glob("*/corpus.jsonl"))
    with rifflux.open(index, profile=SHORT, model=model) as opened:
        opened.add(*corpora, embed=embed, progress=_tell)
        return opened.status().chunks


def _tell(stage: str, done: int, total: int | None) -> None:
    if stage == "embed" and done % 4096 < 128:
        print(f"{stage} {done:,} of {total or 0:,}", file=sys.stderr)


def main() -> None:
    """Build the index that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--no-embed", action="store_true")
    parser.add_argument("--model")
    arguments = parser.parse_args()
    count = build(arguments.data, arguments.index, embed=not arguments.no_embed, model=arguments.model)
    print(f"{count:,} chunks in {arguments.index}")
