"""Fusions as text: the knobs they set, and what is refused."""

from __future__ import annotations

import pytest

from rifflux import InvalidArgument
from rifflux.retrieve.fuse import Adaptive, Balanced, Fuse, Linear, ReciprocalRank
from rifflux.retrieve.fuse.spelled import fusion_of


@pytest.mark.parametrize(
    ("text", "fusion"),
    [
        ("rrf:semantic=0", ReciprocalRank(weights={"lexical": 1.0, "semantic": 0.0})),
        ("rrf", ReciprocalRank()),
        ("rrf:10", ReciprocalRank(10)),
        ("rrf:k=10:semantic=2", ReciprocalRank(10, {"lexical": 1.0, "semantic": 2.0})),
        ("rrf:lexical=1:semantic=0.5", ReciprocalRank(weights={"lexical": 1.0, "semantic": 0.5})),
        ("linear:by-specificity", Linear(weights="by-specificity")),
        ("linear:0.3", Linear(alpha=0.3)),
        ("linear:alpha=.3", Linear(alpha=0.3)),
        ("balanced:weight=0.4", Balanced(weight=0.4)),
        ("adaptive:0.6", Adaptive(prior=0.6)),
    ],
)
def test_text_names_a_fusion(text: str, fusion: Fuse) -> None:
    assert fusion_of(text) == fusion


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("magic", "rrf, linear, balanced, adaptive, or linear:by-specificity"),
        ("linear:by-magic", "not a number"),
        ("linear:beta=1", "by-specificity, alpha=NUMBER"),
        ("rrf:titles=2", "k=NUMBER, lexical=NUMBER, semantic=NUMBER"),
        ("rrf:k=nan", "finite"),
        ("rrf:semantic=inf", "finite"),
        ("rrf:semantic=1e300", "from 0 to 1,000,000"),
        ("rrf:k=-1", "negative"),
        ("balanced:nan", "from 0 to 1"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_can(text: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        fusion_of(text)
