"""Ask the question of a pack again, at its moment and without deadlines, and compare what it claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rifflux.errors import InvalidArgument, ModelError
from rifflux.evidence.pack import EvidencePack
from rifflux.evidence.replay import differences
from rifflux.evidence.verify import check_digest
from rifflux.session.searching import NO_QUERY_VECTOR
from rifflux.types.nouns import noun_json
from rifflux.works.retrieval.steps import NO_CITATIONS_FOLLOWED, NO_SCORES, RetrievalSettings

if TYPE_CHECKING:
    from rifflux.works.retrieval.retriever import Retrieval, WorksRetriever

#: How a replay ends: all is as it is claimed, something is not, or the index is not what it was.
AGREES = "agrees"
DIFFERS = "differs"
CHANGED = "changed"
#: The codes of what depends on the moment: a replay skips the same.
_OF_THE_MOMENT = frozenset((NO_CITATIONS_FOLLOWED, NO_SCORES, NO_QUERY_VECTOR))
#: Long enough for anything.
PATIENT_MS = 60_000.0


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a replay: `agrees`, `differs` or `changed`, with the `problems` of the pack and what was found.

    Where the index or its settings changed since, nothing is known of order and scores; `note` says what changed.
    """

    outcome: str
    problems: tuple[str, ...] = ()
    note: str = ""
    found: Retrieval | None = None

    def beside(self, claimed: Mapping[str, Any], again: Mapping[str, Any]) -> Replay:
        """Return it with what else is claimed beside the pack, such as the list of works."""
        more = tuple(differences(claimed, again))
        if more:
            return replace(self, outcome=DIFFERS, problems=(*self.problems, *more))
        return self


def replayed(retriever: WorksRetriever, pack: EvidencePack) -> Replay:
    """Repeat the request of a pack and compare the results; see `verify` for its passages.

    Raises `InvalidArgument` for a pack that does not say how it was asked, and `ModelError` where a model does not
    answer now.
    """
    if pack.asked is None:
        raise InvalidArgument("this pack does not say how it was asked: 'retrieve' makes packs that can be replayed")
    told = pack.asked
    now = retriever.searcher.refreshed(pack.query)
    problems = check_digest(pack)
    try:
        moment = datetime.fromisoformat(told.asked_at)
        if moment.timestamp() > now.view.session.now() + 1:
            problems.append(f"it was asked at {told.asked_at}, which is still to come")
        year = moment.year
    except (ValueError, TypeError, OverflowError):
        return Replay(DIFFERS, (*problems, f"it was asked at {told.asked_at!r}, which is no moment"))
    skipped = _OF_THE_MOMENT.intersection(note.code for note in pack.notes)
    try:
        found = retriever.again(pack, RetrievalSettings(PATIENT_MS, PATIENT_MS, year, skipped))
    except (InvalidArgument, TypeError) as error:
        return Replay(DIFFERS, (*problems, f"it cannot be asked again: {error}"))
    asked = found.evidence.asked
    assert asked is not None
    if (told.state, told.settings) != (asked.state, asked.settings):
        return _moved(told.state, asked.state, problems, settings=told.settings != asked.settings)
    late = _OF_THE_MOMENT - skipped
    if missing := [note.text for note in found.trace.degraded if note.code in late]:
        raise ModelError(f"it cannot be asked again now: {missing[0]}")
    claimed, again = (_compared(each) for each in (pack, found.evidence))
    problems += differences(claimed, again)
    return Replay(DIFFERS if problems else AGREES, tuple(problems), found=found)


def _compared(pack: EvidencePack) -> Mapping[str, Any]:
    """Return what two packs of one question have in common: neither times nor the wording of notices."""
    told = noun_json(pack)
    for note in told["notes"]:
        del note["text"]
    del told["digest"]
    del told["asked"]["asked_at"]
    return told


def _moved(claimed: str, state: str, problems: list[str], *, settings: bool) -> Replay:
    """Return how it ends where the pack is of another state, which must be an earlier one."""
    if claimed == state:
        note = "the settings of the index, or the version of rifflux, are others than when it was asked"
        return Replay(DIFFERS if problems else CHANGED, tuple(problems), note)
    before = claimed.partition("-")[0]
    now = state.partition("-")[0]
    if not before.isdecimal() or int(before) >= int(now):
        return Replay(DIFFERS, (*problems, f"the index never was in the state {claimed!r} that it tells of"))
    note = f"the index has changed since it was asked ({int(now) - int(before)} times)"
    note += ", and so have its settings" if settings else ""
    return Replay(DIFFERS if problems else CHANGED, tuple(problems), note)
