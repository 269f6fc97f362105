"""Evidence that can be cited and checked: the best passages of several works, within a budget of tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rifflux.evidence.choose import Candidate, Chosen, choose
from rifflux.evidence.trim import fitted
from rifflux.types import Hit, Span
from rifflux.works.export import cite_keys, style_of
from rifflux.works.model import Work, names_of, work_of
from rifflux.works.retrieval.intent import Packing
from rifflux.works.visible import is_withheld

__all__ = ["TITLE_ONLY", "EvidencePack", "Item", "Packer", "bibliography", "digest", "keys_of"]

#: Below this relevance of the best work an answer should say that it is not sure.
UNCERTAIN = 0.5
#: What stands for the text of a work that has none.
TITLE_ONLY = "[title only: the index holds no text of this work]"


@dataclass(frozen=True, slots=True)
class Item:
    """A passage that can be cited. `text` is the work's text at `span`, `hash` the SHA-256 of it.

    Both are empty where no license is recorded, as is all but the title and the identifiers; `withheld` says so. Of a
    work that is all title the text is empty, too. `rank` is the work's among all that were found, `exact` says that the
    question names it.
    """

    number: int
    rank: int
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
    license: str | None
    score: float
    components: Mapping[str, float]
    withheld: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class EvidencePack:
    """The evidence for a question.

    `tokens` of the `budget` were used for titles and texts. `confidence` is the relevance of the most relevant work
    with a text, `uncertain` says that little speaks for any, or that there is no text. `bibliography` holds, where it
    was asked for, each cited work in BibTeX or CSL-JSON without its abstract, by citation key.
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


@dataclass(frozen=True)
class Packer:
    """Packs evidence of works in their order, as `packing` allows, until the budget of tokens is used.

    `listed` is how many works are told as the answer; evidence is of them as long as they are enough. `count` counts
    tokens, `relevance` tells how relevant the best of some hits is. `cite` asks for a bibliography: `bibtex` or `csl`.
    `notes` are to be told with the pack.
    """

    packing: Packing
    count: Callable[[str], int]
    relevance: Callable[[Sequence[Hit]], float]
    budget: int = 4_000
    listed: int = 10
    cite: str = ""
    notes: Sequence[str] = ()

    def __call__(self, query: str, intent: str, candidates: Sequence[Candidate]) -> EvidencePack:
        """The pack of a question; the same candidates always give the same."""
        choice = choose(query, candidates, self.packing, self.listed)
        passages = [(each.document.title, [text for _, text in each.passages]) for each in choice.works]
        fit = fitted(passages, self.count, self.budget, self.packing.least_works)
        packed = [(work, texts) for work, texts in zip(choice.works, fit.texts, strict=True) if texts]
        works = [work_of(work.document) for work, _ in packed]
        keys = keys_of(works)
        items = [
            _item(key, work, work.passages[place][0], text)
            for key, (work, texts) in zip(keys, packed, strict=True)
            for place, text in texts.items()
        ]
        quoted = [work.candidate.hit for work, texts in packed if any(texts.values())]
        confidence = self.relevance(quoted) if quoted else 0.0
        speechless = ["no text of these works can be quoted"] if packed and not quoted else []
        return EvidencePack(
            query,
            intent,
            tuple(replace(item, number=number) for number, item in enumerate(items, 1)),
            fit.tokens,
            self.budget,
            confidence,
            confidence < UNCERTAIN,
            (*self.notes, *choice.notes, *fit.notes, *speechless),
            bibliography(dict(zip(keys, works, strict=True)), self.cite) if self.cite else {},
        )


def keys_of(works: Sequence[Work]) -> list[str]:
    """What the works of a pack are cited by, in its order."""
    return list(cite_keys(works))


def bibliography(works: Mapping[str, Work], style: str) -> dict[str, Any]:
    """Each work as it is to be written under its key. Without abstracts: what is quoted of them counts as evidence."""
    written = style_of(style)
    return {key: written(replace(work, abstract=""), key) for key, work in works.items()}


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _item(key: str, work: Chosen, hit: Hit, text: str) -> Item:
    """A passage of a work, still without its number; `text` is the passage or its beginning."""
    document, scored = work.document, work.candidate.hit
    facts = document.metadata
    withheld = is_withheld(hit.collection, document.license)
    why = scored.because("works")
    year = facts.get("year")
    return Item(
        number=0,
        rank=work.rank,
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
        span=(0, 0) if withheld else (hit.span[0], hit.span[0] + len(text)),
        text=text,
        hash="" if withheld else digest(text),
        license=document.license,
        score=scored.score,
        components=_numbers(why.detail) if why else {},
        withheld=withheld,
        exact=work.exact,
    )


def _numbers(detail: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in detail.items() if isinstance(value, float)}
