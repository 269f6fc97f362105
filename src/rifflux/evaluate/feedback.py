"""A collection made of what people judged: the events of kind `judgement` that an index holds."""

from __future__ import annotations

from pathlib import Path

from rifflux.errors import InvalidArgument
from rifflux.evaluate.collection import Collection, Question
from rifflux.index import Index
from rifflux.store import JUDGEMENT
from rifflux.types import Hit

__all__ = ["read_feedback"]


def read_feedback(index: Index) -> Collection:
    """The judgements recorded in an index, as a collection about that very index.

    The last judgement of a query and document counts. Those of documents that are gone, and queries without any
    relevant document, are left out. Raises `InvalidArgument` if nothing remains.
    """
    grades: dict[str, dict[str, int]] = {}
    for event in index.admin.store.registry.events(JUDGEMENT):
        query = " ".join(event.query.split())
        grades.setdefault(query, {})[_qualified(event.collection, event.key)] = event.grade or 0
    present = {
        document
        for graded in grades.values()
        for document in graded
        if index.admin.store.catalog.find_documents(document)
    }
    questions = tuple(
        Question(f"q{number}", query, {document: grade for document, grade in graded.items() if document in present})
        for number, (query, graded) in enumerate(grades.items(), 1)
        if any(grade > 0 and document in present for document, grade in graded.items())
    )
    if not questions:
        raise InvalidArgument(
            f"{index.admin.path} holds no judgement of a document as relevant: "
            "record one with 'rifflux judge QUERY DOCUMENT'"
        )
    return Collection(Path(index.admin.path).stem, "feedback", questions, identify=_identify)


def _identify(hit: Hit) -> str:
    return _qualified(hit.collection, hit.document)


def _qualified(collection: str, key: str) -> str:
    """A key alone would not do: two folders may hold files of the same name."""
    return f"{collection}/{key}"
