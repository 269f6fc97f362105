"""Vectors follow the text: each text once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import rifflux
from rifflux import Document, Index
from rifflux.ingest import embed
from rifflux.types import Vectors
from tests.support.embedder import Counting


@dataclass(frozen=True)
class Uncased(Counting):
    """An embedder that knows no case."""

    def canonical(self, text: str) -> str:
        return text.lower()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return super().embed_documents([text.lower() for text in texts])


def birds(number: int, text: str = "A heron.") -> list[Document]:
    return [Document(f"{each:03}", text) for each in range(number)]


def vectors(index: Index) -> Vectors:
    ids = [int(hit.id, 16) for hit in index.search("heron", mode="lexical", top_k=1000)]
    found = index.admin.store.semantic.vectors_of(np.array(ids, np.int64))
    return np.stack([found[id] for id in ids])


def test_equal_texts_are_embedded_once_within_and_across_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "BATCH", 4)
    with rifflux.open(tmp_path / "index.db", model=(embedder := Counting())) as index:
        assert index.add(*birds(30)).embedded_chunks == 30
        assert embedder.seen == ["A heron."]
        assert len(np.unique(vectors(index), axis=0)) == 1


def test_equal_texts_are_embedded_once_across_runs(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model=(embedder := Counting())) as index:
        index.add(*birds(3))
        index.add(Document("later", "A heron."), Document("other", "An egret."))
    assert embedder.seen == ["A heron.", "An egret."]


def test_texts_that_the_model_cannot_tell_apart_are_embedded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "BATCH", 2)
    texts = ["A heron.", "A HERON.", "a heron.", "A Heron.", "A heron!", "A Heron!"]
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    with rifflux.open(tmp_path / "index.db", model=(embedder := Uncased())) as index:
        assert index.add(*documents).embedded_chunks == 6
        assert len(embedder.seen) == 2
        assert len(np.unique(vectors(index), axis=0)) == len(np.unique(embedder.embed_documents(texts), axis=0))


def test_an_interrupted_run_keeps_its_batches_and_the_next_embeds_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "BATCH", 4)
    documents = [Document(str(number), f"Heron {number}.") for number in range(20)]
    embedder = Counting()

    def stop(stage: str, done: int, total: int | None) -> None:
        if stage == "embed" and done >= 8:
            raise KeyboardInterrupt

    with rifflux.open(tmp_path / "index.db", model=embedder) as index:
        with pytest.raises(KeyboardInterrupt):
            index.add(*documents, progress=stop)
        kept = index.status().embedded_chunks
        assert 8 <= kept < 20
        assert index.search("heron", mode="lexical", top_k=20)
        index.add(*documents)
        assert index.status().embedded_chunks == 20
    assert len(embedder.seen) <= 20 + 4, "more than the batch on its way was embedded again"


def test_a_failing_model_is_told_and_what_was_done_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "BATCH", 4)

    @dataclass(frozen=True)
    class Failing(Counting):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            if len(self.seen) >= 8:
                raise rifflux.ModelError("it is tired: let it rest")
            return super().embed_documents(texts)

    documents = [Document(str(number), f"Heron {number}.") for number in range(20)]
    with rifflux.open(tmp_path / "index.db", model=Failing()) as index:
        report = index.add(*documents)
        assert "tired" in report.degraded[0].text
        assert (report.chunks, report.embedded_chunks) == (20, 8)
        assert (index.status().chunks, index.status().embedded_chunks) == (20, 8)
