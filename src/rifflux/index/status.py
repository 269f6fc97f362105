"""The status of an index: its contents, its setup and its shortcomings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rifflux import kernels
from rifflux.errors import Cure
from rifflux.index.collections import CollectionInfo, Collections
from rifflux.ingest.sync import Languages, exclusions, removed
from rifflux.retrieve.fuse import Adaptive
from rifflux.session.freshness import left_out_kinds, unopened_files
from rifflux.session.maintenance import Maintenance
from rifflux.session.policies import Policies
from rifflux.session.session import IndexView
from rifflux.store import PART, Generation, Totals
from rifflux.types import Failure, Freshness, Notice, visible_namespace

#: The maximum number of files that could not be read which a status names.
MOST_UNREADABLE = 1_000


@dataclass(frozen=True, slots=True)
class VectorReport:
    """Statistics of the vectors in use, read from the index itself, and their effect on ranking.

    `noise` is the mean cosine of two passages at random, `spread` its standard deviation, `reach` how far above the
    noise the nearest passages are. `agreement` is how well vectors and words agree on what is like a passage, from .5
    to 1; None where it was not measured. `weight` is the weight of meaning in prose before a question is looked at,
    None where the fusion does not depend on it. `sampled` is the number of passages that were looked at.
    """

    noise: float
    spread: float
    reach: float
    agreement: float | None
    weight: float | None
    sampled: int


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds and how it is set up. `bytes` is the size of its file and log, 0 in memory and in a scope.

    `switching` is the generation of vectors that is built while the index is being switched to another model.
    `vectors` are what was read of the vectors in use, None where they say nothing yet.
    `freshness` says how far it may be behind its files, `degraded` why answers are not what they could be.
    `collections` are those that the caller has or reads, all of which the rest counts. `conversations`, `messages` and
    `memories` are the user's, or in no scope those of all users; documents do not count them. `state` is the file that
    keeps what users do where the index is only read; empty without one, and in a scope. `language` is that of the
    index, `languages` are those of its documents, and `root_languages` those that folders and files were given.
    `unreadable_files` are the first of those that could not be read, with the reason, and `failed_kinds` counts all of
    them by its kind.
    `left_out` counts the files of the caller's own folders that are not read, by their kind, as of the last run that
    looked at all of a folder; `exclusions` are the patterns of what is left out of each of them, and `removed` those of
    what was removed from the index and stays out of it until it is named again. `kernels` says what the
    inner loops of a search are computed by.
    """

    path: str
    documents: int
    chunks: int
    embedded_chunks: int
    files: int
    embedding_model: str
    embedding_backend: str
    roots: tuple[str, ...]
    schema_version: int
    profile: str
    language: str
    facets: tuple[str, ...]
    bytes: int
    read_only: bool
    unreadable_files: tuple[Failure, ...]
    failed_kinds: Mapping[str, int]
    switching: Generation | None = None
    vectors: VectorReport | None = None
    freshness: Freshness | None = None
    degraded: tuple[Notice, ...] = ()
    collections: tuple[CollectionInfo, ...] = ()
    conversations: int = 0
    messages: int = 0
    memories: int = 0
    state: str = ""
    languages: tuple[str, ...] = ()
    root_languages: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    exclusions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kernels: str = ""


def personal_counts_of(view: IndexView) -> Mapping[str, int]:
    """Count the conversations, messages and memories of the user of a view, or of all users where it is nobody's."""
    from rifflux.conversations import Conversations
    from rifflux.conversations.profile import CONVERSATIONS
    from rifflux.memories import Memories
    from rifflux.memories.profile import MEMORIES

    counts = Counter(conversations=0, messages=0, memories=0)
    owners = [each.owner for each in view.store.views()]
    if talking := [owner for owner in owners if owner.endswith(f"{PART}{CONVERSATIONS.name}")]:
        together = replace(view, store=view.store.of(*talking))
        counts.update(Conversations(together, Policies(view.store)).counts())
    if remembering := [owner for owner in owners if owner.endswith(f"{PART}{MEMORIES.name}")]:
        counts["memories"] += Memories(replace(view, store=view.store.of(*remembering))).count()
    return counts


def status_of(view: IndexView) -> Status:
    """Return the status of a view."""
    own = view.store
    scope = view.scope
    view = view.reading()
    store = view.store
    totals = store.totals()
    model = store.semantic.model()
    freshness = view.freshness_now()
    roots = store.catalog.roots()
    embedder = model or view.embedder
    own_stores = [view.session.store.of(owner) for owner in store.owners if view.owns(owner)]
    unreadable: list[Failure] = []
    failed_kinds: Counter[str] = Counter()
    for root in roots:
        failed = [state for state in store.catalog.files(root) if state.problem]
        failed_kinds.update(state.problem_kind for state in failed)
        if failed:
            name = view.visible_roots([root])[0]
            unreadable += (
                Failure(f"{name}/{state.path}", state.problem or "", kind=state.problem_kind)
                for state in failed[: MOST_UNREADABLE - len(unreadable)]
            )
    unopened = unopened_files(own_stores)
    failed_kinds.update(each.kind for each in unopened)
    unreadable += unopened[: MOST_UNREADABLE - len(unreadable)]
    return Status(
        path=view.session.path,
        documents=totals.documents,
        chunks=totals.chunks,
        embedded_chunks=totals.embedded,
        files=totals.files,
        embedding_model=embedder.name,
        embedding_backend=embedder.backend,
        roots=view.visible_roots(roots),
        schema_version=store.schema_version,
        profile=view.profile.name,
        language=view.profile.language,
        languages=tuple(sorted({each or view.profile.language for each in totals.languages})),
        root_languages=_root_languages(view),
        facets=view.facets,
        # The size of the file would show how much others hold.
        bytes=0 if scope else _bytes(view.session.path),
        read_only=store.read_only,
        state="" if scope or not view.session.store.local else view.session.store.local.state,
        unreadable_files=tuple(unreadable),
        failed_kinds=dict(failed_kinds),
        vectors=vector_report(view),
        switching=None if scope else Maintenance(replace(view, store=own)).switching(),
        freshness=freshness,
        degraded=(
            *view.outdated,
            *_shortcomings(view, totals, freshness),
            *(store.local.troubles() if store.local else ()),
            *(store.local.notices() if store.local else ()),
        ),
        collections=tuple(Collections(view).list()),
        left_out=left_out_kinds(own_stores),
        exclusions={root: tuple(patterns) for each in own_stores for root, patterns in exclusions(each).items()},
        removed={root: tuple(patterns) for each in own_stores for root, patterns in removed(each).items()},
        kernels=kernels.description,
        **personal_counts_of(replace(view, store=own)),
    )


def _root_languages(view: IndexView) -> Mapping[str, str]:
    """Return the languages that were given to folders and files, by their names for the caller."""
    found: dict[str, str] = {}
    for owner in view.store.owners:
        languages = Languages.of(view.session.store.of(owner)).by_path
        found |= {visible_namespace(path, owned=view.owns(owner)): language for path, language in languages.items()}
    return found


def vector_report(view: IndexView) -> VectorReport | None:
    """Return what was read of the vectors of a view; None where they say nothing yet."""
    scale = view.scale
    fusion = view.profile.fusion
    if scale is None:
        return None
    return VectorReport(
        noise=round(scale.noise, 4),
        spread=round(scale.spread, 4),
        reach=round(scale.reach, 4),
        agreement=None if scale.agreement is None else round(scale.agreement, 4),
        weight=round(fusion.weight_by(scale), 4) if isinstance(fusion, Adaptive) else None,
        sampled=scale.sampled,
    )


def _bytes(path: str) -> int:
    """Return the size of an index file with its log, into which everything is written first; 0 in memory."""
    files = [Path(path), Path(f"{path}-wal")]
    return sum(file.stat().st_size for file in files if file.is_file())


def _shortcomings(view: IndexView, totals: Totals, freshness: Freshness) -> Iterator[Notice]:
    """Yield a notice for each shortcoming."""
    if waiting := totals.chunks - totals.embedded:
        text = f"{waiting} of {totals.chunks} chunks have no vector yet"
        data = {"profile": view.profile.name, "chunks": totals.chunks, "missing": waiting}
        yield Notice("vectors.missing", text, view.profile.cure, data)
    if freshness.note:
        yield Notice("index.stale", freshness.note, Cure.INDEX)
    for root in freshness.missing_roots:
        text = f"{root} is gone, or not mounted: its files stay as they were read"
        yield Notice("root.missing", text, data={"root": root})
