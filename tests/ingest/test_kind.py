"""Code and messages are told from prose where their source does not say."""

import pytest

from rifflux.ingest.prepare import guess_kind
from rifflux.types import Document

CODE = '''def paste(xsel=False):
    """Returns system clipboard contents."""
    selection = "primary" if xsel else "clipboard"
    return subprocess.Popen(["xclip", "-o"], stdout=PIPE).communicate()[0].decode("utf-8")
'''
PROSE = "Alterations of the architecture of cerebral white matter in the developing brain (n = 17) can affect it."
LATEX = r"Let $F : \textit{Alg}_A \to \textit{Ab}$ be a functor(s). Then $F(B) = G(B)$ and $x == y$; see \ref{a}."


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        (Document("a", CODE), "code"),
        (Document("a", CODE, kind="record"), "code"),
        (Document("a", "for (int i = 0; i < n; i++) {\n  total += values[i];\n}\nreturn total;"), "code"),
        (Document("a", PROSE), ""),
        (Document("a", "C++ has templates; so has D; they differ."), ""),
        (Document("a", CODE, kind="text"), "text"),
        (Document("a", PROSE, kind="record"), "record"),
        (Document("a", LATEX), ""),
        (Document("a", ""), ""),
        (Document("a", "Hey Mel! How are you?", metadata={"speaker": "Ann", "conversation": "c1"}), "message"),
        (Document("a", "Ann: hey, how are you?", metadata={"channel": "general"}), "message"),
        (Document("a", "Note: the cache expires", metadata={"author": "Ann"}), ""),
        (Document("a", CODE, kind="markdown"), "markdown"),
    ],
)
def test_kinds(document: Document, kind: str) -> None:
    assert guess_kind(document) == kind
