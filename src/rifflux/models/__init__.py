"""Embedders, which turn texts into vectors: the bundled model, a local ONNX folder or an HTTP endpoint.

    load_embedder()                              the bundled all-MiniLM-L6-v2
    load_embedder("path/to/folder")              model.onnx and tokenizer.json of your own
    load_embedder("openai:MODEL", api_key=…)     an OpenAI-compatible `/embeddings` endpoint
    load_embedder("hash:128")                    no model, for tests and demonstrations

Neither importing this package nor creating an embedder loads a model; the first text does.
"""

from rifflux.models.embedder import Embedder
from rifflux.models.loading import load_embedder

__all__ = ["Embedder", "load_embedder"]
