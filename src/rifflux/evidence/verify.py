"""Verification of evidence: that a pack is consistent in itself and with the documents of an index."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields

from rifflux.evidence.pack import Citing, EvidenceItem, EvidencePack, Reference, digest, pack_digest
from rifflux.store import Store, chunk_at
from rifflux.types import Document, Hit

_Place = tuple[str, str]


def verify(
    pack: EvidencePack, citing: Citing, redacted: Callable[[str, Document], Document], *stores: Store
) -> list[str]:
    """Return the problems of a pack, one per line; none if it is unchanged.

    Each text must match its hash and its span; items must be numbered, and cited by the keys from `citing`. With
    stores, each text must be at its span in the document of the store that contains its chunk, otherwise of the first
    store, and every fact of the item must match the document. `redacted` returns the document of a namespace as its
    license discloses it.
    """
    problems = [problem for item in pack.items for problem in _within(item)]
    if [item.number for item in pack.items] != list(range(1, len(pack.items) + 1)):
        problems.append("the items are not numbered from 1 on")
    problems += _miscited(pack, citing)
    if pack.tokens > pack.max_tokens:
        problems.append(f"it has {pack.tokens} tokens, more than its budget of {pack.max_tokens}")
    if not pack.items and (pack.tokens or not pack.uncertain):
        problems.append("its items are missing: it claims tokens or certainty, but has no evidence")
    claims = check_digest(pack)
    if not stores:
        return [*problems, *claims]
    documents: dict[_Place, Document] = {}
    for item in pack.items:
        # If several owners have a work of this name, the chunk identifies the owner.
        chunks = ((store, chunk_at(store.catalog, item.chunk_id)) for store in stores)
        store, chunk = next((each for each in chunks if each[1]), (stores[0], None))
        if chunk and chunk.is_of(*_place(item)):
            place = chunk.place
        else:
            place = _place(item)
        if document := store.catalog.document(*place):
            documents[_place(item)] = redacted(place[0], document)
        problems += _against(item, documents.get(_place(item)), citing, chunk)
    return [*problems, *_miswritten(pack, citing, documents), *claims]


def check_digest(pack: EvidencePack) -> list[str]:
    """Return the problem of a pack whose digest is missing or wrong; none otherwise."""
    if not pack.digest:
        return ["it has no digest: its question, confidence and other claims cannot be verified"]
    if pack.digest == pack_digest(pack):
        return []
    return ["its digest does not match its content"]


def _within(item: EvidenceItem) -> Iterator[str]:
    """Yield the problems of an item in itself."""
    start, end = item.span
    if item.withheld and (item.text or item.hash):
        yield f"{_name(item)}: it is withheld but has a text"
    elif not item.withheld and digest(item.text) != item.hash:
        yield f"{_name(item)}: the text is not the one that was hashed"
    if start < 0 or end - start != len(item.text):
        yield f"{_name(item)}: the span {start}-{end} does not match its {len(item.text)} characters"


def _miscited(pack: EvidencePack, citing: Citing) -> Iterator[str]:
    """Yield the items whose citation keys do not follow from their references."""
    references = {_place(item): Reference(item.title, item.authors, item.year) for item in pack.items}
    keys = dict(zip(references, citing.keys(list(references.values())), strict=True))
    for item in pack.items:
        if item.citation_key != keys[_place(item)]:
            yield f"{_name(item)}: its citation key should be {keys[_place(item)]}"
    if unknown := sorted(set(pack.bibliography) - set(keys.values())):
        yield f"the bibliography contains {unknown[0]}, which nothing cites"


def _against(item: EvidenceItem, document: Document | None, citing: Citing, chunk: Hit | None) -> Iterator[str]:
    """Yield the problems of an item compared with the index's document."""
    if document is None:
        yield f"{_name(item)}: the work {item.key!r} is not in the index"
        return
    withheld = document.withheld or (chunk is not None and chunk.span[1] > len(document.text))
    if item.text and (withheld or item.span[1] > len(document.text)):
        # A problem must not confirm that a text is the work's.
        if not item.withheld:
            yield f"{_name(item)}: it has a text that no recorded license permits"
        return
    if item.withheld and not withheld:
        yield f"{_name(item)}: it is withheld although a recorded license permits the text"
    elif not withheld and document.text[item.span[0] : item.span[1]] != item.text:
        yield f"{_name(item)}: the work has another text at {item.span[0]}-{item.span[1]}"
    known = _facts_of(citing, document)
    if wrong := [name for name, value in known.items() if getattr(item, name) != value]:
        yield f"{_name(item)}: the index has different values for the work's {', '.join(wrong)}"
    if chunk is None or not chunk.is_of(*_place(item)):
        yield f"{_name(item)}: the chunk {item.chunk_id} is not one of the work's"
    elif not withheld and (chunk.heading_path != item.heading_path or not _nested(chunk.span, item.span)):
        yield f"{_name(item)}: it is elsewhere in the work: not at {item.span[0]}-{item.span[1]} under its headings"


def _facts_of(citing: Citing, document: Document) -> Mapping[str, object]:
    """Return the fields of an item that must match the document."""
    reference = citing.refer(document)
    facts = {each.name: getattr(reference, each.name) for each in fields(Reference)}
    return {**facts, "license": document.license}


def _nested(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return True if one span contains the other: an item is a part of its chunk, or several adjacent chunks."""
    return (one[0] <= other[0] and other[1] <= one[1]) or (other[0] <= one[0] and one[1] <= other[1])


def _miswritten(pack: EvidencePack, citing: Citing, documents: Mapping[_Place, Document]) -> Iterator[str]:
    """Yield the entries of the bibliography that differ from those of the index's documents."""
    cited = {item.citation_key: documents[_place(item)] for item in pack.items if _place(item) in documents}
    for key, entry in pack.bibliography.items():
        if isinstance(entry, str):
            style = "bibtex"
        else:
            style = "csl"
        if key in cited and entry != json.loads(json.dumps(citing.entry(cited[key], key, style))):
            yield f"the entry of {key} in the bibliography is not what the index has of the work"


def _name(item: EvidenceItem) -> str:
    return f"[{item.number}] {item.citation_key}"


def _place(item: EvidenceItem) -> _Place:
    return item.namespace, item.key


# The claims of a pack compared with the repeated request


#: The relative tolerance of equal numbers: vectors have seven digits, and processors add in different orders. Ranks,
#: keys and spans have no tolerance.
PRECISION = 1e-6
_MISSING = object()


def differences(claimed: object, again: object, where: str = "it") -> Iterator[str]:
    """Yield the paths at which a claimed JSON value differs from that of the repeated request."""
    if isinstance(claimed, Mapping) and isinstance(again, Mapping):
        for name in (*again, *(name for name in claimed if name not in again)):
            if where == "it":
                inside = name
            else:
                inside = f"{where}.{name}"
            yield from differences(claimed.get(name, _MISSING), again.get(name, _MISSING), inside)
    elif _is_list(claimed) and _is_list(again):
        yield from _unlike(claimed, again, where)  # type: ignore[arg-type]
    elif not _same(claimed, again):
        yield f"{where}: {_quoted(claimed)} is claimed, repeated it is {_quoted(again)}"


def _unlike(claimed: Sequence[object], again: Sequence[object], where: str) -> Iterator[str]:
    if len(claimed) != len(again):
        yield f"{where}: {len(claimed)} are claimed, repeated there are {len(again)}"
    for place, (one, other) in enumerate(zip(claimed, again, strict=False), 1):
        yield from differences(one, other, f"{where}[{place}]")


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _same(one: object, other: object) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=PRECISION, abs_tol=1e-12)
    return one == other


def _quoted(value: object) -> str:
    if value is _MISSING:
        return "nothing"
    return repr(value)[:60]
