"""A retriever for LlamaIndex.

retriever = LlamaIndexRetriever(rifflux.open("notes.db"), top_k=5)
retriever.retrieve("how long do cache entries live")
await retriever.aretrieve("how long do cache entries live")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rifflux.integrations.passages import SHOWN, FoundHit, PassageSearch, missing

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise missing("llama-index-core") from error

if TYPE_CHECKING:
    from rifflux import Filter, Index


class LlamaIndexRetriever(BaseRetriever):
    """Retrieves passages from an index, as nodes with scores."""

    def __init__(
        self,
        index: Index,
        *,
        top_k: int = 10,
        mode: str = "hybrid",
        filter: Filter | Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Take an open index, arguments of `Index.search`, and `more` for LlamaIndex."""
        super().__init__(**more)
        settled = {"top_k": top_k, "mode": mode, "filter": filter}
        self._search = PassageSearch(index, settled | dict(options or {}))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(each) for each in self._search(query_bundle.query_str, {})]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(each) for each in await self._search.later(query_bundle.query_str, {})]


def _node(passage: FoundHit) -> NodeWithScore:
    hit, metadata = passage
    # A model uses the source of a passage; ids, times and scores would only take up its prompt.
    unread = [name for name in metadata if name not in SHOWN or metadata[name] in (None, "")]
    node = TextNode(
        id_=hit.id,
        text=hit.text,
        metadata=metadata,
        excluded_llm_metadata_keys=unread,
        excluded_embed_metadata_keys=[*metadata],
    )
    return NodeWithScore(node=node, score=hit.score)
