"""The words of a heading without its inline markup."""

from __future__ import annotations

import re

__all__ = ["LONGEST_HEADING", "plain_heading", "shortened"]

#: A breadcrumb is cut behind this many characters; it is embedded with every chunk below it.
LONGEST_HEADING = 200

_LITERAL = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)|\\([!-/:-@\[-`{-~])")  # code, and escaped characters
_MARKUP = (
    (re.compile(r"[ \t]*\{[#.:][^{}\n]*\}[ \t]*$"), ""),  # {#anchor}
    (re.compile(r"!?\[\[([^\[\]|]*\|)?([^\[\]]+)\]\]"), r"\2"),  # [[target|words]]
    (re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"<((?:https?|mailto):[^<>\s]+)>"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->"), ""),
    (re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"(~~|==)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
)
_MARKED = re.compile(r"[`\[\]<>*_~=\\{]")
# Stands for a literal while the markup around it goes; the character means nothing in any text.
_HIDDEN = "\ufdd0"


def plain_heading(markup: str) -> str:
    """The heading as people read it: `` `code` `` without its ticks, links as their words, no emphasis."""
    markup = markup[: 4 * LONGEST_HEADING]
    if _MARKED.search(markup):
        literals = [literal[2] or literal[3] for literal in _LITERAL.finditer(markup)]
        markup = _LITERAL.sub(_HIDDEN, markup)
        for pattern, words in _MARKUP:
            markup = pattern.sub(words, markup)
        for literal in literals:
            markup = markup.replace(_HIDDEN, literal, 1)
    return shortened(" ".join(markup.split()))


def shortened(words: str) -> str:
    """The heading, cut between words where it is too long for a breadcrumb."""
    if len(words) <= LONGEST_HEADING:
        return words
    return words[:LONGEST_HEADING].rsplit(" ", 1)[0] + "…"
