"""From tokenizer.json to a tokenizer: our own where it is BERT's, else that of the `tokenizers` package."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rifflux.errors import MissingExtra, ModelError
from rifflux.models.base import well_formed
from rifflux.models.wordpiece import Encoding, Vocabulary, WordPiece

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Package

__all__ = ["Tokenizer", "load_tokenizer"]

#: What stands around a text and a pair, each with the number of its text.
_SINGLE = [("[CLS]", 0), ("A", 0), ("[SEP]", 0)]
_PAIR = [*_SINGLE, ("B", 1), ("[SEP]", 1)]


class Tokenizer(Protocol):
    """Cuts texts into the tokens of a model. Safe to share between threads."""

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """Return the tokens of a text, or of a pair, with the special ones and as many as the model takes in."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without truncation and special tokens."""
        ...

    def canonical(self, text: str) -> str:
        """Return a text with the same tokens, and the same one for many of the texts that have them."""
        ...


class PackageTokenizer:
    """A tokenizer of the `tokenizers` package. Padding and truncation that its file asks for give way to ours."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        self.path = path
        self.max_tokens = max_tokens

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """Return the tokens of a text, or of a pair, with the special ones and at most `max_tokens`."""
        found = self._cutting.encode(well_formed(text), pair and well_formed(pair))
        return Encoding(found.ids, found.type_ids, found.special_tokens_mask)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without truncation and special tokens."""
        return len(self._whole.encode(well_formed(text), add_special_tokens=False))

    def canonical(self, text: str) -> str:
        """Return the text: nothing is known of what the tokenizer ignores."""
        return text

    @cached_property
    def _whole(self) -> Package:
        return _load_package(self.path)

    @cached_property
    def _cutting(self) -> Package:
        tokenizer = _load_package(self.path)
        tokenizer.enable_truncation(self.max_tokens)
        return tokenizer


def load_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Return the tokenizer in a tokenizer.json. Raises `ModelError`, and `MissingExtra` if it needs the package."""
    try:
        vocabulary = _vocabulary(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} can't be read ({error}): fetch or export the model again") from error
    if vocabulary:
        return WordPiece(vocabulary, max_tokens)
    tokenizer = PackageTokenizer(path, max_tokens)
    tokenizer.count("")  # whatever is wrong with the file shows now
    return tokenizer


def _load_package(path: Path) -> Package:
    try:
        from tokenizers import Tokenizer as Package
    except ImportError:
        raise MissingExtra(f"{path} is not in WordPiece: pip install 'rifflux[tokenizers]' to read it") from None
    try:
        tokenizer = Package.from_file(str(path))
    except Exception as error:  # the package raises bare exceptions
        raise ModelError(f"{path} can't be read ({error}): fetch or export the model again") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _vocabulary(file: object) -> Vocabulary | None:
    """Return the vocabulary in a tokenizer.json that works as BERT's does, else None."""
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
        } if _is_bert(around) and all(map(_is_plain, added)):
            special = {token["content"]: token["id"] for token in added}
            strip = lowercase if strip_accents is None else bool(strip_accents)
            known = {"[CLS]", "[SEP]"} <= special.keys() and unknown in ids
            return Vocabulary(ids, special, unknown, prefix, longest, lowercase, strip) if known else None
    return None


def _is_bert(around: object) -> bool:
    """Whether [CLS] stands before a text and [SEP] behind each."""
    match around:
        case {"type": "BertProcessing", "cls": ["[CLS]", _], "sep": ["[SEP]", _]}:
            return True
        case {"type": "TemplateProcessing", "single": list(single), "pair": list(pair)}:
            return _layout(single) == _SINGLE and _layout(pair) == _PAIR
    return False


def _layout(template: list[dict[str, dict[str, object]]]) -> list[tuple[object, object]]:
    return [(part["id"], part["type_id"]) for entry in template for part in entry.values()]


def _is_plain(token: object) -> bool:
    """Whether an added token is found in a text wherever and only where it is written so, within a word too."""
    match token:
        case {"content": str(content), "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}:
            return len(content.split()) == 1 and content == content.strip()
    return False
