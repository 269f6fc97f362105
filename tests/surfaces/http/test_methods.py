"""What a method is refused with names the methods that there are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2 as httpx
import pytest

import rifflux
from rifflux.surfaces.http.app import create_app
from rifflux.surfaces.http.service import Service, ServiceSettings


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
def test_allow_names_the_methods_of_the_path(path: str, allowed: str, tmp_path: Path) -> None:
    service = Service(ServiceSettings(open=True), rifflux.open(tmp_path / "index.db", model="hash"))

    async def refused() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.options(path)

    reply = asyncio.run(refused())
    service.close()
    assert reply.status_code == 405
    assert reply.headers["allow"] == allowed
