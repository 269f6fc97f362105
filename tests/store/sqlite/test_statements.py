"""Every statement over owned tables asks whose rows they are: what is not listed here cannot forget it."""

from __future__ import annotations

import re

import pytest

from rifflux.store.sqlite import query
from rifflux.store.sqlite.catalog import graph, sql
from rifflux.store.sqlite.lexical import lexical
from rifflux.store.sqlite.records import records
from rifflux.store.sqlite.semantic import semantic

#: Why a statement may leave the owner out.
BY_NUMBER = "rows of a document or chunk whose owner was asked for when its number was read"
BY_TERM = "what is given to MATCH holds terms of one owner only"
NUMBERING = "the next free number"
BY_CHANCE = "rows that are looked at by chance, of which only the owner's are told"
WITHOUT = {
    **dict.fromkeys(("_MATCHING", "_NAMED", "HOLDING_ALL"), BY_TERM),
    **dict.fromkeys(("STORED_CHUNKS", "MOVE_CHUNK", "DROP_CHUNK", "DROP_STALE_VECTOR", "DROP_LINKS"), BY_NUMBER),
    **dict.fromkeys(("DOCUMENT_FACTS", "FORMER_FACTS"), BY_NUMBER),
    **dict.fromkeys(
        ("PUT_LINK", "PUT_TEXT", "SET_DOCUMENT", "PUT_IDENTIFIER", "PUT_TAG", "PUT_PART", "TEXT"), BY_NUMBER
    ),
    **dict.fromkeys(("LAST_CHUNK", "LAST_DOCUMENT"), NUMBERING),
    "SOME_FILES": BY_CHANCE,
    **dict.fromkeys(("_OF_EVERYBODY", "_DROP_EVERYBODYS"), "what a named owner's view refuses"),
}
MODULES = (sql, graph, lexical, query, semantic, records)
OWNED = re.compile(
    r"(?:from|join|into|update)\s+(?:document|document_text|chunk|vector|file|link|service_record|identifier|tag|part|record|owner_setting)\b"
)

STATEMENTS = {
    name: text
    for module in MODULES
    for name, text in vars(module).items()
    if isinstance(text, str) and not name.startswith("__") and OWNED.search(text)
}


@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - set(WITHOUT)))
def test_a_statement_over_owned_tables_asks_for_the_owner(name: str) -> None:
    # Within a subquery that begins with a table of its own, the condition must stand too; rows that were asked for
    # are the owner's.
    for each in re.split(r"\bunion(?: all)?\b", STATEMENTS[name]):
        assert re.search(r":owner\b|= asked\.owner\b|\bowner = \?|\bowner,", each), f"{name}: {each}"


def test_the_exceptions_exist() -> None:
    assert set(WITHOUT) <= {name for module in MODULES for name in vars(module)}
