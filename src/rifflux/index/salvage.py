"""Checking and repairing an index that may be too damaged to open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rifflux.errors import Cure, DamagedIndex, NotAnIndex, NotFound
from rifflux.index import open_index
from rifflux.session.maintenance import Repaired
from rifflux.store import Problem, check_is_index, close_to_others, exposure, restore_store, salvage_store
from rifflux.types import Progress

if TYPE_CHECKING:
    from rifflux.models.custom import Model


def diagnose(
    path: str | Path,
    *,
    state: str | Path = "",
    model: Model | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
) -> list[Problem]:
    """Return the problems of the index at a path, which may not even open; none if it is sound.

    They include permissions for everybody on this machine, those of a `state` file, which they name, and another model
    behind the name of the one that made the vectors. `base_url` and `api_key` are as in `rifflux.open`. A model that
    does not answer is not compared.

    Raises `NotFound`, `NotAnIndex`, `NewerIndex` and other errors that are no damage.
    """
    if state and Path(state).expanduser().exists():
        state_file = state
    else:
        state_file = ""
    if state_file:
        others = _named(state_file, diagnose(state_file))
    else:
        others = []
    # With a state file the index is only read: checking must not change it.
    if any(each.unreadable for each in others):
        readable = None
    else:
        readable = state_file
    try:
        opened = open_index(path, create=False, model=model, base_url=base_url, api_key=api_key, state=readable)
        with opened as index:
            return [*index.admin.check(), *exposure(path), *others]
    except DamagedIndex as error:
        return [Problem(str(error), error.cure, error.data, unreadable=True), *others]


def _named(state: str | Path, problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of a state file with its name, and cures for it."""
    return [
        replace(each, what=f"{state}: {each.what}", cure=Cure.REPAIR_FILE, data={"file": str(state)})
        for each in problems
    ]


def repair(path: str | Path, *, progress: Progress | None = None) -> Repaired:
    """Repair the index at a path: rebuild what can be rebuilt, and report what is still wrong.

    If the database itself is damaged, what can be read goes into a new file, and the damaged one is kept next to it.
    Raises `DamagedIndex` if nothing can be read, and `NotAnIndex` for a file that never was an index; then nothing was
    changed.
    """
    if not Path(path).expanduser().exists():
        raise NotFound(f"no index at {path}: check the path's spelling")
    check_is_index(path)
    done: list[str] = []
    damaged_file = None
    if not _can_be_read(path):
        salvaged = salvage_store(path)
        documents, chunks = (salvaged.rows.get(table, 0) for table in ("document", "chunk"))
        rows = f"{documents:,} documents and {chunks:,} chunks"
        done = [f"the database was damaged: took {rows} over into a new file"]
        damaged_file = str(salvaged.original)
        if salvaged.uncertain:
            done.append(f"{salvaged.uncertain:,} rows lay on damaged pages and are kept as they could be read")
        if salvaged.unknown:
            done.append(f"{salvaged.unknown:,} pages are whole, but nothing says to what they belong: left them out")
        if salvaged.again:
            done.append(f"{salvaged.again:,} files are read when their folders are next indexed")
    with open_index(path, create=False) as index:
        mended = index.admin.repair(progress)
        closed = close_to_others(path)
    problems = (*mended.problems, *exposure(path))
    return replace(mended, done=(*done, *mended.done, *closed), problems=problems, original=damaged_file)


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore: the path of the index, the copy, and the new path of the former index.

    `problems` are those of an index that is not damaged, such as vectors that were still to be made.
    """

    path: str
    copy: str
    documents: int
    previous: str | None = None
    problems: tuple[Problem, ...] = ()


def restore(copy: str | Path, path: str | Path) -> Restored:
    """Restore the index at a path, which may not exist, from a copy by `Index.admin.backup`.

    The copy is checked first and stays as it is; the replaced index is kept next to it. A copy of an older version is
    brought up to date. Raises `DamagedIndex` for a
    copy that is damaged, `NotAnIndex` and `NewerIndex` for another file or version, `InvalidArgument` for the index
    itself, and `Busy` while a process has the index open. Then nothing was changed.
    """
    documents = 0
    problems: list[Problem] = []

    def check(new: Path) -> None:
        nonlocal documents
        with open_index(new) as index:
            problems.extend(index.admin.check())
            documents = index.status().documents
        for each in problems:
            if each.is_damage:
                raise DamagedIndex(each.what)

    former = restore_store(copy, path, check)
    return Restored(str(path), str(copy), documents, str(former) if former else None, tuple(problems))


def _can_be_read(path: str | Path) -> bool:
    try:
        return not any(problem.unreadable for problem in diagnose(path))
    except NotAnIndex:
        return False
