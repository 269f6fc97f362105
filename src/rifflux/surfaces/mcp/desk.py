"""The context of tools: one workspace and its caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rifflux import Cure, Failure, Memories, OutsideRoots
from rifflux.surfaces.mcp.callers import Callers
from rifflux.surfaces.mcp.cures import CURES, LISTS, WHO_MAY_INDEX
from rifflux.surfaces.mcp.workspace import OpenIndex, Workspace
from rifflux.surfaces.shared.cures import Curable, with_cure
from rifflux.surfaces.shared.shapes import FailureShape


@dataclass(frozen=True)
class Desk:
    """The context of tools: a workspace, the user whose view they have, and the callers.

    With `callers` each call belongs to the user of its token, who sees their view of the configured index; only
    administrators may index files of this machine, which then belong to nobody in particular. Without, everybody who
    reaches the server is `user`, or sees what belongs to nobody in particular.
    """

    workspace: Workspace
    user: str = ""
    callers: Callers | None = None

    def open(self, db_path: str | None = None, *, create: bool = False) -> OpenIndex:
        """Return the caller's view of an index. Raises as `Workspace.open` does."""
        if self.callers is None:
            return self.workspace.open(db_path, create=create).of(self.user)
        if db_path:
            raise OutsideRoots("this server has one index for all its users: leave db_path out")
        return self.callers.view(self.workspace.open(create=create))

    def filling(self) -> OpenIndex:
        """Return the view for adding files: the caller's own, or with tokens the common one; create the index if
        needed."""
        if self.callers is None:
            return self.open(create=True)
        return self.callers.common(self.workspace.open(create=True))

    def memories(self, *, create: bool = False) -> Memories:
        """Return the memories of the caller."""
        return self.open(create=create).index.memories

    @property
    def may_fill(self) -> bool:
        """Return True if the caller may index files of this machine."""
        return self.callers is None or self.callers.caller().is_admin

    def sentence(self, about: Curable) -> str:
        """Return an error or a notice with a cure that the caller can follow."""
        if about.cure is Cure.LIST and about.data["things"] in LISTS:
            return f"{about}: {LISTS[about.data['things']]}"
        if self.may_fill:
            return with_cure(about, WHO_MAY_INDEX, who="the user")
        return with_cure(about, CURES, who="an administrator")

    def failures(self, found: Sequence[Failure], most: int) -> list[FailureShape]:
        """Return the first `most` failures, each with a cure that the caller can follow."""
        return [FailureShape(path=each.path, reason=self.sentence(each), kind=each.kind) for each in found[:most]]

    @property
    def caller(self) -> str:
        """Return the user of the current call; empty without tokens."""
        if self.callers:
            return self.callers.caller().user
        return self.user

    @property
    def roots(self) -> Sequence[Path]:
        """Return the folders that the caller may index."""
        if self.may_fill:
            return self.workspace.roots
        return ()

    def places(self, paths: Sequence[str]) -> list[Path]:
        """Return the resolved places to index. Raises `OutsideRoots` or `NotFound` before any is read."""
        if not self.may_fill:
            raise OutsideRoots("files of the server are indexed for administrators only: ask one of them")
        return self.workspace.places(paths)
