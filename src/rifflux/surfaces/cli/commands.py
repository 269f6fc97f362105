"""The commands. Each is a few lines around a call of Index."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rifflux.errors import NotFound
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.options import RerankByDefault
from rifflux.surfaces.shared.config import Settings, load
from rifflux.surfaces.shared.opening import configured_model, configured_rerankers, open_configured

if TYPE_CHECKING:
    from rifflux.index import Index
    from rifflux.ingest.walk.find import Finder
    from rifflux.types import IndexReport

__all__ = ["app"]

app = typer.Typer(
    name="rifflux",
    help="Find the right passage in what you own, by words and by meaning.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: rifflux index ~/notes && rifflux search 'how long do cache entries live'",
)

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
# How a question is asked and narrowed, the same for `search` and for `why`, which explains it.
Mode = Annotated[str | None, typer.Option(help="lexical, semantic, hybrid or hybrid-rerank.  [default: hybrid]")]
Fusion = Annotated[str | None, typer.Option(help="How the channels are fused.  [default: the profile's]")]
Paths = Annotated[list[str] | None, typer.Option(help="Only paths that match, such as 'notes/**'.")]
Kinds = Annotated[list[str] | None, typer.Option(help="Only this kind: markdown, pdf, code, ...")]
Since = Annotated[str | None, typer.Option(help="Not older than this date.", metavar="DATE")]
Until = Annotated[str | None, typer.Option(help="Not newer than this date.", metavar="DATE")]
Where = Annotated[list[str] | None, typer.Option(help="Only this metadata.", metavar="FIELD=VALUE")]


@app.command(epilog="Example: rifflux index ~/notes ~/papers")
def index(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Folders and files.  [default: those indexed before]")
    ] = None,
    db: Db = None,
    model: Model = None,
    threads: Threads = None,
    embed: Annotated[bool, typer.Option("--embed/--no-embed", help="Make vectors, for searching by meaning.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Read even unchanged files.")] = False,
    prune: Annotated[bool, typer.Option("--prune/--no-prune", help="Forget what is gone from the folders.")] = True,
    hidden: Annotated[bool | None, typer.Option("--hidden", help="Index hidden files too.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave out what matches, as in .gitignore.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Then follow all files of the index as they change.")] = False,
    json: Json = False,
) -> None:
    """Create or update the index; only what changed is read.

    Respects .gitignore and .riffluxignore. Exit status 1 if some file could not be read. With --watch, what is saved is
    found within a second, until Ctrl-C; --json prints a line each time that something was done.
    """
    from rifflux.surfaces.cli.progress import progress_bar

    settings = load(db=db, model=model, threads=threads, hidden=hidden, exclude=tuple(exclude) if exclude else None)
    if (
        paths
        and not any(path.expanduser().exists() for path in paths)
        and not settings.index_path(create=True).exists()
    ):
        # Nothing to index and nothing to update: a misspelt path should not leave an empty index behind.
        raise NotFound(f"nothing at {paths[0]}: check the path's spelling")
    # Nearly everything that indexing makes goes by itself; looking for cycles all the time takes a tenth of the run.
    gc.set_threshold(50_000, 20, 50)
    finder = _finder(settings)
    with open_configured(settings, create=bool(paths)) as index:
        if settings.facets:
            index.admin.declare_facets(*settings.facets)
        add = partial(index.add, *paths) if paths else index.update
        processes = settings.threads or None
        with progress_bar() as progress:
            report = add(embed=embed, force=force, prune=prune, progress=progress, finder=finder, processes=processes)
        show.report(report, as_json=json, one_line=watch)
        if watch:
            _follow(index.watch(embed=embed, finder=finder), as_json=json)
    if report.failed and not watch:
        raise typer.Exit(1)


def _follow(reports: Iterator[IndexReport], *, as_json: bool) -> None:
    """Print reports until the user or the system has enough."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        # The first brings up to date what changed since the run before; mostly that is nothing.
        for place, report in enumerate(reports):
            if place or report.indexed_files or report.deleted_files:
                show.followed(report, as_json=as_json)


def _finder(settings: Settings) -> Finder:
    from rifflux.ingest.walk.find import Finder

    return Finder(int(settings.max_file_mb * 2**20), hidden=settings.hidden, exclude=settings.exclude)


@app.command(
    epilog="""Examples:  rifflux search "how long do cache entries live" -k 5

rifflux search '"exact phrase" -without prefix* kind:markdown' --mode lexical

rifflux search "how long do cache entries live" --rerank maxsim --deadline-ms 200""",
    cls=RerankByDefault,
)
def search(
    query: Annotated[str, typer.Argument(help='Words, a "phrase", -without, prefix*, field:value.')],
    top_k: Annotated[
        int | None, typer.Option("-k", "--top-k", help="How many results, 1 to 1000.  [default: 10]")
    ] = None,
    mode: Mode = None,
    fusion: Fusion = None,
    rerank: Annotated[
        str | None,
        typer.Option(help="Reorder the best: features (if no NAME), maxsim, cross-encoder or llm.", metavar="[NAME]"),
    ] = None,
    deadline_ms: Annotated[
        float | None, typer.Option("--deadline-ms", help="Leave out reranking that takes longer.", metavar="MS")
    ] = None,
    path: Paths = None,
    kind: Kinds = None,
    since: Since = None,
    until: Until = None,
    where: Where = None,
    min_score: Annotated[
        float | None, typer.Option(help="Leave out hits of less relevance, 0 to 1: from .7 medium, from .85 high.")
    ] = None,
    one_per_document: Annotated[
        bool, typer.Option("--one-per-document", help="Only the best passage of each document.")
    ] = False,
    diversify: Annotated[
        bool, typer.Option("--diversify", help="Prefer passages that are unlike those above them.")
    ] = False,
    collapse: Annotated[bool, typer.Option("--collapse", help="Leave out near-duplicates of better passages.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Tell why each result ranked where it did.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Print whole passages.")] = False,
    fail_empty: Annotated[bool, typer.Option("--fail-empty", help="Exit status 1 if nothing is found.")] = False,
    synonyms: Synonyms = None,
    db: Db = None,
    model: Model = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Find the best passages for a question, by words and by meaning."""
    settings = load(db=db, model=model, threads=threads, top_k=top_k, mode=mode, synonyms=synonyms)
    with open_configured(settings) as index:
        results = index.search(
            query,
            top_k=settings.top_k,
            mode=settings.mode,
            fusion=fusion,
            rerank=rerank,
            filter=_filter(path, kind, since, until, where),
            deadline_ms=deadline_ms,
            min_score=min_score,
            group="document" if one_per_document else None,
            diversify=diversify or None,
            collapse=collapse or None,
        )
        show.results(results, index.profile.analyzer, as_json=json, explain=explain, full=full)
    if fail_empty and not results:
        raise typer.Exit(1)


def _filter(
    paths: list[str] | None, kinds: list[str] | None, since: str | None, until: str | None, where: list[str] | None
) -> dict[str, Any]:
    """The filter that options ask for."""
    return {
        "paths": tuple(paths or ()),
        "kinds": tuple(kinds or ()),
        "since": since,
        "until": until,
        "metadata": _pairs(where or []),
    }


def _pairs(items: list[str]) -> dict[str, list[str | int | float]]:
    """FIELD=VALUE options; values of one field are alternatives, and a number is meant as text or as a number."""
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


@app.command(epilog="Example: rifflux get notes/cache.md")
def get(
    id: Annotated[
        str, typer.Argument(help="A chunk id, or a document's path, key or identifier.", metavar="CHUNK_OR_PATH")
    ],
    db: Db = None,
    json: Json = False,
) -> None:
    """Print a chunk or a whole document."""
    with open_configured(load(db=db)) as index:
        show.item(index.get(_local(id, index)), as_json=json)


def _local(id: str, index: Index) -> str:
    """A path as the index knows it: one relative to the working directory is meant where it exists."""
    path = Path(id)
    known = index.admin.store.catalog.find_documents(str(path.resolve())) if path.is_file() else []
    return str(path.resolve()) if known else id


@app.command()
def status(db: Db = None, json: Json = False) -> None:
    """Show what the index holds."""
    with open_configured(load(db=db)) as index:
        show.status(index.status(), as_json=json)


settings = typer.Typer(
    help="""Show the settings in force and where each comes from.

    Defaults are overridden by .rifflux/config.toml, that by RIFFLUX_* variables, those by flags.

    get, set and list are about what an administrator decides for everybody who uses an index; that is kept in it.""",
    invoke_without_command=True,
)
app.add_typer(settings, name="config")


@settings.callback()
def config(context: typer.Context, json: Json = False) -> None:
    """Show the settings in force, unless a command follows."""
    if context.invoked_subcommand is None:
        show.config(load(), as_json=json)


@settings.command("get", epilog="Example: rifflux config get hybrid_search")
def get_policy(name: Annotated[str, typer.Argument(help="What to tell.")], db: Db = None, json: Json = False) -> None:
    """Tell whether something is on for everybody who uses the index."""
    with open_configured(load(db=db)) as index:
        show.policies({name: index.admin.policies.get(name)}, as_json=json)


@settings.command("set", epilog="Example: rifflux config set hybrid_search on")
def set_policy(
    name: Annotated[str, typer.Argument(help="What to change; 'rifflux config list' has all.")],
    value: Annotated[str, typer.Argument(help="on or off.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Turn something on or off for everybody who uses the index."""
    with open_configured(load(db=db)) as index:
        index.admin.policies.set(name, value)
        show.policies({name: index.admin.policies.get(name)}, as_json=json)


@settings.command("list")
def list_policies(db: Db = None, json: Json = False) -> None:
    """List what an administrator decides for everybody who uses the index."""
    with open_configured(load(db=db)) as index:
        show.policies(index.admin.policies.all(), as_json=json)


@app.command(epilog="Example: rifflux mcp --http 127.0.0.1:8765")
def mcp(
    db: Db = None,
    model: Model = None,
    threads: Threads = None,
    root: Annotated[
        list[Path] | None, typer.Option(help="A folder that reindex may read.  [default: the working directory]")
    ] = None,
    http: Annotated[
        str | None, typer.Option(help="Serve streamable HTTP here.  [default: stdio]", metavar="HOST:PORT")
    ] = None,
    user: Annotated[str, typer.Option(help="Whose memories the agent keeps.")] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Follow all files of the index as they change.")] = False,
) -> None:
    """Serve the index to agents over the Model Context Protocol: they search it, and keep memories in it."""
    from rifflux.surfaces.mcp import serve

    settings = load(db=db, model=model, threads=threads)
    serve(
        settings.index_path(create=True),
        model=configured_model(settings),
        threads=settings.threads or None,
        roots=root or [Path.cwd()],
        finder=_finder(settings),
        rerankers=configured_rerankers(settings),
        synonyms=settings.synonyms or None,
        intents=settings.intents,
        http=_address(http) if http else None,
        user=user,
        watch=watch,
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) <= 65535:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT", param_hint="--http")
    return host.strip("[]") or "127.0.0.1", int(port)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"rifflux {version('rifflux')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Find the right passage in what you own, by words and by meaning."""
