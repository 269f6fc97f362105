"""Make query sets by branch of mathematics, mechanically, from the Stacks Project's chapters.

    python -m bench branches STACKS FOLDER [--queries 150] [--cacm CACM]
    rifflux eval FOLDER --qrels algebra
    rifflux eval FOLDER/analysis --qrels analysis

STACKS holds the project's statements as `corpus.jsonl`, each with its chapter in the metadata. FOLDER gets
`queries.jsonl`, `qrels/BRANCH.tsv` and a link to the corpus: a collection in BEIR's layout. The branches are algebra,
geometry, topology and homological methods. The Stacks Project holds no analysis: with `--cacm`, a set for it is made of
the articles of CACM that Computing Reviews filed under numerical analysis (5.1), known items alone, in FOLDER/analysis.
No set is curated: nobody read its questions, and no statement but those that they were drawn from is judged.

Half of a set are terms that definitions set apart, each to find all definitions of it. The other half are known items:
words drawn from a statement outside of its formulas, rare ones more often, to find that statement by (Azzopardi, de
Rijke, Balog: "Building simulated queries for known-item topics", SIGIR 2007). Equal arguments give equal sets.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rifflux.text.lexicon import stop_words
from rifflux.works.importers.latex.terms import DEFINITION, defined_terms

SEED = 20260222
#: What a chapter's title holds, by branch; the first that fits counts, and geometry is all the rest.
BRANCHES: Mapping[str, re.Pattern[str]] = {
    "homological": re.compile(
        r"Homolog|Derived Cat|Injectives|Differential Graded|Dualizing|Local Cohomology|Cohomology of Sheaves"
        r"|Cohomology on Sites|Cotangent|Duality|Hypercover|Simplicial Methods|Weil Cohomology|de Rham|Crystalline"
    ),
    "topology": re.compile(
        r"Topolog|Sites|Sheaves on Spaces|Sheaves of Modules|Etale Cohomology|etale Cohomology|Fundamental Groups"
        r"|Trace Formula|Categories|Set Theory"
    ),
    "algebra": re.compile(
        r"\bAlgebra\b|Fields$|Brauer|Divided Power|Smoothing Ring|Discriminants|Deformation|Adequate Modules|Artin"
    ),
    "geometry": re.compile(r""),
}
#: The branch that is made of CACM, and how the codes of Computing Reviews for it begin.
ANALYSIS, _NUMERICAL_ANALYSIS = "analysis", "5.1"
#: What holds no statements of a branch.
_LEFT_OUT = ("Exercises", "Examples", "Obsolete", "Introducing Algebraic Stacks")
_FORMULA = re.compile(
    r"\$\$?[^$]*\$\$?|\\\[.*?\\\]|\\(?:begin|end)\{[^{}]*\}|\\(?:ref|label|cite)\{[^{}]*\}|\\[A-Za-z]+", re.DOTALL
)
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{2,}")
#: Words of a known-item query, and how many a statement must have to be one.
WORDS, FEWEST = 6, 10

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """A query, its branch and the documents that answer it."""

    id: str
    branch: str
    text: str
    relevant: tuple[str, ...]
    kind: str


def branch_of(chapter: str) -> str | None:
    """The branch that a chapter belongs to."""
    if chapter in _LEFT_OUT:
        return None
    return next(branch for branch, titles in BRANCHES.items() if titles.search(chapter))


def questions(records: Sequence[Record], count: int) -> Iterator[Question]:
    """`count` questions of each branch, half of each kind, or as many as there are."""
    draw = random.Random(SEED)
    pools: dict[tuple[str, str], dict[str, Question]] = defaultdict(dict)
    for question in (*_terms(records), *_known_items(records, draw)):
        # Terms that differ in their formulas only would have one id: the first of them stands.
        pools[question.branch, question.kind].setdefault(question.id, question)
    for branch in BRANCHES:
        for kind in ("term", "item"):
            pool = list(pools[branch, kind].values())
            yield from sorted(draw.sample(pool, min(count // 2, len(pool))), key=lambda question: question.id)


def _terms(records: Sequence[Record]) -> Iterator[Question]:
    """Each term that is set apart in definitions, with all definitions that do so; its branch is that of the first."""
    defining: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record["metadata"]["type"] == DEFINITION:
            for term in defined_terms(record["text"]):
                if _WORD.search(term):
                    defining[term.lower()].append(record)
    for term, found in defining.items():
        branch = branch_of(found[0]["metadata"]["chapter"])
        if branch:
            relevant = tuple(record["_id"] for record in found)
            yield Question(
                f"{branch}-term-{relevant[0]}-{'-'.join(_WORD.findall(term))}", branch, term, relevant, "term"
            )


def analysis(records: Sequence[Record], count: int) -> list[Question]:
    """Return known items of CACM's articles on numerical analysis, drawn from their titles and abstracts."""
    articles = [
        {"_id": each["_id"], "text": f"{each['title']} {each['text']}", "metadata": {"chapter": "", "type": ""}}
        for each in records
    ]
    filed = {each["_id"] for each in records if _is_analysis(each)}
    draw = random.Random(SEED)
    found = [each for each in _known_items(articles, draw) if each.relevant[0] in filed]
    named = [
        Question(each.id.replace(each.branch, ANALYSIS, 1), ANALYSIS, each.text, each.relevant, each.kind)
        for each in found
    ]
    return sorted(draw.sample(named, min(count, len(named))), key=lambda question: question.id)


def _is_analysis(record: Record) -> bool:
    categories = record["metadata"].get("cr_categories") or ()
    return any(str(each).startswith(_NUMERICAL_ANALYSIS) for each in categories)


def _known_items(records: Sequence[Record], draw: random.Random) -> Iterator[Question]:
    """Words of each statement, the rarer the more likely."""
    stop = stop_words("english")
    words = {
        record["_id"]: [
            word for word in map(str.lower, _WORD.findall(_FORMULA.sub(" ", record["text"]))) if word not in stop
        ]
        for record in records
    }
    held = Counter(word for each in words.values() for word in set(each))
    for record in records:
        branch = branch_of(record["metadata"]["chapter"])
        unique = list(dict.fromkeys(words[record["_id"]]))
        if branch and record["metadata"]["type"] != DEFINITION and len(unique) >= FEWEST:
            weights = [math.log(len(records) / held[word]) for word in unique]
            drawn = _without_replacement(unique, weights, draw)
            yield Question(f"{branch}-item-{record['_id']}", branch, " ".join(drawn), (record["_id"],), "item")


def _without_replacement(words: Sequence[str], weights: Sequence[float], draw: random.Random) -> list[str]:
    """Some of the words, each drawn by its weight (Efraimidis and Spirakis, 2006)."""
    keyed = sorted(zip(words, weights, strict=True), key=lambda pair: -(draw.random() ** (1 / max(pair[1], 1e-9))))
    return [word for word, _ in keyed[:WORDS]]


def write(folder: Path, corpus: Path, found: Sequence[Question]) -> None:
    """Write a collection in BEIR's layout, its corpus as a link."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    linked = folder / "corpus.jsonl"
    linked.unlink(missing_ok=True)
    linked.symlink_to(corpus.resolve())
    lines = [json.dumps({"_id": each.id, "text": each.text, "metadata": {"kind": each.kind}}) for each in found]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    for branch in dict.fromkeys(each.branch for each in found):
        rows = [f"{each.id}\t{document}\t1" for each in found if each.branch == branch for document in each.relevant]
        (folder / "qrels" / f"{branch}.tsv").write_text(
            "\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n", "utf-8"
        )


def main() -> None:
    """Make the sets, and tell how large they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stacks", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--cacm", type=Path, help="CACM, to make a set for analysis of")
    arguments = parser.parse_args()
    corpus = arguments.stacks / "corpus.jsonl"
    records = [json.loads(line) for line in corpus.read_text("utf-8").split("\n") if line.strip()]
    found = list(questions(records, arguments.queries))
    write(arguments.folder, corpus, found)
    if arguments.cacm:
        articles = arguments.cacm / "corpus.jsonl"
        more = analysis([json.loads(line) for line in articles.read_text("utf-8").splitlines()], arguments.queries)
        write(arguments.folder / ANALYSIS, articles, more)
        found += more
    for branch in dict.fromkeys(each.branch for each in found):
        kinds = Counter(question.kind for question in found if question.branch == branch)
        print(f"{branch:12} {sum(kinds.values()):4} queries: {kinds['term']} terms, {kinds['item']} known items")
