"""Tell how often questions about works are taken for what they ask.

    python -m bench intents [FOLDER_OF_COLLECTIONS] [--keep FOLDER] [--questions FILE] [--fit]

Questions are those of `intents.tsv` beside this program: 120 in the wordings of many subjects, twenty for each of six
intents, written before anything was fitted. Every other one was looked at while the rules and examples were made; the
rest tells what to expect of new ones. `--questions` names another file, a line for each: intent, tab, question.
Printed are how many are right with rules and examples and with rules alone, what the wrong ones were taken for, how
long it takes, and how probable the examples make the right intent where they are left out.

With a folder of collections, pasted abstracts of three of them are read, which ask for nothing, and of CACM,
twenty-five works with three references or more are asked about: how many of the works that they cite, or that cite
them, are among the first ten. `--fit` fits the examples of the package anew, and stores what it finds there.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench.quality.wording import fit, write
from bench.quality.works import PATIENT, works
from rifflux.index import Index
from rifflux.models import load_embedder
from rifflux.retrieve.query.reading import Words
from rifflux.text.analyzer import analyzer
from rifflux.types import Scores
from rifflux.works.retrieval.asked import asked_for
from rifflux.works.retrieval.intent import GENERIC, KEYWORDS
from rifflux.works.retrieval.likeness import Likeness, fitted

QUESTIONS = Path(__file__).with_name("intents.tsv")
ABSTRACTS = ("cacm", "scifact", "nfcorpus")
SAMPLE, FEWEST_WORDS, SEED = 100, 15, 18
#: Works that are asked about, and the references that each has at least.
ASKED, LEAST, TOP = 25, 3, 10
BINS = 5
BOTH = "rules and examples"
#: Each wording with the direction of citations whose works it is after.
CITED = (
    ("what should I read before {id}?", "out"),
    ('What background do I need to understand "{title}"?', "out"),
    ("which papers does {id} cite?", "out"),
    ('what are the references of "{title}"', "out"),
    ("who cites {id}?", "in"),
    ('in which later papers is "{title}" cited', "in"),
    ("papers similar to {id}", "in"),
)
Taken = Callable[[str], str]


def main(given: Sequence[str] | None = None) -> None:
    """Print the tables of the result page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--fit", action="store_true", help="store what is fitted in the package")
    asked = parser.parse_args(given)
    if asked.fit:
        _fit()
    _questions(asked.questions)
    if asked.data:
        _abstracts(asked.data)
        with tempfile.TemporaryDirectory() as temporary:
            _citations(asked.data / "cacm", asked.keep or Path(temporary))


def _fit() -> None:
    wording, shares, own = fit(load_embedder())
    write(wording)
    names = sorted(set(own))
    right = np.array([names.index(name) for name in own])
    sure, hit = shares.max(axis=1), shares.argmax(axis=1) == right
    print(f"{len(wording.examples)} examples, {len(own)} fills, nearness {wording.nearness:g}")
    print(f"left out: {hit.mean():.3f} right by vectors alone; expected error of calibration {_error(sure, hit):.3f}\n")
    print("| share of the first | fills | right |\n| --- | ---: | ---: |")
    for low, high, chosen in _bins(sure):
        print(f"| {low:.1f} to {high:.1f} | {chosen.sum()} | {hit[chosen].mean():.2f} |")
    print()


def _bins(sure: Scores) -> Iterator[tuple[float, float, np.ndarray]]:
    edges = np.linspace(0, 1, BINS + 1)
    for low, high in pairwise(edges.tolist()):
        chosen = (sure > low) & (sure <= high)
        if chosen.any():
            yield low, high, chosen


def _error(sure: Scores, hit: np.ndarray) -> float:
    return float(sum(chosen.mean() * abs(hit[chosen].mean() - sure[chosen].mean()) for *_, chosen in _bins(sure)))


# Questions


def _questions(file: Path | None) -> None:
    lines = (file or QUESTIONS).read_text("utf-8").splitlines()
    questions = [tuple(line.split("\t")) for line in lines if "\t" in line]
    halves = {file.name: questions} if file else {"looked at": questions[::2], "not looked at": questions[1::2]}
    ways = {BOTH: _takes(_likened()), "rules alone": _takes(lambda _: None)}
    names = list(dict.fromkeys(intent for intent, _ in questions))
    print(f"| questions | | right | {' | '.join(names)} |\n| --- | --- | ---: |{' ---: |' * len(names)}")
    wrong: list[str] = []
    for half, asked in halves.items():
        for way, taken in ways.items():
            found = [(intent, taken(text), text) for intent, text in asked]
            right = Counter(intent for intent, got, _ in found if got == intent)
            cells = [f"{right[name]}/{sum(intent == name for intent, _ in asked)}" for name in names]
            print(f"| {half} | {way} | {right.total()}/{len(asked)} | {' | '.join(cells)} |")
            if way == BOTH:
                missed = (each for each in found if each[0] != each[1])
                wrong += [f"- {half}: {text!r}, {intent}, was taken for {got}" for intent, got, text in missed]
    print("\n" + "\n".join(wrong) + "\n")
    _time(ways[BOTH], [text for _, text in questions])


def _likened() -> Callable[[str], Likeness]:
    embedder, wording = load_embedder(), fitted()
    return lambda text: wording(embedder.embed_query(text), text)


def _takes(liken: Callable[[str], Likeness | None]) -> Taken:
    """Return a function that gives the intent of a question; bare words are one of its ways to ask nothing more."""
    words = Words(analyzer())

    def taken(text: str) -> str:
        name = asked_for(text, words=words, liken=liken).intent.name
        return GENERIC if name == KEYWORDS else name

    return taken


def _time(taken: Taken, texts: Sequence[str]) -> None:
    taken(texts[0])
    times = []
    for text in texts:
        start = time.perf_counter()
        taken(text)
        times.append((time.perf_counter() - start) * 1000)
    embedder = load_embedder()
    start = time.perf_counter()
    for text in texts:
        embedder.embed_query(text)
    embedded = (time.perf_counter() - start) * 1000 / len(texts)
    half, most = np.percentile(times, [50, 95])
    print(f"time: p50 {half:.1f} ms, p95 {most:.1f} ms, of which the vector, on average, {embedded:.1f} ms\n")


# Pasted abstracts, and questions about citations


def _abstracts(data: Path) -> None:
    print("| pasted abstracts of | taken for anything but generic |\n| --- | ---: |")
    taken = _takes(_likened())
    for name in ABSTRACTS:
        lines = (data / name / "corpus.jsonl").read_text("utf-8").split("\n")
        records = map(json.loads, filter(None, lines))
        texts = [each["text"] for each in records if len(each["text"].split()) >= FEWEST_WORDS]
        sample = random.Random(SEED).sample(texts, SAMPLE)
        print(f"| {name} | {sum(taken(text) != GENERIC for text in sample)}/{len(sample)} |")
    print()


def _citations(folder: Path, keep: Path) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    with works(folder / "corpus.jsonl", keep / f"{folder.name}-works.db", None) as index:
        referring = [*_referring(index)]
        chosen = random.Random(SEED).sample(referring, min(ASKED, len(referring)))
        print(f"| {folder.name}, {len(chosen)} works with {LEAST} references or more | of those, in the first {TOP} |")
        print("| --- | ---: |")
        for wording, way in CITED:
            shares = [_share(index, wording, *work, way) for work in chosen]
            known = [share for share in shares if share is not None]
            told = {"out": "cited", "in": "citing"}[way]
            print(f"| {wording} | {told} {np.mean(known):.2f} of {len(known)} |")


def _referring(index: Index) -> Iterator[tuple[str, str, set[str], set[str]]]:
    """Yield the identifier and title of works with references, what they cite, and what cites them."""
    for each in index.works.all():
        record = index.works.get(each.identifiers[0])
        cites, citing = ({hit.document for hit in hits} - {record.key} for hits in (record.cites, record.cited_by))
        if len(cites) >= LEAST:
            yield each.identifiers[0], each.title, cites, citing


def _share(
    index: Index, wording: str, name: str, title: str, cites: set[str], citing: set[str], way: str
) -> float | None:
    """Return the share of the works that a question is after among the first, of as many as can be; None of none."""
    wanted = cites if way == "out" else citing
    if not wanted:
        return None

    retrieve = replace(index.retrieve, settings=PATIENT)
    found = {hit.document for hit in retrieve(wording.format(id=name, title=title), top_k=TOP).reranked}
    return len(found & wanted) / min(TOP, len(wanted))
