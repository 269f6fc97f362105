"""A limit on requests is kept among processes, and is not worth failing for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from rifflux.surfaces.http.limits import Buckets, Leases


class CountingVfs(apsw.VFS):
    """The files of the system, with a count of how often one was written through to the disk."""

    def __init__(self) -> None:
        self.syncs = 0
        self.system = apsw.vfs_names()[0]
        super().__init__("counting", self.system)
        apsw.set_default_vfs("counting")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> CountingFile:  # noqa: N802
        return CountingFile(self, name, flags)

    def end(self) -> None:
        apsw.set_default_vfs(self.system)
        self.unregister()


class CountingFile(apsw.VFSFile):
    def __init__(self, vfs: CountingVfs, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.vfs = vfs
        super().__init__(vfs.system, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.vfs.syncs += 1
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[CountingVfs]:
    disk = CountingVfs()
    yield disk
    disk.end()


def test_no_request_waits_for_the_disk(tmp_path: Path, disk: CountingVfs) -> None:
    buckets = Buckets(str(tmp_path), rate=1000.0, burst=1000)
    leases = Leases(str(tmp_path), most=1000)
    disk.syncs = 0
    for number in range(20):
        buckets.take(f"user{number}")
        leases.give_back(leases.take(f"user{number}", 60.0) or "")
    buckets.close()
    leases.close()
    assert disk.syncs == 0


def test_a_request_goes_uncounted_while_the_levels_are_held_elsewhere(tmp_path: Path) -> None:
    buckets = Buckets(str(tmp_path), rate=1.0, burst=1, now=lambda: 1000.0)
    buckets._connection.set_busy_timeout(10)
    other = apsw.Connection(str(tmp_path / "limits.db"))
    other.execute("begin immediate")
    assert [buckets.take("ann") for _ in range(3)] == [0.0, 0.0, 0.0]
    other.execute("rollback")
    assert buckets.take("ann") == 0.0
    assert buckets.take("ann") == 1.0
    other.close()
    buckets.close()
