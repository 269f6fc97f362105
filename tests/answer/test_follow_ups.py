"""Where the answer before a follow-up stands is evidence for where the next one does."""

from __future__ import annotations

from rifflux import Answer, Index

PAGES = {
    "choir": "# Choir\n\nFor Christmas we ordered ten green carol books.\n\nEach costs £8.95 and comes from Banks.\n",
    "fuel": "# Fuel\n\nThe price of diesel at the pier was 98 p in October.\n\nThe price each month is in the book.\n",
    "tools": "# Tools for calendars\n\nThree tools read calendars:\n\n- khal\n- calcurse\n- remind\n",
    "more": "# Notes\n\nkhal is written in Python.\n\ncalcurse is written in C.\n\nremind is written in C and Tcl.\n",
    "photo": "# Blurring\n\nBlurring a plate with this module is not safe, since it can be undone.\n\n"
    "If a safe result is needed, paint the plate with a solid colour.\n",
}


def _asked_after(index: Index, before: str, said: str, question: str) -> Answer:
    return index.answer(question, [("user", before), ("assistant", said)])


def test_a_few_words_go_on_from_the_answer_before(index: Index) -> None:
    before = "How many carol books did we order for Christmas?"
    answer = _asked_after(index, before, "For Christmas we ordered ten green carol books.", "price each?")
    assert "8.95" in answer.text


def test_a_few_words_about_something_else_leave_the_document_of_the_answer_before(index: Index) -> None:
    before = "How many carol books did we order for Christmas?"
    answer = _asked_after(index, before, "For Christmas we ordered ten green carol books.", "diesel price?")
    assert "98 p" in answer.text


def test_what_was_said_gives_way_to_what_was_not(index: Index) -> None:
    said = "Blurring a plate with this module is not safe, since it can be undone."
    answer = _asked_after(index, "Is blurring a plate safe?", said, "then what is safe?")
    assert "solid colour" in answer.text


def test_an_item_of_the_list_that_was_given_can_be_named_by_its_number(index: Index) -> None:
    said = "Three tools read calendars:\n\n- khal\n- calcurse\n- remind\n[1]"
    before = "Which tools read calendars?"
    assert "written in Python" in _asked_after(index, before, said, "in which language is the first one written?").text
    second = _asked_after(index, before, said, "and the second?")
    assert "calcurse" in second.searched
    last = _asked_after(index, before, said, "what about the last one?")
    assert "remind" in last.searched
    other = _asked_after(index, before, said, "when was the first concert?")
    assert "khal" not in other.searched
    fourth = _asked_after(index, before, said, "and the fourth?")
    assert not {"khal", "calcurse", "remind"} & set(fourth.searched.split())
