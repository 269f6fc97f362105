"""Places that a program finds in the world: disks that are full or read-only, files of other people."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

NOBODY = 65534


def word(number: int) -> str:
    """A word of letters that looks like no other."""
    return sha256(str(number).encode()).hexdigest()[:12].translate(str.maketrans("0123456789", "ghijklmnop"))


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[Path]:
    """A file system of its own; skips the test where none may be mounted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
    if sys.platform != "linux" or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def make_read_only(place: Path) -> None:
    """Let nobody write to a mounted file system, not even root."""
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)


@contextmanager
def read_only_view(folder: Path, place: Path) -> Iterator[Path]:
    """The same folder, seen from a place where nobody can write; skips the test where none may be mounted."""
    place.mkdir()
    bind = ["mount", "--bind", str(folder), str(place)]
    if sys.platform != "linux" or subprocess.run(bind, capture_output=True, check=False).returncode:
        pytest.skip("no folder may be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def as_somebody_else(work: Callable[[], None]) -> None:
    """Do something with the rights of a user who owns nothing; what it raises fails the test."""
    if os.name != "posix":
        pytest.skip("users are told apart on POSIX only")
    if os.geteuid():
        work()
        return
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "see what it printed"
