"""Ask questions of sixteen forms, made from documents, by RRF, by default, and without each boost of the default.

    python -m bench forms DATA [NAME ...] [--documents 20] [--parts anchors,times] [--keep FOLDER] [--show]
                          [--markdown FILE]

Of each collection the same documents are taken for every form: their titles, sentences, sentences with words replaced
by neighbours in the embedding model, keywords, long statements of a topic, definitions, and keywords with a year, a
month, a person or a place that the document mentions. A question's only right document is the one it was made of;
figures are nDCG@10.

In the first table a cell is RRF → default; behind it stand the parts of the default that lose significantly there (▼),
by the bootstrap. The second has, by form, what each part brings over the questions of all collections: the default,
less the default without it, with the interval of 95 %. `--show` prints an example of each form.
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
from bench.quality.variants import BOOSTING, DEFAULT, PARTS, RRF, change, gains
from bench.shared import NAMES
from rifflux.evaluate import Cache, read_beir

Values = Mapping[str, Sequence[float]]


def main() -> None:
    """Print two tables of forms: by collection, and by part of the default. The file grows with every collection."""
    given = _arguments()
    values: dict[tuple[str, str], Values] = {}
    text = ""
    with tempfile.TemporaryDirectory() as temporary, Cache(given.keep or temporary) as cache:
        for count, name in enumerate(given.names, 1):
            collection = read_beir(given.data / name)
            assert collection.corpus is not None
            maker = Maker(collection.corpus, cache.embedder)
            for form, questions in made(collection, maker, given.documents):
                print(f"{name}: {form}, {len(questions.questions)} questions", file=sys.stderr, flush=True)
                if given.show:
                    print(f"    {questions.questions[0].text}", file=sys.stderr)
                values[form, name] = dict(gains(cache.index(collection), questions, given.parts))
            text = _text(values, given.names[:count], given.parts)
            if given.markdown:
                made_by = f"Made by `python -m bench forms DATA --documents {given.documents}`."
                given.markdown.write_text(f"# Questions of many forms\n\n{made_by}\n\n{text}\n", "utf-8")
    print(text)


def _text(values: Mapping[tuple[str, str], Values], names: Sequence[str], parts: Sequence[str]) -> str:
    by_collection = markdown(("form", *names, "mean"), _rows(values, names, parts))
    by_part = markdown(("form", "questions", "default − rrf", *parts), _by_part(values, parts))
    return "\n".join([*by_collection, "", *by_part])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    everything = [name for name in NAMES if ":" not in name]
    parser.add_argument("names", nargs="*", default=everything, help="folders; all of them by default")
    parser.add_argument("--documents", type=int, default=20, help="documents that questions are made of (20)")
    parser.add_argument("--parts", type=chosen_parts, default=BOOSTING, help=f"some of {', '.join(PARTS)}")
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


def _by_part(values: Mapping[tuple[str, str], Values], parts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield a row for each form, and one for all, over the questions of all collections."""
    for form in (*FORMS, "all"):
        there = [found for (name, _), found in values.items() if form in (name, "all")]
        if there:
            joined = {run: [value for found in there for value in found[run]] for run in there[0]}
            usual = joined[DEFAULT.name]
            yield form, str(len(usual)), *(str(change(joined[run], usual)) for run in (RRF.name, *parts))


def _cell(found: Values | None, parts: Sequence[str]) -> str:
    if found is None:
        return ""
    usual = found[DEFAULT.name]
    changed = change(found[RRF.name], usual)
    losing = [part for part in parts if change(found[part], usual).mark == "▼"]
    told = ", ".join(f"▼ {part}" for part in losing)
    return f"{np.mean(found[RRF.name]):.3f} → {np.mean(usual):.3f}{changed.mark} {told}".rstrip()
