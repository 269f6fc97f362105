"""The deadlines of rerankers, declared in one table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from rifflux.retrieve.steps.rerank import DEADLINES_MS, RERANKERS, RerankSettings, Resources, reranker_of
from rifflux.works.retrieval.stages import RetrievalSettings


@pytest.mark.parametrize("name", sorted(RERANKERS))
def test_a_reranker_has_the_deadline_of_the_table(name: str) -> None:
    settings = RerankSettings(cross_encoder="a-folder", llm_url="http://127.0.0.1:9", llm_model="m")
    unused = cast(Any, SimpleNamespace())
    resources = Resources(unused, unused, settings)
    assert reranker_of(name, resources).deadline_ms == DEADLINES_MS.get(name)


def test_works_are_scored_within_the_deadline_of_the_table() -> None:
    # Tests have changed what a call without settings gets.
    assert RetrievalSettings.__dataclass_fields__["rerank_ms"].default == DEADLINES_MS["works"]
