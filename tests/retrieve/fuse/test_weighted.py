"""The fusions by score: linear, balanced and adaptive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.retrieve.fuse import FUSIONS, Adaptive, Balanced, Fuse, Linear
from rifflux.retrieve.fuse.spelled import fusion_of
from rifflux.retrieve.scale import SAMPLE, VectorScale, scale_of
from rifflux.retrieve.table import SCORE, joined, placed
from rifflux.types import Ids, Ranking, Scores


def ranking(scores: Mapping[int, float]) -> Ranking:
    """A ranking of these ids by these scores."""
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return Ranking(np.array([id for id, _ in ordered], np.int64), np.array([score for _, score in ordered], float))


@dataclass(frozen=True)
class Known:
    """Evidence that is known beforehand."""

    shares: Mapping[int, float] = field(default_factory=dict)
    kind: str = ""
    specificity: float = 0.0
    scale: VectorScale | None = None
    known_cosines: Mapping[int, float] = field(default_factory=dict)

    def coverage(self, ids: Ids) -> Scores:
        return np.array([self.shares.get(id, 0.0) for id in ids.tolist()])

    def kinds(self, ids: Ids) -> Sequence[str]:
        return [self.kind] * len(ids)

    def cosines(self, ids: Ids) -> Scores:
        return np.array([self.known_cosines.get(id, np.nan) for id in ids.tolist()])


D40, D41, AREA = 1, 2, 3
REGION = Known({D40: 1.0, D41: 0.0, AREA: 0.5})
CHANNELS = {"lexical": ranking({D40: 9.0, AREA: 4.0}), "semantic": ranking({D40: 0.7, D41: 0.85, AREA: 0.6})}


def _passages() -> VectorScale:
    """The scale of passages at random."""
    vectors = np.random.default_rng(0).normal(size=(SAMPLE, 16)).astype(np.float32)
    found = scale_of(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    assert found
    return found


PASSAGES = _passages()
SCALED = Known(scale=PASSAGES)


def fused(fusion: Fuse, evidence: Known = REGION) -> dict[int, float]:
    result = fusion(joined(CHANNELS), evidence)
    return dict(zip(result.ids.tolist(), result[SCORE].tolist(), strict=True))


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(0.7, {D40: 0.79, D41: 0.595, AREA: 0.57}), (0.3, {D40: 0.91, AREA: 0.53, D41: 0.255})],
)
def test_linear_is_alpha_times_cosine_and_the_rest_the_keyword_share(alpha: float, expected: dict[int, float]) -> None:
    found = fused(Linear(alpha=alpha))
    assert found == pytest.approx(expected)
    assert list(found) == list(expected)


@pytest.mark.parametrize(
    ("specificity", "alpha"), [(1.0, 0.3), (0.51, 0.3), (0.5, 0.5), (0.21, 0.5), (0.2, 0.7), (0, 0.7)]
)
def test_linear_by_specificity_trusts_words_more_the_more_a_question_names(specificity: float, alpha: float) -> None:
    evidence = Known(REGION.shares, specificity=specificity)
    assert fused(Linear(weights="by-specificity"), evidence) == pytest.approx(fused(Linear(alpha=alpha)))


def test_balanced_brings_both_channels_to_the_same_scale() -> None:
    found = fused(Balanced(weight=0.5))
    assert found[D40] == pytest.approx(0.5 * 1 + 0.5 * (0.7 - 0.6) / 0.25)
    assert found[D41] == pytest.approx(0.5)
    assert found[AREA] == pytest.approx(0.0)


def test_adaptive_trusts_vectors_more_in_code_and_less_in_messages() -> None:
    weights = {kind: Adaptive().semantic_weight(CHANNELS, Known(kind=kind)) for kind in ("code", "", "message")}
    assert weights["code"] > weights[""] > weights["message"]


def test_adaptive_trusts_vectors_more_where_they_choose_clearly() -> None:
    rest = dict.fromkeys(range(2, 120), 0.2)
    clear = {"lexical": ranking({1: 1.0}), "semantic": ranking({1: 0.9, **rest})}
    vague = {"lexical": ranking({1: 1.0}), "semantic": ranking({1: 0.3, **rest})}
    assert Adaptive().semantic_weight(clear, SCALED) > Adaptive().semantic_weight(vague, SCALED)
    assert Adaptive().semantic_weight(clear, Known()) == Adaptive().semantic_weight(vague, Known()), "nothing is known"


def test_adaptive_trusts_vectors_more_the_better_they_agree_with_words() -> None:
    known = [replace(PASSAGES, agreement=share) for share in (0.75, 0.87, None, 0.93)]
    weights = [Adaptive().semantic_weight(CHANNELS, Known(scale=scale)) for scale in known]
    assert weights == sorted(set(weights))
    assert weights[2] == pytest.approx(Adaptive().prior)


@given(share=st.floats(0.02, 1), offset=st.floats(0, 1))
def test_cosines_of_another_model_that_differ_by_scale_and_offset_give_the_same_scores(
    share: float, offset: float
) -> None:
    cosines = dict(zip(range(1, 140), np.random.default_rng(0).uniform(-0.1, 0.9, 139), strict=True))
    other = {id: share * cosine + (1 - share) * offset for id, cosine in cosines.items()}
    words = ranking({5: 9.0, 7: 8.0, 300: 2.0})
    noise = share * PASSAGES.noise + (1 - share) * offset
    stretched = replace(PASSAGES, noise=noise, reach=share * PASSAGES.reach)
    results = [
        Adaptive()(joined({"lexical": words, "semantic": ranking(found)}), Known(scale=scale))
        for found, scale in ((cosines, PASSAGES), (other, stretched))
    ]
    assert results[0].ids.tolist() == results[1].ids.tolist()
    assert results[0][SCORE] == pytest.approx(results[1][SCORE], abs=1e-6)


def test_adaptive_scores_a_candidate_alike_however_many_were_read() -> None:
    cosines = {rank: 0.9 - 0.05 * np.log(rank) for rank in range(1, 1001)}
    known = Known(scale=PASSAGES, known_cosines=cosines)
    deep = {"lexical": ranking({5: 9.0, 200: 8.0}), "semantic": ranking(cosines)}
    cut = {**deep, "semantic": deep["semantic"].head(Adaptive().enough(100))}
    assert len(cut["semantic"]) < Adaptive().depth(100) == len(deep["semantic"])
    ids = np.array([1, 5, 50, 200, 900])
    one, other = (Adaptive().semantic(placed(ids, rankings), known) for rankings in (cut, deep))
    assert one.tolist() == other.tolist()


def test_a_best_that_is_hardly_nearer_than_chance_is_scaled_by_what_is_near_here() -> None:
    found = {"semantic": ranking({1: PASSAGES.noise + 0.01, 2: PASSAGES.noise, 3: PASSAGES.noise - 0.01})}
    first, second, third = Adaptive().semantic(placed(np.array([1, 2, 3]), found), SCALED).tolist()
    assert first == 1.0
    assert 1.0 > second > third > 0.9


def test_a_large_pool_is_read_to_its_end() -> None:
    assert Adaptive().enough(2000) == Adaptive().depth(2000) == 2000


@pytest.mark.parametrize("fusion", [Balanced(), Adaptive()])
def test_without_vectors_the_words_decide(fusion: Fuse) -> None:
    result = fusion(joined({"lexical": ranking({5: 3.0, 4: 2.0, 6: 1.0})}))
    assert result.ids.tolist() == [5, 4, 6]


@pytest.mark.parametrize(
    "fusion", [Balanced(weight=0.3), Linear(alpha=0.7), Linear(weights="by-specificity"), Adaptive()]
)
def test_a_channel_alone_has_all_the_weight(fusion: Fuse) -> None:
    words = fusion(joined({"lexical": ranking({5: 3.0, 4: 2.0})}), Known())
    assert words[SCORE].tolist() == words.parts(fusion.name)["lexical"].tolist()
    assert fusion.semantic_weight({"lexical": ranking({5: 3.0}), "semantic": Ranking.empty()}, Known()) == 0


@pytest.mark.parametrize("fusion", [Balanced(weight=0.3), Linear(alpha=0.7)])
def test_vectors_alone_have_all_the_weight(fusion: Fuse) -> None:
    assert fusion.semantic_weight({"semantic": ranking({5: 0.5})}, Known()) == 1


def test_linear_without_vectors_scores_the_keyword_share() -> None:
    found = Linear()(joined({"lexical": ranking({5: 3.0, 4: 2.0})}), Known())
    assert found[SCORE].max() == Known().coverage(found.ids).max()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Balanced(weight=1.5),
        lambda: Linear(alpha=-0.1),
        lambda: Adaptive(prior=2),
        lambda: Linear(alpha=float("nan")),
    ],
)
def test_shares_outside_zero_to_one_are_refused(make: type) -> None:
    with pytest.raises(InvalidArgument, match="from 0 to 1"):
        make()


def test_unknown_weights_of_linear_name_the_known() -> None:
    with pytest.raises(InvalidArgument, match="by-specificity"):
        Linear(weights="magic")


scores = st.dictionaries(st.integers(0, 20), st.floats(0.01, 30, allow_nan=False), max_size=12)


@pytest.mark.parametrize("name", sorted(FUSIONS))
@given(lexical=scores, semantic=scores)
def test_contributions_add_up_and_channels_have_no_order(
    name: str, lexical: dict[int, float], semantic: dict[int, float]
) -> None:
    fusion = fusion_of(name)
    channels = {"lexical": ranking(lexical), "semantic": ranking(semantic)}
    result = fusion(joined(channels, 10), Known())
    assert result.ids.tolist() == fusion(joined(dict(reversed(channels.items())), 10), Known()).ids.tolist()
    shares = result.parts(name)
    assert sum(shares.values(), np.zeros(len(result))) == pytest.approx(result[SCORE], abs=1e-9)


@pytest.mark.parametrize("name", sorted(FUSIONS))
@given(lexical=scores, semantic=scores)
def test_every_candidate_is_ranked_once(name: str, lexical: dict[int, float], semantic: dict[int, float]) -> None:
    result = fusion_of(name)(joined({"lexical": ranking(lexical), "semantic": ranking(semantic)}), Known())
    assert sorted(result.ids.tolist()) == sorted({*lexical, *semantic})
    assert np.isfinite(result[SCORE]).all()
