"""Cut a passage into blocks: what a reader would copy as an answer, with its context.

A block is a paragraph, a definition with its term, an item, a list with its introduction, code with the line before it,
a table row with its header, or a short section as a whole. Blocks overlap, and ranking chooses between them. Text from
web pages and PDF has no markup left, so lines are classified by their form: a single line that does not end like a
sentence and precedes text is a term or a heading.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, dropwhile, groupby, pairwise, takewhile
from textwrap import dedent

from rifflux.text.sentences import PROSE as SENTENCE
from rifflux.text.sentences import fence_open_at_start, flowing, pieces
from rifflux.text.turns import TurnLead, turns
from rifflux.types import Span

#: The kinds of units.
HEADING = "heading"
TERM = "term"
PROSE = "prose"
ITEM = "item"
CODE = "code"
ROW = "row"
TURN = "turn"
REMARK = "remark"
#: A term with its description.
DEFINITION = "definition"
#: The kinds of blocks whose parts are blocks, too.
LIST = "list"
TABLE = "table"
#: The maximum characters of a block of several units, and of a paragraph that is quoted whole.
LONGEST = 900
LONGEST_PARAGRAPH = 600
#: The maximum characters of a run of sentences in a longer paragraph.
RUN = 400
#: The maximum characters of a line that the indented lines below it describe.
LONGEST_TERM = 80
#: A paragraph of an item may be indented by this much; beyond that it is code.
OF_ITEM = 4
#: The maximum number of paragraphs between two numbered items of one list.
BETWEEN = 2
#: The maximum characters of a block that is quoted with its surroundings, and of a list that is quoted whole. A longer
#: list is shortened to about `SHORTENED` characters: of each item the beginning is quoted, at least `LEAST_OF_ITEM`.
GROWN = 380
LONGEST_EXCHANGE = 700
LONGEST_LIST = 700
SHORTENED = 450
LEAST_OF_ITEM = 40
#: What stands in place of text that is left out.
CUT = " …"

_FENCE = re.compile(r"\s{0,3}(```+|~~~+)\s*([\w+-]*)")
_HASHES = re.compile(r"\s{0,3}#{1,6}\s+\S")
#: An underline that makes the line above it a heading, in Markdown or reStructuredText.
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{2,}|([+~^\"'`#*.:_])\1+)\s*\Z")
_BULLET = re.compile(r"\s*(?::\s+)?(?:[-*+•–]|\d{1,3}[.)])\s+(?=\S)")
#: The first cell of a row that is written as a list in an item, and what stands before the others.
_CELL = re.compile(r"\s*[-*+•]\s+(?=[-*+•]\s)")
_CELLS = re.compile(r"(?:\A|\n)\s*[-*+•]\s+")
_ENDS = re.compile(r"[.!?:;,…。！？][\"'”’»)\]*_`]*\s*\Z")
_LEADS = re.compile(r"[:：][\"'”’»)\]*_`]*\s*\Z")
#: A key with its value on one line.
_VALUED = re.compile(r"\s*[^\W\d][^:：]*[:：]\s+\S")
#: What introduces code in reStructuredText, and follows the name of a directive.
_DOUBLE_COLON = re.compile(r"\s*::(?=\s|\Z)")
_ASKS = re.compile(r"[?？][\"'”’»)\]*_`]*\s*\Z")
_PROMPT = re.compile(r"\s*(?:\$|%|>>>|C:\\>)\s+\S")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
#: Lines without content: rules, bare comments and tags, link definitions, directives, images, and links between pages.
_SILENT = re.compile(
    r"\s*(?:(?:[-=_*]\s*){3,}|([+~^\"'`#.:])\1{2,}|(?:<!--.*?-->|</?[a-zA-Z][^<>]*>|\s)+"
    r"|(?:\[[^\[\]]+\](?:\([^()]*\))?\s*)+(?:\|\s*(?:\[[^\[\]]+\](?:\([^()]*\))?\s*)+)+"
    r"|\[[^\[\]]+\]:\s*\S+.*|\{\{.*\}\}|\{%.*%\}|:::.*|!\[[^\[\]]*\]\S*|\[![\w-]+\].*)?\s*"
)
#: The metadata at the beginning of a file.
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n|-[ \t].*\n|\n)+?---[ \t]*(?:\n|\Z)")
#: The number and title of a figure, table or example.
_CAPTION = re.compile(r"[^\W\d]+ \d+(?:[.-]\d+)+[.:] \S")
_NUMBERED = re.compile(r"\s*\d{1,3}[.)]\s")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
#: What precedes a description in Markdown.
_DESCRIBES = re.compile(r"\A\s*:\s+")
_RULE_OF_TABLE = re.compile(r"[\s|:+-]+\Z")
_IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_LINK = re.compile(r"\[([^\[\]]+)\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|\[[^\[\]]*\])")
#: Directives of reStructuredText: their argument is a term that their body describes, except where it is code.
_DIRECTIVE = re.compile(r"\s*\.\. ([\w:-]+)::(?:\s+(.*))?")
_LITERAL = re.compile(r".*code.*|.*literal|prompt|console.*|math|graphviz|doctest|productionlist", re.IGNORECASE)
#: Directives that only build a page, and labels and comments.
_BUILDING = re.compile(
    r"(?:literal)?include|image|figure|contents|toctree|(?:current)?module|index|highlight|raw|only|auto\w+|role|meta"
)
_LABEL = re.compile(r"\s*\.\.(?:\s(?![\w:-]+::).*)?")
_OPTION = re.compile(r"\s*:[\w-]+:(?:\s.*)?")
#: A field with an argument, such as `:param size:`: a term that the rest of the line and its body describe.
_FIELD = re.compile(r"\s*:([a-z]+ [^:`]+):(?:\s+(\S.*))?")
#: An admonition, a fold or a tab of Python-Markdown: its title is a term that the indented lines below it describe.
_ADMONITION = re.compile(r"""\s*(?:(?:!!!|\?{3}\+?)\s+[\w-]+(?:[ \t]+[\w-]+)*|={3}[!+]*(?=\s+"))(?:\s+"([^"]*)")?\s*""")
_ROLE = re.compile(
    r":[\w:+.-]+:`(?:~?[\w.]*\.)?([^`<]*?)(?:\s*<[^`>]*>)?`|(?<!\w)`([^`<>]+?)(?:\s*<[^`>]*>)?`__?(?!\w)"
)
_PAGE_LINK = re.compile(r"\[\[(?:[^\[\]|]+\|)?([^\[\]|]+)\]\]")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unit:
    """A paragraph, an item, a term, a row or a piece of code, as a span of the text."""

    kind: str
    span: Span


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """Units that belong together: their `span` in the passage, and the `text` to quote, in Markdown.

    The text may begin with a unit from further up, such as a term or the header of a table.
    """

    kind: str
    span: Span
    text: str
    is_plain: bool = False


def blocks(
    text: str, headings: Collection[str] = (), *, code: bool = False, lead: TurnLead | None = None
) -> list[AnswerBlock]:
    """Return the blocks of a passage in order, without `headings`; `code` is one block.

    `lead` describes how the turns of a conversation begin.
    """
    if code:
        body = text.strip("\n")
        return [AnswerBlock(CODE, (0, len(text)), f"```\n{body}\n```")] if body.strip() else []
    found: dict[tuple[Span, str], AnswerBlock] = {}
    for is_heading, group in groupby(units(text, headings, lead), lambda unit: unit.kind == HEADING):
        if not is_heading:
            for block in _section(text, list(group), lead):
                if re.search(r"[^\W_]", block.text):
                    found.setdefault((block.span, block.text), block)
    return sorted(found.values(), key=lambda block: block.span)


def grown(
    text: str,
    block: AnswerBlock,
    headings: Collection[str] = (),
    *,
    lead: TurnLead | None = None,
    longest: int = GROWN,
) -> AnswerBlock:
    """Return a block with what follows it in its section, then with what precedes it, within `longest` characters.

    The value, the command or the exception often stands in the next sentence.
    """
    for is_heading, group in groupby(units(text, headings, lead), lambda unit: unit.kind == HEADING):
        own = list(group)
        turn = next((unit for unit in own if unit.kind == TURN and _contains(unit.span, block.span)), None)
        if turn and turn.span != block.span:
            own = _turn_units(text, turn, lead)[1]
        inside = [place for place, unit in enumerate(own) if _contains(block.span, unit.span)]
        if is_heading or not inside:
            continue
        return _grown(text, block, own, inside[0], inside[-1], longest)
    return block


def _grown(text: str, block: AnswerBlock, own: Sequence[Unit], first: int, last: int, longest: int) -> AnswerBlock:
    before = block.text.removesuffix(_rendered(text, own[first : last + 1]))
    if before == block.text:
        return block
    start, end = first, last
    if own[first].kind == ROW:
        while start and own[start - 1].kind == ROW:
            start -= 1
        while end + 1 < len(own) and own[end + 1].kind == ROW:
            end += 1
        if len(_rendered(text, own[start : end + 1])) > longest:
            return block
        before = ""
    while end + 1 < len(own) and own[end + 1].kind != TERM:
        if len(before) + len(_rendered(text, own[start : end + 2])) > longest:
            break
        end += 1
    while end > last and own[end].kind != CODE and _LEADS.search(_of(text, own[end])):
        end -= 1
    is_exchange = end + 1 < len(own) and own[end].kind == own[end + 1].kind == TURN
    if is_exchange and len(_rendered(text, own[start : end + 2])) <= LONGEST_EXCHANGE:
        end += 1  # What is said answers what was said before it.
    while end + 1 < len(own) and _is_question(text, own[end]) and own[end + 1].kind == TURN:
        end += 1  # A question is quoted with its answer, whatever the length.
    while start and not before and TERM not in (own[start - 1].kind, own[start].kind):
        if len(_rendered(text, own[start - 1 : end + 1])) > longest:
            break
        start -= 1
    if start < first and _LEADS.search(_of(text, own[start])) and own[start + 1].kind == ITEM:
        behind = _behind_list(text, own, start + 1)
        if len(_rendered(text, own[start:behind])) <= LONGEST_LIST:
            end = max(end, behind - 1)  # What introduces a list announces all of it.
    if end > last and own[end].kind == ITEM and end + 1 < len(own) and own[end + 1].kind == ITEM:
        listed = _with_list(text, before, own, start, end)
        if block.kind == ITEM and CUT in listed.text:
            return block
        return with_whole_items(listed, [block.text])
    if (start, end) == (first, last):
        return block
    span = (own[start].span[0], own[end].span[1])
    return AnswerBlock(block.kind, span, before + _rendered(text, own[start : end + 1]))


def _with_list(text: str, before: str, own: Sequence[Unit], start: int, end: int) -> AnswerBlock:
    """Return units up to a list, and the list, of which `end` is not the last item."""
    place = end
    while place > start and own[place - 1].kind == ITEM:
        place -= 1
    behind = _behind_list(text, own, place)
    introduction = own[place - 1 : place] if place > start else []
    listed = _listed(text, introduction, [[unit] for unit in own[place:behind] if unit.kind == ITEM])
    above = before + _rendered(text, own[start : place - len(introduction)])
    span = (own[start].span[0], listed.span[1])
    return AnswerBlock(listed.kind, span, f"{above}\n\n{listed.text}".strip())


def _contains(outer: Span, inner: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _section(text: str, own: Sequence[Unit], lead: TurnLead | None = None) -> Iterator[AnswerBlock]:
    """Yield the blocks of a section."""
    if any(unit.kind == TURN for unit in own):
        yield from _turns(text, own, lead)
        return
    kinds = [unit.kind for unit in own]
    if len(own) > 1 and own[-1].span[1] - own[0].span[0] <= LONGEST and TERM not in kinds[1:] and kinds != [TERM]:
        yield _block("section", text, own)
    term: list[Unit] = []
    listed = 0
    for place, unit in enumerate(own):
        before = own[place - 1] if place else None
        if unit.kind == TERM:
            term = [*term, unit] if before and before.kind == TERM else [unit]
            continue
        following = own[place + 1 : place + 2]
        first = before is not None and before.kind == TERM
        leads = bool(_LEADS.search(_of(text, unit)))
        asks = bool(_ASKS.search(_of(text, unit)))
        if unit.kind == PROSE and following and following[0].kind == TERM and (leads or before is None):
            introduced = [*_terms(text, term if first else (), own[place:])]
            yield from introduced
            if leads and introduced:
                continue
        if first:
            yield from _definition(text, term, own[place:])
        if unit.kind == ROW:
            yield from _table(text, own, place)
            continue
        if unit.kind == ITEM and place >= listed:
            listed = _behind_list(text, own, place)
            yield from _list(text, own, place, listed)
        if unit.kind == CODE and before and before.kind in (PROSE, ITEM):
            yield _block(CODE, text, [*(term if _is_near(text, term, before) else ()), before, unit])
            continue
        if unit.kind == PROSE and following and following[0].kind == ITEM:
            continue  # it introduces the list, and is quoted with that
        is_lead = unit.kind == PROSE or (unit.kind == ITEM and following and following[0].kind != ITEM)
        if is_lead and (leads or (asks and following)):
            if following and following[0].kind != ROW:
                yield _block("led", text, own[place : _behind_led(own, place)])
            continue
        if unit.kind == ITEM and leads and following:
            yield _block(LIST, text, own[place : _behind_leading_item(text, own, place)])
            continue
        if not first:
            yield from _paragraph(text, term, unit)


def _behind_led(own: Sequence[Unit], place: int) -> int:
    """Return the place after what a unit leads to: the next one, or terms with their descriptions."""
    last = place + 2
    if own[place + 1].kind == TERM:
        start = own[place].span[0]
        last += len([*takewhile(lambda unit: unit.span[1] - start <= LONGEST_LIST, own[last:])])
        while place + 2 < last < len(own) and own[last - 1].kind == TERM:
            last -= 1
    return last


def _behind_leading_item(text: str, own: Sequence[Unit], place: int) -> int:
    """Return the place after the items that an item leads to: those below it, or up to the next one that leads."""
    column = _column(text, own[place])
    below = _column(text, own[place + 1]) > column
    last = place + 1
    while last < len(own) and own[last].kind == ITEM and own[last].span[1] - own[place].span[0] <= LONGEST_LIST:
        if _column(text, own[last]) <= column if below else _LEADS.search(_of(text, own[last])):
            break
        last += 1
    return max(last, place + 2)


def _turns(text: str, own: Sequence[Unit], lead: TurnLead | None) -> Iterator[AnswerBlock]:
    """Yield each turn alone, and with those that follow it up to the next question; of a long one, its blocks, too."""
    asks = [_is_question(text, unit) for unit in own]
    for place, unit in enumerate(own):
        if unit.kind != TURN:
            yield _block(unit.kind, text, [unit])
            continue
        inner: Sequence[Unit] = ()
        if unit.span[1] - unit.span[0] > RUN:
            speaker, inner = _turn_units(text, unit, lead)
        if len(inner) > 1:
            yield from (replace(block, text=f"{speaker}\n\n{block.text}") for block in _section(text, inner))
        else:
            yield _block(unit.kind, text, [unit])
        last = place + 1
        while last < len(own) and own[last].span[1] - unit.span[0] <= RUN:
            if asks[last] and not asks[last - 1] and last > place + 1:
                break
            last += 1
        while last < len(own) and asks[last - 1]:
            last += 1
        if last > place + 1:
            yield _block(TURN, text, own[place:last])


def _turn_units(text: str, turn: Unit, lead: TurnLead | None) -> tuple[str, list[Unit]]:
    """Return the lead of a turn, and the units of its text."""
    start, end = turn.span
    written = lead.lead_of(text[start:end].partition("\n")[0]) if lead else ""
    start += len(written)
    inner = [Unit(unit.kind, (start + unit.span[0], start + unit.span[1])) for unit in units(text[start:end])]
    return _clean(written), inner


def _is_question(text: str, unit: Unit) -> bool:
    """Return True for a turn that ends with a question."""
    return unit.kind == TURN and bool(_ASKS.search(_of(text, unit)))


def _definition(text: str, term: Sequence[Unit], rest: Sequence[Unit]) -> Iterator[AnswerBlock]:
    """Yield a term with its description, cut at the limit but with at least one unit."""
    last = 1
    while (
        last < len(rest)
        and rest[last].kind != TERM
        and (rest[last].span[1] - term[0].span[0] <= LONGEST or _LEADS.search(_of(text, rest[last - 1])))
    ):
        last += 1
    first = next((place for place in range(last) if rest[place].kind == ITEM), last)
    items = [*takewhile(lambda unit: unit.kind == ITEM, rest[first:])]
    if rest[0].span[1] - rest[0].span[0] > LONGEST and rest[0].kind == PROSE:
        yield from _paragraph(text, term, rest[0])
    elif first + len(items) > last:
        yield _listed(text, [*term, *rest[:first]], [[unit] for unit in items])
    else:
        yield _block(DEFINITION, text, [*term, *rest[:last]])
        if last > 1 and not _LEADS.search(_of(text, rest[0])):
            yield _block(DEFINITION, text, [*term, rest[0]])


def _behind_list(text: str, own: Sequence[Unit], place: int) -> int:
    """Return the place after a list, including what is indented below an item or stands between its steps.

    The steps of a procedure have commands and remarks between them: after a number, or after an item that leads to one.
    """
    column = _column(text, own[place])
    is_numbered = bool(_NUMBERED.match(_of(text, own[place])))
    last = behind = place
    while last < len(own):
        unit = own[last]
        follows = behind == last
        last += 1
        if unit.kind == ITEM:
            is_part = follows or bool(_NUMBERED.match(_of(text, unit))) == is_numbered
        else:
            is_part = follows and _column(text, unit) > column
        is_between = bool(_LEADS.search(_of(text, own[behind - 1]))) or (is_numbered and unit.kind in (CODE, PROSE))
        if is_part:
            behind = last
        elif not is_between or last - behind > BETWEEN:
            break
    return behind


def _column(text: str, unit: Unit) -> int:
    """Return the indentation of a unit."""
    start = unit.span[0]
    return start - text.rfind("\n", 0, start) - 1 + _indent(_of(text, unit))


def _list(text: str, own: Sequence[Unit], place: int, last: int) -> Iterator[AnswerBlock]:
    """Yield a list with its introduction, cut at the limit."""
    first = place
    if place and own[place - 1].kind in (PROSE, TERM):
        first = place - 1
    if any(unit.kind != ITEM for unit in own[place:last]):
        while last - place > 2 and own[last - 1].span[1] - own[first].span[0] > 2 * LONGEST:
            last -= 1
        yield _block(LIST, text, own[first:last])
    elif last - place > 1 or first < place:
        yield _listed(text, own[first:place], [[unit] for unit in own[place:last]])


def _terms(text: str, term: Sequence[Unit], own: Sequence[Unit]) -> Iterator[AnswerBlock]:
    """Yield a paragraph, below its own term, with the terms that it introduces, each with its description."""
    described = [[first, second] for first, second in pairwise(own) if first.kind == TERM and second.kind == PROSE]
    if len(described) > 1 and " " in _of(text, own[0]).strip():
        yield _listed(text, [*term[-1:], own[0]], described)


def _listed(text: str, introduction: Sequence[Unit], items: Sequence[Sequence[Unit]]) -> AnswerBlock:
    """Return a list; if it is long, with the beginning of each item."""
    own = [*introduction, *chain.from_iterable(items)]
    span = (own[0].span[0], own[-1].span[1])
    whole = _rendered(text, own)
    if len(whole) <= LONGEST_LIST and items[0][0].kind != TERM:
        return AnswerBlock(LIST, span, whole)
    above = _rendered(text, introduction)
    left = max(LEAST_OF_ITEM, (SHORTENED - len(above)) // len(items))
    lines = [_beginning(_item(text, item), left) for item in items]
    return AnswerBlock(LIST, span, "\n\n".join(filter(None, (above, "\n".join(lines)))))


def with_whole_items(block: AnswerBlock, items: Iterable[str]) -> AnswerBlock:
    """Return a list in which these items are whole, as far as it stays within `LONGEST_LIST` characters."""
    lines = block.text.split("\n")
    for item in items:
        term, _, description = item.partition("\n\n")
        for place, line in enumerate(lines):
            whole = f"- {term}: {description}" if line.startswith(f"- {term}: ") else item
            is_cut = line.endswith(CUT) and whole.startswith(line.removesuffix(CUT))
            if is_cut and len(block.text) + len(whole) - len(line) <= LONGEST_LIST:
                lines[place] = whole
                block = replace(block, text="\n".join(lines))
    return block


def _item(text: str, units: Sequence[Unit]) -> str:
    """Return an item on one line; of a term with its description, both."""
    if units[0].kind != TERM:
        return _rendered(text, units)
    term, description = units
    return f"- {_rendered(text, [term])}: {_rendered(text, [description])}"


def _beginning(text: str, longest: int) -> str:
    """Return the beginning of a text: whole sentences if any fit, or else whole words."""
    if len(text) <= longest:
        return text
    ends = [piece.span[1] for piece in pieces(text) if LEAST_OF_ITEM <= piece.span[1] <= longest]
    end = ends[-1] if ends else text.rfind(" ", 0, longest)
    return text[: max(end, 1)].rstrip() + CUT


def _table(text: str, own: Sequence[Unit], place: int) -> Iterator[AnswerBlock]:
    """Yield a table row with the header; at the header, the whole table if it is short."""
    first = place
    while first and own[first - 1].kind == ROW:
        first -= 1
    if first < place:
        if _RULE_OF_TABLE.match(_of(text, own[place])):
            return
        header = _of(text, own[first])
        rule = "\n" + re.sub(r"[^|]+", " --- ", header.strip()) if header.strip().startswith("|") else ""
        yield AnswerBlock(ROW, own[place].span, f"{header}{rule}\n{_of(text, own[place])}")
        return
    last = place
    while last < len(own) and own[last].kind == ROW:
        last += 1
    if own[last - 1].span[1] - own[first].span[0] <= LONGEST:
        lead = [own[first - 1]] if first and own[first - 1].kind in (PROSE, TERM) else []
        yield _block(TABLE, text, [*lead, *own[first:last]])


def _paragraph(text: str, term: Sequence[Unit], unit: Unit) -> Iterator[AnswerBlock]:
    """Yield a unit, or runs of sentences of a long paragraph, each with the term that it describes."""
    start, end = unit.span
    above = f"{_rendered(text, term[-1:])}\n\n" if term and unit.kind != ITEM else ""
    if unit.kind != PROSE or end - start <= LONGEST_PARAGRAPH:
        rendered = _rendered(text, [unit])
        yield AnswerBlock(unit.kind, unit.span, above + rendered, is_plain=not above)
        return
    sentences = [piece.span for piece in pieces(text[start:end]) if piece.kind == SENTENCE]
    first = 0
    for place, (_, right) in enumerate(sentences):
        following = sentences[place + 1 : place + 2]
        if following and following[0][1] - sentences[first][0] <= RUN:
            continue
        run = (start + sentences[first][0], start + right)
        yield AnswerBlock(PROSE, run, above + _clean(flowing(text[slice(*run)])), is_plain=not above)
        first = place + 1


def _block(kind: str, text: str, own: Sequence[Unit]) -> AnswerBlock:
    return AnswerBlock(kind, (own[0].span[0], own[-1].span[1]), _rendered(text, own))


def _is_near(text: str, term: Sequence[Unit], unit: Unit) -> bool:
    return bool(term) and not text[term[-1].span[1] : unit.span[0]].strip()


def _of(text: str, unit: Unit) -> str:
    return text[slice(*unit.span)]


def _rendered(text: str, own: Sequence[Unit]) -> str:
    """Return units as quoted: prose on one line, code between fences, rows and items on lines of their own."""
    parts: list[str] = []
    for before, unit in pairwise((None, *own)):
        assert unit
        written = _of(text, unit)
        if unit.kind == CODE:
            indent = text[text.rfind("\n", 0, unit.span[0]) + 1 : unit.span[0]]
            if not indent.strip():
                written = dedent(indent + written)
            if not _FENCE.match(written):
                written = f"```\n{written}\n```"
        elif unit.kind == PROSE and "\n" in written and not _ENDS.search(written):
            written = "\n".join(_clean(flowing(line)) for line in written.splitlines())
        elif unit.kind == TURN and "\n" in written:
            written = _rendered(written, units(written))
        elif unit.kind == ITEM and (row := _CELL.match(written)):
            written = "- " + " | ".join(_clean(flowing(cell)) for cell in _CELLS.split(written[row.end() :])[1:])
        elif unit.kind != ROW:
            written = _clean(flowing(written))
        if parts and before:
            tight = unit.kind == before.kind and unit.kind in (ITEM, ROW)
            parts.append("\n" if tight else "\n\n")
        parts.append(written)
    return "".join(parts).strip()


def _clean(text: str) -> str:
    """Return prose without links, images and page markup, except in code, where they are what the text is about."""
    text = _ROLE.sub(r"\1\2", _DESCRIBES.sub("", text))
    for pattern, replacement in ((_IMAGE, ""), (_PAGE_LINK, r"\1"), (_DOUBLE_COLON, ":"), (_LINK, r"\1")):
        text = _replaced_outside_code(pattern, replacement, text)
    return text.strip()


def _replaced_outside_code(pattern: re.Pattern[str], replacement: str, text: str) -> str:
    code = [span.span() for span in _CODE_SPAN.finditer(text)]

    def replaced(found: re.Match[str]) -> str:
        if any(start <= found.start() < end for start, end in code):
            return found[0]
        return found.expand(replacement)

    return pattern.sub(replaced, text)


# What each line is


def units(text: str, headings: Collection[str] = (), lead: TurnLead | None = None) -> list[Unit]:
    """Return the units of a text in order; a line that equals one of `headings` is a heading.

    `lead` describes how the turns of a conversation begin.
    """
    if lead and (spans := turns(text, lead)):
        return [*units(text[: spans[0][0]], headings), *(Unit(TURN, span) for span in spans)]
    lines = _lines(text)
    found = [
        Unit(HEADING, unit.span) if unit.kind == PROSE and _of(text, unit) in headings else unit
        for unit in _units(text, lines)
    ]
    return _settled(text, [unit for unit in found if unit.kind != PROSE or not _CAPTION.match(_of(text, unit))])


def _lines(text: str) -> list[Span]:
    found: list[Span] = []
    start = 0
    for line in text.splitlines(keepends=True):
        found.append((start, start + len(line.rstrip())))
        start += len(line)
    return found


def _units(text: str, lines: Sequence[Span]) -> Iterator[Unit]:
    place = 0
    comment = [match.span() for match in _COMMENT.finditer(text)]
    if front := _FRONT_MATTER.match(text):
        comment.append(front.span())
    written = [_of_line(text, line) for line in lines]
    if fence_at_start := fence_open_at_start(written):
        place = next(at for at, line in enumerate(written) if line.strip() == fence_at_start)
        if any(written[:place]):
            yield Unit(CODE, (lines[0][0], lines[place - 1][1]))
        place += 1
    while place < len(lines):
        start, end = lines[place]
        line = text[start:end]
        if any(first <= start < last for first, last in comment):
            place += 1
        elif fence := _FENCE.match(line):
            closing = next(
                (at for at in range(place + 1, len(lines)) if text[slice(*lines[at])].strip() == fence[1]), None
            )
            if closing is None:
                if any(written[place + 1 :]):
                    yield Unit(CODE, (lines[place + 1][0], lines[-1][1]))
                return
            if closing > place + 1:
                yield Unit(CODE, (start, lines[closing][1]))
            place = closing + 1
        elif _HASHES.match(line):
            yield Unit(HEADING, (start, end))
            place += 1
        elif _LABEL.fullmatch(line):
            place = _behind_body(text, lines, place)
        elif directive := _DIRECTIVE.fullmatch(line):
            behind = _behind_body(text, lines, place)
            yield from _directive_units(text, lines[place:behind], directive)
            place = behind
        elif field := _FIELD.fullmatch(line):
            behind = _behind_body(text, lines, place)
            yield Unit(TERM, (start + field.start(1), start + field.end(1)))
            first = [(start + field.start(2), end)] if field[2] else []
            yield from _body_units(text, lines[place + 1 : behind], first)
            place = behind
        elif admonition := _ADMONITION.fullmatch(line):
            behind = _behind_body(text, lines, place)
            if admonition[1]:
                yield Unit(TERM, (start + admonition.start(1), start + admonition.end(1)))
            yield from _body_units(text, lines[place + 1 : behind])
            if admonition[1]:
                yield Unit(HEADING, (end, end))
            place = behind
        elif _SILENT.fullmatch(line):
            place += 1
        else:
            last = place
            while last + 1 < len(lines) and not _parts(text[slice(*lines[last + 1])]):
                last += 1
            if last + 1 < len(lines) and last == place and _is_underline(line, _of_line(text, lines[last + 1])):
                yield Unit(HEADING, (start, end))
                place += 2
                continue
            yield from _paragraph_units(text, lines[place : last + 1])
            place = last + 1


def _is_underline(title: str, line: str) -> bool:
    """Return True if a line makes the one above a heading; in reStructuredText it is at least as long."""
    found = _UNDERLINE.match(line)
    return bool(found and (not found[1] or len(line.strip()) >= len(title.strip())))


def _behind_body(text: str, lines: Sequence[Span], place: int) -> int:
    """Return the place after the lines that are indented below a line."""
    start, end = lines[place]
    indent = _indent(text[start:end])
    place += 1
    while place < len(lines) and (not _of_line(text, lines[place]) or _indent(_of_line(text, lines[place])) > indent):
        place += 1
    return place


def _directive_units(text: str, lines: Sequence[Span], directive: re.Match[str]) -> Iterator[Unit]:
    """Yield the units of a directive: its argument as a term, then the body that describes it.

    An argument that is not a name, such as that of `versionadded`, begins a remark on the text above.
    """
    name = directive[1]
    if _BUILDING.fullmatch(name):
        return
    body = [*dropwhile(lambda line: not _of_line(text, line) or _OPTION.fullmatch(_of_line(text, line)), lines[1:])]
    while body and not _of_line(text, body[-1]):
        body.pop()
    if _LITERAL.fullmatch(name):
        if body:
            yield Unit(CODE, (body[0][0], body[-1][1]))
        return
    start = lines[0][0]
    if directive[2] and directive[2][0].isalpha():
        yield Unit(TERM, (start + directive.start(2), start + directive.end(2)))
    elif directive[2]:
        yield Unit(REMARK, (start + directive.start(1), body[-1][1] if body else start + directive.end(2)))
        return
    yield from _body_units(text, body)


def _body_units(text: str, lines: Sequence[Span], first: Sequence[Span] = ()) -> Iterator[Unit]:
    """Yield the units of indented lines as if they were not indented, after a `first` one that is not."""
    least = min((_indent(_of_line(text, line)) for line in lines if _of_line(text, line)), default=0)
    body = [*first, *((min(start + least, end), end) for start, end in lines)]
    if any(_of_line(text, line) for line in body):
        yield from _units(text, body)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _of_line(text: str, line: Span) -> str:
    return text[slice(*line)]


def _parts(line: str) -> bool:
    """Return True if a line does not belong to the paragraph before it."""
    building = _SILENT.fullmatch(line) or _DIRECTIVE.fullmatch(line) or _ADMONITION.fullmatch(line)
    building = building or _FIELD.fullmatch(line)
    return bool(building or _HASHES.match(line) or _FENCE.match(line))


def _paragraph_units(text: str, lines: Sequence[Span]) -> Iterator[Unit]:
    """Yield the units of consecutive lines that are not blank."""
    written = [text[slice(*line)] for line in lines]
    bars = [line.count("|") for line in written]
    if written[0].lstrip().startswith("|") and not all(bars):
        yield from _boxed(text, lines)
        return
    if written[0].lstrip().startswith("|") or (len(lines) > 1 and bars[0] and len(set(bars)) == 1):
        yield from (Unit(ROW, line) for line in lines)
        return
    if len(lines) > 1 and _DESCRIBES.match(written[1]) and _is_term(written[0]):
        yield Unit(TERM, lines[0])
        lines = lines[1:]
        written = written[1:]
    elif _is_described_line(written):
        yield Unit(TERM, lines[0])
        yield from _body_units(text, lines[1:])
        return
    first = 0
    for place in range(1, len(lines) + 1):
        row = _CELL.match(written[first])
        if row and place < len(lines) and _indent(written[place]) == row.end():
            continue
        if place == len(lines) or _BULLET.match(written[place]) or _DESCRIBES.match(written[place]):
            span = (lines[first][0], lines[place - 1][1])
            if _BULLET.match(written[first]):
                yield Unit(ITEM, span)
            elif _is_code(written[first:place]):
                yield Unit(CODE, span)
            else:
                yield Unit(PROSE, span)
            first = place


def _boxed(text: str, lines: Sequence[Span]) -> Iterator[Unit]:
    """Yield the remarks of a box, a table for layout: its rows have one cell each. A word alone is its label."""
    for start, end in lines:
        cell = text[start:end].strip(" |")
        if " " in cell:
            first = text.index(cell, start)
            yield Unit(REMARK, (first, first + len(cell)))


def _is_described_line(lines: Sequence[str]) -> bool:
    """Return True for a term with indented sentences directly below it."""
    first = lines[0]
    if len(lines) < 2 or not _is_term(first):
        return False
    below = min(_indent(line) for line in lines[1:])
    return below >= _indent(first) + 2 and bool(_ENDS.search(lines[-1])) and not _is_code(lines)


def _is_term(line: str) -> bool:
    """Return True for a short line that does not end like a sentence."""
    return len(line) <= LONGEST_TERM and not _BULLET.match(line) and not (_ENDS.search(line) and " " in line)


def _is_code(lines: Sequence[str]) -> bool:
    """Return True for lines that are all indented, begin with a prompt, or do not end like a sentence."""
    if all(_INDENTED.match(line) for line in lines) or _PROMPT.match(lines[0]):
        return True
    inside = [line for line in lines[1:] if line.startswith(("  ", "\t"))]
    return len(lines) > 1 and bool(inside) and not _ENDS.search(lines[-1])


def _is_complete(written: str) -> bool:
    """Return True for several lines, a sentence, or a key with its value: none of them is a term."""
    return "\n" in written or bool(_ENDS.search(written) or _VALUED.match(written))


def _settled(text: str, found: Sequence[Unit]) -> list[Unit]:
    """Return units with kinds corrected by their neighbours: a line that does not end like a sentence is a term.

    It is code if a line ending in a colon precedes it and the text after it continues that sentence. Before code it
    is an introduction.
    """
    settled: list[Unit] = []
    item: Unit | None = None
    for place, unit in enumerate(found):
        kind = unit.kind
        written = _of(text, unit)
        if kind == ITEM:
            item = unit
        elif item and _column(text, unit) <= _column(text, item):
            item = None
        if kind == CODE and item and _column(text, unit) <= _column(text, item) + OF_ITEM and _ENDS.search(written):
            kind = PROSE
        if kind == PROSE and not item and not _is_complete(written):
            following = found[place + 1] if place + 1 < len(found) else None
            led = bool(settled) and settled[-1].kind == PROSE and bool(_LEADS.search(_of(text, settled[-1])))
            if following is None:
                kind = CODE if led else PROSE
            elif led and _of(text, following)[:1].islower() and not _is_described(text, found[place + 2 : place + 4]):
                kind = CODE
            elif following.kind not in (HEADING, CODE, REMARK):
                kind = TERM
        settled.append(Unit(kind, unit.span))
    return settled


def _is_described(text: str, following: Sequence[Unit]) -> bool:
    """Return True for another line that does not end like a sentence, with text behind it."""
    return [unit.kind for unit in following] == [PROSE, PROSE] and not _is_complete(_of(text, following[0]))
