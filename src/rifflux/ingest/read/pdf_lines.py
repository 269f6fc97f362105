"""The lines of a PDF page: their words with position, size and style, from PDFium's characters."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

#: Represents a gap in a line's text that is wider than between words.
GAP = "\t"
#: In font sizes: the gap between two pieces of a line, and the maximum distance of a character from its line's
#: baseline.
_WIDE = 0.9
_RAISED = 0.55
#: In font sizes: the maximum gap of touching characters, although an accent between them looks like a blank.
_SLIGHT = 0.05
#: A gap that counts as two blanks: between names in a row, for one.
_QUAD = 0.65
#: A smaller raised character is a mark, such as a footnote's.
_MARK_SIZE = 0.85
_MARK_HEIGHT = 0.12
#: Letters that reach the same height, that height in font sizes, and a size that no text has.
_TALL = re.compile(r"[A-PR-Z\dbdhkl]")
_TALL_HEIGHT = 0.69
_SMALLEST = 3.0
#: The flags of italic and of bold fonts (PDF 32000-1, 9.8.2).
_SLANTED = 1 << 6
_HEAVY = 1 << 18
_BOLD = re.compile(r"bold|black|heavy|semib|demi|CMBX|CMSSBX|SFBX|NimbusRomNo9L-Medi", re.IGNORECASE)
_ITALIC = re.compile(r"ital|obli|CMTI|CMSL|SFTI|Slant", re.IGNORECASE)
#: PDFium's characters for a hyphen at the end of a line.
_HYPHENS = {0x02: "-", 0xFFFE: "-", 0xAD: "-"}
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
#: The codes of ligatures in TeX fonts, also in those without character names.
_LIGATURES |= {"\x0b": "ff", "\x0c": "fi", "\x0d": "fl", "\x0e": "ffi", "\x0f": "ffl"}
#: Accents beside their letter, as in old fonts, and how far around an accent its letter is searched for.
_ACCENTS = dict(
    zip("`´ˆ˜¨ˇ¸˙˚˘¯˝˛", "\u0300\u0301\u0302\u0303\u0308\u030c\u0327\u0307\u030a\u0306\u0304\u030b\u0328", strict=True)
)
_NEAR = 60
_DOTLESS = {"ı": "i", "ȷ": "j"}
_STRANGE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, or a piece of one between wide gaps, in points from the page's lower left.

    `size` is that of most of its letters, `words` the text without raised marks; `page` counts from 1.
    """

    text: str
    words: str
    x0: float
    x1: float
    y: float
    size: float
    bold: bool = False
    italic: bool = False
    page: int = 0
    column: int = 0

    @property
    def width(self) -> float:
        """Return the width, in points."""
        return self.x1 - self.x0


@dataclass(frozen=True, slots=True)
class _Style:
    size: float
    bold: bool
    italic: bool
    turn: int
    font: int = 0


@dataclass(frozen=True, slots=True)
class _Glyph:
    text: str
    x0: float
    x1: float
    y: float
    style: _Style
    spaced: bool = False
    height: float = 0.0


def page_lines(pdf: pypdfium2.PdfDocument, number: int) -> tuple[list[Line], str]:
    """Return the pieces of lines of a page (from 0) in the order of the file, and the text across the margin.

    Both are empty for a broken page: the others may still be good.
    """
    try:
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text:
            glyphs = _accented(_upright(_sized(list(_glyphs(text)))))
    except pypdfium2.PdfiumError:
        return [], ""
    turned = "".join(f"{' ' * each.spaced}{each.text}" for each in glyphs if each.style.turn)
    level = (each for each in glyphs if not each.style.turn)
    return [replace(line, page=number + 1) for run in _runs(level) if (line := _line(run)) is not None], turned


def _glyphs(text: pypdfium2.PdfTextPage) -> Iterator[_Glyph]:
    """Yield the characters of a page; those that PDFium inserts for gaps only mark the next as spaced."""
    x = ctypes.c_double()
    y = ctypes.c_double()
    box = pdfium.FS_RECTF()
    style = _Style(0.0, False, False, 0)
    current = None
    spaced = False
    for place in range(text.count_chars()):
        code = pdfium.FPDFText_GetUnicode(text, place)
        added = pdfium.FPDFText_IsGenerated(text, place) == 1
        known = _HYPHENS.get(code) or ("" if added else _LIGATURES.get(chr(code)))
        if code < 0x20 and known and code not in _HYPHENS and not _is_letter(text, place + 1):
            known = None  # a font whose characters have no meaning
        if not known and (code <= 0x20 or added):
            spaced = True
            continue
        thing = pdfium.FPDFText_GetTextObject(text, place)
        key = ctypes.cast(thing, ctypes.c_void_p).value
        if key != current:
            style = _style(text, place, thing)
            current = key
        pdfium.FPDFText_GetCharOrigin(text, place, x, y)
        if not pdfium.FPDFText_GetLooseCharBox(text, place, box):
            continue
        turned = _turned(style.turn, box, x.value, y.value)
        if style.turn % 2 == 0:
            height = box.top - box.bottom
        else:
            height = box.right - box.left
        yield _Glyph(known or chr(code), *turned, style, spaced, height)
        spaced = False


def _is_letter(text: pypdfium2.PdfTextPage, place: int) -> bool:
    return place < text.count_chars() and chr(pdfium.FPDFText_GetUnicode(text, place)).isalpha()


def _turned(turn: int, box: Any, x: float, y: float) -> tuple[float, float, float]:
    """Return beginning, end and baseline of a character as seen by a reader who turns the page."""
    match turn:
        case 1:
            return box.bottom, box.top, -x
        case 2:
            return -box.right, -box.left, -y
        case 3:
            return -box.top, -box.bottom, x
        case _:
            return box.left, box.right, y


def _sized(glyphs: list[_Glyph]) -> list[_Glyph]:
    """Return characters with sizes measured for fonts drawn glyph by glyph, whose nominal sizes are meaningless."""
    tallest: dict[int, float] = {}
    for each in glyphs:
        if _TALL.fullmatch(each.text):
            tallest[each.style.font] = max(each.height, tallest.get(each.style.font, 0.0))
    sizes = {font: round(height / _TALL_HEIGHT, 1) for font, height in tallest.items()}
    return [
        replace(each, style=replace(each.style, size=sizes[each.style.font]))
        if each.style.size < _SMALLEST and each.style.font in sizes
        else each
        for each in glyphs
    ]


def _upright(glyphs: list[_Glyph]) -> list[_Glyph]:
    """Return characters turned so that most of them are level, for a page that lies on its side."""
    turns = Counter(each.style.turn for each in glyphs)
    most = max(turns, key=lambda turn: (turns[turn], -turn), default=0)
    if not most:
        return glyphs
    return [replace(each, style=replace(each.style, turn=(each.style.turn - most) % 4)) for each in glyphs]


def _accented(glyphs: list[_Glyph]) -> list[_Glyph]:
    """Return characters with accents combined with the letters that they are printed over."""
    dropped = set[int]()
    for place, glyph in enumerate(glyphs):
        mark = _ACCENTS.get(glyph.text)
        around = range(max(0, place - _NEAR), min(len(glyphs), place + _NEAR)) if mark else ()
        middle = (glyph.x0 + glyph.x1) / 2
        under = [each for each in around if _is_under(glyphs[each], glyph, middle)]
        if not mark or not under:
            continue
        nearest = min(under, key=lambda each: abs(each - place))
        letter = unicodedata.normalize("NFC", _DOTLESS.get(glyphs[nearest].text, glyphs[nearest].text) + mark)
        if len(letter) == 1:
            glyphs[nearest] = replace(glyphs[nearest], text=letter)
            dropped.add(place)
            _close_up(glyphs, place)
    return [each for place, each in enumerate(glyphs) if place not in dropped] if dropped else glyphs


def _close_up(glyphs: list[_Glyph], place: int) -> None:
    """Remove the blank after a removed accent if the characters around it touch."""
    if 0 < place < len(glyphs) - 1:
        before = glyphs[place - 1]
        each = glyphs[place + 1]
        if each.spaced and abs(each.x0 - before.x1) < _SLIGHT * each.style.size:
            glyphs[place + 1] = replace(each, spaced=False)


def _is_under(letter: _Glyph, accent: _Glyph, middle: float) -> bool:
    is_near = abs(letter.y - accent.y) < 0.5 * accent.style.size and letter.x0 - 0.5 <= middle <= letter.x1 + 0.5
    return is_near and letter.text.isalpha()


def _style(text: pypdfium2.PdfTextPage, place: int, thing: Any) -> _Style:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(text, place, matrix)
    size = pdfium.FPDFText_GetFontSize(text, place) * (math.hypot(matrix.c, matrix.d) or 1.0)
    if thing:
        font = ctypes.cast(pdfium.FPDFTextObj_GetFont(thing), ctypes.c_void_p).value
    else:
        font = None
    bold, italic = _face(font)
    angle = math.atan2(matrix.b, matrix.a)
    return _Style(size, bold, italic, round(angle / (math.pi / 2)) % 4, font or 0)


def _face(font: int | None) -> tuple[bool, bool]:
    if not font:
        return False, False
    handle = ctypes.cast(font, pdfium.FPDF_FONT)
    buffer = ctypes.create_string_buffer(200)
    pdfium.FPDFFont_GetBaseFontName(handle, buffer, len(buffer))
    name = buffer.value.decode("utf-8", "replace")
    flags = pdfium.FPDFFont_GetFlags(handle)
    return bool(_BOLD.search(name) or flags & _HEAVY), bool(_ITALIC.search(name) or flags & _SLANTED)


def _runs(glyphs: Iterable[_Glyph]) -> Iterator[list[_Glyph]]:
    """Yield runs of consecutive characters on a baseline, without a wide gap."""
    run: list[_Glyph] = []
    for glyph in glyphs:
        if run and not _follows(run, glyph):
            yield run
            run = []
        run.append(glyph)
    if run:
        yield run


def _follows(run: Sequence[_Glyph], glyph: _Glyph) -> bool:
    size = max(glyph.style.size, run[0].style.size)
    gap = glyph.x0 - run[-1].x1
    if (glyph.x0, glyph.y) == (run[-1].x0, run[-1].y):
        return True  # the letters of a ligature
    return abs(glyph.y - _baseline(run)) < _RAISED * size and -0.8 * size < gap < _WIDE * size


def _baseline(run: Sequence[_Glyph]) -> float:
    """Return the baseline of the run's first large character, so that a leading mark does not raise it."""
    return max(run[:4], key=lambda each: each.style.size).y


def _line(run: Sequence[_Glyph]) -> Line | None:
    letters = [each for each in run if not each.text.isspace()]
    if not letters:
        return None
    size = _usual(letters)
    base = next(each.y for each in letters if each.style.size == size)
    text = _STRANGE.sub("", _spaced(run))
    marks = [each for each in run if not _is_mark(each, size, base)]
    if len(marks) < len(run):
        words = _STRANGE.sub("", _spaced(marks))
    else:
        words = text
    telling = [each for each in letters if each.text.isalnum()] or letters
    bold = sum(each.style.bold for each in telling) > 0.9 * len(telling)
    italic = sum(each.style.italic for each in telling) > 0.9 * len(telling)
    return Line(text, words, letters[0].x0, max(each.x1 for each in letters), base, size, bold, italic)


def _usual(letters: Sequence[_Glyph]) -> float:
    """Return the size of most letters, the larger one on ties; for capitals, small or not, the largest."""
    if len(letters) > 3 and not any(each.text.islower() for each in letters):
        return max(each.style.size for each in letters)
    counts: dict[float, int] = {}
    for each in letters:
        counts[each.style.size] = counts.get(each.style.size, 0) + 1
    return max(counts, key=lambda size: (counts[size], size))


def _is_mark(glyph: _Glyph, size: float, base: float) -> bool:
    return glyph.style.size < _MARK_SIZE * size and glyph.y > base + _MARK_HEIGHT * size


def _spaced(run: Sequence[_Glyph]) -> str:
    """Return the text of a run, with blanks where PDFium reports them."""
    pieces: list[str] = []
    for before, each in zip([None, *run], run, strict=False):
        if before:
            gap = (each.x0 - before.x1) / max(each.style.size, before.style.size, 1.0)
        else:
            gap = 0.0
        if each.spaced and before:
            pieces.append(" " if gap < _QUAD else "  ")
        pieces.append(each.text)
    return "".join(pieces).strip()


def joined(pieces: Sequence[Line]) -> Line:
    """Return pieces on one baseline as one line, from left to right, separated by `GAP`."""
    ordered = sorted(pieces, key=lambda each: each.x0)
    main = max(ordered, key=lambda each: each.width)
    return replace(
        main,
        text=GAP.join(each.text for each in ordered),
        words=GAP.join(each.words for each in ordered),
        x0=ordered[0].x0,
        x1=max(each.x1 for each in ordered),
        bold=all(each.bold for each in ordered),
        italic=all(each.italic for each in ordered),
    )
