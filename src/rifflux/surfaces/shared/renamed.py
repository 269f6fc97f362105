"""Former names of what a caller sends: still read, never written, and shown in no help.

`docs/reference/renamed.md` shows these tables to people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from rifflux import InvalidArgument

__all__ = ["ANSWERS", "FLAGS", "KEYS", "SETTINGS", "UNTIL", "current_flags", "former", "normalized"]

#: Until when former names are read.
UNTIL = "version 1.0, and at least a year after the version that renamed them"

#: Keys of JSON and arguments of tools: the former name, and the name now.
KEYS: Mapping[str, str] = {
    "budget": "max_tokens",
    "date_from": "since",
    "date_to": "until",
    "key": "document",
    "licence": "license",
    "neighbours": "neighbors",
    "token_budget": "max_tokens",
}
#: A key that held two: an object or a list of both ends.
RANGE, ENDS = "date_range", {"start": "since", "end": "until"}
#: Flags of the command line.
FLAGS: Mapping[str, str] = {
    "--budget": "--max-tokens",
    "--from": "--since",
    "--licence": "--license",
    "--neighbours": "--neighbors",
    "--to": "--until",
    "--without-licence": "--without-license",
}
#: Settings in the file and, in capitals after `RIFFLUX_`, in the environment.
SETTINGS: Mapping[str, str] = {
    "neighbours": "neighbors",
}
#: Keys of answers that have another name now; nothing reads them.
ANSWERS: Mapping[str, str] = {
    "budget": "max_tokens",
    "chunk": "chunk_id",
    "hits": "counts",
    "key": "document",
    "latency_ms": "milliseconds",
    "place": "path",
    "updated": "updated_at",
    "work": "document",
}


def former(known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the former names of keys that are `known`, with what each stands for now."""
    names: dict[str, tuple[str, ...]] = {name: (now,) for name, now in KEYS.items()} | {RANGE: tuple(ENDS.values())}
    return {name: now for name, now in names.items() if name not in known and set(now) <= set(known)}


def normalized(given: Mapping[str, object], known: Collection[str]) -> dict[str, object]:
    """Return keys under their names now, so far as those are `known` and the former ones are not.

    Raises `InvalidArgument` if a key is given under both names.
    """
    names = former(known)
    found: dict[str, object] = {}
    for name, value in given.items():
        called = names.get(name, (name,))
        for now, each in (_ends(value) if len(called) > 1 else {called[0]: value}).items():
            if now in found:
                raise InvalidArgument(f"{now} is given twice, once under a former name: leave one out")
            found[now] = each
    return found


def _ends(given: object) -> dict[str, object]:
    """Return both ends of a range of dates."""
    if isinstance(given, list | tuple) and len(given) == len(ENDS):
        return dict(zip(ENDS.values(), given, strict=True))
    if not isinstance(given, Mapping) or not set(given) <= set(ENDS):
        raise InvalidArgument(f"{RANGE} has a start and an end; better, give since and until")
    return {ENDS[name]: value for name, value in given.items()}


def current_flags(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments of a command with former flags by their names now."""
    literal = False
    for argument in arguments:
        literal = literal or argument == "--"
        flag, equals, value = argument.partition("=")
        yield argument if literal or flag not in FLAGS else FLAGS[flag] + equals + value
