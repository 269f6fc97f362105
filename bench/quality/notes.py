"""Measure how notes are found: by alias, in other words, by tag and word, and by a month in the words.

    python -m bench notes [--modes hybrid lexical] [--seed 0] [--keep FOLDER] [--show 3] [--json FILE]

The notes are Markdown that a seed invents: topics with an alias in their front matter, errands with a tag, and the
minutes of groups that meet in many months, with the date in front matter, file name or text.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from bench.quality.kept import PAGE, Kept, markdown
from bench.quality.notebook import Question, write_notes
from rifflux.evaluate import Run, parse_run
from rifflux.index import Index

MEASURES = ("first", "in 3")


@dataclass(frozen=True, slots=True)
class Answer:
    """How a question was answered in one mode, and the notes found."""

    question: Question
    mode: str
    measures: Mapping[str, bool]
    found: Sequence[str]


def main() -> None:
    """Print the figures of each kind of question by mode."""
    arguments = _arguments()
    runs = [parse_run(text) for text in arguments.modes]
    with tempfile.TemporaryDirectory() as temporary, Kept(arguments.keep or Path(temporary)) as kept:
        folder = kept.folder / f"notes-{arguments.seed}"
        questions = write_notes(folder, arguments.seed)
        index = kept.files(folder, folder.name)
        answers = [_answer(index, question, run) for question in questions for run in runs]
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(each) for each in answers], indent=1), "utf-8")
    print("\n".join(_table(answers)))
    for answer in [each for each in answers if not each.measures["first"]][: arguments.show]:
        asked = answer.question
        print(f"missed  {answer.mode}  {asked.kind}  {asked.text}  {asked.note}  found {answer.found}", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", default=["hybrid", "lexical"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where notes and index stay between runs")
    parser.add_argument("--show", type=int, default=0, help="list so many questions whose note is not first")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _answer(index: Index, question: Question, run: Run) -> Answer:
    hits = index.search(question.text, top_k=PAGE, **run.options).hits
    found = list(dict.fromkeys(hit.key for hit in hits))[:3]
    values = (found[:1] == [question.note], question.note in found)
    return Answer(question, run.name, dict(zip(MEASURES, values, strict=True)), found)


def _table(answers: Sequence[Answer]) -> Iterator[str]:
    rows = []
    for kind in dict.fromkeys(answer.question.kind for answer in answers):
        for mode in dict.fromkeys(answer.mode for answer in answers):
            chosen = [each for each in answers if (each.question.kind, each.mode) == (kind, mode)]
            means = (fmean(each.measures[measure] for each in chosen) for measure in MEASURES)
            rows.append([kind, mode, str(len(chosen)), *(f"{mean:.3f}" for mean in means)])
    yield from markdown(["question", "mode", "count", *MEASURES], rows)
