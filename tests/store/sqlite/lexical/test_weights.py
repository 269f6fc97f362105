"""The weights of the fields, declared once."""

from __future__ import annotations

import subprocess
import sys

# A changed default has to reach the modules before they are imported, hence a process of its own.
CHANGED = """
from rifflux.store import lexical
lexical.FieldWeights.__init__.__defaults__ = (3.0, 1.0, 1.0, lexical.B)
lexical.WHOLE_WEIGHTS = lexical.FieldWeights().whole()
from rifflux.conversations.profile import CONVERSATIONS
from rifflux.store.sqlite.lexical.postings import WHOLE_WEIGHTS as WEIGHTS
from rifflux.store.sqlite.lexical.word_index import WordIndex
from rifflux.store.sqlite.lexical.word_index_schema import entry
entered = entry(1, 1, ["title", "heading", "body"], [], None).to_dict()["terms"]
assert entered.count("title") == WordIndex.weights.title == WEIGHTS.title == CONVERSATIONS.weights.title == 3, entered
assert entered.count("heading") == entered.count("body") == 1, entered
"""


def test_every_engine_follows_the_declared_weight_of_a_title() -> None:
    done = subprocess.run([sys.executable, "-c", CHANGED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
