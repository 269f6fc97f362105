"""Where tools work: at one workspace, for whoever is calling."""

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
    """What tools work with: a workspace, as whom they see it, and who may call.

    With `callers` every call is of the user of its token, who sees what is theirs in the configured index; only
    administrators may have files of this machine read, which are then nobody's in particular. Without, everybody who
    reaches the server is `user`, or sees what is nobody's in particular.
    """

    workspace: Workspace
    user: str = ""
    callers: Callers | None = None

    def open(self, db_path: str | None = None, *, create: bool = False) -> OpenIndex:
        """Return an index as the caller has it. Raises as `Workspace.open` does."""
        if self.callers is None:
            return self.workspace.open(db_path, create=create).of(self.user)
        if db_path:
            raise OutsideRoots("this server has one index for all its users: leave db_path out")
        return self.callers.view(self.workspace.open(create=create))

    def filling(self) -> OpenIndex:
        """Return the index, made if need be, as files are added to it: to what is the caller's, or else nobody's."""
        if self.callers is None:
            return self.open(create=True)
        return self.callers.common(self.workspace.open(create=True))

    def memories(self, *, create: bool = False) -> Memories:
        """Return the memories of the caller."""
        return self.open(create=create).index.memories

    @property
    def may_fill(self) -> bool:
        """Return True if the caller may have files of this machine read."""
        return self.callers is None or self.callers.caller().is_admin

    def sentence(self, about: Curable) -> str:
        """Return an error or a notice with a cure that the caller can follow."""
        if about.cure is Cure.LIST and about.data["things"] in LISTS:
            return f"{about}: {LISTS[about.data['things']]}"
        if self.may_fill:
            return with_cure(about, WHO_MAY_INDEX, who="the user")
        return with_cure(about, CURES, who="an administrator")

    def failures(self, found: Sequence[Failure], most: int) -> list[FailureShape]:
        """Return the first of some failures, each with a cure that the caller can follow."""
        return [FailureShape(path=each.path, reason=self.sentence(each)) for each in found[:most]]

    @property
    def caller(self) -> str:
        """Return whose call it is; of nobody in particular where there are no tokens."""
        if self.callers:
            return self.callers.caller().user
        return self.user

    @property
    def roots(self) -> Sequence[Path]:
        """Return the folders that the caller may have read."""
        if self.may_fill:
            return self.workspace.roots
        return ()

    def places(self, paths: Sequence[str]) -> list[Path]:
        """Return the real places to index. Raises `OutsideRoots` or `NotFound` before any is touched."""
        if not self.may_fill:
            raise OutsideRoots("files of the server are indexed for administrators only: ask one of them")
        return self.workspace.places(paths)
