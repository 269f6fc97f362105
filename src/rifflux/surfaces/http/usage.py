"""`GET /usage`: what calls of models cost."""

from __future__ import annotations

import math

from pydantic import Field

from rifflux.requests import UsageRequest
from rifflux.service.registry import period
from rifflux.service.usage import summed
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.shapes import Shape

router = make_router(tags=["usage"])


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
def usage(request: UsageRequest, service: ServiceDependency, caller: User) -> UsageOut:
    """Return the caller's usage; administrators may request anybody's, or everybody's."""
    if not caller.is_admin and (request.everybody or request.user not in (None, caller.user)):
        raise Refused(403, "admin_only", "another user's usage is an administrator's to see: leave out the user")
    if request.everybody:
        whom = None
    elif request.user is None:
        whom = caller.user
    else:
        whom = request.user
    sums = service.ledger.spent(whom, *period(request.since, request.until))
    rows = summed(sums, [name.strip() for name in request.by.split(",") if name.strip()])
    if whom is None:
        left = math.inf
    else:
        left = service.ledger.left(whom)
    return UsageOut(
        rows=[UsageRow.model_validate(row) for row in rows], budget_left=None if math.isinf(left) else max(0.0, left)
    )
