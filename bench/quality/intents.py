"""Tell how often questions about works are taken for what they ask.

    python -m bench intents [FOLDER_OF_COLLECTIONS] [--keep FOLDER] [--questions FILE] [--fit]

Questions are those of `intents.tsv` beside this program, written by several people before anything was fitted to them:
a line for each, intent, tab, question, and `#` before the name of a set. One set was looked at while rules and examples
were made; the others tell what to expect of new questions. `--questions` names another such file. Printed are how many
are right with rules and examples and with rules alone, what the wrong ones were taken for, and how long it takes.

With a folder of collections, texts that ask for nothing are read: pasted abstracts, titles, and questions of content
(of which a few do compare or survey). And of CACM, twenty-five works with three references or more are asked about: how
many of the works that they cite, or that cite them, are among the first ten. `--fit` fits the examples of the package
anew, stores what it finds there, and tells how those of one writer are told by the examples of the others.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.quality.wording import Filled, fit, left_out, read, write
from bench.quality.works import PATIENT, works
from bench.shared import sample
from rifflux.index import Index
from rifflux.models import load_embedder
from rifflux.retrieve.query.reading import Words
from rifflux.text.analyzer import analyzer
from rifflux.works.intent.classify import classify
from rifflux.works.intent.intents import GENERIC, KEYWORDS
from rifflux.works.intent.similarity import FITTED, Similarity, fitted

QUESTIONS = Path(__file__).with_name("intents.tsv")
COLLECTIONS = ("cacm", "scifact", "nfcorpus")
SAMPLE, FEWEST_WORDS, SEED = 100, 15, 18
#: Works that are asked about, and the references that each has at least.
ASKED, LEAST, TOP = 25, 3, 10
#: Of the fills of left-out examples, every so many is asked.
EACH = 3
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
        _asking_nothing(asked.data)
        with tempfile.TemporaryDirectory() as temporary:
            _citations(asked.data / "cacm", asked.keep or Path(temporary))


def _fit() -> None:
    embedder = load_embedder()
    given = Filled.by(embedder, read())
    kinds = ("all", *dict.fromkeys(example.intent for example in given.examples))
    print(f"| examples of a writer, told by those of the others | {' | '.join(kinds)} |")
    print(f"| --- |{' ---: |' * len(kinds)}")
    for writer, own, wording in left_out(given, embedder.fingerprint):
        taken = _takes(lambda text, by=wording: by(embedder.embed_query(text), text))  # type: ignore[misc]
        asked = [(own.examples[row].intent, text) for row, text in zip(own.of.tolist(), own.texts, strict=True)]
        right = [(intent, taken(text) == intent) for intent, text in asked[::EACH]]
        shares = (np.mean([hit for intent, hit in right if kind in ("all", intent)]) for kind in kinds)
        print(f"| {writer}, {len(own.examples)} | {' | '.join(f'{share:.3f}' for share in shares)} |")
    wording = fit(given, embedder.fingerprint)
    write(wording)
    size = FITTED.stat().st_size / 1000
    print(f"\n{len(wording.examples)} examples, {len(wording.features)} pieces, {size:.0f} kB\n")


# Questions


def _questions(file: Path | None) -> None:
    sets = _sets((file or QUESTIONS).read_text("utf-8"))
    questions = [each for asked in sets.values() for each in asked]
    ways = {BOTH: _takes(_likened()), "rules alone": _takes(lambda _: None)}
    names = list(dict.fromkeys(intent for intent, _ in questions))
    print(f"| questions | | right | {' | '.join(names)} |\n| --- | --- | ---: |{' ---: |' * len(names)}")
    wrong: list[str] = []
    for half, asked in sets.items():
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


def _sets(text: str) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the questions of each set with their intents."""
    sets, name = defaultdict[str, list[tuple[str, str]]](list), "questions"
    for line in text.splitlines():
        intent, tab, question = line.partition("\t")
        if line.startswith("#"):
            name = line.strip("# ")
        elif tab:
            sets[name].append((intent, question))
    return sets


def _likened() -> Callable[[str], Similarity]:
    embedder, wording = load_embedder(), fitted()
    return lambda text: wording(embedder.embed_query(text), text)


def _takes(liken: Callable[[str], Similarity | None]) -> Taken:
    """Return a function that gives the intent of a question; bare words are one of its ways to ask nothing more."""
    words = Words(analyzer())

    def taken(text: str) -> str:
        name = classify(text, words=words, compare=liken).intent.name
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


# What asks for nothing, and questions about citations


def _asking_nothing(data: Path) -> None:
    taken = _takes(_likened())
    print("| texts that ask for nothing | taken for anything but generic | of these, for a lookup |")
    print("| --- | ---: | ---: |")
    for kind, texts in _texts(data):
        found = Counter(map(taken, texts))
        wrong = found.total() - found[GENERIC]
        print(f"| {kind} | {wrong}/{len(texts)} | {found['lookup']} |")
    print()


def _texts(data: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield pasted abstracts, titles, and questions of content, as many as are looked at."""
    draw = random.Random(SEED)
    for name in COLLECTIONS:
        texts = [each["text"] for each in _records(data / name / "corpus.jsonl")]
        yield (
            f"abstracts of {name}",
            sample(draw, [each for each in texts if len(each.split()) >= FEWEST_WORDS], SAMPLE),
        )
    titles = [*filter(None, (each["title"] for each in _records(data / "cacm" / "corpus.jsonl")))]
    yield "titles of cacm", sample(draw, titles, 2 * SAMPLE)
    for name in COLLECTIONS:
        asked = [each["text"] for each in _records(data / name / "queries.jsonl")]
        yield f"questions of {name}", sample(draw, asked, SAMPLE)


def _records(file: Path) -> Iterable[Mapping[str, str]]:
    return map(json.loads, filter(None, file.read_text("utf-8").split("\n")))


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
        cites, citing = ({hit.key for hit in hits} - {record.key} for hits in (record.cites, record.cited_by))
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
    found = {hit.key for hit in retrieve(wording.format(id=name, title=title), top_k=TOP).reranked}
    return len(found & wanted) / min(TOP, len(wanted))
