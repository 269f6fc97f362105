"""Relevance: in [0, 1], the same scale for every search, low where there is no answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Index
from rifflux.errors import ModelError
from rifflux.models import load_embedder
from rifflux.retrieve.steps.calibrate import WORDS, Calibration, calibration_of
from rifflux.retrieve.table import MEDIUM, quality

PAGES = {
    "cache": "Cache entries live for an hour. After that they are read from the disk again.",
    "queue": "The queue holds a thousand jobs. When it is full, new jobs wait.",
    "heron": "The grey heron stands in shallow water and waits for fish.",
    "license": "The license permits use and change if the notice is kept.",
}
NONSENSE = [
    "asdkj qwpoe zzxcv",
    "lorem ipsum dolor sit amet",
    "banana helicopter purple quantum",
    "who won the world championship in curling",
    "best pizza in Naples",
    "the of and",
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """A few pages, embedded by the bundled model."""
    with rifflux.open(tmp_path_factory.mktemp("pages") / "index.db") as index:
        index.add(*(Document(key, text, key) for key, text in PAGES.items()))
        yield index


class TestSearch:
    @pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
    @pytest.mark.parametrize("query", NONSENSE)
    def test_nonsense_has_no_hit_above_low(self, pages: Index, query: str, mode: str) -> None:
        assert {hit.quality for hit in pages.search(query, mode=mode)} <= {"low"}

    @pytest.mark.parametrize("fusion", ["rrf", "adaptive", "linear", "balanced"])
    def test_an_answer_is_as_relevant_however_it_was_found(self, pages: Index, fusion: str) -> None:
        best = pages.search("how long do cache entries live", fusion=fusion)[0]
        by_meaning = pages.search("how long do cache entries live", mode="semantic")[0]
        assert (best.key, best.quality in ("medium", "high")) == ("cache", True)
        assert best.relevance == by_meaning.relevance

    @pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
    def test_every_hit_has_a_relevance_and_its_level(self, pages: Index, mode: str) -> None:
        for hit in pages.search("where does the heron wait", mode=mode):
            assert hit.relevance is not None
            assert 0 <= hit.relevance <= 1
            assert hit.quality == quality(hit.relevance)

    def test_an_identifier_that_is_there_is_relevant(self, tmp_path: Path) -> None:
        with rifflux.open(tmp_path / "i.db", model="hash") as index:
            index.add(Document("a", "PII-2024-0042 is closed."), Document("b", "PII-2024-0043 is open."))
            results = index.search("PII-2024-0042")
        assert {hit.key: hit.quality for hit in results}["a"] == "high"


class TestLevels:
    @given(st.floats(0, 1), st.floats(0, 1))
    def test_more_relevance_is_never_a_lower_level(self, one: float, two: float) -> None:
        order = ["low", "medium", "high"]
        low, high = sorted((one, two))
        assert order.index(quality(low)) <= order.index(quality(high))

    @pytest.mark.parametrize(("relevance", "level"), [(0.0, "low"), (0.7, "medium"), (0.85, "high"), (0.6999, "low")])
    def test_the_bounds(self, relevance: float, level: str) -> None:
        assert quality(relevance) == level

    @given(st.floats(0, 1), st.floats(0, 1))
    def test_more_in_common_is_never_less_relevant(self, one: float, two: float) -> None:
        values = np.array(sorted((one, two)))
        for calibration in (WORDS, calibration_of(load_embedder())):
            assert calibration is not None
            worth = calibration(
                {"cosine": values, "coverage": values, "length": np.ones(2), "named": values, "title": np.zeros(2)}
            )
            assert worth[0] <= worth[1]


@dataclass(frozen=True)
class Model:
    """A model in a folder."""

    folder: Path
    fingerprint: str = "f1"


class TestStored:
    def test_the_bundled_model_has_one_for_its_very_weights(self) -> None:
        assert calibration_of(load_embedder()) is not None

    def test_other_models_have_none(self, tmp_path: Path) -> None:
        assert calibration_of(load_embedder("hash")) is None
        assert calibration_of(Model(tmp_path)) is None  # type: ignore[arg-type]
        (tmp_path / "relevance.json").write_text(json.dumps({"fingerprint": "f2", "intercept": 0, "weights": {}}))
        assert calibration_of(Model(tmp_path)) is None  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "text", ["{", "[]", "{}", '{"fingerprint": "f1", "intercept": 0, "weights": {"charm": 1}}']
    )
    def test_a_broken_one_is_an_error(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "relevance.json").write_text(text)
        with pytest.raises(ModelError, match=r"relevance\.json"):
            calibration_of(Model(tmp_path))  # type: ignore[arg-type]

    def test_a_calibration_names_only_features(self) -> None:
        with pytest.raises(ValueError, match="charm"):
            Calibration(0.0, {"charm": 1.0})


class TestAbove:
    """From medium on, of the logarithm of the odds only a share counts."""

    COSINES = np.linspace(0, 1, 50)

    def relevance(self, above: float) -> np.ndarray:
        nothing = dict.fromkeys(("coverage", "length", "named", "title"), np.zeros(50))
        return Calibration(-4, {"cosine": 9}, above)({"cosine": self.COSINES, **nothing})

    def test_below_medium_nothing_changes(self) -> None:
        plain, flat = self.relevance(1.0), self.relevance(0.5)
        assert (flat[plain < MEDIUM] == plain[plain < MEDIUM]).all()
        assert ((flat >= MEDIUM) == (plain >= MEDIUM)).all()

    def test_above_it_the_odds_rise_less(self) -> None:
        odds = [np.log(each / (1 - each)) for each in (self.relevance(1.0), self.relevance(0.5))]
        medium = np.log(MEDIUM / (1 - MEDIUM))
        above = odds[0] > medium
        assert odds[1][above] - medium == pytest.approx(0.5 * (odds[0][above] - medium))

    @pytest.mark.parametrize("above", [0.0, -1.0, 1.5])
    def test_it_is_a_share(self, above: float) -> None:
        with pytest.raises(ValueError, match="share"):
            self.relevance(above)
