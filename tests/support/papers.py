"""Papers as PDF, set line by line: where each text stands, how large, and in which of three faces."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tests.support.files import assembled

__all__ = ["BOLD", "ITALIC", "PLAIN", "Set", "centered", "column", "typeset", "woven"]

PLAIN, BOLD, ITALIC = "F1", "F2", "F3"
FACES = {PLAIN: "Courier", BOLD: "Courier-Bold", ITALIC: "Courier-Oblique"}
#: The width of each character of these faces, in sizes of the font.
WIDTH = 0.6
PAGE = (612, 792)


@dataclass(frozen=True, slots=True)
class Set:
    """A line of text at a place of a page, in points from the lower left."""

    text: str
    x: float
    y: float
    size: float = 9
    face: str = PLAIN


def centered(texts: Sequence[str], y: float, size: float = 9, face: str = PLAIN) -> list[Set]:
    """Lines in the middle of a page, from `y` down."""
    lefts = [(PAGE[0] - WIDTH * size * len(text)) / 2 for text in texts]
    return [
        Set(text, left, y - 1.2 * size * n, size, face) for n, (text, left) in enumerate(zip(texts, lefts, strict=True))
    ]


def column(
    blocks: Iterable[str],
    x: float,
    y: float,
    width: float,
    size: float = 9,
    *,
    indent: bool = True,
    hanging: bool = False,
) -> list[Set]:
    """Blocks below one another: `#` before a heading, else a paragraph that fills the width, words cut by hyphens."""
    found: list[Set] = []
    letters = int(width / WIDTH / size)
    for block in blocks:
        if block.startswith("#"):
            y -= 0.6 * size
            found += [Set(block.lstrip("# "), x, y, size + 2, BOLD)]
            y -= 1.6 * size
            continue
        first, rest = ("", "  ") if hanging else ("  " if indent else "", "")
        for line in textwrap.wrap(block, letters, initial_indent=first, subsequent_indent=rest):
            set_in = len(line) - len(line.lstrip())
            found.append(Set(line.strip(), x + set_in * WIDTH * size, y, size))
            y -= 1.2 * size
    return found


def woven(left: Sequence[Set], right: Sequence[Set]) -> list[Set]:
    """Two columns in the order of a program that writes row by row."""
    return [each for pair in zip_longest(left, right) for each in pair if each]


def typeset(pages: Sequence[Sequence[Set]], *, info: str = "") -> bytes:
    """A PDF of these pages; `info` is the content of its information dictionary."""
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    encoded = "/Encoding /WinAnsiEncoding"
    objects += [f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} {encoded} >>" for name in FACES.values()]
    fonts = " ".join(f"/{face} {3 + number} 0 R" for number, face in enumerate(FACES))
    for number, page in enumerate(pages):
        box = f"/MediaBox [0 0 {PAGE[0]} {PAGE[1]}]"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R {box} /Resources << /Font << {fonts} >> >> /Contents {7 + 2 * number} 0 R >>"
        )
        stream = "\n".join(map(_drawn, page))
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< {info} >>")
    return assembled(objects, f"/Info {len(objects)} 0 R")


def _drawn(line: Set) -> str:
    escaped = line.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{line.face} {line.size} Tf 1 0 0 1 {line.x:.2f} {line.y:.2f} Tm ({escaped}) Tj ET"
