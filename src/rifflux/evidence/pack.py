"""Packing of the best passages of several documents within a token budget, for citing and verifying."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rifflux.evidence.choose import Chosen, Citable, Limits, choose, fitted
from rifflux.types import Document, Hit, Notice, Span
from rifflux.types.nouns import noun_json

#: The relevance of the best document below which an answer should say that it is uncertain.
UNCERTAIN = 0.5
#: Replaces the text of a document without one.
TITLE_ONLY = "[title only: the index has no text of this work]"


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A passage that can be cited. `text` is the document's text at `span`, `hash` its SHA-256.

    `withheld` is True if no recorded license permits the text, which is then empty. The text of a document that is only
    a title is empty, too. `rank` is the document's among all results, `relevance` is its own, from 0 to 1, and `exact`
    is True if the query names it. `collection` is the caller's name of its collection.
    """

    number: int
    rank: int
    citation_key: str
    namespace: str
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
    collection: str = ""
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class PackRequest:
    """The request that a pack answers, for repeating it.

    `arguments` are those of the call, without the query; `requested_at` is the time (ISO 8601), `state` the contents of
    the index at that time (`Store.contents`), and `settings` a digest of everything else that affects an answer.
    """

    arguments: Mapping[str, Any]
    requested_at: str
    state: str
    settings: str


@dataclass(frozen=True, slots=True)
class Reference:
    """The facts by which a document is cited."""

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citing:
    """The citation functions for a kind of documents.

    `refer` returns the reference of a document as disclosed, `keys` returns a distinct key for each of several
    references, `entry` formats a document under its key in a bibliography style.
    """

    refer: Callable[[Document], Reference]
    keys: Callable[[Sequence[Reference]], list[str]]
    entry: Callable[[Document, str, str], Any]

    def bibliography(self, documents: Mapping[str, Document], style: str) -> dict[str, Any]:
        """Return the bibliography entry of each document by key."""
        return {key: self.entry(document, key, style) for key, document in documents.items()}


@dataclass(frozen=True, slots=True)
class EvidencePack:
    """The evidence for a query.

    `tokens` of at most `max_tokens` were used for titles and texts; documents below `min_relevance` that the query does
    not name were excluded. `confidence` is the relevance of the most relevant document with a text; `uncertain` is True
    if it is low, or if there is no text. `bibliography` contains, if requested, the entry of each cited document by
    citation key. `request` is the request, `digest` is `pack_digest` of everything else; packs with the same content
    are equal whenever they were made.
    """

    query: str
    intent: str
    items: tuple[EvidenceItem, ...]
    tokens: int
    max_tokens: int
    confidence: float
    uncertain: bool
    notes: tuple[Notice, ...] = ()
    bibliography: Mapping[str, Any] = field(default_factory=dict)
    min_relevance: float = 0.0
    request: PackRequest | None = field(default=None, compare=False)
    digest: str = field(default="", compare=False)


def pack_digest(pack: EvidencePack) -> str:
    """Return the SHA-256 of a pack as canonical JSON (sorted keys, no blanks), without its digest."""
    claims = {name: value for name, value in noun_json(pack).items() if name != "digest"}
    return digest(json.dumps(claims, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


@dataclass(frozen=True)
class Packer:
    """Packs evidence of documents in order, within `limits`, until the token budget is used.

    The `listed` documents after `offset` are the result list; evidence comes from them as long as they suffice. `style`
    requests a bibliography. `notes` are added to the pack.
    """

    citing: Citing
    limits: Limits = field(default_factory=Limits)
    budget: int = 4_000
    listed: int = 10
    style: str = ""
    notes: Sequence[Notice] = ()
    offset: int = 0

    def __call__(
        self,
        query: str,
        intent: str,
        candidates: Sequence[Citable],
        count: Callable[[str], int],
        speaks: Callable[[str], bool] | None = None,
    ) -> EvidencePack:
        """Return the pack of a query; equal candidates give equal packs.

        `count` counts the tokens of a text. Passages are cut to the sentences for which `speaks` is True; without it
        they stay whole.
        """
        choice = choose(candidates, self.limits, self.listed, speaks, self.offset)
        passages = [(each.document.title, [text for _, text in each.passages]) for each in choice.documents]
        fit = fitted(passages, count, self.budget, self.limits.least)
        packed = [(each, texts) for each, texts in zip(choice.documents, fit.texts, strict=True) if texts]
        references = [self.citing.refer(each.document) for each, _ in packed]
        items: list[EvidenceItem] = []
        quoted: list[float] = []
        documents: dict[str, Document] = {}
        for key, reference, (each, texts) in zip(self.citing.keys(references), references, packed, strict=True):
            documents[key] = each.document
            if any(texts.values()):
                quoted.append(each.candidate.relevance)
            for place, text in texts.items():
                items.append(_item(len(items) + 1, key, reference, each, each.passages[place][0], text))
        confidence = max(quoted, default=0.0)
        speechless = Notice("evidence.no_text", f"no text of these {self.limits.noun} can be quoted")
        return EvidencePack(
            query,
            intent,
            tuple(items),
            fit.tokens,
            self.budget,
            confidence,
            confidence < UNCERTAIN,
            (*self.notes, *choice.notes, *fit.notes, *([speechless] if packed and not quoted else [])),
            self.citing.bibliography(documents, self.style) if self.style else {},
            self.limits.min_relevance,
        )


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _item(number: int, key: str, reference: Reference, chosen: Chosen, hit: Hit, text: str) -> EvidenceItem:
    """Return an item; `text` is the passage or its beginning."""
    license = chosen.document.license
    candidate = chosen.candidate
    withheld = hit.withheld
    return EvidenceItem(
        number=number,
        rank=chosen.rank,
        citation_key=key,
        namespace=candidate.hit.home,
        collection=candidate.hit.collection,
        key=hit.key,
        title=reference.title,
        authors=reference.authors,
        year=reference.year,
        venue=reference.venue,
        identifiers=reference.identifiers,
        heading_path="" if withheld else hit.heading_path,
        chunk_id=hit.id,
        span=(0, 0) if withheld else (hit.span[0], hit.span[0] + len(text)),
        text=text,
        hash="" if withheld else digest(text),
        license=license,
        score=candidate.hit.score,
        components=candidate.components,
        withheld=withheld,
        exact=bool(candidate.certainty),
        relevance=candidate.relevance,
    )
