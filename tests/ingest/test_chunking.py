"""Chunks read well alone, fit the embedder, lose nothing, and keep their ids."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.ingest.chunking import (
    Chunker,
    blocks_of,
    chunk_id,
    embedding_text,
    evenly,
    pieces,
    sentence_ends,
)
from rifflux.types import Block, Chunk, Document
from tests.support.exploring import examples


def count(text: str) -> int:
    """Words and signs: additive over words, as the embedder's count is."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def document(text: str, kind: str = "markdown", title: str = "") -> Document:
    return Document("a.md", text, title=title, kind=kind)


def chunked(text: str, chunker: Chunker | None = None, kind: str = "markdown", title: str = "") -> list[Chunk]:
    subject = document(text, kind, title)
    return (chunker or Chunker())(subject, blocks_of(subject), count, identity="notes\na.md")


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


def words(number: int, word: str = "word") -> str:
    return " ".join([word] * number)


SMALL = Chunker(target_tokens=40, floor_tokens=20)

# Packing


def test_a_short_section_is_a_chunk_of_its_own() -> None:
    chunks = chunked("# A\n\nOne.\n\n## B\n\nTwo.\n\n## C\n\nThree.\n")
    assert [(chunk.headings, chunk.text) for chunk in chunks] == [
        (("A",), "One."),
        (("A", "B"), "Two."),
        (("A", "C"), "Three."),
    ]


def test_blocks_of_a_section_share_a_chunk_with_the_newlines_between_them() -> None:
    text = "One.\n\n- a\n- b\n\n```\ncode\n```\n"
    (chunk,) = chunked(text)
    assert chunk.text == text.strip()
    assert chunk.span == (0, len(text) - 1)


def test_a_little_too_much_stays_whole() -> None:
    assert len(chunked(f"{words(130)}\n\n{words(130)}")) == 1


def test_a_rest_is_shared_out() -> None:
    paragraphs = "\n\n".join(words(10) for _ in range(29))
    sizes = [count(chunk.text) for chunk in chunked(paragraphs)]
    assert sizes == [140, 150]


def test_a_runt_in_the_middle_joins_a_neighbour() -> None:
    text = f"{words(245)}\n\n{words(10, 'runt')}\n\n{words(245)}\n"
    assert [count(chunk.text) for chunk in chunked(text)] == [255, 245]


def test_what_ends_in_a_colon_stays_with_what_follows() -> None:
    text = f"{words(200)}\n\n{words(20)}:\n\n```\n{words(100, 'code')}\n```\n"
    first, second = texts(chunked(text))
    assert first == words(200)
    assert second.startswith("word")
    assert second.endswith("code\n```")


def test_title_and_breadcrumb_count() -> None:
    text = f"# {words(12, 'Head')}\n\n" + "\n\n".join(words(9) + "." for _ in range(24))
    for chunk in chunked(text, title=words(30, "Title")):
        assert count(embedding_text(words(30, "Title"), chunk.headings, chunk.text)) <= 250


def test_the_text_keeps_its_floor_under_a_long_breadcrumb() -> None:
    text = f"# {words(35, 'Head')}\n\n" + "\n\n".join(words(10) for _ in range(12))
    assert len(chunked(text, title=words(300))) == 1


# Cutting


def test_a_long_paragraph_is_cut_at_sentences() -> None:
    sentence = "Dr. Smith paid 3.14 dollars, i.e. not much, on Jan. 5 in the U.S. capital."
    pieces = texts(chunked(" ".join([sentence] * 12), SMALL))
    assert len(pieces) > 3
    assert all(piece.startswith("Dr.") and piece.endswith("capital.") for piece in pieces)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("He said “yes.” Then he left.", ["He said “yes.”", "Then he left."]),
        ("See Fig. 3 and Sec. 2. Then stop.", ["See Fig. 3 and Sec. 2.", "Then stop."]),
        ("Did it work? No. We tried again.", ["Did it work?", "No.", "We tried again."]),
        ("J. R. Tolkien wrote it. It is long.", ["J. R. Tolkien wrote it.", "It is long."]),
        ("Smith et al. found it. E.g. this.", ["Smith et al. found it.", "E.g. this."]),
        ("Version 1.2.3 of a.b is out. Go.", ["Version 1.2.3 of a.b is out.", "Go."]),
        (
            "今日は晴れ。明日は雨！傘は？「はい。」と言う",
            ["今日は晴れ。", "明日は雨！", "傘は？", "「はい。」", "と言う"],
        ),
        ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
        ("1. An item. Another sentence.", ["1. An item.", "Another sentence."]),
        ("", [""]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    cuts = [0, *sentence_ends(text, 0, len(text)), len(text)]
    assert [text[start:end].strip() for start, end in pairwise(cuts)] == sentences


def test_lines_without_sentences_are_cut_at_lines() -> None:
    text = "\n".join(f"{number} {words(9)}" for number in range(20))
    assert all(re.match(r"\d+ word", piece) for piece in texts(chunked(text, SMALL, kind="text")))


def test_a_long_table_repeats_its_header_and_keeps_its_rows() -> None:
    head = "| name | value |\n|------|-------|"
    rows = [f"| n{number} | v{number} |" for number in range(40)]
    chunks = chunked("\n".join([head, *rows]), Chunker(target_tokens=60, floor_tokens=20))
    assert len(chunks) > 3
    found = [row for chunk in chunks for row in chunk.text.removeprefix(head).strip().split("\n")]
    assert all(chunk.text.startswith(f"{head}\n| n") for chunk in chunks)
    assert found == rows
    assert all(count(chunk.text) <= 66 for chunk in chunks)


def test_a_table_wider_than_the_budget_is_cut_inside_its_rows() -> None:
    row = "| " + " | ".join(f"cell {number}" for number in range(60)) + " |"
    rule = "|" + "---|" * 60
    chunks = chunked(f"{row}\n{rule}\n{row}\n", SMALL)
    assert all(count(chunk.text) <= 44 for chunk in chunks)
    assert "".join("".join(texts(chunks)).split()) == "".join(f"{row}{rule}{row}".split())


def test_code_that_fits_is_whole() -> None:
    code = "```python\n" + "\n\n".join(f"x = {number}" for number in range(20)) + "\n```"
    assert code in texts(chunked(f"{words(220)}\n\n{code}\n\n{words(220)}"))


def test_long_code_is_cut_at_blank_lines_and_keeps_its_indentation() -> None:
    function = "def f():\n    a = 1\n    return a"
    code = "```\n" + "\n\n".join([function] * 20) + "\n```"
    pieces = texts(chunked(code, SMALL))
    assert all(piece.removeprefix("```\n").startswith("def f():\n    a = 1") for piece in pieces)


def test_one_word_without_end_is_cut_hard() -> None:
    text = "x" * 100_000
    chunks = chunked(text)
    assert "".join(texts(chunks)) == text
    assert max(len(chunk.text) for chunk in chunks) <= 250 * 16 * 1.1


def test_a_hard_cut_parts_no_character_from_its_marks() -> None:
    text = "e\u0301" * 50 + "👩\u200d👩\u200d👧" * 20 + "👍🏽" * 20
    spans = list(pieces(text, 0, len(text), evenly(40)))
    assert "".join(text[start:end] for start, end in spans) == text
    assert not any(text[start] in "\u0301\u200d🏽" or text[start - 1] == "\u200d" for start, _ in spans[1:])


def test_text_without_spaces_is_cut_at_its_sentences() -> None:
    found = texts(chunked("今日はとても良い天気です。" * 400, Chunker(target_tokens=10, floor_tokens=10)))
    assert all(piece.endswith("。") for piece in found)


# Identity


def test_an_id_is_positive_and_depends_on_all_that_names_the_chunk() -> None:
    keys = [
        ("d", ("a",), "t", 0),
        ("e", ("a",), "t", 0),
        ("d", ("b",), "t", 0),
        ("d", ("a",), "u", 0),
        ("d", ("a",), "t", 1),
        ("d", ("a", "t"), "", 0),
    ]
    ids = [chunk_id(*key) for key in keys]
    assert len(set(ids)) == len(ids)
    assert all(0 <= number < 2**63 for number in ids)


def test_an_id_is_the_same_forever() -> None:
    assert chunk_id("notes\na.md", ("A", "B"), "text", 0) == 3843425934321100975


def test_equal_texts_under_equal_headings_have_their_own_ids() -> None:
    chunks = chunked("# A\n\nSame.\n\n# B\n\nx\n\n# A\n\nSame.\n")
    assert len({chunk.id for chunk in chunks}) == 3


def test_a_new_title_leaves_the_ids() -> None:
    text = "# A\n\nOne.\n"
    assert [chunk.id for chunk in chunked(text, title="x")] == [chunk.id for chunk in chunked(text, title="y")]


# What is embedded


def test_embedding_text_says_nothing_twice() -> None:
    assert embedding_text("Guide", ("Guide", "Use"), "Search.") == "Guide > Use\nSearch."
    assert embedding_text("Guide", ("Use",), "Search.") == "Guide\nUse\nSearch."
    assert embedding_text("", (), "Search.") == "Search."


def test_documents_from_programs_are_read_by_their_kind() -> None:
    assert blocks_of(document("# A\n\nx"))[0].headings == ("A",)
    assert blocks_of(document("A\n=\n\nx\n", "rst"))[0].headings == ("A",)
    assert blocks_of(document("def f():\n    pass\n", "code"))[0].headings == ("f",)
    assert [block.kind for block in blocks_of(document("# A\n\nx", ""))] == ["paragraph", "paragraph"]


# What holds for every document

ALPHABET = st.sampled_from([*"ab.,:!?|\n\n\n  \té\u0301。、字👍\u200d-`#", "word ", "Dr. ", "end. "])
TEXTS = st.lists(ALPHABET, max_size=300).map("".join) | st.text(max_size=200)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, list[Block]]:
    """Any text with any blocks in it."""
    text = draw(TEXTS)
    bounds = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    spans = [span for span in pairwise(bounds) if draw(st.booleans()) or draw(st.booleans())]
    blocks = []
    for start, end in spans:
        kind = draw(st.sampled_from(["paragraph", "item", "code", "table", "heading"]))
        headings = draw(st.sampled_from([(), ("A",), ("A", "B"), (words(15),)]))
        header = draw(st.sampled_from(["", text[start:end].split("\n")[0], "| h |"])) if kind == "table" else ""
        blocks.append(Block(start, end, kind, headings, header))
    return text, blocks


def chunk_all(text: str, blocks: list[Block]) -> list[Chunk]:
    return Chunker(target_tokens=16, floor_tokens=8)(document(text), blocks, count, identity="d")


@pytest.mark.slow
@examples(300)
@given(documents())
def test_nothing_is_lost_and_spans_ascend(drawn: tuple[str, list[Block]]) -> None:
    text, blocks = drawn
    chunks = chunk_all(text, blocks)
    covered = [position for chunk in chunks for position in range(*chunk.span)]
    assert covered == sorted(set(covered))
    wanted = {at for block in blocks for at in range(block.start, block.end) if not text[at].isspace()}
    assert wanted <= set(covered)
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))


@given(documents())
def test_a_chunk_is_its_span_of_the_source(drawn: tuple[str, list[Block]]) -> None:
    text, blocks = drawn
    headers = {block.header for block in blocks if block.header}
    for chunk in chunk_all(text, blocks):
        source = text[slice(*chunk.span)]
        assert chunk.text == source or chunk.text in {f"{header}\n{source}" for header in headers}
        assert source.strip()


@given(documents())
def test_no_chunk_is_above_the_limit(drawn: tuple[str, list[Block]]) -> None:
    for chunk in chunk_all(*drawn):
        assert count(chunk.text) <= 16 * 1.1 or len(chunk.text) == 1


@given(documents())
def test_ids_are_unique_and_the_same_each_time(drawn: tuple[str, list[Block]]) -> None:
    chunks = chunk_all(*drawn)
    assert chunks == chunk_all(*drawn)
    assert len({chunk.id for chunk in chunks}) == len(chunks)


PARAGRAPHS = st.lists(st.integers(1, 60).map(lambda size: words(size) + "."), min_size=1, max_size=8)


@given(st.lists(PARAGRAPHS, min_size=2, max_size=5), PARAGRAPHS, st.data())
def test_an_edit_in_one_section_leaves_the_others(
    sections: list[list[str]], edit: list[str], data: st.DataObject
) -> None:
    edited = data.draw(st.integers(0, len(sections) - 1))

    def others(paragraphs: list[str]) -> list[int]:
        everything = [*sections[:edited], paragraphs, *sections[edited + 1 :]]
        text = "\n\n".join(f"# S{number}\n\n" + "\n\n".join(each) for number, each in enumerate(everything))
        return [chunk.id for chunk in chunked(text, SMALL) if chunk.headings != (f"S{edited}",)]

    assert others(sections[edited]) == others(edit)


def test_what_stands_between_blocks_counts() -> None:
    hidden = f"<!-- {words(200, 'hidden')} -->"
    chunks = chunked(f"{words(100)}\n\n{hidden}\n\n{words(100)}\n")
    assert texts(chunks) == [words(100), words(100)]


def test_a_megabyte_without_newlines_is_counted_a_few_times_only() -> None:
    seen = 0

    def counting(text: str) -> int:
        nonlocal seen
        seen += len(text)
        return count(text)

    text = "A sentence of words. " * 50_000
    subject = document(text, "text")
    chunks = Chunker()(subject, blocks_of(subject), counting, identity="d")
    assert len(chunks) > 500
    assert seen < 4 * len(text)
