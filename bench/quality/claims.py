"""Check sentences that a chat model may write of a source; count the false ones withdrawn, and the true ones.

    python -m bench claims FILE [--show]

FILE has a source in each line, in JSON: `source`, what may truly be said of it (`true`) and what may not (`false`),
each a list of sentences. A false one negates, reverses or exaggerates the source, changes a number, a unit or a name,
or invents. At least .95 of the false ones are to be withdrawn, and at most .05 of the true ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from rifflux.answer.support import SourcePassage, supported
from rifflux.evidence.pack import EvidenceItem
from rifflux.models import load_embedder
from rifflux.retrieve.steps.rerank.maxsim import TokenEmbedder
from rifflux.text.analyzer import Analyzer


def main() -> None:
    """Print how many sentences of each sort are withdrawn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", action="store_true", help="print the sentences that are judged wrongly")
    arguments = parser.parse_args()
    withdrawn: dict[bool, list[bool]] = {True: [], False: []}
    for source, sentence, is_true in _claims(arguments.file):
        place = passage(source)
        is_withdrawn = supported(sentence, [place], [place]) is None
        withdrawn[is_true].append(is_withdrawn)
        if arguments.show and is_withdrawn == is_true:
            print(f"{'true, withdrawn' if is_true else 'false, left'}: {sentence}\n    {source}")
    print(f"false sentences withdrawn: {sum(withdrawn[False])} of {len(withdrawn[False])}")
    print(f"true sentences withdrawn: {sum(withdrawn[True])} of {len(withdrawn[True])}")


def _claims(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield each sentence with its source, and whether it is true."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield from ((row["source"], sentence, True) for sentence in row.get("true") or ())
        yield from ((row["source"], sentence, False) for sentence in row.get("false") or ())


@cache
def embedder() -> TokenEmbedder:
    """Return the bundled model."""
    found = load_embedder()
    assert isinstance(found, TokenEmbedder)
    return found


def passage(text: str) -> SourcePassage:
    """Return a passage with a text and no title."""
    item = EvidenceItem(
        number=1,
        rank=1,
        citation_key="source",
        namespace="",
        key="source.md",
        title="",
        authors=(),
        year=None,
        venue="",
        identifiers=(),
        heading_path="",
        chunk_id="1",
        span=(0, len(text)),
        text=text,
        hash=hashlib.sha256(text.encode()).hexdigest(),
        license=None,
        score=1.0,
        components={},
    )
    return SourcePassage(item, Analyzer("english"), embedder=embedder())


if __name__ == "__main__":
    main()
