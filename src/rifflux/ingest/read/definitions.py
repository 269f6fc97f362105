"""Detection of definitions in source code: by grammar if tree-sitter is installed, otherwise by indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

# Shorter classes read better whole than method by method.
_LONG = 30


@dataclass(frozen=True, slots=True)
class Definition:
    """A named definition, from its first line to its last (both from 0), and the definitions in it."""

    name: str
    first: int
    last: int
    children: tuple[Definition, ...] = ()


# By grammar

# Valid code takes a step for about 200 bytes.
_BYTES_PER_STEP = 40
_FREE_STEPS = 500
_READ = 1 << 16


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOUNS = _words(
    "class constructor contract data enum extension fun function impl instance interface macro method mod module "
    "namespace object protocol record struct subroutine trait type union"
)
_FORMS = _words("decl declaration definition item specifier statement")
_WHOLE = _words("class create_function create_table create_view data_type function method module singleton_method")
_CONTAINERS = _words(
    "class contract enum extension impl instance interface mod module namespace object protocol struct trait"
)
# Nodes around one definition, which belong to it, and nodes around many, which do not.
_WRAPPERS = _words("ambient_declaration decorated_definition export_statement statement template_declaration")
_GROUPS = _words("declarations linkage_specification preproc_else preproc_if preproc_ifdef declaration_list")
_NAME_HOLDERS = _words(
    "call_expression function_clause let_binding module_binding signature type_head type_spec variable_declarator"
)
_NOT = frozenset(["call", "import", "use", "using"])
_VARIABLES = frozenset(["lexical_declaration", "variable_declaration"])
_FIELDS = frozenset(["field_definition", "pair", "public_field_definition"])
_NAME_LIKE = re.compile(r"identifier|_name$|object_reference")
_FUNCTION_VALUES = frozenset(
    [
        "arrow_function",
        "class",
        "function",
        "function_expression",
        "generator_function",
        "generator_function_expression",
    ]
)
# Exported members and members of a prototype are called by their own name.
_GIVEN_AWAY = re.compile(r"\A(?:module\.)?exports(?:\.|\Z)|\bprototype\.")


def by_grammar(text: str, language: str) -> tuple[Definition, ...]:
    """Return the definitions that tree-sitter finds in `text`; none without the `code` extra or a grammar."""
    parser = _parser(language)
    if parser is None:
        return ()
    tree = _parsed(parser, text.encode("utf-8", "replace"))
    if tree is None:
        return ()
    return tuple(_found(tree.root_node))


def _parsed(parser: Parser, source: bytes) -> Tree | None:
    """Return the syntax tree, or None for text so unlike the language that parsing would take minutes.

    Parsing is limited by steps, not by time, so that the same text always has the same blocks.
    """
    steps = count()
    most = _FREE_STEPS + len(source) // _BYTES_PER_STEP
    try:
        return parser.parse(
            lambda offset, _: source[offset : offset + _READ], progress_callback=lambda *_: next(steps) > most
        )
    except ValueError:
        return None
    finally:
        parser.reset()


@cache
def _parser(language: str) -> Parser | None:
    if not language or find_spec("tree_sitter_language_pack") is None:
        return None
    from tree_sitter_language_pack import get_parser

    try:
        parser: Parser = get_parser(language)  # type: ignore[arg-type, unused-ignore]
        return parser
    except LookupError:
        return None


def _found(node: Node) -> Iterator[Definition]:
    """Yield the definitions directly in `node`, and in groups such as `#ifdef`."""
    for child in node.named_children:
        if child.type in _GROUPS:
            yield from _found(child)
        else:
            inner = _unwrapped(child)
            if inner is not None:
                yield _defined(inner, child)


def _unwrapped(node: Node) -> Node | None:
    """Return the definition that `node` is or wraps, or None."""
    if _defines(node):
        return node
    if node.type in _WRAPPERS:
        return next((inner for inner in (_unwrapped(each) for each in node.named_children) if inner is not None), None)
    return None


def _defines(node: Node) -> bool:
    if node.type in _WHOLE:
        return True
    if node.type == "expression_statement":
        return _assigned(node) is not None
    if node.type in _VARIABLES or node.type in _FIELDS:
        values = (each.child_by_field_name("value") for each in (node, *node.named_children))
        return any(value is not None and _is_defining(value) for value in values)
    words = set(node.type.split("_"))
    return bool(words & _NOUNS and words & _FORMS and not words & _NOT)


def _assigned(node: Node) -> tuple[Node, Node] | None:
    """Return the target and the function of an assignment statement; for `a = b.c = function`, `b.c` and that."""
    target = None
    if node.named_children:
        value = node.named_children[0]
    else:
        value = None
    while value is not None and value.type == "assignment_expression":
        target = value.child_by_field_name("left")
        value = value.child_by_field_name("right")
    if target is not None and value is not None and _is_defining(value):
        return (target, value)
    return None


def _is_defining(value: Node) -> bool:
    """Return True if a named value is a definition: a function, a class, or an object with methods."""
    return value.type in _FUNCTION_VALUES or (
        value.type == "object" and any(_defines(each) for each in value.named_children)
    )


def _objects(node: Node) -> Iterator[Node]:
    """Yield the objects that a statement assigns to a name."""
    assigned = _assigned(node) if node.type == "expression_statement" else None
    values = [assigned[1]] if assigned else [child.child_by_field_name("value") for child in node.named_children]
    yield from (value for value in values if value is not None and value.type == "object")


def _defined(node: Node, outer: Node) -> Definition:
    first = outer.start_point[0]
    last = outer.end_point[0]
    if outer.end_point[1] == 0 and last > first:  # it ends with a newline
        last -= 1
    children: tuple[Definition, ...] = ()
    if last - first >= _LONG and set(node.type.split("_")) & _CONTAINERS:
        children = tuple(each for body in node.named_children for each in _found(body))
    elif last - first >= _LONG and node.type in {*_VARIABLES, "expression_statement"}:
        children = tuple(each for body in _objects(node) for each in _found(body))
    return Definition(_name(node), first, last, children)


def _name(node: Node) -> str:
    """Return the name a reader would use: `Class`, `Type.method` for a Go receiver, the type of an `impl`."""
    if node.type == "expression_statement" and (assigned := _assigned(node)):
        own = assigned[1].child_by_field_name("name")
        return _called(_text(assigned[0])) or (_text(own) if own is not None else "")
    named = _name_node(node)
    words = _text(named) if named is not None else ""
    receiver = node.child_by_field_name("receiver")
    if receiver is not None:
        words = ".".join([*re.findall(r"\w+", _text(receiver).split("[")[0])[-1:], words])
    return " ".join(words.split())[:100]


def _called(target: str) -> str:
    """Return the name of an assignment's target: `send` for `exports.send`, `V.draw` for `V.prototype.draw`."""
    return " ".join(_GIVEN_AWAY.sub("", target).split())[:100]


def _name_node(node: Node) -> Node | None:
    declarator = node.child_by_field_name("declarator")
    if declarator is not None:  # C and its kin: `int *(name)(...)`
        while (inner := declarator.child_by_field_name("declarator")) is not None:
            declarator = inner
        return declarator
    for each in ("name", "property", "key", "type"):
        if (named := node.child_by_field_name(each)) is not None:
            return named
    holder = next((child for child in node.named_children if child.type in _NAME_HOLDERS), None)
    if holder is not None:
        return _name_node(holder)
    return next((child for child in node.named_children if _NAME_LIKE.search(child.type)), None)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


# By indentation

_MODIFIERS = (
    r"(?:(?:export|default|pub(?:\([^)\n]*\))?|public|private|protected|internal|static|final|abstract|async|unsafe"
    r"|extern|const|constexpr|override|open|sealed|data|inline|virtual|partial|local|declare|suspend|case)\s+)*"
)
_KEYWORDS = (
    r"(?P<word>class|struct|impl|interface|trait|enum|module|mod|namespace|object|protocol|extension|contract"
    r"|defmodule|def|defp|defmacro|function|func|fun|fn|type|record|union|sub|proc|macro|newtype|instance"
    r"|create(?:\s+or\s+replace)?\s+(?:table|view|function|procedure|trigger))\b"
)
_OPENING = re.compile(
    rf"[ \t]*{_MODIFIERS}(?:{_KEYWORDS}\s*\*?\s*(?:<[^<>\n]*>\s*)?(?:\([^()\n]*\)\s*)?"
    r"(?P<name>[\w$][\w$.:?!<>]*)"
    r"|(?:(?:const|let|var)\s+(?P<variable>[\w$]+)|(?P<member>[\w$]+(?:\.[\w$]+)+))\s*=\s*(?:async\s*)?"
    r"(?:function\b|\([^()\n]*\)\s*(?::[^=\n]+)?=>|\w+\s*=>)"
    # A C-like function: a type, a name, parameters, and no semicolon at the end.
    r"|(?!return\b|else\b|new\b|throw\b|case\b|if\b|for\b|while\b|switch\b|catch\b)"
    r"[\w:<>,*&\[\]]+(?:[ \t]+[\w:<>,*&\[\]]+){0,5}[ \t]+[*&]*(?P<function>[\w:~]+)\([^;=\n]*\{?$"
    r"|(?P<shell>[\w-]+)\s*\(\)\s*\{)",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"[ \t]*(?:[\])}{]|end\b|\"\"\"|else\b|rescue\b|ensure\b|#if|#else|#endif)")
_INDENT = re.compile(r"[ \t]*")


def by_indentation(lines: Sequence[str]) -> tuple[Definition, ...]:
    """Return the definitions in lines of indented code; each ends where its indentation does."""
    return _nested(lines, 0, len(lines))


def _nested(lines: Sequence[str], row: int, stop: int) -> tuple[Definition, ...]:
    found: list[Definition] = []
    level: int | None = None
    while row < stop:
        line = lines[row]
        indent = _indent(line)
        if line.strip() and (level is None or indent <= level):
            level = indent
            opening = _OPENING.match(line[:500])
            if opening:
                last = _last_line(lines, row, stop, indent)
                found.append(_opened(lines, opening, row, last))
                row = last
        row += 1
    return tuple(found)


def _opened(lines: Sequence[str], opening: re.Match[str], row: int, last: int) -> Definition:
    groups = opening.groupdict()
    member = _called(groups["member"] or "")
    name = groups["name"] or groups["variable"] or member or groups["function"] or groups["shell"] or ""
    holds = (groups["word"] or "").lower() in _CONTAINERS | {"defmodule"}
    if holds and last - row >= _LONG:
        children = _nested(lines, row + 1, last + 1)
    else:
        children = ()
    return Definition(name.rstrip(":<"), row, last, children)


def _last_line(lines: Sequence[str], row: int, stop: int, indent: int) -> int:
    """Return the last line that is indented deeper than the one at `row`, or closes it."""
    last = row
    for following in range(row + 1, stop):
        line = lines[following]
        if line.strip():
            depth = _indent(line)
            if depth < indent or (depth == indent and not _CLOSING.match(line)):
                break
            last = following
    return last


def _indent(line: str) -> int:
    space = _INDENT.match(line)
    if space:
        return len(space.group().expandtabs(4))
    return 0
