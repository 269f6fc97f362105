"""Recognition of an index, however damaged, before anything is done to the file.

A file is an index if its header says so, or if it contains recognizable pages of one: a b-tree page of SQLite with
consistent numbers, and the name of a table that only an index has. At most `MOST_BYTES` of the file are read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from rifflux.errors import Cure, NotAnIndex
from rifflux.store.sqlite.connection.connect import APPLICATION_ID, file_beside

#: The number of bytes searched for pages of an index if the header is not conclusive.
MOST_BYTES = 64 * 2**20
#: The size of an index's pages.
PAGE = 8192
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_APPLICATION = 68
#: A table that every index has, and no other program's database.
_OUR_TABLE = b"chunk_terms_docsize"
#: The first bytes of b-tree pages, with the length of their headers: inner pages and leaves, of indexes and tables.
_PAGE_HEADERS = {2: 12, 5: 12, 10: 8, 13: 8}
#: The maximum free bytes of a page in pieces too small to be listed.
_MOST_FRAGMENTS = 60


def check_is_index(path: Path) -> None:
    """Raise `NotAnIndex`, with the cure, for a file that is not an index and contains no page of one."""
    if path.is_dir():
        raise NotAnIndex(f"{path} is a folder: name the index file in it, such as {path / 'index.db'}")
    file = file_beside(path)
    try:
        header = file.xRead(min(_HEADER, file.xFileSize()), 0)
    finally:
        file.xClose()
    if not header:
        raise NotAnIndex(f"{path} is empty, so there is nothing to repair: delete it", cure=Cure.ADD)
    if header.startswith(_MAGIC):
        if len(header) < _HEADER or path.stat().st_size < PAGE:
            raise NotAnIndex(
                f"only the first {path.stat().st_size:,} bytes of a database are left in {path}: restore a copy, "
                "or delete it",
                cure=Cure.ADD,
            )
        if struct.unpack_from(">I", header, _APPLICATION)[0] == APPLICATION_ID:
            return
        log = path.with_name(f"{path.name}-wal")
        # The first pages of a new index may still be in its log.
        if _holds_our_table(path) or (log.exists() and _holds_our_table(log)):
            return
        raise NotAnIndex(f"{path} is a database of another program", cure=Cure.OTHER_INDEX)
    if not any(_is_tree_page(each) for each in _pages(path)) or not _holds_our_table(path):
        raise NotAnIndex(
            f"{path} is not a Rifflux index, and contains no page of one, so there is nothing to repair",
            cure=Cure.OTHER_INDEX,
        )


def _pages(path: Path) -> Iterator[bytes]:
    file = file_beside(path)
    try:
        for number in range(min(MOST_BYTES, file.xFileSize()) // PAGE):
            yield file.xRead(PAGE, number * PAGE)
    finally:
        file.xClose()


def _holds_our_table(path: Path) -> bool:
    """Return True if a file contains the name of the index's table, possibly across two pages."""
    before = b""
    for page in _pages(path):
        if _OUR_TABLE in before + page:
            return True
        before = page[-len(_OUR_TABLE) :]
    return False


def _is_tree_page(page: bytes) -> bool:
    """Return True if a page is a non-empty page of an SQLite b-tree.

    See https://www.sqlite.org/fileformat2.html#b_tree_pages.
    """
    length = _PAGE_HEADERS.get(page[0])
    if length is None:
        return False
    free, cells, content, fragments = struct.unpack_from(">HHHB", page, 1)
    pointers_end = length + 2 * cells
    if not cells or free >= PAGE or fragments > _MOST_FRAGMENTS or not pointers_end <= content < PAGE:
        return False
    return all(content <= place < PAGE for place in struct.unpack_from(f">{cells}H", page, length))
