"""What questions ask for in wordings that no rule has, with the model of the package; and what asks for nothing."""

from __future__ import annotations

import numpy as np
import pytest

from rifflux.models import load_embedder
from rifflux.works.intent.classify import classify
from rifflux.works.intent.rules import citation_direction
from rifflux.works.intent.sides import sides_in
from rifflux.works.intent.similarity import EXAMPLES, FITTED, Similarity, digest_of, fitted, read_examples


def likened(text: str) -> Similarity:
    return fitted()(load_embedder().embed_query(text), text)


class TestIntents:
    @pytest.mark.parametrize(
        ("text", "intent"),
        [
            ("the article in which Okun stated his law", "lookup"),
            ("can you dig out the original paper on simulated annealing", "lookup"),
            ("doi:10.1000/182", "lookup"),
            ("doi 10.1000/182", "lookup"),
            ("arxiv 1706.03762", "lookup"),
            ('"Go To Statement Considered Harmful"', "lookup"),
            ('"Shortest paths revisited" by Ford, Fulkerson and Dijkstra', "lookup"),
            ("the Club of Rome report, do you hold it", "lookup"),
            ("what are the most significant publications in sociolinguistics", "survey"),
            ("give me an idea of the literature on volcanic islands", "survey"),
            ("Is oak or pine better for shipbuilding?", "compare"),
            ("pros and cons of paging and segmentation", "compare"),
            ("Which converges faster, Newton's method or the secant method?", "compare"),
            ("What background do I need to understand spectral sequences?", "prereq"),
            ("roadmap for someone who wants to learn quantum optics", "prereq"),
            ("recommend something related to The Logic of Collective Action", "related"),
            ("follow-up work to arXiv:1706.03762", "related"),
            ("was the Asch experiment ever repeated", "related"),
            ("everything that matters about volcanic islands", "survey"),
            ("the relative cost of copper and aluminium wires", "compare"),
            ("easy material leading to spectral sequences", "prereq"),
            ("how are volcanic islands formed", "generic"),
            ("Chile earthquake 1960", "generic"),
            ("Does aspirin prevent heart attacks?", "generic"),
            ("A compact space is complete.", "generic"),
        ],
    )
    def test_are_told_in_any_wording(self, text: str, intent: str) -> None:
        asked = classify(text, compare=likened)
        assert asked.intent.name.replace("keywords", "generic") == intent, asked.reason
        assert asked.reason

    @pytest.mark.parametrize(
        ("text", "intent"),
        [
            ("10.1038/171737a0 full text please", "lookup"),
            ("get_document(doi=10.1038/171737a0)", "lookup"),
            ("pull up arXiv:1312.6114v10", "lookup"),
            ("fetch PMID 13054692", "lookup"),
            ("show me tag 00DV", "lookup"),
            ("papers similar to 10.1038/171737a0", "related"),
            ("who cites arXiv:1312.6114?", "related"),
            ("what should I read before 10.1038/171737a0", "prereq"),
        ],
    )
    def test_an_identifier_is_looked_up_unless_others_are_wanted(self, text: str, intent: str) -> None:
        assert classify(text, compare=likened).intent.name == intent

    @pytest.mark.parametrize(
        ("text", "intent"),
        [
            ("Ford and Fulkerson 1956 Canadian Journal", "lookup"),
            ("Garey & Johnson, A Guide to Completeness, Freeman", "lookup"),
            ("Okun et al., Potential GNP, 1962", "lookup"),
            ('get_document(title="A Survey of Rewriting Systems")', "lookup"),
            ('who cites "A Comparison of Sorting Networks"?', "related"),
            ("Is Silent Spring by Carson available here?", "lookup"),
            ("Chile earthquake 1960", "generic"),
            ("trade between France and Germany before 1914", "generic"),
        ],
    )
    def test_words_of_titles_and_notes_do_not_decide(self, text: str, intent: str) -> None:
        assert classify(text, compare=likened).intent.name.replace("keywords", "generic") == intent

    def test_the_reason_tells_the_nearest_example(self) -> None:
        asked = classify("roadmap for someone who wants to learn quantum optics", compare=likened)
        assert "it is worded like '" in asked.reason
        assert "{" not in asked.reason

    def test_bare_words_need_no_model(self) -> None:
        def fail(text: str) -> Similarity:
            raise AssertionError(text)

        assert classify("etale cohomology finiteness", compare=fail).intent.name == "keywords"
        assert classify("survey of sheaves", "prereq", compare=fail).intent.name == "prereq"


ABSTRACT = (
    "We survey papers on the scheduling of jobs and compare two heuristics with an exact method. Prerequisites are "
    "few. Heuristics similar to those of earlier works are shown to be slower than branch and bound on large inputs, "
    "and better on small ones. Recent papers on the same problem are discussed by Graham."
)


class TestLongTexts:
    def test_a_pasted_abstract_asks_for_nothing(self) -> None:
        asked = classify(ABSTRACT, compare=likened)
        assert (asked.intent.name, asked.intent.weights["freshness"]) == ("generic", 0.0)
        assert "words that asks for nothing" in asked.reason

    def test_a_question_behind_one_is_heard(self) -> None:
        assert classify(f"{ABSTRACT} What should I read before this?", compare=likened).intent.name == "prereq"
        assert classify(f"{ABSTRACT} Please recommend similar papers.", compare=likened).intent.name == "related"


class TestCitations:
    @pytest.mark.parametrize(
        ("text", "way"),
        [
            ("which papers does acm:12 cite?", "out"),
            ("what does acm:12 reference", "out"),
            ("whom did the authors of acm:12 quote", "out"),
            ('works cited by "Sheaves on Manifolds"', "out"),
            ('papers that "Sheaves on Manifolds" cites', "out"),
            ('the references of "Sheaves on Manifolds"', "out"),
            ("who cites acm:12?", "in"),
            ("who has cited acm:12 since", "in"),
            ("papers citing acm:12", "in"),
            ("where is acm:12 cited", "in"),
            ("by whom is acm:12 cited", "in"),
            ("acm:12 is cited by which papers", "in"),
            ("everything that refers to acm:12", "in"),
            ("citations of acm:12", "in"),
            ("papers similar to acm:12", ""),
        ],
    )
    def test_have_a_direction(self, text: str, way: str) -> None:
        assert citation_direction(text) == way
        asked = classify(text, compare=likened)
        assert (asked.intent.name, asked.cited) == ("related", way)

    @pytest.mark.parametrize("text", ["does inflation rely on the money supply", "which foods rely on bees"])
    def test_of_nothing_are_no_wish(self, text: str) -> None:
        assert classify(text, compare=likened).intent.name == "generic"


class TestSides:
    @pytest.mark.parametrize(
        ("text", "sides"),
        [
            ("contrast topological and algebraic K-theory", ("topological K-theory", "algebraic K-theory")),
            ("similarities and differences of C3 and C4 photosynthesis", ("C3 photosynthesis", "C4 photosynthesis")),
            ("Lebesgue versus Riemann integration", ("Lebesgue integration", "Riemann integration")),
            ("left and right adjoints, how do they differ", ("left adjoints", "right adjoints")),
            ("Logic and set theory, how do they differ", ("Logic", "set theory")),
            ("pros and cons of paging and segmentation", ("paging", "segmentation")),
            ("Is quicksort or heapsort better for lists", ("quicksort for lists", "heapsort for lists")),
            ("Which converges faster, Newton's method or the secant method?", ("Newton's method", "secant method")),
            ("Does depth-first search beat breadth-first search?", ("depth-first search", "breadth-first search")),
            ("what sets monads apart from applicative functors", ("monads", "applicative functors")),
            ("what do LL and LR parsing have in common", ("LL parsing", "LR parsing")),
            ("why choose TCP instead of UDP", ("TCP", "UDP")),
            ("A vs. B", ("A", "B")),
            ("paging / segmentation trade-offs", ("paging", "segmentation")),
            ("Paxos, Raft: tradeoffs", ("Paxos", "Raft")),
            ("mitosis meiosis difference", ("mitosis", "meiosis")),
            ("does quicksort beat heapsort on sorted input", ("quicksort on sorted input", "heapsort on sorted input")),
            ("the relative cost of copper and aluminium wires", ("copper", "aluminium wires")),
            ("deciding between oak and pine", ("oak", "pine")),
            ("can copper replace silver", ("copper", "silver")),
            ("theory of mind versus empathy", ("theory of mind", "empathy")),
            ("compare", None),
        ],
    )  # fmt: skip
    def test_of_comparisons_in_any_wording(self, text: str, sides: tuple[str, str] | None) -> None:
        assert sides_in(text) == sides


class TestExamples:
    def test_what_was_fitted_is_of_the_examples_and_the_model_of_the_package(self) -> None:
        text = EXAMPLES.read_text("utf-8")
        with np.load(FITTED) as kept:
            assert str(kept["digest"]) == digest_of(text), "fit them anew: python -m bench intents --fit"
            assert str(kept["fingerprint"]) == load_embedder().fingerprint
            assert len(kept["points"]) == len([*read_examples(text)])
            assert len(str(kept["pieces"]).split("\n")) == len(kept["of_pieces"])
        assert FITTED.stat().st_size < 600_000

    def test_shares_are_of_one(self) -> None:
        for text in ("who cites this?", "", "sheaves " * 300):
            like = likened(text or "?")
            assert sum(like.shares.values()) == pytest.approx(1.0)
            assert like.nearest.keys() == like.shares.keys()

    def test_subjects_say_little(self) -> None:
        nearest = [likened(f"what should I read before studying {x}").nearest["prereq"] for x in ("sheaves", "malaria")]
        assert nearest[0] == nearest[1]
