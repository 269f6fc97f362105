"""How the turns of a conversation are found in plain text, whatever is written before each."""

import pytest

from rifflux.text.turns import turn_lead, turns

LINES = ["Ann", "Bob", "Ann", "Bob", "Ann"]


def conversation(before: str) -> str:
    return "\n".join(f"{before.format(name=name, n=10 + place)} text {place}" for place, name in enumerate(LINES))


@pytest.mark.parametrize(
    "before",
    [
        "{name}:",
        "**{name}**:",
        "**{name}** (09:{n}):",
        "[2024-01-17 13:{n}] <{name}>",
        "[13:{n}] {name}:",
        "20/01/2024, 19:{n} - {name} Lee:",
        "{name} Lee [10:{n} AM]:",
        "<{name}>",
    ],
)
def test_whatever_is_repeated_before_each_turn_begins_it(before: str) -> None:
    text = conversation(before)
    lead = turn_lead(text)
    assert lead is not None
    assert [text[slice(*span)] for span in turns(text, lead)] == text.splitlines()


def test_what_begins_no_turn_goes_on_with_the_one_before() -> None:
    text = "STANDUP\nDate: today\n\nAnn: one\ngoes on\nBob: two\n\nAnn: three\nBob: four: five\n"
    lead = turn_lead(text)
    assert lead is not None
    assert [text[slice(*span)] for span in turns(text, lead)] == [
        "Ann: one\ngoes on",
        "Bob: two",
        "Ann: three",
        "Bob: four: five",
    ]


@pytest.mark.parametrize("lead", ["**{name}** 09:1{place}", "{name} Lee 09:1{place}"])
def test_a_name_and_a_time_on_a_line_of_their_own_begin_a_turn(lead: str) -> None:
    spoken = [f"{lead.format(name=name, place=place)}\ntext {place}" for place, name in enumerate(LINES)]
    spoken[2] += "\n\nmore"
    text = "\n\n".join(["# A day", *spoken])
    form = turn_lead(text)
    assert form is not None
    assert [text[slice(*span)] for span in turns(text, form)] == spoken


@pytest.mark.parametrize(
    "text",
    [
        "Serves: 4\nTime: 20 minutes\nOven: 180 degrees\nSource: a book",
        "Name: a\nVersion: 1\nLicense: MIT\n\nName: b\nVersion: 2\nLicense: MIT\n\nName: c\nVersion: 3\nLicense: MIT",
        "The limits are:\n- a file: 20 MB\n- a day: 100 files\n- a file: 20 MB\n- a day: 100 files",
        "Ann: one\nBob: two",
        "Monday 3 June\nrain\nTuesday 4 June\nsun\nMonday 10 June\nrain\nTuesday 11 June\nsun",
        "",
    ],
    ids=["properties", "records", "items", "short", "days", "empty"],
)
def test_other_texts_are_no_conversations(text: str) -> None:
    assert turn_lead(text) is None
