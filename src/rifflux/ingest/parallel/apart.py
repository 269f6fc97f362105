"""Reading of an uploaded file in a separate process that cannot harm this one.

Parsers of PDF and Office files are large and written in C: a crafted file can hang them, fill the memory, or take the
process over. Therefore the process reads one file, has no environment, keys or open index, is limited in time, memory
and size of its answer, and answers in JSON, which is only data. The time limit is on processor time, so that a busy
machine reads every file that an idle one would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from rifflux.errors import MissingExtra, RiffluxError, Unreadable
from rifflux.ingest.parallel.limits import FRUGAL, LATE, MB, allow, confine, is_short, late, too_large
from rifflux.types.limits import READER_LIMITS, ReaderLimits
from rifflux.types.temporary import temporary_folder

#: Returns the context in which a file is read, entered once there is room for another reader.
Place = Callable[[], AbstractContextManager[object]]

_START = (
    "import json, sys; request = json.loads(sys.stdin.readline()); sys.path[:] = request['paths']; "
    "from rifflux.ingest.parallel.apart import answer; answer(request)"
)
#: The environment variables that processes need to start.
_INHERITED = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
#: The maximum bytes of a file name, and of a suffix that is preserved when the name is cut.
_LONGEST_NAME = 200
_LONGEST_SUFFIX = 20
_NO_NAME = str.maketrans(dict.fromkeys(map(chr, range(32)), "_") | dict.fromkeys('/\\:*?"<>|\x7f', "_"))


def safe_name(name: str) -> str:
    """Return the last part of a user's file name, made safe as a name in a folder of its own."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2].encode("utf-8", "replace").decode()
    last = last.translate(_NO_NAME).strip(" .") or "file"
    stem, dot, suffix = last.rpartition(".")
    if stem and len(suffix.encode()) <= _LONGEST_SUFFIX:
        ending = dot + suffix
    else:
        ending = ""
    room = _LONGEST_NAME - len(ending.encode())
    return last.removesuffix(ending).encode()[:room].decode("utf-8", "ignore") + ending


@contextmanager
def sent(name: str, data: bytes) -> Iterator[Path]:
    """Store an uploaded file in a folder of its own, under its own name, until the block ends.

    Folders left by killed processes are removed.
    """
    with temporary_folder() as folder:
        path = folder / safe_name(name)
        path.write_bytes(data)
        yield path


def apart(call: str, path: Path, limits: ReaderLimits = READER_LIMITS, **options: Any) -> Any:
    """Call a function, by its dotted name, on a file in another process; options and answer are JSON.

    The process may write beside the file. Raises `Unreadable` if it exceeds its limits or dies, otherwise what the
    function raises.
    """
    found = _answer_of(path, limits, {"call": call, "path": str(path), "options": options})
    match found:
        case {"value": value}:
            return value
        case {"error": "MissingExtra", "message": str(message)}:
            raise MissingExtra(message)
        case {"error": str(), "message": str(message)}:
            raise Unreadable(message)
        case _:
            raise Unreadable(_lost(limits))


def streamed(call: str, limits: ReaderLimits, **options: Any) -> Iterator[Any]:
    """Call a generator function, by its dotted name, in another process; options and values are JSON.

    Each value may take the limit of processor time, so that files of any length can be read. The function has this
    program's working directory, environment and standard error. Raises `Unreadable` if it exceeds its limits or dies,
    otherwise what the function raises.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | FRUGAL,
        process_group=0 if os.name == "posix" else None,
    )
    assert process.stdin
    assert process.stdout
    request = {
        "call": call,
        "options": options,
        "paths": [each or str(Path.cwd()) for each in sys.path],
        "parent": os.getpid(),
        "processor": limits.processor_s,
        "memory": limits.memory_mb * MB,
    }
    try:
        with suppress(OSError), process.stdin:
            process.stdin.write(json.dumps(request).encode() + b"\n")
        for line in process.stdout:
            match json.loads(line):
                case {"value": value}:
                    yield value
                case {"error": "MissingExtra", "message": str(message)}:
                    raise MissingExtra(message)
                case {"error": str(), "message": str(message)}:
                    raise Unreadable(message)
                case _:
                    return
        status = process.wait()
        raise Unreadable(late(limits.processor_s) if status == LATE else _lost(limits))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _answer_of(path: Path, limits: ReaderLimits, request: Mapping[str, Any]) -> object:
    """Return the process's answer parsed as JSON, or None if it is invalid."""
    paths = [each or str(Path.cwd()) for each in sys.path]
    answer_file = path.with_name(f"{path.name}.answer")
    with answer_file.open("wb") as sink:
        process = subprocess.Popen(
            # Nothing is imported from its working folder.
            [sys.executable, "-P", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.DEVNULL,
            cwd=path.parent,
            env={name: os.environ[name] for name in _INHERITED if name in os.environ} | FRUGAL,
            # In a process group of its own, so that Ctrl-C is handled by this process.
            process_group=0 if os.name == "posix" else None,
        )
        request = {
            **request,
            "paths": paths,
            "parent": os.getpid(),
            "processor": limits.processor_s,
            "memory": limits.memory_mb * MB,
            "answer": limits.answer_mb * MB,
        }
        try:
            process.communicate(json.dumps(request).encode() + b"\n", timeout=limits.seconds)
        except subprocess.TimeoutExpired:
            raise Unreadable(late(limits.seconds), kind="slow") from None
        finally:
            process.kill()
            process.wait()
    if LATE is not None and process.returncode == LATE:
        raise Unreadable(late(limits.processor_s), kind="slow")
    if answer_file.stat().st_size > limits.answer_mb * MB:
        return None
    with suppress(ValueError, RecursionError):
        # NaN and infinity are not valid JSON, nor can they be stored.
        return json.loads(answer_file.read_bytes(), parse_constant=lambda _: None)
    return None


def _lost(limits: ReaderLimits) -> str:
    return (
        f"ended the process that read it, which may have {limits.memory_mb} MB of memory and give {limits.answer_mb} "
        "MB of text: split it, or save it in a plainer format"
    )


# In the other process


def answer(request: Mapping[str, Any]) -> None:
    """Run the requested function within its limits and print its result as JSON."""
    if "path" not in request:
        _answer_in_parts(request)
        return
    confine(request["memory"], request["parent"])
    allow(request["processor"], request["answer"])
    private = os.dup(sys.stdout.fileno())
    # Output printed by a library is not part of the answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with os.fdopen(private, "w", encoding="ascii") as out:
        json.dump(_done(request), out, default=str)


def _answer_in_parts(request: Mapping[str, Any]) -> None:
    """Print the values of the requested generator, one per line, and an empty object at the end."""
    confine(request["memory"], request["parent"])
    private = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with os.fdopen(private, "w", encoding="ascii") as out, suppress(BrokenPipeError):
        allow(request["processor"])
        try:
            for value in resolve_name(request["call"])(**request["options"]):
                out.write(json.dumps({"value": value}, default=str) + "\n")
                out.flush()
                allow(request["processor"])
            last: Mapping[str, str] = {}
        except RiffluxError as error:
            last = {"error": type(error).__name__, "message": str(error)}
        except MemoryError:
            last = {"error": "MemoryError", "message": too_large(request["memory"] // MB)}
        out.write(json.dumps(last) + "\n")


def _done(request: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return {"value": resolve_name(request["call"])(Path(request["path"]), **request["options"])}
    except RiffluxError as error:
        if isinstance(error, Unreadable) and is_short(request["memory"]):
            return {"error": "MemoryError", "message": too_large(request["memory"] // MB)}
        return {"error": type(error).__name__, "message": str(error)}
    except MemoryError:
        return {"error": "MemoryError", "message": too_large(request["memory"] // MB)}
