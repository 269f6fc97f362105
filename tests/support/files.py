"""Makes small real files of each format for the tests, as bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any

import docx
import nbformat
import openpyxl
import pptx

__all__ = ["make_docx", "make_mail", "make_notebook", "make_pdf", "make_pptx", "make_xlsx"]


def make_pdf(pages: Sequence[Sequence[str]], *, info: str = "", encrypted: bool = False) -> bytes:
    """A PDF of these pages of lines. `info` is the content of its information dictionary, in PDF's syntax."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for i, lines in enumerate(pages):
        resources = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 612 792]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * i} 0 R >>")
        escaped = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines]
        operators = " ".join(f"({line}) Tj T*" for line in escaped)
        stream = f"BT /F1 11 Tf 14 TL 72 720 Td {operators} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< {info} >>")
    trailer = f"/Info {len(objects)} 0 R"
    if encrypted:
        key = "00" * 32
        objects.append(f"<< /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >>")
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<00> <00>]"
    return assembled(objects, trailer)


def assembled(objects: Sequence[str], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += "".join(f"{place:010} 00000 n \n" for place in places).encode()
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def make_docx() -> bytes:
    """A document with headings, a list, a table and a framed text."""
    document = docx.Document()
    document.core_properties.title = "Cache handbook"
    document.core_properties.author = "Ann Lee"
    document.add_heading("Handbook", 0)
    document.add_paragraph("Before any heading.")
    document.add_heading("Lifetimes", 1)
    paragraph = document.add_paragraph("Entries live for ")
    paragraph.add_run("ten").bold = True
    paragraph.add_run(" minutes.")
    document.add_paragraph("first item", style="List Bullet")
    document.add_paragraph("second item", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["Name", "Value", "ttl", "600\nseconds"], strict=True):
        cell.text = text
    document.add_heading("Empty section", 2)
    document.add_heading("Last", 1)
    frame = document.add_table(rows=1, cols=1)
    frame.cell(0, 0).text = "Framed words."
    return _saved(document)


def make_pptx() -> bytes:
    """Three slides: bullets with notes, a table, and an empty one."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Cache design"
    slide.placeholders[1].text = "Evict the oldest\nKeep the pinned"
    slide.notes_slide.notes_text_frame.text = "Mention the outage."
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    table = slide.shapes.add_table(2, 2, 0, 0, 914400, 914400).table
    for i, text in enumerate(["Name", "Value", "ttl", "600"]):
        table.cell(i // 2, i % 2).text = text
    deck.slides.add_slide(deck.slide_layouts[6])
    return _saved(deck)


def make_xlsx(sheets: dict[str, list[list[object]]]) -> bytes:
    """A workbook of these sheets of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return _saved(book)


def make_notebook() -> bytes:
    """Markdown cells whose heading holds for the code after them, with outputs long and short."""
    v4 = nbformat.v4
    long = v4.new_output("stream", name="stdout", text="noise " * 1000)
    short = v4.new_output("execute_result", data={"text/plain": "42"})
    picture = v4.new_output("display_data", data={"image/png": "aaaa", "text/plain": "<Figure size 640x480>"})
    cells = [
        v4.new_markdown_cell("# Cache study\n\nWe measure lifetimes."),
        v4.new_markdown_cell("## Method\n\n```\nnever closed"),
        v4.new_code_cell("def lifetime():\n    return 42", outputs=[long, short, picture]),
        v4.new_markdown_cell("After the code."),
    ]
    metadata = {"language_info": {"name": "python"}}
    return nbformat.writes(v4.new_notebook(cells=cells, metadata=metadata)).encode()


def make_mail(subject: str, body: str, *, html: str = "", attachment: str = "", **headers: str) -> bytes:
    """A message from Ann to Bob."""
    message = EmailMessage()
    facts = {"Subject": subject, "From": '"Lee, Änn" <ann@example.org>', "To": "Bob <bob@example.org>"}
    facts |= {"Date": "Fri, 01 Mar 2024 12:00:00 +0100", "Message-ID": f"<{len(subject)}@example.org>"}
    for name, value in (facts | headers).items():
        message[name] = value
    if body:
        message.set_content(body)
    if html:
        (message.add_alternative if body else message.set_content)(html, subtype="html")
    if attachment:
        message.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename=attachment)
    return bytes(message)


def _saved(document: Any) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()
