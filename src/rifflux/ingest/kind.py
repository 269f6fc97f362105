"""What kind of content a text is, where its source does not say: code, a message, or neither.

Ranking weighs words against meaning by kind (see `retrieve/fuse/weighted.py`), and records come without one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rifflux.types import Document

__all__ = ["CODE", "MESSAGE", "guess_kind"]

CODE = "code"
MESSAGE = "message"

#: Characters looked at: enough to tell, and no cost on a long text.
LOOKED_AT = 1000
#: Signs of code per 100 characters from which a text is code; prose with some names in it stays below.
CODE_SIGNS = 1.6

#: A sentence may hold a sign or two.
FEWEST_SIGNS = 3

_CODE = re.compile(
    r"""
      \b\w+\(                                   # a call
    | [=!<>]=|[-+*/|&]=|->|=>|::|&&|\|\||\+\+    # operators that prose has not
    | [;{}]\s*$                                 # ends of statements and blocks
    | ^\s*(?:def|class|return|import|from|func|fn|public|private|static|void|var|let|const|if|for|while|elif|else)\b
    | \w\.\w+\(                                 # a method
    | \b(?:self|this|None|null|nil|True|False|elif|endif|printf|println|struct|typedef|lambda)\b
    | \b\w+\s=\s                                # an assignment
    """,
    re.VERBOSE | re.MULTILINE,
)
_LATEX = re.compile(r"\\[A-Za-z]+\s*[{\[$_^]|\$[^$]+\$")
_SPOKEN = re.compile(r"\A[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,2}(?: \([^)]{1,40}\))?: \S")
_SPEAKERS = frozenset({"speaker", "role", "sender", "from", "user"})
_TALKS = frozenset({"conversation", "conversation_id", "channel", "thread", "thread_id", "dialog", "dialogue", "chat"})
_LONGEST_TURN = 1500


def guess_kind(document: Document) -> str:
    """`code`, `message`, or the kind the document has; only what its source left open is guessed."""
    if document.kind not in ("", "record"):
        return document.kind
    if _is_message(document.text, document.metadata):
        return MESSAGE
    return CODE if _is_code(document.text[:LOOKED_AT]) else document.kind


def _is_message(text: str, metadata: Mapping[str, object]) -> bool:
    if len(text) > _LONGEST_TURN:
        return False
    fields = {name.lower() for name in metadata}
    return bool(fields & _TALKS and fields & _SPEAKERS) or bool(_SPOKEN.match(text) and fields & (_TALKS | _SPEAKERS))


def _is_code(text: str) -> bool:
    if len(text) < 20 or _LATEX.search(text):
        return False
    signs = len(_CODE.findall(text))
    return signs >= FEWEST_SIGNS and 100 * signs / len(text) >= CODE_SIGNS
