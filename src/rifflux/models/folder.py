"""The settings in a model folder: `rifflux.json`, or else the files of sentence-transformers.

`rifflux.json` may set `name`, `dimension`, `max_tokens`, `pooling` (mean, cls, max or last), `query_prefix`,
`document_prefix`, `optimised` (the graph runs without further optimization) and `digest` (of the model and tokenizer,
which saves reading them in advance and is verified on loading). Missing settings come from `1_Pooling/config.json`,
`sentence_bert_config.json` and `config_sentence_transformers.json`, and then from the defaults of `ModelSettings`.
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
EXPECTED = "a model folder contains model.onnx (or onnx/model.onnx) and tokenizer.json"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of a model folder. `dimension` and `digest` are None if only the model itself determines them."""

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
        """Read the model and tokenizer, and raise `ModelError` unless they have the recorded digest."""
        if self.digest is None:
            return
        found = self.compute_digest()
        if found != self.digest:
            raise ModelError(
                f"the files of the model {self.name} do not match the digest in its rifflux.json: install or copy it "
                "again; after an intended change, remove the digest from rifflux.json",
                cause=f"{self.model.parent} has the SHA-256 {found}, not {self.digest} as in its rifflux.json",
            )

    def compute_digest(self) -> str:
        """Return the SHA-256 of the model, including any external data, and the tokenizer."""
        digest = hashlib.sha256()
        for path in [*sorted(self.model.parent.glob(f"{self.model.name}*")), self.tokenizer]:
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()


def model_error(path: Path, problem: str, error: Exception | None = None) -> ModelError:
    """Return the error of a model's folder or of a file in it.

    The full path and a library's message are only logged.
    """
    name = f"{path.parent.name}/{path.name}" if path.suffix else path.name
    detail = f" ({error!r})" if error else ""
    return ModelError(f"{name} {problem}", cause=f"{path} {problem}{detail}")


def read_folder(folder: Path) -> ModelSettings:
    """Read the settings of the model in `folder`, without loading the model.

    Raises `ModelError` if files are missing or invalid.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise model_error(folder, f"is not a folder: {EXPECTED}")
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
    """Read the object in a JSON file; empty if there is no file. Raises `ModelError`."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise model_error(path, "is not valid JSON: repair it or fetch the model again", error) from error
    if not isinstance(content, dict):
        raise model_error(path, "should contain a JSON object: repair it or fetch the model again")
    return content


def _check_keys(folder: Path, own: Mapping[str, object]) -> None:
    path = folder / "rifflux.json"
    allowed = {field.name for field in fields(ModelSettings)} - {"model", "tokenizer"}
    if unknown := sorted(own.keys() - allowed):
        raise model_error(path, f"has unknown settings {', '.join(unknown)}; known: {', '.join(sorted(allowed))}")
    if own.get("pooling", "mean") not in POOLINGS.values():
        raise model_error(path, f"has unknown pooling {own['pooling']!r}; known: {', '.join(POOLINGS.values())}")


def _sentence_transformers(folder: Path) -> dict[str, Any]:
    """Return the settings in the files of sentence-transformers."""
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
    """Return the pooling mode enabled in `1_Pooling/config.json`, or None without such a file. Raises `ModelError`."""
    if not config:
        return None
    chosen = [name for key, name in POOLINGS.items() if config.get(key)]
    if len(chosen) != 1:
        raise model_error(
            folder,
            f"uses unsupported pooling; known: {', '.join(POOLINGS.values())}. "
            "Export the model with its pooling inside and remove 1_Pooling",
        )
    return chosen[0]
