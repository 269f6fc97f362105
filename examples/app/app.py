"""A diary that answers, for many users, over one index: uvicorn app:application --factory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse

import rifflux
from rifflux import Document, Index, NotFound, RiffluxError, Scope


def application() -> FastAPI:
    """Return the application on the index `DIARY`, open for as long as it runs."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with rifflux.open(os.environ.get("DIARY", "diary.db"), model=os.environ.get("RIFFLUX_MODEL")) as index:
            app.state.index = index
            yield

    app = FastAPI(title="Diary", lifespan=lifespan)

    @app.exception_handler(RiffluxError)
    def told(request: Request, error: RiffluxError) -> JSONResponse:
        """Every error of Rifflux says what to do next."""
        return JSONResponse({"error": str(error)}, 404 if isinstance(error, NotFound) else 400)

    # FastAPI runs these in threads of their own; an index may be shared between threads.

    @app.put("/notes/{name}")
    def write(name: str, text: Text, mine: Mine) -> dict[str, Any]:
        return {"written": mine.add(Document(name, text, kind="note")).indexed_files}

    @app.delete("/notes/{name}")
    def tear_out(name: str, mine: Mine) -> dict[str, Any]:
        return {"removed": mine.remove(name).documents}

    @app.post("/conversations/{name}")
    def say(name: str, text: Text, mine: Mine) -> dict[str, Any]:
        with suppress(rifflux.InvalidArgument):  # it has begun
            mine.conversations.add(name, id=name)
        return {"message": mine.conversations.add_message(name, text).id}

    @app.post("/memories")
    def remember(text: Text, mine: Mine) -> dict[str, Any]:
        saved = mine.memories.add(text)
        return {"outcome": saved.outcome, "reason": saved.reason}

    @app.get("/ask")
    def ask(question: str, mine: Mine) -> dict[str, Any]:
        found, recalled = mine.everything(question, top_k=5), mine.memories.search(question, top_k=3)
        return {
            "found": [{"kind": hit.kind, "document": hit.key, "text": hit.text} for hit in found],
            "remembered": [memory.text for memory, _ in recalled.memories],
        }

    return app


def signed_in(request: Request, x_user: Annotated[str, Header()]) -> Index:
    """Return the index as the user of a request has it."""
    index: Index = request.app.state.index
    return index.scoped(Scope(x_user))


Mine = Annotated[Index, Depends(signed_in)]
Text = Annotated[str, Body(media_type="text/plain")]
