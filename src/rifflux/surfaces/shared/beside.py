"""Background work: a thread that lives as long as a block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial


@contextmanager
def beside(work: Callable[[threading.Event], None], name: str) -> Iterator[None]:
    """Run work in a thread until the block ends; then set its event and join the thread."""
    stop = threading.Event()
    thread = threading.Thread(target=partial(work, stop), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
