"""Replaying the request of a pack, as of its date and without deadlines, to check what it claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rifflux.errors import InvalidArgument, ModelError
from rifflux.evidence.pack import EvidencePack, PackRequest
from rifflux.evidence.verify import check_digest, differences
from rifflux.session.searching import NO_QUERY_VECTOR
from rifflux.types.nouns import noun_json
from rifflux.works.retrieval.stages import NO_CITATIONS_FOLLOWED, NO_SCORES, RetrievalSettings

if TYPE_CHECKING:
    from rifflux.works.retrieval.retriever import Retrieval, WorksRetriever

#: Outcomes of a replay: the claims hold, they do not, or the index has changed.
AGREES = "agrees"
DIFFERS = "differs"
CHANGED = "changed"
#: Codes of conditions that depend on the moment; a replay skips the same stages.
_OF_THE_MOMENT = frozenset((NO_CITATIONS_FOLLOWED, NO_SCORES, NO_QUERY_VECTOR))
#: A deadline that never expires.
PATIENT_MS = 60_000.0


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a replay: `agrees`, `differs` or `changed`, with the pack's `problems` and the new results.

    If the index or its settings changed since, order and scores cannot be compared; `note` says what changed.
    """

    outcome: str
    problems: tuple[str, ...] = ()
    note: str = ""
    found: Retrieval | None = None

    def beside(self, claimed: Mapping[str, Any], again: Mapping[str, Any]) -> Replay:
        """Return the result extended by differences outside the pack, such as in the list of works."""
        more = tuple(differences(claimed, again))
        if more:
            return replace(self, outcome=DIFFERS, problems=(*self.problems, *more))
        return self


def replayed(retriever: WorksRetriever, pack: EvidencePack) -> Replay:
    """Replay the request of a pack and compare the results; `verify` checks its passages.

    Raises `InvalidArgument` for a pack without a recorded request, and `ModelError` if a model does not answer.
    """
    recorded = pack.request
    if recorded is None:
        raise InvalidArgument("this pack does not record its request: 'retrieve' makes packs that can be replayed")
    searcher = retriever.searcher.refreshed(pack.query)
    problems = check_digest(pack)
    try:
        moment = datetime.fromisoformat(recorded.requested_at)
        if moment.timestamp() > searcher.view.session.now() + 1:
            problems.append(f"its request is dated {recorded.requested_at}, which is in the future")
        year = moment.year
    except (ValueError, TypeError, OverflowError):
        return Replay(DIFFERS, (*problems, f"its request is dated {recorded.requested_at!r}, which is not a date"))
    skipped = _OF_THE_MOMENT.intersection(note.code for note in pack.notes)
    try:
        found = retriever.again(pack, RetrievalSettings(PATIENT_MS, PATIENT_MS, year, skipped))
    except (InvalidArgument, TypeError) as error:
        return Replay(DIFFERS, (*problems, f"its request cannot be repeated: {error}"))
    request = found.evidence.request
    assert request is not None
    if recorded.state != request.state or recorded.settings != request.settings:
        return _stale(recorded, request, problems)
    late = _OF_THE_MOMENT - skipped
    if missing := [note.text for note in found.trace.degraded if note.code in late]:
        raise ModelError(f"the request cannot be repeated now: {missing[0]}")
    problems += differences(_comparable(pack), _comparable(found.evidence))
    return Replay(DIFFERS if problems else AGREES, tuple(problems), found=found)


def _comparable(pack: EvidencePack) -> Mapping[str, Any]:
    """Return the parts of a pack that a replay must reproduce: neither times nor the wording of notices."""
    claims = noun_json(pack)
    for note in claims["notes"]:
        del note["text"]
    del claims["digest"]
    del claims["request"]["requested_at"]
    return claims


def _stale(recorded: PackRequest, request: PackRequest, problems: list[str]) -> Replay:
    """Return the result for a pack of an earlier state of the index, or of other settings."""
    if recorded.state == request.state:
        note = "the settings of the index, or the version of rifflux, have changed since the pack was made"
        return Replay(DIFFERS if problems else CHANGED, tuple(problems), note)
    before = recorded.state.partition("-")[0]
    now = request.state.partition("-")[0]
    if not before.isdecimal() or int(before) >= int(now):
        return Replay(
            DIFFERS, (*problems, f"the pack claims index state {recorded.state!r}, which this index never had")
        )
    note = f"the index has changed since the pack was made ({int(now) - int(before)} times)"
    if recorded.settings != request.settings:
        note += ", and so have its settings"
    return Replay(DIFFERS if problems else CHANGED, tuple(problems), note)
