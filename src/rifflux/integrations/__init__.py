"""Retrievers for other frameworks, each of which is imported only by its own module.

    from rifflux.integrations.langchain import LangChainRetriever
    from rifflux.integrations.llama_index import LlamaIndexRetriever
    from rifflux.integrations.haystack import HaystackRetriever

Each takes an open index, or a user's view of one (`index.scoped(Scope("ann"))`), with `top_k`, `mode`, `filter` and
further `options` of `Index.search`. The metadata of a passage has the keys of a hit in JSON, plus `degraded`.
"""
