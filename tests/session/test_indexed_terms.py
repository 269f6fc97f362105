"""Whether terms are read from the words file or passages are analyzed, a search answers the same to the last digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index
from rifflux.retrieve.steps import calibrate

NOTE = """---
aliases: [Eviction notes, LRU]
tags: [storage, speed]
---

# The cache

Entries of the cache live ten minutes: `cache_ttl = 600`.

## Eviction

The oldest entry goes first, said on 3 June 2015. See section 250.1725.
"""
OTHERS = (
    Document(
        "d/one.md", "The queue of the river holds ten stones.\n\nNaïve re-use of C++ and 東京タワー.", "The queue"
    ),
    Document("two", "", "A title without a text about the cache"),
    Document("four", "The cache keeps entries. The river keeps stones.", "LRU", metadata={"subjects": ["cache"]}),
    Document("five", "def evict(cache):\n    return cache.pop()\n", "evict.py", kind="code"),
)
GERMAN = Document("three", "Der Zwischenspeicher hält Einträge zehn Minuten.", "Der Cache", language="german")
QUESTIONS = (
    "how long do cache entries live",
    "cache_ttl",
    "eviction notes of June 2015",
    "LRU",
    "section 250.1725",
    "wie lange leben Einträge im Cache",
    "naive reuse of c++",
    "東京タワー",
    "evict cache pop",
    "chache entrys",
)


def answers(index: Index) -> list[Any]:
    return [
        [(hit.id, hit.score, hit.relevance, hit.why) for hit in index.search(question, mode=mode)]
        for question in QUESTIONS
        for mode in ("hybrid", "lexical")
    ]


@pytest.mark.parametrize("others", [OTHERS, (*OTHERS, GERMAN)])
def test_indexed_terms_give_the_digits_of_analyzed_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: tuple[Document, ...]
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "cache.md").write_text(NOTE)
    analyzed = calibrate._analyzed
    calls: list[int] = []
    monkeypatch.setattr(calibrate, "_analyzed", lambda *given: calls.append(1) or analyzed(*given))
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        index.add(notes)
        index.add(*others)
        expected = answers(index)
        assert calls
        index.admin.accelerate()
        calls.clear()
        assert answers(index) == expected
        # What is compared across languages is analyzed still.
        assert GERMAN in others or not calls
        index.add(Document("six", "A new entry of the cache about zeppelins.", "Zeppelins"))
        assert index.search("zeppelins of the cache")[0].key == "six"
