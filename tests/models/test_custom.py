"""Models that a program brings along: what is enough for one, and what each wrong one is told."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rifflux
from rifflux import CustomEmbedder, Document, ModelError
from rifflux.models.hashing import HashEmbedder

HASH = HashEmbedder(64)
TEXTS = (Document("heron", "A heron stands in the river."), Document("egret", "An egret flies over the lake."))


class Simple:
    """The least that a program must bring."""

    name = "mine"
    dimension = 64

    def embed(self, texts: list[str]) -> Any:
        return (HASH.embed_documents(texts) * 3).tolist()


class TestEnough:
    def test_a_name_a_dimension_and_embed(self, tmp_path: Path) -> None:
        with rifflux.open(tmp_path / "index.db", model=Simple()) as index:
            report = index.add(*TEXTS)
            assert (report.embedded_chunks, report.embedding_model, report.embedding_backend) == (2, "mine", "custom")
            found = index.search("heron river")
            assert (found[0].key, found.trace.effective_mode, found.trace.degraded) == ("heron", "hybrid", ())

    def test_it_answers_as_the_model_behind_it_does(self, tmp_path: Path) -> None:
        answers = []
        for model in (Simple(), HASH):
            with rifflux.open(":memory:", model=model) as index:
                index.add(*TEXTS)
                answers.append([(hit.key, hit.score) for hit in index.search("an egret", mode="semantic")])
        assert [key for key, _ in answers[0]] == [key for key, _ in answers[1]]
        assert [score for _, score in answers[0]] == pytest.approx([score for _, score in answers[1]], abs=1e-6)

    def test_a_function(self) -> None:
        with rifflux.open(":memory:", model=CustomEmbedder(HASH.embed_documents, "mine", 64)) as index:
            index.add(*TEXTS)
            assert index.search("egret", mode="semantic")[0].key == "egret"

    def test_what_embeds_as_langchain_names_it(self) -> None:
        class Named:
            name, dimension = "mine", 64

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return list(HASH.embed_documents(texts).tolist())

            def embed_query(self, text: str) -> list[float]:
                return list(HASH.embed_query(text).tolist())

        with rifflux.open(":memory:", model=Named()) as index:  # type: ignore[arg-type]
            index.add(*TEXTS)
            assert index.search("egret", mode="semantic")[0].key == "egret"

    def test_what_it_has_besides_is_used(self) -> None:
        class More(Simple):
            fingerprint, max_tokens = "2", 100

            def embed_query(self, text: str) -> Any:
                return self.embed(["query: " + text])[0]

            def count_tokens(self, text: str) -> int:
                return len(text)

        model: Any = rifflux.load_embedder(More())
        assert (model.max_tokens, model.count_tokens("four")) == (100, 4)
        assert model.fingerprint != rifflux.load_embedder(Simple()).fingerprint
        assert np.array_equal(model.embed_query("x"), model.embed_documents(["query: x"])[0])

    def test_a_complete_embedder_is_itself(self) -> None:
        assert rifflux.load_embedder(HASH) is HASH

    def test_a_folder_may_be_a_path(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"no model\.onnx|model folder"):
            rifflux.open(":memory:", model=tmp_path)

    def test_other_processes_read_files_for_a_program_whose_model_is_its_own(self, tmp_path: Path) -> None:
        program = tmp_path / "program.py"
        program.write_text(
            "import rifflux\n"
            "model = rifflux.CustomEmbedder(lambda texts: [[1.0, 0.0]] * len(texts), 'mine', 2)\n"
            "with rifflux.open(':memory:', model=model) as index:\n"
            "    documents = [rifflux.Document(str(n), 'word ' * 100_000) for n in range(9)]\n"
            "    print(index.add(*documents, processes=2, embed=False).indexed_files)\n"
        )
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("9\n", "")


WRONG_MODELS: dict[str, tuple[object, str]] = {
    "a function": (lambda text: [0.0], "lacks name, dimension, embed.*CustomEmbedder"),
    "a number": (5, "lacks name, dimension, embed"),
    "a class": (Simple, r"is a class: give an object of it, Simple\(...\)"),
    "no name": (type("T", (), {"dimension": 2, "embed": Simple.embed})(), "lacks name"),
    "no embed": (type("T", (), {"dimension": 2, "name": "t"})(), "lacks embed"),
    "a word as dimension": (type("T", (Simple,), {"dimension": "64"})(), "dimension of mine must be a whole number"),
    "no dimensions": (type("T", (Simple,), {"dimension": 0})(), "dimension of mine must be a whole number above 0"),
    "an empty name": (type("T", (Simple,), {"name": " "})(), "name of an embedder must be a text"),
    "a folder that is not there": ("/nonexistent", "no model or folder called '/nonexistent'; use"),
    "bytes": (b"minilm", "lacks name, dimension, embed"),
}


@pytest.mark.parametrize("wrong", WRONG_MODELS)
def test_a_wrong_model_is_refused_when_the_index_is_opened(tmp_path: Path, wrong: str) -> None:
    model, told = WRONG_MODELS[wrong]
    with pytest.raises(rifflux.RiffluxError, match=told):
        rifflux.open(tmp_path / "index.db", model=model)  # type: ignore[arg-type]
    assert not (tmp_path / "index.db").exists()


def _raising(texts: Sequence[str]) -> Any:
    raise KeyError("no such weights")


WRONG_VECTORS: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "another dimension": (lambda texts: np.ones((len(texts), 5)), r"shape \(\d, 5\), not \(\d, 64\)"),
    "too few": (lambda texts: np.ones((0, 64)), r"shape \(0, 64\)"),
    "one for all": (lambda texts: np.ones(64), r"shape \(64,\)"),
    "NaN": (lambda texts: np.full((len(texts), 64), np.nan), "not finite"),
    "words": (lambda texts: texts, "returned list instead of vectors"),
    "nothing": (lambda texts: None, r"shape \(\)"),
    "lists of many lengths": (
        lambda texts: [[1.0] * n for n in range(len(texts) + 1)],
        "returned list instead of vectors|shape",
    ),
    "an error": (_raising, r"mine failed \(KeyError; the log says more\)"),
}


@pytest.mark.parametrize("wrong", WRONG_VECTORS)
def test_wrong_vectors_are_not_stored_and_told(wrong: str) -> None:
    embed, told = WRONG_VECTORS[wrong]
    with rifflux.open(":memory:", model=CustomEmbedder(embed, "mine", 64)) as index:
        (reason,) = index.add(*TEXTS).degraded
        assert re.search(told, reason.text), reason
        assert index.status().embedded_chunks == 0
        assert [hit.key for hit in index.search("heron")] == ["heron"]
        with pytest.raises(ModelError, match=told):
            index.admin.embed()


@pytest.mark.parametrize("wrong", WRONG_VECTORS)
def test_words_answer_where_a_question_gets_a_wrong_vector(tmp_path: Path, wrong: str) -> None:
    embed, told = WRONG_VECTORS[wrong]
    with rifflux.open(tmp_path / "index.db", model=Simple()) as index:
        index.add(*TEXTS)
    with rifflux.open(tmp_path / "index.db", model=CustomEmbedder(embed, "mine", 64)) as index:
        found = index.search("heron")
        assert [hit.key for hit in found] == ["heron"]
        assert found.trace.effective_mode == "lexical"
        (reason,) = found.trace.degraded
        assert re.search(told, reason.text), reason
        json.dumps(found.to_dicts(), allow_nan=False)


def test_a_complete_embedder_that_raises_anything_is_told_as_a_model_error() -> None:
    class Raising(HashEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            raise RuntimeError("out of memory")

    with rifflux.open(":memory:", model=Raising(8)) as index:
        assert "hash failed (RuntimeError; the log says more)" in index.add(*TEXTS).degraded[0].text
        with pytest.raises(ModelError, match="RuntimeError"):
            index.admin.embed()


class TestWithoutTheProgram:
    """The index is opened by somebody who does not have the model, such as the command line."""

    @pytest.fixture
    def made(self, tmp_path: Path) -> Path:
        with rifflux.open(tmp_path / "index.db", model=Simple()) as index:
            index.add(*TEXTS)
        return tmp_path / "index.db"

    def test_words_answer_and_the_reason_names_the_cure(self, made: Path) -> None:
        with rifflux.open(made) as index:
            found = index.search("heron")
            assert [hit.key for hit in found] == ["heron"]
            assert found.trace.degraded[0].cure is rifflux.Cure.SWITCH_MODEL

    def test_what_is_added_is_stored_without_vectors_for_now(self, made: Path) -> None:
        with rifflux.open(made) as index:
            stored = index.add(Document("ibis", "An ibis."))
            assert (stored.chunks, stored.embedded_chunks) == (1, 0)
            assert "a model passed by a program" in stored.degraded[0].text
            assert [hit.key for hit in index.search("ibis")] == ["ibis"]
        with rifflux.open(made, model=Simple()) as index:
            index.add(Document("owl", "An owl."))
            status = index.status()
            assert status.embedded_chunks == status.chunks

    def test_doctor_finds_nothing_wrong(self, made: Path) -> None:
        with rifflux.open(made) as index:
            assert index.admin.check() == []

    def test_another_version_is_another_model(self, made: Path) -> None:
        other = CustomEmbedder(Simple().embed, "mine", 64, version="2")
        with rifflux.open(made, model=other) as index:
            assert index.search("heron").trace.effective_mode == "lexical"
            with pytest.raises(rifflux.ModelMismatch, match="open the index with"):
                index.add(Document("ibis", "An ibis."))

    def test_a_switch_to_a_model_that_has_a_name(self, made: Path) -> None:
        with rifflux.open(made) as index:
            index.admin.switch("hash:32")
            assert index.search("heron").trace.effective_mode == "hybrid"
