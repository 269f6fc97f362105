"""A small world of our own: notes, code, two users with conversations and memories, works that cite each other.

Everything in it is made the same way each time: ids are counted instead of drawn, clocks stand still, files have fixed
dates, the model is the `hash` test embedder. `standing_still` is the one place that knows where the clocks are; where
one moves, it alone changes.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import rifflux
from rifflux import Document, Index, Scope
from rifflux.ingest import chunking as chunker
from rifflux.memories import Memories
from rifflux.models.hashing import HashEmbedder
from rifflux.session.policies import FACTS, HYBRID_SEARCH
from rifflux.types import Vectors
from rifflux.works.retrieval.stages import RetrievalSettings

__all__ = ["MAIN", "NOW", "WORKS", "World", "standing_still", "world"]

#: The names of the two indexes: of files and what users have, and of works.
MAIN, WORKS = "main", "works"
#: The time that it is: 2026-01-01, in seconds since 1970. Files are a year older, to the day.
NOW = 1_767_225_600.0
FILE_TIME = NOW - 365 * 86_400
MODEL = "hash:64"

NOTES = {
    "cache.md": """---
title: The cache
date: 2024-05-01
tags: [storage, speed]
author: ann
---
# Cache

Entries of the cache live ten minutes. After that they are expired, and read again from the store.

## Eviction

The oldest entry goes first when the cache is full. Pinned entries stay.

## Warming

After a restart the cache is warmed from the log of the last hour.
""",
    "cache-old.md": """---
title: The cache, as it was
date: 2021-03-09
tags: [storage]
author: bob
---
# Cache

Entries of the cache live ten minutes. After that they are expired, and read again from the store.

## History

The first cache had no limit and grew until the machine stopped.
""",
    "birds/heron.txt": "The heron stands in the river and waits. Herons eat fish, frogs and now and then a vole.",
    "birds/falcon.txt": "The falcon circles over the cliff. Its dive is the fastest move of any animal.",
    "birds/kingfisher.md": "# Kingfisher\n\nThe kingfisher dives for fish in the river.\n\n## Nest\n\nIn banks.\n",
    "cooking/bread.md": """---
title: Sourdough bread
date: 2023-11-20
tags: [kitchen, slow]
author: ann
---
# Sourdough bread

Feed the starter in the evening. Mix flour, water and salt in the morning.

## Baking

Bake at 240 degrees for forty minutes, the first twenty under a lid.

| step  | minutes |
|-------|---------|
| mix   | 15      |
| rest  | 240     |
| bake  | 40      |
""",
    "cooking/soup.md": "# Leek soup\n\nLeeks, potatoes and broth. Cook slowly, then blend. Café crème goes in last.\n",
    "travel/oslo.md": """---
title: A week in Oslo
date: 2025-06-14
tags: [travel]
---
# A week in Oslo

The night train from Copenhagen arrives at eight. The ferry to the islands leaves every half hour.

## What it cost

The train was 900 kroner, the room 1200 a night.
""",
    "meetings/2024-02-12.md": """---
date: 2024-02-12
tags: [work, storage]
---
# Meeting on storage

We decided that cache entries live ten minutes, not five. Error E1042 was a full disk, and ticket RFX-77 tracks it.

## Open questions

Who watches the disk at night? Nobody answered.
""",
    "long.md": "# Almanac\n" + "".join(
        f"\n## Day {n}\n\nOn day {n} the walrus spoke of tide {n * 7 % 13} and of the river.\n" for n in range(24)
    ),
    "facts.jsonl": "".join(
        json.dumps({"_id": f"f{n}", "title": f"Fact {n}", "text": text}) + "\n"
        for n, text in enumerate(("A vole weighs forty grams.", "The disk holds two terabytes.", "Leeks are alliums."))
    ),
    "code/cache.py": '''"""A cache whose entries expire."""

from time import monotonic


class TimedCache:
    """Keeps values for `ttl` seconds."""

    def __init__(self, ttl: float = 600.0, limit: int = 1000) -> None:
        self.ttl = ttl
        self.limit = limit
        self._entries: dict[str, tuple[float, object]] = {}

    def get_entry(self, key: str) -> object | None:
        """The value of a key, None if it expired."""
        born, value = self._entries.get(key, (0.0, None))
        return value if monotonic() - born < self.ttl else None

    def evict_oldest(self) -> None:
        """Drop the entry that was put first."""
        self._entries.pop(min(self._entries, key=lambda key: self._entries[key][0]))
''',
    "code/river.rs": '''/// A river and the birds at it.
pub struct River { pub birds: Vec<String> }

impl River {
    /// Count the herons.
    pub fn count_herons(&self) -> usize {
        self.birds.iter().filter(|bird| bird.as_str() == "heron").count()
    }
}
''',
    "code/evict.ts": '''// Evicts entries of a cache in the browser.
export function evictOldest(entries: Map<string, number>): void {
  const [oldest] = [...entries].sort((a, b) => a[1] - b[1])[0];
  entries.delete(oldest);
}
''',
}  # fmt: skip

SYNONYMS = "raptor, falcon\ntapestry => cache\n"


def _node(name: str, parent: str | None, children: list[str], role: str, text: str, time: float) -> dict[str, Any]:
    said = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}, "create_time": time}
    return {"id": name, "parent": parent, "children": children, "message": {"id": name, "recipient": "all", **said}}


#: An export of two conversations, one with a branch that was left.
EXPORT = [
    {
        "conversation_id": "talk-cache",
        "title": "How caches forget",
        "create_time": NOW - 40 * 86_400,
        "current_node": "n4",
        "mapping": {
            "n1": _node("n1", None, ["n2", "n5"], "user", "How long do cache entries live?", NOW - 3_456_000),
            "n2": _node("n2", "n1", ["n3"], "assistant", "Ten minutes, then they are evicted.", NOW - 3_455_940),
            "n3": _node("n3", "n2", ["n4"], "user", "And who decided that?", NOW - 3_455_880),
            "n4": _node("n4", "n3", [], "assistant", "The meeting on storage in February.", NOW - 3_455_820),
            "n5": _node("n5", "n1", [], "assistant", "A quokka would know.", NOW - 3_455_930),
        },
    },
    {
        "conversation_id": "talk-oslo",
        "title": "Trains to Oslo",
        "create_time": NOW - 20 * 86_400,
        "is_archived": True,
        "current_node": "m2",
        "mapping": {
            "m1": _node("m1", None, ["m2"], "user", "Which night train goes to Oslo?", NOW - 1_728_000),
            "m2": _node("m2", "m1", [], "assistant", "The one from Copenhagen arrives at eight.", NOW - 1_727_940),
        },
    },
]
MESSAGES = {
    "id": "talk-bread",
    "title": "Bread that rises",
    "messages": [
        {"role": "user", "content": "My bread is flat. Why?", "created_at": "2025-02-01T08:00:00Z"},
        {
            "role": "assistant",
            "content": "The starter was hungry: feed it twice.",
            "created_at": "2025-02-01T08:01:00Z",
        },
        {"role": "user", "content": "And the river by the mill?", "created_at": "2025-02-01T08:02:00Z"},
        {"role": "assistant", "content": "Its cache of flour is dry.", "created_at": "2025-02-01T08:03:00Z"},
    ],
}

MINE: Mapping[str, tuple[Document, ...]] = {
    "ann": (
        Document("plan", "Plan for the cache: measure first, then evict less.", "Plan", "note", "2025-01-10",
                 metadata={"tags": "storage", "priority": 2}),
        Document("todo", "Buy leeks, flour by Friday.", "Shopping", "task", "2025-03-02", metadata={"priority": 1}),
        Document("kb", "A cache entry lives ten minutes. This is how our store expires entries.", "Expiry", "knowledge",
                 "2024-12-01"),
        Document("nest", "The kingfisher nests in the river bank.", "Nest", "note", "2022-04-05"),
    ),
    "bob": (
        Document("plan", "Bob photographs the falcon at the cliff and a kestrel.", "Plan", "note", "2025-01-11"),
        Document("todo", "Charge the camera for the kestrel.", "Camera", "task", "2025-03-03"),
    ),
}  # fmt: skip

REMEMBERED: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "ann": (
        {"text": "Ann takes her tea without milk", "category": "preference", "importance": 8},
        {"text": "Ann lives in Oslo by the river", "importance": 9},
        {"text": "Ann has a train to Copenhagen on Friday", "category": "event", "expires_at": "2027-01-01"},
        {"text": "Ann is allergic to hazelnuts", "importance": 10, "source": "talk-bread"},
        {"text": "Ann likes coffee less than tea", "category": "preference", "confidence": 0.8},
        {"text": "It rained", "importance": 3},
        {"text": "Ann takes her tea without milk!", "category": "preference"},
    ),
    "bob": ({"text": "Bob takes his tea with a kestrel", "category": "preference"},),
}

SHELF: tuple[Mapping[str, Any], ...] = (
    {"_id": "sheaves", "title": "Sheaf cohomology of spaces", "abstract": "Sheaf cohomology by injective resolutions.",
     "authors": ["Able, Ann"], "year": 2010, "doi": "10.1000/sheaves", "cites": ["tohoku"],
     "categories": "math.AG math.AT", "licence": "CC-BY-4.0", "venue": "Annals of Tests"},
    {"_id": "tohoku", "title": "Sur quelques points", "abstract": "Abelian categories and derived functors.",
     "authors": ["Groth, Alex"], "year": 1957, "doi": "10.1000/tohoku", "licence": "CC0-1.0", "msc": ["18G10"]},
    {"_id": "etale", "title": "Etale cohomology of schemes", "abstract": "Etale cohomology, finiteness and traces.",
     "authors": ["Best, Bob", "Able, Ann"], "year": 2015, "doi": "10.1000/etale",
     "cites": ["tohoku", "sheaves", "closed"], "categories": "math.AG", "licence": "CC-BY-4.0",
     "venue": "Annals of Tests", "passages": [
         {"heading": "Finiteness", "kind": "theorem", "text": "Theorem 2.1. Cohomology of a proper scheme is finite."},
         {"heading": "Traces", "text": "The trace formula counts points of schemes."}]},
    {"_id": "sorting", "title": "Sorting by heaps", "abstract": "Heapsort and quicksort are compared on random keys.",
     "authors": ["Cole, Cy"], "year": 1994, "arxiv": "cs/9401001", "categories": "cs.DS", "licence": "CC-BY-SA-4.0"},
    {"_id": "quick", "title": "Quicksort in the mean", "abstract": "The mean number of comparisons by quicksort.",
     "authors": ["Cole, Cy"], "year": 2003, "cites": ["sorting"], "categories": "cs.DS", "licence": "CC-BY-4.0"},
    {"_id": "closed", "title": "Closed cohomology notes", "abstract": "Cohomology of closed things, a zyzzyva text.",
     "authors": ["Dale, Di"], "year": 2012, "doi": "10.1000/closed", "cites": ["sheaves"], "categories": "math.AT"},
    {"_id": "primer", "title": "A primer of homological algebra", "abstract": "An introduction to complexes, "
     "resolutions and derived functors for readers of sheaf cohomology.", "authors": ["Ender, Eve"], "year": 1999,
     "licence": "CC-BY-4.0", "doi": "10.1000/primer", "cites": ["tohoku"], "type": "book"},
    {"_id": "erratum", "title": "Erratum to sheaf cohomology", "abstract": "A sign in the sheaf cohomology of spaces.",
     "authors": ["Able, Ann"], "year": 2011, "type": "erratum", "cites": ["sheaves"], "licence": "CC-BY-4.0"},
    {"_id": "sheaves2", "title": "Sheaf cohomology of spaces", "abstract": "Other words by somebody else on sheaves.",
     "authors": ["Zed, Zoe"], "year": 1988, "licence": "CC-BY-4.0", "doi": "10.1000/zed"},
)  # fmt: skip
BIBTEX = """@article{ring, title={Rings of caches}, author={Able, Ann}, year={2020}, doi={10.2000/ring},
 abstract={Rings whose elements are caches.}, license={CC-BY-4.0}, journal={Journal of Rings}}
@book{dark, title={Dark rings}, author={Dale, Di}, year={2018}, abstract={Rings that nobody may read of.}}
"""
BOBS = """@article{kestrel, title={Kestrels and rings}, author={Best, Bob}, year={2021}, license={CC0-1.0},
 abstract={A kestrel wears a ring.}}
"""


CALIBRATION = {"intercept": -3.0, "weights": {"cosine": 6.0, "coverage": 2.0, "title": 1.0}}


@dataclass(frozen=True)
class Model(HashEmbedder):
    """The hash embedder with vectors of tokens, and with a folder that holds a calibration: for Python and HTTP."""

    folder: str = ""

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text's tokens."""
        return [self.embed_documents(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


@dataclass(frozen=True)
class World:
    """The folder that all is in, and the open indexes by name."""

    folder: Path
    indexes: Mapping[str, Index]

    def index(self, name: str = MAIN, user: str = "") -> Index:
        """An index as a user has it; '' is nobody in particular."""
        index = self.indexes[name]
        return index.scoped(Scope(user)) if user else index

    def path(self, name: str) -> Path:
        """Where an index is."""
        return self.folder / f"{name}.db"

    @property
    def synonyms(self) -> Path:
        """A file of synonyms."""
        return self.folder / "synonyms.txt"


@contextmanager
def standing_still(folder: Path) -> Iterator[None]:
    """Stop the clocks, count ids instead of drawing them, and give citations and scores all the time they need.

    The ids of chunks of files depend on where these are: here, on where they are in the folder.
    """
    counter, chunk_id = itertools.count(1), chunker.chunk_id
    year = int(1970 + NOW // 31_556_952)

    def id_in_folder(identity: str, *rest: Any) -> int:
        return chunk_id(identity.replace(str(folder), "(folder)"), *rest)

    with ExitStack() as stack:
        stack.enter_context(patch.object(chunker, "chunk_id", id_in_folder))
        stack.enter_context(patch.object(secrets, "token_hex", lambda size=8: f"{next(counter):0{2 * size}x}"))
        stack.enter_context(patch.object(Memories.__init__, "__defaults__", (None, lambda: NOW)))
        stack.enter_context(patch.object(RetrievalSettings.__init__, "__defaults__", (60_000.0, 60_000.0, year, ())))
        yield


@contextmanager
def world(folder: Path, moved: Callable[[Path], None] | None = None) -> Iterator[World]:
    """Make the world in an empty folder; closed at the end. `moved` may put another index in the place of each."""
    for name, text in NOTES.items():
        path = folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        os.utime(path, (FILE_TIME, FILE_TIME))
    (folder / "synonyms.txt").write_text(SYNONYMS, "utf-8")
    model = Model(folder=str(folder))
    (folder / "relevance.json").write_text(json.dumps({"fingerprint": model.fingerprint, **CALIBRATION}), "utf-8")
    with standing_still(folder):
        with _opened(folder, model) as made:
            _fill_main(made)
            _fill_works(made)
            if moved is None:
                yield made
                return
        for name in (MAIN, WORKS):
            moved(folder / f"{name}.db")
        with _opened(folder, model) as made:
            yield made


@contextmanager
def _opened(folder: Path, model: Model) -> Iterator[World]:
    with ExitStack() as stack:
        indexes = {
            name: stack.enter_context(rifflux.open(folder / f"{name}.db", model=model, profile=profile))
            for name, profile in ((MAIN, "files"), (WORKS, "works"))
        }
        yield World(folder, indexes)


def _fill_main(made: World) -> None:
    index = made.index()
    index.policies.set(HYBRID_SEARCH, True)
    index.policies.set(FACTS, "nobody")
    index.admin.declare_facets("author", "tags")
    assert not index.add(made.folder / "notes", processes=1).failed
    for user, documents in MINE.items():
        made.index(user=user).add(*documents)
    exports = {"export.json": EXPORT, "bread.json": MESSAGES}
    for name, told in exports.items():
        (made.folder / name).write_text(json.dumps(told), "utf-8")
    made.index(user="ann").conversations.import_files(made.folder / "export.json", project="home")
    for user in ("ann", "bob"):
        made.index(user=user).conversations.import_files(made.folder / "bread.json")
    for user, memories in REMEMBERED.items():
        for memory in memories:
            made.index(user=user).memories.add(**memory)
    made.index(user="ann").works.import_text(BIBTEX, source="refs", format="bibtex")
    made.index(user="bob").works.import_text(BOBS, source="refs", format="bibtex")


def _fill_works(made: World) -> None:
    made.index(WORKS).policies.set(FACTS, "nobody")
    text = "\n".join(map(json.dumps, SHELF))
    assert made.index(WORKS).works.import_text(text, source="shelf", format="jsonl").added == len(SHELF)
