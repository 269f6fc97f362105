"""A limit on requests is kept among processes, and is not worth failing for."""

from __future__ import annotations

from pathlib import Path

import apsw

from rifflux.surfaces.http.limits import Buckets


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
