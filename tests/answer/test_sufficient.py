"""Whether evidence is enough: what is near a question does not answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Hit, Index
from rifflux.answer import sufficient
from rifflux.answer.gather import FIRST, _agreed
from rifflux.answer.sufficient import BY_MEANING, BY_WORDS
from rifflux.retrieve.table import LEXICAL, SEMANTIC, Candidates, joined
from rifflux.types import Ranking

PAGES = {
    "install": "# Installing\n\n## Requirements\n\nA disk and a network.\n\n## On Linux\n\nRun the script.",
    "storage": "# Storage\n\nEvery bucket has a quota.\n\n## Speed\n\nFlash disks read faster.",
    "network": "# Network\n\nPackets are sent over TLS by default.\n\n## Speed\n\nJumbo frames take less time.",
    "roles": "# Roles\n\nThey hold permissions: [Granting access to a bucket](granting.md) tells the whole story.",
    "export-to-csv": "# Writing tables\n\nTables are written with commas between the columns.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("pages")
    for name, text in PAGES.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(folder)
        yield index


@pytest.mark.parametrize(
    ("question", "page"),
    [("Storage", "storage.md"), ("Requirements", "install.md"), ("export to csv", "export-to-csv.md")],
    ids=["title", "only section", "file"],
)
def test_what_is_named_is_answered(index: Index, question: str, page: str) -> None:
    answer = index.answer(question)
    assert not answer.refused
    assert page in {answer.pack.items[citation.number - 1].key for citation in answer.citations}


@pytest.mark.parametrize("question", ["Kerberos", "How do penguins sleep?"], ids=["name", "sentence"])
def test_what_nothing_speaks_of_is_refused(index: Index, question: str) -> None:
    assert index.answer(question).refused


def test_what_may_not_answer_is_quoted_as_the_closest_passage(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sufficient, "ANSWERED", 1.1)
    answer = index.answer("Which disks read faster?")
    assert not answer.refused
    assert "answer.closest" in {note.code for note in answer.notes}
    assert len(answer.sentences) == 1


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2), st.integers(0, 1))
def test_more_evidence_never_makes_an_answer_less_likely(signals: list[float], place: int) -> None:
    more = [value + 0.1 * (at == place) for at, value in enumerate(signals)]
    for calibration in (BY_MEANING, BY_WORDS):
        assert 0 < calibration.probability(*signals) <= calibration.probability(*more) < 1


def _hit(document: str) -> Hit:
    return Hit(document, document, document, document, "", 0, "", (0, 0))


def _table(words: Sequence[int], meaning: Sequence[int]) -> tuple[Candidates, list[Hit]]:
    """Return the candidates that two channels found, each given by documents from the best on, and their hits."""
    rankings = {
        name: Ranking(np.array(found, np.int64), np.arange(len(found), 0, -1) / 10)
        for name, found in ((LEXICAL, words), (SEMANTIC, meaning))
    }
    table = joined(rankings)
    return table, [_hit(str(id)) for id in table.ids.tolist()]


def test_two_searches_agree_on_the_document_that_is_first_in_one_and_among_the_first_in_the_other() -> None:
    assert _agreed(*_table([1, 2, 3], [1, 3, 2]))
    assert _agreed(*_table([1, 2, 3], [2, 1, 3]))
    assert not _agreed(*_table([1, 2, 3], [3, 1, 2]))
    assert not _agreed(*_table([], [1, 2]))
    alone = Candidates.of(Ranking(np.array([1]), np.array([0.5])))
    assert _agreed(alone, [_hit("1")]) is None


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_agreement_is_mutual(words: Sequence[int], meaning: Sequence[int]) -> None:
    agreed = _agreed(*_table(words, meaning))
    assert agreed == _agreed(*_table(meaning, words))
    assert agreed == (words[0] in meaning[:FIRST] and meaning[0] in words[:FIRST])
