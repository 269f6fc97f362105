"""`/jobs`: imports that go on after their requests, with progress and result."""

from __future__ import annotations

from rifflux import NotFound, OutOfScope
from rifflux.requests import After, Limit, UserInList
from rifflux.service.jobs import JobRecord
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.importing import JobOut
from rifflux.surfaces.http.paging import Next, page
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.shared.shapes import Shape

router = make_router("/jobs", tags=["jobs"])


class JobList(Shape):
    """A page of jobs, the newest first."""

    jobs: list[JobOut]
    next: Next = None


@router.get("", summary="List jobs")
def list_(
    service: ServiceDependency,
    caller: User,
    user: UserInList = None,
    limit: Limit = 100,
    after: After = "",
) -> JobList:
    """List the caller's imports of the last seven days with their progress, the newest first."""
    if user not in (None, caller.user) and not caller.is_admin:
        raise OutOfScope("another user's jobs are an administrator's to see: leave out the user")
    found = service.jobs.list(caller.user if user is None else user)
    records, following = page(found, lambda each: each.id, after, limit)
    return JobList(jobs=[JobOut.of_record(each) for each in records], next=following)


@router.get("/{id}", summary="The progress of a job")
def job(id: str, service: ServiceDependency, caller: User) -> JobOut:
    """Return a job of the caller's with its progress, and with its report once it is done.

    Jobs are kept for seven days. An interrupted one was running when its process ended. Each document, conversation or
    work is stored completely or not at all; sending the same again does not change stored ones.
    """
    return JobOut.of_record(_visible(service, caller, id))


@router.delete("/{id}", status_code=202, summary="Cancel a job")
def cancel(id: str, service: ServiceDependency, caller: User) -> JobOut:
    """Cancel a running job. What it has stored stays; a job that has ended is left as it is."""
    found = _visible(service, caller, id)
    service.jobs.stop(found.user, id)
    return JobOut.of_record(_visible(service, caller, id))


def _visible(service: Service, caller: Caller, id: str) -> JobRecord:
    """Return a job that the caller may see. Raises `NotFound`."""
    found = service.jobs.get(id)
    if found is None or (found.user != caller.user and not caller.is_admin):
        raise NotFound(f"no job {id!r}: take the id from the answer that began it, or from GET /jobs")
    return found
