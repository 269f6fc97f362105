"""The sentence of a text that answers, and what of an answer that was given before is given again."""

from __future__ import annotations

from rifflux import Delta, Index

PAGES = {
    "water": """# Water

The water of the allotments is turned on on the 28th of March if there is no frost. It is turned off on the 31st of
October. The meter is read by the warden, who sends the bill in January. A key for the shed costs twelve euros.
"""
}


def test_a_follow_up_gets_what_answers_it_and_not_the_same_again(index: Index) -> None:
    question = "When is the water of the allotments turned on?"
    first = index.answer(question)
    assert "28th of March" in first.text
    history = [("user", question), ("assistant", first.text)]
    second = index.answer("and off again?", history)
    assert "31st of" in second.text
    assert second.text != first.text


def test_the_sentence_that_answers_is_marked_within_a_long_block(index: Index) -> None:
    answer = index.answer("Who reads the meter?")
    marked = [answer.text[slice(*each.answering)] for each in answer.sentences if each.answering]
    assert marked == ["The meter is read by the warden, who sends the bill in January."]
    deltas = [event for event in index.answering("Who reads the meter?") if isinstance(event, Delta)]
    assert [each.text[slice(*each.answering)] for each in deltas if each.answering] == marked
