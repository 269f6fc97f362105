"""Which works evidence is taken from: what is named, then the best, without repeating authors, venues and passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rifflux.text.titles import person
from rifflux.types import Document, Hit, Identifier, Span, Tag
from rifflux.works.model import PRIMARY, primary_of
from rifflux.works.retrieval.exact import Named, named_in
from rifflux.works.retrieval.intent import Packing
from rifflux.works.visible import is_withheld, shown_document

__all__ = ["Candidate", "Choice", "Chosen", "choose"]

#: Works that evidence is taken from, unless more are asked for by `least_works`.
MOST_WORKS = 10
#: How far down the order other subjects are looked for, and what share of the works may come from below the list.
REACH, FROM_BELOW = 30, 1 / 3
#: Two passages that share so much of their runs of three words are the same one.
SAME = 0.95
#: What tells the field of a work that has no codes.
_FIELDS = ("subject", "field", "chapter")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A work with its score in `hit`, its passages best first, its names and subjects. `document` reads it."""

    hit: Hit
    passages: Sequence[Hit]
    document: Callable[[], Document | None]
    tags: Sequence[Tag] = ()
    identifiers: Sequence[Identifier] = ()

    @property
    def place(self) -> tuple[str, str]:
        """What names the work: its collection and its key there."""
        return self.hit.collection, self.hit.document

    @property
    def withheld(self) -> bool:
        """Whether only title and identifiers may be told: nothing else decides about it then."""
        return is_withheld(self.hit.collection, self.hit.license)

    @property
    def authors(self) -> tuple[str, ...]:
        """Who wrote it, as far as that may be told."""
        return () if self.withheld else tuple(map(str, self.hit.metadata.get("authors", ())))

    @property
    def venue(self) -> str:
        """Where it was published, as far as that may be told."""
        return "" if self.withheld else str(self.hit.metadata.get("venue", ""))

    @property
    def subject(self) -> str:
        """The field it belongs to: its primary category, else what it says of itself; empty where that is unknown."""
        if self.withheld:
            return ""
        facts = self.hit.metadata
        told = str(facts.get(PRIMARY, ""))
        tag = Tag(*told.split(":", 1)) if ":" in told else primary_of(self.tags)
        if tag:
            return f"{tag.scheme}:{tag.value[:2] if tag.scheme == 'msc' else tag.value}"
        return next((str(facts[name]) for name in _FIELDS if facts.get(name)), "")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A work that evidence is taken from: as it may be shown, and its passages, each with its text."""

    candidate: Candidate
    rank: int
    document: Document
    passages: tuple[tuple[Hit, str], ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The works in the order in which they are cited, and what is to be known about the choice."""

    works: tuple[Chosen, ...]
    notes: tuple[str, ...]


def choose(query: str, candidates: Sequence[Candidate], packing: Packing, listed: int) -> Choice:
    """Choose among works in their order, of which the first `listed` are told as the answer.

    The best that the question names comes first. The others are of the list, in its order or, where `packing` says so,
    one of each field in turn, with some of fields that the list lacks. Only where that gives fewer than `least_works`
    does it go on below the list, and then beyond the caps on authors and venues.
    """
    table = _Table(packing, named_in(query), {each.place: rank for rank, each in enumerate(candidates, 1)})
    most = max(packing.least_works, min(MOST_WORKS, listed))
    within, below = candidates[:listed], candidates[listed:]
    table.take(table.named(candidates), most, exempt=True)
    table.take(_spread(within, below[: max(0, REACH - listed)], most) if packing.spread else within, most)
    table.take(below, packing.least_works)
    if len(table.taken) < packing.least_works and table.capped:
        table.take(tuple(table.capped), packing.least_works, exempt=True)
        table.notes.append("authors or venues are repeated: there were too few others")
    elif table.capped:
        table.notes.append("works of repeated authors or venues were left out")
    if len(table.taken) < min(packing.least_works, len(candidates)):
        table.notes.append(f"no more than {len(table.taken)} works have something of their own to say")
    if lower := sum(each.rank > listed for each in table.taken):
        table.notes.append(f"works that rank below the {listed} listed: {lower}")
    return Choice(tuple(table.taken), tuple(dict.fromkeys(table.notes)))


@dataclass
class _Table:
    """What was taken so far, and what speaks against taking more of the same."""

    packing: Packing
    named_in: Named
    ranks: dict[tuple[str, str], int]
    taken: list[Chosen] = field(default_factory=list)
    capped: list[Candidate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)
    people: Counter[str] = field(default_factory=Counter)
    venues: Counter[str] = field(default_factory=Counter)
    runs: list[set[tuple[str, ...]]] = field(default_factory=list)

    def named(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """The work that the question names most surely, if there is one."""
        best = max(candidates, key=self._certainty, default=None)
        return [best] if best and self._certainty(best) else []

    def _certainty(self, candidate: Candidate) -> int:
        sure = self.named_in(candidate.hit.title, candidate.authors, candidate.identifiers)
        return sure or int(not candidate.withheld and any(map(self._is_named, candidate.passages)))

    def _is_named(self, passage: Hit) -> bool:
        return self.named_in.heads(passage.heading_path)

    def take(self, candidates: Iterable[Candidate], most: int, *, exempt: bool = False) -> None:
        """Take of the candidates in their order until there are `most` works; those `exempt` beyond all caps."""
        for candidate in candidates:
            if len(self.taken) >= most:
                return
            if candidate.place in self.seen and not exempt:
                continue
            self.seen.add(candidate.place)
            people = {person(name) for name in candidate.authors}
            if not exempt and self._full(people, candidate.venue):
                self.capped.append(candidate)
                continue
            if not (chosen := self._opened(candidate)):
                continue
            self.taken.append(chosen)
            self.people.update(people)
            self.venues.update([candidate.venue] * bool(candidate.venue))

    def _full(self, people: Iterable[str], venue: str) -> bool:
        packing = self.packing
        return self.venues[venue] >= packing.per_venue or any(
            self.people[name] >= packing.per_author for name in people
        )

    def _opened(self, candidate: Candidate) -> Chosen | None:
        """The work with its passages; None where it is gone, or says only what others say."""
        document = candidate.document()
        if document is None:
            return None
        document = shown_document(candidate.hit.collection, document)
        passages = tuple(self._passages(candidate, document))
        if not passages:
            return None
        exact = bool(self._certainty(candidate))
        return Chosen(candidate, self.ranks[candidate.place], document, passages, exact)

    def _passages(self, candidate: Candidate, document: Document) -> Iterable[tuple[Hit, str]]:
        """The best passages that do not overlap, nor repeat one that was taken; an empty text where none may be shown.

        What the question names comes first. Of a work that is all title the text is empty, too.
        """
        if is_withheld(candidate.hit.collection, document.license):
            yield candidate.passages[0], ""
            return
        spans: list[Span] = []
        for hit in sorted(candidate.passages, key=self._is_named, reverse=True):
            start, end = hit.span
            text = document.text[start:end]
            if any(start < other[1] and other[0] < end for other in spans):
                continue
            if not self._is_new(text):
                self.notes.append("passages that stand in several works are quoted once")
                continue
            spans.append(hit.span)
            yield hit, text
            if len(spans) == self.packing.per_work:
                return

    def _is_new(self, text: str) -> bool:
        runs = _runs(text)
        if any(len(runs & other) >= SAME * len(runs | other) for other in self.runs if runs):
            return False
        self.runs.append(runs)
        return True


def _runs(text: str) -> set[tuple[str, ...]]:
    """The runs of three words of a text, or all of a shorter one. Words as they stand: a symbol changes a statement."""
    words = text.casefold().split()
    return {tuple(words[start : start + 3]) for start in range(max(1, len(words) - 2))} if words else set()


def _spread(within: Sequence[Candidate], below: Sequence[Candidate], most: int) -> list[Candidate]:
    """The listed candidates with the best of fields that they lack, one of each field in turn."""
    listed = {each.subject for each in within}
    others: dict[str, Candidate] = {}
    for candidate in below:
        if candidate.subject and candidate.subject not in listed:
            others.setdefault(candidate.subject, candidate)
    fields: dict[str, list[Candidate]] = {}
    for candidate in [*within, *list(others.values())[: int(most * FROM_BELOW)]]:
        fields.setdefault(candidate.subject, []).append(candidate)
    turns = max(map(len, fields.values()), default=0)
    return [group[turn] for turn in range(turns) for group in fields.values() if turn < len(group)]
