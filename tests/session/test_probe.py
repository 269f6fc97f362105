"""Another model under the same name behind an endpoint: it is noticed before its vectors come among the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import rifflux
from rifflux import CustomEmbedder, Document, Index, Scope
from rifflux.models.hashing import HashEmbedder
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.session.vectors import PROBES
from rifflux.surfaces.cli import doctor as _doctor  # noqa: F401
from rifflux.surfaces.cli.app import app
from tests.support.embedding_server import SECRET, EmbeddingServer, embedding_server

TEXTS = tuple(Document(name, f"A {name} stands in the river.") for name in ("heron", "egret", "ibis"))
CRANE = Document("crane", "A crane flies over the marsh.")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def path(server: EmbeddingServer, tmp_path: Path) -> Path:
    """An index of the endpoint's vectors."""
    with opened(tmp_path / "index.db", server) as index:
        assert index.add(*TEXTS).embedded_chunks == len(TEXTS)
    return tmp_path / "index.db"


def opened(path: Path, server: EmbeddingServer, **more: Any) -> Index:
    return rifflux.open(path, model=server.spec, embed_timeout=60.0, **more)


def test_its_vectors_are_refused_and_the_text_is_kept(path: Path, server: EmbeddingServer) -> None:
    server.mode = "another model"
    with opened(path, server) as index:
        report = index.add(CRANE)
        assert (report.indexed_files, report.embedded_chunks) == (1, 0)
        (reason,) = report.degraded
        assert "text-embed is another model now" in reason.text
        assert "127.0.0.1" not in reason.text
        assert [hit.key for hit in index.search("crane", mode="lexical")] == ["crane"]
        memory = index.scoped(Scope("ann")).memories.add("Ann watches the crane")
        assert "another model now" in memory.degraded[0].text
        index.policies.set(HYBRID_SEARCH, True)
        talks = index.scoped(Scope("ann")).conversations
        assert "another model now" in talks.add_message(talks.add("birds").id, "a bittern").degraded[0].text
        server.mode = "well"
        assert index.add().embedded_chunks == 3  # also what waited since
        assert not index.add().degraded


def test_a_run_with_nothing_to_do_tells_it(path: Path, server: EmbeddingServer) -> None:
    server.mode = "another model"
    with opened(path, server) as index:
        assert "another model now" in index.add(*TEXTS).degraded[0].text


def test_a_run_with_nothing_to_do_needs_no_answer(path: Path, server: EmbeddingServer) -> None:
    server.mode = "fails"
    asked = server.asked
    with opened(path, server) as index:
        assert index.add(*TEXTS).degraded == ()
    assert server.asked == asked + 1


def test_doctor_tells_it(path: Path, server: EmbeddingServer) -> None:
    assert rifflux.diagnose(path) == []
    server.mode = "another model"
    (problem,) = rifflux.diagnose(path)
    assert "another model now" in problem.what
    assert problem.cure is rifflux.Cure.SWITCH_MODEL
    done = CliRunner().invoke(app, ["doctor", "--db", str(path)])
    assert done.exit_code == 1
    assert "another model now" in " ".join(done.output.split())
    with opened(path, server) as index:
        index.add(CRANE, embed=False)
    assert "no vectors were made" in rifflux.repair(path).done[0]
    server.mode = "fails"
    assert all(SECRET not in each.what and "another model" not in each.what for each in rifflux.diagnose(path))


def test_it_is_asked_once_a_session(path: Path, server: EmbeddingServer) -> None:
    with opened(path, server) as index:
        asked = server.asked
        index.add(CRANE)
        assert server.asked == asked + 2
        index.add(Document("stork", "A stork nests."))
        index.search("stork")
        assert server.asked == asked + 4


def test_an_index_without_a_probe_gets_one(path: Path, server: EmbeddingServer) -> None:
    with opened(path, server) as index:
        index.admin.store.records.set(PROBES, "{}", content=False)
    with opened(path, server) as index:
        index.add(CRANE)
    server.mode = "another model"
    (problem,) = rifflux.diagnose(path)
    assert "another model now" in problem.what


def test_the_cure_makes_vectors_of_the_new_one(path: Path, server: EmbeddingServer) -> None:
    server.mode = "another model"
    with rifflux.open(path) as index:
        index.admin.switch("hash:32")
        index.admin.switch(server.spec)
        assert index.admin.check() == []
        for document in TEXTS:
            assert index.search(document.text, mode="semantic")[0].key == document.key
        assert index.add(CRANE).embedded_chunks == 1


def test_a_model_of_a_programs_own_is_compared_too(tmp_path: Path) -> None:
    first, second = HashEmbedder(64), HashEmbedder(64)
    with rifflux.open(tmp_path / "index.db", model=CustomEmbedder(first.embed_documents, "ours", 64)) as index:
        assert index.add(*TEXTS).embedded_chunks == len(TEXTS)
    other = CustomEmbedder(lambda texts: second.embed_documents([text[::-1] for text in texts]), "ours", 64)
    with rifflux.open(tmp_path / "index.db", model=other) as index:
        assert "ours is another model now" in index.add(CRANE).degraded[0].text
        assert len(index.admin.check()) == 2  # and one passage without a vector


def test_a_model_that_runs_here_is_not_asked(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model="hash:64") as index:
        index.add(*TEXTS)
        assert index.admin.store.records.setting(PROBES) is None
