"""Retrievals of works are measured: parts of their score, evidence packs, and branches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import rifflux
from rifflux.errors import InvalidArgument
from rifflux.evaluate import (
    Cache,
    Collection,
    Run,
    RunOutcome,
    ablation,
    compare,
    parse_run,
    read_beir,
    table,
    works_table,
)
from rifflux.evaluate.retrieving import branches_of
from rifflux.evaluate.runs import answers
from rifflux.surfaces.cli import show
from tests.support.collection import write_collection

WORKS = [
    {
        "_id": "sieve",
        "title": "Prime sieves",
        "text": "A sieve of primes crosses out multiples. Sieves of primes run in linear time.",
        "metadata": {"year": 1974, "authors": ["Ada Alpha"], "categories": ["math.NT"], "cites": ["wheel"]},
    },
    {
        "_id": "wheel",
        "title": "Turning around",
        "text": "Spokes skip residues while rolling.",
        "metadata": {"year": 1970, "authors": ["Bo Beta"], "categories": ["cs.DS"]},
    },
    {
        "_id": "tea",
        "title": "Tea and its leaves",
        "text": "Green leaves want cooler water than black ones.",
        "metadata": {"year": 1980, "authors": ["Cy Gamma"], "categories": ["math.NT"]},
    },
]
QUERIES = [{"_id": "q1", "text": "sieves of primes in linear time"}, {"_id": "q2", "text": "water for green leaves"}]
JUDGEMENTS = [("q1", "sieve", 1), ("q1", "wheel", 1), ("q2", "tea", 1)]
OF_PACKS = ["packed_works", "packed_precision", "packed_tokens"]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    folder = write_collection(tmp_path / "works", documents=WORKS, queries=QUERIES, judgements=JUDGEMENTS)
    return read_beir(folder)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache(tmp_path / "cache", model="hash:32") as cache:
        yield cache


def _compared(
    collection: Collection, cache: Cache, *runs: Run, ignore_identical: bool = False
) -> dict[str, RunOutcome]:
    index_of = cache.opener(collection, runs, profile="works")
    return {each.run: each for each in compare(collection, runs, index_of, ignore_identical=ignore_identical)}


def test_an_ablation_of_works_adds_one_part_of_the_score_at_a_time() -> None:
    words, meaning, *steps, last = ablation("works")
    assert [words.options, meaning.options] == [{"mode": "lexical"}, {"mode": "semantic"}]
    parts = [run.options["parts"] for run in steps]
    assert parts[0] == ("lexical", "semantic")
    assert [more[: len(less)] for less, more in pairwise(parts)] == parts[:-1]
    assert [part for (*_, part) in parts[1:]] == ["citation", "field_match", "authority"]
    assert last.options == {"mode": "retrieve"}


def test_works_are_measured_with_their_packs_and_branches(collection: Collection, cache: Cache) -> None:
    found = _compared(collection, cache, *ablation("works"))
    assert [*found] == ["words", "meaning", "both", "+ citations", "+ subjects", "+ authority", "retrieve"]
    for name in ("words", "meaning"):
        assert [*found[name].works] == ["branches@10"]
    for name in ("both", "+ citations", "retrieve"):
        works = found[name].works
        assert [*works] == ["branches@10", *OF_PACKS]
        assert works["packed_tokens"] > 0
        assert 0 < works["packed_precision"] <= 1
        assert found[name].row().items() >= works.items()
    # The words of the first question are in works of one branch, the second's in another work of the same one.
    assert found["words"].works["branches@10"] == 1.0
    assert found["meaning"].works["branches@10"] == 2.0


def test_citations_alone_move_a_relevant_work_that_is_cited_up(tmp_path: Path, cache: Cache) -> None:
    sieve, wheel, tea = WORKS
    documents = [
        sieve,
        {**wheel, "text": "Spokes skip residues while rolling all the time."},
        {**tea, "text": "Green leaves take some time."},
    ]
    folder = write_collection(tmp_path / "cited", documents=documents, queries=QUERIES, judgements=JUDGEMENTS)
    collection = read_beir(folder)
    words, cited = parse_run("retrieve,parts=lexical"), parse_run("retrieve,parts=lexical+citation")
    found = [answers(cache.opener(collection, [run], profile="works")(run), collection, run) for run in (words, cited)]
    assert [each.rankings["q1"] for each in found] == [["sieve", "tea", "wheel"], ["sieve", "wheel", "tea"]]
    assert [each.packs["q1"].works for each in found] == [("sieve",), ("sieve",)]


def test_branches_are_heads_of_the_codes_that_works_have() -> None:
    records = [
        {"id": 1, "title": "Parsing", "text": "x", "cr_categories": ["4.12", "5.2"]},
        {"id": 2, "title": "Sorting", "text": "x", "cr_categories": ["5.31"]},
        {"id": 3, "title": "Other", "text": "x"},
    ]
    with rifflux.open(":memory:", profile="works", model="hash:64") as index:
        index.works.import_text("\n".join(map(json.dumps, records)), source="acm", format="jsonl", license="CC0-1.0")
        hits = [hit for number in "123" for hit in index.chunks(f"acm:{number}")]
        assert branches_of(index, hits) == 2
        assert branches_of(index, hits[2:]) == 0


def test_a_pack_is_as_precise_as_the_works_that_it_quotes(collection: Collection, cache: Cache) -> None:
    from rifflux.evaluate.retrieving import Packed

    question = collection.questions[0]
    assert Packed(("sieve", "tea"), 10).precision(question) == 0.5
    assert Packed((), 0).precision(question) == 0.0


def test_an_intent_holds_for_every_question(collection: Collection, cache: Cache) -> None:
    run = parse_run("retrieve,intent=survey")
    index = cache.opener(collection, [run], profile="works")(run)
    assert index.retrieve("sieves", mode="survey").decision.intent.name == "survey"
    assert _compared(collection, cache, run)[run.name].values["ndcg@10"][1] > 0


def test_what_is_known_of_works_is_told_in_a_table(collection: Collection, cache: Cache) -> None:
    found = [*_compared(collection, cache, parse_run("lexical"), parse_run("retrieve")).values()]
    told = works_table(found)
    assert told is not None
    console = show.console()
    with console.capture() as captured:
        console.print(table(found), told)
    assert "works packed" in captured.get()
    assert "works: retrieve" in captured.get()


def test_other_documents_have_no_table_of_works(tmp_path: Path, cache: Cache) -> None:
    run = parse_run("lexical")
    collection = read_beir(write_collection(tmp_path / "small"))
    found = compare(collection, [run], cache.opener(collection, [run]))
    assert found[0].works == {}
    assert works_table(found) is None


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("retrieve", Run("retrieve", {"mode": "retrieve"}, "works")),
        ("retrieve,intent=survey", Run("retrieve,intent=survey", {"mode": "retrieve", "intent": "survey"}, "works")),
        (
            "name=two,mode=retrieve,parts=lexical+ semantic",
            Run("two", {"mode": "retrieve", "parts": ("lexical", "semantic")}, "works"),
        ),
    ],
)
def test_a_run_of_retrievals_is_read_from_an_option(text: str, run: Run) -> None:
    assert parse_run(text) == run
    assert run.needs_vectors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("retrieve,fusion=rrf", "fusion is not an option of retrieval"),
        ("lexical,parts=lexical", "parts is not an option of a search; use mode=retrieve"),
        ("retrieve,parts=lexical+charm", "'charm' is not a part of the score of works; choose from lexical, semantic"),
        ("retrieve,parts=", "parts= is empty"),
        ("retrieve,parts=lexical,intent=survey", "omit parts= or intent="),
    ],
)
def test_a_wrong_run_of_retrievals_is_told(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_run(text)
    assert message in str(caught.value)


def test_scopes_are_refused(tmp_path: Path, cache: Cache) -> None:
    run = parse_run("retrieve")
    collection = read_beir(write_collection(tmp_path / "small"), scope="team")
    with pytest.raises(InvalidArgument, match="omit the scope"):
        compare(collection, [run], cache.opener(collection, [run]))
