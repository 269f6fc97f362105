"""The application to which each module adds its commands, and their shared options.

A group of options is a dataclass: a command that takes it has them all.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from rifflux.requests import Declared, SearchRequest, WhyRequest, alternatives
from rifflux.surfaces.cli import show
from rifflux.surfaces.shared.config import Settings, load, open_configured, view_of
from rifflux.surfaces.shared.declared import flattened

if TYPE_CHECKING:
    from rifflux import Index
    from rifflux.service.registry import Registry

Function = TypeVar("Function", bound=Callable[..., Any])
#: The maximum width of help, in characters.
_WIDEST = 120
#: Options of most commands, shown last in this order.
_COMMON = ("db", "state", "model", "threads", "json")


class _WithExamples:
    """A command that prints its examples as they are typed: one that is cut into lines cannot be copied."""

    epilog: str | None

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        if self.epilog:
            formatter.write_paragraph()
            for line in inspect.cleandoc(self.epilog).splitlines():
                formatter.write(f"  {line}".rstrip() + "\n")


class _Command(_WithExamples, TyperCommand):
    """A command that belongs to a group."""


class _Group(_WithExamples, TyperGroup):
    """A group of commands that prints complete summaries, which Click cuts at the first line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their summaries."""
        known = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(1_000)) for name, each in known if each])


_SAME: dict[str, Any] = {
    "cls": _Group,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST},
}


class Commands(typer.Typer):
    """Commands whose parameters may be groups of options: a dataclass stands for its fields."""

    def command(self, name: str | None = None, **about: Any) -> Callable[[Function], Function]:
        """Add a function as a command; it stays as it is for callers in Python."""

        about.setdefault("cls", _Command)

        def add(function: Function) -> Function:
            super(Commands, self).command(name, **about)(_flat(function))
            return function

        return add

    def callback(self, **about: Any) -> Callable[[Function], Function]:
        """Add a function that the group runs, with its options, before a command or without one."""

        def add(function: Function) -> Function:
            super(Commands, self).callback(**about)(_flat(function))
            return function

        return add


def _flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with the options of each group, and the settings of each request, in place of it."""
    function = flattened(function, option, _read)
    given = inspect.signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {each.name: each.annotation for each in given if is_dataclass(each.annotation)}

    @wraps(function)
    def run(**options: Any) -> None:
        for name, kind in groups.items():
            options[name] = kind(**{each.name: options.pop(each.name) for each in fields(kind)})
        function(**options)

    flat = [option for each in given for option in (_options(groups[each.name]) if each.name in groups else (each,))]
    flat.sort(key=lambda option: _COMMON.index(option.name) if option.name in _COMMON else -1)
    named = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in flat]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    return run


def option(setting: Declared) -> inspect.Parameter:
    """Return the argument or option of a setting: a list where several are allowed, a switch for what is true or false.

    An option without a value is None, which stands for the default of the setting.
    """
    param = setting.param
    help = f"{param.help}."
    if int in setting.types and param.le is not None and "rom " not in help:
        help = f"{param.help}, {param.bounds}."
    if setting.positional and not param.option:
        default = inspect.Parameter.empty if setting.required else setting.default
        about = typer.Argument(help=help, metavar=param.metavar)
        return _parameter(setting.name, Annotated[str, about], default)
    default = None if setting.default in ((), {}, False) else setting.default
    if param.configured:
        help += f"  [default: {default}]"
        default = None
    kind = _kind(setting)
    names = param.option.replace("-k/", "-k ").split() or [f"--{setting.name.replace('_', '-')}"]
    about = typer.Option(*names, help=help, metavar=param.metavar, show_default=bool(default))
    if kind is bool and "/" not in param.option:  # a pair of names has no default
        default = bool(default) if None not in setting.types else default
    return _parameter(setting.name, Annotated[kind if default is not None else kind | None, about], default)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _kind(setting: Declared) -> Any:
    """Return the type of an option's value."""
    types = [each for each in setting.types if each is not NoneType]
    if any(get_origin(each) in (Sequence, Mapping) for each in types):
        return list[str]
    if setting.param.switch:
        return bool
    for kind in (float, str, int):
        if kind in types:
            return kind
    return bool


def _read(setting: Declared, given: Any) -> Any:
    """Convert the value of an option for the request."""
    if setting.param.configured and given is None:
        return getattr(load(), setting.name)
    pairs = next((each for each in setting.types if get_origin(each) is Mapping), None)
    if pairs is None or given is None:
        return given
    if alternatives(get_args(pairs)[1]) == (float,):
        return dict(_factor(each) for each in given)
    return _pairs(given)


def _options(group: Any) -> Iterator[inspect.Parameter]:
    declared = get_type_hints(group, include_extras=True)
    for each in fields(group):
        if each.default is MISSING:
            default = inspect.Parameter.empty
        else:
            default = each.default
        yield inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=declared[each.name]
        )


app = Commands(
    name="rifflux",
    help="Find the right passage in what you own, by words and by meaning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Example: rifflux index ~/notes && rifflux search 'how long do cache entries live'",
    **_SAME,
)


def group(name: str, help: str, *, callback_alone: bool = False) -> Commands:
    """Add a group of commands to the application; with `callback_alone` it also runs without a command."""
    made = Commands(
        name=name, help=help, no_args_is_help=not callback_alone, invoke_without_command=callback_alone, **_SAME
    )
    app.add_typer(made)
    return made


def _version(wanted: bool) -> None:
    if wanted:
        from rifflux import __version__

        typer.echo(f"rifflux {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Find the right passage in what you own, by words and by meaning."""


# Options that several commands share, each declared once, and groups of them

#: The pattern of a reranker's name; anything else after the option is the next argument.
_NAME = re.compile(r"[a-z]+(-[a-z]+)*")
#: Lines behind a path: `notes/cache.md:10-40`.
_LINES = re.compile(r":\d+(-\d+)?\Z")

Embed = Annotated[bool, typer.Option("--embed/--no-embed", help="Make vectors, for searching by meaning.")]
Explain = Annotated[bool, typer.Option("--explain", help="Tell why each result ranked where it did.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RerankModel = Annotated[
    str | None, typer.Option(help="Rerank by this cross-encoder: a folder, or a fetched name.", metavar="MODEL")
]
Synonyms = Annotated[
    str | None, typer.Option(help="A file of words that stand for each other: a, b or a => b.", metavar="FILE")
]
Threads = Annotated[int | None, typer.Option(help="Processor cores to use.  [default: all]", min=1)]
WorksOf = Annotated[str, typer.Option("--user", help="Whose works.  [default: those of nobody in particular]")]
# Judged collections, the same for `eval` and `tune`.
Qrels = Annotated[str, typer.Option(help="Which judgements: the file qrels/NAME.tsv.", metavar="NAME")]
SharedField = Annotated[
    str | None, typer.Option(help="Ask only among documents that share this metadata.", metavar="FIELD")
]


@dataclass(frozen=True)
class IndexOptions:
    """The index of a command."""

    db: Annotated[
        str | None,
        typer.Option("--db", help="The index file.  [default: the nearest .rifflux/index.db]", metavar="FILE"),
    ] = None
    state: Annotated[
        str | None,
        typer.Option(
            help="A file for tokens, usage and feedback; the index is only read then.  [default: the index]",
            metavar="FILE",
        ),
    ] = None

    def settings(self, **flags: Any) -> Settings:
        """Return the effective settings; options and `flags` take precedence."""
        known = {each.name for each in fields(Settings)}
        return load(**{name: value for name, value in vars(self).items() if name in known}, **flags)

    @contextmanager
    def opened(self, user: str = "", *, create: bool = False, profile: str = "files", **flags: Any) -> Iterator[Index]:
        """Open a user's view of the configured index."""
        with show.late_progress() as progress:
            opening = open_configured(self.settings(**flags), create=create, profile=profile, progress=progress)
        with opening as index:
            yield view_of(index, user)

    def registry(self, *, create: bool = False) -> AbstractContextManager[Registry]:
        """Open the registry of the configured index."""
        from rifflux.service.registry import open_registry

        settings = self.settings()
        return open_registry(settings.location(create=create), create=create, state=settings.state)


@dataclass(frozen=True)
class WhoseOptions(IndexOptions):
    """The index of a command, and the user whose view it has."""

    user: Annotated[
        str, typer.Option("--user", help="As this user has it.  [default: what belongs to nobody in particular]")
    ] = ""

    @contextmanager
    def opened(self, user: str = "", *, create: bool = False, profile: str = "files", **flags: Any) -> Iterator[Index]:
        """Open the view of the user in the options."""
        with super().opened(user or self.user, create=create, profile=profile, **flags) as index:
            yield index


@dataclass(frozen=True)
class CommonOptions(IndexOptions):
    """The index of a command, and its output."""

    json: Json = False


@dataclass(frozen=True)
class EngineOptions(IndexOptions):
    """The index of a command, and the model to open it with."""

    model: Annotated[
        str | None, typer.Option(help="Embedding model: a name, a folder or openai:NAME.  [default: the bundled one]")
    ] = None
    threads: Threads = None


@dataclass(frozen=True)
class OpenOptions(EngineOptions, CommonOptions):
    """The index of a command, the model to open it with, and its output."""


@dataclass(frozen=True)
class WhoseCommonOptions(CommonOptions, WhoseOptions):
    """The index of a command, the user whose view it has, and its output."""


@dataclass(frozen=True)
class QuestionOptions(OpenOptions, WhoseOptions):
    """The options of a question, the same for `search` and `why`."""

    rerank_model: RerankModel = None
    synonyms: Synonyms = None

    def arguments(self, request: SearchRequest | WhyRequest) -> dict[str, Any]:
        """Return the settings of a request; naming a cross-encoder chooses that reranker."""
        if self.rerank_model is None:
            return vars(request)
        if request.rerank not in (None, "cross-encoder"):
            raise typer.BadParameter(f"{request.rerank} takes no model: leave one out", param_hint="--rerank-model")
        return vars(request) | {"rerank": "cross-encoder"}


def _factor(item: str) -> tuple[str, float]:
    name, _, value = item.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise typer.BadParameter(f"{item!r} is not NAME=FACTOR", param_hint="--boost") from None


def _pairs(items: list[str]) -> dict[str, list[str | int | float]]:
    """Read FIELD=VALUE options; values of one field are alternatives, and a number matches as text or as a number."""
    pairs: dict[str, list[str | int | float]] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{item!r} is not FIELD=VALUE", param_hint="--where")
        pairs.setdefault(name, []).extend(_meanings(value))
    return pairs


def _meanings(value: str) -> list[str | int | float]:
    for number in (int, float):
        try:
            return [value, number(value)]
        except ValueError:
            continue
    return [value]


class RerankByDefault(_Command):
    """A command whose `--rerank` means the default reranker where no lower-case name follows."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the name filled in."""
        if "--" in args:
            literal = args.index("--")
        else:
            literal = len(args)
        for place in [place for place, argument in enumerate(args[:literal]) if argument == "--rerank"]:
            if not _NAME.fullmatch("".join(args[place + 1 : place + 2])):
                from rifflux.retrieve.steps.rerank import DEFAULT_RERANKER

                args[place] = f"--rerank={DEFAULT_RERANKER}"
        return super().parse_args(ctx, args)


def local(id: str, index: Index) -> str:
    """Return a path as the index knows it: relative to the working directory if that is indexed.

    Lines behind it stay: `notes/cache.md:10-40`.
    """
    if Path(id).is_file() or not (found := _LINES.search(id)):
        lines = ""
    else:
        lines = found.group()
    if "\0" in id:
        here = ""
    else:
        here = str(Path(id.removesuffix(lines)).resolve())
    if here in index:
        return here + lines
    return id
