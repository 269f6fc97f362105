"""Tuning: what it finds, when it keeps it, what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument
from rifflux.evaluate import read_beir, read_feedback
from rifflux.evaluate.tune import FEWEST, apply, reset, tune
from rifflux.retrieve.fuse import Adaptive, Balanced, Linear, ReciprocalRank
from rifflux.retrieve.fuse.fusions import dump_fusion, load_fusion
from rifflux.retrieve.steps.rerank.features import WEIGHTS, dump_weights, load_weights
from tests.support.collection import write_collection

COUNT = 40
DOCUMENTS = [
    {"_id": f"d{number}", "title": "", "text": f"word{number} of the topic{number % 5} in a sentence"}
    for number in range(COUNT)
]
QUERIES = [{"_id": f"q{number}", "text": f"word{number} topic{(number + 1) % 5}"} for number in range(COUNT)]
JUDGEMENTS = [(f"q{number}", f"d{number}", 1) for number in range(COUNT)]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A collection whose answers hold the rare word of the question."""
    return write_collection(tmp_path / "judged", documents=DOCUMENTS, queries=QUERIES, judgements=JUDGEMENTS)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """The documents of the collection, in an index whose vectors are poor."""
    with rifflux.open(tmp_path / "index.db", model="hash:8") as index:
        index.add(*(Document(each["_id"], each["text"]) for each in DOCUMENTS))
        yield index


def badly_weighed(index: Index) -> Index:
    """The index, asked with nearly no regard to words."""
    return index.using(
        replace(index.profile, fusion=Balanced(weight=1.0)).without("shortcut", "anchors", "code", "times")
    )


class TestTune:
    def test_a_significant_gain_is_kept_until_it_is_reset(self, index: Index, judged: Path, tmp_path: Path) -> None:
        default = index.profile.fusion
        tuned = tune(badly_weighed(index), read_beir(judged))
        assert tuned.significant
        assert (tuned.questions, tuned.fusion.before < tuned.fusion.after) == (COUNT, True)
        apply(index, tuned)
        with rifflux.open(tmp_path / "index.db", model="hash:8") as again:
            assert again.profile.fusion == tuned.fusion.choice != default
        assert reset(index.registry)
        assert not reset(index.registry)
        with rifflux.open(tmp_path / "index.db", model="hash:8") as again:
            assert again.profile.fusion == default

    def test_where_nothing_is_to_be_gained_the_default_stays(self, index: Index, judged: Path) -> None:
        well_weighed = index.using(replace(index.profile, fusion=Balanced(weight=0.1)))
        tuned = tune(well_weighed, read_beir(judged))
        assert (tuned.fusion.before, tuned.fusion.gain, tuned.significant) == (1.0, 0.0, False)
        assert tuned.fusion.choice == well_weighed.profile.fusion
        assert tuned.features.choice == WEIGHTS

    def test_weights_of_features_are_fitted_on_top_and_kept(self, index: Index, judged: Path, tmp_path: Path) -> None:
        # Whatever shares words that were not asked for would come first.
        profile = index.profile.tuned(features={"expansion": 9.0, "coverage": 0.1, "phrase": 0.0})
        # Its fusion is the one that these questions would choose.
        fusion = tune(index.using(profile), read_beir(judged)).fusion.choice
        poor = index.using(replace(profile, fusion=fusion))
        tuned = tune(poor, read_beir(judged))
        assert (tuned.features.significant, tuned.fusion.significant) == (True, False)
        apply(poor, tuned)
        assert index.admin.store.records.setting("fusion") is None
        with rifflux.open(tmp_path / "index.db", model="hash:8") as again:
            assert again.profile.tuning.features == pytest.approx(tuned.features.choice.shares(), abs=1e-6)
            trail = again.search("word3 topic4", rerank="features")[0].because("rerank:features")
            assert trail.detail.keys() <= {name for name, share in again.profile.tuning.features.items() if share}
        assert reset(index.registry)
        with rifflux.open(tmp_path / "index.db", model="hash:8") as again:
            assert again.profile.tuning.features == {}

    def test_the_same_questions_give_the_same_answer(self, index: Index, judged: Path) -> None:
        poor, collection = badly_weighed(index), read_beir(judged)
        assert tune(poor, collection) == tune(poor, collection)

    def test_judgements_in_the_index_will_do(self, index: Index) -> None:
        for number in range(FEWEST):
            index.judge(f"word{number} topic{(number + 1) % 5}", f"d{number}")
        assert tune(badly_weighed(index), read_feedback(index)).questions == FEWEST

    def test_too_few_questions_are_refused(self, index: Index, judged: Path) -> None:
        with pytest.raises(InvalidArgument, match=f"needs {FEWEST} questions .* there are 29 of 29"):
            tune(index, read_beir(judged).head(29))

    def test_documents_that_are_not_in_the_index_do_not_count(self, judged: Path) -> None:
        with rifflux.open(":memory:", model="hash:8") as empty, pytest.raises(InvalidArgument, match="there are 0 of"):
            tune(empty, read_beir(judged))

    def test_without_vectors_there_is_nothing_to_weigh(self, judged: Path) -> None:
        with rifflux.open(":memory:", model="hash:8") as bare:
            bare.add(*(Document(each["_id"], each["text"]) for each in DOCUMENTS), embed=False)
            with pytest.raises(InvalidArgument, match="no chunk has a vector"):
                tune(bare, read_beir(judged))


class TestStoredFusions:
    @pytest.mark.parametrize(
        "fusion",
        [
            Adaptive(prior=0.7, priors={"code": 0.9}),
            Balanced(weight=0.2),
            Linear(alpha=0.4),
            ReciprocalRank(10, {"lexical": 2.0}),
        ],
    )
    def test_a_fusion_comes_back_as_it_was(self, fusion: Adaptive) -> None:
        assert load_fusion(dump_fusion(fusion)) == fusion

    @pytest.mark.parametrize("text", ["{", "[]", "{}", '{"name": "none"}', '{"name": "rrf", "knob": 1}'])
    def test_one_that_is_not_known_is_refused_with_the_cure(self, text: str) -> None:
        with pytest.raises(InvalidArgument, match="forget what was tuned"):
            load_fusion(text)


class TestStoredWeights:
    def test_weights_come_back_in_their_proportions(self) -> None:
        weights = WEIGHTS.but(title=0.9, lexical=2)
        assert WEIGHTS.but(**load_weights(dump_weights(weights))).shares() == pytest.approx(weights.shares(), abs=1e-6)

    @pytest.mark.parametrize("text", ["{", "[]", '{"knob": 1}', '{"title": "much"}', '{"title": -1}', "1"])
    def test_what_is_not_known_is_refused_with_the_cure(self, text: str) -> None:
        with pytest.raises(InvalidArgument, match="forget what was tuned"):
            load_weights(text)


class TestCommand:
    @pytest.fixture
    def command(self, tmp_path: Path, command_line: Any) -> Any:
        run = command_line(tmp_path, {"RIFFLUX_MODEL": "hash:8"})
        return lambda *arguments: run("tune", *arguments, "--db", "index.db")

    def test_it_tells_what_was_found_and_what_was_done(self, command: Any, index: Index, judged: Path) -> None:
        done = command(judged, "--dry-run")
        assert done.returncode == 0, done.stderr
        assert "nothing changed" in done.stdout
        assert index.admin.store.records.setting("fusion") is None

    def test_a_setting_that_cannot_be_used_is_told_and_can_be_removed(
        self, command: Any, index: Index, judged: Path
    ) -> None:
        index.admin.store.records.set("fusion", '{"name": "none"}')
        index.admin.store.records.set("features", '{"none": 1}')
        done = command(judged)
        assert (done.returncode, "rifflux tune --reset" in done.stderr) == (2, True)
        assert command("--reset").returncode == 0
        assert command(judged, "--json").returncode == 0

    @pytest.mark.parametrize("arguments", [(), ("judged", "--from-feedback"), ("--reset", "--from-feedback")])
    def test_one_thing_at_a_time(self, command: Any, index: Index, judged: Path, arguments: tuple[str, ...]) -> None:
        done = command(*arguments)
        assert (done.returncode, "--from-feedback" in done.stderr, done.stdout) == (2, True, "")
