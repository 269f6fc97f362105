"""What a model folder says about its model: `rifflux.json`, else the files of sentence-transformers.

`rifflux.json` may set `name`, `dimension`, `max_tokens`, `pooling` (mean, cls, max or last),
`query_prefix`, `document_prefix`, `optimised` (the graph is run as it stands) and `digest` (of the model
and tokenizer, which saves reading them before they are used, and is checked when they are). What it leaves
out comes from `1_Pooling/config.json`, `sentence_bert_config.json` and
`config_sentence_transformers.json`, and what they leave out too from the defaults of `ModelSettings`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rifflux.errors import ModelError

POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}
EXPECTED = "a model folder holds model.onnx (or onnx/model.onnx) and tokenizer.json"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How to use a model folder. `dimension` and `digest` are None where only the model itself can tell."""

    model: Path
    tokenizer: Path
    name: str
    dimension: int | None = None
    max_tokens: int = 256
    pooling: str = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    optimised: bool = False
    digest: str | None = None

    def verify(self) -> None:
        """Read the model and its tokenizer, and raise `ModelError` unless they have the digest that is recorded."""
        if self.digest is None:
            return
        found = self.compute_digest()
        if found != self.digest:
            raise ModelError(
                f"the files of the model {self.name} are not those that its rifflux.json records: install or copy it "
                "again; after a change that is meant, remove the digest from rifflux.json",
                cause=f"{self.model.parent} has the SHA-256 {found}, and its rifflux.json says {self.digest}",
            )

    def compute_digest(self) -> str:
        """Return the SHA-256 of the model, with its external data if it has any, and the tokenizer."""
        digest = hashlib.sha256()
        for path in [*sorted(self.model.parent.glob(f"{self.model.name}*")), self.tokenizer]:
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()


def model_error(path: Path, problem: str, error: Exception | None = None) -> ModelError:
    """Return the error of a model's folder or of a file in it.

    Where the folder lies, and what a library said, are for the log alone.
    """
    name = f"{path.parent.name}/{path.name}" if path.suffix else path.name
    said = f" ({error!r})" if error else ""
    return ModelError(f"{name} {problem}", cause=f"{path} {problem}{said}")


def read_folder(folder: Path) -> ModelSettings:
    """Read the settings of the model in `folder`, without loading the model.

    Raises `ModelError` where files are missing or can't be understood.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise model_error(folder, f"is no folder: {EXPECTED}")
    model = _find_model(folder)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise model_error(folder, f"has no tokenizer.json: export the model with its fast tokenizer; {EXPECTED}")
    own = _read_json(folder / "rifflux.json")
    _check_keys(folder, own)
    defaults: dict[str, Any] = {"name": folder.name}
    return ModelSettings(model, tokenizer, **(defaults | _sentence_transformers(folder) | own))


def _find_model(folder: Path) -> Path:
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path.is_file():
            return path
    found = sorted(folder.glob("*.onnx"))
    if len(found) == 1:
        return found[0]
    if found:
        problem = "several .onnx files and none called model.onnx"
    else:
        problem = "no model.onnx"
    raise model_error(folder, f"has {problem}: {EXPECTED}")


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty where there is no file."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise model_error(path, "is not valid JSON: repair it or fetch the model again", error) from error
    if not isinstance(content, dict):
        raise model_error(path, "should hold a JSON object: repair it or fetch the model again")
    return content


def _check_keys(folder: Path, own: Mapping[str, object]) -> None:
    path = folder / "rifflux.json"
    allowed = {field.name for field in fields(ModelSettings)} - {"model", "tokenizer"}
    if unknown := sorted(own.keys() - allowed):
        raise model_error(path, f"has unknown settings {', '.join(unknown)}; known: {', '.join(sorted(allowed))}")
    if own.get("pooling", "mean") not in POOLINGS.values():
        raise model_error(path, f"asks for pooling {own['pooling']!r}; known: {', '.join(POOLINGS.values())}")


def _sentence_transformers(folder: Path) -> dict[str, Any]:
    """Return the settings that the files of sentence-transformers give."""
    pooling = _read_json(folder / "1_Pooling" / "config.json")
    prompts = _read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    found = {
        "dimension": pooling.get("word_embedding_dimension"),
        "max_tokens": _read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
        "pooling": _pooling(folder, pooling),
        "query_prefix": prompts.get("query"),
        "document_prefix": prompts.get("document", prompts.get("passage")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _pooling(folder: Path, config: Mapping[str, object]) -> str | None:
    """Return the one way of pooling that a `1_Pooling/config.json` turns on; None without such a file."""
    if not config:
        return None
    chosen = [name for key, name in POOLINGS.items() if config.get(key)]
    if len(chosen) != 1:
        raise model_error(
            folder,
            f"pools in a way that is not supported; known: {', '.join(POOLINGS.values())}. "
            "Export the model with its pooling inside and remove 1_Pooling",
        )
    return chosen[0]
