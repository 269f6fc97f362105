"""Ask questions of sixteen forms, made from documents, by RRF, by default, and without each part of the default.

    python -m bench forms DATA [NAME ...] [--documents 40] [--parts anchors,times] [--keep FOLDER] [--show]

Of each collection the same documents are taken for every form: their titles, sentences, sentences with words replaced
by neighbours in the embedding model, keywords, long statements of a topic, definitions, and keywords with a year, a
month, a person or a place that the document mentions. A question's only right document is the one it was made of;
figures are nDCG@10. A cell is RRF → default; behind it stand the parts of the default that lose significantly there
(▼), by the bootstrap. The last column is the mean over collections. `--show` prints an example of each form.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bench.quality.kept import markdown
from bench.quality.lifts import chosen_parts
from bench.quality.made import FORMS, Maker, made
from bench.quality.variants import DEFAULT, PARTS, RRF, change, gains
from bench.shared import NAMES
from rifflux.evaluate import Cache, read_beir

Values = Mapping[str, Sequence[float]]


def main() -> None:
    """Print a table: a row for each form, a column for each collection."""
    given = _arguments()
    values: dict[tuple[str, str], Values] = {}
    with tempfile.TemporaryDirectory() as temporary, Cache(given.keep or temporary) as cache:
        for name in given.names:
            collection = read_beir(given.data / name)
            assert collection.corpus is not None
            maker = Maker(collection.corpus, cache.embedder)
            for form, questions in made(collection, maker, given.documents):
                print(f"{name}: {form}, {len(questions.questions)} questions", file=sys.stderr, flush=True)
                if given.show:
                    print(f"    {questions.questions[0].text}", file=sys.stderr)
                values[form, name] = dict(gains(cache.index(collection), questions, given.parts))
    text = "\n".join(markdown(("form", *given.names, "mean"), _rows(values, given.names, given.parts)))
    print(text)
    if given.markdown:
        given.markdown.write_text(f"# Questions of many forms\n\n{text}\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    everything = [name for name in NAMES if ":" not in name]
    parser.add_argument("names", nargs="*", default=everything, help="folders; all of them by default")
    parser.add_argument("--documents", type=int, default=40, help="documents that questions are made of (40)")
    parser.add_argument("--parts", type=chosen_parts, default=[*PARTS], help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


def _rows(
    values: Mapping[tuple[str, str], Values], names: Sequence[str], parts: Sequence[str]
) -> Iterator[Sequence[str]]:
    for form in FORMS:
        there = [values[form, name] for name in names if (form, name) in values]
        if there:
            cells = (_cell(values.get((form, name)), parts) for name in names)
            before, after = (np.mean([np.mean(each[run.name]) for each in there]) for run in (RRF, DEFAULT))
            yield form, *cells, f"{before:.3f} → {after:.3f}"


def _cell(found: Values | None, parts: Sequence[str]) -> str:
    if found is None:
        return ""
    usual = found[DEFAULT.name]
    changed = change(found[RRF.name], usual)
    losing = [part for part in parts if change(found[part], usual).mark == "▼"]
    told = ", ".join(f"▼ {part}" for part in losing)
    return f"{np.mean(found[RRF.name]):.3f} → {np.mean(usual):.3f}{changed.mark} {told}".rstrip()
