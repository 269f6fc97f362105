"""Policies: settings made by an administrator for every user of an index, stored in the index.

Every user may read them. They can only be changed without a scope. Some are settings of each owner for their own view.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rifflux.errors import Cure, InvalidArgument, OutOfScope
from rifflux.requests import LEXICAL
from rifflux.service.nouns import LogEntry
from rifflux.service.registry import Registry
from rifflux.store import Store
from rifflux.text.licenses import NO_LICENSE_OPENS, checked_rules, rules_in, spelled
from rifflux.types.nouns import iso_time

#: The maximum number of characters of a value in the log.
LONGEST_LOGGED = 500
_WORDS = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
#: The beginning of the name of the setting that stores a policy.
STORED_AS = "policy "
_READERS = ("owner", "everyone", "nobody")


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy and its description.

    `read` parses a given or stored value and raises `InvalidArgument` for an invalid one; `write` serializes a value
    for storing and printing. With `own`, each owner sets it for their own documents. `unreadable` replaces an invalid
    stored value, which another version may have written.
    """

    name: str
    default: Any
    help: str
    read: Callable[[object], Any]
    write: Callable[[Any], str]
    unreadable: Any
    own: bool = False

    def as_json(self, value: Any) -> Any:
        """Return a value in its JSON form."""
        if isinstance(value, Mapping):
            return spelled(value)
        return value


def _switch(name: str, help: str, *, own: bool = False) -> Policy:
    def read(value: object) -> bool:
        found = _WORDS.get(str(value).strip().lower())
        if found is None:
            raise InvalidArgument(f"{name} must be on or off, not {value!r}")
        return found

    return Policy(name, False, help, read, lambda on: "on" if on else "off", False, own)


def _reader(value: object) -> str:
    role = str(value).strip().lower()
    if role not in _READERS:
        raise InvalidArgument(f"{FACTS} is {', '.join(_READERS[:-1])} or {_READERS[-1]}, not {value!r}")
    return role


def _rules(value: object) -> Any:
    if isinstance(value, str):
        return rules_in(value, LICENSES)
    return checked_rules(value, LICENSES)


def _written(rules: Any) -> str:
    return json.dumps(spelled(rules), ensure_ascii=False)


HYBRID_SEARCH = "hybrid_search"
LICENSES = "licenses"
FACTS = "facts"
OWN_TEXTS = "own_texts"
#: All policies by name.
POLICIES: Mapping[str, Policy] = {
    each.name: each
    for each in (
        _switch(HYBRID_SEARCH, "search conversations by meaning too, not by words alone"),
        Policy(
            LICENSES,
            {},
            "what more licenses let be shown: NAME=text, abstract or nothing, with commas between",
            _rules,
            _written,
            NO_LICENSE_OPENS,
        ),
        Policy(
            FACTS, "owner", "who is told author, year and venue of a work without a license", _reader, str, "nobody"
        ),
        _switch(OWN_TEXTS, "show me the texts of my own works that no license opens; never to others", own=True),
    )
}


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of an index, by name; unset ones have their defaults.

    `by` is the administrator's name in the log, empty on the command line.
    """

    store: Store
    by: str = ""

    def get(self, name: str) -> Any:
        """Return the value of a policy. An unreadable stored value permits nothing."""
        policy = _known(name)
        stored = self.store.records.setting(STORED_AS + name, of_index=not policy.own)
        try:
            if stored is None:
                return policy.default
            return policy.read(stored)
        except InvalidArgument:
            return policy.unreadable

    def message_mode(self, mode: str) -> str:
        """Return the mode for searching messages: by words alone, unless `hybrid_search` permits `mode`."""
        if self.get(HYBRID_SEARCH):
            return mode
        return LEXICAL

    def set(self, name: str, value: object) -> None:
        """Set a policy for every user, or the caller's own.

        Raises `InvalidArgument` for an invalid value, and in a scope `OutOfScope` for a policy of every user.
        """
        policy = _known(name)
        new_value = policy.read(value)
        if self.store.owner and not policy.own:
            raise OutOfScope(f"only an administrator changes {name}", cure=Cure.POLICY, policy=name)
        stored = policy.write(new_value)
        if len(stored) <= LONGEST_LOGGED:
            detail = stored
        else:
            detail = f"{stored[:LONGEST_LOGGED]}…"
        if policy.own:
            entry = None
        else:
            entry = LogEntry(self.by, "setting.change", iso_time(time.time(), "auto"), name, detail=detail)
        Registry(self.store).set(STORED_AS + name, stored, entry=entry)

    def all(self) -> dict[str, Any]:
        """Return every policy by its name."""
        return {name: self.get(name) for name in POLICIES}


def _known(name: str) -> Policy:
    if name not in POLICIES:
        raise InvalidArgument(f"no setting {name!r}; choose one of {', '.join(POLICIES)}")
    return POLICIES[name]
