"""Names that an engine has in pieces are recognized as those that are read as text."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rifflux.retrieve.query.naming import NameIndex, PiecedNames, of_word
from rifflux.store import Placed
from rifflux.store.sqlite import SqliteStore
from rifflux.testing import change
from rifflux.text.analyzer import analyzer
from rifflux.text.properties import key_names
from tests.support.exploring import examples

WORDS = (
    "Chapter",
    "chapters",
    "07",
    "7",
    "U.S.A.",
    "don't",
    "FindPath",
    "the",
    "Café",
    "e\u0301cole",
    "x.y",
    "D40",
    "a_b",
)
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).flatmap(
    lambda words: st.sampled_from([" ", "-", "/", ". ", ""]).map(lambda between: between.join(words))
)


@given(st.lists(NAMES, min_size=1, max_size=8, unique=True), NAMES)
@examples(30)
def test_pieces_have_the_words_of_the_text(tmp_path_factory: object, titles: list[str], asked: str) -> None:
    folder = tmp_path_factory.mktemp("names")  # type: ignore[attr-defined]
    _compare(folder, titles, asked)


def _compare(folder: Path, titles: list[str], asked: str) -> None:
    store = SqliteStore.open(str(folder / "index.db"))
    try:
        for number, title in enumerate(titles):
            store.catalog.write(Placed("c", change(f"{title}.md", "river", title=title, first_id=number + 1)))
        store.local.build()
        names = store.catalog.fact_table(np.empty(0, np.int64)).names
        assert names
        found = names(np.arange(len(titles)) + 1)
        assert found
        for language in ("english", "german", "none"):
            analyze = analyzer(language)
            of_piece = partial(of_word, analyze.of_word)
            pieced = PiecedNames(found.table, of_piece, analyze.of_words)
            plain = NameIndex(of_piece, analyze.first_term)
            numbers = found.titles.tolist()
            pieced.meet(numbers)
            text = f"is {asked} here"
            leading = pieced.leading(text, numbers)
            words = tuple(atom.written for piece in asked.split() for atom in of_piece(piece) if atom.written)
            begun = {titles[place] for place in pieced.begun(words, found.keys).tolist()}
            for number, title in zip(numbers, titles, strict=True):
                assert pieced.texts[number] == title
                assert pieced.keys[number] == plain.keys[plain.number(title)]
                assert pieced.title(number) == plain.title(plain.number(title))
                if f" {title} " in text and title[0].isupper():
                    assert number in leading
                called = [plain.title(plain.number(name)) for name in key_names(f"{title}.md")]
                if any(atom.written.startswith(words) for each in called for atom in each if atom.written):
                    assert title in begun
    finally:
        store.close()
