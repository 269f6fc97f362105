"""Measure how well messages are found: LoCoMo's questions, asked through `index.conversations`.

    python -m bench conversations ../data/locomo --keep /tmp/conversations

Every turn is a message of one user's conversations, and every question is asked within the conversation that it is
about. `--keep` keeps the index between runs: embedding the 5,882 turns takes a minute or two.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from rifflux.conversations import Conversation, Conversations, Message, Thread
from rifflux.evaluate import Collection, read_beir
from rifflux.evaluate.measures import measured
from rifflux.index import open_index
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.types import Scope

USER = "judge"
DEPTH = 20


def threads(folder: Path) -> Iterator[Thread]:
    """The conversations of the collection."""
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    for id, turns in groupby(rows, key=lambda row: row["metadata"]["conversation"]):
        yield Thread(Conversation(id), tuple(message(row) for row in turns))


def message(row: Mapping[str, Any]) -> Message:
    """A turn as a message."""
    held = row["metadata"]
    date = datetime.strptime(held["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    return Message(row["_id"], held["conversation"], row["text"], "user", held["speaker"], date.isoformat())


def main() -> None:
    """Build the index where it is not kept, and print a line for words alone and one for hybrid search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path, help="where the index stays between runs")
    arguments = parser.parse_args()
    collection = read_beir(arguments.data, scope="conversation")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        with open_index(folder / "conversations.db") as index:
            conversations = index.scoped(Scope(USER)).conversations
            for thread in threads(arguments.data):
                conversations.put(thread, embed=True)
            for hybrid in (False, True):
                index.policies.set(HYBRID_SEARCH, hybrid)
                print(line("hybrid" if hybrid else "text only", conversations, collection))


def line(name: str, conversations: Conversations, collection: Collection) -> str:
    """What one way of searching is worth, and how long it takes."""
    rankings, seconds = {}, []
    for question in collection.questions:
        start = time.perf_counter()
        scope = question.metadata["conversation"]
        found = conversations.search(question.text, top_k=DEPTH, conversation_id=scope)
        seconds.append(time.perf_counter() - start)
        rankings[question.id] = [hit.message.id for hit in found]
    values = measured(collection.questions, rankings)
    figures = "  ".join(f"{measure} {value.mean():.4f}" for measure, value in values.items())
    return f"{name:10}  {figures}  p50 {1000 * statistics.median(seconds):.1f} ms  ({len(rankings)} questions)"
