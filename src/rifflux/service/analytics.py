"""Online measures by day: the outcomes of questions to a service.

A *question* is a search; the same words again by the same user within half an hour are still the same question. Of the
questions of a day (UTC, by when they were first asked) these shares are given:

`click_through`   something that was found was clicked
`saved`           something was saved or exported
`reformulated`    the same user asked it in other words within five minutes, and had clicked, saved or exported nothing
`not_relevant`    something was called not relevant

Feedback belongs to the latest question of the same user in the same words. What belongs to none (feedback from a
program, or on a question of long ago) is counted as `unmatched`.

Words are never stored: a question is known by a digest, and compared with the next one by a sketch. A question about
something else shares no words with the one before and is no reformulation, however soon it comes. One that says the
same in entirely different words is not recognized.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Unpack

import numpy as np
import numpy.typing as npt

from rifflux.service.nouns import QuestionDigest, Reaction
from rifflux.service.registry import Registry
from rifflux.service.write_behind import Batch, BatchOptions
from rifflux.text.analyzer import analyzer

SAME_S = 1_800.0
REFORMULATED_S = 300.0
#: The share of common words from which one question counts as rephrasing another.
REFORMULATED_SIMILARITY = 0.15
#: Hashes of a sketch: the estimate of a similarity of 1/3 is off by .06 on average.
_HASHES = 64
#: Feedback may come this long after its question.
ANSWERED_S = 86_400.0
#: Questions are deleted after this time.
RETENTION_S = 400 * 86_400.0
_USED = frozenset({"click", "save", "export"})


@dataclass(frozen=True, slots=True)
class Day:
    """The questions of a day, their outcomes, and feedback without a question."""

    day: str
    questions: int = 0
    clicked: int = 0
    saved: int = 0
    reformulated: int = 0
    not_relevant: int = 0
    unmatched: int = 0

    def row(self) -> dict[str, str | int | float | None]:
        """Return the day with shares of its questions; None where there are none."""
        counts = {"click_through": self.clicked, "saved": self.saved}
        counts |= {"reformulated": self.reformulated, "not_relevant": self.not_relevant}
        shares = {name: round(count / self.questions, 4) if self.questions else None for name, count in counts.items()}
        return {"day": self.day, "questions": self.questions, **shares, "unmatched": self.unmatched}


@dataclass(slots=True)
class _Occurrences:
    """A question with its repetitions and the first time of each kind of feedback."""

    digest: bytes
    sketch: bytes
    first: float
    last: float
    feedback: dict[str, float] = field(default_factory=dict)


def digest_of(query: str) -> bytes:
    """Return the digest of a question, which ignores case and spacing."""
    return blake2b(" ".join(query.casefold().split()).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def sketch_of(query: str) -> bytes:
    """Return a sketch of the words of a question, a byte for each hash; `similarity` compares two.

    It holds the last byte of the smallest hash of any word, for many hash functions (Li and König, "b-Bit minwise
    hashing", 2010). Function words are left out; the sketch of a question without others is empty.
    """
    terms = sorted(set(analyzer().terms(query)))
    if not terms:
        return b""
    hashes = np.array([_hashes(term) for term in terms])
    return bytes((hashes.min(axis=0) & 0xFF).astype(np.uint8))


def _hashes(term: str) -> npt.NDArray[np.uint16]:
    """Return the values of all hash functions for a term."""
    text = term.encode("utf-8", "surrogatepass")
    digests = (blake2b(text, salt=bytes([number])).digest() for number in range(2 * _HASHES // 64))
    return np.frombuffer(b"".join(digests), ">u2")


def similarity(one: bytes, other: bytes) -> float:
    """Return an estimate of the Jaccard similarity of the words of two questions, from 0 to 1."""
    if not one or len(one) != len(other):
        return 0.0
    equal = np.mean(np.frombuffer(one, np.uint8) == np.frombuffer(other, np.uint8))
    by_chance = 1 / 256
    return max(0.0, float((equal - by_chance) / (1 - by_chance)))


def online(questions: Iterable[QuestionDigest], reactions: Iterable[Reaction]) -> list[Day]:
    """Return the days with a question or a record, in order."""
    by_user: dict[str, list[_Occurrences]] = defaultdict(list)
    for each in sorted(questions, key=lambda question: question.time):
        _add(by_user[each.user], each)
    unmatched = _attribute(by_user, reactions)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mine in by_user.values():
        for question, following in zip(mine, [*mine[1:], None], strict=True):
            counts[_day(question.first)].update(_outcome(question, following))
    for day in unmatched:
        counts[day]["unmatched"] += 1
    return [Day(day, **counts[day]) for day in sorted(counts)]


def _add(earlier: list[_Occurrences], question: QuestionDigest) -> None:
    if earlier and earlier[-1].digest == question.digest and question.time - earlier[-1].last <= SAME_S:
        earlier[-1].last = question.time
    else:
        earlier.append(_Occurrences(question.digest, question.sketch, question.time, question.time))


def _attribute(by_user: Mapping[str, list[_Occurrences]], reactions: Iterable[Reaction]) -> list[str]:
    """Assign feedback to its questions, and return the days of feedback without one."""
    unmatched = []
    for each in sorted(reactions, key=lambda reaction: reaction.time):
        digest = digest_of(each.query)
        earliest = each.time - ANSWERED_S
        mine = reversed(by_user.get(each.user, ()))
        found = next((one for one in mine if one.digest == digest and earliest <= one.first <= each.time), None)
        if found:
            found.feedback.setdefault(each.kind, each.time)
        else:
            unmatched.append(_day(each.time))
    return unmatched


def _outcome(question: _Occurrences, following: _Occurrences | None) -> dict[str, bool]:
    used = min((time for kind, time in question.feedback.items() if kind in _USED), default=float("inf"))
    again = (
        following is not None
        and following.first - question.last <= REFORMULATED_S
        and used > following.first
        and similarity(question.sketch, following.sketch) >= REFORMULATED_SIMILARITY
    )
    return {
        "questions": True,
        "clicked": "click" in question.feedback,
        "saved": bool(question.feedback.keys() & {"save", "export"}),
        "reformulated": again,
        "not_relevant": "not_relevant" in question.feedback,
    }


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


class Diary:
    """Records questions; the keywords are those of `Batch`. Safe to share between threads."""

    def __init__(self, register: Registry, **options: Unpack[BatchOptions]) -> None:
        self._register = register
        self._batch: Batch[QuestionDigest] = Batch(self._write, **options)

    def note(self, user: str, query: str) -> None:
        """Record a question of a user."""
        self._batch.add(QuestionDigest(user, digest_of(query), self._batch.now(), sketch_of(query)))

    def flush(self) -> None:
        """Write pending records."""
        self._batch.flush()

    def close(self) -> None:
        """Write pending records, and drop later ones."""
        self._batch.close()

    def _write(self, questions: list[QuestionDigest]) -> None:
        self._register.ask(questions, self._batch.now() - RETENTION_S)

    def days(self, since: float = 0.0, until: float | None = None) -> list[Day]:
        """Return the days of a span of time, both ends in seconds since 1970."""
        self.flush()
        if until is None:
            late = None
        else:
            late = until + REFORMULATED_S
        questions = self._register.questions(since - SAME_S, late)
        found = online(questions, self._register.reactions(since, None if until is None else until + ANSWERED_S))
        if until is not None:
            last = _day(until - 1e-3)
        else:
            last = "9999"
        return [day for day in found if _day(since) <= day.day <= last]
