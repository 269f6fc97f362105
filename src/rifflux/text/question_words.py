"""Separate the words that only phrase a question from its subject: `Could you tell me about …`, `… meaning`.

Questions are parsed by runs of words rather than a list of phrases. At the beginning, words are removed while they are
stop words or question words; at the end, while they are stop words or words that close a question. Verbs that are also
searched for (`find`, `list`, `show`) only count where they address somebody: `show me`, `where can I find`, but not
`find` alone, which is also a command. Nouns such as `details` count before a preposition. Words that distinguish
questions (`how`, `why`, `who`, `when`) stay. The words are in `lexicon/question_words.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from rifflux.text.lexicon import stop_words, word_lists

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
#: Characters that adjoin letters in a formula, a name or a path, but not in a sentence.
_INSIDE = frozenset("$\\{}^_=+*/|<>@#~&%")
#: `How does X work?` asks what X is.
_WORKING = frozenset({"work", "works"})
_ROLES = ("verbs", "doubtful", "nouns", "closing", "fillers", "kinds", "writing")


@dataclass(frozen=True, slots=True)
class Framed:
    """A question split into its subject and the question words before and after it."""

    before: str
    subject: str
    after: str


@dataclass(frozen=True, slots=True)
class _Words:
    """The question words of a language, by the roles in `lexicon/question_words.txt`."""

    verbs: frozenset[str]
    doubtful: frozenset[str]
    nouns: frozenset[str]
    closing: frozenset[str]
    fillers: frozenset[str]
    kinds: frozenset[str]
    stop: frozenset[str]
    writing: frozenset[str]


@cache
def _words_of(language: str) -> _Words | None:
    language = "english" if language == "porter" else language
    lists = word_lists("question_words")
    if f"{language} verbs" not in lists:
        return None
    verbs, doubtful, nouns, closing, fillers, kinds, writing = (lists[f"{language} {role}"] for role in _ROLES)
    stop = stop_words(language) - kinds
    return _Words(verbs, doubtful, nouns, closing, fillers, kinds, stop, writing)


def written_by(language: str) -> frozenset[str]:
    """Return the words that precede an author's name; the English ones for a language without a list."""
    lists = word_lists("question_words")
    return lists.get(f"{language} by", lists["english by"])


def framed(text: str, language: str) -> Framed:
    """Split a question into its subject and the question words around it; if it has only those, all is subject."""
    known = _words_of(language)
    places = [*_WORD.finditer(text)]
    if known is None or len(places) < 2:
        return Framed("", text, "")
    words = []
    for place in places:
        start, end = place.span()
        # A word inside a formula, name or path, such as the `A` of `m_A`, is not one of the sentence.
        if text[start - 1 : start] in _INSIDE or text[end : end + 1] in _INSIDE:
            words.append("")
        else:
            words.append(place[0].casefold().replace("’", "'"))
    if language == "english" and words[0] == "how" and words[1] in known.stop and words[-1] in _WORKING:
        first = max(2, 1 + _leading(words[1:], known))
        last = len(words) - 1
    else:
        first = _leading(words, known)
        last = _trailing(words, first, known)
    if first >= last or known.stop.issuperset(words[first:last]):
        return Framed("", text, "")
    start = places[first].start() if first else 0
    while start and text[start - 1] in _INSIDE:
        start -= 1
    if last < len(words):
        end = places[last - 1].end()
    else:
        end = len(text)
    return Framed(text[:start].strip(), text[start:end].strip() if first or last < len(words) else text, text[end:])


def asks_only(words: Iterable[str], language: str) -> bool:
    """Return True if words only request works: `articles written by`, `what did … publish`."""
    known = _words_of(language)
    if known is None:
        return not any(words)
    lists = (
        *(known.verbs, known.doubtful, known.nouns, known.closing),
        *(known.fillers, known.kinds, known.stop, known.writing),
    )
    return all(any(word in each for each in lists) for word in words)


def _leading(words: Sequence[str], known: _Words) -> int:
    """Count the question words before the subject; 0 if they are stop words only, except for `what is`."""
    end = 0
    addressed = False
    for place, word in enumerate(words):
        if word in known.kinds:
            break
        if word in known.verbs:
            addressed = True
            end = place + 1
        elif word in known.doubtful or word in known.nouns:
            follows_stop = place > 0 and end == place and words[place - 1] in known.stop
            if (follows_stop and word in known.doubtful) or _leads_on(words, place, known):
                addressed = True
                end = place + 1
            else:
                break
        elif word in known.stop or word in known.fillers:
            end = place + 1
        else:
            break
    if addressed or end > 1:
        return end
    return 0


def _leads_on(words: Sequence[str], place: int, known: _Words) -> bool:
    """Return True if a stop word follows, directly or after other question words: `detailed information on`."""
    for word in words[place + 1 :]:
        if word in known.stop or word in known.verbs or word in known.fillers:
            return True
        if word not in known.doubtful and word not in known.nouns:
            return False
    return False


def _trailing(words: Sequence[str], first: int, known: _Words) -> int:
    """Return the end of the subject, before the words that close a question."""
    end = place = len(words)
    while place > first + 1:
        word = words[place - 1]
        if word in known.closing or word in known.fillers:
            end = place - 1
        elif word not in known.stop:
            break
        place -= 1
    return end
