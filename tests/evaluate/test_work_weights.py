"""Fitting the score of works: what is found, when it is kept, and where it is used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Index, InvalidArgument
from rifflux.evaluate import Collection, compare, parse_run, read_beir
from rifflux.evaluate.tune import reset
from rifflux.evaluate.work_weights import apply_weights, tune_works
from rifflux.works.intent.intents import INTENTS, WEIGHTS, adjusted_intents, fitted_intents
from rifflux.works.retrieval.retriever import WorksRetriever
from tests.support.collection import write_collection

COUNT = 40
#: All cite the same few, which no question asks for.
WORKS = [
    {
        "_id": f"d{number}",
        "title": f"Notes {number}",
        "text": f"Remarks on word{number} within topic{number % 5} and shared matters.",
        "metadata": {"cites": [f"d{cited}" for cited in range(35, 40) if cited != number]},
    }
    for number in range(COUNT)
]
QUERIES = [
    {"_id": f"q{number}", "text": f"remarks about word{number} or topic{(number + 1) % 5}"} for number in range(35)
]
JUDGEMENTS = [(f"q{number}", f"d{number}", 1) for number in range(35)]
#: What is cited comes first, whatever it says.
POOR = {"lexical": 0.05, "semantic": 0.0, "citation": 0.0, "field_match": 0.0, "authority": 0.95}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return read_beir(write_collection(tmp_path / "judged", documents=WORKS, queries=QUERIES, judgements=JUDGEMENTS))


@pytest.fixture
def index(tmp_path: Path, collection: Collection) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", profile="works", model="hash:8") as index:
        assert collection.corpus
        index.works.import_files(collection.corpus)
        yield index


def poor(index: Index) -> Index:
    return index.using(index.profile.tuned(components=POOR))


@pytest.fixture
def tuning(tmp_path: Path, command_line: Any) -> Any:
    """Runs `rifflux tune` on the index."""
    run = command_line(tmp_path, {"RIFFLUX_MODEL": "hash:8"})
    return lambda *arguments: run("tune", *arguments, "--db", "index.db")


def test_a_significant_gain_is_kept_until_it_is_reset(
    index: Index, collection: Collection, tmp_path: Path, tuning: Any
) -> None:
    tuned = tune_works(poor(index), collection)
    assert tuned.questions == 35
    assert tuned.weights.significant
    assert tuned.weights.before < tuned.weights.after
    apply_weights(index, tuned)
    question = QUERIES[3]["text"]
    assert poor(index).retrieve(question).reranked[0].key != "d3"
    with rifflux.open(tmp_path / "index.db", model="hash:8") as again:
        assert again.profile.tuning.components == pytest.approx(tuned.weights.choice.shares(), abs=1e-6)
        assert again.retrieve(question).reranked[0].key == "d3"
    assert reset(index.registry)
    with rifflux.open(tmp_path / "index.db", model="hash:8") as again:
        assert again.retrieve.intents == INTENTS

    # The command finds the same, and keeps nothing if it is not to.
    index.admin.store.records.set("components", json.dumps(POOR))
    report = json.loads(tuning("judged", "--run", "retrieve", "--dry-run", "--json").stdout)
    assert report["weights"] == pytest.approx(tuned.weights.choice.shares(), abs=1e-4)
    assert (report["significant"], report["changed"]) == (True, False)
    assert index.admin.store.records.setting("components") == json.dumps(POOR)


def test_where_nothing_is_to_be_gained_nothing_changes(index: Index, collection: Collection, tuning: Any) -> None:
    (outcome,) = compare(collection, [parse_run("retrieve")], lambda _: index)
    before = f"{outcome.values['ndcg@10'].mean():.4f}"
    told = tuning("judged", "--run", "retrieve")
    assert told.returncode == 0
    assert [line for line in told.stderr.splitlines() if not line.startswith("tune works: ")] == []
    assert told.stdout.splitlines()[1:] == [
        f"  weights   {before} before, {before} tuned (+0.0000, p = 1.000): no gain",
        "nothing changed",
    ]
    assert index.admin.store.records.setting("components") is None


def test_another_run_is_refused(index: Index, tuning: Any) -> None:
    told = tuning("judged", "--run", "lexical")
    assert (told.returncode, told.stdout) == (2, "")
    assert "say --run retrieve" in told.stderr


def test_too_few_questions_and_scopes_are_refused(index: Index, collection: Collection) -> None:
    with pytest.raises(InvalidArgument, match=r"needs 30 questions .* there are 29 of 29"):
        tune_works(index, collection.head(29))
    with pytest.raises(InvalidArgument, match="omit the scope"):
        tune_works(index, replace(collection, scope="team"))


class TestIntents:
    def test_without_weights_of_its_own_an_index_has_the_default_ones(self) -> None:
        with rifflux.open(":memory:", model="hash", profile="works") as index:
            assert WorksRetriever.of_view(index._view).intents is INTENTS
        for name, each in fitted_intents(WEIGHTS).items():
            assert each.weights.shares() == pytest.approx(INTENTS[name].weights.shares())

    def test_every_intent_moves_in_proportion(self) -> None:
        moved = fitted_intents({**WEIGHTS, "authority": 2 * WEIGHTS["authority"]})
        for name, each in INTENTS.items():
            before, after = each.weights, moved[name].weights
            assert sum(after.values()) == pytest.approx(sum(before.values()))
            if each.weights["lexical"]:
                ratio = (after["authority"] / after["lexical"]) / (before["authority"] / before["lexical"])
                assert ratio == pytest.approx(2)
        about, former = moved["prereq"].about, INTENTS["prereq"].about
        assert about
        assert former
        assert about["citation"] / about["authority"] == pytest.approx(former["citation"] / former["authority"] / 2)

    def test_what_nothing_weighs_by_default_has_the_same_share_in_each(self) -> None:
        moved = fitted_intents({**WEIGHTS, "freshness": sum(WEIGHTS.values())})
        assert {name: each.weights.shares()["freshness"] for name, each in moved.items()} == pytest.approx(
            dict.fromkeys(INTENTS, 0.5)
        )

    def test_an_intent_whose_components_are_all_off_stays(self) -> None:
        only = {**dict.fromkeys(WEIGHTS, 0.0), "citation": 1.0}
        assert fitted_intents(only)["lookup"] == INTENTS["lookup"]

    def test_what_a_user_says_goes_before(self) -> None:
        changed = adjusted_intents({"survey": {"authority": 0.9}}, intents=fitted_intents(POOR))
        assert changed["survey"].weights["authority"] == 0.9
        assert changed["generic"] == fitted_intents(POOR)["generic"]
