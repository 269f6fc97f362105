"""What a method is refused with names the methods that there are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx2 as httpx
import pytest
from fastapi import FastAPI

import rifflux
from rifflux.surfaces.http.app import create_app
from rifflux.surfaces.http.service import Service, ServiceSettings


@pytest.fixture(scope="module")
def app() -> Iterator[FastAPI]:
    """The application over an empty index."""
    service = Service(ServiceSettings(open=True), rifflux.open(":memory:", model="hash"))
    yield create_app(service)
    service.close()


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/conversations", "GET, POST"),
        ("/conversations/search", "POST"),
        ("/conversations/import", "POST"),
        ("/conversations/x", "GET, PATCH, DELETE"),
        ("/collections/wiki", "GET, PATCH, DELETE"),
        ("/collections/a/b", "GET, PATCH, DELETE"),
        ("/collections/wiki/readers/ann", "PUT, DELETE"),
        ("/health", "GET"),
    ],
)
def test_allow_names_the_methods_of_the_path(path: str, allowed: str, app: FastAPI) -> None:
    reply = refused(app, path)
    assert reply.status_code == 405
    assert reply.headers["allow"] == allowed


def test_errors_are_of_the_type_that_the_document_says(app: FastAPI) -> None:
    documented = {
        kind
        for operations in app.openapi()["paths"].values()
        for operation in operations.values()
        for status, response in operation["responses"].items()
        if status >= "400"
        for kind in response["content"]
    }
    assert documented == {refused(app, "/health").headers["content-type"]}


def refused(app: FastAPI, path: str) -> httpx.Response:
    async def answer() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.options(path)

    return asyncio.run(answer())
