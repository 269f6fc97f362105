"""Another user of this machine, and a Python that they can run."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import rifflux

__all__ = ["as_user", "packages", "python_of"]


def packages() -> str:
    """Where this process finds its modules."""
    return os.pathsep.join([str(Path(rifflux.__file__).parents[1]), *filter(None, sys.path)])


def python_of(user: str) -> str | None:
    """A Python of this version that a user may run, with all that this one has; None if this user's alone has that."""
    for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        with suppress(OSError):
            command, environment = [python, "-c", "import rifflux, numpy, apsw"], {"PYTHONPATH": packages()}
            if subprocess.run(command, user=user, env=environment, cwd="/", check=False).returncode == 0:
                return python
    return None


def as_user(user: str | None) -> dict[str, Any]:
    """How a process is started as a user, in no other groups than the user's own; as this one for None."""
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
