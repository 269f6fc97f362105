"""The bundled model: it is what it says it is, and agrees with the weights it was made from."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import rifflux
from rifflux.errors import ModelError
from rifflux.models import Embedder, load_embedder
from rifflux.models.onnx import BUNDLED, OnnxEmbedder
from rifflux.models.tokenizer import load_tokenizer
from rifflux.types import Vectors
from tests.support.exploring import examples

HERE = Path(__file__).parent
#: Both tokenizers have the same tables for characters that Unicode has always had, and never moved.
OLD = st.characters(exclude_categories=["Cs", "Cn"]).filter(
    lambda each: unicodedata.category(each) == unicodedata.ucd_3_2_0.category(each)
)
ODD = st.one_of(
    st.text(OLD, max_size=12),
    st.sampled_from(["[CLS]", "[MASK]", "[SEP", "]", " ", "\n", "\t", "\x0b", "\x1c", "\x85", "\u2028"]),
    st.sampled_from(["\u0301", "İ", "ß", "ﬁ", "文", "한", "😀", "\u200b", "\xa0", "\xad", "can't", "x" * 101]),
)
TEXTS: list[str] = json.loads((HERE / "minilm_texts.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder(threads=2)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(BUNDLED / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@pytest.fixture(scope="module")
def cutting() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(BUNDLED / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(16)
    return tokenizer


@pytest.fixture(scope="module")
def vectors(embedder: OnnxEmbedder) -> Vectors:
    return embedder.embed_documents(TEXTS)


class TestVectors:
    def test_agree_with_the_original_weights(self, vectors: Vectors) -> None:
        reference = np.load(HERE / "minilm_reference.npy")
        cosines = dict(zip(TEXTS, (vectors * reference).sum(1), strict=True))
        assert {text: cosine for text, cosine in cosines.items() if cosine < 0.985} == {}
        assert np.mean(list(cosines.values())) > 0.99

    def test_rank_alike_as_the_original_weights(self, vectors: Vectors) -> None:
        reference = np.load(HERE / "minilm_reference.npy")
        long = [position for position, text in enumerate(TEXTS) if len(text) > 30]
        likeness, expected = (found[long] @ found[long].T for found in (vectors, reference))
        np.testing.assert_allclose(likeness, expected, atol=0.06)

    def test_are_unit_vectors_in_the_order_of_the_texts(self, embedder: OnnxEmbedder, vectors: Vectors) -> None:
        assert vectors.shape == (len(TEXTS), 384)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        for position in (0, 3, 40, len(TEXTS) - 1):
            np.testing.assert_array_equal(embedder.embed_documents([TEXTS[position]])[0], vectors[position])

    def test_do_not_depend_on_neighbours_threads_or_role(self, vectors: Vectors) -> None:
        one_by_one = load_embedder(threads=1)
        again = np.stack([one_by_one.embed_query(text) for text in TEXTS])
        np.testing.assert_array_equal(again, vectors)

    def test_of_no_texts(self, embedder: OnnxEmbedder) -> None:
        assert embedder.embed_documents([]).shape == (0, 384)

    def test_bring_like_meanings_together(self, embedder: OnnxEmbedder) -> None:
        found = embedder.embed_documents(["How do I bake bread?", "A recipe for sourdough loaves", "Stock prices fell"])
        likeness = found @ found.T
        assert likeness[0, 1] > likeness[0, 2] + 0.2

    def test_ignore_what_is_past_the_last_token_taken_in(self, embedder: OnnxEmbedder) -> None:
        text = "apple pear plum " * 85  # 255 words; 254 fit between the special tokens
        np.testing.assert_array_equal(embedder.embed_query(text), embedder.embed_query(text + "granite"))
        assert not np.array_equal(embedder.embed_query("granite " + text), embedder.embed_query(text))

    @pytest.mark.parametrize(
        "text",
        ["\ud800", "half \udc00 a pair", "\x00\x01\x7f", "\ufffe\uffff", "a" * 5000, "\u202e", " \n\t"],
    )
    def test_of_odd_texts_are_still_unit_vectors(self, embedder: OnnxEmbedder, text: str) -> None:
        assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1, abs=1e-5)
        assert embedder.count_tokens(text) >= 0

    def test_join_surrogate_pairs(self, embedder: OnnxEmbedder) -> None:
        np.testing.assert_array_equal(embedder.embed_query("\ud83d\ude00 hi"), embedder.embed_query("😀 hi"))

    def test_are_the_same_when_many_threads_come_first_at_once(self, vectors: Vectors) -> None:
        fresh = load_embedder()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(fresh.embed_query, TEXTS[:16]))
        np.testing.assert_array_equal(np.stack(found), vectors[:16])


class TestTokenVectors:
    def test_leave_out_the_special_tokens(self, embedder: OnnxEmbedder) -> None:
        assert isinstance(embedder, OnnxEmbedder)
        empty, three = embedder.token_vectors(["", "red green blue"])
        assert empty.shape == (0, 384)
        assert three.shape == (3, 384)
        np.testing.assert_allclose(np.linalg.norm(three, axis=1), 1, atol=1e-5)


class TestFolder:
    def test_holds_what_its_digest_says(self) -> None:
        settings = json.loads((BUNDLED / "rifflux.json").read_text())
        content = (BUNDLED / "model.onnx").read_bytes() + (BUNDLED / "tokenizer.json").read_bytes()
        assert hashlib.sha256(content).hexdigest() == settings["digest"]
        assert OnnxEmbedder.load(BUNDLED).settings.compute_digest() == settings["digest"]

    @pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
    def test_files_that_were_changed_are_not_used(self, tmp_path: Path, file: str) -> None:
        folder = shutil.copytree(BUNDLED, tmp_path / "model")
        whole = OnnxEmbedder.load(folder).embed_query("herons")
        content = bytearray((folder / file).read_bytes())
        place = content.index(b'"river"') + 1 if file == "tokenizer.json" else len(content) // 2
        content[place : place + 3] = bytes(each ^ 1 for each in content[place : place + 3])
        (folder / file).write_bytes(content)
        with pytest.raises(ModelError, match="again") as told:
            OnnxEmbedder.load(folder).embed_query("herons")
        assert str(folder) not in str(told.value)
        assert str(folder) in told.value.cause
        shutil.copy(BUNDLED / file, folder / file)
        assert OnnxEmbedder.load(folder).embed_query("herons").tolist() == whole.tolist()

    def test_doctor_tells_a_model_that_was_changed(self, tmp_path: Path) -> None:
        folder = shutil.copytree(BUNDLED, tmp_path / "model")
        with rifflux.open(tmp_path / "index.db", model=str(folder)) as index:
            index.add(rifflux.Document("heron", "Herons stand in shallow water."))
            assert index.admin.check() == []
        with (folder / "model.onnx").open("r+b") as file:
            file.seek(-2000, 2)
            file.write(bytes(2000))
        with rifflux.open(tmp_path / "index.db", model=str(folder)) as index:
            (problem,) = index.admin.check()
        assert "the model of the vectors" in problem.what

    def test_carries_its_license(self) -> None:
        assert "Apache License" in (BUNDLED / "LICENSE").read_text()
        assert "quantised" in (BUNDLED / "NOTICE").read_text()

    def test_describes_itself(self, embedder: OnnxEmbedder) -> None:
        assert (embedder.name, embedder.backend) == ("all-MiniLM-L6-v2", "onnx")
        assert (embedder.dimension, embedder.max_tokens) == (384, 256)
        assert embedder.fingerprint == load_embedder("minilm").fingerprint
        assert len(bytes.fromhex(embedder.fingerprint)) == 16


def test_nothing_heavy_loads_before_the_first_text() -> None:
    script = """
import sys
from rifflux.models import load_embedder
embedder = load_embedder()
print(embedder.name, embedder.dimension, embedder.fingerprint)
assert not {"onnxruntime", "tokenizers", "httpx2"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_embedding_reports_nothing_and_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    script = "from rifflux.models import load_embedder; load_embedder().embed_documents(['a heron'])"
    silenced = ("ORT_", "CI", "GITHUB_", "XDG_")  # the runtime reports nothing from where tests run
    environment = {name: value for name, value in os.environ.items() if not name.startswith(silenced)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment | {"HOME": str(tmp_path)})
    assert list(tmp_path.rglob("*")) == []


class TestCanonicalTexts:
    @examples(300)
    @given(st.lists(st.text("aBc \n\t", max_size=8) | st.sampled_from(["[CLS]", "É", "\x0b", "\x85", ".", "\r\n"])))
    def test_have_the_same_tokens(self, embedder: OnnxEmbedder, tokenizer: Tokenizer, parts: list[str]) -> None:
        text = "".join(parts)
        assert tokenizer.encode(embedder.canonical(text)).ids == tokenizer.encode(text).ids

    def test_are_one_for_what_the_model_cannot_tell_apart(self, embedder: OnnxEmbedder) -> None:
        assert embedder.canonical("The  Heron\nstands. ") == embedder.canonical("the heron stands.")
        assert embedder.canonical("The heron stands.") != embedder.canonical("The heron stands")


class TestCounts:
    @pytest.mark.parametrize("text", TEXTS)
    def test_are_those_of_the_tokenizer(self, embedder: OnnxEmbedder, tokenizer: Tokenizer, text: str) -> None:
        assert embedder.count_tokens(text) == len(tokenizer.encode(text, add_special_tokens=False))

    def test_are_those_of_the_tokenizer_on_whole_files(self, embedder: OnnxEmbedder, tokenizer: Tokenizer) -> None:
        for path in sorted((HERE.parent.parent / "src").rglob("*.py"))[::4]:
            text = path.read_text("utf-8")
            assert embedder.count_tokens(text) == len(tokenizer.encode(text, add_special_tokens=False))

    @examples(200)
    @given(st.lists(ODD, max_size=12).map("".join))
    def test_are_those_of_the_tokenizer_whatever_the_text(
        self, embedder: OnnxEmbedder, tokenizer: Tokenizer, text: str
    ) -> None:
        assert embedder.count_tokens(text) == len(tokenizer.encode(text, add_special_tokens=False))


class TestTokens:
    """Ours are those of the `tokenizers` package."""

    @pytest.mark.slow
    @examples(200)
    @given(st.lists(ODD, max_size=12).map("".join), st.none() | st.lists(ODD, max_size=12).map(" ".join))
    def test_of_any_text_or_pair(self, cutting: Any, text: str, pair: str | None) -> None:
        found = load_tokenizer(BUNDLED / "tokenizer.json", 16).encode(text, pair)
        expected = cutting.encode(text, pair)
        assert found.ids == expected.ids
        assert found.type_ids == expected.type_ids
        assert found.special_tokens_mask == expected.special_tokens_mask

    @pytest.mark.parametrize("lengths", [(3, 9), (9, 3), (20, 30), (30, 20), (20, 20), (1, 40), (40, 1), (0, 40)])
    def test_of_pairs_that_are_too_long(self, cutting: Any, lengths: tuple[int, int]) -> None:
        text, pair = ("heron " * length for length in lengths)
        found = load_tokenizer(BUNDLED / "tokenizer.json", 16).encode(text, pair)
        assert (found.ids, found.type_ids) == (cutting.encode(text, pair).ids, cutting.encode(text, pair).type_ids)
