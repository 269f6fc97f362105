"""A retriever for Haystack.

pipeline = Pipeline()
pipeline.add_component("retriever", HaystackRetriever(rifflux.open("notes.db"), top_k=5))
pipeline.run({"retriever": {"query": "how long do cache entries live"}})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rifflux import Index
from rifflux.integrations.passages import FoundHit, PassageSearch, missing

try:
    from haystack import Document, component
except ImportError as error:
    raise missing("haystack-ai") from error


@component
class HaystackRetriever:
    """Retrieves passages from an index; further arguments of `run` apply to that run only."""

    def __init__(
        self,
        index: Index,
        top_k: int = 10,
        mode: str = "hybrid",
        filters: Any = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Take an open index and arguments of `Index.search`; `filters` is its `filter`."""
        settled = {"top_k": top_k, "mode": mode, "filter": filters}
        self._search = PassageSearch(index, settled | dict(options or {}))

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, mode: str | None = None, filters: Any = None) -> dict[str, Any]:
        """Return `documents`, best first."""
        found = self._search(query, {"top_k": top_k, "mode": mode, "filter": filters})
        return {"documents": [_document(each) for each in found]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, mode: str | None = None, filters: Any = None
    ) -> dict[str, Any]:
        """Return the same without blocking the event loop."""
        found = await self._search.later(query, {"top_k": top_k, "mode": mode, "filter": filters})
        return {"documents": [_document(each) for each in found]}


def _document(passage: FoundHit) -> Document:
    hit, metadata = passage
    return Document(id=hit.id, content=hit.text, meta=metadata, score=hit.score)
