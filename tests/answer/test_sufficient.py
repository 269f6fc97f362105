"""Whether evidence is enough: what is near a question does not answer it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux import Index
from rifflux.answer import sufficient
from rifflux.answer.sufficient import Signals

PAGES = {
    "install": "# Installing\n\n## Requirements\n\nA disk and a network.\n\n## On Linux\n\nRun the script.",
    "storage": "# Storage\n\nEvery bucket has a quota.\n\n## Speed\n\nFlash disks read faster.",
    "network": "# Network\n\nPackets are sent over TLS by default.\n\n## Speed\n\nJumbo frames take less time.",
    "roles": "# Roles\n\nThey hold permissions: [Granting access to a bucket](granting.md) tells the whole story.",
    "export-to-csv": "# Writing tables\n\nTables are written with commas between the columns.",
}


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
    assert "Flash disks" in answer.text


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), st.sampled_from(["tokens", "meaning", "words"]))
def test_more_evidence_never_makes_an_answer_less_likely(values: list[float], known: str) -> None:
    relevance, meaning, covered, fit = values
    signals = Signals(relevance, 0.0 if known == "words" else meaning, covered, fit=fit if known == "tokens" else None)
    more = [replace(signals, relevance=relevance + 0.1), replace(signals, covered=covered + 0.1)]
    if known == "tokens":
        more.append(replace(signals, fit=fit + 0.1))
    if known == "meaning":
        more.append(replace(signals, meaning=meaning + 0.1))
    for each in more:
        assert 0 < signals.probability <= each.probability < 1


def test_a_follow_up_that_another_page_answers_is_completed_by_the_question_before_it(index: Index) -> None:
    history = [("user", "How fast are jumbo frames?"), ("assistant", "Jumbo frames take less time.")]
    assert "jumbo frames" in index.answer("and the speed?", history).searched
    assert index.answer("Which disks read faster?", history).searched == "Which disks read faster?"
