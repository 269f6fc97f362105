"""Evaluation of intent classification: labelled questions, classified by the retrieval of an index."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rifflux.errors import InvalidArgument, NotFound
from rifflux.index import Index

#: Keywords without a sentence request nothing specific either, so the label `generic` also accepts them.
_PLAIN = {"keywords": "generic"}


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question, and its intent as labelled by a person."""

    text: str
    intent: str


@dataclass(frozen=True, slots=True)
class TakenFor:
    """The predicted intent of a labelled question, and the reason for it."""

    question: LabelledQuestion
    intent: str
    reason: str

    @property
    def right(self) -> bool:
        """Return True if the intent matches the label; predicted keywords also match the label `generic`."""
        label = self.question.intent
        return label in (self.intent, _PLAIN.get(self.intent))


def read_labelled(path: str | Path, intents: Sequence[str]) -> list[LabelledQuestion]:
    """Read questions from a file whose lines are an intent, a tab and a question, or JSON with `intent` and `text`.

    Raises `NotFound` without the file, and `InvalidArgument` for an invalid line or an unknown intent.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise NotFound(f"no file {path}: give one with a line per question: intent, tab, question")
    found = [*_questions(path, intents)]
    if not found:
        raise InvalidArgument(f"{path} contains no question: write a line for each: intent, tab, question")
    return found


def _questions(path: Path, intents: Sequence[str]) -> Iterator[LabelledQuestion]:
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{path} is not UTF-8 text: {error}") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            intent, text = _parted(line.strip(), f"{path}:{number}")
            if intent not in intents:
                raise InvalidArgument(f"{path}:{number}: unknown intent {intent!r}; choose from {', '.join(intents)}")
            yield LabelledQuestion(text, intent)


def _parted(line: str, place: str) -> tuple[str, str]:
    if line.startswith("{"):
        try:
            record = json.loads(line)
            return str(record["intent"]), str(record["text"])
        except (ValueError, KeyError) as error:
            raise InvalidArgument(f'{place}: not an object with "intent" and "text": {error}') from None
    intent, tab, text = line.partition("\t")
    if not tab or not text.strip():
        raise InvalidArgument(f"{place}: write the intent, a tab, and the question")
    return intent.strip(), text.strip()


def intents_of(index: Index, questions: Sequence[LabelledQuestion]) -> list[TakenFor]:
    """Return the predicted intent of each question by the retrieval of an index, without searching."""
    found = []
    for question in questions:
        decision = index.retrieve.decide_intent(question.text)
        found.append(TakenFor(question, decision.intent.name, decision.reason))
    return found


def summary(found: Sequence[TakenFor]) -> Mapping[str, Any]:
    """Return the counts by intent and the misclassified questions, as JSON."""
    totals = Counter(each.question.intent for each in found)
    right = Counter(each.question.intent for each in found if each.right)
    wrong = [
        {"query": each.question.text, "intent": each.question.intent, "taken_for": each.intent, "reason": each.reason}
        for each in found
        if not each.right
    ]
    intents = {name: {"questions": count, "right": right[name]} for name, count in totals.items()}
    return {"questions": len(found), "right": right.total(), "intents": intents, "wrong": wrong}
