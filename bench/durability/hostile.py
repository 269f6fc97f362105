"""Give hostile and odd files to every reader and every way in, and watch what they take.

    python -m bench hostile [--scale 1.0] [--only PART_OF_A_NAME]... [--keep FOLDER]

Bombs (nesting, repeated parts, packed archives, endless lines) go alone to `rifflux index`, to an upload and, where
they may be some, to `works import` and `conversations import`; odd contents under every suffix, odd names and dates,
and files that change while they are read, go to `rifflux index` by the folder. Each run is watched: no reader above
512 MB or 30 s of processor time, all its processes below 1 GB and 60 s, no traceback, every failure with a reason, and
every file accounted for. `--scale` makes the bombs smaller. Exit status 1 if anything was otherwise.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

__all__ = ["main"]

READER_MB = 512
READER_S = 30.0
ALL_MB = 1024
ALL_S = 60.0
#: Between two looks at the processes, in seconds.
LOOK = 0.05
#: The limit of processor time counts whole seconds, and ends a process at the next one.
ROUNDING_S = 2.0
#: Changes files until the run that reads them is done.
Change = Callable[[threading.Event], None]
TICKS = os.sysconf("SC_CLK_TCK")
SUFFIXES = (
    *(".md", ".rst", ".txt", ".html", ".py", ".js", ".json", ".jsonl", ".csv", ".eml", ".mbox", ".ipynb"),
    *(".pdf", ".docx", ".pptx", ".xlsx"),
)


@dataclass
class Taken:
    """What the processes of a run took: megabytes and seconds of the largest reader, and of all."""

    reader_mb: float = 0.0
    reader_s: float = 0.0
    all_mb: float = 0.0
    seconds: dict[int, float] = field(default_factory=dict)

    def look(self, top: int) -> None:
        """Note what the processes below `top` have at this moment."""
        total = 0.0
        for process in [top, *_below(top)]:
            with suppress(OSError, ValueError, IndexError):
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                seconds = (int(fields[11]) + int(fields[12])) / TICKS
                memory = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
                self.seconds[process] = seconds
                total += memory
                if process != top:
                    self.reader_mb = max(self.reader_mb, memory)
                    self.reader_s = max(self.reader_s, seconds)
        self.all_mb = max(self.all_mb, total)


def _below(top: int) -> list[int]:
    found: list[int] = []
    waiting = [top]
    while waiting:
        process = waiting.pop()
        for thread in Path(f"/proc/{process}/task").glob("*/children"):
            with suppress(OSError):
                inner = [int(each) for each in thread.read_text().split()]
                found += inner
                waiting += inner
    return found


def _watched(command: list[str], meanwhile: Change | None = None) -> tuple[Taken, int, str, str]:
    """Run a command; return what it took, its status and what it printed."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, start_new_session=True)
        taken = Taken()
        done = threading.Event()
        changing = threading.Thread(target=meanwhile, args=(done,)) if meanwhile else None
        if changing:
            changing.start()
        while process.poll() is None:
            taken.look(process.pid)
            if sum(taken.seconds.values()) > 4 * ALL_S:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
            time.sleep(LOOK)
        done.set()
        if changing:
            changing.join()
        out.seek(0)
        errors.seek(0)
        return taken, process.returncode, out.read(), errors.read()


# Bombs: each function writes a file of its name, larger with the scale


def _pdf(content: bytes, *, more: tuple[bytes, ...] = (), resources: bytes = b"", kids: int = 1) -> bytes:
    """Return a PDF whose pages all have this content."""
    packed = zlib.compress(content)
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1<</Type/Font"
        b"/Subtype/Type1/BaseFont/Helvetica>>>>" + resources + b">>>>"
    )
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[" + b"3 0 R " * kids + b"]/Count %d>>" % kids,
        page,
        b"<</Length %d/Filter/FlateDecode>>stream\n" % len(packed) + packed + b"\nendstream",
        *more,
    ]
    out = b"%PDF-1.4\n"
    starts = []
    for number, part in enumerate(parts, start=1):
        starts.append(len(out))
        out += b"%d 0 obj\n" % number + part + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(parts) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1) + table + end


def _forms(depth: int) -> bytes:
    """Return a PDF of forms that each draw the next one ten times."""
    more = []
    for number in range(depth):
        inner = b"/F%d Do " % (number + 1) * 10 if number < depth - 1 else b"BT (x) Tj ET"
        named = b"/Resources<</XObject<</F%d %d 0 R>>>>" % (number + 1, 6 + number) if number < depth - 1 else b""
        head = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]" + named + b"/Length %d>>stream\n" % len(inner)
        more.append(head + inner + b"\nendstream")
    return _pdf(b"/F0 Do", more=tuple(more), resources=b"/XObject<</F0 5 0 R>>")


def _office(kind: str, part: str, content: bytes) -> bytes:
    """Return an Office file with one part replaced."""
    import docx
    import openpyxl
    import pptx

    stream = io.BytesIO()
    {"docx": docx.Document, "pptx": pptx.Presentation, "xlsx": openpyxl.Workbook}[kind]().save(stream)
    packed = io.BytesIO()
    with zipfile.ZipFile(stream) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, content if name == part else source.read(name))
    return packed.getvalue()


_WORD = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
_SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'


def _docx(body: bytes) -> bytes:
    return _office("docx", "word/document.xml", _WORD + body + b"</w:body></w:document>")


def _xlsx(rows: bytes) -> bytes:
    return _office("xlsx", "xl/worksheets/sheet1.xml", _SHEET + rows + b"</sheetData></worksheet>")


def _archive(name: str, data: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def _mails(count: int) -> bytes:
    return b"".join(b"From a@b Mon\nSubject: %d\nFrom: a@b\n\nText %d.\n\n" % (n, n) for n in range(count))


def _nested_mail(depth: int) -> bytes:
    inner = EmailMessage()
    inner["Subject"] = "inner"
    inner.set_content("text")
    return b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth)) + bytes(
        inner
    )


_EXPANDING = '<?xml version="1.0"?><!DOCTYPE h [<!ENTITY a0 "heron">' + "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)
)


def bombs(scale: float) -> dict[str, Callable[[], bytes]]:
    """Return what makes each bomb, by the name of its file."""

    def times(number: int) -> int:
        return max(int(number * scale), 1)

    return {
        "deep.js": lambda: b"{" * times(4_000_000),
        "deep.json": lambda: b"[" * times(9_000_000),
        "deep.yaml": lambda: b"[" * times(4_000_000),
        "deep.md": lambda: b"> " * times(1_000_000) + b"heron",
        "deep.rst": lambda: b"".join(b" " * (n % 400) + b"* heron\n\n" for n in range(times(100_000))),
        "deep.html": lambda: b"<div>" * times(2_000_000),
        "deep.ipynb": lambda: b'{"cells":' + b"[" * times(5_000_000),
        "deep.docx": lambda: _docx(b"<w:sdt><w:sdtContent>" * times(500_000)),
        "deep.eml": lambda: _nested_mail(times(20_000)),
        "brackets.md": lambda: b"[" * times(900_000) + b"](a)" * 9,
        "stars.md": lambda: b"*a **b " * times(150_000),
        "quotes.csv": lambda: b'"' + b"heron,\n" * times(2_500_000),
        "columns.csv": lambda: b"heron," * times(300_000) + b"\n1,2\n",
        "rows.csv": lambda: b"a,b,c\n" * times(3_000_000),
        "line.py": lambda: b"x=[" + b"1," * times(9_000_000) + b"]",
        "word.txt": lambda: b"h" * times(19_000_000),
        "lines.txt": lambda: b"\n" * times(19_000_000),
        "one-line.txt": lambda: b"heron " * times(3_000_000),
        "attributes.html": lambda: b"<p %s>" % b" ".join(b"a%d=1" % n for n in range(times(800_000))),
        "table.html": lambda: b"<table><tr>" + b"<td>x" * times(1_000_000),
        "entities.html": lambda: _EXPANDING.encode() + b"]><html><body>&a9;</body></html>",
        "scripts.html": lambda: b"<script>" * times(1_000_000),
        "cells.ipynb": lambda: json.dumps(
            {
                "cells": [{"cell_type": "code", "source": "x", "metadata": {}, "outputs": []}] * times(150_000),
                "metadata": {},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        ).encode(),
        "line.jsonl": lambda: b'{"text":"' + b"x" * times(300_000_000) + b'"}\n',
        "lists.jsonl": lambda: b'{"text":"a","more":' + b"[" * times(7_000_000) + b"]}\n",
        "records.jsonl": lambda: b'{"text":"heron"}\n' * times(300_000),
        "keys.json": lambda: b"{" + b",".join(b'"k%d":1' % n for n in range(times(1_000_000))) + b"}",
        "mails.mbox": lambda: _mails(times(400_000)),
        "attached.eml": lambda: b"Subject: a\nContent-Transfer-Encoding: base64\n\n" + b"QUFB" * times(4_000_000),
        "headers.eml": lambda: b"Subject: a\n" + b"To: a@b, c@d\n" * times(400_000) + b"\nText.",
        "lines.pdf": lambda: _pdf(b"BT /F1 12 Tf 10 10 Td " + b"(heron) Tj 0 -1 Td " * times(1_500_000) + b"ET"),
        "placed.pdf": lambda: _pdf(b"BT /F1 9 Tf " + b"1 0 0 1 5 5 Tm (heron) Tj " * times(300_000) + b"ET"),
        "forms.pdf": lambda: _forms(max(int(9 * scale), 4)),
        "pages.pdf": lambda: _pdf(b"BT /F1 9 Tf (heron) Tj ET", kids=times(60_000)),
        "stream.pdf": lambda: _pdf(b" " * times(400_000_000)),
        "circle.pdf": lambda: _pdf(b"/F0 Do").replace(b"[3 0 R ]", b"[2 0 R ]"),
        "paragraphs.docx": lambda: _docx(b"<w:p><w:r><w:t>heron</w:t></w:r></w:p>" * times(2_500_000)),
        "runs.docx": lambda: _docx(b"<w:p>" + b"<w:r><w:t>h</w:t></w:r>" * times(1_500_000) + b"</w:p>"),
        "node.docx": lambda: _docx(b"<w:p><w:r><w:t>" + b"h" * times(150_000_000) + b"</w:t></w:r></w:p>"),
        "cells.docx": lambda: _docx(b"<w:tbl><w:tr>" + b"<w:tc><w:p/></w:tc>" * times(200_000) + b"</w:tr></w:tbl>"),
        "entities.docx": lambda: _office(
            "docx", "word/document.xml", _EXPANDING.encode() + b"]>" + _WORD + b"&a9;</w:body></w:document>"
        ),
        "large.docx": lambda: _office("docx", "docProps/thumbnail.jpeg", b"\0" * times(1_000_000_000)),
        "slides.pptx": lambda: _office("pptx", "ppt/presentation.xml", b"<a>" * times(3_000_000)),
        "rows.xlsx": lambda: _xlsx(b"<row><c><v>1</v></c></row>" * times(3_000_000)),
        "far.xlsx": lambda: _xlsx(b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        "archive.zip": lambda: _archive("a.txt", b"\0" * times(1_000_000_000)),
        "book.epub": lambda: _archive("a.xhtml", b"<p>heron</p>" * times(50_000_000)),
        "conversations.zip": lambda: _archive("conversations.json", b"[" * times(300_000_000)),
        "conversations.json": lambda: b'[{"mapping":' + b"[" * times(5_000_000),
        "works.bib": lambda: b"@article{a, title={" + b"{" * times(2_000_000),
        "many.bib": lambda: b"".join(b"@book{a%d, title={Herons}}\n" % n for n in range(times(30_000))),
        "deep.tex": lambda: b"\\documentclass{a}\\begin{document}" + b"{\\bf " * times(300_000),
        "works.ris": lambda: b"TY  - JOUR\nTI  - Herons\n" * times(200_000),
        "works.rdf": lambda: _EXPANDING.encode() + b"]><rdf>&a9;</rdf>",
    }


_WORKS = (".bib", ".tex", ".ris", ".rdf", ".json", ".jsonl", ".pdf")
_CONVERSATIONS = (".zip", ".json", ".jsonl", ".txt")


# Odd files, by the folder


def _contents() -> dict[str, bytes]:
    """Return contents that no suffix promises."""
    text = "Herons fish at dawn.\n"
    return {
        "empty": b"",
        "blank": b" \n\t\n " * 400,
        "nul": b"heron\0" * 400,
        "bytes": bytes(range(256)) * 40,
        "broken-utf8": b"heron \xff\xfe \xc3\x28 \xed\xa0\x80\n" * 100,
        "utf16": text.encode("utf-16") * 40,
        "utf32": text.encode("utf-32") * 40,
        "escapes": b"\x1b[31mheron\x1b]0;title\x07\n" * 50,
        "returns": b"heron\rowl\r" * 200,
        "marks": ("h" + "\u0301" * 500 + "\u202eheron\u2066\n").encode() * 20,
        "cut-pdf": b"%PDF-1.7\n1 0 obj\n<</Type/Catalog",
        "cut-zip": b"PK\x03\x04" + b"\0" * 200,
    }


def _names(folder: Path) -> None:
    """Write files with odd names."""
    deep = "d" * 200
    names: list[str | bytes] = [
        *("new\nline.md", "escape\x1b[31m.md", "\u202egnp.md", "tab\t.md", "-k.md", "a" * 252 + ".md", " .md", "*.md"),
        *("'quote\".md", "back\\slash.md", "{json}.jsonl", "%s%n.md", "..md", "con.md", "\u00e9.md", "e\u0301.md"),
        b"invalid\xff.md",
        "\U0001f985.md",
    ]
    for name in names:
        path = os.path.join(os.fsencode(folder), os.fsencode(name))  # noqa: PTH118 (a name may be bytes)
        with suppress(OSError), open(path, "wb") as file:  # noqa: PTH123
            file.write(b"# Herons\n\nHerons fish.\n")
    here = os.open(folder, os.O_RDONLY)
    for _ in range(30):  # beyond PATH_MAX
        os.mkdir(deep, dir_fd=here)
        inner = os.open(deep, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def _dates(folder: Path) -> None:
    """Write files of all times."""
    for year, seconds in {"2300": 10_413_792_000, "2446": 15_021_000_000, "1901": -2_177_452_800, "0": 0}.items():
        path = folder / f"{year}.md"
        path.write_text("Herons fish.")
        with suppress(OSError, OverflowError):
            os.utime(path, (seconds, seconds))
    (folder / "today.md").write_text("Owls hoot.")
    os.mkfifo(folder / "pipe.md")
    (folder / "circle.md").symlink_to("circle.md")
    (folder / "out.md").symlink_to("/etc/hostname")
    (folder / "up").symlink_to("..")


def _moving(folder: Path) -> Change:
    """Write files, and return what changes them while they are read."""
    for name in ("grows", "shrinks", "replaced", "vanishes"):
        for suffix in (".jsonl", ".md", ".csv"):
            (folder / (name + suffix)).write_text('{"text": "Herons fish at dawn."}\n' * 60_000)

    def change(done: threading.Event) -> None:
        while not done.wait(0.01):
            for suffix in (".jsonl", ".md", ".csv"):
                with suppress(OSError):
                    with (folder / f"grows{suffix}").open("a") as file:
                        file.write('{"text": "More."}\n')
                    shrinking = folder / f"shrinks{suffix}"
                    os.truncate(shrinking, shrinking.stat().st_size // 2)
                    other = folder / f"other{suffix}"
                    other.write_text('{"text": "Owls hoot."}\n' * 1000)
                    other.replace(folder / f"replaced{suffix}")
                    (folder / f"vanishes{suffix}").unlink(missing_ok=True)

    return change


# Ways in


@dataclass
class Judge:
    """Runs commands on inputs, counts them, and prints what each took and what was wrong."""

    inputs: int = 0
    faults: int = 0

    def __call__(
        self,
        name: str,
        command: list[str],
        inputs: int,
        meanwhile: Change | None = None,
        *,
        alone: bool = True,
    ) -> None:
        """Run a command; `alone` if its one reader has one file, whose time is limited."""
        taken, status, out, errors = _watched(command, meanwhile)
        wrong = [*_excess(taken, alone=alone), *_untold(status, out, errors)]
        self.inputs += inputs
        self.faults += bool(wrong)
        figures = f"{taken.reader_mb:6.0f} {taken.reader_s:6.1f} {taken.all_mb:6.0f} {sum(taken.seconds.values()):6.1f}"
        print(f"{figures}  {name}: {'; '.join(wrong) or _outcome(out, errors)}", flush=True)


def _excess(taken: Taken, *, alone: bool) -> Iterator[str]:
    if taken.reader_mb > READER_MB:
        yield f"a reader took {taken.reader_mb:.0f} MB"
    if alone and taken.reader_s > READER_S + ROUNDING_S:
        yield f"a reader took {taken.reader_s:.1f} s"
    if taken.all_mb > ALL_MB:
        yield f"all took {taken.all_mb:.0f} MB"
    if sum(taken.seconds.values()) > ALL_S:
        yield f"all took {sum(taken.seconds.values()):.1f} s"


def _untold(status: int, out: str, errors: str) -> Iterator[str]:
    if "Traceback" in errors + out:
        yield f"a traceback: {errors.strip().splitlines()[-1][:200]}"
    if status < 0:
        yield f"ended by signal {-status}"
    report = _report(out)
    if "found_files" in report:
        counts = [report[name] for name in ("indexed_files", "unchanged_files", "failed_files")]
        if report["found_files"] != sum(counts) + sum(report["skipped_kinds"].values()):
            yield "not every file is accounted for"
    if any(not each["reason"].strip() for each in report.get("failed", ())):
        yield "a failure without a reason"
    if status and not report and not errors.strip():
        yield f"status {status} without a word"


def _report(out: str) -> dict[str, Any]:
    with suppress(ValueError):
        found = json.loads(out)
        if isinstance(found, dict):
            return found
    return {}


def _outcome(out: str, errors: str) -> str:
    report = _report(out)
    failed = report.get("failed") or ()
    if failed:
        return f"{len(failed)} failed: {failed[0]['reason']}"[:120]
    if "indexed_files" in report:
        return f"{report['indexed_files']} indexed, {report['skipped_kinds'] or 'none'} left out"
    return (errors.strip().splitlines() or out.strip().splitlines() or ["nothing said"])[-1][:120]


_UPLOAD = """
import sys, pathlib, rifflux
path = pathlib.Path(sys.argv[1])
with rifflux.open(sys.argv[2], model="hash") as index:
    try:
        print(index.documents.upload(path.name, path.read_bytes(), key="sent"))
    except rifflux.RiffluxError as error:
        sys.exit(str(error))
"""
_BACK = """
import sys, time
now = time.time
time.time = lambda: now() - 86_400
from rifflux.surfaces.cli.main import main
sys.exit(main())
"""


def main() -> int:
    """Print a line a run, and how many inputs went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    judge = Judge()
    print("reader MB, s; all MB, s")
    with tempfile.TemporaryDirectory(prefix="hostile-") as made:
        top = arguments.keep or Path(made)
        for name, make in bombs(arguments.scale).items():
            if _wanted(name, arguments.only):
                folder = top / "bombs" / name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(make())
                _explode(judge, folder, name)
                if not arguments.keep:
                    (folder / name).unlink()
        for kind, data in _contents().items():
            if _wanted(kind, arguments.only):
                folder = top / "odd" / kind
                folder.mkdir(parents=True, exist_ok=True)
                for suffix in SUFFIXES:
                    (folder / f"odd{suffix}").write_bytes(data)
                judge(f"{kind}, every suffix", _index(folder), len(SUFFIXES), alone=False)
        for what, write in {"names": _names, "dates": _dates, "moving": _moving}.items():
            if _wanted(what, arguments.only):
                folder = top / what
                folder.mkdir(parents=True, exist_ok=True)
                meanwhile = write(folder)
                judge(what, _index(folder), len([*folder.iterdir()]), meanwhile, alone=False)
        if _wanted("root", arguments.only):
            _roots(judge, top)
    print(f"{judge.inputs} inputs, {judge.faults} runs with a fault")
    return min(judge.faults, 1)


def _wanted(name: str, only: list[str]) -> bool:
    return not only or any(each in name for each in only)


def _rifflux(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "rifflux", *map(str, words)]


def _index(folder: Path) -> list[str]:
    database = folder.parent / f"{folder.name}.db"
    return _rifflux("index", folder, "--no-embed", "--json", "--db", database, "--all-files")


def _explode(judge: Judge, folder: Path, name: str) -> None:
    """Give a bomb to all that may take it."""
    path = folder / name
    suffix = path.suffix
    judge(f"index {name}", _index(folder), 1)
    if path.stat().st_size <= 20 * 2**20:
        judge(f"upload {name}", [sys.executable, "-c", _UPLOAD, str(path), f"{folder}-sent.db"], 1)
    if suffix in _WORKS:
        judge(f"works {name}", _rifflux("works", "import", path, "--no-embed", "--db", f"{folder}-works.db"), 1)
    if suffix in _CONVERSATIONS:
        command = _rifflux("conversations", "import", path, "--user", "ann", "--no-embed", "--db", f"{folder}-talks.db")
        judge(f"conversations {name}", command, 1)


def _roots(judge: Judge, top: Path) -> None:
    """Take a root away, put a file in its place, and set the clock back by a day."""
    folder = top / "root"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.md").write_text("Herons fish.")
    judge("root, clock going back", [sys.executable, "-c", _BACK, *_index(folder)[3:]], 1)
    judge("root again", _index(folder), 1)
    (folder / "a.md").unlink()
    folder.rmdir()
    folder.write_text("Owls hoot.")
    judge("root that became a file", _index(folder), 1)


if __name__ == "__main__":
    sys.exit(main())
