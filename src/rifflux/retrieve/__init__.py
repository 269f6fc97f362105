"""Retrieval: parse the query, gather and fuse candidates, rerank them, and explain the best."""
