"""Works as evidence is taken from them: the groups that caps count, their subject, how surely they are named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rifflux.evidence.choose import Citable
from rifflux.text.titles import person
from rifflux.types import Document, Hit, Identifier, Tag
from rifflux.works.model import PRIMARY, primary_of
from rifflux.works.retrieval.exact import Named

__all__ = ["citable"]

#: The metadata that tells the subject of a work without codes.
_SUBJECTS = ("subject", "field", "chapter")


def citable(
    hit: Hit,
    passages: Sequence[Hit],
    document: Callable[[], Document | None],
    components: Mapping[str, float],
    named: Named,
    identifiers: Sequence[Identifier],
    tags: Sequence[Tag],
) -> Citable:
    """Return a work as evidence may be taken from it; title and identifiers alone decide where it is withheld."""
    if hit.withheld:
        return Citable(hit, passages, document, components, named(hit.title, (), identifiers))
    authors, venue = tuple(map(str, hit.metadata.get("authors", ()))), str(hit.metadata.get("venue", ""))
    headed = frozenset(each.chunk_id for each in passages if named.heads(each.heading_path))
    return Citable(
        hit,
        passages,
        document,
        components,
        certainty=named(hit.title, authors, identifiers) or int(bool(headed)),
        named=headed,
        groups={"authors": frozenset(map(person, authors)), "venues": frozenset([venue] if venue else [])},
        subject=_subject(hit.metadata, tags),
    )


def _subject(facts: Mapping[str, object], tags: Sequence[Tag]) -> str:
    """Return the primary category of a work, else the subject in its metadata; empty if unknown."""
    primary = str(facts.get(PRIMARY, ""))
    tag = Tag(*primary.split(":", 1)) if ":" in primary else primary_of(tags)
    if tag:
        return f"{tag.scheme}:{tag.value[:2] if tag.scheme == 'msc' else tag.value}"
    return next((str(facts[name]) for name in _SUBJECTS if facts.get(name)), "")
