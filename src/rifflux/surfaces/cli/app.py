"""The application that every command module adds its commands to, and the options that several of them share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from rifflux.surfaces.shared.config import Settings, load, open_configured, view_of

if TYPE_CHECKING:
    from rifflux import Filter, Finder, Index
    from rifflux.service.registry import Registry

__all__ = ["RerankByDefault", "app", "filter_of", "finder", "group", "local", "opened", "registry", "with_default"]

_HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="rifflux",
    help="Find the right passage in what you own, by words and by meaning.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
    epilog="Example: rifflux index ~/notes && rifflux search 'how long do cache entries live'",
)


def group(name: str, help: str, *, callback_alone: bool = False) -> typer.Typer:
    """Add a group of commands to the application; with `callback_alone` it also runs without a command."""
    made = typer.Typer(
        name=name,
        help=help,
        no_args_is_help=not callback_alone,
        invoke_without_command=callback_alone,
        rich_markup_mode=None,
        context_settings=_HELP,
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


Db = Annotated[
    str | None, typer.Option("--db", help="The index file.  [default: the nearest .rifflux/index.db]", metavar="FILE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Model = Annotated[
    str | None, typer.Option(help="Embedding model: a name, a folder or openai:NAME.  [default: the bundled one]")
]
Threads = Annotated[int | None, typer.Option(help="Processor cores to use.  [default: all]", min=1)]
Synonyms = Annotated[
    str | None, typer.Option(help="A file of words that stand for each other: a, b or a => b.", metavar="FILE")
]
Embed = Annotated[bool, typer.Option("--embed/--no-embed", help="Make vectors, for searching by meaning.")]
Explain = Annotated[bool, typer.Option("--explain", help="Tell why each result ranked where it did.")]
# How a question is asked and narrowed, the same for `search` and for `why`, which explains it.
Mode = Annotated[str | None, typer.Option(help="lexical, semantic, hybrid or hybrid-rerank.  [default: hybrid]")]
Fusion = Annotated[str | None, typer.Option(help="How the channels are fused.  [default: the profile's]")]
Paths = Annotated[list[str] | None, typer.Option(help="Only paths that match, such as 'notes/**'.")]
Kinds = Annotated[list[str] | None, typer.Option(help="Only this kind: markdown, pdf, code, ...")]
Since = Annotated[str | None, typer.Option(help="Not older than this date.", metavar="DATE")]
Until = Annotated[str | None, typer.Option(help="Not newer than this date.", metavar="DATE")]
Where = Annotated[list[str] | None, typer.Option(help="Only this metadata.", metavar="FIELD=VALUE")]
# Judged collections, the same for `eval` and `tune`.
Qrels = Annotated[str, typer.Option(help="Which judgements: the file qrels/NAME.tsv.", metavar="NAME")]
SharedField = Annotated[
    str | None, typer.Option(help="Ask only among documents that share this metadata.", metavar="FIELD")
]

#: What a reranker may be called; anything else after the option is the next argument.
_NAME = re.compile(r"[a-z]+(-[a-z]+)*")


class RerankByDefault(TyperCommand):
    """A command whose `--rerank` means the default reranker where no name follows."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the name filled in."""
        if "--rerank" not in args:
            return super().parse_args(ctx, args)
        from rifflux import DEFAULT_RERANKER

        return super().parse_args(ctx, list(with_default(args, "--rerank", DEFAULT_RERANKER)))


def with_default(arguments: Sequence[str], option: str, value: str) -> Iterator[str]:
    """Yield the arguments, with a value for each `option` that no lower-case name follows."""
    literal = False
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        literal = literal or argument == "--"
        bare = argument == option and not literal and not _NAME.fullmatch(following)
        yield f"{option}={value}" if bare else argument


def filter_of(
    paths: list[str] | None, kinds: list[str] | None, since: str | None, until: str | None, where: list[str] | None
) -> Filter:
    """Return the filter that options ask for."""
    from rifflux import Filter

    return Filter(tuple(paths or ()), tuple(kinds or ()), since, until, _pairs(where or []))


def _pairs(items: list[str]) -> dict[str, list[str | int | float]]:
    """Read FIELD=VALUE options; values of one field are alternatives, and a number is meant as text or as a number."""
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


def local(id: str, index: Index) -> str:
    """Return a path as the index knows it: one relative to the working directory is meant where it exists."""
    path = Path(id)
    return here if path.is_file() and index.admin.holds(here := str(path.resolve())) else id


def finder(settings: Settings) -> Finder:
    """Return the finder of files that the settings describe."""
    from rifflux import Finder

    return Finder(int(settings.max_file_mb * 2**20), hidden=settings.hidden, exclude=settings.exclude)


@contextmanager
def opened(user: str = "", *, create: bool = False, profile: str = "files", **flags: object) -> Iterator[Index]:
    """Open the index that flags and other settings name, as a user has it."""
    with open_configured(load(None, **flags), create=create, profile=profile) as index:
        yield view_of(index, user)


def registry(db: str | None, *, create: bool = False) -> AbstractContextManager[Registry]:
    """Open the registry of the index that a flag or other settings name."""
    from rifflux.service.registry import open_registry

    return open_registry(load(db=db).index_path(create=create), create=create)
