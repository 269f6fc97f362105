"""`/admin`: settings for everybody, and deleting users."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Response
from pydantic import Field
from starlette.requests import Request as Incoming

from rifflux.conversations import VectorsMade
from rifflux.requests import OwnPolicies, PolicyChanges
from rifflux.service.nouns import Erased
from rifflux.session.intake import Intake
from rifflux.session.policies import POLICIES
from rifflux.surfaces.http.auth import Admin, ServiceDependency, User
from rifflux.surfaces.http.importing import ACCEPTED, PATIENT, do_as_job
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.shapes import Shape

router = make_router("/admin", tags=["administration"])


class SettingsOut(Shape):
    """The settings in force."""

    hybrid_search: bool = Field(description="Conversations are searched by meaning too, not by words alone")
    licenses: dict[str, str] = Field(description="What further licenses permit: text, abstract or nothing")
    facts: str = Field(description="Who sees author, year and venue of a work without a license")
    own_texts: bool = Field(description="You alone see texts of your own works without a license that permits it")


@router.get("/settings", summary="The settings in force")
def settings(service: ServiceDependency, caller: User) -> SettingsOut:
    """Return the settings; any user may read them."""
    policies = service.of(caller).policies
    return SettingsOut(**{name: POLICIES[name].as_json(policies.get(name)) for name in SettingsOut.model_fields})


@router.put("/settings", summary="Change settings")
def change(request: PolicyChanges, service: ServiceDependency, caller: Admin) -> SettingsOut:
    """Change settings, as an administrator."""
    policies = replace(service.index.policies, by=caller.user)
    for name, value in vars(request).items():
        if value is not None:
            policies.set(name, value)
    return settings(service, caller)


@router.put("/settings/own", summary="Change your own settings")
def change_own(request: OwnPolicies, service: ServiceDependency, caller: User) -> SettingsOut:
    """Change the caller's own settings."""
    service.of(caller).policies.set("own_texts", request.own_texts)
    return settings(service, caller)


@router.post(
    "/messages/vectors",
    dependencies=PATIENT,
    summary="Make vectors for all messages",
    response_model=VectorsMade,
    responses=ACCEPTED,
)
async def embed(incoming: Incoming, service: ServiceDependency, caller: Admin) -> Response:
    """Make vectors for all messages that have none, as an administrator; each user pays for their own.

    Until then they are searched by words alone, such as those stored while `hybrid_search` was off. If it takes longer
    than a request may, the answer is 202 with a job, which goes on.
    """

    def work(intake: Intake) -> VectorsMade:
        return service.index.admin.embed_messages(intake.progress)

    return await do_as_job(incoming, service, caller, kind="vectors", name="", work=work, answer_type=VectorsMade)


@router.delete("/users/{user:path}", summary="Delete a user")
def delete(user: str, service: ServiceDependency, caller: Admin) -> Erased:
    """Delete all data of a user, including tokens, as an administrator. It cannot be undone."""
    return service.delete(caller, user)
