"""Embedders from folders: where settings come from, how vectors are pooled, what broken folders are told."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from rifflux.errors import MissingExtra, ModelError
from rifflux.models import load_embedder
from rifflux.models.onnx import OnnxEmbedder
from rifflux.types import Vectors
from tests.support.tiny_model import make_folder


def unit(*numbers: float) -> np.ndarray:
    return np.array(numbers) / np.linalg.norm(numbers)


def write(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("mean", unit(1, 3, 5, 2)),
        ("max", unit(1, 3, 5, 2)),
        ("cls", unit(1, 0, 0, 0)),
        ("last", unit(0, 0, 0, 1)),
    ],
)
def test_pooling(tmp_path: Path, pooling: str, expected: Vectors) -> None:
    embedder = load_embedder(str(make_folder(tmp_path, pooling=pooling)))
    np.testing.assert_allclose(embedder.embed_query("red blue"), expected, atol=1e-6)
    np.testing.assert_allclose(embedder.embed_documents(["red", "red blue"])[1], expected, atol=1e-6)


def test_mean_and_max_differ_where_a_word_comes_twice(tmp_path: Path) -> None:
    mean = load_embedder(str(make_folder(tmp_path / "mean", pooling="mean")))
    np.testing.assert_allclose(mean.embed_query("red red blue"), unit(1, 6, 5, 2), atol=1e-6)
    top = load_embedder(str(make_folder(tmp_path / "max", pooling="max")))
    np.testing.assert_allclose(top.embed_query("red red blue"), unit(1, 3, 5, 2), atol=1e-6)


def test_a_pooled_output_is_taken_as_it_is(tmp_path: Path) -> None:
    embedder = load_embedder(str(make_folder(tmp_path, pooled="sentence_embedding", pooling="cls")))
    np.testing.assert_allclose(embedder.embed_query("red red"), unit(1, 3, 0, 2), atol=1e-6)


def test_inputs_may_be_32_bit_integers(tmp_path: Path) -> None:
    embedder = load_embedder(str(make_folder(tmp_path, integers=TensorProto.INT32)))
    np.testing.assert_allclose(embedder.embed_query("red"), unit(1, 3, 0, 2), atol=1e-6)


def test_an_output_beside_the_vectors_of_tokens_is_no_vector_of_the_text_unless_its_name_says_so(
    tmp_path: Path,
) -> None:
    embedder = load_embedder(str(make_folder(tmp_path, pooled="pooler_output")))
    np.testing.assert_allclose(embedder.embed_query("red red blue"), unit(1, 6, 5, 2), atol=1e-6)


def test_prefixes_go_before_queries_and_documents(tmp_path: Path) -> None:
    embedder = load_embedder(str(make_folder(tmp_path, query_prefix="query: ")))
    np.testing.assert_allclose(embedder.embed_query("red"), unit(1, 3, 0, 11), atol=1e-6)
    np.testing.assert_allclose(embedder.embed_documents(["red"])[0], unit(1, 3, 0, 2), atol=1e-6)
    assert embedder.count_tokens("red blue") == 2


def test_the_files_of_sentence_transformers_are_read(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "some-model")
    write(folder / "1_Pooling/config.json", {"word_embedding_dimension": 4, "pooling_mode_cls_token": True})
    write(folder / "sentence_bert_config.json", {"max_seq_length": 3})
    write(folder / "config_sentence_transformers.json", {"prompts": {"query": "query: ", "passage": "red "}})
    settings = OnnxEmbedder.load(folder).settings
    assert (settings.name, settings.dimension, settings.max_tokens) == ("some-model", 4, 3)
    assert (settings.pooling, settings.query_prefix, settings.document_prefix) == ("cls", "query: ", "red ")


def test_our_own_settings_come_first(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, name="Tiny", max_tokens=7, document_prefix="")
    write(folder / "sentence_bert_config.json", {"max_seq_length": 3})
    write(folder / "config_sentence_transformers.json", {"prompts": {"document": "red "}})
    embedder = OnnxEmbedder.load(folder)
    assert (embedder.name, embedder.max_tokens, embedder.settings.document_prefix) == ("Tiny", 7, "")


def test_texts_are_cut_at_max_tokens(tmp_path: Path) -> None:
    embedder = load_embedder(str(make_folder(tmp_path, max_tokens=3)))
    np.testing.assert_allclose(embedder.embed_query("red blue blue"), unit(1, 3, 0, 2), atol=1e-6)
    assert embedder.count_tokens("red blue blue") == 3


def test_the_dimension_is_learnt_from_the_graph(tmp_path: Path) -> None:
    assert load_embedder(str(make_folder(tmp_path))).dimension == 4


def test_the_model_may_lie_deeper_or_have_another_name(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "a")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx/model.onnx")
    assert load_embedder(str(folder)).embed_query("red").shape == (4,)
    other = make_folder(tmp_path / "b")
    (other / "model.onnx").rename(other / "tiny_quantized.onnx")
    assert load_embedder(str(other)).embed_query("red").shape == (4,)


def test_token_vectors(tmp_path: Path) -> None:
    embedder = OnnxEmbedder.load(make_folder(tmp_path))
    found = embedder.token_vectors(["red", "", "blue red"])
    assert [vectors.shape for vectors in found] == [(1, 4), (0, 4), (2, 4)]
    np.testing.assert_allclose(found[2], [unit(0, 0, 1, 0), unit(0, 1, 0, 0)], atol=1e-6)


def test_the_fingerprint_tells_models_apart(tmp_path: Path) -> None:
    def fingerprint(folder: str, **settings: Any) -> str:
        return load_embedder(str(make_folder(tmp_path / folder, **settings))).fingerprint

    plain = fingerprint("a")
    others = [
        fingerprint("b", pooling="cls"),
        fingerprint("c", query_prefix="query: "),
        fingerprint("d", document_prefix="query: "),
        fingerprint("e", max_tokens=9),
        fingerprint("f", pooled="sentence_embedding"),
    ]
    assert len({plain, *others}) == 6
    assert fingerprint("g", name="another name, same vectors") == plain


class TestBrokenFolders:
    def test_without_a_model(self, tmp_path: Path) -> None:
        folder = make_folder(tmp_path)
        (folder / "model.onnx").unlink()
        with pytest.raises(ModelError, match=r"no model\.onnx.*tokenizer\.json"):
            load_embedder(str(folder))

    def test_with_several_models(self, tmp_path: Path) -> None:
        folder = make_folder(tmp_path)
        (folder / "model.onnx").rename(folder / "a.onnx")
        shutil.copy(folder / "a.onnx", folder / "b.onnx")
        with pytest.raises(ModelError, match="several"):
            load_embedder(str(folder))

    def test_without_a_tokenizer(self, tmp_path: Path) -> None:
        folder = make_folder(tmp_path)
        (folder / "tokenizer.json").unlink()
        with pytest.raises(ModelError, match=r"no tokenizer\.json"):
            load_embedder(str(folder))

    def test_with_a_tokenizer_that_needs_its_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        embedder = load_embedder(str(make_folder(tmp_path)))
        monkeypatch.setitem(sys.modules, "tokenizers", None)
        with pytest.raises(MissingExtra, match=r"not a WordPiece tokenizer\npip install 'rifflux\[tokenizers\]'"):
            embedder.embed_query("red")

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
    def test_with_a_damaged_file(self, tmp_path: Path, name: str) -> None:
        folder = make_folder(tmp_path)
        (folder / name).write_bytes(b"not what it should be")
        with pytest.raises(ModelError, match="again"):
            load_embedder(str(folder)).embed_query("red")

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("{", "valid JSON"),
            ("[]", "JSON object"),
            ('{"poling": "cls"}', "poling"),
            ('{"pooling": "x"}', "mean"),
        ],
    )
    def test_with_wrong_settings(self, tmp_path: Path, content: str, complaint: str) -> None:
        folder = make_folder(tmp_path)
        (folder / "rifflux.json").write_text(content)
        with pytest.raises(ModelError, match=complaint):
            load_embedder(str(folder))

    def test_with_a_way_of_pooling_we_do_not_have(self, tmp_path: Path) -> None:
        folder = make_folder(tmp_path)
        write(folder / "1_Pooling/config.json", {"pooling_mode_weightedmean_tokens": True})
        with pytest.raises(ModelError, match="mean, cls, max, last"):
            load_embedder(str(folder))

    def test_with_a_wrong_dimension(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"4 numbers.*384"):
            load_embedder(str(make_folder(tmp_path, dimension=384))).embed_query("red")

    def test_with_a_graph_that_fails(self, tmp_path: Path) -> None:
        folder = make_folder(tmp_path)
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["model"]["vocab"]["red"] = 77  # past the end of the graph's table
        write(folder / "tokenizer.json", tokenizer)
        with pytest.raises(ModelError, match="3 tokens"):
            load_embedder(str(folder)).embed_query("red")
