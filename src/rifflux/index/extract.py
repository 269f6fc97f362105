"""Extracting collections of an index into one that can be handed on: what everybody may read, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rifflux.errors import Cure, InvalidArgument, OutOfScope
from rifflux.service.accounts import Accounts
from rifflux.service.collections import readable_by_everyone
from rifflux.service.registry import Registry
from rifflux.session.policies import FACTS, HYBRID_SEARCH, LICENSES, STORED_AS
from rifflux.session.session import IndexView
from rifflux.session.vectors import SETTING
from rifflux.store import REVISION, Store, open_store, seal
from rifflux.types import LICENSED, Progress
from rifflux.types.temporary import temporary_folder

#: The settings that results depend on; others reveal locations or people.
_SETTINGS = frozenset(
    {"language", "mathematics", REVISION, "fusion", "features", "components", "facets", SETTING}
    | {STORED_AS + name for name in (FACTS, HYBRID_SEARCH, LICENSES)}
)
#: The folder, beside the extracted index, of models that are folders.
MODELS = "models"


@dataclass(frozen=True, slots=True)
class Issued:
    """A token of an extracted index: its user and its text, which is empty for a new one."""

    user: str
    role: str
    token: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """An extracted index: its file, contents, tokens and requirements.

    `left_out` counts works whose license does not permit distribution, `models` are folders by their names in the
    index, `without_vectors` names a model that cannot be distributed.
    """

    path: str
    bytes: int
    collections: tuple[str, ...]
    documents: int
    chunks: int
    left_out: int
    model: str
    models: dict[str, str]
    without_vectors: str
    tokens: tuple[Issued, ...]


def extract(
    view: IndexView,
    path: str | Path,
    collections: Sequence[str] = (),
    *,
    tokens: Sequence[Issued] = (),
    former: str | Path | None = None,
    progress: Progress | None = None,
) -> Extracted:
    """Copy collections to a new read-only index file with these tokens, and those of a `former` one.

    By default they are those shared with everyone and those of nobody; no others can be named. Each token reads all of
    them. Raises `NotFound`, `InvalidArgument` if they are empty, `UnusableIndex` if the file cannot be written (it is
    removed then), and `OutOfScope` in a scope.
    """
    if view.scope:
        raise OutOfScope("what leaves the index is no single user's to decide: ask an administrator")
    target = Path(path).expanduser()
    files = view.session.store.local
    if files is None:
        raise InvalidArgument("this index is not a file, which collections could be copied from")
    chosen = [each for each in view.rights.public(collections) if collections or _holds(view, each.owner)]
    if not chosen:
        raise InvalidArgument(
            "there is nothing to export: nothing belongs to nobody, and nothing is shared with everyone",
            cure=Cure.PUBLISH,
        )
    visible = replace(view.profile.visible, store=view.session.store)
    known = view.session.store.semantic.model()
    spec, models = _portable(known.spec) if known and known.backend != "custom" else (None, {})
    left_out = files.extract(
        target,
        [each.owner for each in chosen],
        readable_by_everyone(each.record for each in chosen),
        settings=_SETTINGS,
        may_leave=lambda namespace, license: (
            not namespace.startswith(LICENSED) or visible.licensed(license).name == "TEXT"
        ),
        model=spec,
        progress=progress,
    )
    try:
        with closing(open_store(target, create=False)) as store:
            totals = store.of(*(each.owner for each in chosen)).totals()
            accounts = Accounts(Registry(store), view.session.now)
            if former:
                _carry_over_tokens(store, former, target)
            issued = [replace(each, token=accounts.create(each.user, each.role)[1]) for each in tokens]
            if store.local:
                store.local.build()
        seal(target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return Extracted(
        str(target), target.stat().st_size, tuple(each.label for each in chosen), totals.documents, totals.chunks,
        left_out, known.name if known and spec else "", models, known.name if known and not spec else "", tuple(issued),
    )  # fmt: skip


def _holds(view: IndexView, owner: str) -> bool:
    return view.session.store.of(owner).totals().documents > 0


def _carry_over_tokens(store: Store, former: str | Path, target: Path) -> None:
    """Copy the valid tokens of another index, which is only read."""
    with temporary_folder(f"{target.name}.", target.parent) as folder:
        copy = shutil.copyfile(former, folder / "former.db")
        with closing(open_store(copy, create=False)) as other:
            for token in Registry(other).tokens():
                found = Registry(other).token(token.id)
                if found and token.revoked_at is None:
                    Registry(store).put_token(*found)


def _portable(spec: str) -> tuple[str, dict[str, str]]:
    """Return the spec of a model whose folders are next to the index, and these folders by name."""
    from rifflux.models.loading import parts_of

    models: dict[str, str] = {}
    parts = parts_of(spec)
    for number, part in enumerate(parts):
        if (folder := Path(part).expanduser()).is_dir():
            parts[number] = f"{MODELS}/{number}-{folder.resolve().name}"
            models[parts[number]] = str(folder.resolve())
    return "+".join(parts), models
