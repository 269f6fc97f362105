"""What is remembered of a user: saved if it matters, superseded with its history, forgotten in time."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rifflux.errors import InvalidArgument, ModelError, NotFound
from rifflux.memories.profile import Recall
from rifflux.retrieve.steps.diversity import resemblance
from rifflux.retrieve.steps.rerank.stage import Rerank
from rifflux.session.arguments import checked_text, checked_whole
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView
from rifflux.session.writing import Writer
from rifflux.text.dates import parse_time
from rifflux.types import Bound, Document, Filter, Hit, Trace, Vectors

__all__ = ["MEMORIES", "Memories", "Memory", "Recalled", "Rules", "Saved"]

#: The namespace that memories are kept in, and the kind of their documents.
MEMORIES, KIND = "memories", "memory"
_DAY = 86_400.0
LONGEST = 4_000
MOST_FOUND = 100
#: How a save ended.
SAVED, DUPLICATE, REFUSED = "saved", "duplicate", "refused"


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing to remember. `importance` is from 1 to 10, `confidence` from 0 to 1; times are seconds since 1970.

    `expires_at` is None for one that is kept for good, `superseded_by` the id of the memory that took its place.
    `source` is where it came from, such as a message's id. `version` counts how often it was confirmed or changed,
    `uses` how often it was recalled.
    """

    id: str
    content: str
    category: str = "fact"
    importance: int = 7
    confidence: float = 1.0
    created_at: float = 0.0
    updated_at: float = 0.0
    expires_at: float | None = None
    superseded_by: str | None = None
    source: str | None = None
    version: int = 1
    uses: int = 0
    used_at: float | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """How saving ended: `saved`, `duplicate` (the memory that was there is confirmed) or `refused`, with the reason.

    `degraded` says why a memory that is kept has no vector yet: it is found by words.
    """

    outcome: str
    memory: Memory | None
    reason: str = ""
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """The memories that answer a question, best first, each with the hit that explains it, and how they were found."""

    memories: tuple[tuple[Memory, Hit], ...]
    trace: Trace


@dataclass(frozen=True, slots=True)
class Rules:
    """What is worth keeping, for how long, and what is taken for the same.

    Memories of less than `least_importance` or `least_confidence` are refused; the latter holds when searching too.
    `days_to_live` is by category, for those that are not given an expiry; others are kept for good. Expired memories
    are deleted `purge_after_days` later. `same_cosine` and `same_words` are how alike, by vectors or by runs of three
    words, two memories are that say the same.
    """

    least_importance: int = 7
    least_confidence: float = 0.7
    days_to_live: Mapping[str, float] = field(default_factory=lambda: {"context": 7.0, "task": 30.0, "event": 180.0})
    purge_after_days: float = 90.0
    same_cosine: float = 0.95
    same_words: float = 0.8


class Memories:
    """The memories of one user, in a view of the part of the index that holds them."""

    def __init__(self, view: IndexView, rules: Rules | None = None, now: Callable[[], float] | None = None) -> None:
        self._view = view
        self._store = view.store
        self._searcher = Searcher(view)
        self.rules = rules or Rules()
        self._now = now or view.session.now

    # Saving

    def add(
        self,
        content: str,
        *,
        category: str = "fact",
        importance: int = 7,
        confidence: float = 1.0,
        expires_at: str | float | None = None,
        source: str | None = None,
        supersedes: str | None = None,
    ) -> Saved:
        """Remember something, unless it does not matter enough or is remembered already.

        `expires_at` is an ISO date or seconds since 1970. `supersedes` names a memory that this one takes the place of;
        its history stays. A near-duplicate is not saved twice: the memory that is there is confirmed, with the greater
        importance and confidence of both. Raises `InvalidArgument`, and `NotFound` for an unknown `supersedes`.
        """
        checked_memory(content, category, importance, confidence)
        now, category = self._now(), category.strip()
        memory = Memory(
            f"m{secrets.token_hex(8)}",
            content.strip(),
            category,
            importance,
            float(confidence),
            created_at=now,
            updated_at=now,
            expires_at=self._expiry(expires_at, category, now),
            source=source,
        )
        if reason := self._refusal(memory):
            return Saved(REFUSED, None, reason)
        old, view = self.get(supersedes) if supersedes else None, self._view.asking_once
        if old is None and (same := self._same(memory, view)):
            known = self._confirmed(same, memory)
            return Saved(DUPLICATE, known, "remembered already", _save(view, known))
        if old is None:
            degraded = _save(view, memory)
        else:
            memory = replace(memory, version=old.version + 1)
            degraded = _save(view, memory, replace(old, superseded_by=memory.id, updated_at=memory.created_at))
        self.purge()
        return Saved(SAVED, memory, degraded=degraded)

    def _expiry(self, given: str | float | None, category: str, now: float) -> float | None:
        if isinstance(given, str):
            return parse_time(given).timestamp()
        if given is None:
            days = self.rules.days_to_live.get(category)
            return None if days is None else now + days * _DAY
        if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
            raise InvalidArgument(f"expires_at is a date or seconds since 1970, not {given!r}: leave it out for none")
        return float(given)

    def _refusal(self, memory: Memory) -> str:
        rules = self.rules
        if memory.importance < rules.least_importance:
            return f"importance {memory.importance} is below {rules.least_importance}"
        if memory.confidence < rules.least_confidence:
            return f"confidence {memory.confidence:g} is below {rules.least_confidence:g}"
        return ""

    def _same(self, memory: Memory, view: IndexView) -> Memory | None:
        """Return a memory that is in force and says the same."""
        candidates = Searcher(view).search(_plain(memory.content), top_k=5, filter=self._in_force(memory.category))
        if not candidates:
            return None
        ids = np.array([int(hit.chunk_id, 16) for hit in candidates], np.int64)
        vectors = self._store.semantic.vectors_of(ids)
        vector = _vector(view, memory.content) if vectors else None
        for id, hit in zip(ids.tolist(), candidates, strict=True):
            near = vector is not None and id in vectors and float(vectors[id] @ vector) >= self.rules.same_cosine
            if near or resemblance(memory.content, hit.content) >= self.rules.same_words:
                return self._with_uses([_memory(hit.document, hit.content, hit.metadata)])[0]
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

    # Recalling

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        category: str | None = None,
        rerank: str | None = None,
        deadline_ms: float | None = None,
    ) -> Recalled:
        """Return the memories that answer a question best, and count them as used.

        Those that are expired, superseded or doubtful are left out before anything is ranked. The first 20 are
        reranked, by `llm` where its endpoint is set, else by likeness, recency, use and importance (`recall`), or by
        what `rerank` names. What a model has not done within `deadline_ms` of the call is left out.
        """
        checked_whole("limit", limit, 1, MOST_FOUND)
        chosen = rerank or ("llm" if self._view.session.has_llm else self._recall())
        found = self._searcher.search(
            query, top_k=limit, filter=self._in_force(category), rerank=chosen, deadline_ms=deadline_ms
        )
        memories = self._with_uses(_memory(hit.document, hit.content, hit.metadata) for hit in found)
        self._store.catalog.note_uses(MEMORIES, [memory.id for memory in memories], self._now())
        return Recalled(tuple(zip(memories, found, strict=True)), found.trace)

    def _recall(self) -> Rerank:
        view = self._view
        return view.kept(
            ("recall", self._now),
            lambda: Rerank(Recall(view.resources, self._uses, now=self._now), workers=view.session.workers),
        )

    def _uses(self, hits: Sequence[Hit]) -> Sequence[int]:
        """Return how often each memory was recalled."""
        known = self._store.catalog.uses(MEMORIES, [hit.document for hit in hits])
        return [known.get(hit.document, (0, 0.0))[0] for hit in hits]

    def _in_force(self, category: str | None = None) -> Filter:
        """Return the filter that keeps out the doubtful, expired and superseded; one without confidence is trusted."""
        return Filter(
            kinds=(KIND,),
            metadata={"category": category} if category else {},
            bounds=(Bound("confidence", least=self.rules.least_confidence), Bound("expires_at", least=self._now())),
            without=("superseded_by",),
        )

    def get(self, id: str) -> Memory:
        """Return a memory by its id, in force or not. Raises `NotFound`."""
        document = self._store.catalog.document(MEMORIES, checked_text("the id of a memory", id))
        if document is None:
            raise NotFound(f"no memory {id!r}: take an id from 'rifflux memories list'")
        return self._with_uses([_memory(document.key, document.text, document.metadata)])[0]

    def all(self, *, category: str | None = None, everything: bool = False) -> list[Memory]:
        """Return the memories in force, the newest first; `everything` lists the others too."""
        filter = Filter(kinds=(KIND,), metadata={"category": category} if category else {})
        documents = self._store.catalog.documents(MEMORIES, filter if everything else self._in_force(category))
        found = self._with_uses(_memory(each.key, each.text, each.metadata) for each in documents)
        return sorted(found, key=lambda memory: (-memory.created_at, memory.id))

    def history(self, id: str) -> list[Memory]:
        """Return a memory and those that it took the place of, the newest first. Raises `NotFound`."""
        before = {memory.superseded_by: memory for memory in self.all(everything=True)}
        found = [self.get(id)]
        while earlier := before.get(found[-1].id):
            found.append(earlier)
        return found

    def forget(self, *ids: str) -> int:
        """Delete memories for good; returns how many. Raises `NotFound` before deleting any."""
        for id in ids:
            self.get(id)
        return self._store.catalog.remove(MEMORIES, ids)

    def purge(self) -> int:
        """Delete what expired long enough ago; returns how many."""
        until = self._now() - self.rules.purge_after_days * _DAY
        old = Filter(kinds=(KIND,), bounds=(Bound("expires_at", most=until, missing=False),))
        ids = [document.key for document in self._store.catalog.documents(MEMORIES, old)]
        return self._store.catalog.remove(MEMORIES, ids) if ids else 0

    def _with_uses(self, memories: Iterable[Memory]) -> list[Memory]:
        found = list(memories)
        known = self._store.catalog.uses(MEMORIES, [memory.id for memory in found])
        uses = (known.get(memory.id, (0, None)) for memory in found)
        return [replace(memory, uses=n, used_at=last) for memory, (n, last) in zip(found, uses, strict=True)]


def _save(view: IndexView, *memories: Memory) -> tuple[str, ...]:
    """Store memories; returns why they have no vector, where that is so."""
    return Writer(view).put_at_once(MEMORIES, [*map(_document, memories)]).degraded


def _vector(view: IndexView, text: str) -> Vectors | None:
    """Return the vector of a text as it is stored, None where the model fails."""
    try:
        return np.asarray(view.embedder.hurried.embed_documents([text])[0])
    except ModelError:
        return None


def checked_memory(content: str, category: str, importance: int, confidence: float) -> None:
    """Refuse what is no memory."""
    if not isinstance(content, str) or not content.strip() or len(content) > LONGEST:
        raise InvalidArgument(f"a memory is a text of 1 to {LONGEST} characters")
    if not isinstance(category, str) or not category.strip() or len(category) > 100:
        raise InvalidArgument("a category is a name of 1 to 100 characters, such as fact, preference or task")
    checked_whole("importance", importance, 1, 10)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise InvalidArgument(f"confidence is a number from 0 to 1, not {confidence!r}")


_STORED = ("category", "importance", "confidence", "expires_at", "superseded_by", "source", "version")


def _document(memory: Memory) -> Document:
    metadata = {name: getattr(memory, name) for name in _STORED if getattr(memory, name) is not None}
    return Document(
        memory.id,
        memory.content,
        kind=KIND,
        created_at=_iso(memory.created_at),
        updated_at=_iso(memory.updated_at),
        metadata=metadata | {"created": memory.created_at, "updated": memory.updated_at},
    )


def _memory(id: str, content: str, metadata: Mapping[str, Any]) -> Memory:
    stored = {name: metadata[name] for name in _STORED if name in metadata}
    return Memory(id, content, created_at=metadata["created"], updated_at=metadata["updated"], **stored)


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def _plain(text: str) -> str:
    """Return a text as a question: without what would be read as syntax."""
    return " ".join(text.replace('"', " ").replace("*", " ").split()[:64])
