"""A boost is worth what its evidence explains of the question, and moves little where most candidates share it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import rifflux
from rifflux import Document, Index
from rifflux.retrieve.steps.anchors import explained_share, factor, strength
from rifflux.types import Clause, Scores

SHARES = st.floats(0, 1)


def words_of(weights: Mapping[Clause, float]) -> list[tuple[str, Clause]]:
    """Return plain words, each with its only term."""
    return [(terms[0], terms) for terms in weights]


def test_what_is_the_question_explains_all_of_it() -> None:
    weights: dict[Clause, float] = {("250.1725",): 7.0}
    assert explained_share(words_of(weights), weights, ("250.1725",)) == 1.0


def test_a_year_explains_little_of_a_long_question() -> None:
    weights: dict[Clause, float] = {("journal",): 5.0, ("brain",): 6.0, ("atla",): 8.0, ("2023",): 1.0}
    assert explained_share(words_of(weights), weights, ("2023",)) == pytest.approx(0.075)


def test_a_question_without_words_is_not_explained() -> None:
    assert explained_share((), {}, ("2023",)) == 0.0


def test_a_word_that_is_read_as_several_counts_once() -> None:
    weights: dict[Clause, float] = {("websocket",): 4.0, ("web",): 4.0, ("socket",): 4.0, ("server",): 4.0}
    words = [("WebSocket", ("websocket", "web", "socket")), ("server", ("server",))]
    share = explained_share(words, weights, ("websocket", "web", "socket"))
    assert share == pytest.approx(0.75)


@pytest.mark.parametrize("spelling", [("hahnbanach",), ("hahn", "banach")])
def test_a_word_is_explained_by_each_of_its_spellings(spelling: Clause) -> None:
    weights: dict[Clause, float] = {("hahnbanach",): 6.0, ("hahn",): 4.0, ("banach",): 4.0, ("separable",): 6.0}
    words = [("Hahn-Banach", ("hahnbanach", "hahn", "banach")), ("separable", ("separable",))]
    assert explained_share(words, weights, spelling) == pytest.approx(0.75)
    assert explained_share(words, weights, ("banach",)) == 0.0


def test_a_name_with_an_apostrophe_is_explained_by_all_of_it() -> None:
    weights: dict[Clause, float] = {("o",): 3.0, ("brien",): 5.0, ("letter",): 5.0}
    words = [("O'Brien", ("o", "brien")), ("letters", ("letter",))]
    assert explained_share(words, weights, ("o",)) == 0.0
    assert explained_share(words, weights, ("o", "brien")) == pytest.approx(0.75)


def test_evidence_that_is_the_question_keeps_its_weight_however_many_share_it() -> None:
    assert strength(1.0, np.ones(5)).tolist() == [1.0] * 5


@given(explained=SHARES, sureness=arrays.arrays(np.float64, st.integers(0, 20), elements=SHARES))
def test_no_boost_is_below_one_or_above_its_greatest(explained: float, sureness: Scores) -> None:
    factors = factor(8.0, strength(explained, sureness))
    known = factors[np.isfinite(factors)]
    assert ((known >= 1) & (known <= 8)).all()
    assert not np.isfinite(factors[sureness == 0]).any()


@given(explained=SHARES, holders=st.integers(1, 19))
def test_evidence_that_more_candidates_share_is_worth_no_more(explained: float, holders: int) -> None:
    few = strength(explained, (np.arange(20) < holders).astype(np.float64))
    many = strength(explained, (np.arange(20) < holders + 1).astype(np.float64))
    assert many[0] <= few[0]


def test_a_rival_that_holds_more_of_the_question_makes_a_name_a_mention() -> None:
    weights: dict[Clause, float] = {("websocket",): 3.0, ("class",): 2.0, ("server",): 4.0}
    alone = explained_share(words_of(weights), weights, ("websocket",), lambda: np.array([0.2]))
    mentioned = explained_share(words_of(weights), weights, ("websocket",), lambda: np.array([1.0]))
    assert alone == 1.0
    assert mentioned == pytest.approx(0.5)


def test_a_doubtful_match_counts_less_than_a_sure_one() -> None:
    sure, doubtful = strength(0.5, np.array([1.0, 0.9, 0.0]))[:2].tolist()
    assert doubtful < sure < 1


@pytest.fixture
def handbook() -> Iterator[Index]:
    """A handbook in which one page is called what another page only needs a word of."""
    with rifflux.open(":memory:", model="hash") as index:
        index.add(
            Document("socket", "Opens and closes a connection.", title="WebSocket"),
            Document("server", "Class representing a WebSocket server that accepts clients.", title="Listening"),
            Document("path", "You know the way to a place.", title="Find the Path"),
            *(Document(f"page{number}", f"Page {number} of other things, in 2023.") for number in range(20)),
        )
        yield index


def test_a_name_that_a_sentence_mentions_does_not_lift_what_is_called_so(handbook: Index) -> None:
    assert handbook.search("Class representing a WebSocket server")[0].key == "server"


def test_a_name_amid_words_that_nothing_answers_to_is_meant(handbook: Index) -> None:
    assert handbook.search("my colleague mentioned Find the Path during the meeting on Tuesday")[0].key == "path"


def test_a_code_in_a_text_counts_for_what_it_explains_of_the_question(handbook: Index) -> None:
    handbook.add(
        Document("release", "The browser GX-4471 came out. Its icons are blue, its window is round."),
        Document("rivals", "Release notes compare browser engines, and launch platforms of game consoles."),
    )
    codes = {}
    for question in ("GX-4471", "on which launch platforms do release notes compare GX-4471 with game consoles?"):
        (hit,) = (each for each in handbook.search(question) if each.key == "release")
        why = hit.because("anchors")
        assert why is not None
        (codes[question],) = (
            value for name, value in why.detail.items() if not name.startswith(("title", "identifier"))
        )
    alone, amid = codes.values()
    assert alone == pytest.approx(1.5)
    assert 1 < amid < 1.25


ODD = {
    "only dates": "June 2015, 2016-05-12, 2023 and 2017",
    "only stop words": "the of and to",
    "only question words": "what is it?",
    "only names": "WebSocket Find the Path Listening",
    "one name again and again": "WebSocket " * 500,
    "500 words": "words of a page " * 125,
    "500 other words": " ".join(f"word{number}" for number in range(490)) + " on a WebSocket server in June 2015",
    "another language": "Welche Seite beschreibt den Server, der Verbindungen annimmt?",
    "another script": "что такое сервер 2023",
    "only signs": '?! … "" -',
}


@pytest.mark.parametrize("question", ODD.values(), ids=ODD)
def test_no_question_breaks_a_boost_or_exceeds_its_bound(handbook: Index, question: str) -> None:
    hits = handbook.search(question).hits
    assert np.isfinite([hit.score for hit in hits]).all()
    for hit in hits:
        for stage in ("anchors", "moments"):
            if why := hit.because(stage):
                assert all(1 <= value <= 8 for value in why.detail.values())


@pytest.mark.parametrize(
    ("evidence", "key"), [("WebSocket", "socket"), ("Find the Path", "path"), ("March 2019", "march")]
)
def test_the_more_else_is_asked_the_less_a_boost_moves(handbook: Index, evidence: str, key: str) -> None:
    """What else is asked is in documents without the evidence, word by word."""
    others = ["accepts", "clients", "opens", "closes", "connection", "other", "things", "representing", "class"]
    handbook.add(Document("others", " ".join(others)), Document("march", "A meeting was held in March 2019."))
    boosts = []
    for count in range(len(others)):
        hits = handbook.search(" ".join([evidence, *others[:count]]), top_k=30).hits
        (hit,) = [each for each in hits if each.key == key]
        reasons = [why for stage in ("anchors", "moments") if (why := hit.because(stage))]
        boosts.append(max([value for why in reasons for value in why.detail.values()], default=1.0))
    assert boosts[0] > 1
    assert boosts[-1] < 1 + (boosts[0] - 1) / 4
    assert all(after <= before + 1e-9 for before, after in pairwise(boosts))
