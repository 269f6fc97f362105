"""The engine of an index on an OpenSearch cluster: rows, candidates and facts are the cluster's, scores are ours."""

from rifflux.store.opensearch.store import OpenSearchStore, SecureOpenSearchStore

__all__ = ["OpenSearchStore", "SecureOpenSearchStore"]
