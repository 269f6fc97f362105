"""`/collections` and `/groups`: the caller's collections, those shared with them, and groups."""

from __future__ import annotations

from rifflux import CollectionInfo
from rifflux.requests import After, CollectionChanges, CollectionRequest, GroupRequest, Limit, ReaderRequest
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.paging import Next, page
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.nouns import collection_json
from rifflux.surfaces.shared.shapes import CollectionShape, Shape

router = make_router(tags=["collections"])


class RemovedCollection(Shape):
    """The number of documents removed with a collection."""

    documents: int


class UserGroupOut(Shape):
    """A name for a set of users."""

    name: str
    members: list[str]


class CollectionList(Shape):
    """A page of collections."""

    collections: list[CollectionShape]
    next: Next = None


class GroupList(Shape):
    """A page of groups, by name."""

    groups: list[UserGroupOut]
    next: Next = None


READS = ReaderRequest()


def _out(found: CollectionInfo) -> CollectionShape:
    return CollectionShape.of(collection_json(found))


@router.get("/collections", summary="List your collections, and those shared with you")
def list_(service: ServiceDependency, caller: User, after: After = "", limit: Limit = 100) -> CollectionList:
    """List the caller's own collections, the library first, then those that others share."""
    found, behind = page(service.of(caller).collections.list(), lambda each: each.name, after, limit)
    return CollectionList(collections=[*(_out(each) for each in found)], next=behind)


@router.post("/collections", status_code=201, dependencies=REPEATABLE, summary="Make a collection")
def create(request: CollectionRequest, service: ServiceDependency, caller: User) -> CollectionShape:
    """Create an empty collection of the caller's own."""
    return _out(service.of(caller).collections.create(**vars(request)))


# These come before the routes of collections, whose names may contain slashes.


@router.put("/collections/{name:path}/readers/{who:path}", summary="Share a collection")
def share(
    name: str, who: str, service: ServiceDependency, caller: User, request: ReaderRequest = READS
) -> CollectionShape:
    """Let a user, a group or `everyone` read a collection of the caller's own."""
    return _out(service.of(caller).collections.share(name, who, **vars(request)))


@router.delete("/collections/{name:path}/readers/{who:path}", summary="Stop sharing a collection")
def unshare(name: str, who: str, service: ServiceDependency, caller: User) -> CollectionShape:
    """Withdraw somebody's right to read a collection."""
    return _out(service.of(caller).collections.unshare(name, who))


@router.get("/collections/{name:path}", summary="A collection")
def get(name: str, service: ServiceDependency, caller: User) -> CollectionShape:
    """Return what a collection holds, and for its owner who reads it."""
    return _out(service.of(caller).collections.get(name))


@router.patch("/collections/{name:path}", summary="Rename or describe a collection")
def change(name: str, request: CollectionChanges, service: ServiceDependency, caller: User) -> CollectionShape:
    """Change the name or the description of a collection; its contents and readers stay."""
    collections = service.of(caller).collections
    found = collections.get(name)
    if request.name is not None and request.name != found.name:
        found = collections.rename(name, request.name)
    if request.description is not None:
        found = collections.describe(found.name, request.description)
    return _out(found)


@router.delete("/collections/{name:path}", summary="Remove a collection")
def remove(name: str, service: ServiceDependency, caller: User) -> RemovedCollection:
    """Delete a collection with its contents. It cannot be undone."""
    return RemovedCollection(documents=service.of(caller).collections.remove(name))


@router.get("/groups", summary="List the groups")
def groups(service: ServiceDependency, caller: User, after: After = "", limit: Limit = 100) -> GroupList:
    """List the groups with their members; for administrators."""
    known = service.of(caller).collections.groups()
    found, behind = page(sorted(known), str, after, limit)
    return GroupList(groups=[UserGroupOut(name=name, members=[*known[name]]) for name in found], next=behind)


@router.put("/groups/{name}", summary="Make or change a group")
def put_group(name: str, request: GroupRequest, service: ServiceDependency, caller: User) -> UserGroupOut:
    """Give a name to a set of users; for administrators."""
    collections = service.of(caller).collections
    collections.set_group(name, **vars(request))
    return UserGroupOut(name=name, members=list(collections.groups()[name]))


@router.delete("/groups/{name}", status_code=204, summary="Delete a group")
def drop_group(name: str, service: ServiceDependency, caller: User) -> None:
    """Delete a group, which ends what was shared with it. For administrators."""
    service.of(caller).collections.remove_group(name)
