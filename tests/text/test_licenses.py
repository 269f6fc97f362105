"""Licenses as sources write them: one spelling each, and what is not known as a whole opens nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.text.licenses import Permission, checked_rules, joined, license_of, permission_of, rules_in
from tests.support.licenses import WILD


@pytest.mark.parametrize(("license", "shown"), WILD.items())
def test_what_a_license_permits(license: str, shown: str) -> None:
    assert permission_of(license).name.lower() == shown
    assert permission_of(license_of(license)).name.lower() == shown


@pytest.mark.parametrize(
    ("told", "spelled"),
    [
        ("cc by-nc-nd 4.0", "CC-BY-NC-ND-4.0"),
        ("https://creativecommons.org/licenses/by-sa/3.0/de/deed.de", "CC-BY-SA-3.0-DE"),
        ("Creative Commons Attribution-NonCommercial 2.0 Germany", "CC-BY-NC-2.0-DE"),
        ("mit or apache-2.0", "MIT OR Apache-2.0"),
        ("http://arxiv.org/licenses/nonexclusive-distrib/1.0/", "arXiv-nonexclusive-distrib-1.0"),
        ("Licensed under CC BY 4.0", "CC-BY-4.0"),
        ("All  rights reserved", "All rights reserved"),
        ("n/a", None),
        (None, None),
    ],
)
def test_a_license_has_one_spelling(told: str | None, spelled: str | None) -> None:
    assert license_of(told) == spelled


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    assert permission_of(license_of(text)) == permission_of(text)


@given(st.sampled_from([each for each, shown in WILD.items() if shown == "text"]), st.text("abc NOT,;().", min_size=1))
def test_words_around_a_license_never_open_more(license: str, words: str) -> None:
    for text in (f"{words} {license}", f"{license} {words}"):
        if words.strip(" .,;()"):
            assert permission_of(text) is Permission.NOTHING or license_of(text) == license_of(license)


class TestSeveralAtOnce:
    def test_all_of_them_hold(self) -> None:
        assert joined(["MIT", None, "CC-BY-4.0", "MIT"]) == "CC-BY-4.0 AND MIT"
        assert joined([None]) is None
        assert permission_of(joined(["CC-BY-4.0", "publisher-specific-oa"])) is Permission.NOTHING

    def test_a_choice_within_one_does_not_open_another(self) -> None:
        both = joined(["MIT OR Apache-2.0", "arXiv-nonexclusive-distrib-1.0"])
        assert both == "(MIT OR Apache-2.0) AND arXiv-nonexclusive-distrib-1.0"
        assert permission_of(both) is Permission.ABSTRACT

    def test_brackets_of_what_is_not_known_pair_with_no_others(self) -> None:
        assert permission_of(joined(["x) OR (MIT", "(y", "CC-BY-4.0"])) is Permission.NOTHING
        assert permission_of(joined(["(MIT", "z) OR MIT"])) is Permission.NOTHING


class TestRules:
    def test_a_rule_opens_and_closes_licenses_by_name(self) -> None:
        rules = checked_rules({"publisher-specific-oa": "text", "CC-BY-NC*": "nothing", "CC-BY-NC-SA*": "abstract"})
        shown = {
            "Publisher-Specific-OA": Permission.TEXT,
            "https://creativecommons.org/licenses/by-nc/4.0/": Permission.NOTHING,
            "CC BY-NC-SA 3.0": Permission.ABSTRACT,
            "CC BY 4.0": Permission.TEXT,
            "publisher-specific-oa AND CC-BY-4.0": Permission.TEXT,
            "publisher-specific-oa-2": Permission.NOTHING,
            "": Permission.NOTHING,
        }
        assert {each: permission_of(each, rules) for each in shown} == shown

    def test_rules_are_spelled_as_pairs_or_as_json(self) -> None:
        expected = {"other-oa": Permission.TEXT, "mit": Permission.NOTHING}
        assert (
            rules_in("other-oa=text, MIT = nothing") == rules_in('{"other-oa": "text", "MIT": "nothing"}') == expected
        )
        assert rules_in("") == {}

    @pytest.mark.parametrize(
        ("told", "why"),
        [
            (
                {"other-oa": "everything"},
                "'everything' is not a permission for 'other-oa': write a license and text, abstract or",
            ),
            ({"": "text"}, "does not name a license"),
            ({"*": "text"}, "is too general"),
            ({"cc*": "text"}, "is too general"),
            ({"a*long*name": "text"}, "is too general"),
            ({"mit": True}, "True is not a permission for 'mit'"),
            (["mit"], "must be a table"),
        ],
    )
    def test_a_rule_that_cannot_be_meant_is_refused_with_the_cure(self, told: object, why: str) -> None:
        with pytest.raises(InvalidArgument, match=r"text, abstract or nothing|put the \* at the end") as error:
            checked_rules(told)
        assert why in str(error.value)

    @pytest.mark.parametrize("told", ["other-oa", "{", "=text"])
    def test_so_is_a_text_that_spells_none(self, told: str) -> None:
        with pytest.raises(InvalidArgument, match="text, abstract or nothing"):
            rules_in(told)


@pytest.mark.parametrize("unknown", ["proprietary", "All rights reserved", "LicenseRef-ours", "as the author permits"])
def test_a_choice_with_what_is_not_known_opens_nothing(unknown: str) -> None:
    assert permission_of(f"CC-BY-4.0 OR {unknown}") is Permission.NOTHING
    assert permission_of(f"{unknown} OR CC-BY-4.0") is Permission.NOTHING
