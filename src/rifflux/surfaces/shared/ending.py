"""How a program ends at a signal: with one sentence, and with 128 + the number of the signal as its status."""

from __future__ import annotations

import signal

#: Signals that end every command as Ctrl-C does, by name: Windows has no SIGHUP.
ENDING = ("SIGTERM", "SIGHUP")


def ended_by(number: int) -> str:
    """Return the sentence that a program says at its end by a signal."""
    if number == signal.SIGINT:
        return "rifflux: interrupted; what was done so far is kept"
    return f"rifflux: ended by {signal.Signals(number).name}; what was done so far is kept"
