"""Verdicts and classifications as JSON, and as text for people and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rifflux.surfaces.shared.nouns import JsonObject, nouns_json, trace_json
from rifflux.text.numbers import ordinal

if TYPE_CHECKING:
    from rifflux import Notice, Understanding, Verdict, Why
    from rifflux.retrieve.explain.verdict import QueryTerm

_MARGIN = 16
#: Keys shared by a verdict and its JSON, and those of its hit with their defaults.
_SAME = (
    *("query", "document", "chunks", "top_k", "candidates"),
    *("found", "rank", "score", "stage", "reason"),
)
#: The most terms listed, the rarest first.
MOST_TERMS = 12


def verdict_json(verdict: Verdict) -> JsonObject:
    """Return a verdict: what `rifflux why --json` prints."""
    hit = verdict.hit
    diagnostics = trace_json(verdict.trace)
    del diagnostics["fusion"], diagnostics["reranker"]
    return {
        **{name: getattr(verdict, name) for name in _SAME},
        "collection": hit.collection if hit else "",
        "path": hit.path if hit else "",
        "chunk_id": hit.id if hit else None,
        "chunk_index": hit.chunk_index if hit else None,
        "heading_path": hit.heading_path if hit else "",
        "trail": nouns_json(hit.why) if hit else [],
        "contributions": dict(verdict.contributions),
        "terms": nouns_json(verdict.terms),
        "changes": nouns_json(verdict.changes),
        "mode": verdict.trace.mode,
        "effective_mode": diagnostics.pop("effective_mode"),
        "diagnostics": diagnostics,
    }


def verdict_lines(verdict: Verdict, sentence: Callable[[Notice], str] = str) -> list[str]:
    """Return a verdict as text: the outcome, the trail, the terms, the reason, and what would help.

    `sentence` returns a notice with its cure.
    """
    return [
        _headline(verdict),
        *_place(verdict),
        "",
        *_trail(verdict),
        "",
        *_terms(verdict.terms),
        *_advice(verdict, sentence),
    ]


def _headline(verdict: Verdict) -> str:
    count = f"{verdict.candidates:,} candidate{'' if verdict.candidates == 1 else 's'}"
    if verdict.rank is None:
        if verdict.candidates:
            return f"{verdict.document} is not among the {count}"
        return "there are no candidates"
    if verdict.found:
        end = ""
    else:
        end = f", and the page ends at the {ordinal(verdict.top_k)}"
    return f"{verdict.document} is {ordinal(verdict.rank)} of {count}{end}"


def _place(verdict: Verdict) -> Iterator[str]:
    if hit := verdict.hit:
        if verdict.chunks > 1:
            which = f" (its best, number {hit.chunk_index + 1} of {verdict.chunks})"
        else:
            which = ""
        yield f"   chunk {hit.id}{which}" + (f": {hit.heading_path}" if hit.heading_path else "")


def _trail(verdict: Verdict) -> Iterator[str]:
    for why in verdict.hit.why if verdict.hit else ():
        yield _row(why.stage, f"{_standing(why)}{_made_of(why)}")


def _standing(why: Why) -> str:
    rank = ordinal(why.rank) if why.rank else "–"
    if why.score is None:
        return f"{rank:>8}"
    return f"{rank:>8}  {why.score:>9.4f}"


def _made_of(why: Why) -> str:
    if read := why.detail.get("read"):
        return f"  below the {read:,} that were read"
    if place := why.detail.get("by words"):
        return f"  begins with what was asked: not below the {ordinal(int(place))} place it has by words"
    parts = [(name, value) for name, value in why.detail.items() if isinstance(value, float)]
    if why.stage == "anchors":
        return "  for " + ", ".join(f"{name} ×{value:g}" for name, value in parts)
    if parts:
        return "  = " + " + ".join(f"{name} {value:.4f}" for name, value in parts)
    return ""


def _terms(terms: Sequence[QueryTerm]) -> Iterator[str]:
    query_terms = sorted((term for term in terms if not term.variant), key=lambda term: -term.idf)
    for name, is_match in (("holds", True), ("misses", False)):
        if some := [term for term in query_terms if term.matched is is_match]:
            yield _row(name, _listed(f"{term.word} (idf {term.idf:.2f})" for term in some))
    if variants := [term for term in terms if term.variant]:
        outcomes = (f"{term.term} ({'matched' if term.matched else 'missed'})" for term in variants)
        yield _row("also searched", _listed(outcomes))


def _listed(names: Iterable[str]) -> str:
    each = list(names)
    if len(each) > MOST_TERMS:
        more = f" and {len(each) - MOST_TERMS} more"
    else:
        more = ""
    return ", ".join(each[:MOST_TERMS]) + more


def _advice(verdict: Verdict, sentence: Callable[[Notice], str]) -> Iterator[str]:
    yield _row("because", verdict.reason)
    for notice in (*verdict.trace.notes, *verdict.trace.degraded):
        yield _row("note", sentence(notice))
    for number, change in enumerate(verdict.changes):
        place = f" (it would be {ordinal(change.rank)})"
        yield _row("or" if number else "would help", change.what + place)
    if not verdict.found and not verdict.changes and verdict.hit:
        yield _row("would help", f"nothing that was tried would bring it among the first {verdict.top_k}")


def _row(name: str, text: str) -> str:
    return f"   {name:<{_MARGIN}}{text}"


def understanding_line(understood: Understanding) -> str:
    """Return the classification of a question on one line."""
    return f"{understood.kind} (specificity {understood.specificity:.2f}): {'; '.join(understood.reasons)}"


def explanation_lines(steps: Sequence[Why]) -> list[str]:
    """Return the effect of each step on a hit, one line per step."""
    return [_explanation_line(why) for why in steps]


def _explanation_line(why: Why) -> str:
    if why.rank is None:
        return f"{why.stage}: not found"
    detail = ", ".join(f"{name} {value:.5f}" for name, value in why.detail.items() if isinstance(value, float))
    if place := why.detail.get("by words"):
        detail = f"that of the next; {ordinal(int(place))} by words, and begins with what was asked"
    return f"{why.stage}: rank {why.rank}, score {why.score:.5f}" + (f" = {detail}" if detail else "")
