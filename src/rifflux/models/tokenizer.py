"""Tokenizers from tokenizer.json: an implementation of BERT's, or else that of the `tokenizers` package."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from string import punctuation
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rifflux.errors import Cure, MissingExtra
from rifflux.models.embedder import well_formed
from rifflux.models.folder import model_error
from rifflux.text.analyzer import Memo
from rifflux.types import Ids

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Package

#: The inputs of a graph, and their types.
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
INTEGERS: dict[str, type[np.int32] | type[np.int64]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
#: The layout of a text and of a pair, each part with the number of its text.
_SINGLE = [("[CLS]", 0), ("A", 0), ("[SEP]", 0)]
_PAIR = [*_SINGLE, ("B", 1), ("[SEP]", 1)]


class Tokenizer(Protocol):
    """Splits texts into the tokens of a model. Safe to share between threads."""

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """Return the tokens of a text or pair with the special tokens, truncated to the model's limit."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without truncation and special tokens."""
        ...

    def canonical(self, text: str) -> str:
        """Return a text with the same tokens, equal for many texts that share them."""
        ...


class PackageTokenizer:
    """A tokenizer of the `tokenizers` package. Padding and truncation in its file are overridden."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        self._whole = _load_package(path)
        self._cutting = _load_package(path)
        self._cutting.enable_truncation(max_tokens)

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        found = self._cutting.encode(well_formed(text), pair and well_formed(pair))
        return Encoding(found.ids, found.type_ids, found.special_tokens_mask)

    def count(self, text: str) -> int:
        return len(self._whole.encode(well_formed(text), add_special_tokens=False))

    def canonical(self, text: str) -> str:
        return text  # what it ignores is unknown


def load_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Load the tokenizer in a tokenizer.json. Raises `ModelError`, and `MissingExtra` if it needs the package."""
    try:
        vocabulary = _vocabulary(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise model_error(path, "can't be read: fetch or export the model again", error) from error
    if vocabulary:
        return WordPiece(vocabulary, max_tokens)
    return PackageTokenizer(path, max_tokens)


def _load_package(path: Path) -> Package:
    try:
        from tokenizers import Tokenizer as Package
    except ImportError:
        raise MissingExtra(
            f"{path.parent.name}/{path.name} is not a WordPiece tokenizer",
            cure=Cure.INSTALL,
            package="rifflux[tokenizers]",
        ) from None
    try:
        tokenizer = Package.from_file(str(path))
    except Exception as error:  # the package raises bare exceptions
        raise model_error(path, "can't be read: fetch or export the model again", error) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _vocabulary(file: object) -> WordPieceVocabulary | None:
    """Return the vocabulary in a tokenizer.json that is equivalent to BERT's, or None."""
    match file:
        case {
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": strip_accents,
                "lowercase": bool(lowercase),
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": around,
            "model": {
                "type": "WordPiece",
                "vocab": dict(ids),
                "unk_token": str(unknown),
                "continuing_subword_prefix": str(prefix),
                "max_input_chars_per_word": int(longest),
            },
            "added_tokens": list(added),
        } if _is_bert(around) and all(_is_plain(each) for each in added):
            special = {token["content"]: token["id"] for token in added}
            if strip_accents is None:
                strip = lowercase
            else:
                strip = bool(strip_accents)
            known = {"[CLS]", "[SEP]"} <= special.keys() and unknown in ids
            if known:
                return WordPieceVocabulary(ids, special, unknown, prefix, longest, lowercase, strip)
            return None
    return None


def _is_bert(around: object) -> bool:
    """Return True if [CLS] precedes a text and [SEP] follows each one."""
    match around:
        case {"type": "BertProcessing", "cls": ["[CLS]", _], "sep": ["[SEP]", _]}:
            return True
        case {"type": "TemplateProcessing", "single": list(single), "pair": list(pair)}:
            return _layout(single) == _SINGLE and _layout(pair) == _PAIR
    return False


def _layout(template: list[dict[str, dict[str, object]]]) -> list[tuple[object, object]]:
    return [(part["id"], part["type_id"]) for entry in template for part in entry.values()]


def _is_plain(token: object) -> bool:
    """Return True if an added token matches exactly its own spelling, even within a word."""
    match token:
        case {"content": str(content), "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}:
            return len(content.split()) == 1 and content == content.strip()
    return False


# BERT's tokenizer: words are split at spaces and punctuation, and each word into the longest known pieces


REMEMBERED_LENGTH = 64  # characters: longer words rarely recur, and would fill the memory
#: Whitespace to Python, but deleted by the tokenizer.
DELETED = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
IDEOGRAPHS = (
    *(range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x2A6E0)),
    *(range(0x2A700, 0x2B820), range(0x2B920, 0x2CEB0), range(0x2F800, 0x2FA20)),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The tokens of a text or a pair: ids, the index of each token's text, and which ones are special."""

    ids: Sequence[int]
    type_ids: Sequence[int]
    special_tokens_mask: Sequence[int]

    def feed(self, inputs: Mapping[str, type[np.int32] | type[np.int64]]) -> dict[str, Ids]:
        """Return the input arrays of a graph for one text, given the types of its inputs."""
        length = len(self.ids)
        values = {
            "input_ids": self.ids,
            "attention_mask": [1] * length,
            "token_type_ids": self.type_ids,
            "position_ids": range(length),
        }
        return {name: np.array([values[name]], kind) for name, kind in inputs.items()}


@dataclass(frozen=True, slots=True)
class WordPieceVocabulary:
    """The pieces by text, with `prefix` for those inside a word, and the special tokens."""

    ids: Mapping[str, int]
    special: Mapping[str, int]
    unknown: str
    prefix: str
    longest_word: int
    lowercase: bool
    strip_accents: bool

    def pieces(self, word: str) -> list[int]:
        """Return the ids of a word, by greedy longest match; the unknown token if a part has no match."""
        if len(word) > self.longest_word:
            return [self.ids[self.unknown]]
        ids = self.ids
        found: list[int] = []
        rest = word
        shortest = 0
        while rest:
            end = len(rest)
            while end > shortest and rest[:end] not in ids:
                end -= 1
            if end == shortest:
                return [ids[self.unknown]]
            found.append(ids[rest[:end]])
            if end < len(rest):
                rest = self.prefix + rest[end:]
            else:
                rest = ""
            shortest = len(self.prefix)
        return found


class WordPiece:
    """BERT's tokenizer, truncating to `max_tokens` tokens."""

    def __init__(self, vocabulary: WordPieceVocabulary, max_tokens: int) -> None:
        self.vocabulary = vocabulary
        self.max_tokens = max_tokens
        self._normal = Memo(self._normalize_character)
        self._known = Memo(self._ids, lambda word: len(word) <= REMEMBERED_LENGTH)
        self._pieces = Memo(vocabulary.pieces, lambda word: len(word) <= REMEMBERED_LENGTH)
        longest_first = sorted(vocabulary.special, key=len, reverse=True)
        self._special = re.compile(f"({'|'.join(re.escape(each) for each in longest_first)})")

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        cls = self.vocabulary.special["[CLS]"]
        sep = self.vocabulary.special["[SEP]"]
        first = list(chain.from_iterable(self._parts(text)))
        if pair is None:
            del first[self.max_tokens - 2 :]
            return Encoding([cls, *first, sep], [0] * (len(first) + 2), [1, *[0] * len(first), 1])
        second = list(chain.from_iterable(self._parts(pair)))
        left, right = shared_lengths(len(first), len(second), self.max_tokens - 3)
        return Encoding(
            [cls, *first[:left], sep, *second[:right], sep],
            [0] * (left + 2) + [1] * (right + 1),
            [1, *[0] * left, 1, *[0] * right, 1],
        )

    def count(self, text: str) -> int:
        return sum(map(len, self._parts(text)))

    def canonical(self, text: str) -> str:
        """Return a text with the same tokens, equal for texts that differ only in case and whitespace."""
        if not text.isascii() or any(each in text for each in (*DELETED, *self.vocabulary.special)):
            return text
        return " ".join((text.lower() if self.vocabulary.lowercase else text).split())

    def _parts(self, text: str) -> Iterable[tuple[int, ...]]:
        """Return the tokens of a text word by word, since no token extends across a space."""
        if not text.isascii():
            text = well_formed(text)
        for character in DELETED:
            if character in text:
                return [self._ids(text)]
        known = self._known
        return [known[word] for word in text.split()]

    def _ids(self, text: str) -> tuple[int, ...]:
        """Tokenize a text that is not cached."""
        vocabulary = self.vocabulary
        found: list[int] = []
        for part in self._special.split(text):
            if part in vocabulary.special:
                found.append(vocabulary.special[part])
            else:
                for word in self._normalize(part).split():
                    found += self._pieces[word]
        return tuple(found)

    def _normalize(self, text: str) -> str:
        if self.vocabulary.strip_accents:
            decomposed = unicodedata.normalize("NFD", text)
        else:
            decomposed = text
        return decomposed.translate(self._normal)

    def _normalize_character(self, code: int) -> str:
        """Normalize a character; punctuation and ideographs become words of their own."""
        character = chr(code)
        category = unicodedata.category(character)
        if character in "\t\n\r":
            return " "
        if category in ("Cc", "Cf", "Co") or character == "\ufffd":
            return ""
        if category == "Mn" and self.vocabulary.strip_accents:
            return ""
        if character.isspace():
            return " "
        if self.vocabulary.lowercase:
            folded = character.lower()
        else:
            folded = character
        alone = character in punctuation or category[0] == "P" or any(code in block for block in IDEOGRAPHS)
        if alone:
            return f" {folded} "
        return folded


def shared_lengths(first: int, second: int, room: int) -> tuple[int, int]:
    """Return the number of tokens of each text of a pair that fit into `room`; the longer one is cut first."""
    if first + second <= room:
        return first, second
    short = min(first, second, room // 2)
    if first <= second:
        return (short, room - short)
    return (room - short, short)
