"""PDFs of packages' manuals, typeset plainly, and what each page says."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality.packages import Package, fetch

__all__ = ["MANUALS", "Page", "write_manuals"]

#: Packages whose manuals are Markdown, and where that lies in them.
MANUALS = (
    Package("go", "github.com/gin-gonic/gin", "v1.10.0", ("docs/doc.md",)),
    Package("go", "github.com/spf13/viper", "v1.19.0", ("README.md",)),
    Package("go", "github.com/gorilla/mux", "v1.8.1", ("README.md",)),
    Package("go", "github.com/spf13/cobra", "v1.8.1", ("site/content/user_guide.md",)),
    Package("go", "github.com/urfave/cli/v2", "v2.27.5", ("docs/v2/examples/flags.md",)),
    Package("javascript", "commander", "12.1.0", ("Readme.md",)),
    Package("javascript", "axios", "1.7.9", ("README.md",)),
    Package("javascript", "zod", "3.24.1", ("README.md",)),
    Package("javascript", "ws", "8.18.0", ("README.md",)),
)
#: Characters of a line, lines of a page, points from line to line.
WIDTH, LINES, LEADING = 88, 46, 15
_MARKUP = re.compile(r"<[^>\n]*>|!\[[^\]]*\]\([^)]*\)|\[([^\]]*)\]\([^)]*\)|[`*]{1,3}|^>\s?|&nbsp;", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a PDF, counted from 1: its file, the headings that stand on it, and its lines."""

    file: str
    number: int
    headings: Sequence[str]
    lines: Sequence[str]


def write_manuals(folder: Path) -> list[Page]:
    """Write each manual as a PDF into the folder's `pdf`; what stands on their pages."""
    (folder / "pdf").mkdir(parents=True, exist_ok=True)
    written: list[Page] = []
    for package in MANUALS:
        name = package.name.removesuffix("/v2").rpartition("/")[2]
        text = (fetch(package, folder / "markdown" / name) / package.only[0]).read_text("utf-8")
        pages = list(_pages(f"{name}.pdf", text))
        (folder / "pdf" / f"{name}.pdf").write_bytes(_pdf([page.lines for page in pages], name))
        written += pages
    return written


def _pages(file: str, markdown: str) -> Iterator[Page]:
    headings: list[str] = []
    lines: list[str] = []
    number = 1
    for heading, line in _lines(markdown):
        if len(lines) == LINES:
            yield Page(file, number, headings, lines)
            headings, lines, number = [], [], number + 1
        headings += [line] * heading
        lines.append(line)
    yield Page(file, number, headings, lines)


def _lines(markdown: str) -> Iterator[tuple[bool, str]]:
    """Yield the lines as they are set, and whether each is a heading."""
    markdown = re.sub(r"\A---\n.*?\n---\n|<!--.*?-->", "", markdown, flags=re.DOTALL)
    in_code = False
    for block in re.split(r"\n\s*\n", markdown):
        for part in _unwrapped(block, in_code):
            in_code ^= part.lstrip().startswith("```")
            if part.lstrip().startswith("```"):
                continue
            heading = not in_code and re.match(r"#{1,6}\s+(.*)", part)
            said = part if in_code else _MARKUP.sub(r"\1", heading[1] if heading else part).strip()
            for line in textwrap.wrap(said, WIDTH, drop_whitespace=not in_code) or [""] * in_code:
                yield bool(heading), line
        yield False, ""


def _unwrapped(block: str, in_code: bool) -> Iterator[str]:
    """Yield the lines of a block, with those of a paragraph joined."""
    if in_code or "```" in block or re.match(r"\s*(?:[#|<>-]|\d+\.|\*\s)", block):
        yield from block.split("\n")
    else:
        yield " ".join(block.split())


# The PDF: one font, one column


def _pdf(pages: Sequence[Sequence[str]], title: str) -> bytes:
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
    ]
    for place, lines in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * place} 0 R "
            "/Resources << /Font << /F 3 0 R >> >> >>".encode()
        )
        shown = "".join(f"({_escaped(line)}) Tj T*\n" for line in lines).encode("cp1252", "replace")
        stream = f"BT /F 10 Tf {LEADING} TL 40 750 Td\n".encode() + shown + b"ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream")
    objects.append(f"<< /Title ({_escaped(title)}) >>".encode())
    return _assembled(objects)


def _escaped(text: str) -> str:
    return re.sub(r"([\\()])", r"\\\1", text)


def _assembled(objects: Sequence[bytes]) -> bytes:
    """Return a file of numbered objects, the first of which is the root and the last the information."""
    written, places = bytearray(b"%PDF-1.4\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n".encode() + each + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    tail = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\n"
    return bytes(written) + f"{tail}startxref\n{len(written)}\n%%EOF\n".encode()
