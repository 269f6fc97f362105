"""Choosing of documents as evidence: the one named in the query, then the best relevant ones, without repetition."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

from rifflux.text.sentences import Piece, pieces
from rifflux.types import Document, Hit, Notice, Span

#: The maximum number of documents for evidence, unless `Limits.least` is larger.
MOST = 10
#: The depth to which other subjects are searched for, and the maximum share of documents from below the list.
REACH = 30
FROM_BELOW = 1 / 3
#: The share of common runs of three words above which passages are the same.
SAME = 0.95


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for choosing evidence.

    At most `per_document` passages per document, at least `least` documents if that many are relevant, and at most
    `caps[group]` documents per value of a group. Documents below `min_relevance` are excluded, as are those beyond the
    best `always` that have less than `min_share` of the best score. `spread` takes one document of each subject in
    turn. `noun` is the word for documents in notices.
    """

    per_document: int = 2
    least: int = 4
    caps: Mapping[str, int] = field(default_factory=dict)
    spread: bool = False
    noun: str = "documents"
    min_relevance: float = 0.0
    min_share: float = 0.0
    always: int = 4

    def relevant_enough(self, candidates: Sequence[Citable]) -> list[bool]:
        """Return whether each candidate is relevant enough to be evidence; those named in the query are."""
        best = max((candidate.hit.score for candidate in candidates), default=0.0)
        relevant: list[bool] = []
        for each in candidates:
            is_near = sum(relevant) < self.always or each.hit.score >= self.min_share * best
            relevant.append(each.certainty > 0 or (is_near and each.relevance >= self.min_relevance))
        return relevant


@dataclass(frozen=True, slots=True)
class Citable:
    """A candidate for evidence: a document by its best hit; `passages`, as disclosed, come best first.

    `document` loads it as disclosed. `components` are the parts of the score, `relevance` is the document's.
    `certainty` is how certainly the query names the document (0: not at all), `named` are the chunk ids of passages it
    names. `groups` are the values that caps count, `subject` is the field for spreading; both are empty if they may not
    be disclosed.
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
        # A passage with an empty span is only the title of its document.
        disclosed = [hit for hit in self.passages if not hit.withheld and hit.span[0] < hit.span[1]]
        return [hit for hit in disclosed if not is_contents(hit.text)]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A document chosen as evidence, as disclosed, and its passages with their texts."""

    candidate: Citable
    rank: int
    document: Document
    passages: tuple[tuple[Hit, str], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen documents in the order of citation, and notices about the choice."""

    documents: tuple[Chosen, ...]
    notes: tuple[Notice, ...]


def choose(
    candidates: Sequence[Citable],
    limits: Limits,
    listed: int,
    speaks: Callable[[str], bool] | None = None,
    offset: int = 0,
) -> Choice:
    """Return a choice of the relevant candidates in order; the first `listed` are those in the result list.

    `offset` is the number of candidates before them, on earlier pages. The one that the query names most certainly
    comes first, regardless of relevance. The others come from the list, in its order or, with `limits.spread`, one of
    each subject in turn, including some of subjects that the list lacks. Candidates below the list, and then those
    beyond the caps, are only taken until there are `limits.least`. Those without a text come last. Passages are cut to
    the sentences for which `speaks` is True.
    """
    ranks = {candidate.hit.place: rank for rank, candidate in enumerate(candidates, offset + 1)}
    table = _Table(limits, ranks, speaks)
    most = max(limits.least, min(MOST, listed))
    relevant = limits.relevant_enough(candidates)
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
    if lower := sum(each.rank > offset + listed for each in table.chosen):
        table.note("below_the_list", f"{limits.noun} that rank below the {listed} listed: {lower}", documents=lower)
    return Choice(tuple(table.chosen), tuple(dict.fromkeys(table.notes)))


def _named(candidates: Sequence[Citable]) -> list[Citable]:
    """Return the candidate that the query names most certainly, as a list of at most one."""
    surest = max((each.certainty for each in candidates), default=0)
    return [each for each in candidates if each.certainty and each.certainty == surest][:1]


@dataclass
class _Table:
    """The documents taken so far, and the counts compared with the caps."""

    limits: Limits
    ranks: dict[tuple[str, str], int]
    speaks: Callable[[str], bool] | None = None
    chosen: list[Chosen] = field(default_factory=list)
    capped: list[Citable] = field(default_factory=list)
    notes: list[Notice] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    runs: list[set[tuple[str, ...]]] = field(default_factory=list)

    def note(self, code: str, text: str, **data: int) -> None:
        """Add a notice about the choice."""
        self.notes.append(Notice(f"evidence.{code}", text, data=data))

    def take(self, candidates: Iterable[Citable], most: int, *, exempt: bool = False) -> None:
        """Take candidates in order until there are `most` documents, ignoring caps if `exempt`."""
        for candidate in candidates:
            if len(self.chosen) >= most:
                return
            place = candidate.hit.place
            if place in self.seen and not exempt:
                continue
            self.seen.add(place)
            caps = self.limits.caps
            is_full = any(self.counts[group] >= caps[group[0]] for group in candidate.groups if group[0] in caps)
            if is_full and not exempt:
                self.capped.append(candidate)
                continue
            # A document that was removed meanwhile, or only repeats others, is skipped.
            document = candidate.document()
            passages = self._passages(candidate, document) if document else []
            if document and passages:
                self.chosen.append(Chosen(candidate, self.ranks[place], document, tuple(passages)))
                self.counts.update(candidate.groups)

    def complete(self, relevant: int) -> None:
        """Take documents beyond the caps up to `least`, of `relevant` ones, and add notices on the choice."""
        noun = self.limits.noun
        groups = " or ".join(self.limits.caps)
        if len(self.chosen) < self.limits.least and self.capped:
            self.take(tuple(self.capped), self.limits.least, exempt=True)
            self.note("repeated_groups", f"{groups} are repeated: there were too few others")
        elif self.capped:
            self.note("groups_left_out", f"{noun} of repeated {groups} were left out")
        if len(self.chosen) < min(self.limits.least, relevant):
            text = f"no more than {len(self.chosen)} {noun} have something of their own to say"
            self.note("few_documents", text, documents=len(self.chosen))

    def _passages(self, candidate: Citable, document: Document) -> list[tuple[Hit, str]]:
        """Return the best passages that neither overlap nor repeat earlier ones; named ones come first.

        The text is empty if none may be disclosed, or if the document is only a title. Passages of a named document
        stay whole.
        """
        named = candidate.named
        found: list[tuple[Hit, str]] = []
        before: list[Span] = []
        passages = candidate.quotable
        if not passages:
            silent = [hit for hit in candidate.passages if hit.withheld or hit.span[0] == hit.span[1]]
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
        """Return True if no earlier passage has nearly the same runs of three words, and record these.

        Words are compared unanalyzed: a symbol changes a statement.
        """
        words = text.casefold().split()
        runs = {tuple(words[start : start + 3]) for start in range(len(words) - 2)}
        if words and not runs:
            runs = {tuple(words)}
        for other in self.runs if runs else ():
            if len(runs & other) >= SAME * len(runs | other):
                return False
        self.runs.append(runs)
        return True


def _spread(within: Sequence[Citable], below: Sequence[Citable], most: int) -> list[Citable]:
    """Return the listed candidates and the best of missing subjects, one of each subject in turn."""
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


# Passages that fit a token budget: first one per work, then more of the best


#: A smaller share of the budget cannot contain a passage worth quoting: then fewer works get more.
SHORTEST = 40
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


@dataclass(frozen=True, slots=True)
class Fitting:
    """The passages of each document that fit, by position, whole or cut at the end, and their number of tokens."""

    texts: Sequence[Mapping[int, str]]
    tokens: int
    notes: tuple[Notice, ...] = ()


def fitted(works: Sequence[tuple[str, Sequence[str]]], count: Callable[[str], int], budget: int, least: int) -> Fitting:
    """Return as many passages of each work as fit the budget; works have a title and come best first.

    The first `least` works get one passage each and share the budget if it is too small: longer passages are cut to a
    fair share. Passages of other works, and then second passages, are added whole if they fit. The title counts with
    each passage.
    """
    filling = _Filling([{} for _ in works], count, budget)
    share, sharers = _share([count(f"{title}\n{texts[0]}") for title, texts in works[:least]], budget)
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
    """The passages that fit so far; `cut` of them are not whole, `left` is True if some did not fit."""

    passages: list[dict[int, str]]
    count: Callable[[str], int]
    budget: int
    used: int = 0
    cut: int = 0
    left: bool = False

    def put(self, texts_of: dict[int, str], place: int, title: str, text: str) -> None:
        """Add a passage to those of its work, if it fits."""
        tokens = self.count(f"{title}\n{text}")
        if self.used + tokens > self.budget:
            self.left = True
            return
        texts_of[place] = text
        self.used += tokens


def _share(costs: Sequence[int], budget: int) -> tuple[int, int]:
    """Return the maximum tokens for each of the first works, and the number of works that get that share.

    Tokens unused by short passages are available to the others.
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
    """Return the beginning of a text with at most `most` tokens including its title, or None if nothing fits.

    It ends with a sentence unless that would halve it.
    """
    if count(f"{title}\n{text}") <= most:
        return text
    ends = [match.start() for match in _WORD_END.finditer(text)] or list(range(1, len(text)))
    fit = bisect_right(ends, most, key=lambda end: count(f"{title}\n{text[:end]}"))
    if not fit:
        return None
    end = max((each.span[1] for each in pieces(text) if each.span[1] <= ends[fit - 1]), default=0)
    return text[: end if 2 * end >= ends[fit - 1] else ends[fit - 1]]


# Quoted passages: the sentences that answer the query, without tables of contents


#: Dots leading to a page number, with any spacing.
_LEADER = re.compile(r"(?:(?:[.·_]\s?){3,}|(?:…\s?)+)\s*(?:\d{1,4}|[ivxlc]{1,7})\b", re.IGNORECASE)
#: A line of a table of contents without dots: section number, title, page number.
_ENTRY = re.compile(
    r"\s*(?:chapter\s+|appendix\s+)?(?:\d+|[A-Z])(?:\.\d+)*\.?\s+[^\W\d_].*\s\d{1,4}\s*\Z", re.IGNORECASE
)
#: The minimum number of entries of a table of contents, and the maximum words per entry.
LEAST_ENTRIES = 3
MOST_WORDS = 14
#: The minimum share of entries among lines without dots for a table of contents.
MOST_ENTRIES = 0.6
#: A passage with at most this many sentences is quoted whole.
FEW = 3
#: Open mathematics and lists are quoted whole.
_WHOLE = re.compile(r"\\begin\{|\$\$|\\\[")
_ENDS = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*\s*\Z|\n\s*\n\s*\Z")


def is_contents(text: str) -> bool:
    """Return True if a passage is part of a table of contents."""
    leaders = len(_LEADER.findall(text))
    if leaders >= LEAST_ENTRIES:
        words = _LEADER.sub(" ", text).split()
        return len(words) <= MOST_WORDS * leaders
    lines = [line for line in text.splitlines() if line.strip()]
    entries = sum(_ENTRY.match(line) is not None for line in lines)
    return entries > LEAST_ENTRIES and entries >= MOST_ENTRIES * len(lines)


def sentences_for(text: str, span: Span, speaks: Callable[[str], bool]) -> Span:
    """Return the part of a passage to quote: from its first sentence for which `speaks` is True to the last.

    Sentences cut at the passage's beginning or end are dropped. Passages with displayed formulas or lists stay whole,
    and so do short ones and those without such a sentence.
    """
    start, end = span
    passage = text[start:end]
    if _WHOLE.search(passage):
        return span
    every = pieces(passage)
    if len(every) < FEW:
        return span
    found = _whole(every, passage, text[max(0, start - 80) : start], text[end : end + 2])
    speaking = [each for each in found if speaks(passage[slice(*each.span)])]
    if not speaking and len(found) == len(every):
        return span
    first, *_, last = [*(speaking or found)] * 2
    return start + first.span[0], start + last.span[1]


def _whole(found: list[Piece], passage: str, before: str, after: str) -> list[Piece]:
    """Return the sentences of a passage without those that begin before it or end after it."""
    if len(found) > 1 and before.strip() and not _ENDS.search(before) and passage.lstrip()[:1].islower():
        found = found[1:]
    if len(found) > 1 and after.strip() and not _ENDS.search(passage):
        found = found[:-1]
    return found
