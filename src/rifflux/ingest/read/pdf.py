"""Reading of PDF: the text of each page under a heading with the page number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby, pairwise
from operator import attrgetter

import pypdfium2

from rifflux.errors import Unreadable
from rifflux.ingest.read.base import PAGES_WITHOUT_TEXT, File, TextBuilder
from rifflux.types import Parsed

#: A word cut at the end of a line: by the mark that PDFium inserts, or by a hyphen between letters.
_CUT_WORD = re.compile(r"[\x02\ufffe\xad]\s*\n?|(?<=[^\W\d_])-\n(?=[^\W\d_A-ZÀ-Þ])")
_JOINT = "\x02"  # marks where a cut word was joined, and goes with the other control characters
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff]")
_ITEM = re.compile(r"\s*(?:[•◦▪‣●○■–—*-]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_SENTENCE_END = re.compile(r"""[.!?:;…]["'”’»)\]]*\s*$""")
NO_TEXT = "holds no text (a scan?): run OCR on it first"
#: A line that ends a sentence and is shorter than this share of the page's full lines ends its paragraph.
_SHORT_LINE = 0.8
#: The minimum number of lines, and their minimum share of adjacent pairs, that continue across a gutter on a page
#: written row by row.
_FEWEST_WOVEN = 6
_WOVEN = 0.6
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?")


def read(file: File) -> Iterator[Parsed]:
    """Yield one document with blocks under `page 1`, `page 2`, … and the number of pages in `metadata["pages"]`.

    `metadata["pages_without_text"]` lists the pages of images. Lines are preserved, words cut at their ends are joined.
    Raises `Unreadable` if the file is broken, encrypted, or contains no text.
    """
    with closing(open_pdf(file.data)) as pdf:
        build = TextBuilder()
        pages = len(pdf)
        written = 0
        images: list[int] = []
        for number in range(pages):
            paragraphs = _paragraphs(_page_text(pdf, number))
            build.begin_page(number + 1)
            if paragraphs:
                written += 1
                build.heading(1, f"page {number + 1}")
            elif _has_image(pdf, number):
                images.append(number + 1)
            for kind, text in paragraphs:
                build.add(text, kind=kind)
        facts = properties(pdf)
    if not written:
        raise Unreadable(NO_TEXT, kind="no-text")
    metadata: dict[str, object] = {name: facts[name] for name in ("author", "keywords", "subject") if name in facts}
    if images:
        metadata[PAGES_WITHOUT_TEXT] = images
    created = _iso(facts.get("creationdate", ""))
    updated = _iso(facts.get("moddate", ""))
    yield build.parsed(file, "pdf", facts.get("title", ""), created, updated, pages=pages, **metadata)


#: The properties in which publishers give a DOI.
_DOI_NAMES = ("doi", "DOI", "WPS-ARTICLEDOI")


def open_pdf(data: bytes) -> pypdfium2.PdfDocument:
    """Return the open document. Raises `Unreadable` if it is encrypted or broken."""
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise Unreadable("is encrypted: save a copy without the password", kind="encrypted") from error
        raise Unreadable("is not a complete PDF: it is broken or cut off") from error


def properties(pdf: pypdfium2.PdfDocument) -> dict[str, str]:
    """Return the file's properties by lower-case name, without a `title` that was set by a program.

    `doi` is taken from a publisher's own property.
    """
    facts = {name.lower(): value.strip() for name, value in pdf.get_metadata_dict(skip_empty=True).items()}
    dois = filter(None, (pdf.get_metadata_value(each).strip() for each in _DOI_NAMES))
    if doi := next(dois, ""):
        facts["doi"] = doi
    return {name: cleaned for name, value in facts.items() if (cleaned := _title(value) if name == "title" else value)}


def _page_text(pdf: pypdfium2.PdfDocument, number: int) -> str:
    """Return the text of a page, or an empty string if the page is broken: the others may still be good."""
    try:
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text:
            found = str(text.get_text_bounded(errors="ignore"))
            return (_by_columns(pdf, number) if _is_woven(text) else "") or found
    except pypdfium2.PdfiumError:
        return ""


def _has_image(pdf: pypdfium2.PdfDocument, number: int) -> bool:
    try:
        with closing(pdf[number]) as page:
            return any(True for _ in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=2))
    except pypdfium2.PdfiumError:
        return False


def _is_woven(text: pypdfium2.PdfTextPage) -> bool:
    """Return True if many lines are followed, in the file, by another one beside them, as if written row by row."""
    boxes = [text.get_rect(place) for place in range(text.count_rects())]
    beside = sum(abs(one[1] - other[1]) < 0.5 * (one[3] - one[1]) < other[0] - one[2] for one, other in pairwise(boxes))
    return bool(beside >= _FEWEST_WOVEN)


def _by_columns(pdf: pypdfium2.PdfDocument, number: int) -> str:
    """Return the text of a page column by column if the file goes across its columns, else an empty string."""
    from rifflux.ingest.read.pdf_columns import gutters, in_columns
    from rifflux.ingest.read.pdf_lines import page_lines

    lines, _ = page_lines(pdf, number)
    cuts = gutters(lines)
    across = sum(
        one.x1 < cut < other.x0 and abs(one.y - other.y) < 0.5 * one.size
        for one, other in pairwise(lines)
        for cut in cuts
    )
    if across < max(_FEWEST_WOVEN, _WOVEN * len(lines) / 2):
        return ""
    columns = groupby(in_columns(lines), key=attrgetter("column"))
    return "\n\n".join("\n".join(line.text for line in column) for _, column in columns)


def _paragraphs(text: str) -> list[tuple[str, str]]:
    """Return the paragraphs and items of a page, with their kind.

    PDF only has lines: a paragraph ends at a blank line, where an item begins, and after a short line that ends a
    sentence.
    """
    text = _CUT_WORD.sub(_JOINT, text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = [line.rstrip() for line in text.split("\n")]
    # A joined word merged two lines of the page: the length of the last one counts.
    lengths = [len(line) - line.rfind(_JOINT) - 1 for line in lines]
    filled = sorted(len(part) for line in lines for part in line.split(_JOINT) if part)
    if filled:
        full = filled[len(filled) * 9 // 10]
    else:
        full = 0
    found: list[tuple[str, list[str]]] = []
    fresh = True
    for line, length in zip(lines, lengths, strict=True):
        if line.strip() and _ITEM.match(line):
            found.append(("item", [line]))
        elif line.strip() and fresh:
            found.append(("paragraph", [line]))
        elif line.strip():
            found[-1][1].append(line)
        fresh = not line.strip() or (bool(_SENTENCE_END.search(line)) and length < _SHORT_LINE * full)
    return [(kind, _CONTROL.sub("", "\n".join(lines))) for kind, lines in found]


def _title(title: str) -> str:
    """Return the title in the file's properties, unless it was set by a program."""
    title = re.sub(r"^Microsoft (?:Word|PowerPoint|Excel) - ", "", " ".join(title.split()))
    if title.lower() in ("untitled", "title", "document"):
        return ""
    return title


def _iso(date: str) -> str | None:
    """Return a date of PDF 32000-1, 7.9.4 (`D:20240301120000+01'00'`) in ISO 8601, or None if it is invalid."""
    match = _DATE.match(date)
    if match is None:
        return None
    year, month, day, hour, minute, second, utc, sign, hours, minutes = match.groups()
    iso = f"{year}-{month or '01'}-{day or '01'}"
    if hour is None:
        return iso
    if sign:
        zone = f"{sign}{hours}:{minutes or '00'}"
    elif utc:
        zone = "+00:00"
    else:
        zone = ""
    return f"{iso}T{hour}:{minute or '00'}:{second or '00'}{zone}"
