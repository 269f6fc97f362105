"""Models fetched by name into the user's cache folder. Searches never download anything."""

from __future__ import annotations

import os
import re
import shutil
from importlib import import_module
from pathlib import Path

from rifflux.errors import Cure, InvalidArgument, MissingExtra, ModelError
from rifflux.models.folder import read_folder

_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
#: The files needed to run a model; nothing else of its repository is fetched.
_FILES = (
    *("model.onnx", "model.onnx_data", "onnx/model.onnx", "onnx/model.onnx_data"),
    *("tokenizer.json", "config.json", "1_Pooling/config.json"),
    *("sentence_bert_config.json", "config_sentence_transformers.json"),
)


def fetched(name: str) -> Path:
    """Return the folder for a fetched model of this name, existing or not. Raises `InvalidArgument`."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise InvalidArgument(f"{name!r} is not the name of a model: write it as OWNER/NAME")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return cache / "rifflux" / "models" / name.replace("/", "--")


def fetch_model(name: str, *, force: bool = False) -> Path:
    """Fetch a model by its name on the Hugging Face Hub, such as `cross-encoder/ms-marco-MiniLM-L6-v2`.

    Returns its folder; an existing one is used unless `force`. Raises `ModelError` for a model that cannot be
    downloaded or has no ONNX file, and `MissingExtra`.
    """
    folder = fetched(name)
    if folder.is_dir() and not force:
        return folder
    try:
        download = import_module("huggingface_hub").snapshot_download
    except ImportError:
        raise MissingExtra(
            "fetching models needs huggingface-hub (or name a folder with model.onnx and tokenizer.json)",
            cure=Cure.INSTALL,
            package="rifflux[fetch]",
        ) from None
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        download(repo_id=name, local_dir=part, allow_patterns=[*_FILES])
        read_folder(part)
        shutil.rmtree(part / ".cache", ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    except ModelError as error:
        raise ModelError(f"{name} cannot be used: {error}") from None
    except Exception as error:  # any error of the network or the package
        raise ModelError(
            f"{name} could not be fetched ({error}): check its name and the network, or copy a folder with model.onnx "
            "and tokenizer.json here and name that"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder
