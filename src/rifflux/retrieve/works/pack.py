"""Evidence that can be cited and checked: the best passages of several works, within a budget of tokens."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rifflux.retrieve.works.intent import Packing
from rifflux.retrieve.works.licences import is_withheld, shown_document
from rifflux.text.analyser import fold
from rifflux.types import Document, Hit, Span, Tag
from rifflux.works.export import cite_keys, style_of
from rifflux.works.model import Work, names_of, work_of

__all__ = ["Candidate", "EvidencePack", "Item", "Packer", "digest"]


@dataclass(frozen=True, slots=True)
class Item:
    """A passage that can be cited. `text` is the work's text at `span`, `hash` the SHA-256 of it.

    Both are empty where no licence is recorded, as is all but the title and the identifiers; `withheld` says so.
    """

    number: int
    citation_key: str
    collection: str
    key: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    venue: str
    identifiers: tuple[str, ...]
    heading_path: str
    chunk_id: str
    span: Span
    text: str
    hash: str
    licence: str | None
    score: float
    components: Mapping[str, float]
    withheld: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class EvidencePack:
    """The evidence for a question. `tokens` of the `budget` were used; `uncertain` says that little speaks for it.

    `bibliography` holds, where it was asked for, each cited work in BibTeX or CSL-JSON, by citation key.
    """

    query: str
    intent: str
    items: tuple[Item, ...]
    tokens: int
    budget: int
    confidence: float
    uncertain: bool
    notes: tuple[str, ...] = ()
    bibliography: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A work with its score in `hit`, its passages best first, and what it is about."""

    hit: Hit
    passages: Sequence[Hit]
    document: Callable[[], Document | None]
    tags: Sequence[Tag] = ()


@dataclass(frozen=True)
class Packer:
    """Chooses works in their order, within what `packing` allows, until the budget of tokens is used.

    What names the question exactly is always among them. Caps are lifted where they would leave fewer than
    `least_works` works. `count` counts tokens. `cite` asks for a bibliography: `bibtex` or `csl`.
    """

    packing: Packing
    count: Callable[[str], int]
    budget: int = 4_000
    most_works: int = 10
    cite: str = ""

    def __call__(self, query: str, intent: str, candidates: Sequence[Candidate], confidence: float) -> EvidencePack:
        """The pack of a question; the same candidates always give the same."""
        chosen, notes = self._chosen(query, candidates)
        items: list[Item] = []
        read = [
            (candidate, shown_document(candidate.hit.collection, document))
            for candidate in chosen
            if (document := candidate.document())
        ]
        works = [work_of(document) for _, document in read]
        keys, used = list(cite_keys(works)), 0
        for (candidate, document), key in zip(read, keys, strict=True):
            for passage in self._passages(candidate, document):
                tokens = self.count(f"{document.title}\n{passage[1]}")
                if used + tokens > self.budget:
                    notes.append("the budget of tokens left out more")
                    break
                used += tokens
                items.append(
                    _item(len(items) + 1, key, candidate, document, *passage, exact=_is_exact(query, document))
                )
        return EvidencePack(
            query,
            intent,
            tuple(items),
            used,
            self.budget,
            confidence,
            confidence < UNCERTAIN or not items,
            tuple(dict.fromkeys(notes)),
            self._bibliography(dict(zip(keys, works, strict=True)), items),
        )

    def _bibliography(self, works: Mapping[str, Work], items: Sequence[Item]) -> dict[str, Any]:
        """Each work that the items cite, as it is to be written."""
        if not self.cite:
            return {}
        written = style_of(self.cite)
        return {key: written(works[key], key) for key in dict.fromkeys(item.citation_key for item in items)}

    def _chosen(self, query: str, candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[str]]:
        packing, notes = self.packing, []
        exact = [each for each in candidates if fold(each.hit.title) == fold(query.strip(' "?.'))][:1]
        rest = [each for each in candidates if each not in exact]
        ordered = _spread(rest) if packing.spread else rest
        authors, venues = Counter[str](), Counter[str]()
        chosen: list[Candidate] = []
        capped: list[Candidate] = []
        for candidate in [*exact, *ordered]:
            names, venue = _names(candidate.hit), str(candidate.hit.metadata.get("venue", ""))
            full = any(authors[name] >= packing.per_author for name in names) or (
                bool(venue) and venues[venue] >= packing.per_venue
            )
            if full and candidate not in exact:
                capped.append(candidate)
                continue
            authors.update(names)
            venues.update([venue] * bool(venue))
            chosen.append(candidate)
            if len(chosen) == self.most_works:
                break
        if len(chosen) < packing.least_works and capped:
            chosen += capped[: packing.least_works - len(chosen)]
            notes.append("authors or venues are repeated: there were too few others")
        elif capped:
            notes.append("works of repeated authors or venues were left out")
        return chosen, notes

    def _passages(self, candidate: Candidate, document: Document) -> Iterable[tuple[Hit, str]]:
        """The best passages of a work that do not overlap, each with its text; without one where none may be shown."""
        taken: list[Span] = []
        for hit in candidate.passages:
            start, end = hit.span
            if any(start < other[1] and other[0] < end for other in taken):
                continue
            taken.append(hit.span)
            withheld = is_withheld(hit.collection, document.licence)
            yield hit, "" if withheld else document.text[start:end]
            if withheld or len(taken) == self.packing.per_work:
                return


#: Below this relevance of the best candidate an answer should say that it is not sure.
UNCERTAIN = 0.5


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _item(number: int, key: str, candidate: Candidate, document: Document, hit: Hit, text: str, *, exact: bool) -> Item:
    facts, scored = document.metadata, candidate.hit
    withheld = is_withheld(hit.collection, document.licence)
    why = scored.because("works")
    year = facts.get("year")
    return Item(
        number=number,
        citation_key=key,
        collection=hit.collection,
        key=hit.document,
        title=document.title,
        authors=tuple(map(str, facts.get("authors", ()))),
        year=year if isinstance(year, int) else None,
        venue=str(facts.get("venue", "")),
        identifiers=tuple(map(str, names_of(document.identifiers))),
        heading_path="" if withheld else hit.heading_path,
        chunk_id=hit.chunk_id,
        span=hit.span,
        text=text,
        hash=digest(text) if text else "",
        licence=document.licence,
        score=scored.score,
        components=_numbers(why.detail) if why else {},
        withheld=withheld,
        exact=exact,
    )


def _numbers(detail: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in detail.items() if isinstance(value, float)}


def _is_exact(query: str, document: Document) -> bool:
    return fold(document.title) == fold(query.strip(' "?.'))


def _names(hit: Hit) -> list[str]:
    return [fold(str(name)) for name in hit.metadata.get("authors", ())]


def _spread(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, one of each first subject in turn, in the order of the best of each."""
    by_subject: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        subject = str(candidate.tags[0]) if candidate.tags else candidate.hit.heading_path.split(" > ")[0]
        by_subject.setdefault(subject, []).append(candidate)
    turns = max(map(len, by_subject.values()), default=0)
    return [group[turn] for turn in range(turns) for group in by_subject.values() if turn < len(group)]
