"""Measure what each step, boost and component of the default changes, for every collection, with an interval.

    python -m bench lifts DATA [NAME ...] [--most 300] [--forms 40] [--parts anchors,times] [--keep FOLDER]
                          [--markdown FILE]

A cell is nDCG@10 by default, less nDCG@10 of the default without the part: +.010 is what the part brings. Intervals are
those of the bootstrap, 95 %. `▼` marks a significant loss: the part lowers this collection. `▲` marks a gain, `·` that
no question changed. The first columns are nDCG@10 by RRF, without a reranker, and by default, and what the default
brings. With `--forms N`, questions of many forms follow, made of N documents of each collection (see `bench forms`).
Of a collection with more questions than `--most`, the first are asked. Run it before a change of ranking is kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.quality.kept import markdown
from bench.quality.made import Maker, made
from bench.quality.variants import DEFAULT, PARTS, RRF, change, gains
from bench.shared import NAMES, SCOPES
from rifflux.evaluate import Cache, Collection, read_beir


def main() -> None:
    """Print a table: a row for each collection, and each form of made questions; a column for each part."""
    given = _arguments()
    rows = []
    with tempfile.TemporaryDirectory() as temporary, Cache(given.keep or temporary) as cache:
        for name in given.names or NAMES:
            for label, collection in _asked(given, name, cache):
                print(f"{label}: {len(collection.questions)} questions", file=sys.stderr, flush=True)
                values = dict(gains(cache.index(collection), collection, given.parts))
                rows.append(_row(label, values, given.parts))
    heads = ("questions of", RRF.name, DEFAULT.name, "default − rrf", *given.parts)
    text = "\n".join(markdown(heads, rows))
    print(text)
    if given.markdown:
        given.markdown.write_text(f"# What each part changes\n\n{text}\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", help="a folder, or folder:qrels; all of them by default")
    parser.add_argument("--most", type=int, default=300, help="questions of a collection (300)")
    parser.add_argument("--forms", type=int, default=0, help="documents of a collection that questions are made of")
    parser.add_argument("--parts", type=chosen_parts, default=[*PARTS], help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


def chosen_parts(text: str) -> list[str]:
    """Return the names of parts in a text, in their order. Raises `ArgumentTypeError`."""
    chosen = [name for name in PARTS if name in text.split(",")]
    if len(chosen) != len(text.split(",")):
        raise argparse.ArgumentTypeError(f"choose from {', '.join(PARTS)}")
    return chosen


def _asked(given: argparse.Namespace, name: str, cache: Cache) -> Iterator[tuple[str, Collection]]:
    """Yield the judged questions of a collection, then those that are made of its documents, by form."""
    folder, _, qrels = name.partition(":")
    collection = read_beir(given.data / folder, qrels or "test", scope=SCOPES.get(folder))
    yield name, collection.head(given.most)
    if given.forms and not qrels and collection.corpus:
        maker = Maker(collection.corpus, cache.embedder)
        for form, questions in made(collection, maker, given.forms):
            yield f"{name}: {form}", questions


def _row(label: str, values: dict[str, Sequence[float]], parts: Sequence[str]) -> Sequence[str]:
    usual = values[DEFAULT.name]
    return (
        f"{label} ({len(usual)})",
        f"{np.mean(values[RRF.name]):.3f}",
        f"{np.mean(usual):.3f}",
        str(change(values[RRF.name], usual)),
        *(str(change(values[part], usual)) for part in parts),
    )
