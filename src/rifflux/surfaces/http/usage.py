"""`GET /usage`: what calls of models cost."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import Query
from pydantic import Field

from rifflux.service.registry import period
from rifflux.service.usage import summed
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.shapes import Shape

router = make_router(tags=["usage"])

DateQuery = Annotated[str | None, Query(max_length=40, description="An ISO 8601 date", examples=["2026-01-01"])]


class UsageRow(Shape):
    """Calls, summed; only the names that they are grouped by are present."""

    day: str | None = None
    user: str | None = None
    feature: str | None = None
    model: str | None = None
    calls: int
    tokens: int
    cost: float


class UsageOut(Shape):
    """What was spent, and what is left of this month's budget (null: unlimited)."""

    rows: list[UsageRow]
    budget_left: float | None = Field(description="Of the user in question; null without a budget")


@router.get("/usage", summary="What calls of models cost")
def usage(
    service: Asked,
    caller: User,
    by: Annotated[str, Query(max_length=60, description="Any of day, user, feature, model")] = "day,model",
    since: DateQuery = None,
    until: DateQuery = None,
    user: Annotated[str | None, Query(max_length=200, description="Of whom; administrators may name others")] = None,
    everybody: Annotated[bool, Query(description="Of all users; for administrators")] = False,
) -> UsageOut:
    """Return the caller's usage; administrators may request anybody's, or everybody's."""
    if not caller.is_admin and (everybody or user not in (None, caller.user)):
        raise Refused(403, "admin_only", "another user's usage is an administrator's to see: leave out the user")
    if everybody:
        whom = None
    elif user is None:
        whom = caller.user
    else:
        whom = user
    sums = service.ledger.spent(whom, *period(since, until))
    rows = summed(sums, [name.strip() for name in by.split(",") if name.strip()])
    if whom is None:
        left = math.inf
    else:
        left = service.ledger.left(whom)
    return UsageOut(
        rows=[UsageRow.model_validate(row) for row in rows], budget_left=None if math.isinf(left) else max(0.0, left)
    )
