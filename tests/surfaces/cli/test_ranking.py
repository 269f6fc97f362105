"""How results are ranked and paged, by flags, variables and the file of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

#: They start processes.
pytestmark = pytest.mark.slow


@pytest.fixture
def notes(run: Any, tmp_path: Path) -> Any:
    """The command line beside an index of a few notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number, words in enumerate(("ttl of cache entries", "cache of birds", "entries live", "a ttl")):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nHere are {words}.\n")
    assert run("index", folder).returncode == 0
    return run


def test_settings_choose_how_to_rank_and_flags_override_them(notes: Any, tmp_path: Path) -> None:
    chosen = {"RIFFLUX_FUSION": "linear:by-specificity", "RIFFLUX_RERANKER": "features", "RIFFLUX_RERANK_TOP": "2"}
    found = notes.json("search", "cache ttl", **chosen)
    assert (found["fusion"], found["reranker"]) == ("linear", "features")
    found = notes.json("search", "cache ttl", "--fusion", "balanced:.4", "--rerank", "none", **chosen)
    assert (found["fusion"], found["reranker"]) == ("balanced", None)


def test_rrf_has_its_k_and_weights(notes: Any) -> None:
    def scores(*flags: str, **variables: str) -> list[float]:
        return [hit["score"] for hit in notes.json("search", "cache ttl", *flags, **variables)["results"]]

    usual = scores("--fusion", "rrf")
    sharper = scores("--fusion", "rrf:k=1")
    assert usual[0] < sharper[0]
    assert scores(RIFFLUX_FUSION="rrf:k=1") == sharper
    assert scores("--fusion", "rrf:semantic=0") != usual
    # The setting rrf_k is that of search_rifflux alone.
    assert scores("--fusion", "rrf", RIFFLUX_RRF_K="1") == usual


@pytest.mark.parametrize(
    ("flags", "variables", "told"),
    [
        (("--fusion", "magic"), {}, "choose one of rrf"),
        (("--fusion", "rrf:k=nan"), {}, "finite number"),
        ((), {"RIFFLUX_FUSION": "magic"}, "choose one of rrf"),
        ((), {"RIFFLUX_RERANKER": "magic"}, "no reranker 'magic'"),
        (("--fusion", "rrf:titles=1"), {}, "k=NUMBER, lexical=NUMBER, semantic=NUMBER"),
        ((), {"RIFFLUX_BOOSTS": '{"magic": 2}'}, "no boost 'magic'; choose from boost, title_boost"),
        (("--boost", "magic=2"), {}, "no boost 'magic'; choose from boost, title_boost"),
        (("--boost", "identified"), {}, "is not NAME=FACTOR"),
        (("--sort", "size"), {}, "choose one of relevance, date"),
        (("--rerank", "maxsim", "--rerank-model", "m"), {}, "maxsim takes no model"),
    ],
)
def test_what_cannot_be_meant_is_told(notes: Any, flags: Any, variables: Any, told: str) -> None:
    done = notes("search", "cache", *flags, **variables)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_who_names_a_cross_encoder_wants_it(notes: Any) -> None:
    told = notes("search", "cache", "--rerank-model", "owner/model").stderr
    assert "the cross-encoder 'owner/model' is not on this disk" in told


def test_a_search_has_its_own_factors(notes: Any) -> None:
    def lifted(*flags: str) -> float:
        found = notes.json("search", "note 2", "--rerank", "none", "--explain", *flags)["results"][0]
        return next(float(step["score"]) for step in found["why"] if step["stage"] == "anchors")

    assert lifted("--boost", "identified=2") < lifted() < lifted("--boost", "identified=20")


def test_an_ignored_fusion_is_told(notes: Any) -> None:
    assert "the fusion rrf was ignored" in notes("search", "cache", "--mode", "lexical", "--fusion", "rrf").stderr


def test_pages_are_numbered_on(notes: Any) -> None:
    first = notes.json("search", "cache ttl", "-k", "2")["results"]
    second = notes.json("search", "cache ttl", "-k", "2", "--offset", "2")["results"]
    whole = notes.json("search", "cache ttl", "-k", "4")["results"]
    assert [hit["id"] for hit in first + second] == [hit["id"] for hit in whole]
    assert notes("search", "cache ttl", "-k", "2", "--offset", "2").stdout.startswith(" 3 ")
    assert len(notes.json("search", "cache ttl", "--cutoff", "1")["results"]) < 4
    assert len(notes.json("search", "cache ttl", "--sort", "date")["results"]) == 4


def test_why_ranks_as_search_does(notes: Any) -> None:
    told = notes.json("why", "cache ttl", "notes/0.md", "--fusion", "rrf:k=3")
    assert [step["stage"] for step in told["trail"]][2] == "rrf"


def test_classify(notes: Any) -> None:
    assert notes.json("classify", "what is E404")["kind"] == "identifier"
    assert notes("classify", "how long do entries live").stdout.startswith("conceptual (specificity")
