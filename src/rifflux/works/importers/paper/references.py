"""The list of references of a paper: where each begins, and which work it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from rifflux.ingest.read.pdf_lines import Line
from rifflux.text.names import TITLE, whole_title
from rifflux.text.schemes import parse_identifier
from rifflux.types import Link
from rifflux.works.importers.paper.pages import Pages, block_text

#: Labels of a reference: `[12]`, `[Lam78]`, `12.`, `(12)`, or a bare number.
_LABELS = (
    re.compile(r"\[\s*(\d{1,3})\s*\](?:\s+|(?=[^\W\d_]))"),
    re.compile(r"\[((?=[^\[\]]*[^\W\d_])[^\[\]]{2,40})\]\s*"),
    re.compile(r"\(?(\d{1,3})[.)]\s*"),
    re.compile(r"(\d{1,3})\s+(?=[^\W\d_])"),
)
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>,;]+(?:[,;][^\s\"<>,;]+)*")
_ARXIV = re.compile(
    r"(?:arxiv(?:\.org/abs/|:)?|abs/)\s*((?:\d{4}\.\d{4,5})|(?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}))", re.IGNORECASE
)
_YEAR = re.compile(r"\b(1[6-9]\d\d|20\d\d)[a-z]?\b")
_QUOTED = re.compile(r"[“\"]\s*([^“”\"]{8,300}?)[,.;?!]?\s*[”\"]|‘‘\s*(.{8,300}?)[,.]?\s*’’|``\s*(.{8,300}?)[,.]?\s*''")
_DATED = re.compile(
    r"^(?P<who>.{4,400}?)[\s,.]*\(?\b(?:1[6-9]\d\d|20\d\d)[a-z]?(?:\)\s*[.,:]?|\s*[.,:])\s*(?P<rest>\S.*)$"
)
#: Initials and abbreviations whose stop does not end a sentence.
_INITIAL = re.compile(r"(?:^|[\s.\-(])(?:[^\W\d_]|[A-Z]{2,3})$")
_SHORT = re.compile(r"(?:^|[\s.\-(])(?:Jr|Sr|St|et al|eds?|Ed|vol|no|pp|vs|Proc|Conf|Int|Trans|J|Comm|Symp)$")
_COLON = re.compile(r"^(?P<who>[^:]{4,300}?[\s,.][^\W\d_]\.?)\s*:\s*(?P<rest>\S.*)$")
#: In font sizes: the maximum distance between lines of one reference.
_FARTHEST = 2.2
#: A list without labels ends at a gap if this share of its lines precedes it.
_MOSTLY = 0.6
#: The confidence of a citation by title.
BY_TITLE = 0.9
_TITLE_WORDS = 3
_SHORTEST = 15
_LONGEST = 250


def reference_texts(lines: Sequence[Line], pages: Pages) -> list[str]:
    """Return the references in lines, each as one text; empty if their beginnings cannot be recognized."""
    starts = _labelled(lines)
    if not starts:
        closed = _closed(lines)
        if len(closed) > _MOSTLY * len(lines):
            lines = closed
        starts = _hanging(lines) or _apart(lines, pages)
    if not starts:
        return []
    ends = [*starts[1:], len(lines)]
    items = (_closed(lines[start:end]) for start, end in zip(starts, ends, strict=True))
    texts = [block_text(item, pages.words) for item in items]
    return [text for text in texts if len(text) >= _SHORTEST]


def _closed(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines up to a gap, after which the reference or the list is over."""
    for place, (one, other) in enumerate(pairwise(lines), start=1):
        if (one.page, one.column) == (other.page, other.column) and one.y - other.y > _FARTHEST * other.size:
            return lines[:place]
    return lines


def _labelled(lines: Sequence[Line]) -> list[int]:
    """Return the indices of lines that begin with a label; numbers must be consecutive."""
    for label in _LABELS:
        found = [
            (place, match[1])
            for place, line in enumerate(lines)
            if (match := label.match(line.text.replace("\t", " ")))
        ]
        if label is not _LABELS[1]:
            found = _going_on([(place, int(number)) for place, number in found])
        if len(found) > 2 and found[0][0] <= 3:
            return [place for place, _ in found]
    return []


def _going_on(found: Sequence[tuple[int, int]]) -> list[tuple[int, str]]:
    numbered: list[tuple[int, str]] = []
    expected = 1
    for place, number in found:
        if number == expected or (numbered and expected < number <= expected + 1):
            numbered.append((place, str(number)))
            expected = number + 1
    return numbered


def _hanging(lines: Sequence[Line]) -> list[int]:
    """Return the indices of lines at the left edge where continuation lines are indented."""
    lefts: dict[tuple[int, int], float] = {}
    for line in lines:
        side = line.page % 2, line.column
        lefts[side] = min(line.x0, lefts.get(side, line.x0))
    edges = [lefts[line.page % 2, line.column] + 0.3 * line.size for line in lines]
    found = [place for place, (line, edge) in enumerate(zip(lines, edges, strict=True)) if line.x0 < edge]
    inside = len(lines) - len(found)
    is_hanging = len(found) > 2 and inside > 0.3 * len(found) and found[0] == 0
    if is_hanging and len(found) < 0.8 * len(lines):
        return found
    return []


def _apart(lines: Sequence[Line], pages: Pages) -> list[int]:
    """Return the indices of lines with a gap above."""
    steps: Counter[int] = Counter()
    gaps = [0.0]
    for one, other in pairwise(lines):
        is_near = (one.page, one.column) == (other.page, other.column) and one.y > other.y
        gaps.append(one.y - other.y if is_near else 0.0)
        steps[round(gaps[-1])] += is_near
    usual = min((step for step, number in steps.items() if number > 0.1 * len(lines)), default=0)
    found = [0, *(place for place, gap in enumerate(gaps) if usual and gap > 1.2 * usual)]
    if len(found) > 2:
        return found
    return []


# What a reference names


def link_of(reference: str) -> Link | None:
    """Return a link to the work that a reference names by DOI, arXiv number or title, or None."""
    if doi := _DOI.search(reference):
        known = parse_identifier(doi[0].rstrip(".)]}"))
        if known:
            return Link(str(known))
    if arxiv := _ARXIV.search(reference):
        known = parse_identifier(arxiv[1])
        if known:
            return Link(str(known))
    name = whole_title(title_of(reference))
    if name:
        return Link(f"{TITLE}:{name}", confidence=BY_TITLE)
    return None


def title_of(reference: str) -> str:
    """Return the title in a reference, found by quotation marks or after the authors; else an empty string."""
    text = reference
    for label in _LABELS[:3]:
        if label.match(text):
            text = label.sub("", text, count=1)
    quoted = _QUOTED.search(text)
    if quoted:
        return _title(next(filter(None, quoted.groups())))
    for pattern in (_COLON, _DATED):
        match = pattern.match(text)
        if match and _names(match["who"]) and (title := _title(_sentences(match["rest"])[0])):
            return title
    sentences = _sentences(text)
    if len(sentences) > 1 and _names(sentences[0]):
        return _title(sentences[1])
    return ""


def _sentences(text: str) -> list[str]:
    """Split a text at stops, except those of initials and abbreviations."""
    found = []
    start = 0
    for stop in re.finditer(r"[.?!]\s+(?=\S)", text):
        if text[stop.start()] == "." and _is_short(text[start : stop.start()], text[stop.end() :]):
            continue
        found.append(text[start : stop.start()].strip())
        start = stop.end()
    return [*found, text[start:].strip(" .")]


def _is_short(before: str, following: str) -> bool:
    """Return True if a stop belongs to an abbreviation, or to an initial followed by more of a name."""
    return bool(_SHORT.search(before) or (_INITIAL.search(before) and not _is_title(following)))


def _is_title(text: str) -> bool:
    """Return True if the text after an initial is a title: two lower-case words before the next stop or comma."""
    following = re.split(r"[.?!,;]", text)[0]
    small = [word for word in re.findall(r"[^\W\d_]+", following) if word.islower() and word not in _JOINING]
    return len(small) > 1


def _names(text: str) -> bool:
    """Return True if a text may be a list of people: few lower-case words."""
    words = re.findall(r"[^\W\d_]+", text)
    small = [word for word in words if word.islower() and word not in _JOINING]
    return bool(words) and len(small) <= 0.2 * len(words) and len(words) < 120


_JOINING = frozenset(
    [
        "and",
        "et",
        "al",
        "und",
        "van",
        "von",
        "der",
        "den",
        "de",
        "la",
        "le",
        "du",
        "di",
        "da",
        "dos",
        "del",
        "ed",
        "eds",
        "editor",
        "editors",
        "with",
    ]
)


def _title(text: str) -> str:
    """Return a text that may be a title, without the publication details after it; else an empty string."""
    text = re.split(
        r"(?:[.,]\s+|\s)(?:In:?\s+(?:Proc|[A-Z])|Proc(?:eedings)?\b|Technical Report|PhD thesis|Ph\.D)", text
    )[0]
    text = text.strip(" .,;:“”\"'")
    letters = sum(each.isalpha() for each in text)
    if not text[:1].isalnum() or letters < 0.75 * len(text.replace(" ", "")):
        return ""
    words = text.split()
    if len(words) >= _TITLE_WORDS and _SHORTEST <= len(text) <= _LONGEST:
        return text
    return ""
