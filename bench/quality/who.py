"""Find works by who wrote them: by authors alone, with words of a title, and in other forms of names.

    python -m bench who FOLDER_OF_COLLECTIONS [--keep FOLDER] [--authors 25] [--items 60] [--seed 1]

Asked of CACM's works, `retrieve` and `search`. For authors with 3 to 12 works, the share of their works among the first
min(10, n); for known items, the mean reciprocal rank by two words of the title, alone and with the author; for the
collection's own questions, nDCG@10 with and without reading names. Titles are asked as questions, too: none of their
words is meant as a name. Then some of the works are given made-up authors, whose names are asked for in another form
than the one that is stored: accents left out, particles, initials, family names first.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import mean

import rifflux
from bench.shared import sample
from rifflux.evaluate import read_beir
from rifflux.evaluate.measures import Bootstrap, measured
from rifflux.index import Index
from rifflux.session.searching import Searcher
from rifflux.text.lexicon import stop_words
from rifflux.works import Work
from rifflux.works.retrieval.stages import RetrievalSettings

LICENSE = "CC0-1.0"
#: What is measured must not depend on how busy the machine is.
PATIENT = RetrievalSettings(expansion_ms=10_000, rerank_ms=10_000)
FEWEST, MOST, DEPTH = 3, 12, 10
WORDINGS = (
    "{name}",
    "{family}",
    "papers by {name}",
    "articles written by {name}",
    "What did {name} publish?",
    "{family}'s papers",
    "{turned}",
)
ITEMS = {
    "two words": "{words}",
    "words by AUTHOR": "{words} by {name}",
    "AUTHOR words": "{family} {words}",
    "AUTHOR YEAR words": "{family} {year} {words}",
    "AUTHOR's paper on words": "{family}'s paper on {words}",
    "words, author in another form": "{words} {turned}",
}
#: Names as they are stored, and as they are asked for, by sort.
FORMS: Mapping[str, tuple[str, str]] = {
    "accents left out": ("Gáspár {á}", "Gaspar {a}"),
    "umlauts spelt out": ("Jürgen {ü}", "Juergen {ue}"),
    "particle, family name alone": ("Pieter van der {x}", "van der {x}"),
    "particle, without it": ("Pieter van der {x}", "P. {x}"),
    "family name first": ("{x} Xiulan", "Xiulan {x}"),
    "family name first, alone": ("{x} Xiulan", "{x}"),
    "initials for given names": ("Annemarie Berta {x}", "A.B. {x}"),
    "initials without stops": ("Annemarie Berta {x}", "AB {x}"),
    "given names for initials": ("L. Q. {x}", "Ludovica {x}"),
    "hyphens": ("Jean-Loup {x}-{y}", "J.-L. {x} {y}"),
    "comma": ("Tomasz K. {x}", "{x}, T. K."),
    "apostrophe": ("Siobhán O'{x}", "O’{x}"),
}
SYLLABLES = (
    "bra",
    "den",
    "fol",
    "gur",
    "hest",
    "kim",
    "lor",
    "mand",
    "nov",
    "quist",
    "rit",
    "sand",
    "tov",
    "wel",
    "zan",
)

Ask = Callable[[str], list[str]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    asked = _arguments(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        keep = asked.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        with _index(asked.data / "cacm" / "corpus.jsonl", keep / "who-cacm.db") as index:
            works = _works(asked.data / "cacm" / "corpus.jsonl")
            for name, ask in _ways(index).items():
                generator = random.Random(asked.seed)
                print(f"\n## {name}\n")
                _authors(works, ask, generator, asked.authors)
                _items(works, ask, generator, asked.items)
            _ordinary(asked.data / "cacm", index)
            _titles(index, works)
        with _made_up(works, keep / "who-made-up.db", asked.seed) as (index, stored):
            for name, ask in _ways(index).items():
                _forms(name, stored, ask)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--authors", type=int, default=25)
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(given)


@contextmanager
def _index(corpus: Path, path: Path) -> Iterator[Index]:
    with rifflux.open(path, profile="works") as index:
        if not index.status().chunks:
            index.works.import_files(corpus.resolve(), license=LICENSE, source="cacm")
        yield index


def _works(corpus: Path) -> dict[str, Work]:
    """The works of the collection that have authors, with these as `Given Family`."""
    found = {}
    for line in corpus.read_text("utf-8").splitlines():
        record = json.loads(line)
        facts = record["metadata"]
        names = [" ".join(part.strip() for part in reversed(each.split(","))) for each in facts.get("authors", ())]
        if names:
            found[record["_id"]] = Work(record["title"], record["text"], tuple(names), facts.get("year"))
    return found


def _ways(index: Index) -> dict[str, Ask]:
    patient = replace(index.retrieve, settings=PATIENT)
    return {
        "retrieve": lambda text: [hit.key for hit in patient(text, top_k=DEPTH).reranked],
        "search": lambda text: [hit.key for hit in index.search(text, top_k=DEPTH, one_per_document=True)],
    }


def _spellings(name: str, **more: object) -> dict[str, object]:
    given, _, family = name.rpartition(" ")
    return {"name": name, "family": family, "turned": f"{family}, {given}", **more}


def _authors(works: Mapping[str, Work], ask: Ask, generator: random.Random, count: int) -> None:
    """Print the share of the works of drawn authors, each whose family name is nobody else's, by wording."""
    theirs, families = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for key, work in works.items():
        for name in work.authors:
            theirs[name].add(key)
            families[name.rpartition(" ")[2].casefold()].add(name)
    alone = [name for name in sorted(theirs) if len(families[name.rpartition(" ")[2].casefold()]) == 1]
    drawn = sample(generator, [name for name in alone if FEWEST <= len(theirs[name]) <= MOST and " " in name], count)
    print(f"| {count} authors | share of their works in the first min({DEPTH}, n) |\n| --- | ---: |")
    for wording in WORDINGS:
        shares = []
        for name in drawn:
            most = min(DEPTH, len(theirs[name]))
            found = ask(wording.format(**_spellings(name)))[:most]
            shares.append(len(theirs[name].intersection(found)) / most)
        print(f"| {wording.format(name='NAME', family='SURNAME', turned='SURNAME, GIVEN')} | {mean(shares):.3f} |")


def _items(works: Mapping[str, Work], ask: Ask, generator: random.Random, count: int) -> None:
    """Print the mean reciprocal rank of known works by two words of the title, with and without their authors."""
    ignored, items = stop_words("english"), list[tuple[str, str]]()
    for key in generator.sample(sorted(works), len(works)):
        words = [word for word in re.findall(r"[A-Za-z]{4,}", works[key].title) if word.casefold() not in ignored]
        if len(words) > 2 and works[key].year:
            items.append((key, " ".join(generator.sample(words, 2)).casefold()))
    print(f"\n| {count} known works | MRR@{DEPTH} | first |\n| --- | ---: | ---: |")
    for told, wording in ITEMS.items():
        ranks = list[float]()
        for key, two in items[:count]:
            forms = _spellings(works[key].authors[0], words=two, year=works[key].year)
            found = ask(wording.format(**forms))
            ranks.append(1 / (1 + found.index(key)) if key in found else 0.0)
        print(f"| {told} | {mean(ranks):.3f} | {sum(rank == 1 for rank in ranks)} |")


def _ordinary(folder: Path, index: Index) -> None:
    """Print nDCG@10 of the collection's own questions with and without reading names."""
    questions = read_beir(folder, "test").questions
    without = index.using(index.profile.without("credits"))
    print("\n| the collection's questions | without names | with | difference |\n| --- | ---: | ---: | ---: |")
    for name in _ways(index):
        values = []
        for each in (without, index):
            ask = _ways(each)[name]
            values.append(measured(questions, {one.id: ask(one.text) for one in questions})["ndcg@10"])
        difference = values[1] - values[0]
        told = f"{difference.mean():+.3f}, p {Bootstrap().p_value(difference):.3f}"
        print(f"| {name} | {values[0].mean():.3f} | {values[1].mean():.3f} | {told} |")


def _titles(index: Index, works: Mapping[str, Work]) -> None:
    """Print in how many titles a name is read, as they are and in small letters."""
    searcher = Searcher(index.admin.view)
    for told, change in (("titles", str), ("titles in small letters", str.casefold)):
        read = [searcher.parse(change(work.title)).query.credits for work in works.values()]
        some = [credits for credits in read if credits]
        sure = [credits for credits in some if any(credit.sure for credit in credits)]
        print(f"\n{told}: {len(read)}, with a name that lifts {len(some)}, with one that is sure {len(sure)}")
        print("; ".join(credit.wording for credits in sure for credit in credits if credit.sure)[:600])


@contextmanager
def _made_up(
    works: Mapping[str, Work], path: Path, seed: int
) -> Iterator[tuple[Index, Mapping[str, dict[str, set[str]]]]]:
    """Some of the works under made-up names, and by sort which keys are of whom, by the name as it is asked for."""
    generator = random.Random(seed)
    drawn = sample(generator, sorted(works), 400)
    stored: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    credited: dict[str, list[str]] = defaultdict(list)
    for sort, (as_stored, as_asked) in FORMS.items():
        for _ in range(8):
            x, y = ("".join(generator.sample(SYLLABLES, 3)).capitalize() for _ in range(2))
            parts = {"x": x, "y": y, "á": x.replace("a", "á") + "é", "a": x + "e", "ü": f"{x}ü", "ue": f"{x}ue"}
            for key in generator.sample(drawn, generator.randint(2, 6)):
                credited[key].append(as_stored.format(**parts))
                stored[sort][as_asked.format(**parts)].add(key)
    with rifflux.open(path, profile="works") as index:
        if not index.status().chunks:
            found = [replace(works[key], authors=tuple(credited[key]), license=LICENSE) for key in drawn]
            records = [
                {"_id": key, "title": each.title, "text": each.abstract, "authors": list(each.authors)}
                for key, each in zip(drawn, found, strict=True)
            ]
            text = "\n".join(map(json.dumps, records))
            index.works.import_text(text, source="made", format="jsonl", license=LICENSE, embed_seconds=None)
        yield index, stored


def _forms(way: str, stored: Mapping[str, Mapping[str, set[str]]], ask: Ask) -> None:
    print(f"\n| {way}: names in another form | share, NAME | papers by NAME |\n| --- | ---: | ---: |")
    for sort, names in stored.items():
        shares = []
        for wording in ("{}", "papers by {}"):
            each = [
                len(keys.intersection(ask(wording.format(name))[: len(keys)])) / len(keys)
                for name, keys in names.items()
            ]
            shares.append(mean(each))
        print(f"| {sort} | {shares[0]:.3f} | {shares[1]:.3f} |")


if __name__ == "__main__":
    main()
