"""A streaming JSON reader, so that an export of any size needs only the memory of its largest conversation."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import IO

from rifflux.errors import Unreadable

#: The longest value that is read into memory as a whole.
MOST_CHARACTERS = 128_000_000
_CHUNK = 1 << 16
#: An error this close to the end of the buffer may only be an incomplete value.
_NEAR = 16
_SPACE = " \t\n\r"
_NUMBER = "0123456789.eE+-"


class JsonReader:
    """A forward-only JSON reader: lists and objects are read part by part, everything else as a value.

    Each part from `items` or `fields` must be consumed with `items`, `fields` or `value` before the next. Raises
    `Unreadable` with the position for invalid JSON.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        first = file.read(_CHUNK)
        self._decode = codecs.getincrementaldecoder(json.detect_encoding(first))().decode
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._passed = 0
        self._ended = False
        self._take(first)

    def peek(self) -> str:
        """Return the first character of the next value, or an empty string at the end of the file."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def items(self) -> Iterator[None]:
        """Yield once for each element of a list."""
        yield from self._parts("[", "]")

    def fields(self) -> Iterator[str]:
        """Yield the name of each field of an object."""
        for _ in self._parts("{", "}"):
            name = self.value()
            if not isinstance(name, str):
                raise self._fault("a name in quotes")
            self._expect(":")
            yield name

    def value(self) -> object:
        """Return the next value as a whole."""
        self.peek()
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._goes_on(error) or not self._more():
                    self._at = error.pos
                    raise self._fault("JSON", error.msg) from None
                continue
            except RecursionError:
                raise self._fault("JSON", "nested too deeply") from None
            # A number at the end of the buffer may be incomplete.
            if isinstance(value, int | float) and not self._text[end : end + 1].strip(_NUMBER) and self._more():
                continue
            self._at = end
            return value

    def _parts(self, opening: str, closing: str) -> Iterator[None]:
        self._expect(opening)
        if self.peek() == closing:
            self._at += 1
            return
        while True:
            yield
            if (found := self.peek()) not in ("", ",", closing):
                raise self._fault(f"',' or '{closing}'")
            if not found:
                raise self._fault(f"'{closing}'")
            self._at += 1
            if found == closing:
                return

    def _expect(self, expected: str) -> None:
        if self.peek() != expected:
            raise self._fault(f"'{expected}'")
        self._at += 1

    def _goes_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _NEAR

    def _more(self) -> bool:
        """Double the buffer; return False at the end of the file."""
        buffered = len(self._text) - self._at
        if buffered > MOST_CHARACTERS:
            raise Unreadable(f"holds a value of more than {MOST_CHARACTERS:,} characters: no conversation is so long")
        while not self._ended:
            before = len(self._text) - self._at
            self._take(self._file.read(max(_CHUNK, buffered)))
            if len(self._text) - self._at > before:
                return True
        return False

    def _take(self, data: bytes) -> None:
        self._passed += self._at
        self._ended = not data
        try:
            self._text = self._text[self._at :] + self._decode(data, self._ended)
            self._at = 0
        except UnicodeDecodeError as error:
            raise Unreadable(f"is not JSON: {error}") from None

    def _fault(self, expected: str, why: str = "") -> Unreadable:
        place = self._passed + self._at
        if self._at < len(self._text):
            found = repr(self._text[self._at : self._at + 20])
        else:
            found = "the end"
        return Unreadable(f"is not JSON: {why or f'{expected} was expected'} at character {place:,}, before {found}")
