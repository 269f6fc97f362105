"""Judged collections of a few sentences each, in the layout that the programs of `bench` read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.quality.manuals import MANUALS
from bench.quality.packages import PACKAGES

from tests.support.papers import BOLD, centered, column, typeset

__all__ = ["write_tiny_collections", "write_tiny_packages", "write_tiny_papers"]

NAMES = ("scifact", "nfcorpus", "cacm", "cosqa", "locomo", "stacks", "cfr30", "srd5e", "nq-utd", "med", "qmsum")
#: Subject, verb and object of each document: unlike enough for a question to find its own.
FACTS = (
    ("heron", "hunts fish in", "the shallow river"),
    ("baker", "folds butter into", "the morning dough"),
    ("cache", "evicts the oldest entry of", "the request table"),
    ("violin", "carries a melody through", "the second movement"),
    ("glacier", "grinds granite under", "the northern valley"),
    ("compiler", "unrolls each loop of", "the numeric kernel"),
    ("orchard", "ripens its pears before", "the autumn frost"),
    ("surgeon", "treats patients during", "the long operation"),
    ("protein", "folds within", "the living cells"),
    ("theorem", "bounds the spectrum of", "a compact operator"),
    ("engine", "burns less diesel after", "the annual service"),
    ("archive", "preserves letters from", "the early republic"),
)
CHAPTERS = ("Commutative Algebra", "Topology", "Homological Algebra", "Schemes")


def write_tiny_collections(folder: Path) -> Path:
    """Write a collection under each name that the programs know, and a few Markdown files; return the folder."""
    for name in NAMES:
        _write_collection(folder / name, name)
    for manual in ("rust-book/src", "obsidian-help/en"):
        _write_manual(folder / "docs" / manual)
    questions = [
        {"id": str(number), "kind": "fact", "question": f"What {verb} {object}?", "gold": [subject], "file": ".md"}
        for number, (subject, verb, object) in enumerate(FACTS)
    ]
    _write_lines(folder / "questions.jsonl", questions)
    claim = {
        "source": "The queue holds 500 jobs.",
        "true": ["The queue holds 500 jobs."],
        "false": ["It holds 9 jobs."],
    }
    _write_lines(folder / "claims.jsonl", [claim])
    return folder


#: A definition in each language, with a sentence of documentation.
SOURCES = {
    "python": ("{name}.py", 'def {name}_of(table):\n    """{sentence}"""\n'),
    "javascript": ("{name}.js", "/** {sentence} */\nexport function {name}Of(table) {{}}\n"),
    "typescript": ("src/internal/{name}.ts", "/** {sentence} */\nexport function {name}Of(table) {{}}\n"),
    "go": ("{name}.go", "// {sentence}\nfunc {name}Of(table string) {{}}\n"),
    "rust": ("src/{name}.rs", "/// {sentence}\npub fn {name}_of(table: &str) {{}}\n"),
}


def write_tiny_packages(sources: Path, manuals: Path) -> None:
    """Write packages and manuals under the names that the programs would fetch them by."""
    for number, package in enumerate(PACKAGES):
        subject, verb, object = FACTS[number]
        name, text = SOURCES[package.language]
        file = sources / package.language / Path(package.name).name / name.format(name=subject)
        file.parent.mkdir(parents=True)
        file.write_text(text.format(name=subject, sentence=f"Every {subject} {verb} {object}."), "utf-8")
    for package in MANUALS:
        file = manuals / package.name.removesuffix("/v2").rpartition("/")[2] / package.only[0]
        file.parent.mkdir(parents=True)
        parts = [
            f"## How the {subject} works\n\nThe {subject} is old. Every good {subject} of {package.version} {verb} "
            f"{object} and so on for years. It {verb} nothing else.\n"
            for subject, verb, object in FACTS
        ]
        file.write_text("\n".join(parts), "utf-8")


def write_tiny_papers(folder: Path) -> None:
    """Write a paper as PDF, and what is true of it."""
    folder.mkdir()
    lines = [
        *centered(["Herons in shallow rivers"], 740, 17, BOLD),
        *centered(["Ann Keeper"], 700, 11),
        *column(
            ["# Abstract", "Every heron hunts fish in the shallow river.", "# 1 Methods", "We looked."], 72, 650, 468
        ),
    ]
    (folder / "herons.pdf").write_bytes(typeset([lines]))
    truth = ("herons.pdf", "Herons in shallow rivers", "Ann Keeper", "Every heron...river.", "Methods", "-")
    (folder / "truths.tsv").write_text("\t".join(truth) + "\n", "utf-8")


def _write_collection(folder: Path, name: str) -> None:
    documents = [_document(name, number) for number in range(len(FACTS))]
    questions = [
        {"_id": f"q{number}", "text": _question(name, number), "metadata": _question_metadata(name, number)}
        for number in range(len(FACTS))
    ]
    (folder / "qrels").mkdir(parents=True)
    _write_lines(folder / "corpus.jsonl", documents)
    _write_lines(folder / "queries.jsonl", questions)
    judged = [f"q{number}\t{documents[number]['_id']}\t1" for number in range(len(FACTS))]
    for qrels in ("test", "terms"):
        (folder / "qrels" / f"{qrels}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(judged) + "\n")


def _document(name: str, number: int) -> dict[str, Any]:
    subject, verb, object = FACTS[number]
    text = f"Every {subject} {verb} {object}. It does so again in year {1960 + number}, as the keeper noted."
    title = f"{subject.capitalize()} and {object}"
    metadata: dict[str, Any] = {"year": 1960 + number, "authors": [f"Keeper{number % 3}, A."], "cites": []}
    if number:
        metadata["cites"] = [_id(name, number - 1)]
    if name == "locomo":
        title = f"Ann, 1:5{number % 10} pm on {number + 1} May, 2023"
        metadata = {"conversation": "conv-1", "session": 1, "date": title[5:], "speaker": "Ann", "turn": f"D1:{number}"}
    elif name == "stacks":
        kind = ("definition", "lemma", "theorem")[number % 3]
        text = f"A {{\\it {subject} module}} {verb} {object} when $H^{number}(X, F) = 0$ and words hold for its covers."
        title = f"{kind.capitalize()}, {subject}"
        metadata |= {"type": kind, "chapter": CHAPTERS[number % len(CHAPTERS)], "tag": _id(name, number)}
    elif name == "cosqa":
        title = ""
        text = f'def {subject}_of(table):\n    """Every {subject} {verb} {object}."""\n    return table["{subject}"]\n'
    elif name == "cfr30":
        title = f"30 CFR § 250.{100 + number} {title}"
    return {"_id": _id(name, number), "title": title, "text": text, "metadata": metadata}


def _id(name: str, number: int) -> str:
    return f"{name}-{number}"


def _question(name: str, number: int) -> str:
    subject, verb, object = FACTS[number]
    if name == "cfr30":
        return f"30 CFR 250.{100 + number}"
    return f"which {subject} {verb} {object}"


def _question_metadata(name: str, number: int) -> dict[str, Any]:
    return {"conversation": "conv-1", "category": 1, "answer": FACTS[number][2]} if name == "locomo" else {}


def _write_lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n", "utf-8")


def _write_manual(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, (subject, verb, object) in enumerate(FACTS):
        text = (
            f"# {subject.capitalize()}\n\nEvery {subject} {verb} {object}.\n\n## Why\n\n"
            f"The {subject} is kept in order by its keeper. Use `{subject} --all` to list each of them.\n"
        )
        (folder / f"{number:02}-{subject}.md").write_text(text, "utf-8")
