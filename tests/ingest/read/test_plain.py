"""Plain text becomes paragraphs and items; separated values become one table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.ingest.chunking import Chunker, plain_blocks
from rifflux.ingest.read.base import File
from rifflux.ingest.read.plain import read_plain, read_separated
from rifflux.types import Parsed


def shown(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in plain_blocks(text)]


def separated(text: str, path: str = "a_b.csv") -> Parsed:
    (parsed,) = read_separated(File(path, text.encode()))
    return parsed


def test_paragraphs_are_apart_by_blank_lines() -> None:
    assert shown("\n\none\ngoes on\n  \t\n\ntwo  \n") == [("paragraph", "one\ngoes on"), ("paragraph", "two")]


def test_items_are_blocks() -> None:
    text = "To do:\n- one\n  goes on\n- two\n\n1) first\n2) second\n"
    assert shown(text) == [
        ("paragraph", "To do:"),
        ("item", "- one\n  goes on"),
        ("item", "- two"),
        ("item", "1) first"),
        ("item", "2) second"),
    ]


def test_one_dash_makes_no_list() -> None:
    assert shown("He said\n- oddly -\nnothing.") == [("paragraph", "He said\n- oddly -\nnothing.")]


def test_the_document_is_named_after_the_file() -> None:
    (parsed,) = read_plain(File("notes/My_first-note.txt", b"Hello", updated_at="2024-01-01"))
    found = parsed.document
    assert (found.key, found.title, found.kind) == ("notes/My_first-note.txt", "My first note", "text")
    assert (found.text, found.updated_at) == ("Hello", "2024-01-01")


def test_a_log_is_cut_between_lines() -> None:
    lines = [f"2024-05-01 12:00:{number:02} INFO Started. All is well." for number in range(50)]
    (parsed,) = read_plain(File("app.log", "\n".join(lines).encode()))
    chunks = Chunker()(parsed.document, parsed.blocks, lambda text: len(text.split()), identity="d")
    assert len(chunks) > 1
    assert "\n".join(chunk.text for chunk in chunks).split("\n") == lines


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("name,age\nAda,36\n", "name,age"),
        ("name\tage\nAda\t36\n", "name\tage"),
        ("\n\nname;age\nAda;36", "name;age"),
        ("Ada,36\nAlan,41\n", ""),
        ("one column\nx\n", ""),
    ],
)
def test_the_first_row_is_the_header_unless_it_has_numbers(text: str, header: str) -> None:
    parsed = separated(text)
    (block,) = parsed.blocks
    assert (block.kind, block.header) == ("table", header)
    assert parsed.document.text[block.start : block.end] == text.strip()


def test_a_long_table_repeats_its_header() -> None:
    rows = [f"name {number},{number}" for number in range(300)]
    parsed = separated("\n".join(["name,age", *rows]))
    chunks = Chunker()(parsed.document, parsed.blocks, lambda text: len(text.split()), identity="d")
    assert len(chunks) > 1
    assert all(chunk.text.startswith("name,age\nname ") for chunk in chunks)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_nothing_gives_no_blocks(text: str) -> None:
    assert plain_blocks(text) == ()
    assert separated(text).blocks == ()


@given(st.text(st.sampled_from("ab- 1.\n\n\t\u3000"), max_size=100))
def test_every_word_is_in_one_block(text: str) -> None:
    blocks = plain_blocks(text)
    covered = [at for block in blocks for at in range(block.start, block.end)]
    assert covered == sorted(set(covered))
    assert {at for at, character in enumerate(text) if not character.isspace()} <= set(covered)


def test_a_conversation_is_cut_between_turns() -> None:
    text = "RETRO\n\nAnn: one.\ngoes on\nBob: two\nAnn: three\nBob: four\n"
    (parsed,) = read_plain(File("retro.txt", text.encode()))
    found = [text[block.start : block.end] for block in parsed.blocks]
    assert found == ["RETRO", "Ann: one.\ngoes on", "Bob: two", "Ann: three", "Bob: four"]
