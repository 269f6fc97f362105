"""`/layout`: texts as trees of blocks, from which the page builds elements."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi.responses import JSONResponse
from pydantic import Field, StringConstraints, model_validator

from rifflux.surfaces.http.auth import User
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Body
from rifflux.surfaces.web.markup import layout

router = make_router(tags=["page"])

#: Texts per request, and their characters: a long document, or the messages of a page.
MOST_TEXTS = 500
MOST_CHARACTERS = 400_000


class LayoutIn(Body):
    """Texts of one kind."""

    texts: list[Annotated[str, StringConstraints(max_length=MOST_CHARACTERS)]] = Field(max_length=MOST_TEXTS)
    kind: str = Field(default="markdown", max_length=100)
    cuts: list[int] = Field(default=[], max_length=10_000)

    @model_validator(mode="after")
    def _not_too_long(self) -> LayoutIn:
        if sum(map(len, self.texts)) > MOST_CHARACTERS:
            raise ValueError(f"texts of {MOST_CHARACTERS:,} characters at most are laid out at once")
        return self


@router.post("/layout", include_in_schema=False)
def laid_out(given: LayoutIn, caller: User) -> Any:
    """Return the blocks of each text, in order."""
    layouts = [[node.as_json() for node in layout(text, given.kind, given.cuts)] for text in given.texts]
    return JSONResponse({"layouts": layouts})
