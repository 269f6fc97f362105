"""The mapping of an index: which fields of its rows the cluster searches, and how.

All rows are in one index, each with its owner, by whom it is routed, and its `type`. Fields that are not listed here
are stored and returned, and not searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Grows with every change of the mapping or of the rows' fields.
SCHEMA_VERSION = 3

_KEYWORD = {"type": "keyword"}
_LONG = {"type": "long"}
_TERMS = {"type": "text", "analyzer": "terms", "norms": False}
# A term's contribution to our BM25 without its idf, which the query supplies, so that the cluster names the candidates
# that we score highest. Its lengths are rounded, and its mean is that of all owners: the scores are computed anew.
_SATURATION = (
    "double mean = Math.max(1.0, field.sumTotalTermFreq / (double) Math.max(1, field.docCount));"
    "return query.boost * doc.freq * 2.2 / (doc.freq + 1.2 * (0.25 + 0.75 * doc.length / mean));"
)

_PROPERTIES: Mapping[str, Any] = {
    **dict.fromkeys(("owner", "type", "row"), _KEYWORD),
    # Documents, and the chunks of each, with the batches that wrote and replaced them.
    "batch": _LONG,
    "replaced": _LONG,
    **dict.fromkeys(("namespace", "key", "path", "folder", "kind", "language", "names", "file", "root"), _KEYWORD),
    **dict.fromkeys(("facet", "field", "number_of", "tag", "identifier", "link", "credit", "value"), _KEYWORD),
    "time": {"type": "double"},
    "order": {"type": "double"},
    "added": _LONG,
    "first": _LONG,
    "is_work": {"type": "boolean"},
    "document": _KEYWORD,
    "uid": _LONG,
    "position": {"type": "integer"},
    "hash": _LONG,
    "length": {"type": "integer"},
    **dict.fromkeys(("title", "headings", "body"), _TERMS),
    "all": {"type": "text", "analyzer": "terms", "similarity": "saturation", "index_options": "freqs"},
    "vocabulary": _KEYWORD,
    "packed": {"type": "binary", "doc_values": True},
    "embedded": _KEYWORD,
    # Records.
    "user": _KEYWORD,
    "name": _KEYWORD,
    "cost": {"type": "double"},
}


def index_body(shards: int, replicas: int, spread: int = 1) -> dict[str, Any]:
    """Return the settings and the mapping of a new index, where each owner's rows are in `spread` of the shards."""
    return {
        "settings": {
            "index": {
                "number_of_shards": shards,
                "routing_partition_size": spread,
                "number_of_replicas": replicas,
                "auto_expand_replicas": f"0-{replicas}",
                "refresh_interval": "1s",
                "knn": True,
                "similarity": {"saturation": {"type": "scripted", "script": {"source": _SATURATION}}},
                "analysis": {
                    "tokenizer": {"spaces": {"type": "whitespace", "max_token_length": 8192}},
                    "analyzer": {"terms": {"type": "custom", "tokenizer": "spaces"}},
                },
            }
        },
        "mappings": {
            "dynamic": False,
            "_meta": {"rifflux": {"schema": SCHEMA_VERSION, "spread": spread}},
            "_routing": {"required": True},
            "properties": dict(_PROPERTIES),
        },
    }


def vector_property(dimension: int) -> dict[str, Any]:
    """Return the mapping of a model's vectors: an HNSW graph of Lucene, by inner product of vectors of length 1."""
    parameters = {"m": 16, "ef_construction": 128}
    method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct", "parameters": parameters}
    return {"type": "knn_vector", "dimension": dimension, "method": method}
