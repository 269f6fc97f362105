"""A service has its model at hand before anybody asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux.errors import ModelError
from rifflux.surfaces.http.service import Caller, Service, ServiceSettings


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        index.add(rifflux.Document("heron", "Herons stand in shallow water."))
    service = Service(ServiceSettings(open=True), rifflux.open(tmp_path / "index.db"))
    yield service
    service.close()


def test_the_first_search_finds_its_model_loaded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.prepare()
    monkeypatch.setattr("rifflux.models.embedder.load_embedder", None)
    assert service.of(Caller("", "admin")).search("herons").trace.effective_mode == "hybrid"


def test_a_model_that_cannot_be_loaded_keeps_no_service_from_starting(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModelError("its file is damaged")

    monkeypatch.setattr("rifflux.models.embedder.load_embedder", fail)
    service.prepare()
    trace = service.of(Caller("", "admin")).search("herons").trace
    assert trace.effective_mode == "lexical"
    assert "its file is damaged" in trace.degraded[0]
