"""A user's memories: saved if they matter, superseded with history, forgotten in time."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rifflux.errors import Cure, InvalidArgument, ModelError, NotFound
from rifflux.memories.model import (
    KIND,
    Memory,
    Recalled,
    Rules,
    Saved,
    checked_memory,
    memory_of,
    memory_row,
)
from rifflux.memories.profile import Recall
from rifflux.requests import MemoriesRequest, MemoryChanges, MemoryRequest, RecallRequest, takes
from rifflux.retrieve.steps.diversity import resemblance
from rifflux.retrieve.steps.rerank.stage import Rerank
from rifflux.session.arguments import checked_share, checked_text, checked_whole
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView
from rifflux.session.writing import Writer
from rifflux.store import DocumentUses, Removal, Selection
from rifflux.text.dates import parse_time
from rifflux.types import Bound, Filter, Hit, Notice, Vectors
from rifflux.types.nouns import iso_time

#: The namespace of memories.
MEMORIES = "memories"
_DAY = 86_400.0
#: The expiry of a memory that never expires.
NEVER = "never"
#: The outcomes of saving.
SAVED = "saved"
DUPLICATE = "duplicate"
REFUSED = "refused"


class Memories:
    """The memories of one user, over a view of the part of the index that holds them."""

    def __init__(self, view: IndexView, rules: Rules | None = None, now: Callable[[], float] | None = None) -> None:
        self._view = view
        self._store = view.store
        self._searcher = Searcher(view)
        self._writer = Writer(view)
        self.rules = rules or Rules()
        self._now = now or view.session.now

    # Saving

    @takes(MemoryRequest)
    def add(self, request: MemoryRequest) -> Saved:
        """Save a memory, unless it matters too little or is already known.

        `expires_at` is an ISO date, seconds since 1970, or `never`. `supersedes` is the id of a memory to replace; if
        that one was replaced already, its current replacement is. Replaced memories remain in the history. A
        near-duplicate of a memory in any category is not saved twice: the existing one is confirmed, with the greater
        importance and confidence of both. Raises `InvalidArgument`, and `NotFound` for an unknown `supersedes`.
        """
        checked_memory(request.text, request.category, request.importance, request.confidence)
        now = self._now()
        category = request.category.strip()
        memory = Memory(
            f"m{secrets.token_hex(8)}",
            request.text.strip(),
            category,
            request.importance,
            float(request.confidence),
            created_at=iso_time(now, "auto"),
            updated_at=iso_time(now, "auto"),
            expires_at=self._expiry(request.expires_at, category, now),
            source=request.source,
        )
        if reason := self._refusal(memory):
            return Saved(REFUSED, None, reason)
        view = self._view.embedding_once
        if request.supersedes:
            self.get(request.supersedes)
        elif same := self._same(memory, view):
            saved, degraded = self._save(view, self._confirmed(same, memory))
            return Saved(DUPLICATE, saved, "remembered already", degraded)
        saved, degraded = self._save(view, memory, request.supersedes)
        self.purge()
        return Saved(SAVED, saved, degraded=degraded)

    @takes(MemoryChanges)
    def edit(self, id: str, request: MemoryChanges) -> Memory:
        """Change the given fields of a memory, whether in force or not, and return it.

        `expires_at` is as in `add`; `never` removes an expiry. The rules are not applied again: a memory whose
        confidence is lowered is kept but not recalled. Raises `NotFound` and `InvalidArgument`.
        """
        given = {name: value for name, value in vars(request).items() if value is not None}
        if request.expires_at is not None:
            given["expires_at"] = self._moment(request.expires_at)
        with self._store.transaction():
            known = self.get(id)
            edited = replace(known, **given)
            checked_memory(edited.text, edited.category, edited.importance, edited.confidence)
            edited = replace(
                edited,
                text=edited.text.strip(),
                category=edited.category.strip(),
                confidence=float(edited.confidence),
            )
            if edited == known:
                return known
            edited = replace(edited, version=known.version + 1, updated_at=iso_time(self._now(), "auto"))
            changes = self._writer.put_now(MEMORIES, [memory_row(edited)])
        self._writer.embed_changes(changes)
        return edited

    def _expiry(self, given: str | float | None, category: str, now: float) -> str | None:
        if given is not None:
            return self._moment(given)
        days = self.rules.days_to_live.get(category)
        if days is None:
            return None
        return iso_time(now + days * _DAY, "auto")

    def _moment(self, given: str | float) -> str | None:
        """Return an expiry as ISO 8601, or None for never. Raises `InvalidArgument`."""
        if isinstance(given, str):
            if given.strip().lower() == NEVER:
                return None
            return iso_time(parse_time(given).timestamp(), "auto")
        if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
            raise InvalidArgument(
                f"expires_at is a date, seconds since 1970 or {NEVER!r}, not {given!r}: leave it out for the usual one"
            )
        return iso_time(float(given), "auto")

    def _refusal(self, memory: Memory) -> str:
        rules = self.rules
        if memory.importance < rules.least_importance:
            return f"importance {memory.importance} is below {rules.least_importance}"
        if memory.confidence < rules.least_confidence:
            return f"confidence {memory.confidence:g} is below {rules.least_confidence:g}"
        if memory.expires_at is not None and memory.expires_at < memory.created_at:
            return "it would have expired already: give a later expires_at, or none"
        return ""

    def _same(self, memory: Memory, view: IndexView) -> Memory | None:
        """Return a memory in force that says the same, or None."""
        candidates = Searcher(view).search(_plain(memory.text), top_k=5, filter=self.in_force())
        if not candidates:
            return None
        ids = np.array([int(hit.id, 16) for hit in candidates], np.int64)
        vectors = self._store.semantic.vectors_of(ids)
        if vectors:
            vector = _vector(view, memory.text)
        else:
            vector = None
        for id, hit in zip(ids.tolist(), candidates, strict=True):
            near = vector is not None and id in vectors and float(vectors[id] @ vector) >= self.rules.same_cosine
            if near or resemblance(memory.text, hit.text) >= self.rules.same_words:
                return self._with_uses([memory_of(hit.key, hit.text, hit.metadata)])[0]
        return None

    def _confirmed(self, known: Memory, again: Memory) -> Memory:
        expiries = (known.expires_at, again.expires_at)
        return replace(
            known,
            importance=max(known.importance, again.importance),
            confidence=max(known.confidence, again.confidence),
            expires_at=None if None in expiries else max(each for each in expiries if each is not None),
            version=known.version + 1,
            updated_at=again.created_at,
        )

    def _save(
        self, view: IndexView, memory: Memory, supersedes: str | None = None
    ) -> tuple[Memory, tuple[Notice, ...]]:
        """Store a memory, replacing `other` if given; return it and the reason why it has no vector."""
        with self._store.transaction():
            rows = [memory]
            if supersedes:
                old = self._head(supersedes)
                memory = replace(memory, version=old.version + 1)
                rows = [memory, replace(old, superseded_by=memory.id, updated_at=memory.created_at)]
            changes = self._writer.put_now(MEMORIES, (memory_row(row) for row in rows))
        return memory, Writer(view).embed_changes(changes).degraded

    def _head(self, id: str) -> Memory:
        """Return the current replacement of a memory: itself, if it was never superseded."""
        memory = self.get(id)
        seen = {id}
        while (next := memory.superseded_by) and next not in seen:
            seen.add(next)
            memory = self.get(next)
        return memory

    # Recalling

    @takes(RecallRequest)
    def search(self, request: RecallRequest) -> Recalled:
        """Return the memories that answer a question best, and count them as used.

        Memories that are expired, superseded, below `min_confidence` (by default the rules') or below `min_importance`
        are excluded before ranking. The first 20 are reranked: by `llm` if an endpoint is configured, otherwise by
        similarity, recency, use and importance (`recall`), or by the given `rerank`. `fusion` combines words and
        meaning as in a search of files; `rrf` fuses by ranks alone. Model work that exceeds `deadline_ms` is skipped.
        """
        chosen = request.rerank or ("llm" if self._view.session.has_llm else self._recall())
        active = self.in_force(request.category, request.min_importance, request.min_confidence)
        found = self._searcher.search(
            request.query,
            top_k=request.top_k,
            fusion=request.fusion,
            filter=active,
            rerank=chosen,
            deadline_ms=request.deadline_ms,
        )
        memories = self._with_uses(memory_of(hit.key, hit.text, hit.metadata) for hit in found)
        self._store.catalog.write(DocumentUses(MEMORIES, [memory.id for memory in memories], self._now()))
        return Recalled(tuple(zip(memories, found, strict=True)), found.trace)

    def _recall(self) -> Rerank:
        view = self._view
        return view.cached(
            ("recall", self._now, self._store.owner),
            lambda: Rerank(Recall(view.resources, self._uses, now=self._now), workers=view.session.workers),
        )

    def _uses(self, hits: Sequence[Hit]) -> Sequence[int]:
        """Return how often each memory was recalled."""
        known = self._store.catalog.uses(MEMORIES, [hit.key for hit in hits])
        return [known.get(hit.key, (0, 0.0))[0] for hit in hits]

    def in_force(
        self, category: str | None = None, importance: int | None = None, confidence: float | None = None
    ) -> Filter:
        """Return the filter that excludes doubtful, expired and superseded memories.

        A memory without a confidence is trusted.
        """
        if confidence is None:
            trusted = self.rules.least_confidence
        else:
            trusted = confidence
        filter = _filter_of(category, importance, trusted)
        return replace(filter, bounds=(*filter.bounds, Bound("expires_at", least=self._now())), without=_SUPERSEDED)

    def get(self, id: str) -> Memory:
        """Return a memory by id, whether in force or not. Raises `NotFound`."""
        document = self._store.catalog.document(MEMORIES, checked_text("the id of a memory", id))
        if document is None:
            raise NotFound(f"no memory {id!r}", cure=Cure.LIST, things="memories")
        return self._with_uses([memory_of(document.key, document.text, document.metadata)])[0]

    @takes(MemoriesRequest)
    def all(self, request: MemoriesRequest) -> list[Memory]:
        """Return the memories in force, newest first; `everything` includes the others."""
        bounds = (request.category, request.min_importance, request.min_confidence)
        if request.everything:
            filter = _filter_of(*bounds)
        else:
            filter = self.in_force(*bounds)
        rows = self._store.catalog.documents(Selection(MEMORIES, filter=filter), with_text=True)
        found = self._with_uses(memory_of(row.document.key, row.document.text, row.document.metadata) for row in rows)
        by_id = sorted(found, key=lambda memory: memory.id)
        return sorted(by_id, key=lambda memory: memory.created_at, reverse=True)

    def count(self) -> int:
        """Count all memories, whether in force or not."""
        return sum(count for _, count in self._store.catalog.values("namespace", Selection(MEMORIES)))

    def history(self, id: str) -> list[Memory]:
        """Return a memory and its predecessors, newest first. Raises `NotFound`."""
        before = {memory.superseded_by: memory for memory in self.all(everything=True)}
        found = [self.get(id)]
        while (earlier := before.get(found[-1].id)) and len(found) <= len(before):
            found.append(earlier)
        return found

    # Forgetting

    def forget(self, *ids: str) -> int:
        """Delete memories permanently and return how many. Raises `NotFound` before deleting any.

        Their predecessors are linked to their replacements; without a replacement a predecessor is in force again.
        """
        with self._store.transaction():
            for id in ids:
                self.get(id)
            return self._remove(set(ids))

    def purge(self) -> int:
        """Delete memories whose grace period after expiry is over, and return how many.

        A memory whose predecessor remains is not deleted, since the predecessor would come into force again.
        """
        until = self._now() - self.rules.purge_after_days * _DAY
        expiry = Bound("expires_at", most=until, missing=False)
        old = Selection(MEMORIES, filter=Filter(kinds=(KIND,), bounds=(expiry,)))
        if not any(self._store.catalog.documents(old, most=1)):
            return 0
        with self._store.transaction():
            links = {memory.id: memory.superseded_by for memory in self.all(everything=True)}
            expired = {row.document.key for row in self._store.catalog.documents(old)}
            expired -= {_last(id, links) for id in links if id not in expired and _left(id, links, expired) is None}
            return self._remove(expired)

    def _remove(self, ids: Collection[str]) -> int:
        """Delete memories and relink their predecessors."""
        known = {memory.id: memory for memory in self.all(everything=True)}
        links = {id: memory.superseded_by for id, memory in known.items()}
        rows = [
            memory_row(replace(memory, superseded_by=_left(id, links, ids)))
            for id, memory in known.items()
            if id not in ids and memory.superseded_by in ids
        ]
        self._writer.put_now(MEMORIES, rows)
        return self._store.catalog.write(Removal(MEMORIES, list(ids)))

    def _with_uses(self, memories: Iterable[Memory]) -> list[Memory]:
        found = list(memories)
        known = self._store.catalog.uses(MEMORIES, [memory.id for memory in found])
        counted: list[Memory] = []
        for memory in found:
            if memory.id in known:
                uses, last = known[memory.id]
                memory = replace(memory, uses=uses, used_at=iso_time(last, "auto"))
            counted.append(memory)
        return counted


_SUPERSEDED = ("superseded_by",)


def _filter_of(category: str | None, importance: int | None, confidence: float | None) -> Filter:
    """Return the filter for the given bounds. Raises `InvalidArgument`."""
    bounds = []
    if importance is not None:
        checked_whole("min_importance", importance, 1, 10)
        bounds.append(Bound("importance", least=importance))
    if confidence is not None:
        checked_share("min_confidence", confidence)
        bounds.append(Bound("confidence", least=confidence))
    return Filter(kinds=(KIND,), metadata={"category": category} if category else {}, bounds=tuple(bounds))


def _left(id: str, links: Mapping[str, str | None], deleted: Collection[str]) -> str | None:
    """Return the id that supersedes a memory after the given ones are deleted."""
    found = links.get(id)
    while found in deleted:
        found = links.get(found) if found else None
    return found


def _last(id: str, links: Mapping[str, str | None]) -> str:
    """Return the last memory of a chain of replacements."""
    while found := links.get(id):
        id = found
    return id


def _plain(text: str) -> str:
    """Return a text as a query without operator syntax."""
    return " ".join(text.replace('"', " ").replace("*", " ").split()[:64])


def _vector(view: IndexView, text: str) -> Vectors | None:
    """Return a text's vector in stored form, or None if the model fails."""
    try:
        return np.asarray(view.embedder.hurried.embed_documents([text])[0])
    except ModelError:
        return None
