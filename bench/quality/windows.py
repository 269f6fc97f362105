"""Measure how the turns around a message are weighed, on conversations that nothing was chosen on.

    python -m bench windows ../data

A message lends words from the turns before and after it (`rifflux.conversations.writing`), at a weight. That was chosen
on LoCoMo, whose conversations are friends who answer each other. Two questions, by words alone:

1. What does the choice lose on conversations that had no say? For each conversation of LoCoMo the best window and
   weight on the nine others is taken, and the questions about that one are answered with it.
2. What does lending cost where neighbours have nothing to do with a message? Documents of other collections, shuffled,
   are the turns of conversations of fifty.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality.conversations import DEPTH, threads
from rifflux.conversations import Conversation, Conversations, Message, Thread
from rifflux.conversations.model import conversation_row
from rifflux.conversations.profile import CONVERSATIONS
from rifflux.conversations.writing import MessagePreparer, MessageWriter, Window
from rifflux.evaluate import Collection, read_beir
from rifflux.evaluate.measures import measured
from rifflux.index import Index, open_index
from rifflux.store import DocumentChange
from rifflux.types import Scope

Values = np.ndarray[Any, np.dtype[np.float64]]
Choice = tuple[int, int, float]

MEASURE = "ndcg@10"
CHOSEN: Choice = (2, 1, 0.5)
BEFORE, AFTER, WEIGHTS = (0, 1, 2, 3), (0, 1, 2), (0.25, 0.5, 1.0)
UNRELATED = ("scifact", "cfr30", "srd5e")
TURNS = 50
DAY = "2024-05-01"


def main() -> None:
    """Print both answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data: Path = parser.parse_args().data
    collection = read_beir(data / "locomo", scope="conversation")
    left_out(collection, list(threads(data / "locomo")))
    for name in UNRELATED:
        unrelated(name, read_beir(data / name))


@contextmanager
def asked(stored: Iterable[Thread], before: int, after: int) -> Iterator[Index]:
    """An index of conversations with a window; without words lent if it is empty."""
    with open_index(":memory:", model="hash:32") as index:
        part = index.scoped(Scope("judge")).admin.view.part(CONVERSATIONS.name, CONVERSATIONS)
        turns = MessagePreparer(
            part.profile.analyzer, CONVERSATIONS.chunker, part.embedder.count_tokens, part.store.owner
        )
        writer = MessageWriter(part.store, replace(turns, window=Window(before, after)))
        with part.store.transaction():
            for thread in stored:
                row = conversation_row(thread.conversation)
                part.store.catalog.put("", DocumentChange(row, row.key, ()))
                writer.put(thread.conversation, thread.messages)
        yield index


def rated(index: Index, collection: Collection, weight: float, *, scoped: bool) -> Values:
    """The measure of every question, with the neighbours' words at a weight."""
    fields = CONVERSATIONS.weights
    profile = replace(CONVERSATIONS, weights=replace(fields, headings=weight))
    part = index.scoped(Scope("judge")).admin.view.part(CONVERSATIONS.name, profile)
    talks = Conversations(part, index.admin.policies)
    rankings = {}
    for question in collection.questions:
        within = question.metadata["conversation"] if scoped else None
        found = talks.search(question.text, limit=DEPTH, conversation_id=within)
        rankings[question.id] = [hit.message.id for hit in found]
    return np.asarray(measured(collection.questions, rankings)[MEASURE])


def left_out(collection: Collection, stored: Sequence[Thread]) -> None:
    """What the best choice on nine conversations is worth on the tenth."""
    values: dict[Choice, Values] = {}
    for before, after in itertools.product(BEFORE, AFTER):
        with asked(stored, before, after) as index:
            for weight in WEIGHTS if before + after else WEIGHTS[:1]:
                values[before, after, weight] = rated(index, collection, weight, scoped=True)
    whose = np.array([question.metadata["conversation"] for question in collection.questions])
    others = {name: best(values, whose != name) for name in dict.fromkeys(whose.tolist())}
    held = np.concatenate([values[choice][whose == name] for name, choice in others.items()])
    everywhere = best(values, np.ones(len(whose), np.bool_))
    print(f"LoCoMo, {MEASURE} by words, {len(whose)} questions; a choice is turns before, after, weight")
    print(f"  no words lent           {values[0, 0, WEIGHTS[0]].mean():.4f}")
    print(f"  the profile's {CHOSEN} {values[CHOSEN].mean():.4f}")
    print(f"  the best of all {everywhere} {values[everywhere].mean():.4f}")
    print(f"  chosen on the other conversations {held.mean():.4f}, which took {sorted(set(others.values()))}")
    worst = min((value.mean(), choice) for choice, value in values.items() if sum(choice[:2]))
    print(f"  the worst that lends {worst[1]} {worst[0]:.4f}")
    wins = sum(values[CHOSEN][whose == name].mean() > values[0, 0, WEIGHTS[0]][whose == name].mean() for name in others)
    print(f"  better than without in {wins} of {len(others)} conversations", flush=True)


def best(values: Mapping[Choice, Values], among: np.ndarray[Any, np.dtype[np.bool_]]) -> Choice:
    """The choice of the highest mean over some questions."""
    return max(values, key=lambda choice: (values[choice][among].mean(), choice))


def unrelated(name: str, collection: Collection) -> None:
    """What lending costs where neighbours say nothing of a message."""
    stored = list(shuffled(collection))
    with asked(stored, 0, 0) as plain, asked(stored, *CHOSEN[:2]) as lending:
        without = rated(plain, collection, CHOSEN[2], scoped=False).mean()
        lent = rated(lending, collection, CHOSEN[2], scoped=False).mean()
    print(f"{name} as conversations of strangers, {MEASURE}: without {without:.4f}, lending {lent:.4f}", flush=True)


def shuffled(collection: Collection) -> Iterator[Thread]:
    """The documents of a collection by chance as messages, a minute apart."""
    assert collection.corpus
    documents = [json.loads(line) for line in collection.corpus.open(encoding="utf-8")]
    random.Random(1).shuffle(documents)
    for number in range(0, len(documents), TURNS):
        id = f"talk{number}"
        messages = (
            Message(
                each["_id"], id, f"{each.get('title', '')}\n{each['text']}".strip(), created_at=f"{DAY}T12:{minute:02}"
            )
            for minute, each in enumerate(documents[number : number + TURNS])
        )
        yield Thread(Conversation(id), tuple(messages))
