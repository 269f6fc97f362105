"""Where tools work: at one workspace, for whoever is calling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rifflux import Memories, OutsideRoots
from rifflux.surfaces.mcp.callers import Callers
from rifflux.surfaces.mcp.workspace import OpenIndex, Workspace
from rifflux.surfaces.shared.config import view_of

__all__ = ["Desk"]


@dataclass(frozen=True)
class Desk:
    """What tools work with: a workspace, whose memories they keep, and who may call.

    With `callers` every call is of the user of its token, who sees what is theirs in the configured index; only
    administrators may have files of this machine read. Without, everybody who reaches the server sees what is nobody's
    in particular, and `user` is whose memories are kept.
    """

    workspace: Workspace
    user: str = ""
    callers: Callers | None = None

    def open(self, db_path: str | None = None, *, create: bool = False) -> OpenIndex:
        """Return an index as the caller has it. Raises as `Workspace.open` does."""
        if self.callers is None:
            return self.workspace.open(db_path, create=create)
        if db_path:
            raise OutsideRoots("this server has one index for all its users: leave db_path out")
        return self.callers.view(self.workspace.open(create=create))

    def memories(self, *, create: bool = False) -> Memories:
        """Return the memories of the caller."""
        opened = self.open(create=create)
        return opened.index.memories if self.callers else view_of(opened.index, self.user).memories

    @property
    def caller(self) -> str:
        """Return whose call it is; of nobody in particular where there are no tokens."""
        return self.callers.caller().user if self.callers else self.user

    @property
    def roots(self) -> Sequence[Path]:
        """Return the folders that the caller may have read."""
        return self.workspace.roots if self.callers is None or self.callers.caller().is_admin else ()

    def places(self, paths: Sequence[str]) -> list[Path]:
        """Return the real places to index. Raises `OutsideRoots` or `NotFound` before any is touched."""
        if self.callers and not self.callers.caller().is_admin:
            raise OutsideRoots("files of the server are indexed for administrators only: ask one of them")
        return self.workspace.places(paths)
