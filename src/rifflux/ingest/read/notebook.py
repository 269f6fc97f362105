"""Reading of Jupyter notebooks: the Markdown of the cells, their code, and short text output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import nbformat

from rifflux.errors import Unreadable
from rifflux.ingest.read.base import File, decode
from rifflux.ingest.read.markdown import read_markdown
from rifflux.types import Parsed

#: Longer outputs are data, which the text around them describes.
LONGEST_OUTPUT = 1000

#: The fields of a notebook's metadata that are used.
_FACTS = ("aliases", "description", "keywords", "tags")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def read(file: File) -> Iterator[Parsed]:
    """Yield one document: the notebook as Markdown, with headings across cells, and code in fences.

    Older versions of the format are converted. Raises `Unreadable` if it is not a notebook.
    """
    book = _open(file.data)
    metadata = book.metadata
    language = str(metadata.get("language_info", {}).get("name") or metadata.get("kernelspec", {}).get("language", ""))
    text = "\n\n".join(piece for cell in book.cells for piece in _pieces(cell, language))
    for parsed in read_markdown(replace(file, data=text.encode("utf-8", "replace"))):
        facts = {name: metadata[name] for name in _FACTS if isinstance(metadata.get(name), str | list)}
        facts |= {"language": language} if language else {}
        document = replace(parsed.document, kind="notebook", metadata={**parsed.document.metadata, **facts})
        yield replace(parsed, document=document)


def _open(data: bytes) -> nbformat.NotebookNode:
    try:
        return nbformat.reads(decode(data), as_version=4)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable("is not a complete notebook: it is broken or cut off") from error


def _pieces(cell: nbformat.NotebookNode, language: str) -> Iterator[str]:
    """Yield the Markdown of a cell: its own, or its source and its short outputs in fences."""
    source = cell.source.replace("\0", "").strip("\n")
    if not source.strip():
        return
    if cell.cell_type != "code":
        yield _closed(source)
        return
    yield _fenced(source, language)
    for output in cell.get("outputs", ()):
        text = _COLOUR.sub("", _printed(output)).replace("\0", "").strip("\n")
        if text.strip() and len(text) <= LONGEST_OUTPUT:
            yield _fenced(text, "text")


def _printed(output: nbformat.NotebookNode) -> str:
    """Return the text of an output, or an empty string for pictures and widgets."""
    if output.output_type == "stream":
        return str(output.get("text", ""))
    if output.output_type == "error":
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    data = output.get("data", {})
    drawn = any(name.startswith(("image/", "application/")) for name in data)
    if drawn:
        return ""
    return str(data.get("text/plain", ""))


def _fenced(text: str, language: str) -> str:
    """Return the text in a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _closed(markdown: str) -> str:
    """Return the cell with its last fence closed, so that it does not include the cells that follow."""
    fence = ""
    for line in markdown.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
    if fence:
        return f"{markdown}\n{fence}"
    return markdown
