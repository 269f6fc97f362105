"""Find the sentence of a block that answers: the one that fits the question best, by tokens or else by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.retrieve.steps.rerank.maxsim import TokenEmbedder
from rifflux.text.sentences import WHOLE, pieces
from rifflux.types import Scores, Span, Vectors


@dataclass(frozen=True, slots=True)
class QuestionTokens:
    """The vectors of a question's tokens with what each of them counts, and the embedder that they are of.

    Of a follow-up without a word of its own, such as `why?`, `before` is what they count in the question before it: the
    sentence that answered that one is not the one that answers now.
    """

    vectors: Vectors
    weights: Scores
    embedder: TokenEmbedder
    before: Scores | None = None

    def answering_spans(self, texts: Sequence[str]) -> list[Span | None]:
        """Return the place of the sentence of each text that answers; None for a text of one piece."""
        spans = [sentence_spans(text) for text in texts]
        several = [text for text, own in zip(texts, spans, strict=True) if len(own) > 1]
        read = iter(self.embedder.token_vectors(several))
        return [
            self._best(text, own, next(read)) if len(own) > 1 else None for text, own in zip(texts, spans, strict=True)
        ]

    def _best(self, text: str, spans: Sequence[Span], tokens: Vectors) -> Span | None:
        """Return the sentence whose tokens, as they were read within the text, are nearest to the question's."""
        nearness = self.vectors @ tokens.T
        fits: list[float] = []
        former: list[float] = []
        for start, end in spans:
            first = self.embedder.count_tokens(text[:start])
            own = nearness[:, first : first + self.embedder.count_tokens(text[start:end])]
            nearest = own.max(axis=1) if own.size else np.zeros(len(self.vectors))
            fits.append(float(self.weights @ nearest))
            if self.before is not None:
                former.append(float(self.before @ nearest))
        if former:
            fits[int(np.argmax(former))] = 0.0
        if not any(fits):
            return None
        return spans[int(np.argmax(fits))]


def sentence_spans(text: str) -> list[Span]:
    """Return the places of the sentences and items of a quoted text; a table or code is none."""
    return [piece.span for piece in pieces(text) if piece.kind != WHOLE]
