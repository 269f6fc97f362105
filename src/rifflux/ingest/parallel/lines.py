"""JSON Lines files too large to hold: their lines, some at a time."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain, pairwise
from pathlib import Path

from rifflux.ingest.parallel.job import FileChange, Job, Lines, Outcome, fingerprint
from rifflux.ingest.read.jsonl import MOST_FAILURES, comes_again, no_document, told
from rifflux.types import Failure

__all__ = ["Assembled", "jobs_of", "lines_of", "scan"]

#: Files up to this many bytes are read as a whole.
WHOLE = 2**20
#: Bytes of a stretch of lines: some hundred records, and little beside what is made of them.
STRETCH = 2**18
_BLOCK = 2**20


def jobs_of(job: Job) -> Iterator[Job]:
    """The jobs that reading a file takes: one, or for a long file of lines many."""
    found = job.found
    if found.size <= WHOLE or not found.path.lower().endswith((".jsonl", ".ndjson")):
        yield job
        return
    try:
        hash, plain = scan(found.absolute)
        if hash == job.known or not plain:
            yield replace(job, unchanged=hash == job.known)
        else:
            yield from (replace(job, known=hash, lines=lines) for lines in lines_of(found.absolute))
    except OSError:
        yield job  # which will tell why it cannot be read


def scan(path: Path) -> tuple[str, bool]:
    """The fingerprint of a file, and whether its lines can be told apart without decoding it as a whole.

    They can in UTF-8 where only line feeds end lines. Raises `OSError`.
    """
    digest, decode, plain = blake2b(digest_size=16), codecs.getincrementaldecoder("utf-8")().decode, True
    for block in _blocks(path, _BLOCK):
        digest.update(block)
        plain = plain and _is_plain(block, decode)
    return fingerprint(digest.hexdigest()), plain


def _is_plain(block: bytes, decode: Callable[[bytes], str]) -> bool:
    try:
        decode(block)
    except UnicodeDecodeError:
        return False
    return b"\0" not in block and block.count(b"\r") == block.count(b"\r\n")


def lines_of(path: Path) -> Iterator[Lines]:
    """The lines of a file, some at a time."""
    first = 1
    for data, following in pairwise(chain(_blocks(path, STRETCH), [b""])):
        yield Lines(first, data, last=not following)
        first += data.count(b"\n")


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    """The content in blocks of about `size` bytes that end with a line."""
    with path.open("rb") as file:
        while block := file.read(size):
            yield block + file.readline()


@dataclass(slots=True)
class Assembled:
    """What came of the lines of one file so far: the line of each key, and what could not be read."""

    lines: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    failed: int = 0

    def __call__(self, job: Job, outcome: Outcome) -> Outcome:
        """The outcome to store for some lines; after the last, what the file is remembered by, and all failures."""
        assert job.lines
        assert outcome.change
        path = f"{job.root}/{job.found.path}"
        for (_, document), number in zip(outcome.change.documents, outcome.numbers, strict=True):
            key = document.document.key
            if key in self.lines:
                self._fail(Failure(f"{path}:{self.lines[key]}", comes_again(key, number)))
            self.lines[key] = number
        self._fail(*outcome.failures)
        return self._whole(path, job.known, outcome.change) if job.lines.last else Outcome(outcome.change)

    def _fail(self, *failures: Failure) -> None:
        self.failures += failures[: MOST_FAILURES - len(self.failures)]
        self.failed += len(failures)

    def _whole(self, path: str, hash: str, change: FileChange) -> Outcome:
        state = replace(change.state, hash=hash)
        if self.failures and not self.lines:
            problem = no_document(self.failures[0])
            return Outcome(FileChange(replace(state, problem=problem)), (Failure(path, problem),))
        failures = told(path, self.failures, self.failed)
        return Outcome(replace(change, state=state, keep=self.lines.keys()), tuple(failures))
