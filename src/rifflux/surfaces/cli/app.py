"""The application that every command module adds its commands to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

__all__ = ["Commands", "app", "group"]

Function = TypeVar("Function", bound=Callable[..., Any])
_SAME: dict[str, Any] = {"rich_markup_mode": None, "context_settings": {"help_option_names": ["-h", "--help"]}}
#: Options that most commands have; each shows them last, in this order.
_COMMON = ("db", "model", "threads", "json")


class Commands(typer.Typer):
    """Commands whose parameters may be groups of options: a dataclass stands for its fields."""

    def command(self, name: str | None = None, **about: Any) -> Callable[[Function], Function]:
        """Add a function as a command; it stays as it is for callers in Python."""

        def add(function: Function) -> Function:
            super(Commands, self).command(name, **about)(_flat(function))
            return function

        return add


def _flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with the options of each group in place of the group."""
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


def _options(group: Any) -> Iterator[inspect.Parameter]:
    declared = get_type_hints(group, include_extras=True)
    for each in fields(group):
        default = inspect.Parameter.empty if each.default is MISSING else each.default
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
