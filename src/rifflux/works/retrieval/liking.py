"""What a question is worded like, by the vector that the model in the package has for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rifflux.errors import ModelError
from rifflux.models import load_embedder
from rifflux.session.searching import Searcher
from rifflux.works.retrieval.likeness import Likeness, fitted


@dataclass
class Liking:
    """Tell what a question is worded like; `notes` say why that was not possible.

    The model is that which the examples were fitted to, also where an index is embedded by another one: that would have
    to be asked for all examples first. An index without vectors is searched by words, and questions of it are read by
    rules.
    """

    searcher: Searcher
    deadline: float | None
    notes: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> Likeness | None:
        """Return the likeness of a question to examples; None where the model does not answer."""
        if not self.searcher.store.counts()["embedded_chunks"]:
            return None
        view = self.searcher.view
        wording = fitted()
        try:
            embedder = view.embedder
            if embedder.fingerprint != wording.fingerprint:
                embedder = view.guarded(load_embedder())
            return wording(embedder.question_vector(text, deadline=self.deadline), text)
        except ModelError as error:
            self.notes.append(f"its wording was read by rules alone: {error}")
            return None
