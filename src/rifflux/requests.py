"""The settings of searches, retrieval and answers, each declared once with its type, default, bounds and help.

A request is a frozen dataclass. Python signatures (`takes`), HTTP bodies, tools for agents, options of the command line
and the reference pages are derived from its fields, so a setting means the same on every surface.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
from functools import cache, wraps
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    ForwardRef,
    Generic,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from rifflux.errors import InvalidArgument
from rifflux.types.search import Filter

if TYPE_CHECKING:
    from datetime import date
    from typing import TypeAlias

    from rifflux.retrieve.fuse import Fuse
    from rifflux.retrieve.steps.rerank import Rerank

    Seconds: TypeAlias = float

P = ParamSpec("P")
R = TypeVar("R")
Caller = TypeVar("Caller")
Second = TypeVar("Second")
RequestType = TypeVar("RequestType", bound="Request")

LEXICAL = "lexical"
SEMANTIC = "semantic"
HYBRID = "hybrid"
#: The hybrid mode with the default reranker.
HYBRID_RERANK = "hybrid-rerank"
#: Every accepted name of a search mode, with the mode's own name.
MODES: Mapping[str, str] = {
    LEXICAL: LEXICAL,
    SEMANTIC: SEMANTIC,
    HYBRID: HYBRID,
    HYBRID_RERANK: HYBRID,
    **dict.fromkeys(("lex", "keyword", "bm25"), LEXICAL),
    **dict.fromkeys(("vec", "vector"), SEMANTIC),
}
MOST_RESULTS = 1_000
#: The last rank that a page may reach.
FURTHEST = 10_000
#: Values that one field of a filter accepts.
MOST_VALUES = 1_000
RELEVANCE = "relevance"
DATE = "date"


@dataclass(frozen=True, kw_only=True)
class Param:
    """What is published about a setting, and its bounds.

    `noun` is what messages call one of the `choices`; `aliases` are further choices that are not advertised everywhere.
    `least` and `most` are numbers of characters or entries; they bound what an HTTP body may hold. `parts` is the
    dataclass of settings that this one stands for: an object in an HTTP body, single settings elsewhere. A `body_only`
    setting exists in bodies alone, a `python_only` one in signatures alone. `option` is the spelling on the command
    line, where a `switch` takes no value and a `configured` setting defaults to the one of that name in the
    configuration.
    """

    help: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    choices: tuple[str, ...] = ()
    noun: str = ""
    aliases: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    examples: tuple[Any, ...] = field(default=(), hash=False)
    parts: type | None = None
    body_only: bool = False
    python_only: bool = False
    option: str = ""
    metavar: str | None = None
    switch: bool = False
    configured: bool = False

    @property
    def bounds(self) -> str:
        """Return the bounds in words: `from 1 to 100`, `above 0`."""
        if self.gt is not None:
            return f"above {self.gt:g}"
        if self.le is None:
            return f"of {self.ge:g} or more"
        return f"from {self.ge:g} to {self.le:g}"


@dataclass(frozen=True)
class Declared:
    """A setting: its name, the types that a surface can send, what is published about it, and its default."""

    name: str
    type: Any
    param: Param
    default: Any
    positional: bool = False
    types: tuple[Any, ...] = ()

    @property
    def required(self) -> bool:
        """Return True for a setting without a default."""
        return self.default is MISSING


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, or a lone type, without annotations."""
    if get_origin(hint) is Annotated:
        return alternatives(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return tuple(one for member in get_args(hint) for one in alternatives(member))
    return (hint,)


#: A surface sends the name of a fusion or reranker, and times as texts; only Python passes objects.
_SENT_AS_TEXT: dict[str, Any] = dict.fromkeys(("Fuse", "Rerank", "Seconds", "date"), str)


@cache
def declared(request: type) -> tuple[Declared, ...]:
    """Return the settings of a request in their order, positional ones first."""
    hints = get_type_hints(request, localns=_SENT_AS_TEXT, include_extras=True)
    found = [
        declaration(each.name, hints[each.name], _default(each), positional=not each.kw_only)
        for each in fields(request)
    ]
    return tuple(sorted(found, key=lambda setting: not setting.positional))


def declaration(name: str, hint: Any, default: Any = MISSING, *, positional: bool = False) -> Declared:
    """Return the declaration of an annotated setting; the outermost `Param` counts."""
    param = Param()
    while get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        param = next((note for note in reversed(notes) if isinstance(note, Param)), param)
    if isinstance(hint, ForwardRef):
        holder = SimpleNamespace(__annotations__={name: hint})
        hint = get_type_hints(holder, globalns=globals(), localns=_SENT_AS_TEXT)[name]
    return Declared(name, hint, param, default, positional, alternatives(hint))


def _default(each: Any) -> Any:
    if each.default_factory is not MISSING:
        return each.default_factory()
    return each.default


@dataclass(frozen=True)
class Request:
    """The base of requests: a value out of bounds raises `InvalidArgument` where the request is made."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for each in declared(kind):
            value = getattr(self, each.name)
            param = each.param
            if value == each.default and not isinstance(value, bool):
                continue
            # A callable is a reranker of one's own.
            if param.choices and not callable(value) and value not in (*param.choices, *param.aliases):
                choices = ", ".join((*param.choices, *param.aliases))
                raise InvalidArgument(f"no {param.noun or each.name} {value!r}; choose one of {choices}")
            if set(each.types) <= {bool, NoneType} and not isinstance(value, bool | None):
                raise InvalidArgument(f"{each.name} is true or false, not {value!r}")
            if param.ge is None and param.gt is None and param.le is None:
                continue
            fractional = float in each.types
            least = -math.inf if param.ge is None else param.ge
            most = math.inf if param.le is None else param.le
            is_number = isinstance(value, int | float if fractional else int) and not isinstance(value, bool)
            if not is_number or not least <= value <= most or (param.gt is not None and not value > param.gt):
                kind_of_number = "a number" if fractional else "a whole number"
                raise InvalidArgument(f"{each.name} must be {kind_of_number} {param.bounds}, not {value!r}")


class _PlainTypes(ast.NodeTransformer):
    """Replaces annotated types, and names of such types in this module, by the types themselves."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated" and isinstance(node.slice, ast.Tuple):
            plain: ast.AST = self.visit(node.slice.elts[0])
            return plain
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == "Seconds":
            return ast.Name("float")
        alias = globals().get(node.id)
        if get_origin(alias) not in (Annotated, Union, UnionType):
            return node
        names = [_name_of(each) for each in alternatives(alias)]
        plain: ast.AST = self.generic_visit(ast.parse(" | ".join(names), mode="eval").body)
        return plain


def _name_of(hint: Any) -> str:
    if isinstance(hint, ForwardRef):
        return hint.__forward_arg__
    if hint is NoneType:
        return "None"
    return str(getattr(hint, "__name__", hint))


def _without_notes(annotation: str) -> str:
    """Return an annotation as a signature shows it: the types that Python callers pass."""
    return ast.unparse(_PlainTypes().visit(ast.parse(annotation, mode="eval")))


class takes(Generic[P, RequestType]):  # noqa: N801
    """Decorate a method of a request: callers pass the request's settings as arguments.

    The method may have names before the request, which callers pass first.
    """

    def __init__(self, request: Callable[P, RequestType]) -> None:
        self._request = request

    @overload
    def __call__(self, method: Callable[[Caller, RequestType], R]) -> Callable[Concatenate[Caller, P], R]: ...

    @overload
    def __call__(self, method: Callable[[Caller, str, RequestType], R]) -> Callable[Concatenate[Caller, str, P], R]: ...

    @overload
    def __call__(
        self, method: Callable[[Caller, str, Second, RequestType], R]
    ) -> Callable[Concatenate[Caller, str, Second, P], R]: ...

    def __call__(self, method: Callable[..., R]) -> Callable[..., R]:
        """Return the method with the settings of the request in place of it."""
        request: Callable[..., RequestType] = self._request
        signature = inspect.signature(method)
        *first, _ = signature.parameters.values()
        count = len(first)

        @wraps(method)
        def call(*values: Any, **named: Any) -> R:
            return method(*values[:count], request(*values[count:], **named))

        names = [each.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for each in first]
        settings = [
            each.replace(annotation=_without_notes(each.annotation))
            for each in inspect.signature(request).parameters.values()
        ]
        call.__signature__ = signature.replace(parameters=[*names, *settings])  # type: ignore[attr-defined]
        return call


# Types and settings that several requests share

Text = Annotated[str, Param(least=1, most=2_000)]
Name = Annotated[str, Param(least=1, most=1_000)]
Scalar = Annotated[str, Param(most=1_000)] | int | float | bool
Share = Annotated[float, Param(ge=0, le=1)]
QueryText = Annotated[
    Text,
    Param(
        help='Words, a "phrase", -without, prefix*, field:value',
        most=2_000,
        examples=("how long do cache entries live",),
    ),
]
TOP_K = Param(help="Most results", ge=1, le=MOST_RESULTS, option="-k/--top-k")
TopK = Annotated[int, TOP_K]
MODE = Param(
    help="lexical: by words; semantic: by meaning; hybrid: by both; hybrid-rerank: by both, the best reranked",
    choices=(LEXICAL, SEMANTIC, HYBRID, HYBRID_RERANK),
    aliases=("lex", "keyword", "bm25", "vec", "vector"),
)
RERANK = Param(
    help="Reorder the best: features, maxsim, cross-encoder, llm or none; by default as configured",
    choices=("features", "maxsim", "cross-encoder", "llm", "none"),
    noun="reranker",
    metavar="[NAME]",
)
Reranker = Annotated["str | Rerank | None", RERANK]
Fusion = Annotated[
    "str | Fuse | None",
    Param(
        help="rrf, linear, balanced or adaptive, with knobs as in rrf:k=10; by default as configured",
        most=100,
        examples=("linear:by-specificity",),
    ),
]
Deadline = Annotated[
    float | None,
    Param(help="Milliseconds after which the answer does without what models have not done", gt=0, le=3_600_000),
]
SINCE = Param(help="Not older than this ISO 8601 date", most=40, examples=("2026-01-01",), metavar="DATE")
UNTIL = Param(help="Not newer than this ISO 8601 date", most=40, examples=("2026-01-01",), metavar="DATE")
Since = Annotated[str | None, SINCE]
Until = Annotated[str | None, UNTIL]
Authors = Annotated[
    Sequence[Name],
    Param(
        help="Only works by one of these authors, in any spelling, or by ORCID iD",
        most=50,
        examples=(["Dijkstra, E. W."],),
        option="--author",
        metavar="NAME",
    ),
]
Venues = Annotated[
    Sequence[Name],
    Param(help="Only works in one of these journals or the like", most=50, option="--venue", metavar="NAME"),
]
Year = Annotated[
    int | str | None,
    Param(
        help="Only works of this year, or of several: 1974, 1970-1979, 1970-", examples=("1970-1979",), metavar="YEAR"
    ),
]
Collections = Annotated[
    Sequence[Name],
    Param(
        help="Only in these collections, such as wiki or bob/wiki",
        most=100,
        examples=(["wiki"],),
        option="--collection",
        metavar="NAME",
    ),
]


@dataclass(frozen=True, kw_only=True)
class FilterSettings(Request):
    """What a result must satisfy."""

    paths: Annotated[
        Sequence[Name], Param(help="Only paths that match, such as notes/**", most=100, option="--path")
    ] = ()
    folders: Annotated[
        Sequence[Name],
        Param(
            help="Only in these folders: first parts of paths, such as src or guide/src", most=100, option="--folder"
        ),
    ] = ()
    kinds: Annotated[
        Sequence[Name], Param(help="Only these kinds, such as markdown, pdf, code or note", most=100, option="--kind")
    ] = ()
    not_kinds: Annotated[
        Sequence[Name], Param(help="Leave out these kinds, such as code", most=100, option="--not-kind")
    ] = ()
    documents: Annotated[
        Sequence[Name],
        Param(help="Only in these documents, by the key in results, such as cache.md", most=100, option="--document"),
    ] = ()
    since: Since = None
    until: Until = None
    metadata: Annotated[
        Mapping[Name, Scalar | Annotated[Sequence[Scalar], Param(most=MOST_VALUES)]],
        Param(
            help="Only documents with this metadata: a value by field, or several of which one suffices",
            most=20,
            option="--where",
            metavar="FIELD=VALUE",
        ),
    ] = field(default_factory=dict)
    collections: Collections = ()
    authors: Authors = ()
    venues: Venues = ()
    year: Year = None

    def filter(self) -> Filter:
        """Return the filter that an index takes."""
        return Filter(
            paths=tuple(self.paths),
            kinds=tuple(self.kinds),
            not_kinds=tuple(self.not_kinds),
            documents=tuple(self.documents),
            since=self.since,
            until=self.until,
            metadata=self.metadata,
            collections=tuple(self.collections),
            folders=tuple(self.folders),
        ).of_works(self.authors, self.venues, self.year)


@dataclass(frozen=True)
class RankedRequest(Request):
    """How the answers to a question are found and filtered."""

    _: KW_ONLY
    top_k: TopK = 10
    mode: Annotated[str, MODE] = HYBRID
    fusion: Fusion = None
    filter: Annotated[
        Filter | Mapping[str, Any] | None, Param(help="What a result must satisfy", parts=FilterSettings)
    ] = None


@dataclass(frozen=True)
class RerankedRequest(RankedRequest):
    """How the answers to a question are found, filtered and reordered; its defaults can be configured."""

    _: KW_ONLY
    top_k: Annotated[int, replace(TOP_K, configured=True)] = 10
    mode: Annotated[str, replace(MODE, configured=True)] = HYBRID
    rerank: Reranker = None
    rerank_top: Annotated[int | None, Param(help="Number of results that are reordered", ge=1, le=MOST_RESULTS)] = None
    boosts: Annotated[
        Mapping[Name, float] | None,
        Param(
            help="Other factors for what the question names, such as identified: 2",
            most=10,
            examples=({"identified": 2},),
            option="--boost",
            metavar="NAME=FACTOR",
        ),
    ] = None


@dataclass(frozen=True)
class SearchRequest(RerankedRequest):
    """A search for passages."""

    query: QueryText = ""
    _: KW_ONLY
    deadline_ms: Deadline = None
    min_score: Annotated[
        float | None, Param(help="Least relevance, 0 to 1: from .7 on medium, from .85 on high", ge=0, metavar="SCORE")
    ] = None
    one_per_document: Annotated[bool | None, Param(help="Only the best passage of each document")] = None
    diversify: Annotated[
        bool | Share | None,
        Param(help="Prefer passages unlike those above them: true, or how much that counts, 0 to 1", switch=True),
    ] = None
    collapse: Annotated[bool | None, Param(help="Leave out near-duplicates of better passages")] = None
    offset: Annotated[int, Param(help="Skip so many results, for a later page", ge=0, le=FURTHEST)] = 0
    sort: Annotated[
        str, Param(help="relevance, or date: the same results, newest first", choices=(RELEVANCE, DATE))
    ] = RELEVANCE
    cutoff: Annotated[
        bool | Share,
        Param(help="End where relevance falls off: true, or the least share of the best, such as .5", metavar="SHARE"),
    ] = False
    symbol: Annotated[
        str, Param(help="Only source code that defines this name; the query may be empty", most=1_000, metavar="NAME")
    ] = ""


AboutDocument = Annotated[
    Name,
    Param(
        help="A document's path, key or identifier, or a chunk id",
        least=1,
        most=1_000,
        examples=("cache.md",),
        metavar="DOCUMENT",
    ),
]


@dataclass(frozen=True)
class WhyRequest(RerankedRequest):
    """Why a document is where it is for a question."""

    query: QueryText
    document: AboutDocument


@dataclass(frozen=True)
class EverythingRequest(RankedRequest):
    """A search of knowledge, files, notes, tasks and conversations at once."""

    query: QueryText
    _: KW_ONLY
    top_k: TopK = 20
    deadline_ms: Deadline = None


@dataclass(frozen=True, kw_only=True)
class DateRange(Request):
    """The first and the last date, both inclusive."""

    start: Since = None
    end: Until = None


@dataclass(frozen=True, kw_only=True)
class WorkFilterSettings(Request):
    """What works must satisfy. Both dates are inclusive."""

    since: Since = None
    until: Until = None
    date_range: Annotated[
        DateRange | None, Param(help="since and until in one object", parts=DateRange, body_only=True)
    ] = None
    subjects: Annotated[
        Sequence[Name],
        Param(help="Only with these tags, such as math.AG or msc:14F05", most=50, option="--subject"),
    ] = ()
    sources: Annotated[
        Sequence[Name], Param(help="Only from these lists that were imported", most=50, option="--source")
    ] = ()
    authors: Authors = ()
    venues: Venues = ()
    year: Year = None
    collections: Collections = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        dates = self.date_range
        if dates is None:
            return
        if self.since or self.until:
            raise InvalidArgument("date_range is since and until: send it, or those")
        for name, value in (("since", dates.start), ("until", dates.end), ("date_range", None)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, filter: WorkFilterSettings | Mapping[str, Any] | None) -> WorkFilterSettings:
        """Return the filter of an argument: a mapping has its fields as keys. Raises `InvalidArgument`."""
        if isinstance(filter, WorkFilterSettings):
            return filter
        if not isinstance(filter, Mapping | None):
            raise InvalidArgument(f"filter must be a mapping, as in {{'subjects': ['math.AG']}}, not {filter!r}")
        kind: Any = cls
        known = [each.name for each in declared(kind) if not each.param.body_only]
        if unknown := [name for name in filter or () if name not in known]:
            raise InvalidArgument(f"no filter {unknown[0]!r} of works; choose from {', '.join(known)}")
        return cls(**(filter or {}))


@dataclass(frozen=True)
class RetrieveRequest(Request):
    """A retrieval of works, with evidence to cite."""

    query: Annotated[
        Text,
        Param(
            help="What to find works about, in plain words or formulas",
            most=2_000,
            examples=("foundational papers on parsing of context free languages",),
        ),
    ]
    _: KW_ONLY
    filter: Annotated[
        WorkFilterSettings | Mapping[str, Any] | None, Param(help="What works must satisfy", parts=WorkFilterSettings)
    ] = None
    mode: Annotated[
        str | None,
        Param(
            help="The intent: lookup, survey, compare, prereq, related, generic or keywords; by default recognized",
            choices=("lookup", "survey", "compare", "prereq", "related", "generic", "keywords"),
        ),
    ] = None
    top_k: Annotated[int, replace(TOP_K, help="Most works")] = 10
    max_tokens: Annotated[int, Param(help="Most tokens of evidence", ge=1, le=100_000)] = 4_000
    cite: Annotated[
        str | None,
        Param(
            help="Add the cited works to the evidence, in this format: bibtex or csl",
            choices=("bibtex", "csl"),
            noun="citation format",
            metavar="FORMAT",
        ),
    ] = None
    offset: Annotated[int, Param(help="Skip so many works, for a later page", ge=0, le=FURTHEST)] = 0
    min_relevance: Annotated[
        float | None,
        Param(help="Least relevance of evidence, 0 to 1; by default 0.3, or as configured for the intent", ge=0, le=1),
    ] = None
    works_only: Annotated[bool, Param(help="Leave out files, notes and uploads")] = False
    deadline_ms: Deadline = None


@dataclass(frozen=True)
class AnswerRequest(Request):
    """How a question is answered."""

    _: KW_ONLY
    filter: Annotated[
        Filter | Mapping[str, Any] | None, Param(help="What evidence must satisfy", parts=FilterSettings)
    ] = None
    top_k: Annotated[int, replace(TOP_K, help="Most documents to take evidence from", le=10)] = 8
    max_tokens: Annotated[int, Param(help="Most tokens of evidence", ge=100, le=20_000)] = 3_000
    deadline_ms: Deadline = None
    extract: Annotated[bool, Param(help="Quote sentences, even where a chat model could write")] = False
    chat: Annotated[
        str | None,
        Param(help="Record the answer in the chat of this id, or in a new one, and go on from it", least=1, most=100),
    ] = None


@dataclass(frozen=True)
class QuestionRequest(AnswerRequest):
    """A question to answer, with the turns of the conversation before it."""

    question: str
    history: Iterable[Mapping[str, Any] | Sequence[str]] = ()


@dataclass(frozen=True)
class StreamRequest(QuestionRequest):
    """A question whose answer is streamed until `gone` returns true."""

    _: KW_ONLY
    gone: Callable[[], bool] | None = None


@dataclass(frozen=True)
class ChatChanges(Request):
    """What to change of a chat."""

    title: Annotated[str, Param(help="What it is called", least=1, most=200)]


# Conversations and memories

#: The most messages or memories that a search returns.
MOST_FOUND = 100
FirstMoment = Annotated["str | date | None", SINCE]
LastMoment = Annotated["str | date | None", UNTIL]
MostMessages = Annotated[int, replace(TOP_K, help="Most messages", le=MOST_FOUND)]
ConversationId = Annotated[
    Name | None, Param(help="Only in this conversation", least=1, most=1_000, option="--conversation", metavar="ID")
]
Role = Annotated[str | None, Param(help="Only what this role says, such as assistant", least=1, most=100)]
Project = Annotated[str | None, Param(help="Only in conversations of this project", most=1_000)]
Archived = Annotated[
    bool | None, Param(help="Only archived conversations, or only current ones", option="--archived/--current")
]
Neighbors = Annotated[int, Param(help="Turns to return before and after each message", ge=0, le=20)]


@dataclass(frozen=True)
class MessagesRequest(Request):
    """A search for messages in one's conversations; either date may be left out."""

    query: QueryText
    _: KW_ONLY
    top_k: MostMessages = 20
    conversation_id: ConversationId = None
    since: FirstMoment = None
    until: LastMoment = None
    role: Role = None
    project: Project = None
    archived: Archived = None
    neighbors: Neighbors = 0
    fusion: Fusion = None
    deadline_ms: Deadline = None


ProjectName = Annotated[str, Param(most=1_000)]
MessageText = Annotated[str, Param(help="What is said", most=500_000)]
RoleName = Annotated[str, Param(least=1, most=100, examples=("user",))]
NewId = Annotated[Name | None, Param(least=1, most=1_000)]
Dated = Annotated[str | None, Param(help="ISO 8601 date", most=40, examples=("2026-01-01",))]
EmbedNow = Annotated[
    bool | None, Param(help="Wait for its vectors, or make none; by default wait a moment", python_only=True)
]


@dataclass(frozen=True)
class ConversationRequest(Request):
    """A new conversation; it gets an id if none is given."""

    title: Annotated[str, Param(most=1_000, examples=("Caching",))] = ""
    _: KW_ONLY
    id: NewId = None
    project: ProjectName = ""
    archived: bool = False
    created_at: Dated = None


@dataclass(frozen=True, kw_only=True)
class ConversationChanges(Request):
    """What to change of a conversation; what is left out stays."""

    title: Annotated[str | None, Param(most=1_000)] = None
    project: Annotated[str | None, Param(most=1_000)] = None
    archived: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ConversationsRequest(Request):
    """Which conversations to list."""

    project: Project = None
    archived: Archived = None


@dataclass(frozen=True)
class MessageRequest(Request):
    """A new message; it gets an id, and the time, if none is given."""

    text: MessageText
    _: KW_ONLY
    role: RoleName = "user"
    speaker: Annotated[str, Param(most=1_000)] = ""
    created_at: Dated = None
    source: Annotated[str, Param(most=1_000)] = ""
    id: NewId = None
    embed: EmbedNow = None


@dataclass(frozen=True, kw_only=True)
class MessageChanges(Request):
    """What to change of a message; what is left out stays."""

    text: Annotated[str | None, Param(help="What is said", most=500_000)] = None
    role: Annotated[str | None, Param(least=1, most=100)] = None
    speaker: Annotated[str | None, Param(most=1_000)] = None
    created_at: Dated = None
    source: Annotated[str | None, Param(most=1_000)] = None
    embed: EmbedNow = None


MemoryText = Annotated[
    str,
    Param(
        help="One statement that makes sense by itself, in plain words",
        least=1,
        most=4_000,
        examples=("Ann takes her tea without milk",),
    ),
]
CATEGORY = Param(help="Such as fact, preference, context, task or event", least=1, most=100)
IMPORTANCE = Param(help="From 1 to 10; below 7 it is not saved", ge=1, le=10)
CONFIDENCE = Param(help="From 0 to 1; below .7 it is not saved", ge=0, le=1)
RecallText = Annotated[
    Text, Param(help="What to recall, in plain words", most=2_000, examples=("how does she take her tea",))
]
MostMemories = Annotated[int, replace(TOP_K, help="Most memories", le=MOST_FOUND)]
Category = Annotated[str | None, replace(CATEGORY, help="Only of this category")]
MinImportance = Annotated[int | None, replace(IMPORTANCE, help="Only of this importance or more")]
MinConfidence = Annotated[float | None, replace(CONFIDENCE, help="Only of this confidence or more; by default .7")]
Expiry = Annotated[
    "str | Seconds | None",
    Param(
        help="ISO 8601 date after which it is forgotten, or never",
        most=40,
        examples=("2027-01-01", "never"),
        option="--expires",
        metavar="DATE|never",
    ),
]
MemorySource = Annotated[str | None, Param(help="Where it comes from, such as a message's id", most=1_000)]


@dataclass(frozen=True)
class RecallRequest(Request):
    """A search of what is remembered about a user."""

    query: RecallText
    _: KW_ONLY
    top_k: MostMemories = 10
    category: Category = None
    min_importance: MinImportance = None
    min_confidence: MinConfidence = None
    rerank: Annotated[
        str | None,
        replace(
            RERANK,
            help="Reorder the best by features, maxsim, cross-encoder, llm or none instead of likeness, recency, use "
            "and importance",
            metavar="NAME",
        ),
    ] = None
    fusion: Fusion = None
    deadline_ms: Deadline = None


@dataclass(frozen=True)
class MemoryRequest(Request):
    """Something to remember."""

    text: MemoryText
    _: KW_ONLY
    category: Annotated[str, CATEGORY] = "fact"
    importance: Annotated[int, IMPORTANCE] = 7
    confidence: Annotated[float, CONFIDENCE] = 1.0
    expires_at: Expiry = None
    source: MemorySource = None
    supersedes: Annotated[
        Name | None, Param(help="Id of the memory that this one replaces", least=1, most=1_000, metavar="ID")
    ] = None


@dataclass(frozen=True, kw_only=True)
class MemoryChanges(Request):
    """What to change of a memory; what is left out stays."""

    text: Annotated[str | None, Param(help="The new statement", least=1, most=4_000)] = None
    category: Annotated[str | None, replace(CATEGORY, help="The new category")] = None
    importance: Annotated[int | None, replace(IMPORTANCE, help="From 1 to 10")] = None
    confidence: Annotated[float | None, replace(CONFIDENCE, help="From 0 to 1")] = None
    expires_at: Expiry = None
    source: MemorySource = None


@dataclass(frozen=True, kw_only=True)
class MemoriesRequest(Request):
    """Which memories to list."""

    category: Category = None
    min_importance: MinImportance = None
    min_confidence: MinConfidence = None
    everything: Annotated[bool, Param(help="Also those expired or superseded", option="--all")] = False


# Collections


@dataclass(frozen=True)
class CollectionRequest(Request):
    """A new collection."""

    name: Annotated[
        str, Param(help="What you call the collection", least=1, most=100, examples=("wiki",), metavar="NAME")
    ]
    _: KW_ONLY
    description: Annotated[str, Param(help="What it holds; agents get it with what they find there", most=2_000)] = ""


@dataclass(frozen=True, kw_only=True)
class CollectionChanges(Request):
    """What to change of a collection; what is left out stays."""

    name: Annotated[str | None, Param(help="Its new name", least=1, most=100)] = None
    description: Annotated[str | None, Param(help="What it holds", most=2_000)] = None


@dataclass(frozen=True, kw_only=True)
class ReaderRequest(Request):
    """What a reader of a collection may do."""

    write: Annotated[bool, Param(help="They may change what it holds, too")] = False


UserName = Annotated[str, Param(least=1, most=256)]


@dataclass(frozen=True, kw_only=True)
class GroupRequest(Request):
    """The users of a group, in place of those it had."""

    members: Annotated[Sequence[UserName], Param(help="All of its users", most=10_000)]


# Documents and files

#: Seconds that somebody who sent something waits for its vectors.
SENT_S = 10.0
Waiting = Annotated[float | None, Param(help="Seconds to wait for vectors; the rest follow", python_only=True)]
#: An `Intake`.
Limits = Annotated[Any, Param(help="Limits and progress of the import", python_only=True)]
FieldName = Annotated[str, Param(least=1, most=200)]
FieldValue = str | int | float | bool | None
License = Annotated[str | None, Param(help="SPDX id or name of its license", least=1, most=1_000)]


@dataclass(frozen=True, kw_only=True)
class FileRequest(Request):
    """A file to store, with its attributes. It is read in a separate process."""

    collection: Annotated[
        str, Param(help="As /collections names it; empty: your library", most=400, examples=("wiki",))
    ] = ""
    title: Annotated[str, Param(most=1_000, examples=("Caching",))] = ""
    license: License = None
    created_at: Dated = None
    language: Annotated[
        str,
        Param(
            help="Decides how words become terms, in the language of the texts; empty: that of the index",
            most=40,
            examples=("german",),
        ),
    ] = ""
    metadata: Annotated[
        Mapping[FieldName, FieldValue | Sequence[FieldValue]],
        Param(
            help="To filter by: texts, numbers, truth values, and lists of them",
            most=100,
            examples=({"team": "search"},),
        ),
    ] = field(default_factory=dict)
    key: Annotated[str, Param(help="Its key; a new one by default", python_only=True)] = ""
    new: Annotated[bool, Param(help="Refuse a key in use", python_only=True)] = False
    embed_seconds: Waiting = SENT_S
    intake: Limits = None


@dataclass(frozen=True, kw_only=True)
class DocumentRequest(FileRequest):
    """A document to store, as text."""

    text: Annotated[str, Param(help="Its whole text", least=1, examples=("Cache entries live for ten minutes.",))]
    kind: Annotated[str, Param(help="How it is cut: markdown, code, ...; empty: as a text", most=100)] = ""
    updated_at: Dated = None


#: The most entries of a page of a list.
MOST_LISTED = 1_000
After = Annotated[str, Param(help="The `next` of the page before", most=8_000)]
Limit = Annotated[int, Param(ge=1, le=MOST_LISTED)]


@dataclass(frozen=True, kw_only=True)
class DocumentsRequest(Request):
    """Which documents to list."""

    collections: Annotated[Sequence[Name], Param(help="Only in these collections", most=100)] = ()
    after: After = ""
    limit: Annotated[int, Param(help="Most documents", ge=1, le=MOST_LISTED)] = 100


@dataclass(frozen=True, kw_only=True)
class OpenDocumentRequest(Request):
    """How to open a document."""

    around: Annotated[
        str | None, Param(help="Open it at this passage, a chunk_id; empty: at its beginning", most=1_000)
    ] = None
    query: Annotated[str, Param(help="Words to highlight in the passage", most=2_000)] = ""


@dataclass(frozen=True, kw_only=True)
class FacetsRequest(Request):
    """How many values of a facet to count."""

    limit: Annotated[int, Param(ge=1, le=1_000)] = 20


@dataclass(frozen=True)
class FeedbackRequest(Request):
    """What somebody did with a result."""

    kind: Annotated[
        str,
        Param(
            help="What they did",
            choices=("click", "save", "export", "not_relevant", "judgement"),
            noun="kind of feedback",
            examples=("click",),
        ),
    ]
    query: Annotated[Text, Param(help="The question, to the word", least=1, most=2_000)]
    document: AboutDocument
    grade: Annotated[int | None, Param(help="For a judgement: 0 is irrelevant", ge=0, le=10)] = None
    _: KW_ONLY
    user: Annotated[str, Param(help="Who did it; in a scope, the user of the scope", python_only=True)] = ""


@dataclass(frozen=True)
class JudgeRequest(Request):
    """How well a document answers a question."""

    query: Annotated[Text, Param(help="The question")]
    document: AboutDocument
    grade: Annotated[
        int, Param(help="How well it answers: 0 is not at all, up to 10", ge=0, le=10, option="--grade")
    ] = 1
    _: KW_ONLY
    user: Annotated[str, Param(help="Whose judgement it is")] = ""


# Research works

#: The formats of works; a PDF is a file alone.
TEXT_FORMATS = ("jsonl", "arxiv", "openalex", "csl", "semanticscholar", "bibtex", "ris", "zotero-rdf", "latex")
WORK_FORMATS = (*TEXT_FORMATS, "pdf")
SourceName = Annotated[str, Param(least=1, most=100)]
WorkLicense = Annotated[
    str | None,
    Param(
        help="For works that state none; without one that permits it, no text of a work is shown",
        least=1,
        most=1_000,
    ),
]
Identifier = Annotated[str, Param(least=1, most=1_000)]


@dataclass(frozen=True, kw_only=True)
class WorksImport(Request):
    """How works are imported."""

    license: WorkLicense = None
    embed: Annotated[bool, Param(help="Make vectors", python_only=True)] = True
    embed_seconds: Waiting = SENT_S
    intake: Limits = None


@dataclass(frozen=True, kw_only=True)
class WorksFileRequest(WorksImport):
    """A file of works: .jsonl, .json, .bib, .tex or .pdf, the first two also as .gz."""

    source: Annotated[
        SourceName | None,
        Param(help="Name of the list: the key of a work becomes source:key; by default after the file"),
    ] = None
    format: Annotated[
        str | None, Param(help=f"{', '.join(WORK_FORMATS)}; by default recognized", choices=WORK_FORMATS)
    ] = None


@dataclass(frozen=True, kw_only=True)
class WorksTextRequest(WorksImport):
    """A text of works in a format."""

    source: Annotated[
        SourceName,
        Param(help="Name of the list: the key of a work becomes source:key", least=1, most=100, examples=("zotero",)),
    ]
    format: Annotated[str, Param(help="Of the content", choices=TEXT_FORMATS)] = "jsonl"


@dataclass(frozen=True, kw_only=True)
class WorksRequest(Request):
    """Which works to list."""

    source: Annotated[str | None, Param(help="Only works of this source")] = None
    without_license: Annotated[bool, Param(help="Only those whose license permits no text")] = False
    authors: Authors = ()
    venues: Venues = ()
    year: Year = None


@dataclass(frozen=True, kw_only=True)
class DecisionRequest(Request):
    """What two works are to each other."""

    one: Annotated[Identifier, Param(least=1, most=1_000, examples=("zotero:serre55",))]
    other: Annotated[Identifier, Param(least=1, most=1_000, examples=("arxiv:math/0102001",))]
    same: Annotated[
        bool,
        Param(
            help="true: one work, so they are merged; false: two works, which stay or come apart, and an identifier "
            "that both have stays with `one`"
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class BibliographyRequest(Request):
    """Which works to cite, and how."""

    works: Annotated[Sequence[Identifier], Param(help="Identifiers", least=1, most=1_000, examples=(["zotero:a"],))]
    format: Annotated[str, Param(choices=("bibtex", "csl"), noun="citation format")] = "bibtex"


@dataclass(frozen=True, kw_only=True)
class ConversationsFileRequest(Request):
    """A file of conversations: an export of a service, also as a zip, JSON Lines, messages with role and content."""

    format: Annotated[
        str | None,
        Param(
            help="openai, claude, slack, whatsapp, telegram, discord, discord-package, jsonl or messages; by default "
            "recognized",
            least=1,
            most=1_000,
        ),
    ] = None
    project: Annotated[str | None, Param(help="The project that all of them belong to", most=1_000)] = None
    embed: EmbedNow = None
    embed_seconds: Waiting = SENT_S
    intake: Limits = None


# Indexing

FORCE = Param(help="Read all files again, changed or not")
LANGUAGE = Param(
    help="Language of these files, such as german; by default the one they have, else that of the index", metavar="NAME"
)


@dataclass(frozen=True, kw_only=True)
class ReindexRequest(Request):
    """Which files and folders an agent has indexed, and how."""

    path: Annotated[
        str | None,
        Param(help="File or folder to index; null for the working directory, or the roots if it is outside them"),
    ] = None
    paths: Annotated[
        Sequence[str] | None, Param(help="Several files or folders to index; if not empty, path is ignored")
    ] = None
    force: Annotated[bool, FORCE] = False
    language: Annotated[str | None, LANGUAGE] = None


# Tokens, settings, questions, evidence


@dataclass(frozen=True, kw_only=True)
class TokenRequest(Request):
    """A new token."""

    role: Annotated[str, Param(help="user or admin", choices=("user", "admin"))] = "user"
    label: Annotated[str, Param(help="What it is for", most=200, examples=("laptop",))] = ""
    expires_at: Annotated[
        str | None,
        Param(
            help="90d, 12h or 2w from now, or an ISO 8601 date; by default never, or with the token that requests it",
            most=40,
            examples=("90d", "2027-01-01"),
            option="--expires",
            metavar="WHEN",
        ),
    ] = None


#: Whose tokens or jobs are listed.
UserInList = Annotated[str | None, Param(help="Whose; administrators may name others", most=200)]
SummedBy = Annotated[str, Param(help="What to sum by: any of day, user, feature, model", most=60)]


@dataclass(frozen=True, kw_only=True)
class UsageRequest(Request):
    """Which calls of models to sum, and by what."""

    by: SummedBy = "day,model"
    since: Since = None
    until: Until = None
    user: Annotated[str | None, Param(help="Of whom; administrators may name others", most=200)] = None
    everybody: Annotated[bool, Param(help="Of all users; for administrators")] = False


@dataclass(frozen=True, kw_only=True)
class PolicyChanges(Request):
    """What to change of the settings for everybody; what is left out stays."""

    hybrid_search: bool | None = None
    licenses: Annotated[
        Mapping[str, str] | None,
        Param(
            help="All that there shall be: text, abstract or nothing by license; a name may end in *",
            examples=({"publisher-specific-oa": "text", "CC-BY-NC*": "nothing"},),
        ),
    ] = None
    facts: Annotated[str | None, Param(choices=("owner", "everyone", "nobody"))] = None


@dataclass(frozen=True, kw_only=True)
class OwnPolicies(Request):
    """What to change for the caller alone."""

    own_texts: bool


@dataclass(frozen=True)
class ClassifyRequest(Request):
    """A question to classify."""

    query: Annotated[Text, Param(help="A question", least=1, most=2_000, examples=("what does error E404 mean",))]


Replay = Annotated[bool, Param(help="Repeat its request too, and compare order, scores, confidence and notes")]


@dataclass(frozen=True, kw_only=True)
class VerifyRequest(Request):
    """An evidence pack to check."""

    evidence_pack: Annotated[
        Mapping[str, Any], Param(help="The evidence_pack of retrieve, or its whole answer", metavar="PACK")
    ]
    replay: Annotated[bool, Param(help="Repeat its request too, and compare order, scores, confidence and notes")] = (
        False
    )
