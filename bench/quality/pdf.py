"""Measure how pages of PDFs are found: by a heading that stands on one, and by words of a sentence of it.

    python -m bench pdf [--modes hybrid lexical] [--each 60] [--seed 0] [--keep FOLDER] [--show 3] [--json FILE]

The PDFs are manuals of published packages, typeset plainly. `page` is whether the first hit is of the page, `file`
whether it is of the file; `in 3` whether one of the first three is.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from bench.quality.kept import PAGE, Kept, markdown
from bench.quality.manuals import Page, write_manuals
from rifflux.evaluate import Run, parse_run
from rifflux.index import Index
from rifflux.types import Hit

MEASURES = ("page", "page in 3", "file", "file in 3")
HEADING, SENTENCE = "heading", "words of a sentence"
#: Words of a sentence that may be asked, and how many of its longer ones are.
WORDS, ASKED = (9, 40), 6


@dataclass(frozen=True, slots=True)
class Question:
    """A text that is about one page of one file."""

    kind: str
    text: str
    file: str
    page: int


@dataclass(frozen=True, slots=True)
class Answer:
    """How a question was answered in one mode: each measure, and the places found."""

    question: Question
    mode: str
    measures: Mapping[str, bool]
    found: Sequence[tuple[str, int]]


def main() -> None:
    """Print the figures of each kind of question by mode."""
    arguments = _arguments()
    runs = [parse_run(text) for text in arguments.modes]
    with tempfile.TemporaryDirectory() as temporary, Kept(arguments.keep or Path(temporary)) as kept:
        folder = kept.folder / "manuals"
        pages = write_manuals(folder)
        index = kept.files(folder / "pdf", "pdf")
        questions = list(_questions(pages, arguments.each, random.Random(arguments.seed)))
        answers = [_answer(index, question, run) for question in questions for run in runs]
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(each) for each in answers], indent=1), "utf-8")
    print(f"{len(pages)} pages of {len({page.file for page in pages})} files\n")
    print("\n".join(_table(answers)))
    for answer in [each for each in answers if not each.measures["page"]][: arguments.show]:
        asked = answer.question
        place = f"{asked.file} {asked.page}  found {answer.found}"
        print(f"missed  {answer.mode}  {asked.kind}  {asked.text}  {place}", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", default=["hybrid", "lexical"])
    parser.add_argument("--each", type=int, default=60, help="questions of each kind, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where PDFs and index stay between runs")
    parser.add_argument("--show", type=int, default=0, help="list so many questions whose page is not first")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _questions(pages: Sequence[Page], each: int, choice: random.Random) -> Iterator[Question]:
    for kind, texts in ((HEADING, _headings), (SENTENCE, _sentences)):
        found = [Question(kind, text, page.file, page.number) for page in pages for text in texts(page, choice)]
        counts = Counter(question.text for question in found)
        fit = [question for question in found if counts[question.text] == 1]
        yield from choice.sample(fit, min(each, len(fit)))


def _headings(page: Page, _: random.Random) -> Iterator[str]:
    """Yield the headings of some words that end well above the foot of the page: what they head is on it."""
    for heading in page.headings:
        if len(heading.split()) > 1 and page.lines.index(heading) < len(page.lines) - 4:
            yield heading


def _sentences(page: Page, choice: random.Random) -> Iterator[str]:
    """Yield longer words, in their order, of each sentence that begins and ends on the page."""
    for paragraph in "\n".join(page.lines).split("\n\n")[1:-1]:
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(paragraph.split())):
            words = sentence.split()
            if WORDS[0] <= len(words) <= WORDS[1] and re.fullmatch(r"[A-Z][\w\s,;:'’()/.-]+[.!?]", sentence):
                longer = [place for place, word in enumerate(words) if len(word) > 3]
                asked = sorted(choice.sample(longer, min(ASKED, len(longer))))
                yield " ".join(words[place].strip(".,;:()!?").lower() for place in asked)


def _answer(index: Index, question: Question, run: Run) -> Answer:
    hits = index.search(question.text, top_k=PAGE, **run.options).hits[:3]
    places = [(hit.key, _page(hit)) for hit in hits]
    in_file = [file == question.file for file, _ in places]
    on_page = [place == (question.file, question.page) for place in places]
    values = (on_page[:1] == [True], any(on_page), in_file[:1] == [True], any(in_file))
    return Answer(question, run.name, dict(zip(MEASURES, values, strict=True)), places)


def _page(hit: Hit) -> int:
    """Return the page that a hit stands on: its own where it has one, else that of its headings."""
    found = re.search(r"\bpage (\d+)", hit.heading_path)
    return int(getattr(hit, "page", None) or (found[1] if found else 0))


def _table(answers: Sequence[Answer]) -> Iterator[str]:
    modes = dict.fromkeys(answer.mode for answer in answers)
    rows = []
    for kind in (HEADING, SENTENCE, "both"):
        for mode in modes:
            chosen = [each for each in answers if each.mode == mode and kind in (each.question.kind, "both")]
            means = [fmean(each.measures[measure] for each in chosen) if chosen else 0.0 for measure in MEASURES]
            rows.append([kind, mode, str(len(chosen)), *(f"{mean:.3f}" for mean in means)])
    yield from markdown(["question", "mode", "count", *MEASURES], rows)
