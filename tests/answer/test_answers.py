"""Answers without a model: quoted word for word, refused where nothing answers, over all that somebody has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Filter, Identifier, Index, InvalidArgument, Scope, Sources, Work
from rifflux.answer import gather
from rifflux.text.sentences import pieces, sentence_ends

NOTES = (
    Document("caching.md", "Cache entries live for ten minutes. A session lives until the user signs out.", "Caching"),
    Document("eviction.md", "When memory runs short, the entry that was used least recently goes first.", "Eviction"),
    Document("limits.md", "The limits are:\n\n- 20 MB a file\n- 100 files a day\n\nAsk Ben for more.", "Limits"),
    Document("tea.md", "Boiling water makes green tea bitter. What does Ann drink?", "Green tea"),
)


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with rifflux.open(":memory:") as index:
        index.add(*NOTES)
        yield index


def test_sentences_stand_in_the_documents_word_for_word(index: Index) -> None:
    answer = index.answer("how long do cache entries live")
    texts = {document.key: document.text for document in NOTES}
    assert answer.sentences[0].text == NOTES[0].text
    for citation in answer.citations:
        item = answer.pack.items[citation.number - 1]
        assert texts[item.key][slice(*citation.span)] == answer.sentences[citation.sentence].text
    assert index.works.verify(answer.pack) == []


def test_a_list_comes_whole_with_the_line_that_leads_to_it(index: Index) -> None:
    assert "The limits are:\n\n- 20 MB a file\n- 100 files a day" in index.answer("what are the limits").text


@pytest.mark.parametrize("question", ["what is the capital of France", "qwzrtk plmvhb", "lorem ipsum dolor sit"])
def test_what_nothing_answers_is_refused_with_the_nearest(index: Index, question: str) -> None:
    events = [*index.answering(question)]
    answer = index.answer(question)
    assert isinstance(events[0], Sources)
    assert (answer.refused, answer.text, answer.citations) == (True, "", ())
    assert "nearest" in answer.reason
    assert 1 <= len(answer.pack.items) <= 3


@pytest.mark.parametrize("question", ["", "  \n\t"])
def test_an_empty_question_is_an_error_of_one_sentence(index: Index, question: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        index.answer(question)
    assert str(caught.value).strip()
    assert len(str(caught.value).splitlines()) == 1


#: Questions of ten thousand characters, and of characters that say nothing.
@pytest.mark.parametrize(
    "question",
    [
        "x" * 10_000,
        "?" * 10_000,
        "x7 %d " * 1_700,
        "what about " + "snow, rain and ice; " * 500,
        "\x00\x01",
        "[1] ?!",
        "💥",
    ],
)
def test_what_is_hardly_a_question_is_refused_in_one_sentence(index: Index, question: str) -> None:
    answer = index.answer(question)
    assert (answer.refused, answer.text) == (True, "")
    assert len(answer.reason.splitlines()) == 1
    assert answer.question == question


def test_a_question_of_ten_thousand_characters_quotes_only_what_there_is(index: Index) -> None:
    answer = index.answer("how long do cache entries live? " * 330)
    texts = {document.text for document in NOTES}
    assert all(any(each.text in text for text in texts) for each in answer.sentences)


@pytest.mark.parametrize("wording", ["{}", "{}?", "What is {}?", "Tell me about {}", "Explain {}"])
def test_wordings_are_answered_alike(index: Index, wording: str) -> None:
    assert index.answer(wording.format("eviction")).text.startswith(NOTES[1].text)
    assert index.answer(wording.format("photosynthesis")).refused


def test_a_question_that_leans_on_the_last_one_is_completed(index: Index) -> None:
    said: list[Any] = [{"role": "user", "content": "how long do cache entries live"}, ("assistant", "Ten minutes.")]
    assert index.answer("how long do they live?", said).searched.endswith("how long do cache entries live")
    alone = index.answer("Tell me about green tea", said)
    assert alone.searched == alone.question
    assert "bitter" in alone.text


@pytest.mark.parametrize("history", ["text", {"role": "user"}, [5], [{"role": "user", "content": 5}], [("user",)]])
def test_what_is_no_history_is_refused(index: Index, history: object) -> None:
    with pytest.raises(InvalidArgument):
        index.answer("how long do cache entries live", history)  # type: ignore[arg-type]


def test_answers_are_of_what_passes_the_filter(index: Index) -> None:
    assert index.answer("how long do cache entries live", filter=Filter(paths=("tea*",))).refused


def test_messages_and_memories_of_a_user_answer_too() -> None:
    with rifflux.open(":memory:") as index:
        ann, bob = index.scoped(Scope("ann")), index.scoped(Scope("bob"))
        ann.conversations.add("Trip to Graz", id="trip")
        ann.conversations.add_message("trip", "Our train to Graz leaves at 9:58 from Vienna.", embed=True)
        ann.memories.add("Ann's dentist is Dr. Weber in Lind Street")
        for question, word in (("when does our train to Graz leave", "9:58"), ("who is my dentist", "Weber")):
            answer = ann.answer(question)
            assert word in answer.text
            assert ann.works.verify(answer.pack) == []
            assert bob.answer(question).refused


def test_of_works_only_what_a_license_permits_is_quoted() -> None:
    with rifflux.open(":memory:") as index:
        text = "Lemmings swim across rivers in large groups."
        index.works.add(
            Work("Lemmings that swim", text, license="CC-BY-4.0", identifiers=(Identifier("doi", "10.1000/open"),)),
            Work("Lemmings that dive", "They dive for pearls.", identifiers=(Identifier("doi", "10.1000/closed"),)),
        )
        assert index.answer("do lemmings swim across rivers").text.startswith(text)
        closed = index.answer("do lemmings dive for pearls")
        assert "pearls" not in closed.text
        assert all("pearls" not in item.text for item in closed.pack.items)


def test_text_is_cut_into_sentences() -> None:
    text = (
        "# Head\n\n[A link](b.md)\n\nSee Fig. 3 of Dr. Weber et al. It is 2.5 m long. Is it?\n\n"
        "| a | b |\n| - | - |\n\n```\nx. y\n```\n- one\n- two"
    )
    assert [text[slice(*piece.span)] for piece in pieces(text)] == [
        "See Fig. 3 of Dr. Weber et al. It is 2.5 m long.",
        "Is it?",
        "| a | b |\n| - | - |",
        "```\nx. y\n```",
        "one",
        "two",
    ]


def test_a_sentence_that_is_written_ends_with_its_marks() -> None:
    text = "It is 2.5 m long. [1][2] And"
    assert text[: sentence_ends(text, last=False)] == "It is 2.5 m long. [1][2]"
    assert sentence_ends("It is 2.5 m long. [1", last=False) == 0
    assert sentence_ends("It is", last=False) == 0
    assert sentence_ends("It is", last=True) == 5


def test_a_comparison_has_both_sides() -> None:
    with rifflux.open(":memory:") as index:
        index.add(
            Document("couchette.md", "A couchette to Rome costs 79 euros and has six beds.", "Couchette"),
            Document("sleeper.md", "A sleeper to Rome costs 139 euros and has two beds.", "Sleeper"),
            Document("garden.md", "Tomatoes like lime and are watered in the morning.", "Garden"),
        )
        text = index.answer("couchette or sleeper to Rome, which is cheaper").text
    assert "79 euros" in text
    assert "139 euros" in text
    assert "lime" not in text


def test_a_comparison_of_two_terms_has_the_description_of_each(tmp_path: Path) -> None:
    terms = {
        "Dividend": "A payment of cash by a company to its holders, and part of the return and the yield of a share.",
        "Return": "The total income of an investment with its gains. See also yield.",
        "Risk": "The chance that the return is not what was expected.",
        "Yield": "The money that is earned from an investment in a year, as a percentage. See also return.",
    }
    text = "# Terms\n\n" + "\n\n".join(f"{term}\n\n{description}" for term, description in terms.items())
    (tmp_path / "terms.md").write_text(text, "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        answer = index.answer("what is the difference between the yield and the return of an investment?")
    assert terms["Yield"] in answer.text
    assert terms["Return"] in answer.text


def test_what_a_term_means_is_answered_by_its_description(tmp_path: Path) -> None:
    description = (
        "A standard format for the statements of banks, defined by SWIFT. MT940 is one of the formats that can be read."
    )
    terms = f"# Glossary\n\nLot\n\nSome shares that were bought together.\n\nMT940\n\n{description}"
    (tmp_path / "glossary.md").write_text(terms, "utf-8")
    (tmp_path / "import.md").write_text(
        "# Files\n\nTo read MT940, choose the file and the account of its statements, and press Import.", "utf-8"
    )
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        answer = index.answer("what is MT940")
    assert description in answer.text


def test_a_follow_up_about_another_row_gets_that_row(tmp_path: Path) -> None:
    table = "| Job | How often |\n|---|---|\n| filter cartridge | every three months |\n| lamp | yearly, in January |\n"
    (tmp_path / "well.md").write_text(f"# Well\n\n{table}", "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        question = "how often is the filter cartridge changed?"
        first = index.answer(question)
        second = index.answer("and the lamp?", [("user", question), ("assistant", first.text)])
    assert "every three months" in first.text
    assert "yearly, in January" in second.text
    assert "every three months" not in second.text


def test_a_block_is_quoted_below_its_headings(tmp_path: Path) -> None:
    (tmp_path / "key.md").write_text("# Key\n\n## rotate-secrets\n\nThis command changes the passphrase.\n", "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        text = index.answer("how do I change the passphrase").text
    assert "rotate-secrets**\n\nThis command changes the passphrase." in text


def test_a_block_is_quoted_below_the_heading_of_its_own_section(tmp_path: Path) -> None:
    settings = ("workers", "Processes that serve."), ("backlog", "Connections that may wait."), ("chdir", "A folder.")
    sections = [f"## {name}\n\nDefault: `{place + 40}`\n\n{text}\n" for place, (name, text) in enumerate(settings)]
    (tmp_path / "settings.md").write_text("\n".join(["# Settings\n", *sections]), "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        text = index.answer("how many connections may wait in the backlog by default?").text
    assert text.startswith("**Settings > backlog**\n\nDefault: `41`")


def test_a_second_block_that_has_no_room_is_quoted_without_what_stands_around_it(tmp_path: Path) -> None:
    around = (
        "The key hangs behind the cellar door, next to the torch. Leave the hatch open afterwards. "
        "The air gets bad. Whoever goes down writes the date on the sheet by the stairs. "
        "The lamp needs a moment before it is bright. "
        "Nobody goes alone, and the dog stays upstairs."
    )
    spring, autumn = "The boiler is serviced in May by Orla.", "The boiler is serviced in November by Petr."
    page = f"# House\n\n## Spring\n\n{spring}\n\n{around}\n\n## Autumn\n\n{autumn}\n\n{around}\n"
    (tmp_path / "house.md").write_text(page, "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        text = index.answer("Who services the boiler?").text
    assert spring in text
    assert autumn in text
    assert text.count(around) == 1


def test_a_document_is_evidence_if_any_of_its_passages_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "# House\n\n## Boiler\n\nThe boiler is serviced in May.\n\n## Boiler room\n\nRoses grow beside the door.\n"
    (tmp_path / "house.md").write_text(page, "utf-8")
    monkeypatch.setattr(gather, "_merged_by_meaning", lambda table, hits: hits[::-1])
    with rifflux.open(":memory:") as index:
        index.add(tmp_path)
        text = index.answer("When is the boiler serviced?").text
    assert "The boiler is serviced in May." in text
