"""Measure how well memories are recalled, beside the same texts as documents and as messages.

Statements about one person name that person in every line, as agents write them, and so do the questions. Each set is
asked in three forms: with the name (`named`), with a pronoun in both (`pronoun`), and with the name in the memories
alone (`asked by pronoun`). `first` and `first 3` are the shares of questions whose memory stands there.

    python -m bench memories [--json] [--most N]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.quality.kept import markdown
from rifflux import Document, Index, Scope
from rifflux.index import open_index

SETS = Path(__file__).with_name("memories.tsv")
PRONOUNS = {"Mara": "She", "Tobias": "He"}
FIRST = 3
HEAD = ("set, form", "way", "questions", "first", f"first {FIRST}", "MRR")
#: Finds the texts for a question, best first.
Find = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is remembered of one person, and questions, each with the memory that answers it."""

    name: str
    memories: tuple[str, ...]
    questions: tuple[tuple[str, str], ...]


def facts(path: Path = SETS) -> list[Facts]:
    """Return the sets of a file, with the name in every line."""
    rows: dict[str, list[list[str]]] = {}
    people: dict[str, str] = {}
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, person, *texts = line.split("\t")
            people[name] = person
            rows.setdefault(name, []).append([text.replace("{name}", person) for text in texts])
    return [
        Facts(name, tuple(row[0] for row in each), tuple((row[1], row[0]) for row in each if len(row) > 1))
        for name, each in rows.items()
    ]


def forms(known: Facts) -> Iterator[tuple[str, Facts]]:
    """Yield a set in each form that it is asked in."""
    yield "named", known
    questions = [(_by_pronoun(question), memory) for question, memory in known.questions]
    yield "asked by pronoun", replace(known, questions=tuple(questions))
    plain = tuple(_by_pronoun(memory) for memory in known.memories)
    yield "pronoun", Facts(known.name, plain, tuple((q, _by_pronoun(memory)) for q, memory in questions))


def _by_pronoun(text: str) -> str:
    for name, pronoun in PRONOUNS.items():
        possessive = {"She": "her", "He": "his"}[pronoun]
        text = text.replace(f"{name}'s", possessive)
        text = f"{pronoun}{text[len(name) :]}" if text.startswith(name) else text.replace(name, pronoun.lower())
    return text[:1].upper() + text[1:]


def ways(index: Index, memories: Sequence[str]) -> dict[str, Find]:
    """Return the ways to find memories that are measured, with the memories stored for each."""
    ann = index.scoped(Scope("ann"))
    for memory in memories:
        ann.memories.add(memory)
    kept = ann.memories
    by_meaning = index.scoped(Scope("documents"))
    by_meaning.add(*(Document(str(number), memory) for number, memory in enumerate(memories)))
    index.policies.set("hybrid_search", True)
    talks = index.scoped(Scope("messages")).conversations
    talks.add(id="c")
    for number, memory in enumerate(memories):
        talks.add_message("c", memory, id=str(number))
    return {
        "memories": lambda question: [memory.text for memory, _ in kept.search(question).memories],
        "memories, rrf": lambda question: [memory.text for memory, _ in kept.search(question, fusion="rrf").memories],
        "documents": lambda question: [hit.text for hit in by_meaning.search(question)],
        "documents, by meaning alone": lambda question: [
            hit.text for hit in by_meaning.search(question, mode="semantic")
        ],
        "messages": lambda question: [hit.message.text for hit in talks.search(question, top_k=10)],
    }


def measured(known: Facts, find: Find) -> tuple[float, float, float]:
    """Return the shares of questions that are answered first, and by one of the first, and the mean reciprocal rank."""
    ranks = []
    for question, memory in known.questions:
        found = list(find(question))
        ranks.append(found.index(memory) + 1 if memory in found else None)
    first = sum(rank == 1 for rank in ranks)
    near = sum(rank is not None and rank <= FIRST for rank in ranks)
    reciprocal = sum(1 / rank for rank in ranks if rank)
    return first / len(ranks), near / len(ranks), reciprocal / len(ranks)


def rows(most: int | None = None, model: str | None = None) -> Iterator[tuple[str, str, int, float, float, float]]:
    """Yield a row for each set, form and way; of `most` memories and questions of each set where that is given."""
    for known in facts():
        for form, asked in forms(known):
            if most is not None:
                few = asked.memories[:most]
                asked = replace(
                    asked, memories=few, questions=tuple(each for each in asked.questions if each[1] in few)
                )
            with open_index(":memory:", model=model) as index:
                for way, find in ways(index, asked.memories).items():
                    yield f"{asked.name}, {form}", way, len(asked.questions), *measured(asked, find)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--most", type=int, help="only so many memories of each set")
    parser.add_argument("--model", help="another embedding model")
    given = parser.parse_args()
    found = list(rows(given.most, given.model))
    if given.json:
        print(json.dumps(found, indent=1))
        return
    shown = [(name, way, str(count), *(f"{value:.2f}" for value in values)) for name, way, count, *values in found]
    print("\n".join(markdown(HEAD, shown)))


if __name__ == "__main__":
    main()
