"""The JSON of answers and of their events, the same on every surface."""

from __future__ import annotations

from rifflux import Answer, AnswerEvent, Cited, Done
from rifflux.surfaces.shared.nouns import JsonObject
from rifflux.types.nouns import noun_json


def answer_json(answer: Answer) -> JsonObject:
    """Return an answer with its evidence pack."""
    return noun_json(answer)


def event_json(event: AnswerEvent) -> JsonObject:
    """Return the content of an event; the last one holds the answer."""
    if isinstance(event, Done):
        return answer_json(event.answer)
    return noun_json(event.citation if isinstance(event, Cited) else event)
