"""Answer questions that have an answer, questions whose documents were taken out, and nonsense.

    python -m bench refusals DATA [--seed 0] [--each 20] [--draws 1] [--keep FOLDER]
        [--docs NAME] [--only NAME] [--index INDEX] [--times]

For each draw, by its seed:

    answerable  20 questions each of scifact and srd5e, and the names of 20 pages of a folder of documentation. The
                gold passage is held where an answer quotes a document that is judged relevant
    near miss   10 other questions of each; all documents that are judged relevant to them are taken out of the index.
                What is left may still answer: nobody judged that
    nonsense    30 questions: made-up words, placeholder text, words of other questions shuffled

Text is quoted, no model is called. Printed are, beside what they should be, the share of the answerable that hold
the gold passage, and the shares refused or answered of each sort; how often the wordings `X?`, `Tell me about X`
and `Explain X` are refused or answered alike; and with INDEX, the time until the first event and until the whole
answer, for warm questions of the collections; --times measures nothing else. The time of the processor, of all
threads, tells what a busy machine hides.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import string
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import rifflux
from bench.quality.kept import Kept, markdown
from bench.shared import questions as some_questions
from bench.shared import sample
from rifflux import Answer, Done, Index
from rifflux.evaluate import read_beir

ANSWERABLE, NEAR, NONSENSE = "answerable", "near miss", "nonsense"
WORDINGS = ("{}", "{}?", "Tell me about {}", "Explain {}")
LOREM = ("lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do", "eiusmod")
#: A page with fewer characters is a list of links.
SHORTEST = 400
#: The title in a page's front matter, and the heading that it begins with, behind comments and anchors.
_FRONT = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r"^title: *[\"']?(.+?)[\"']? *$", re.MULTILINE)
_BEGINS = re.compile(r"(?:\s|<[^>]*>)*^#{1,3} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Question:
    """A question of a sort, the index it is asked in, and the documents that answer it."""

    sort: str
    source: str
    text: str
    gold: frozenset[str] = frozenset()


@dataclass
class Source:
    """A collection: its questions with the documents that answer them, its index, and one without some documents."""

    name: str
    asked: Sequence[tuple[str, frozenset[str]]]
    index: Index
    without: dict[int, Index] = field(default_factory=dict)

    def lacking(self, seed: int, gold: Sequence[str], folder: Path, closing: ExitStack) -> Index:
        """Return the index without some documents."""
        path = folder / f"{self.name}-{seed}.db"
        self.index.admin.backup(path)
        index = closing.enter_context(rifflux.open(path, model=self.index.admin.embedder))
        index.remove(*gold)
        self.without[seed] = index
        return index


@dataclass(frozen=True)
class Asked:
    """A question as it was answered in each wording."""

    question: Question
    answers: Sequence[Answer]

    @property
    def answered(self) -> bool:
        return not self.answers[0].refused

    @property
    def holds_gold(self) -> bool:
        """Return True if the answer quotes a document that is judged relevant."""
        keys = {item.number: item.key for item in self.answers[0].pack.items}
        return any(keys[each.number] in self.question.gold for each in self.answers[0].citations)

    @property
    def alike(self) -> bool:
        return len({answer.refused for answer in self.answers}) == 1


def main() -> None:
    """Print how well answers hold, and what they cost in time."""
    arguments = _arguments()
    if not arguments.times:
        _answers(arguments)
    if arguments.index:
        _first_events(arguments.index, arguments.data, min(arguments.each, 15))


def _answers(arguments: argparse.Namespace) -> None:
    """Print how well answers hold."""
    with ExitStack() as closing:
        temporary = closing.enter_context(tempfile.TemporaryDirectory())
        kept = closing.enter_context(Kept(arguments.keep or Path(temporary)))
        sources = [*_sources(arguments.data, arguments.docs, kept, arguments.only)]
        found = list[Asked]()
        for seed in range(arguments.seed, arguments.seed + arguments.draws):
            found += _asked(seed, arguments.each, sources, Path(temporary), closing)
        print("\n".join(_figures(found)), "\n", sep="")
        print("\n".join(_by_source(found)))
        for each in found if arguments.show else ():
            right = each.answered == (each.question.sort == ANSWERABLE) and (not each.question.gold or each.holds_gold)
            if not right and not (each.question.sort == NEAR and not each.answered):
                print(f"{each.question.sort}, {each.question.source}: {each.question.text!r}: {each.answers[0].text!r}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--each", type=int, default=20, help="answerable questions of each, and half as many near misses"
    )
    parser.add_argument("--draws", type=int, default=1, help="with this seed and those after it")
    parser.add_argument("--keep", type=Path, help="folder of indexes")
    parser.add_argument("--docs", default="rust-book", help="folder of Markdown in DATA/docs")
    parser.add_argument("--only", help="of the collections, this one")
    parser.add_argument("--index", type=Path, help="index to measure the first event in")
    parser.add_argument("--times", action="store_true", help="measure nothing but the times in INDEX")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    return parser.parse_args()


def _sources(data: Path, docs: str, kept: Kept, only: str | None) -> Iterator[Source]:
    for name in ("scifact", "srd5e") if only is None else {only} & {"scifact", "srd5e"}:
        collection = read_beir(data / name)
        asked = [
            (each.text, frozenset(key for key, grade in each.grades.items() if grade > 0))
            for each in collection.questions
        ]
        yield Source(name, asked, kept.records(data / name / "corpus.jsonl"))
    if only not in (None, docs):
        return
    tree = data / "docs" / docs
    yield Source(docs, [*_pages(tree)], kept.files(tree, docs))


def _pages(tree: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """Give the name of each page of a folder that no other page has: that it begins with, else its file's."""
    named: dict[str, list[str]] = {}
    for path in sorted(tree.rglob("*.md")):
        text = path.read_text("utf-8")
        if len(text) >= SHORTEST:
            front = _FRONT.match(text)
            name = (front and _TITLE.search(front[1])) or _BEGINS.match(text, front.end() if front else 0)
            written = name[1] if name else path.stem.replace("-", " ")
            plain = re.sub(r"[`*]|<[^>]*>|\s*\{[^}]*\}$", "", written).strip(" ?")
            named.setdefault(plain, []).append(path.relative_to(tree).as_posix())
    yield from ((name, frozenset(paths)) for name, paths in named.items() if len(paths) == 1)


def _asked(seed: int, each: int, sources: Sequence[Source], folder: Path, closing: ExitStack) -> Iterator[Asked]:
    choice, words = random.Random(seed), set[str]()
    for source in sources:
        drawn = sample(choice, list(source.asked), each + each // 2)
        words.update(word for text, _ in drawn for word in text.split())
        for text, gold in drawn[:each]:
            yield _answered(Question(ANSWERABLE, source.name, text, gold), source.index)
        lacking = source.lacking(seed, sorted(frozenset().union(*(gold for _, gold in drawn[each:]))), folder, closing)
        for text, gold in drawn[each:]:
            yield _answered(Question(NEAR, source.name, text, gold), lacking)
    for number, text in enumerate([*_nonsense(each // 2, sorted(words), choice)][:: 1 if len(sources) > 1 else 3]):
        source = sources[number % len(sources)]
        yield _answered(Question(NONSENSE, source.name, text), source.index)


def _nonsense(each: int, words: Sequence[str], choice: random.Random) -> Iterator[str]:
    for _ in range(each):
        yield " ".join("".join(choice.choices(string.ascii_lowercase, k=6)) for _ in range(3))
        yield " ".join(choice.sample(LOREM, choice.randint(3, 7)))
        yield " ".join(choice.sample(words, choice.randint(3, 7)))


def _answered(question: Question, index: Index) -> Asked:
    asked = question.text.rstrip(" .?")
    answers = [index.answer(wording.format(asked)) for wording in WORDINGS]
    return Asked(question, answers)


# What is printed


def _figures(found: Sequence[Asked]) -> Iterator[str]:
    def of(sort: str) -> list[Asked]:
        return [each for each in found if each.question.sort == sort]

    rows = [
        ("answerable: the answer holds the gold passage", [each.holds_gold for each in of(ANSWERABLE)], "≥ 0.85"),
        ("answerable: refused", [not each.answered for each in of(ANSWERABLE)], "≤ 0.10"),
        ("near misses: answered", [each.answered for each in of(NEAR)], "≤ 0.25"),
        ("nonsense: answered", [each.answered for each in of(NONSENSE)], "≤ 0.03"),
        ("alike in all wordings", [each.alike for each in found], ""),
    ]
    cells = ((what, _share(values), str(len(values)), wanted) for what, values, wanted in rows)
    yield from markdown(("", "share", "of", "wanted"), cells)


def _by_source(found: Sequence[Asked]) -> Iterator[str]:
    names = list(dict.fromkeys(each.question.source for each in found))

    def row(name: str) -> list[str]:
        own = [each for each in found if each.question.source == name]
        answerable = [each for each in own if each.question.sort == ANSWERABLE]
        return [
            name,
            _share([each.holds_gold for each in answerable]),
            _share([not each.answered for each in answerable]),
            _share([each.answered for each in own if each.question.sort == NEAR]),
            _share([each.answered for each in own if each.question.sort == NONSENSE]),
        ]

    yield from markdown(("", "gold", "refused", "near misses", "nonsense"), map(row, names))


def _share(values: Sequence[bool]) -> str:
    return f"{statistics.mean(values):.3f}" if values else ""


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(start: tuple[float, float]) -> tuple[float, float]:
    """Return the milliseconds that have passed, and those of the processor, of all threads."""
    elapsed, processor = _clocks()
    return (elapsed - start[0]) * 1000, (processor - start[1]) * 1000


def _first_events(path: Path, data: Path, each: int) -> None:
    """Print the time until the first event of an answer and until the whole of it, and where that goes."""
    texts = [*some_questions(data, each)]
    first: list[tuple[float, float]] = []
    whole: list[tuple[float, float]] = []
    stages: dict[str, list[float]] = {}
    with rifflux.open(path) as index:
        for text in texts[:20]:
            next(iter(index.answering(text)))
        for text in texts:
            start = _clocks()
            events = iter(index.answering(text))
            next(events)
            first.append(_since(start))
            *_, last = events
            whole.append(_since(start))
            if isinstance(last, Done):
                for stage, milliseconds in last.answer.milliseconds.items():
                    stages.setdefault(stage, []).append(milliseconds)
        print(f"\n{index.status().chunks:,} passages")
    for name, pairs in (("first event", first), ("whole answer", whole)):
        for clock, times in zip(("elapsed", "of the processor"), zip(*pairs, strict=True), strict=True):
            half, most = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            print(f"{name} after {half:.0f} ms (p50), {most:.0f} ms (p95), {clock}")
    print(", ".join(f"{stage} {statistics.median(times):.1f}" for stage, times in stages.items()), "ms (p50)")
