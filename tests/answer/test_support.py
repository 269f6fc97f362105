"""A sentence that turns its source around is withdrawn, and one that is true of it stays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.quality.claims import passage

from rifflux.answer.support import supported
from tests.answer.claims import CLAIMS

#: The share of false sentences that is withdrawn at least, and of true ones at most.
WITHDRAWN = 0.95
LOST = 0.05
_VERB = re.compile(r"\b(?:is|are|was|were|can|may|must|should|has|had)\b")
_NUMBER = re.compile(r"\b\d+\b")


def stands(claim: str, source: str) -> bool:
    """Return True if a claim is taken for what its source says."""
    place = passage(source)
    return supported(claim, [place], [place]) is not None


def turned(claim: str) -> Iterator[str]:
    """Give a true sentence with its verb negated, and with each of its numbers doubled."""
    if verb := _VERB.search(claim):
        if re.search(r"\b(?:not|only)\b", claim):
            yield claim.replace(" not ", " ", 1).replace("only", "never", 1)
        else:
            yield f"{claim[: verb.end()]} not{claim[verb.end() :]}"
    for number in _NUMBER.finditer(claim):
        yield f"{claim[: number.start()]}{2 * int(number[0]) + 1}{claim[number.end() :]}"


def test_false_sentences_are_withdrawn_and_true_ones_stay() -> None:
    true = [(claim, source) for source, claims, _ in CLAIMS for claim in claims]
    false = [(claim, source) for source, _, claims in CLAIMS for claim in claims]
    false += [(each, source) for claim, source in true for each in turned(claim)]
    passing = [claim for claim, source in false if stands(claim, source)]
    lost = [claim for claim, source in true if not stands(claim, source)]
    assert len(false) >= 200
    assert len(passing) <= (1 - WITHDRAWN) * len(false), passing
    assert len(lost) <= LOST * len(true), lost


def test_texts_without_words_are_compared() -> None:
    for source in ("42", "", "...", "20 not 日本 30%"):
        for claim in ("42", "", "It is 42.", "20 not 30%", "[ ] ; /"):
            assert stands(claim, source) in (True, False)
    assert not stands("It is 43.", "42")


def test_what_changed_places_is_withdrawn() -> None:
    source = "Colour dyes lifted the yield to 84 kg, while random pruning gave no measurable gain. Ada beat Ben in May."
    assert stands(
        "Colour dyes raised the yield to 84 kilograms, but random pruning brought no measurable gain.", source
    )
    assert not stands("Random pruning lifted the yield to 84 kg, while colour dyes gave no measurable gain.", source)
    assert not stands("Ben beat Ada in May.", source)


def test_what_is_written_in_another_way_stands() -> None:
    source = (
        "Kettle Ridge is lower than Sable Peak. Bake at 180 °C for 45 minutes. We use the DN40 flange of the"
        " Department of Water Works. The dose must not exceed three tablets."
        " Data before 1971 are kept on paper and have not been digitised."
        " Councillor Price argued for shops, while Councillor Nandy warned of traffic."
        " They moved from Arl to Bex."
    )
    for claim in (
        "Sable Peak is higher than Kettle Ridge.",
        "It is baked for three quarters of an hour at 180 degrees.",
        "The DWW uses the DN40 flange.",
        "The dose may be no more than three tablets.",
        "Councillor Nandy warned of traffic.",
    ):
        assert stands(claim, source), claim
    for claim in (
        "Kettle Ridge is higher than Sable Peak.",
        "Data before 1971 have been digitised.",
        "Councillor Price warned of traffic.",
        "They moved from Bex to Arl.",
        "Bake at 180 °F for 45 minutes.",
    ):
        assert not stands(claim, source), claim
