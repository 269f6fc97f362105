"""Reranking by a model that reads the query and each passage together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rifflux.errors import Cure, InvalidArgument
from rifflux.models.cross_encoder import CrossEncoder, load_cross_encoder
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.rerank.stage import DEADLINES_MS, Rerank, Resources, Scored
from rifflux.retrieve.table import Candidates


@dataclass(frozen=True)
class CrossEncoded:
    """Scores a hit by a cross-encoder's logit for the query and the hit's title and text.

    Nogueira and Cho, "Passage Re-ranking with BERT", 2019. Logits have no common scale across models; the model's
    calibration turns them into a probability of relevance.

    `load` is called for every query, so that a model that is missing now can be used later.
    """

    load: Callable[[], CrossEncoder]
    name: str = "cross-encoder"

    def __call__(self, plan: Plan, table: Candidates) -> Scored:
        """Score the candidates."""
        passages = [f"{hit.title}\n{hit.text}".strip() for hit in table.passages]
        model = self.load()
        query = plan.query
        logits = model(query.semantic_text or query.text, passages, plan.execution.deadline)
        return Scored(logits, relevance=model.calibration(logits))


def reranker(resources: Resources) -> Rerank:
    """Return the step with the configured model. Raises `InvalidArgument` without one."""
    choice = resources.settings.cross_encoder
    if not choice:
        raise InvalidArgument(
            "the reranker cross-encoder needs a model: a folder with model.onnx and tokenizer.json, or the name of a "
            "fetched model",
            cure=Cure.SETTING,
            settings="rerank_model",
        )
    load = partial(resources.models, ("cross-encoder", choice), partial(load_cross_encoder, choice))
    return Rerank(CrossEncoded(load), deadline_ms=DEADLINES_MS["cross-encoder"])
