"""Work beside the requests: a thread for as long as a block lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial


@contextmanager
def beside(work: Callable[[threading.Event], None], name: str) -> Iterator[None]:
    """Do work in a thread until the block ends: the event is set then, and the thread joined."""
    stop = threading.Event()
    thread = threading.Thread(target=partial(work, stop), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
