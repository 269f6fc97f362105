"""Choose documents to take evidence from: the one named, then the best that are relevant, repeating nothing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count
from operator import attrgetter

from rifflux.evidence.passages import is_contents, sentences_for
from rifflux.text.sentences import pieces
from rifflux.types import Document, Hit, Notice, Span

#: Documents that evidence is taken from, unless `Limits.least` asks for more.
MOST = 10
#: How far down the order other subjects are looked for, and the share of documents that may come from below the list.
REACH = 30
FROM_BELOW = 1 / 3
#: Passages that share this much of their runs of three words are the same.
SAME = 0.95


@dataclass(frozen=True, slots=True)
class Limits:
    """How evidence is chosen.

    At most `per_document` passages of a document, at least `least` documents where so many are relevant, and at most
    `caps[group]` documents of one value of a group. Documents of less relevance than `min_relevance` are no evidence,
    nor are those, beyond the best `always`, that have less than `min_share` of the best one's score. `spread` takes one
    document of each subject in turn. `noun` names documents in notes.
    """

    per_document: int = 2
    least: int = 4
    caps: Mapping[str, int] = field(default_factory=dict)
    spread: bool = False
    noun: str = "documents"
    min_relevance: float = 0.0
    min_share: float = 0.0
    always: int = 4

    def carry(self, candidates: Sequence[Citable]) -> list[bool]:
        """Return of each candidate whether it carries weight; what the question names does."""
        best = max((candidate.hit.score for candidate in candidates), default=0.0)
        kept: list[bool] = []
        for each in candidates:
            near = sum(kept) < self.always or each.hit.score >= self.min_share * best
            kept.append(each.certainty > 0 or (near and each.relevance >= self.min_relevance))
        return kept


@dataclass(frozen=True, slots=True)
class Citable:
    """A candidate for evidence: a document by its best hit; `passages`, as disclosed, come best first.

    `document` reads it as disclosed. `components` are the parts of the score, `relevance` is that of the
    document. `certainty` says how surely the question names the document (0: not at all), `named` holds the chunk ids
    of the passages it names. `groups` are the values that caps count, `subject` the field that spreading goes by; both
    are empty where they may not be shown.
    """

    hit: Hit
    passages: Sequence[Hit]
    document: Callable[[], Document | None]
    components: Mapping[str, float] = field(default_factory=dict)
    relevance: float = 0.0
    certainty: int = 0
    named: frozenset[str] = frozenset()
    groups: frozenset[tuple[str, str]] = frozenset()
    subject: str = ""

    @property
    def quotable(self) -> Sequence[Hit]:
        """Return the passages that may be quoted: disclosed, with a text, and not a table of contents."""
        return [hit for hit in self.passages if not hit.withheld and _has_text(hit) and not is_contents(hit.text)]


def _has_text(hit: Hit) -> bool:
    """Return whether a passage is more than the title of its document."""
    return hit.span[0] < hit.span[1]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A document chosen as evidence, as disclosed, and its passages, each with its text."""

    candidate: Citable
    rank: int
    document: Document
    passages: tuple[tuple[Hit, str], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The documents in the order of citation, and notices about the choice."""

    documents: tuple[Chosen, ...]
    notes: tuple[Notice, ...]


def choose(
    candidates: Sequence[Citable],
    limits: Limits,
    listed: int,
    speaks: Callable[[str], bool] | None = None,
    offset: int = 0,
) -> Choice:
    """Choose among the relevant candidates in their order; the first `listed` are those that the answer lists.

    So many as `offset` come before them, which another page lists.

    The one that the question names most surely comes first, and is relevant. The others are of the list, in its order
    or, with `limits.spread`, one of each subject in turn, with some of subjects that the list lacks. Candidates below
    the list, and then those beyond the caps, are taken only until there are `limits.least`. Those without a text come
    last. Passages are cut to the sentences that one of them `speaks` in.
    """
    ranks = dict(zip((candidate.hit.place for candidate in candidates), count(offset + 1), strict=False))
    table = _Table(limits, ranks, speaks)
    most = max(limits.least, min(MOST, listed))
    relevant = limits.carry(candidates)
    within = [*compress(candidates[:listed], relevant)]
    quoted = [each for each in within if each.quotable]
    silent = [each for each in within if not each.quotable]
    below = [each for each in compress(candidates[listed:REACH], relevant[listed:]) if each.quotable]
    table.take(_named(quoted), most, exempt=True)
    table.take(_spread(quoted, below, most) if limits.spread else quoted, most)
    table.take(below, limits.least)
    table.complete(len(quoted) + len(below))
    table.take([*_named(silent), *silent], most)
    if weaker := sum(each.relevance < limits.min_relevance and not each.certainty for each in candidates[:listed]):
        text = f"{limits.noun} of the list with less relevance than {limits.min_relevance:g}: {weaker}"
        table.note("low_relevance", text, documents=weaker)
    if behind := min(listed, len(candidates)) - len(within) - weaker:
        text = f"{limits.noun} of the list with less than {limits.min_share:g} of the best score: {behind}"
        table.note("low_score", text, documents=behind)
    if lower := sum((offset + listed).__lt__(each.rank) for each in table.taken):
        table.note("below_the_list", f"{limits.noun} that rank below the {listed} listed: {lower}", documents=lower)
    return Choice(tuple(table.taken), tuple(dict.fromkeys(table.notes)))


def _named(candidates: Sequence[Citable]) -> list[Citable]:
    """Return the candidate that the question names most surely, if it names any."""
    best = max(candidates, key=attrgetter("certainty"), default=None)
    if best and best.certainty:
        return [best]
    return []


@dataclass
class _Table:
    """The documents taken so far, and the counts that caps are compared with."""

    limits: Limits
    ranks: dict[tuple[str, str], int]
    speaks: Callable[[str], bool] | None = None
    taken: list[Chosen] = field(default_factory=list)
    capped: list[Citable] = field(default_factory=list)
    notes: list[Notice] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    runs: list[set[tuple[str, ...]]] = field(default_factory=list)

    def note(self, code: str, text: str, **data: int) -> None:
        """Add a notice about the choice."""
        self.notes.append(Notice(f"evidence.{code}", text, data=data))

    def take(self, candidates: Iterable[Citable], most: int, *, exempt: bool = False) -> None:
        """Take candidates in their order until there are `most` documents; those `exempt` beyond all caps."""
        for candidate in candidates:
            if len(self.taken) >= most:
                return
            place = candidate.hit.place
            if place in self.seen and not exempt:
                continue
            self.seen.add(place)
            if not exempt and self._is_full(candidate.groups):
                self.capped.append(candidate)
            elif chosen := self._opened(candidate):
                self.taken.append(chosen)
                self.counts.update(candidate.groups)

    def _is_full(self, groups: Iterable[tuple[str, str]]) -> bool:
        caps = self.limits.caps
        return any(self.counts[group] >= caps[group[0]] for group in groups if group[0] in caps)

    def complete(self, relevant: int) -> None:
        """Take those beyond the caps until there are enough, of so many that are relevant, and note what was done."""
        noun = self.limits.noun
        groups = " or ".join(self.limits.caps)
        if len(self.taken) < self.limits.least and self.capped:
            self.take(tuple(self.capped), self.limits.least, exempt=True)
            self.note("repeated_groups", f"{groups} are repeated: there were too few others")
        elif self.capped:
            self.note("groups_left_out", f"{noun} of repeated {groups} were left out")
        if len(self.taken) < min(self.limits.least, relevant):
            text = f"no more than {len(self.taken)} {noun} have something of their own to say"
            self.note("few_documents", text, documents=len(self.taken))

    def _opened(self, candidate: Citable) -> Chosen | None:
        """Read a document with its passages; None where it is gone, or only repeats others."""
        document = candidate.document()
        if document is None:
            return None
        passages = tuple(self._passages(candidate, document))
        if passages:
            return Chosen(candidate, self.ranks[candidate.hit.place], document, passages)
        return None

    def _passages(self, candidate: Citable, document: Document) -> list[tuple[Hit, str]]:
        """Return the best passages that neither overlap nor repeat one taken before; named ones come first.

        The text is empty where none may be shown, and of a document that is all title. Passages of a document that is
        named stay whole.
        """
        named = candidate.named
        found: list[tuple[Hit, str]] = []
        before: list[Span] = []
        passages = candidate.quotable
        if not passages:
            silent = [hit for hit in candidate.passages if hit.withheld or not _has_text(hit)]
            if silent:
                return [(silent[0], "")]
            return []
        for hit in sorted(passages, key=lambda each: each.id not in named) if named else passages:
            start, end = hit.span
            if any(start < other[1] and other[0] < end for other in before):
                continue
            if self.speaks and not candidate.certainty:
                hit = replace(hit, span=sentences_for(document.text, hit.span, self.speaks))
            text = document.text[slice(*hit.span)]
            if self._is_new(text):
                before.append((start, end))
                found.append((hit, text))
            else:
                self.note("quoted_once", f"passages that stand in several {self.limits.noun} are quoted once")
            if len(found) == self.limits.per_document:
                break
        return found

    def _is_new(self, text: str) -> bool:
        runs = _runs(text)
        for other in self.runs if runs else ():
            if len(runs & other) >= SAME * len(runs | other):
                return False
        self.runs.append(runs)
        return True


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return the runs of three words of a text, unanalyzed: a symbol changes a statement."""
    words = text.casefold().split()
    if len(words) < 3:
        if words:
            return {tuple(words)}
        return set()
    return set(zip(words, words[1:], words[2:], strict=False))


def _spread(within: Sequence[Citable], below: Sequence[Citable], most: int) -> list[Citable]:
    """Return the listed candidates with the best of subjects that they lack, one of each subject in turn."""
    listed = {each.subject for each in within}
    others: dict[str, Citable] = {}
    for candidate in below:
        if candidate.subject and candidate.subject not in listed:
            others.setdefault(candidate.subject, candidate)
    subjects: dict[str, list[Citable]] = {}
    for candidate in [*within, *list(others.values())[: int(most * FROM_BELOW)]]:
        subjects.setdefault(candidate.subject, []).append(candidate)
    turns = max(map(len, subjects.values()), default=0)
    return [group[turn] for turn in range(turns) for group in subjects.values() if turn < len(group)]


# Passages that fit a budget of tokens: first one of each work, then more of the best


#: A share of the budget that is smaller holds no passage worth quoting: fewer works get more then.
SHORTEST = 40
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


@dataclass(frozen=True, slots=True)
class Fitting:
    """The passages of each document that fit, by their places, whole or cut at the end, and their number of tokens."""

    texts: Sequence[Mapping[int, str]]
    tokens: int
    notes: tuple[Notice, ...] = ()


def fitted(works: Sequence[tuple[str, Sequence[str]]], count: Callable[[str], int], budget: int, least: int) -> Fitting:
    """Choose of the passages of each work, given with its title, best work first, as much as the budget allows.

    The first `least` works get one passage each, and share the budget where it is too small for that: what is longer
    than a fair share is cut. The others, and then second passages, come as they are, where they fit. A title counts
    with each passage.
    """
    filling = _Filling([{} for _ in works], count, budget)
    share, sharers = _share([count(_quote(title, texts[0])) for title, texts in works[:least]], budget)
    for texts_of, (title, texts) in zip(filling.passages, works[:sharers], strict=False):
        filling.put(texts_of, 0, title, _cut(title, texts[0], count, share) or texts[0])
        filling.cut += texts_of.get(0, texts[0]) != texts[0]
    for place in range(max(map(len, (work[1] for work in works)), default=0)):
        for texts_of, (title, texts) in zip(filling.passages, works, strict=True):
            if place < len(texts) and (0 in texts_of) == (place > 0):
                filling.put(texts_of, place, title, texts[place])
    notes = []
    if filling.cut:
        text = f"the budget of tokens cut {filling.cut} passage{'s' if filling.cut > 1 else ''} short"
        notes.append(Notice("budget.cut", text, data={"passages": filling.cut}))
    if filling.left:
        notes.append(Notice("budget.left_out", "the budget of tokens left out more"))
    return Fitting(filling.passages, filling.used, tuple(notes))


@dataclass
class _Filling:
    """The passages that fit so far; `cut` of them are not whole, `left` says that some were left out."""

    passages: list[dict[int, str]]
    count: Callable[[str], int]
    budget: int
    used: int = 0
    cut: int = 0
    left: bool = False

    def put(self, texts_of: dict[int, str], place: int, title: str, text: str) -> None:
        """Add a passage to those of its work, if it fits."""
        tokens = self.count(_quote(title, text))
        if self.used + tokens > self.budget:
            self.left = True
            return
        texts_of[place] = text
        self.used += tokens


def _quote(title: str, text: str) -> str:
    """Return a passage as it is counted."""
    return f"{title}\n{text}"


def _share(costs: Sequence[int], budget: int) -> tuple[int, int]:
    """Return the most tokens that each of the first works may have, and of how many works that is true.

    What a small one leaves over is the others'.
    """
    sharers = len(costs)
    while sharers:
        left = budget
        share = 0
        for place, cost in enumerate(sorted(costs[:sharers])):
            share = left // (sharers - place)
            if cost > share:
                break
            left -= cost
        else:
            return budget, sharers
        if share >= SHORTEST or sharers == 1:
            return share, sharers
        sharers -= 1
    return budget, 0


def _cut(title: str, text: str, count: Callable[[str], int], most: int) -> str | None:
    """Return the beginning of a text with at most `most` tokens, its title counted; None if there is none.

    It ends with a sentence unless that would halve it.
    """
    if count(_quote(title, text)) <= most:
        return text
    ends = [match.start() for match in _WORD_END.finditer(text)] or list(range(1, len(text)))
    fit = bisect_right(ends, most, key=lambda end: count(_quote(title, text[:end])))
    if not fit:
        return None
    end = max((each.span[1] for each in pieces(text) if each.span[1] <= ends[fit - 1]), default=0)
    return text[: end if 2 * end >= ends[fit - 1] else ends[fit - 1]]
