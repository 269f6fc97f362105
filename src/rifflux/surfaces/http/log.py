"""`GET /log`: decisions on accounts, sharing and settings."""

from __future__ import annotations

from pydantic import Field

from rifflux.requests import After, Limit
from rifflux.surfaces.http.auth import Admin, ServiceDependency
from rifflux.surfaces.http.paging import Next, number_of
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.nouns import nouns_json
from rifflux.surfaces.shared.shapes import Shape

router = make_router(tags=["administration"])


class LogRow(Shape):
    """A decision. Names that do not apply are empty."""

    id: int
    done_at: str
    user: str = Field(description="Who made it; empty: on the command line")
    action: str = Field(description="Such as token.create, collection.share, group.set, user.delete, setting.change")
    target: str = Field(description="The token, collection, group or setting")
    owner: str = Field(description="The user who owns it")
    who: str = Field(description="Whom it is shared with, or who joined or left")
    detail: str


class LogOut(Shape):
    """A page of decisions, the newest first."""

    entries: list[LogRow]
    next: Next


@router.get("/log", summary="Who decided what")
def log(
    service: ServiceDependency,
    caller: Admin,
    limit: Limit = 100,
    after: After = "",
) -> LogOut:
    """List decisions on tokens, sharing, groups, collections, users and settings; for administrators.

    Entries are kept for two years, the newest 10,000 of each user.
    """
    found = service.index.registry.log(number_of(after), limit + 1)
    rows = [LogRow.model_validate(row) for row in nouns_json(found[:limit])]
    return LogOut(entries=rows, next=str(rows[-1].id) if len(found) > limit else None)
