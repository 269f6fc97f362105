"""What was said before: the turns of a conversation, and questions that lean on them, completed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rifflux.errors import InvalidArgument
from rifflux.session.searching import Searcher
from rifflux.text.lexicon import phrase_lists, stop_words
from rifflux.text.question_words import framed
from rifflux.types import Notice

#: Turns that are read, the latest ones, and characters of one.
MOST_TURNS = 20
LONGEST_TURN = 20_000
#: The roles of those who speak; whatever else has a role gives orders, and is not listened to.
USER = "user"
ASSISTANT = "assistant"
#: In a question of more words that mean something, what points may point at the question's own.
MANY = 5
#: The characters of an item of a list that say which one is meant.
LONGEST_ITEM = 80

_POINTING = "pointing"
_OPENING = "opening"
_ITEM_ROLE = "item "
_LAST = "last"
#: An item of a list, up to what parts its name from what is said of it.
_ITEM = re.compile(
    r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?=\S)(.+?)(?=[ \t]?[:：;.](?:\s|$)|[ \t][-–—=→][ \t]|$)", re.MULTILINE
)
_MARKS = re.compile(r"\s*\[\d+\]|[*_`]+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, by `user` or `assistant`."""

    role: str
    content: str


def checked_history(history: Iterable[Turn | Mapping[str, Any] | Sequence[str]]) -> tuple[list[Turn], list[Notice]]:
    """Return the turns of a conversation, the latest ones, and notes on what is left out.

    A turn is a mapping with `role` and `content`, as clients of chat models send it, or a pair. Raises
    `InvalidArgument` for anything else.
    """
    if isinstance(history, str | Mapping) or not isinstance(history, Iterable):
        raise InvalidArgument('history is a list of turns, such as {"role": "user", "content": "…"}')
    turns: list[Turn] = []
    left_out = 0
    for given in history:
        turn = _turn(given)
        if turn.role not in (USER, ASSISTANT):
            left_out += 1
        elif turn.content.strip():
            turns.append(turn)
    notes = []
    if left_out:
        text = f"messages that are neither a user's nor an assistant's were left out: {left_out}"
        notes.append(Notice("history.left_out", text, data={"messages": left_out}))
    return turns[-MOST_TURNS:], notes


def _turn(given: Turn | Mapping[str, Any] | Sequence[str]) -> Turn:
    if isinstance(given, Turn):
        return given
    if isinstance(given, Mapping):
        role = given.get("role")
        content = text_of(given.get("content"))
    elif isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        role, content = given
    else:
        role = None
        content = None
    if not isinstance(role, str) or not isinstance(content, str):
        raise InvalidArgument(
            f'a turn has a role and a text, such as {{"role": "user", "content": "…"}}, not {given!r}'
        )
    return Turn(role, content[:LONGEST_TURN])


def text_of(content: object) -> object:
    """Return the text of a content, which may be a list of parts as clients of chat models send it."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type", "text") == "text"]
    return "\n".join(part for part in parts if isinstance(part, str))


def follows(question: str, searcher: Searcher) -> bool:
    """Return True if a question points at those before it, or goes on from them."""
    pointing = _pointing(_language(searcher))
    if not pointing.isdisjoint(word.casefold() for word in _WORD.findall(question)):
        return _meaning_words(question, searcher) <= MANY
    return bool(_opening().match(question))


def _meaning_words(question: str, searcher: Searcher) -> int:
    return len(frozenset(searcher.parse(question).query.terms))


def item_meant(question: str, history: Sequence[Turn], searcher: Searcher) -> str:
    """Return the item of the list in the last answer that `the second one` of a question stands for, or nothing.

    A number before a word that means something is about that, as in `the last report`.
    """
    answers = [turn.content for turn in history if turn.role == ASSISTANT]
    items = _ITEM.findall(answers[-1]) if answers else []
    if len(items) < 2 or _meaning_words(question, searcher) > MANY:
        return ""
    language = _language(searcher)
    words = [word.casefold() for word in re.findall(r"\w+", question)]
    pointing = _pointing(language) | stop_words(language)
    for key, forms in phrase_lists("following").items():
        for word, behind in zip(words, [*words[1:], ""], strict=True):
            if key.startswith(f"{language} {_ITEM_ROLE}") and word in forms and (not behind or behind in pointing):
                number = key.rpartition(" ")[2]
                place = len(items) if number == _LAST else int(number)
                return _MARKS.sub("", items[place - 1][:LONGEST_ITEM]) if place <= len(items) else ""
    return ""


def _language(searcher: Searcher) -> str:
    """Return the language of questions, as the lists of words name it."""
    language = searcher.analyzer.language
    return "english" if language == "porter" else language


def _pointing(language: str) -> frozenset[str]:
    return frozenset(phrase_lists("following").get(f"{language} {_POINTING}", ()))


@cache
def _opening() -> re.Pattern[str]:
    """Return the pattern of the beginning of a question that goes on, in any language."""
    openings = [
        each for key, phrases in phrase_lists("following").items() if key.endswith(_OPENING) for each in phrases
    ]
    return re.compile(rf"\s*(?:{'|'.join(map(re.escape, openings))})\b", re.IGNORECASE)


def completed(question: str, history: Sequence[Turn], searcher: Searcher) -> str:
    """Return a question with the subject of the last one that stands alone, as far back as they lean."""
    parts = [question]
    for turn in reversed([turn for turn in history if turn.role == USER]):
        parts.append(framed(turn.content, searcher.analyzer.language).subject.strip(" ?!.\n"))
        if not follows(turn.content, searcher):
            break
    return " ".join(dict.fromkeys(parts))
