"""The options that several commands share, each declared once, and groups of them, which do what they are for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from rifflux.surfaces.shared.config import Settings, load, open_configured, view_of

if TYPE_CHECKING:
    from rifflux import Filter, Finder, Index
    from rifflux.service.registry import Registry

#: What a reranker may be called; anything else after the option is the next argument.
_NAME = re.compile(r"[a-z]+(-[a-z]+)*")
_LINES = re.compile(r":\d+(-\d+)?\Z")

Embed = Annotated[bool, typer.Option("--embed/--no-embed", help="Make vectors, for searching by meaning.")]
Explain = Annotated[bool, typer.Option("--explain", help="Tell why each result ranked where it did.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Query = Annotated[str, typer.Argument(help='Words, a "phrase", -without, prefix*, field:value.')]
Since = Annotated[str | None, typer.Option(help="Not older than this date.", metavar="DATE")]
Until = Annotated[str | None, typer.Option(help="Not newer than this date.", metavar="DATE")]
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
class Place:
    """Which index a command is about."""

    db: Annotated[
        str | None,
        typer.Option("--db", help="The index file.  [default: the nearest .rifflux/index.db]", metavar="FILE"),
    ] = None

    def settings(self, **flags: Any) -> Settings:
        """Return the settings in force, those among the options and `flags` first."""
        known = {each.name for each in fields(Settings)}
        return load(**{name: value for name, value in vars(self).items() if name in known}, **flags)

    @contextmanager
    def opened(self, user: str = "", *, create: bool = False, profile: str = "files", **flags: Any) -> Iterator[Index]:
        """Open the index that the options and other settings name, as a user has it."""
        with open_configured(self.settings(**flags), create=create, profile=profile) as index:
            yield view_of(index, user)

    def registry(self, *, create: bool = False) -> AbstractContextManager[Registry]:
        """Open the registry of the index that the options and other settings name."""
        from rifflux.service.registry import open_registry

        return open_registry(self.settings().index_path(create=create), create=create)


@dataclass(frozen=True)
class Here(Place):
    """Which index a command is about, and how it prints."""

    json: Json = False


@dataclass(frozen=True)
class Engine(Place):
    """Which index a command is about, and the model to open it with."""

    model: Annotated[
        str | None, typer.Option(help="Embedding model: a name, a folder or openai:NAME.  [default: the bundled one]")
    ] = None
    threads: Threads = None


@dataclass(frozen=True)
class With(Engine, Here):
    """Which index a command is about, the model to open it with, and how it prints."""


@dataclass(frozen=True)
class Asked(With):
    """How a question is asked and narrowed, the same for `search` and for `why`, which explains it."""

    top_k: Annotated[int | None, typer.Option("-k", "--top-k", help="How many results, 1 to 1000.  [default: 10]")] = (
        None
    )
    mode: Annotated[str | None, typer.Option(help="lexical, semantic, hybrid or hybrid-rerank.  [default: hybrid]")] = (
        None
    )
    fusion: Annotated[str | None, typer.Option(help="How the channels are fused.  [default: the profile's]")] = None
    rerank: Annotated[
        str | None,
        typer.Option(help="Reorder the best: features (if no NAME), maxsim, cross-encoder or llm.", metavar="[NAME]"),
    ] = None
    path: Annotated[list[str] | None, typer.Option(help="Only paths that match, such as 'notes/**'.")] = None
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind: markdown, pdf, code, ...")] = None
    since: Since = None
    until: Until = None
    where: Annotated[list[str] | None, typer.Option(help="Only this metadata.", metavar="FIELD=VALUE")] = None
    synonyms: Synonyms = None

    def arguments(self) -> dict[str, Any]:
        """Return what `Index.search` and `Index.why` take of these, settings included."""
        settings = self.settings()
        return {
            "top_k": settings.top_k,
            "mode": settings.mode,
            "fusion": self.fusion,
            "rerank": self.rerank,
            "filter": self.filter(),
        }

    def filter(self) -> Filter:
        """Return what a result must satisfy."""
        from rifflux import Filter

        return Filter(tuple(self.path or ()), tuple(self.kind or ()), self.since, self.until, _pairs(self.where or []))


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


class RerankByDefault(TyperCommand):
    """A command whose `--rerank` means the default reranker where no lower-case name follows."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the name filled in."""
        literal = args.index("--") if "--" in args else len(args)
        for place in [place for place, argument in enumerate(args[:literal]) if argument == "--rerank"]:
            if not _NAME.fullmatch("".join(args[place + 1 : place + 2])):
                from rifflux import DEFAULT_RERANKER

                args[place] = f"--rerank={DEFAULT_RERANKER}"
        return super().parse_args(ctx, args)


def finder(settings: Settings) -> Finder:
    """Return the finder of files that the settings describe."""
    from rifflux import Finder

    return Finder(int(settings.max_file_mb * 2**20), hidden=settings.hidden, exclude=settings.exclude)


def local(id: str, index: Index) -> str:
    """Return a path as the index knows it: one relative to the working directory is meant where it exists.

    Lines behind it stay: `notes/cache.md:10-40`.
    """
    lines = "" if Path(id).is_file() or not (found := _LINES.search(id)) else found.group()
    path = Path(id.removesuffix(lines))
    return here + lines if path.is_file() and index.admin.holds(here := str(path.resolve())) else id
