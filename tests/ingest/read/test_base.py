"""Bytes become text, whatever the encoding; binary data is refused."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import Unreadable
from rifflux.ingest.read.base import decode

FRENCH = "Le café était fermé, s'il vous plaît. Déjà vu à Genève, où l'été s'achève."
RUSSIAN = "Привет, как дела? Это обычный текст на русском языке."
JAPANESE = "これは日本語の文章です。テストのために書かれました。"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "utf-8"),
        (FRENCH, "utf-8-sig"),
        (FRENCH, "utf-16"),
        (FRENCH, "utf-32"),
        (FRENCH, "latin-1"),
        ("café", "cp1252"),
        ("He said “hello” — naïve", "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        ("Zażółć gęślą jaźń, proszę bardzo", "cp1250"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        ("这是一个中文文本，用于测试编码检测。", "gb18030"),
    ],
)
def test_the_encoding_is_found(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)
def test_a_byte_order_mark_decides_and_goes(mark: bytes, encoding: str) -> None:
    assert decode(mark + "größer 🦀".encode(encoding)) == "größer 🦀"


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01\0\0\0",
        b"text with a \0 byte",
        bytes(range(1, 32)) * 20,
        "UTF-16 unmarked".encode("utf-16-le"),
    ],
)
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match="binary data, not text"):
        decode(data)


def test_a_zero_byte_in_a_page_of_text_is_a_blank() -> None:
    page = b"It holds. " * 300
    assert decode(page + b"a\0b" + page) == (page + b"a b" + page).decode()


def test_newlines_become_one_character() -> None:
    assert decode(b"a\r\nb\rc\n\r\nd") == "a\nb\nc\n\nd"


def test_a_broken_byte_does_not_spoil_the_rest_of_utf8() -> None:
    assert decode(RUSSIAN.encode() + b"\xff") == RUSSIAN + "\ufffd"


def test_decomposed_characters_stay_so() -> None:
    assert decode("e\u0301".encode()) == "e\u0301"


def test_colour_codes_are_text() -> None:
    assert decode(b"\x1b[31mred\x1b[0m\f") == "\x1b[31mred\x1b[0m\f"


def test_nothing_is_nothing() -> None:
    assert decode(b"") == ""


@given(st.binary(max_size=200))
def test_any_bytes_give_sound_text_or_a_reason(data: bytes) -> None:
    try:
        text = decode(data)
    except Unreadable:
        return
    text.encode()  # fails on a lone surrogate
    assert "\r" not in text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_utf8_round_trips(text: str) -> None:
    assert decode(text.encode("utf-8-sig")) == text
