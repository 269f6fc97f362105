"""A retriever for LangChain.

retriever = LangChainRetriever(index=rifflux.open("notes.db"), top_k=5)
retriever.invoke("how long do cache entries live")
await retriever.ainvoke("how long do cache entries live", filter={"paths": "docs/**"})
"""

from __future__ import annotations

from typing import Any

from rifflux import Index
from rifflux.integrations.passages import FoundHit, PassageSearch, missing

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field
except ImportError as error:
    raise missing("langchain-core") from error


class LangChainRetriever(BaseRetriever):
    """Retrieves passages from an index; further arguments of `invoke` apply to that search only."""

    index: Index
    top_k: int = 10
    mode: str = "hybrid"
    filter: Any = None
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def _search(self) -> PassageSearch:
        settled = {"top_k": self.top_k, "mode": self.mode, "filter": self.filter}
        return PassageSearch(self.index, settled | self.options)

    def _get_relevant_documents(self, query: str, *, run_manager: Any = None, **changes: Any) -> list[Document]:
        return [_document(each) for each in self._search(query, changes)]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any = None, **changes: Any) -> list[Document]:
        return [_document(each) for each in await self._search.later(query, changes)]


def _document(passage: FoundHit) -> Document:
    hit, metadata = passage
    return Document(id=hit.id, page_content=hit.text, metadata=metadata)
