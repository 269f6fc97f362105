"""The application that every command module adds its commands to."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["app", "group"]

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
