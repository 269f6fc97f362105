"""Measure whether the wording of a question changes what is found, and how relevant that is called.

    python -m bench wordings DATA [--mode hybrid] [--topics 60] [--seed 0] [--keep FOLDER] [--show 3] [--json FILE]

Topics are titles of `srd5e`, `docs` and `cfr30` (there the citation) that come first by some mode when asked plainly.
Each is asked in eight wordings, and in eight others that nobody should look at while improving anything. Printed are

    first           answers whose first document is the topic's
    same first      topics with the same first document in every wording
    same level      topics with the same level of relevance in every wording
    spread          the most less the least relevance of a topic's first hits, in the mean
    right low       first hits that are right and called low
    wrong high      first hits that are wrong and called high: of topics, of names whose number does not exist, and of
                    topics of another collection, all of them in every wording
    nonsense low    questions of invented words, and of real words of another domain, with no hit above low
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean

from bench.quality.invented import pronounceable, sentences
from bench.quality.kept import PAGE, Kept, first_document, markdown
from bench.quality.name_forms import Name, beginnings, drawn, named_files, named_records, unique
from bench.shared import sample
from rifflux.evaluate import Run, parse_run
from rifflux.index import Index

EIGHT = (
    "{}",
    "What is {}?",
    "Tell me about {}",
    "Explain {}",
    "Where is {} described?",
    "details on {}",
    "{} meaning",
    "Could you find what we have on {}",
)
OTHERS = (
    "Describe {}",
    "How does {} work?",
    "I need to know more about {}",
    "what do the documents say about {}?",
    "can you please give me some information regarding {}",
    "anything about {}?",
    "{} explained",
    "looking for {}",
)
WORDINGS = {"the eight": EIGHT, "eight others": OTHERS}
#: Collections and their share of the topics.
SHARES = {"srd5e": 0.5, "docs": 1 / 3, "cfr30": 1 / 6}
#: Words of a topic, at most.
LONGEST = 5
#: Names whose number does not exist.
ABSENT = 20
LOW, HIGH = "low", "high"
TOPIC, NUMBER, FOREIGN, INVENTED, SHUFFLED = "topic", "number", "foreign", "invented", "shuffled"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: its kind, the name in it, and the key of the document that answers it, if there is one."""

    collection: str
    kind: str
    name: str
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The first hit of a question in one wording: whether it is right, its relevance and level; the page's best."""

    question: Question
    wordings: str
    wording: str
    document: str | None
    relevance: float
    level: str
    best: str

    @property
    def right(self) -> bool:
        """Return whether the first document answers the question."""
        return self.document is not None and self.document == self.question.document


@dataclass(frozen=True, slots=True)
class Source:
    """A collection's index, and its names that may be topics."""

    name: str
    index: Index
    names: Sequence[Name]


def main() -> None:
    """Print the figures of both sets of wordings, and those of each wording."""
    arguments = _arguments()
    run = parse_run(arguments.mode)
    with tempfile.TemporaryDirectory() as temporary, Kept(arguments.keep or Path(temporary)) as kept:
        sources = {name: _source(arguments.data, name, kept) for name in SHARES}
        answers = [
            answer
            for question in _questions(sources, arguments, run)
            for answer in _answers(sources[question.collection].index, question, run)
        ]
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(each) for each in answers], indent=1), "utf-8")
    print("\n".join(_tables(answers)))
    if arguments.show:
        print("\n".join(_faults(answers, arguments.show)), file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--mode", default="hybrid", help="anything that `rifflux eval --run` takes")
    parser.add_argument("--topics", type=int, default=60)
    parser.add_argument("--nonsense", type=int, default=40, help="questions of each sort and collection")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where the indexes stay between runs")
    parser.add_argument("--show", type=int, default=0, help="list so many faults of each sort")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _source(data: Path, name: str, kept: Kept) -> Source:
    folder = data / name
    if name == "docs":
        return Source(name, kept.files(folder, name), unique(named_files(folder)))
    names = unique(named_records(folder / "corpus.jsonl"))
    return Source(name, kept.records(folder / "corpus.jsonl"), unique(beginnings(names)) or names)


# What is asked


def _questions(sources: Mapping[str, Source], arguments: argparse.Namespace, run: Run) -> Iterator[Question]:
    choice, prose = random.Random(arguments.seed), sentences(arguments.data)
    foreign = {name: drawn(filter(_is_fit, source.names), ABSENT, 1) for name, source in sources.items()}
    for name, source in sources.items():
        print(f"{name} …", file=sys.stderr)
        for topic in _topics(source, round(arguments.topics * SHARES[name]), arguments.seed, run):
            yield Question(name, TOPIC, topic.text, topic.document)
        for _ in range(arguments.nonsense):
            yield Question(name, INVENTED, " ".join(pronounceable(choice) for _ in range(choice.randint(1, 3))))
        others = [sentence for sentence in prose if name == "docs" or _of_medicine(sentence)]
        for _ in range(arguments.nonsense):
            yield Question(name, SHUFFLED, _shuffled(others, choice))
        for other in ("srd5e", "cfr30"):
            if other != name:
                yield from (Question(name, FOREIGN, each.text) for each in foreign[other][: ABSENT // 2])
    yield from (Question("cfr30", NUMBER, each) for each in _absent(sources["cfr30"].names, choice))


def _topics(source: Source, count: int, seed: int, run: Run) -> list[Name]:
    """Draw titles that the mode in question, or words alone, find first when asked plainly."""
    runs = (run, parse_run("lexical"))
    found: list[Name] = []
    for name in drawn(filter(_is_fit, source.names), len(source.names), seed):
        if len(found) == count:
            break
        if any(first_document(source.index, name.text, each) == name.document for each in runs):
            found.append(name)
    return found


def _is_fit(name: Name) -> bool:
    return len(name.text.split()) <= LONGEST and not re.search(r"[?!:]|^ch\d", name.text)


def _of_medicine(sentence: str) -> bool:
    """Return whether a sentence is of what neither the rules of a game nor those of mining speak of."""
    return bool(re.search(r"patients|cells|protein|mice|gene|clinical|cancer", sentence))


def _shuffled(prose: Sequence[str], choice: random.Random) -> str:
    words = [word for each in sample(choice, prose, 6) for word in re.findall(r"\b[a-z]{5,}\b", each)]
    return " ".join(choice.sample(words, min(len(words), choice.randint(3, 6))))


def _absent(names: Sequence[Name], choice: random.Random) -> Iterator[str]:
    """Yield names in which one number is changed so that nothing has them."""
    there = {name.text for name in names}
    for name in sample(choice, list(names), ABSENT):
        head, dot, last = name.text.rpartition(".")
        changed = (f"{head}{dot}{number}" for number in range(int(re.sub(r"\D", "", last) or 1) + 1, 10_000))
        yield next(each for each in changed if each not in there)


def _answers(index: Index, question: Question, run: Run) -> Iterator[Answer]:
    for wordings, patterns in WORDINGS.items():
        for pattern in patterns:
            hits = index.search(pattern.format(question.name), top_k=PAGE, **run.options).hits
            levels = {hit.quality for hit in hits}
            best = next((level for level in (HIGH, "medium") if level in levels), LOW)
            document = hits[0].key if hits else None
            relevance, level = (hits[0].relevance or 0.0, hits[0].quality or LOW) if hits else (0.0, LOW)
            yield Answer(question, wordings, pattern, document, relevance, level, best)


# The report


def _tables(answers: Sequence[Answer]) -> Iterator[str]:
    columns = {each: [answer for answer in answers if answer.wordings == each] for each in WORDINGS}
    figures = {each: _figures(of) for each, of in columns.items()}
    rows = [[what, *(_told(figures[each][what]) for each in WORDINGS)] for what in figures["the eight"]]
    yield from markdown(["", *WORDINGS], rows)
    yield from ("", "Topics by wording:", "")
    topics = [answer for answer in answers if answer.question.kind == TOPIC]
    yield from markdown(
        ["wording", "first", "relevance", "low"], [_by_wording(topics, each) for each in EIGHT + OTHERS]
    )


def _figures(answers: Sequence[Answer]) -> dict[str, float | None]:
    kinds = {kind: [each for each in answers if each.question.kind == kind] for kind in (TOPIC, NUMBER, FOREIGN)}
    topics = [list(group) for _, group in groupby(kinds[TOPIC], key=lambda each: each.question)]
    right = [each for each in kinds[TOPIC] if each.right]
    wrong = [each for each in kinds[TOPIC] if not each.right]
    nonsense = {kind: [each for each in answers if each.question.kind == kind] for kind in (INVENTED, SHUFFLED)}
    return {
        "first": _share([each.right for each in kinds[TOPIC]]),
        "same first": _share([len({each.document for each in topic}) == 1 for topic in topics]),
        "same level": _share([len({each.level for each in topic}) == 1 for topic in topics]),
        "spread": _share([_spread([each.relevance for each in topic]) for topic in topics]),
        "right low": _share([each.level == LOW for each in right]),
        "wrong high: topics": _share([each.level == HIGH for each in wrong]),
        "wrong high: no such number": _share([each.level == HIGH for each in kinds[NUMBER]]),
        "wrong high: another collection's": _share([each.level == HIGH for each in kinds[FOREIGN]]),
        "nonsense low: invented": _share([each.best == LOW for each in nonsense[INVENTED]]),
        "nonsense low: shuffled": _share([each.best == LOW for each in nonsense[SHUFFLED]]),
    }


def _share(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _spread(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _told(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _by_wording(topics: Sequence[Answer], wording: str) -> list[str]:
    asked = [each for each in topics if each.wording == wording]
    means = (fmean(values) for values in zip(*((e.right, e.relevance, e.level == LOW) for e in asked), strict=True))
    return [wording.format("X"), *map(_told, means)]


def _faults(answers: Sequence[Answer], show: int) -> Iterator[str]:
    sorts = {
        "not first": lambda each: each.question.kind == TOPIC and not each.right,
        "right low": lambda each: each.right and each.level == LOW,
        "wrong high": lambda each: each.question.kind != TOPIC and each.level == HIGH,
        "nonsense above low": lambda each: each.question.kind in (INVENTED, SHUFFLED) and each.best != LOW,
    }
    for sort, is_fault in sorts.items():
        for answer, _ in zip(filter(is_fault, answers), range(show), strict=False):
            asked = answer.wording.format(answer.question.name)
            yield f"{sort:<20}{answer.question.collection}  {asked}  →  {answer.document} {answer.relevance:.2f}"
