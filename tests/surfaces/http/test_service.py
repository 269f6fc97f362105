"""A service has its model, and what makes searches fast, at hand before anybody asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux.errors import ModelError, RiffluxError
from rifflux.service.accounts import Accounts
from rifflux.service.registry import Registry
from rifflux.store.sqlite.lexical import words_index
from rifflux.surfaces.http.serve import build
from rifflux.surfaces.http.service import Caller, Service, ServiceSettings
from tests.support.embedding_server import embedding_server


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        index.add(rifflux.Document("heron", "Herons stand in shallow water."))
    service = Service(ServiceSettings(open=True), rifflux.open(tmp_path / "index.db"))
    yield service
    service.close()


def test_the_first_search_finds_its_model_loaded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.prepare()
    monkeypatch.setattr("rifflux.models.loading.load_embedder", None)
    assert service.of(Caller("", "admin")).search("herons").trace.effective_mode == "hybrid"


def test_it_asks_itself_something_before_anybody_asks(service: Service) -> None:
    service.prepare()
    admin = service.index.admin
    assert admin.view.session.guard.breakers[service.index.embedding_model].answered
    assert Registry(admin.store).questions() == []


def test_nobody_pays_for_what_it_asks_itself(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        index.add(rifflux.Document("heron", "Herons stand in shallow water."))
        Accounts(index.registry).create("ann")
    opened = rifflux.open(tmp_path / "index.db", prices={"hash": 1.0}, budget=1.0)
    service = Service(ServiceSettings(), opened)
    service.prepare()
    assert service.ledger.spent() == []
    service.of(Caller("", "admin")).search("herons")
    assert [(each.feature, each.calls) for each in service.ledger.spent()] == [("search", 1)]
    service.close()


def test_it_asks_no_model_that_runs_elsewhere(tmp_path: Path) -> None:
    with embedding_server() as endpoint:
        with rifflux.open(tmp_path / "index.db", model=endpoint.spec) as index:
            index.add(rifflux.Document("heron", "Herons stand in shallow water."))
        service, asked = Service(ServiceSettings(open=True), rifflux.open(tmp_path / "index.db")), endpoint.asked
        service.prepare()
        assert asked
        assert endpoint.asked == asked
        service.close()


def test_a_model_that_cannot_be_loaded_keeps_no_service_from_starting(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModelError("its file is damaged")

    monkeypatch.setattr("rifflux.models.loading.load_embedder", fail)
    service.prepare()
    trace = service.of(Caller("", "admin")).search("herons").trace
    assert trace.effective_mode == "lexical"
    assert "its file is damaged" in trace.degraded[0].text


def test_every_search_is_fast_from_the_first_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_index, "LEAST", 1)
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        index.add(rifflux.Document("heron", "Herons stand in shallow water."))
        build(index)
        assert (tmp_path / "index.db.words").exists()


def test_what_cannot_be_built_keeps_no_service_from_starting(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise RiffluxError("the disk is full")

    monkeypatch.setattr("rifflux.store.sqlite.store.SqliteFiles.build", fail)
    build(service.index)
    assert "the disk is full" in capsys.readouterr().out
