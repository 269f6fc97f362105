"""Pieces of wordings: what is a subject, a title or a name is no part of them."""

from __future__ import annotations

import pytest

from rifflux.works.intent.rules import footnote_reference, identifier_in
from rifflux.works.intent.similarity import features_of, known_words, untitled

KNOWN = known_words(["{x} vs {y}", "{y} vs {x} again", "who cites {w}", "papers that cites {w}", "who wrote {w}"])


class TestPieces:
    def test_words_of_several_examples_are_known(self) -> None:
        assert {"vs", "cites", "who"} == KNOWN

    def test_subjects_are_left_out(self) -> None:
        one, other = (features_of(text, KNOWN) for text in ("Adam vs SGD", "Raft vs Paxos"))
        assert one == other
        assert {"vs", "_ vs", "vs _", "_ vs _", "^ _ vs"} <= one

    def test_so_are_titles(self) -> None:
        assert "vs" not in features_of('who cites "Adam vs SGD"?', KNOWN)
        assert "vs" not in features_of("who cites Adam Vs Stochastic Descent?", KNOWN)

    @pytest.mark.parametrize("text", ["", "?", "42", "sheaves " * 200, "層"])
    def test_of_anything(self, text: str) -> None:
        assert features_of(text, KNOWN)

    def test_the_first_word_of_a_sentence_begins_no_title(self) -> None:
        assert untitled("Find Origins of Virtue in Man", other="*") == "Find*"
        assert untitled("Find the Nature of a firm", other="*") == "Find the Nature of a firm"


class TestIdentifiers:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ('get("10.1038/171737a0")', "10.1038/171737a0"),
            ("see doi: 10.1038/171737a0, please", "doi: 10.1038/171737a0"),
            ("open arXiv 1312.6114v10", "arXiv 1312.6114v10"),
            ("cites 1312.6114?", "1312.6114"),
            ("what is tag 06Z4", "tag 06Z4"),
            ("ISBN 978-0-19-853453-2", "ISBN 978-0-19-853453-2"),
            ("which papers does acm:12 cite", "acm:12"),
            ("https://example.org/a1", ""),
            ("profits of 2013.5000 dollars", ""),
            ("sheaves", ""),
        ],
    )
    def test_are_found_in_any_place(self, text: str, found: str) -> None:
        assert identifier_in(text) == found


class TestNotes:
    @pytest.mark.parametrize(
        "text",
        [
            "Ford and Fulkerson 1956",
            "Okun (1962)",
            "A. Okun potential output 1962",
            "Akerlof lemons QJE 1970",
            "Garey & Johnson, Computers and Intractability, Freeman",
        ],
    )
    def test_refer_to_a_work(self, text: str) -> None:
        assert footnote_reference(text)

    @pytest.mark.parametrize(
        "text",
        [
            "Chile earthquake 1960",
            "France and Germany",
            "who wrote it in 1960?",
            "1960",
            "Effects of the 1918 influenza on births",
        ],
    )
    def test_subjects_do_not(self, text: str) -> None:
        assert not footnote_reference(text)
