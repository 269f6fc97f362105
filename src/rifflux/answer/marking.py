"""Find the sentence of a block that answers: the one that fits the question best, by tokens or else by words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from rifflux.retrieve.steps.rerank.maxsim import TokenEmbedder
from rifflux.text.sentences import WHOLE, pieces
from rifflux.types import Scores, Span, Vectors

#: The first cell of a row.
_FIRST_CELL = re.compile(r"\s*\|?[^|\n]+(?=\|)")


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

    def answering_spans(self, texts: Sequence[str], *, rows: bool = False) -> list[Span | None]:
        """Return the place of the sentence of each text that answers; None for a text of one piece.

        With `rows`, it may be a row of a table.
        """
        spans = [sentence_spans(text, rows=rows) for text in texts]
        several = [text for text, own in zip(texts, spans, strict=True) if len(own) > 1]
        read = iter(self.embedder.token_vectors(several))
        return [
            self._best(text, own, next(read)) if len(own) > 1 else None for text, own in zip(texts, spans, strict=True)
        ]

    def _best(self, text: str, spans: Sequence[Span], tokens: Vectors) -> Span | None:
        """Return the sentence whose tokens, as they were read within the text, are nearest to the question's.

        What a row is about stands in its first cell, which counts once more.
        """
        nearness = self.vectors @ tokens.T
        fits: list[float] = []
        former: list[float] = []
        for start, end in spans:
            nearest = self._nearest(nearness, text, start, end)
            name = _FIRST_CELL.match(text, start, end)
            named = self._nearest(nearness, text, *name.span()) if name else nearest
            fits.append(float(self.weights @ (nearest + named)))
            if self.before is not None:
                former.append(float(self.before @ nearest))
        if former:
            fits[int(np.argmax(former))] = 0.0
        if not any(fits):
            return None
        return spans[int(np.argmax(fits))]

    def _nearest(self, nearness: Vectors, text: str, start: int, end: int) -> Vectors:
        """Return for each token of the question how near the nearest one of a part of the text is."""
        first = self.embedder.count_tokens(text[:start])
        own = nearness[:, first : first + self.embedder.count_tokens(text[start:end])]
        return own.max(axis=1) if own.size else np.zeros_like(nearness[:, 0])


def sentence_spans(text: str, *, rows: bool = False) -> list[Span]:
    """Return the places of the sentences and items of a quoted text, and of the `rows` below a table's header.

    Other tables and code have none.
    """
    found: list[Span] = []
    for piece in pieces(text):
        start, end = piece.span
        if piece.kind != WHOLE:
            found.append(piece.span)
        elif rows and all("|" in line for line in text[start:end].splitlines()):
            lines = [(start + line.start(), start + line.end()) for line in re.finditer(r"[^\n]+", text[start:end])]
            found += [line for line in lines[1:] if re.search(r"\w", text[slice(*line)])]
    return found


def headed_row(text: str, row: Span) -> str:
    """Return a row of a table in a text below the table's header."""
    lines = text[: row[0]].splitlines()
    above = [*takewhile(lambda line: "|" in line, reversed(lines))][::-1]
    header = [line for place, line in enumerate(above[:2]) if not place or not re.search(r"\w", line)]
    return "\n".join((*header, text[slice(*row)]))
