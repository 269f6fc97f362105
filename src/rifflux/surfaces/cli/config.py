"""`rifflux config`: the effective settings, and policies for everybody."""

from __future__ import annotations

import json as codec
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, Json, group
from rifflux.surfaces.shared.config import load

#: The maximum width of a column of values.
_WIDEST = 40
SettingOf = Annotated[str, typer.Option("--user", help="Whose own setting.  [default: that of nobody in particular]")]

settings = group(
    "config",
    """Show the settings in force and where each comes from.

    Defaults are overridden by .rifflux/config.toml, that by RIFFLUX_* variables, those by flags.

    get, set and list are about what an administrator decides for everybody who uses an index; that is kept in it.""",
    callback_alone=True,
)


@settings.callback()
def config(context: typer.Context, as_json: Json = False) -> None:
    """Show the effective settings, unless a command follows."""
    if context.invoked_subcommand is not None:
        return
    found = load()
    values = found.redacted()
    if as_json:
        show.print_json({"settings": values, "origins": dict(found.origins)})
        return
    texts = {name: _value(value) for name, value in values.items()}
    width = min(_WIDEST, max(map(len, texts.values())))
    show.pairs((name, f"{text:<{width}}  {found.origins.get(name, 'default')}") for name, text in texts.items())


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        if value:
            return codec.dumps(value)
        return ""
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value)


@settings.command("get", epilog="Example: rifflux config get hybrid_search")
def get_policy(
    here: CommonOptions, name: Annotated[str, typer.Argument(help="What to tell.")], user: SettingOf = ""
) -> None:
    """Print a policy of the index."""
    with here.opened(user) as index:
        _print({name: index.policies.get(name)}, as_json=here.json)


@settings.command(
    "set",
    epilog="""Examples:

rifflux config set hybrid_search on

rifflux config set licenses "publisher-specific-oa=text, CC-BY-NC*=nothing"

rifflux config set own_texts on --user ann""",
)
def set_policy(
    here: CommonOptions,
    name: Annotated[str, typer.Argument(help="What to change; 'rifflux config list' has all.")],
    value: Annotated[str, typer.Argument(help="on, off, or as said above.")],
    user: SettingOf = "",
) -> None:
    """Set a policy for everybody who uses the index, or your own.

    hybrid_search: on or off. licenses: what more licenses let be shown, NAME=text, abstract or nothing with commas
    between, or JSON; a NAME may end in *. facts: owner, everyone or nobody is told the author, year and venue of a work
    without a license. own_texts: on or off, for the texts of your own works that no license opens.
    """
    with here.opened(user) as index:
        index.policies.set(name, value)
        _print({name: index.policies.get(name)}, as_json=here.json)


@settings.command("list")
def list_policies(here: CommonOptions, user: SettingOf = "") -> None:
    """List the policies of the index."""
    with here.opened(user) as index:
        _print(index.policies.all(), as_json=here.json)


def _print(values: Mapping[str, Any], *, as_json: bool) -> None:
    from rifflux.session.policies import POLICIES

    if as_json:
        show.print_json({name: POLICIES[name].as_json(value) for name, value in values.items()})
    else:
        written = {name: POLICIES[name].write(value) for name, value in values.items()}
        width = max(map(len, written.values()))
        show.pairs((name, f"{value:<{width}}  {POLICIES[name].help}") for name, value in written.items())
