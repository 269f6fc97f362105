"""Answer a set of questions and compare the answers with gold patterns; print what is right and where it is lost.

    python -m bench answers QUESTIONS FOLDER [FOLDER ...] [--keep INDEX] [--show] [--record FILE]

QUESTIONS has a question in each line, in JSON:

    id, kind    a name, and what is asked: fact, howto, compare, list, followup, unanswerable, or any other word
    question    and `previous`, the question that it follows
    gold        patterns (case does not matter) that stand in a right answer: all of them, or `need` of them
    forbidden   patterns that stand in no right answer
    file        the end of the gold document's path, alternatives parted by `|`

An answer is right if it has enough of the gold and nothing forbidden, partly right if it has some of it, else wrong.
One that is labelled as the closest passage is an answer like any other: right if it is right, and no refusal where
nothing answers. A second row counts all of those as refused. A right answer is lost in retrieval if no passage that was
found has enough of the gold, in the evidence if none of the pack together has, by refusal if the question is refused,
and else in the choice of what is quoted. `--record` writes each answer down: the first run over a set is the one that
counts, and a file that is there is not written again.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import rifflux
from bench.quality.kept import markdown
from rifflux import Answer, Index
from rifflux.answer.gather import Evidence, gather
from rifflux.index.sources import of_answers
from rifflux.types import Filter
from rifflux.works.export import CITING

RIGHT = "right"
PARTLY = "partly"
WRONG = "wrong"
REFUSED = "refused"
VERDICTS = (RIGHT, PARTLY, WRONG, REFUSED)
LOSSES = ("retrieval", "evidence", "refusal", "choice")
UNANSWERABLE = "unanswerable"
CLOSEST = "answer.closest"
#: A right answer of at most so many characters is counted once more.
SHORT = 500
_MARK = re.compile(r"\s*\[\d+\]")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class GoldQuestion:
    """A question with the patterns and documents of its answer; see the module for what they mean."""

    id: str
    kind: str
    question: str
    gold: Sequence[str] = ()
    need: int | None = None
    forbidden: Sequence[str] = ()
    file: str = ""
    previous: str = ""

    @property
    def required(self) -> int:
        """Return the number of gold patterns that a right answer has."""
        return self.need or len(self.gold)

    def matches(self, text: str) -> int:
        """Return the number of gold patterns that stand in a text."""
        plain = _plain(text)
        return sum(bool(re.search(pattern, plain, re.IGNORECASE)) for pattern in self.gold)

    def verdict(self, text: str) -> str:
        """Return whether the text of an answer is right, partly right or wrong."""
        matched = self.matches(text)
        plain = _plain(text)
        if any(re.search(pattern, plain, re.IGNORECASE) for pattern in self.forbidden):
            return WRONG
        if self.gold and matched >= self.required:
            return RIGHT
        return PARTLY if matched else WRONG

    def is_gold(self, key: str) -> bool:
        """Return True if a document is one that answers."""
        return any(key.endswith(each) for each in self.file.split("|") if each)


@dataclass(frozen=True)
class JudgedAnswer:
    """A question with its answer, the verdict on it, and the stage in which a right answer was lost."""

    question: GoldQuestion
    answer: Answer
    verdict: str
    lost: str = ""

    @property
    def is_closest(self) -> bool:
        """Return True if the answer is labelled as the closest passage."""
        return any(note.code == CLOSEST for note in self.answer.notes)

    @property
    def strict(self) -> JudgedAnswer:
        """Return the judgement if the closest passage is no answer."""
        if self.is_closest:
            return replace(self, verdict=REFUSED, lost="refusal")
        return self

    @property
    def citations(self) -> list[bool]:
        """Return for each citation whether it is of a document that answers."""
        keys = {item.number: item.key for item in self.answer.pack.items}
        return [self.question.is_gold(keys[each.number]) for each in self.answer.citations]


def main() -> None:
    """Print how well the answers to a set of questions match its gold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("folders", type=Path, nargs="*", help="what is indexed; nothing for an index that is there")
    parser.add_argument("--keep", type=Path, help="the index, made if it is not there")
    parser.add_argument("--show", action="store_true", help="print what is not right")
    parser.add_argument("--record", type=Path, help="write the answers down")
    arguments = parser.parse_args()
    if arguments.record and arguments.record.exists():
        parser.error(f"{arguments.record} is there: the first run over a set is the one that counts")
    questions = read_questions(arguments.questions)
    with tempfile.TemporaryDirectory() as temporary:
        path = arguments.keep or Path(temporary) / "answers.db"
        with rifflux.open(path) as index:
            if arguments.folders:
                index.add(*arguments.folders)
            judged = [_judged(index, each) for each in questions]
    print("\n".join(_figures(judged)))
    if arguments.show:
        print("\n".join(_failures(judged)))
    if arguments.record:
        lines = [
            json.dumps(
                {
                    "id": each.question.id,
                    "verdict": each.verdict,
                    "lost": each.lost,
                    "closest": each.is_closest,
                    "text": each.answer.text,
                }
            )
            for each in judged
        ]
        arguments.record.write_text("\n".join(lines) + "\n", "utf-8")


def read_questions(path: Path) -> list[GoldQuestion]:
    """Return the questions of a file, one in each line."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        GoldQuestion(
            row["id"],
            row["kind"],
            row["question"],
            row.get("gold") or (),
            row.get("need"),
            row.get("forbidden") or (),
            row.get("file") or "",
            row.get("previous") or "",
        )
        for row in rows
    ]


def _judged(index: Index, question: GoldQuestion) -> JudgedAnswer:
    history = []
    if question.previous:
        before = index.answer(question.previous)
        history = [("user", question.previous), ("assistant", before.text or before.reason)]
    answer = index.answer(question.question, history)
    if answer.refused:
        verdict = REFUSED
    else:
        verdict = question.verdict(answer.text)
    if question.kind == UNANSWERABLE or verdict == RIGHT:
        return JudgedAnswer(question, answer, verdict)
    return JudgedAnswer(question, answer, verdict, _lost(index, question, answer))


def _lost(index: Index, question: GoldQuestion, answer: Answer) -> str:
    """Return the stage in which a right answer was lost."""
    sources = [*of_answers(index.admin.view)]
    evidence: Evidence = gather(sources, answer.searched, Filter(), CITING, top_k=8, max_tokens=3_000, deadline=None)
    if question.matches("\n\n".join(hit.text for each in evidence.found for hit in each.hits)) < question.required:
        return "retrieval"
    if question.matches("\n\n".join(item.text for item in evidence.pack.items)) < question.required:
        return "evidence"
    return "refusal" if answer.refused else "choice"


# What is printed


def _figures(judged: Sequence[JudgedAnswer]) -> Iterator[str]:
    answerable = [each for each in judged if each.question.kind != UNANSWERABLE]
    others = [each for each in judged if each.question.kind == UNANSWERABLE]
    kinds = list(dict.fromkeys(each.question.kind for each in answerable))
    rows = [(kind, [each for each in answerable if each.question.kind == kind]) for kind in kinds]
    rows.append(("all", answerable))
    rows.append(("all, the closest passage as refused", [each.strict for each in answerable]))
    yield from markdown(("", "questions", *VERDICTS, *LOSSES), (_row(name, own) for name, own in rows))
    citations = [is_gold for each in answerable for is_gold in each.citations]
    lengths = [len(_MARK.sub("", each.answer.text)) for each in answerable if each.verdict != REFUSED]
    short = sum(each.verdict == RIGHT and len(_MARK.sub("", each.answer.text)) <= SHORT for each in answerable)
    times = [each.answer.milliseconds["answer"] for each in judged]
    yield ""
    yield from markdown(
        ("", "figure", "of"),
        [
            ("unanswerable refused", _refused(others), str(len(others))),
            ("the same, the closest passage as refused", _refused(each.strict for each in others), str(len(others))),
            (f"right in at most {SHORT} characters", str(short), str(len(answerable))),
            ("citations of the gold's document", str(sum(citations)), str(len(citations))),
            ("characters of an answer, median", _median(lengths), str(len(lengths))),
            ("milliseconds of an answer, median", _median(times), str(len(times))),
        ],
    )


def _refused(judged: Iterable[JudgedAnswer]) -> str:
    return str(sum(each.verdict == REFUSED for each in judged))


def _row(name: str, judged: Sequence[JudgedAnswer]) -> list[str]:
    verdicts = [sum(each.verdict == verdict for each in judged) for verdict in VERDICTS]
    losses = [sum(each.lost == loss for each in judged) for loss in LOSSES]
    return [name, str(len(judged)), *(str(count) for count in (*verdicts, *losses))]


def _failures(judged: Iterable[JudgedAnswer]) -> Iterator[str]:
    for each in judged:
        expected = REFUSED if each.question.kind == UNANSWERABLE else RIGHT
        if each.verdict != expected:
            text = _plain(each.answer.text) or each.answer.reason
            yield f"\n{each.question.id}: {each.verdict} {each.lost}: {each.question.question}\n    {text}"


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.0f}" if values else ""


def _plain(text: str) -> str:
    return _SPACE.sub(" ", _MARK.sub("", text))
