"""Names of people and journals: which spellings fit, and by what they are looked up."""

from __future__ import annotations

import pytest

from rifflux.text.names import credits_of, is_venue, named, person_key, venue_keys


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Dijkstra, E. W.", "Edsger W. Dijkstra"),
        ("E.W. Dijkstra", "Edsger W. Dijkstra"),
        ("EW Dijkstra", "Edsger W. Dijkstra"),
        ("Edsger Dijkstra", "E. W. Dijkstra"),
        ("dijkstra", "E. W. Dijkstra"),
        ("van der Waerden", "Bartel L. van der Waerden"),
        ("Waerden", "B. L. van der Waerden"),
        ("Wang Xiaoyun", "Xiaoyun Wang"),
        ("Xiaoyun Wang", "Wang Xiaoyun"),
        ("Berners Lee", "Tim Berners-Lee"),
        ("J.-P. Serre", "Jean-Pierre Serre"),
        ("JP Serre", "Jean-Pierre Serre"),
        ("Goedel", "Kurt Gödel"),
        ("Gödel", "K. Goedel"),
        ("Erdos", "Pál Erdős"),
        ("O'Brien", "Pat O’Brien"),
        ("Thacher", "H. C. Thacher Jr."),
        ("王小云", "王小云"),
    ],
)
def test_a_spelling_fits_and_leads_to_the_name(said: str, name: str) -> None:
    assert named(name).fits(named(said)) >= 2
    assert named(name).keys & {form for word in named(said).words for form in word.forms}


@pytest.mark.parametrize(
    ("said", "name"),
    [("A. Dijkstra", "E. W. Dijkstra"), ("E. Dijkstra Lamport", "E. W. Dijkstra"), ("W. Smith", "E. W. Dijkstra")],
)
def test_another_name_does_not_fit(said: str, name: str) -> None:
    assert not named(name).fits(named(said))


def test_a_word_or_two_name_no_committee() -> None:
    committee = named("ACM Curriculum Committee on Computer Science")
    assert not committee.fits(named("Computer Science"))
    assert committee.fits(named("Curriculum Committee on Computer Science"))


def test_a_given_name_alone_says_less_than_a_family_name() -> None:
    assert named("Edsger W. Dijkstra").fits(named("Edsger")) == 1
    assert named("Edsger W. Dijkstra").fits(named("E. Dijkstra")) == 3


@pytest.mark.parametrize("said", ["CACM", "Comm. ACM", "communications of the acm", "Communications ACM"])
def test_a_journal_is_called_by_its_initials_and_by_abbreviations(said: str) -> None:
    venue = "Communications of the ACM"
    assert is_venue(said, venue)
    assert venue_keys(said) & venue_keys(venue)


def test_another_journal_is_another() -> None:
    assert not is_venue("Computer ACM", "Communications of the ACM")
    assert not is_venue("Acta Arithmetica", "Acta Mathematica")
    assert is_venue("Acta Math.", "Acta Mathematica")


def test_authors_are_looked_up_by_identifiers_too() -> None:
    facts = {"authors": ["Ann Able", "Bo Best"], "author_ids": ["", "orcid:0000-0002-1825-009X openalex:A12"]}
    assert ("authors", "orcid:0000-0002-1825-009x", "Bo Best") in credits_of(facts)
    assert ("authors", "openalex:a12", "Bo Best") in credits_of(facts)
    assert person_key("https://orcid.org/0000-0002-1825-009X") == "orcid:0000-0002-1825-009x"
    assert person_key("Bo Best") == ""
