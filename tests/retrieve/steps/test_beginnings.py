"""A record that begins with what was asked is never below its place by words alone, whatever else orders the page."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Index
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.query.naming import letters_of
from rifflux.retrieve.steps.beginnings import RECORD, STAGE, PreservePrefixRank
from rifflux.retrieve.table import BEGINS, OUTRIGHT, SCORE, Candidates
from rifflux.surfaces.shared.verdicts import explanation_lines, verdict_lines
from rifflux.types import Query

Collection = tuple[Index, Sequence[Document]]

RECORDS, PAGE, QUESTIONS = 120, 30, 24
KINDS = ("sections", "parts", "cases", "codes")
#: Each way to search whose scores may be changed.
WAYS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "not reranked": {"rerank": "none"},
    "linear": {"fusion": "linear"},
    "balanced": {"fusion": "balanced", "rerank": "none"},
    "one of each": {"one_per_document": True},
}


def word(choice: random.Random) -> str:
    return "".join(choice.choice("bdfgklmnprstv") + choice.choice("aeiou") for _ in range(choice.randint(2, 3)))


def invented(kind: str) -> list[Document]:
    """Return records whose titles begin alike, and whose texts speak of one another."""
    choice = random.Random(kind)
    words, titles = [word(choice) for _ in range(60)], dict[str, None]()
    names = [word(choice).capitalize() for _ in range(6)]
    while len(titles) < RECORDS:
        one, other, number = choice.choice(names), choice.choice(names), choice.randint(1, 40)
        titles[
            {
                "sections": f"{one} {number}: {choice.choice(words)} {choice.choice(words)}",
                "parts": f"{one} {number % 9}, {other} {choice.randint(1, 30)}",
                "cases": f"{one} v. {other} {choice.choice(words)}",
                "codes": f"{number} {one[:3].upper()}. § {choice.randint(1, 90)}.{choice.randint(1, 9)}",
            }[kind]
        ] = None
    documents = []
    for place, title in enumerate(titles):
        said = [choice.choice(words) for _ in range(choice.randint(5, 60))]
        said += [choice.choice([*titles]) for _ in range(choice.randint(0, 4))]
        choice.shuffle(said)
        documents.append(Document(f"{choice.choice(names)} file {place:03}", " ".join(said), title=title))
    return documents


@pytest.fixture(scope="module", params=KINDS)
def collection(request: pytest.FixtureRequest) -> Iterator[Collection]:
    documents = invented(request.param)
    with rifflux.open(":memory:", model="hash:64", profile="files") as index:
        index.add(*documents)
        yield index, documents


@pytest.fixture(scope="module", params=KINDS)
def works(request: pytest.FixtureRequest) -> Iterator[Collection]:
    documents = invented(request.param)
    with rifflux.open(":memory:", model="hash:64", profile="works") as index:
        index.add(*documents)
        yield index, documents


def beginnings(documents: Sequence[Document]) -> list[tuple[str, frozenset[str]]]:
    """Return beginnings of titles that are the whole of none, each with the keys of the records that begin so.

    They have two words or more: one word alone is no beginning of a name.
    """
    found = dict[str, frozenset[str]]()
    for document in random.Random(0).sample([*documents], QUESTIONS):
        words = document.title.split()
        begun = letters_of(" ".join(words[: random.Random(document.title).randint(2, len(words) - 1)]))
        found[begun] = frozenset(each.key for each in documents if letters_of(each.title).startswith(f"{begun} "))
    return [*found.items()]


def places(found: Iterable[str]) -> dict[str, int]:
    return {key: place for place, key in enumerate(dict.fromkeys(found))}


def below(by_words: Mapping[str, int], page: Mapping[str, int], keys: Iterable[str]) -> list[str]:
    """Return the records that are below their place by words."""
    return [key for key in keys if key in by_words and page.get(key, PAGE) > by_words[key]]


@pytest.mark.parametrize("way", WAYS)
def test_no_record_that_begins_so_is_below_its_place_by_words(collection: Collection, way: str) -> None:
    index, documents = collection
    for question, keys in beginnings(documents):
        by_words = places(hit.key for hit in index.search(question, top_k=PAGE, mode="lexical"))
        hits = index.search(question, top_k=PAGE, **WAYS[way]).hits
        assert not below(by_words, places(hit.key for hit in hits), keys), question
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_nor_is_one_whose_key_begins_so(collection: Collection) -> None:
    index, documents = collection
    for document in random.Random(1).sample([*documents], QUESTIONS // 4):
        question = document.key.rpartition(" ")[0]
        by_words = places(hit.key for hit in index.search(question, top_k=PAGE, mode="lexical"))
        page = places(hit.key for hit in index.search(question, top_k=PAGE))
        keys = [each.key for each in documents if letters_of(each.key).startswith(f"{letters_of(question)} ")]
        assert not below(by_words, page, keys), question


def test_nor_is_a_work_that_is_retrieved(works: Collection) -> None:
    index, documents = works
    for question, keys in beginnings(documents):
        by_words = places(hit.key for hit in index.search(question, top_k=PAGE, mode="lexical"))
        page = places(hit.key for hit in index.retrieve(question, top_k=PAGE).reranked)
        assert not below(by_words, page, keys), question


def test_a_record_that_is_kept_up_says_so(collection: Collection) -> None:
    index, documents = collection
    keys = dict.fromkeys(each.key.rpartition(" ")[0] for each in documents)
    for question in (*(question for question, _ in beginnings(documents)), *keys):
        for place, hit in enumerate(index.search(question, top_k=PAGE).hits, 1):
            if (kept := hit.because(STAGE)) and kept.rank == place:
                assert kept.detail["by words"] >= place
                assert "by words, and begins with what was asked" in "\n".join(explanation_lines(hit.why))
                told = index.why(question, hit.id, top_k=PAGE)
                assert told.rank == place
                assert "begins with what was asked: not below the" in "\n".join(verdict_lines(told))
                return
    pytest.fail("no record was kept up")


def test_where_ranks_are_fused_they_alone_order_but_what_is_an_identifier_goes_by_words(collection: Collection) -> None:
    index, documents = collection
    for question, _ in beginnings(documents):
        fused = index.search(question, fusion="rrf").hits
        scores = [hit.score for hit in fused]
        assert scores == sorted(scores, reverse=True)
        assert not any(hit.because(STAGE) for hit in fused)
        if index.search(question).trace.effective_mode == "lexical":
            assert [hit.key for hit in fused] == [hit.key for hit in index.search(question, mode="lexical")]


def test_only_what_is_meant_more_surely_stands_above() -> None:
    with rifflux.open(":memory:", model="hash:64") as index:
        others = (Document(f"o{n}", f"harbour {n} of the harbour, harbours", title=f"Harbour {n}") for n in range(5))
        index.add(Document("whole", "no words of it here but a long text instead", title="Harbour"), *others)
        assert index.search("harbour")[0].key == "whole"


def test_one_word_is_no_beginning_of_a_name(collection: Collection) -> None:
    index, documents = collection
    for document in random.Random(2).sample([*documents], QUESTIONS // 4):
        hits = index.search(document.title.split()[0], top_k=PAGE).hits
        assert not any(hit.because(STAGE) for hit in hits)


def test_what_is_defined_stands_above_what_begins_so() -> None:
    with rifflux.open(":memory:", model="hash:64") as index:
        for path, text in {
            "shop/parse.py": "from deep.lines import parse  # parse, parse and parse",
            "deep/lines.py": "import sys\n\n\ndef parse(line):\n    return line.split()\n",
            "deep/parse.py": "import os\n\n\ndef parse(line, sep):\n    return line.split(sep)\n",
        }.items():
            index.add(Document(path, text, title=path.split("/")[-1], kind="code"))
        assert [hit.key for hit in index.search("parse")][2] == "shop/parse.py"


rows = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 8)), min_size=1, max_size=40)


@given(rows, st.randoms(use_true_random=False))
def test_all_others_keep_their_order(drawn: list[tuple[bool, bool, int]], choice: random.Random) -> None:
    """Of each row: whether its record begins with what was asked, whether it is meant outright, and the record."""
    begins = {record: begun for begun, _, record in drawn}
    words = choice.sample(range(len(drawn)), len(drawn))
    table = Candidates(np.arange(len(drawn)), {SCORE: np.linspace(1, 0, len(drawn))})
    for name, values in (
        (BEGINS, [1.0 if begins[record] else np.nan for *_, record in drawn]),
        (OUTRIGHT, [float(outright) for _, outright, _ in drawn]),
        (RECORD, [float(record) for *_, record in drawn]),
        ("lexical/rank", [place + 1.0 for place in words]),
    ):
        table = table.with_column(name, np.array(values))
    kept = PreservePrefixRank()(Plan(Query("begins")), table)
    fixed = [row for row, (_, outright, record) in enumerate(drawn) if outright and not begins[record]]
    assert [kept.place(row) for row in fixed] == fixed
    moving = [row for row in kept.ids.tolist() if row not in fixed]
    surely = {record for _, outright, record in drawn if outright and begins[record]}
    for those in (moving, [row for row in moving if drawn[row][2] not in surely]):
        by_words = dict.fromkeys(drawn[row][2] for row in sorted(those, key=lambda row: words[row]))
        for place, record in enumerate(by_words):
            if begins[record] and (record in surely or those is not moving):
                assert next(at for at, row in enumerate(those) if drawn[row][2] == record) <= place
    others = [row for row in moving if not begins[drawn[row][2]]]
    assert others == sorted(others)
    assert (np.diff(kept[SCORE]) <= 0).all()
    assert PreservePrefixRank()(Plan(Query("begins")), kept).ids.tolist() == kept.ids.tolist()
