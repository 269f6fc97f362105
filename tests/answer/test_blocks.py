"""How passages are cut into blocks: what belongs together is quoted together, and nothing that builds a page is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.answer.blocks import LIST, blocks, grown, with_whole_items
from rifflux.text.turns import turn_lead

SETTINGS = "cache.size\n\nThe number of entries. The default is 500.\n\ncache.ttl\n\nSeconds that an entry lives."


def texts(text: str) -> list[str]:
    """Return the texts of the blocks of a passage."""
    return [block.text for block in blocks(text)]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (SETTINGS, "cache.ttl\n\nSeconds that an entry lives."),
        ("The limits are:\n\n- 20 MB a file\n- 100 a day", "The limits are:\n\n- 20 MB a file\n- 100 a day"),
        ("Start it with\n\n    make run\n\nIt waits.", "Start it with\n\n```\nmake run\n```"),
        ("| a | b |\n| - | - |\n| 1 | 2 |\n| 3 | 4 |", "| a | b |\n| --- | --- |\n| 3 | 4 |"),
        ("A paragraph\nthat is wrapped.\n\nAnother one.", "A paragraph that is wrapped."),
    ],
    ids=["term", "list", "code", "row", "paragraph"],
)
def test_what_belongs_together_is_one_block(text: str, whole: str) -> None:
    assert whole in texts(text)


def test_all_paragraphs_of_a_definition_in_markdown_describe_its_term() -> None:
    items = "- _rename_: Number the new file.\n- _skip_: Leave the old file."
    marked = items.replace("\n", "\n\n").replace("- _", ": - _")
    text = f"on conflict\n: What to do if the file exists:\n\n{marked}\n\nmethod\n: How to scale.\n\n: _cubic_ is slow."
    found = texts(text)
    assert f"on conflict\n\nWhat to do if the file exists:\n\n{items}" in found
    assert "method\n\nHow to scale.\n\n_cubic_ is slow." in found


ADMONITION = """Before.

!!! note "Since 2.1"
    It waits for

    ```bash
    make run
    ```

After."""


def test_an_admonition_is_read_as_if_it_were_not_indented() -> None:
    found = texts(ADMONITION)
    assert "Since 2.1\n\nIt waits for\n\n```bash\nmake run\n```" in found
    assert not any("Since 2.1" in text and "After." in text for text in found)


STEPS = """1. Stop it.

    It takes a while.

2. Copy it:

```
cp a b
```

3. Start it.

It runs."""


def test_steps_stay_together_with_the_commands_between_them() -> None:
    steps = "1. Stop it.\n\nIt takes a while.\n\n2. Copy it:\n\n```\ncp a b\n```\n\n3. Start it."
    assert steps in texts(STEPS)
    assert "2. Copy it:" not in texts(STEPS)


def test_a_command_that_an_item_leads_to_does_not_end_the_list() -> None:
    steps = "In short:\n\n- Make a user:\n\nadduser lily\n\n- Log in as lily.\n- Copy:\n\ncp a b\n\n- Log out."
    assert steps in texts(f"{steps}\n\nIt is done. It runs.")


def test_a_row_that_is_written_as_a_list_is_one_item() -> None:
    text = "The codes:\n\n* - Code\n  - Meaning\n* - ADDED\n  - A job\n    was added\n* - REMOVED\n  - A job is gone"
    assert "The codes:\n\n- Code | Meaning\n- ADDED | A job was added\n- REMOVED | A job is gone" in texts(text)


def test_a_paragraph_that_no_item_leads_to_ends_the_list() -> None:
    text = "These are left:\n\n- pears\n- plums\n\nThe shed is locked.\n\n- The key hangs inside."
    assert "These are left:\n\n- pears\n- plums" in texts(text)


def test_code_in_a_link_leaves_the_marks_around_it() -> None:
    assert texts("Read about [__`HTTP2`__](http2.md) first.") == ["Read about __`HTTP2`__ first."]


def test_a_description_has_its_own_term_only() -> None:
    assert not any("cache.size" in text and "lives" in text for text in texts(SETTINGS))


def test_a_line_that_leads_to_a_list_is_not_quoted_without_it() -> None:
    assert "The limits are:" not in texts("The limits are:\n\n- 20 MB a file\n- 100 files a day")


def test_a_heading_is_no_term() -> None:
    text = "Storage\n\nEvery bucket has a quota."
    assert [block.text for block in blocks(text, ["Storage"])] == ["Every bucket has a quota."]


@pytest.mark.parametrize(
    "noise",
    [
        "<!-- old -->",
        "{{#include ../a.rs}}",
        "[label]: b.html",
        "::: warning",
        "---",
        "<a id='x'></a>",
        "[ << Setup ] | [Top][Contents] | [ Running >> ]",
        "[Setup](setup.md) | [Running](run.md)",
    ],
)
def test_what_builds_a_page_is_not_quoted(noise: str) -> None:
    assert texts(f"{noise}\n\nIt holds.\n\n{noise}") == ["It holds."]


def test_links_are_quoted_by_their_text() -> None:
    assert texts("See [the page](b.md), [a label][x] and [[Maps|the maps]].") == ["See the page, a label and the maps."]
    assert texts("Write `[[Maps|the maps]]` or ``[`x`](y)``; see [`x`](y).") == [
        "Write `[[Maps|the maps]]` or ``[`x`](y)``; see `x`."
    ]


@pytest.mark.parametrize("text", ["a: 1\n```\n\nIt holds.", "It holds.\n\n```\na: 1"], ids=["begun", "cut"])
def test_half_a_fence_is_never_quoted(text: str) -> None:
    assert all(quoted.count("```") % 2 == 0 for quoted in texts(text))


@given(st.text(st.sampled_from("aB .!?\n>*_#-|`[]()<>:1=~$"), max_size=160))
def test_blocks_stand_in_the_passage_and_say_something(text: str) -> None:
    for block in blocks(text):
        start, end = block.span
        assert 0 <= start < end <= len(text)
        assert any(letter.isalnum() for letter in block.text)
        assert block.text == block.text.strip()


def test_front_matter_is_no_block() -> None:
    text = "---\naliases:\n- Config folders\npublish: true\n---\n\nSettings are in `.obsidian`.\n"
    assert [block.text for block in blocks(text)] == ["Settings are in `.obsidian`."]


def test_a_block_grows_within_its_section() -> None:
    text = "## Limits\n\nUploads are limited.\n\nThe limit is 20 MB.\n\n## Other\n\nNothing else.\n"
    first = next(block for block in blocks(text) if block.text == "Uploads are limited.")
    assert grown(text, first).text == "Uploads are limited.\n\nThe limit is 20 MB."
    assert grown(text, first, longest=10) == first


def test_a_list_whose_introduction_is_quoted_is_whole() -> None:
    items = [f"- {name} {'and much more of it ' * 5}" for name in ("Apples", "Pears", "Plums", "Figs")]
    text = "We store:\n\n" + "\n".join(items) + "\n\nNothing else."
    first = next(block for block in blocks(text) if block.text.startswith("- Apples") and "Pears" not in block.text)
    for name in ("We store:", "Apples", "Figs"):
        assert name in grown(text, first).text


def test_a_question_of_a_conversation_leads_to_its_answer() -> None:
    text = "Ann: The hall is booked.\nBob: What does it cost?\nAnn: 240 a day.\nBob: Who pays?\nAnn: I do.\nBob: Fine."
    found = [block.text for block in blocks(text, lead=turn_lead(text))]
    assert "Ann: 240 a day." in found
    assert any(each.startswith("Bob: What does it cost?\n\nAnn: 240 a day.") for each in found)


def test_a_directive_of_restructuredtext_is_a_term_with_its_description() -> None:
    text = (
        ".. confval:: cache/ttl\n\n    Seconds that an\n    entry lives. See :ref:`limits`.\n\n    The default is 600."
    )
    assert "cache/ttl\n\nSeconds that an entry lives. See limits.\n\nThe default is 600." in texts(text)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        (".. note::\n\n    It waits.", "It waits."),
        (".. code-block:: sh\n\n    make run\n", "```\nmake run\n```"),
        (".. _label:\n\nIt holds.", "It holds."),
        (".. include:: a.rst\n\nIt holds.", "It holds."),
        ("See `the page <b.html>`_ and :meth:`~a.B.run`.", "See the page and run."),
    ],
    ids=["note", "code", "label", "include", "roles"],
)
def test_directives_are_read_and_not_quoted(text: str, quoted: str) -> None:
    assert texts(text) == [quoted]


def test_a_part_of_a_turn_is_a_block_of_its_own() -> None:
    lead = turn_lead("Ann: Hello.\nBen: Hello.\nAnn: Shall we?\nBen: Now.\n" * 4)
    assert lead
    assert [block.text for block in blocks("the red one, and no other.", lead=lead)] == ["the red one, and no other."]


SETTING = """.. data:: TTL

    Seconds that an entry lives.

    Default: ``600``

    .. versionadded:: 2.1

    .. versionchanged:: 3.0
        It was 60
.. data:: SIZE

    The number of entries::

        SIZE = 500

Limits
++++++
Uploads are limited."""


def test_a_setting_is_quoted_with_its_value_and_its_versions() -> None:
    found = texts(SETTING)
    whole = "Seconds that an entry lives.\n\nDefault: ``600``\n\nversionadded: 2.1\n\nversionchanged: 3.0 It was 60"
    assert f"TTL\n\n{whole}" in found
    assert "SIZE\n\nThe number of entries:\n\n```\nSIZE = 500\n```" in found
    assert "Uploads are limited." in found
    assert not any("++" in text or ("TTL" in text and "SIZE" in text) for text in found)


def test_a_definition_does_not_grow_into_the_one_before_it() -> None:
    last = next(block for block in blocks(SETTING) if block.text.startswith("SIZE\n\nThe number"))
    assert grown(SETTING, last).text == last.text


def test_what_stands_before_a_fence_that_closes_is_code() -> None:
    assert "```\na = 1\nb = 2\n```" in texts("a = 1\nb = 2\n```\n\nIt holds.")
    assert "It holds.\n\n```\na = 1\nb = 2\n```" in texts("It holds.\n\n```\na = 1\nb = 2")


def test_a_block_of_turns_does_not_end_with_a_question() -> None:
    text = "Ann: The hall is booked.\nBob: Good.\nAnn: It was the last one.\nBob: What does it cost?\nAnn: 240 a day."
    lead = turn_lead(text * 3)
    first = next(block for block in blocks(text, lead=lead) if block.text == "Ann: It was the last one.")
    assert grown(text, first, lead=lead, longest=60).text.endswith("Ann: 240 a day.")


def test_of_a_long_list_every_item_is_quoted_by_its_beginning() -> None:
    items = [f"- {name} grow here. {'There is much more to say of it. ' * 12}" for name in ("Apples", "Pears", "Plums")]
    found = texts("We grow:\n\n" + "\n".join(items))
    whole = next(text for text in found if all(name in text for name in ("We grow:", "Apples", "Pears", "Plums")))
    assert len(whole) < 600
    assert whole.count("…") == 3


def test_the_item_that_answers_is_quoted_whole_where_its_list_is_long() -> None:
    items = [
        f"- Threshold {name}: two entries with a score of that many points are alike, and are merged; {name} is 4."
        for name in "abcdefghijkl"
    ]
    text = "These are the thresholds.\n\n" + "\n".join(items)
    found = blocks(text)
    (answer,) = (each for each in found if each.text == items[3])
    (whole,) = (each for each in found if each.kind == LIST)
    assert grown(text, answer).text == items[3]
    assert items[3] not in whole.text
    kept = with_whole_items(whole, [items[3]])
    assert items[3] in kept.text
    assert kept.span == whole.span


def test_terms_that_a_paragraph_introduces_are_a_list() -> None:
    text = "There are several choices:\n\nWhite\n\nAll of it is shown.\n\nBlack\n\nNothing of it is shown."
    listed = "There are several choices:\n\n- White: All of it is shown.\n- Black: Nothing of it is shown."
    assert listed in texts(text)


def test_the_caption_of_a_figure_is_no_term() -> None:
    assert texts("Figure 7.27. Pattern usage\n\nA pattern fills an area.") == ["A pattern fills an area."]


def test_what_leads_to_terms_is_quoted_with_them() -> None:
    text = (
        "There are these two kinds:\n\nAssets\n\nThings you own\n\nLiabilities\n\nThings you owe\n\nThat is all of it."
    )
    assert any("kinds:" in block.text and "you owe" in block.text for block in blocks(text))


def test_a_question_is_quoted_with_what_follows_it() -> None:
    text = "What does a room cost?\n\nIt is 40 a night.\n\nBreakfast is 8."
    assert not any(block.text == "What does a room cost?" for block in blocks(text))
    assert any(block.text == "What does a room cost?\n\nIt is 40 a night." for block in blocks(text))


def test_an_item_that_leads_to_items_is_quoted_with_them() -> None:
    text = "- Digits: how many.\n- Date: the choices are:\n- US\n- ISO\n- Time: the choices are:\n- 24 hours"
    assert any(block.text == "- Date: the choices are:\n- US\n- ISO" for block in blocks(text))


def test_a_line_over_indented_sentences_is_a_term_with_its_description() -> None:
    text = "Bound logger\n  What is called to write\n  an entry.\n\nProcessor\n  A callable that changes it."
    written = [block.text for block in blocks(text)]
    assert "Bound logger\n\nWhat is called to write an entry." in written
    assert "Processor\n\nA callable that changes it." in written


def test_a_box_is_no_table() -> None:
    text = "Before it.\n\n | Note\nOnly a manager may do this.\n\nAfter it."
    assert any(block.text == "Only a manager may do this." for block in blocks(text))
    assert not any("|" in block.text for block in blocks(text))


def test_a_long_turn_has_blocks_of_its_own_under_its_speaker() -> None:
    said = ["Coats are not washed. " * 12, "Blood comes out in cold water.", "Hats are steamed. " * 8]
    body = "\n\n".join(part.strip() for part in said)
    text = f"**Ann** 09:10\nOff on Friday.\n\n**Bob** 09:11\n{body}\n\n**Ann** 09:12\nOk.\n\n**Bob** 09:13\nBye."
    lead = turn_lead(text)
    assert lead is not None
    (block,) = [block for block in blocks(text, lead=lead) if block.text.endswith("cold water.")]
    assert block.text == "**Bob** 09:11\n\nBlood comes out in cold water."
    assert text[slice(*block.span)] == "Blood comes out in cold water."


def test_what_is_said_is_quoted_with_what_is_said_to_it() -> None:
    text = "Ann: The till asks for the wifi.\nBob: Take GranaryTill.\nAnn: Works, thanks.\nBob: Good.\n"
    lead = turn_lead(text)
    first = next(block for block in blocks(text, lead=lead) if block.text == "Ann: The till asks for the wifi.")
    assert "Take GranaryTill." in grown(text, first, lead=lead, longest=40).text
