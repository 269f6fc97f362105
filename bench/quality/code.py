"""Measure how code is found: by identifier, by its words, and by a sentence of its documentation.

    python -m bench code [--modes hybrid lexical] [--each 60] [--seed 0] [--keep FOLDER] [--show 3] [--json FILE]

The tree is of published packages in Python, JavaScript, TypeScript, Go and Rust, which it fetches from their
registries; `--keep` keeps them and the index. Names are asked that only one file defines, tests and built copies apart.
`file` is whether the first hit is in that file, `line` whether it holds the line of the definition too, by `lines` of
the hit where it has them, else by its characters; `in 3` whether one of the first three does.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from bench.quality.definitions import Definition, definitions, parts
from bench.quality.kept import PAGE, Kept, markdown
from bench.quality.packages import LANGUAGES, source_tree
from rifflux.evaluate import Run, parse_run
from rifflux.index import Index
from rifflux.types import Hit

MEASURES = ("file", "file in 3", "line", "line in 3")
ALL = "all"


@dataclass(frozen=True, slots=True)
class Question:
    """A text that asks for a definition; `kind` says what the text is."""

    kind: str
    text: str
    wanted: Definition


@dataclass(frozen=True, slots=True)
class Answer:
    """How a question was answered in one mode: each measure, and the place found first."""

    question: Question
    mode: str
    measures: Mapping[str, bool]
    first: str


def main() -> None:
    """Print the figures of each kind of question by mode, and for each language."""
    arguments = _arguments()
    runs = [parse_run(text) for text in arguments.modes]
    with tempfile.TemporaryDirectory() as temporary, Kept(arguments.keep or Path(temporary)) as kept:
        tree = source_tree(kept.folder / "sources")
        index = kept.files(tree, "code")
        questions = list(_questions(definitions(tree), arguments.each, random.Random(arguments.seed)))
        answers = [_answer(index, question, run, tree) for question in questions for run in runs]
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(each) for each in answers], indent=1), "utf-8")
    print("\n".join(_tables(answers)))
    for answer in [each for each in answers if not each.measures["line"]][: arguments.show]:
        wanted = answer.question.wanted
        told = f"{wanted.file}:{wanted.lines[0]}  found {answer.first}"
        print(f"missed  {answer.mode}  {answer.question.kind}  {answer.question.text}  {told}", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", default=["hybrid", "lexical"])
    parser.add_argument("--each", type=int, default=60, help="questions of each kind and language, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where packages and index stay between runs")
    parser.add_argument("--show", type=int, default=0, help="list so many questions whose line is not in the first hit")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


# What is asked


def _in_words(definition: Definition) -> str:
    words = parts(definition.name)
    return " ".join(words) if len(words) > 1 else ""


KINDS: Mapping[str, Callable[[Definition], str]] = {
    "identifier": lambda definition: definition.name,
    "identifier in words": _in_words,
    "sentence": lambda definition: definition.sentence,
}


def _questions(found: Sequence[Definition], each: int, choice: random.Random) -> Iterator[Question]:
    for kind, asked in KINDS.items():
        texts = [(asked(definition), definition) for definition in found]
        counts = Counter(text for text, _ in texts)
        for language in LANGUAGES:
            fit = [
                (text, wanted) for text, wanted in texts if text and counts[text] == 1 and wanted.language == language
            ]
            for text, wanted in choice.sample(fit, min(each, len(fit))):
                yield Question(kind, text, wanted)


# What is found


def _answer(index: Index, question: Question, run: Run, tree: Path) -> Answer:
    hits = index.search(question.text, top_k=PAGE, **run.options).hits[:3]
    in_file = [hit.key == question.wanted.file for hit in hits]
    on_line = [right and _holds(hit, question.wanted, tree) for right, hit in zip(in_file, hits, strict=True)]
    values = (in_file[:1] == [True], any(in_file), on_line[:1] == [True], any(on_line))
    first = f"{hits[0].key}:{_lines(hits[0], tree)}" if hits else "nothing"
    return Answer(question, run.name, dict(zip(MEASURES, values, strict=True)), first)


def _holds(hit: Hit, wanted: Definition, tree: Path) -> bool:
    first, last = _lines(hit, tree)
    return any(first <= line <= last for line in wanted.lines)


def _lines(hit: Hit, tree: Path) -> tuple[int, int]:
    """Return the first and the last line of a hit in its file, counted from 1."""
    if lines := getattr(hit, "lines", None):
        return lines[0], lines[-1]
    text, (start, end) = _text(tree / hit.key), hit.span
    return text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1


@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8")


# The report


def _tables(answers: Sequence[Answer]) -> Iterator[str]:
    modes = dict.fromkeys(answer.mode for answer in answers)
    yield from markdown(["question", "mode", "count", *MEASURES], [
        _row(kind, mode, ALL, answers) for kind in KINDS for mode in modes
    ])  # fmt: skip
    yield from ("", f"By language, {next(iter(modes))}:", "")
    yield from markdown(["question", "language", "count", *MEASURES], [
        _row(kind, next(iter(modes)), language, answers) for kind in KINDS for language in LANGUAGES
    ])  # fmt: skip


def _row(kind: str, mode: str, language: str, answers: Sequence[Answer]) -> list[str]:
    chosen = [
        each
        for each in answers
        if (each.question.kind, each.mode) == (kind, mode) and language in (ALL, each.question.wanted.language)
    ]
    means = [fmean(each.measures[measure] for each in chosen) if chosen else 0.0 for measure in MEASURES]
    return [kind, mode if language == ALL else language, str(len(chosen)), *(f"{mean:.3f}" for mean in means)]
