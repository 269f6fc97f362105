"""Counting tokens exactly, and fast enough to do it for every piece of every document.

A BERT tokenizer cuts at white space and punctuation before anything else, so the count of a text is the sum
over its words, and words repeat: most counts are a look-up. Whatever is rare (a word not seen before, any
other script) goes to the tokenizer itself, one word at a time.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import TYPE_CHECKING

from rifflux.models.base import well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["canonical_form", "token_counter"]

REMEMBERED_WORDS = 65_536
REMEMBERED_LENGTH = 64  # characters: what is longer hardly comes back, and would fill the memory
SPACE = r" \t\n\r"
PUNCTUATION = r"!-/:-@\[-`{-~"
#: What is a space to Python, and to the tokenizer a character to delete.
DELETED = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"


def token_counter(tokenizer: Tokenizer) -> Callable[[str], int]:
    """A function that counts the tokens of a text, without the special ones.

    The tokenizer must not truncate or pad. Counts equal `len(tokenizer.encode(text,
    add_special_tokens=False))`; they come from memory where the tokenizer works word by word as BERT's
    does.
    """

    def encode(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False))

    if not cuts_at_words(tokenizer):
        return lambda text: encode(well_formed(text))

    lowercase = bool(tokenizer.normalizer.lowercase)

    def encode_word(word: str) -> int:
        # Most words are in the vocabulary as they are; looking them up is a tenth of the cost of encoding them.
        whole = word.isascii() and tokenizer.token_to_id(word.lower() if lowercase else word) is not None
        return 1 if whole else encode(word)

    known = Counts(encode_word).__getitem__
    words = word_pattern(tokenizer).findall

    def count_words(text: str) -> int:
        return sum(map(known, words(text)))

    between_spaces = Counts(count_words).__getitem__

    def count(text: str) -> int:
        # What stands between two spaces is looked up as a whole: it takes a fifth of the time of finding its words.
        text = well_formed(text)
        if any(map(text.__contains__, DELETED)):
            return count_words(text)
        return sum(map(between_spaces, text.split()))

    return count


def canonical_form(tokenizer: Tokenizer) -> Callable[[str], str]:
    """A function that gives a text with the same tokens, and the same one for many of the texts that have them.

    Where the tokenizer works as BERT's does, that is plain ASCII in one case, if the tokenizer ignores it, and with
    single spaces. Any other text stays as it is.
    """
    if not cuts_at_words(tokenizer):
        return str
    fold = str.lower if tokenizer.normalizer.lowercase else str
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]

    def canonical(text: str) -> str:
        if not text.isascii() or any(map(text.__contains__, (*DELETED, *special))):
            return text
        return " ".join(fold(text).split())

    return canonical


def cuts_at_words(tokenizer: Tokenizer) -> bool:
    """Whether ASCII space and punctuation always end a word, and nothing reaches across such an end."""
    from tokenizers import models, normalizers, pre_tokenizers

    added = tokenizer.get_added_tokens_decoder().values()
    return (
        isinstance(tokenizer.normalizer, normalizers.BertNormalizer)
        and isinstance(tokenizer.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        and isinstance(tokenizer.model, models.WordPiece)
        and all(token.content[0] in string.punctuation for token in added)
        and not any(token.normalized or token.lstrip or token.rstrip or token.single_word for token in added)
    )


def word_pattern(tokenizer: Tokenizer) -> re.Pattern[str]:
    """Runs of anything but space and punctuation, added tokens (they start with a mark), and marks.

    Only the four characters that the tokenizer takes for ASCII space count as such: it deletes the other
    control characters, which joins what they stood between.
    """
    added = sorted((token.content for token in tokenizer.get_added_tokens_decoder().values()), key=len)
    longest_first = map(re.escape, reversed(added))
    return re.compile("|".join([f"[^{SPACE}{PUNCTUATION}]+", *longest_first, f"[{PUNCTUATION}]"]))


class Counts(dict[str, int]):
    """The token counts of words, filled as words are asked for; forgets all when it is full."""

    def __init__(self, encode: Callable[[str], int]) -> None:
        super().__init__()
        self.encode = encode

    def __missing__(self, word: str) -> int:
        count = self.encode(word)
        if len(word) <= REMEMBERED_LENGTH:
            if len(self) >= REMEMBERED_WORDS:
                self.clear()
            self[word] = count
        return count
