"""The few words of a passage that say most about a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["Windows"]

_EAST_ASIAN = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
#: About a word, and never many tokens: a single character where a script has no spaces, a part of what is very long.
_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\s{_EAST_ASIAN}]{{1,20}}")


@dataclass(frozen=True)
class Windows:
    """Finds in texts the `size` adjacent words whose terms, each counted once, weigh most.

    `weights` are those of the question's terms, `analyze` gives the terms of a word. What is found stands in the middle
    of its window; of equal windows it is the first, and the text's beginning where no word has a weight.
    """

    weights: Mapping[str, float]
    analyze: Callable[[str], Iterable[str]]
    size: int
    _terms: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, text: str) -> str:
        """Return the best window of a text; all of it if it is no longer than that."""
        words = list(_WORD.finditer(text))
        if len(words) <= self.size:
            return text.strip()
        found = [word[0] for word in words]
        terms = {word: held for word in dict.fromkeys(found) if (held := self._of(word))}
        start = self._start([(place, terms[word]) for place, word in enumerate(found) if word in terms])
        start = min(start, len(words) - self.size)
        return text[words[start].start() : words[start + self.size - 1].end()]

    def _of(self, word: str) -> frozenset[str]:
        """Return the question's terms in a word; words repeat, so they are remembered."""
        if word not in self._terms:
            self._terms[word] = frozenset(self.analyze(word)) & self.weights.keys()
        return self._terms[word]

    def _start(self, found: list[tuple[int, frozenset[str]]]) -> int:
        """Return the start of the best window, given the places of the words that have a weight."""
        best, start = 0.0, 0
        for first, (place, _) in enumerate(found):
            inside = [each for each in found[first:] if each[0] < place + self.size]
            held = frozenset().union(*(terms for _, terms in inside))
            value = sum(weight for term, weight in self.weights.items() if term in held)
            if value > best:
                slack = self.size - (inside[-1][0] - place + 1)
                best, start = value, max(0, place - slack // 2)
        return start
