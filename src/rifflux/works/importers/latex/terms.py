"""The terms of a definition: the words that its author emphasized."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rifflux.text.analyzer import fold
from rifflux.text.notation import one_notation

#: The kind of works and passages that define something.
DEFINITION = "definition"

_SET_APART = re.compile(
    r"\{\s*\\(?:it|em|bf|sl|itshape|bfseries)\b\s*((?:[^{}]|\{[^{}]*\})+)\}"
    r"|\\(?:emph|textit|textbf|textsl|defn|dfn|term)\s*\{((?:[^{}]|\{[^{}]*\})+)\}"
)
#: Longer emphasis is a sentence rather than a term.
MOST_WORDS = 7
_STRESSED = frozenset(
    {"not", "and", "or", "if", "only", "any", "every", "all", "some", "unique", "the", "a", "same", "both"}
)


def defined_terms(text: str) -> Iterator[str]:
    """Yield the emphasized terms of a definition, `{\\it flat}` or `\\emph{flat}`, as distinct plain words."""
    seen = set()
    for match in _SET_APART.finditer(text):
        term = " ".join(one_notation(match[1] or match[2]).split()).strip(" .,;:")
        words = fold(term).split()
        if words and len(words) <= MOST_WORDS and not _STRESSED.issuperset(words) and term not in seen:
            seen.add(term)
            yield term
