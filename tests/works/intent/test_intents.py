"""What a question about works is after, told by its wording; and what only looks like such wording."""

from __future__ import annotations

from typing import Any

import pytest

from rifflux.errors import InvalidArgument
from rifflux.retrieve.query.reading import Words
from rifflux.text.analyzer import analyzer
from rifflux.works.intent.classify import classify
from rifflux.works.intent.intents import INTENTS


class TestIntents:
    @pytest.mark.parametrize(
        ("text", "intent"),
        [
            ("Theorem 3.2 of Hartshorne", "lookup"),
            ("the paper by Noether on rings", "lookup"),
            ("foundational references for sheaf theory", "survey"),
            ("survey of spectral sequences", "survey"),
            ("quicksort versus heapsort", "compare"),
            ("difference between flat and projective modules", "compare"),
            ("what to read before studying stacks", "prereq"),
            ("prerequisites for algebraic geometry", "prereq"),
            ("papers similar to Sheaf cohomology", "related"),
            ("paper Faisceaux algebriques coherents by Serre", "lookup"),
            ("Faisceaux algebriques coherents by Serre", "lookup"),
            ("proof of the Hahn-Banach theorem", "lookup"),
            ("theorem of Riemann-Roch", "lookup"),
            ("Nakayama's lemma for graded modules", "lookup"),
            ("reference for Zariski's main theorem", "lookup"),
            ("seminal paper by Serre", "lookup"),
            ("classic text on parsing", "survey"),
            ("pioneering work on sorting", "survey"),
            ("garbage collection survey", "survey"),
            ("LL or LR parsing, which is better?", "compare"),
            ("how does LL parsing differ from LR parsing", "compare"),
            ("which papers should I read first to understand stacks", "prereq"),
            ("work related to Deligne", "related"),
            ("papers citing EGA", "related"),
            ("finiteness of etale cohomology", "generic"),
            ("etale cohomology finiteness", "keywords"),
            ("42", "generic"),
        ],
    )
    def test_rules(self, text: str, intent: str) -> None:
        asked = classify(text)
        assert asked.intent.name == intent
        assert asked.reason

    @pytest.mark.parametrize(
        "text",
        [
            "canonical divisor of a curve", "canonical bundle formula", "classical groups", "Classical groups",
            "current algebra", "electric current algebra", "latest common ancestor", "most recent common ancestor",
            "newest vertex bisection", "related rates", "similar matrices", "matrices similar to a diagonal matrix",
            "elements related to units", "comparison theorem", "Comparison theorem", "comparison test for series",
            "comparison isomorphism between etale and de Rham cohomology", "differences between consecutive primes",
            "finite differences", "survey sampling", "sample surveys", "survey propagation", "fundamental group",
            "fundamental theorem of algebra", "standard deviation", "reference counting",
            "an argument that works for rings",
            "which machines read the tape first",
            "symmetric difference between sets and covers",
            "a theorem proved by induction", "tag system", "Vector bundle",
        ],
    )  # fmt: skip
    def test_terms_of_mathematics_are_no_wishes(self, text: str) -> None:
        asked = classify(text)
        assert asked.intent.name in ("generic", "keywords"), asked.reason
        assert asked.intent.weights["freshness"] == 0
        assert asked.intent.weights == INTENTS[asked.intent.name].weights

    @pytest.mark.parametrize(
        "text", ["recent papers on parsing", "latest results on sieves", "current research on stacks"]
    )
    def test_what_is_new_counts_where_it_is_classify(self, text: str) -> None:
        assert classify(text).intent.weights["freshness"] > 0

    def test_few_plain_words_are_broad(self) -> None:
        assert classify("cohomology").intent.limits.spread
        assert "spread over subjects" in classify("etale cohomology").reason
        for narrow in ("etale cohomology finiteness", "Hilbert scheme", "H^1", "42"):
            assert not classify(narrow).intent.limits.spread

    def test_which_words_make_a_sentence_depends_on_the_language(self) -> None:
        for language, intent in (("english", "keywords"), ("german", "generic")):
            assert classify("Garben auf Schemata", words=Words(analyzer(language))).intent.name == intent

    def test_a_mode_overrides_and_must_exist(self) -> None:
        assert classify("quicksort versus heapsort", "survey").intent.name == "survey"
        assert classify("survey of heapsort", "generic").intent.name == "generic"
        assert classify("survey of heapsort", "keywords").intent.name == "keywords"
        modes: Any = ("psychic", "", ["survey"])
        for mode in modes:
            with pytest.raises(InvalidArgument, match="prereq"):
                classify("x", mode)

    def test_foundational_wording_forgets_age_and_weighs_citations(self) -> None:
        plain, leaning = (
            classify(text).intent.weights for text in ("survey of sheaves", "foundational survey of sheaves")
        )
        assert leaning["freshness"] == 0 < leaning["citation"]
        assert leaning["citation"] + leaning["authority"] > plain["citation"] + plain["authority"]
        lookup = classify("foundational sheaf cohomology", "lookup").intent
        assert lookup.weights["citation"] > 0
        assert lookup.follow

    def test_both_sides_are_told_apart(self) -> None:
        assert classify("difference between flat modules and projective modules").sides == (
            "flat modules", "projective modules"
        )  # fmt: skip
        assert classify("quicksort vs. heapsort").sides == ("quicksort", "heapsort")
        assert classify("compare").sides == ()

    @pytest.mark.parametrize(
        ("text", "sides"),
        [
            ("approach A vs B for problem P", ("approach A for problem P", "B for problem P")),
            ("quicksort vs mergesort for external sorting?",
             ("quicksort for external sorting", "mergesort for external sorting")),
            ("which is better for typing: LL or LR parsing", ("LL parsing for typing", "LR parsing for typing")),
            ("parsing of tables versus parsing of trees", ("parsing of tables", "parsing of trees")),
            ("comparing LL with LR parsing", ("LL parsing", "LR parsing")),
            ("should I use hash tables or B-trees for ranges", ("hash tables for ranges", "B-trees for ranges")),
            ("advantages of quicksort over heapsort", ("quicksort", "heapsort")),
        ],
    )  # fmt: skip
    def test_what_is_compared_for_holds_for_both_sides(self, text: str, sides: tuple[str, ...]) -> None:
        assert classify(text).sides == sides

    def test_a_comparison_by_name_has_sides_or_says_that_it_has_none(self) -> None:
        asked = classify("LL and LR parsing", "compare")
        assert asked.sides == ("LL parsing", "LR parsing")
        assert "'LL parsing' and for 'LR parsing'" in asked.reason
        assert "no two sides" in classify("parsing", "compare").reason
        assert classify("LL and LR parsing").sides == ()

    def test_weights_of_every_intent_are_shares(self) -> None:
        for intent in INTENTS.values():
            assert sum(intent.weights.shares().values()) == pytest.approx(1.0)
