"""Cross-encoders from a folder: a tiny one whose score is the sum of the words' weights, counted twice in passages."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers.processors import TemplateProcessing

from rifflux.errors import InvalidArgument, MissingExtra, ModelError
from rifflux.models.cross_encoder import OnnxCrossEncoder, load_cross_encoder
from rifflux.models.fetched import fetch_model
from tests.support.tiny_model import WORDS, tiny_tokenizer

#: What each word of the tiny model adds to the logit.
VALUES = {"red": 1.0, "blue": -2.0}


def make_cross_encoder(
    folder: Path, *, outputs: int = 1, inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids")
) -> Any:
    """Write model.onnx and tokenizer.json: logit = Σ value(word) · (1 + segment)."""
    folder.mkdir(parents=True, exist_ok=True)
    table = np.array([VALUES.get(word, 0.0) for word in WORDS], np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["values"]),
        helper.make_node("Cast", ["token_type_ids"], ["segments"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["segments", "one"], ["factors"]),
        helper.make_node("Mul", ["values", "factors"], ["products"]),
        helper.make_node("ReduceSum", ["products", "axis"], ["sum"], keepdims=1),
        helper.make_node("Concat", ["sum"] * outputs, ["logits"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "cross",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array(1, np.float32), "one"),
            numpy_helper.from_array(np.array([1], np.int64), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    tokenizer = tiny_tokenizer()
    tokenizer.post_processor = TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_question_and_passage_are_read_together(tmp_path: Path) -> None:
    model = load_cross_encoder(str(make_cross_encoder(tmp_path / "tiny")))
    assert model.name == "tiny"
    assert model("red", ["red", "blue red red", "", "what \ud800"]).tolist() == [3.0, 1.0, 1.0, 1.0]


def test_no_passages(tmp_path: Path) -> None:
    assert load_cross_encoder(str(make_cross_encoder(tmp_path)))("red", []).shape == (0,)


def test_long_pairs_are_cut(tmp_path: Path) -> None:
    loaded = load_cross_encoder(str(make_cross_encoder(tmp_path)))
    assert isinstance(loaded, OnnxCrossEncoder)
    model = OnnxCrossEncoder(loaded.settings, max_tokens=8)
    assert model("blue", ["red " * 50]).tolist() == [4 * 2 - 2]


def test_one_thread_gives_the_same(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path)
    passages = ["red " * count for count in range(7)]
    one, more = (OnnxCrossEncoder.load(folder, threads=threads)("blue", passages) for threads in (1, 3))
    assert one.tolist() == more.tolist()


def test_time_is_looked_at(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="did not finish in time"):
        load_cross_encoder(str(make_cross_encoder(tmp_path)))("red", ["red"], time.perf_counter() - 1)


def test_a_model_with_other_outputs(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="outputs 2 numbers"):
        load_cross_encoder(str(make_cross_encoder(tmp_path, outputs=2)))("red", ["red"])


def test_a_model_with_other_inputs(tmp_path: Path) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids", "pixels")
    with pytest.raises(ModelError, match="not a cross-encoder"):
        load_cross_encoder(str(make_cross_encoder(tmp_path, inputs=inputs)))("red", ["red"])


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no model"):
        load_cross_encoder(str(tmp_path))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the user's own, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rifflux" / "models"


@pytest.mark.parametrize("name", ["owner/tiny", "tiny"])
def test_a_name_that_was_not_fetched_tells_how_to(cache: Path, name: str) -> None:
    with pytest.raises(ModelError, match=f"run 'rifflux models fetch {name}'"):
        load_cross_encoder(name)
    assert not cache.exists()


@pytest.mark.parametrize("path", ["/nonexistent", "./none", "~/none"])
def test_a_path_that_is_no_folder(cache: Path, path: str) -> None:
    with pytest.raises(ModelError, match="name a folder with"):
        load_cross_encoder(path)


def hub(monkeypatch: pytest.MonkeyPatch, download: Any) -> None:
    package = ModuleType("huggingface_hub")
    setattr(package, "snapshot_download", download)  # noqa: B010
    monkeypatch.setitem(sys.modules, "huggingface_hub", package)


def test_a_model_is_fetched_once_and_then_found_by_its_name(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def download(repo_id: str, local_dir: Path, allow_patterns: Sequence[str]) -> None:
        asked.append(repo_id)
        assert {"onnx/model.onnx", "tokenizer.json"} <= {*allow_patterns}
        make_cross_encoder(local_dir)
        (local_dir / ".cache").mkdir()

    hub(monkeypatch, download)
    folder = fetch_model("owner/tiny")
    assert (folder, sorted(each.name for each in folder.iterdir())) == (
        cache / "owner--tiny",
        ["model.onnx", "tokenizer.json"],
    )
    assert fetch_model("owner/tiny") == folder
    assert asked == ["owner/tiny"]
    assert fetch_model("owner/tiny", force=True) == folder
    assert len(asked) == 2
    assert load_cross_encoder("owner/tiny")("red", ["red"]).tolist() == [3.0]


def test_a_model_that_cannot_be_had_or_run_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**asked: object) -> None:
        raise OSError("no network")

    hub(monkeypatch, fail)
    with pytest.raises(ModelError, match=r"no network.*check its name and the network"):
        fetch_model("owner/tiny")
    hub(monkeypatch, lambda local_dir, **asked: local_dir.mkdir(parents=True))
    with pytest.raises(ModelError, match=r"owner/tiny cannot be used: .* no model\.onnx"):
        fetch_model("owner/tiny")
    assert not any(cache.iterdir())


@pytest.mark.parametrize("name", ["../tiny", "a/../b", "a/b/c", "", "/tiny", "a b"])
def test_what_is_no_name_is_not_fetched(cache: Path, name: str) -> None:
    with pytest.raises(InvalidArgument, match="OWNER/NAME"):
        fetch_model(name)


def test_fetching_needs_its_extra(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rifflux\[fetch\]'"):
        fetch_model("owner/tiny")
