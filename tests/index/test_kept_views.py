"""What an open index keeps of its views answers like one that was just opened, whatever was changed in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, RiffluxError, Scope

WORDS = ("heron", "river", "stone", "cache", "queue", "otter", "reed", "moss", "boat", "lamp")
USERS = ("", "ann", "bob", "eve")
NAMES = ("x", "y")
READERS = ("ann", "bob", "eve", "everyone", "group")
QUESTIONS = ("heron", '"river stone"', "cache -queue", "otter reed", "what is near the lamp", "herron", "heron 2")

Ask = tuple[str, str, dict[str, Any]]


def of_user(index: Index, user: str) -> Index:
    return index.scoped(Scope(user)) if user else index


def documents(chance: random.Random) -> list[Document]:
    """Documents whose title, kind and text change while their keys stay."""
    return [
        Document(
            f"d{chance.randrange(25)}",
            "The {} and the {} near a {}.".format(*chance.sample(WORDS, 3)),
            title=f"{chance.choice(WORDS)} {chance.randrange(3)}",
            kind=chance.choice(["note", "mail"]),
        )
        for _ in range(chance.randint(1, 3))
    ]


def change(index: Index, chance: random.Random) -> None:
    """Change contents, collections, their readers or users."""
    user = chance.choice(USERS)
    mine = of_user(index, user)
    name = chance.choice(NAMES)
    someone = chance.choice(USERS[1:])
    ways: list[Callable[[], object]] = [
        partial(mine.add, documents(chance), embed=True),
        partial(mine.add, documents(chance), embed=False),
        partial(mine.remove, f"d{chance.randrange(25)}"),
        partial(index.collections.set_group, "group", chance.sample(USERS[1:], 2)),
        partial(index.admin.delete_user, someone),
    ]
    if user:
        ways += [
            partial(mine.collections.create, name),
            partial(mine.add, documents(chance), collection=name, embed=True),
            partial(mine.collections.share, name, chance.choice(READERS)),
            partial(mine.collections.share, name, chance.choice(READERS)),
            partial(mine.collections.unshare, name, chance.choice(READERS)),
            partial(mine.collections.remove, name),
        ]
    # Not everything that is drawn is there.
    with suppress(RiffluxError):
        chance.choice(ways)()


def question(chance: random.Random) -> Ask:
    options: dict[str, Any] = {
        "mode": chance.choice(["lexical", "hybrid", "semantic"]),
        "top_k": chance.choice([3, 10]),
    }
    for name, values in {
        "filter": ({"kind": "note"}, {"collections": ["library"]}, {"collections": ["ann/x"]}),
        "rerank": ("features", "none"),
        "fusion": ("rrf", "linear"),
        "boosts": ({"title": 2.0},),
        "one_per_document": (True,),
    }.items():
        if chance.random() < 0.25:
            options[name] = chance.choice(values)
    return chance.choice(USERS), chance.choice(QUESTIONS), options


def answer(index: Index, asked: Ask) -> object:
    """What a page says of its hits, or the error."""
    user, query, options = asked
    try:
        found = of_user(index, user).search(query, **options)
    except RiffluxError as error:
        return str(error)
    hits = [(hit.id, hit.key, hit.title, hit.kind, hit.collection, hit.score, hit.relevance, hit.text) for hit in found]
    return hits, [notice.code for notice in found.trace.notes]


@pytest.mark.parametrize("seed", [1, 2])
def test_views_that_are_kept_answer_like_an_index_that_was_just_opened(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "index.db"
    with (
        rifflux.open(path, model="hash:32") as kept,
        rifflux.open(path, model="hash:32") as another,
        ThreadPoolExecutor(4) as pool,
    ):
        for user in USERS:
            of_user(kept, user).add(documents(chance))
        for _ in range(20):
            for _ in range(chance.randint(0, 2)):
                change(chance.choice([kept, another]), chance)
            asked = [question(chance) for _ in range(4)]
            found = [*pool.map(partial(answer, kept), asked)]
            with rifflux.open(path, model="hash:32") as fresh:
                for each, page in zip(asked, found, strict=True):
                    assert page == answer(fresh, each), each
