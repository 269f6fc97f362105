"""Lists of works that match a filter, with a summary of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rifflux.session.license_policy import LicensePolicy
from rifflux.text.licenses import Permission
from rifflux.types import UNTOLD, Document, Filter
from rifflux.works.model import display_identifiers, work_of


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """A work in a list: its title and identifiers; `withheld` means that its text may not be disclosed."""

    title: str
    identifiers: tuple[str, ...]
    sources: tuple[str, ...] = ()
    license: str | None = None
    withheld: bool = field(default=False, metadata=UNTOLD)


def of_whom(
    outlines: Iterable[tuple[str, Document]], filter: Filter, visible: LicensePolicy
) -> Iterator[tuple[str, Document]]:
    """Yield the works that match a filter's authors, venues and years, as far as licenses disclose these."""
    for namespace, outline in outlines:
        year = str(outline.metadata.get("year", ""))
        if filter.since or filter.until:
            dated = (filter.since or "") <= year <= (filter.until or "9999")
        else:
            dated = True
        given = {name: _listed(outline.metadata.get(name)) for name in filter.metadata}
        disclosed = visible.discloses_facts(namespace, outline.license)
        if disclosed and dated and all(given[name] & {*values} for name, values in filter.metadata.items()):
            yield namespace, outline


def _listed(value: object) -> set[object]:
    if isinstance(value, list | tuple):
        return {*value}
    return {value}


def summary(visible: LicensePolicy, namespace: str, outline: Document) -> WorkSummary:
    """Summarize a work as far as its license permits."""
    work = work_of(visible.document(namespace, outline))
    withheld = visible.permission(namespace, outline.license) is Permission.NOTHING
    identifiers = tuple(str(each) for each in display_identifiers(work.identifiers))
    return WorkSummary(work.title, identifiers, work.sources, work.license, withheld)
