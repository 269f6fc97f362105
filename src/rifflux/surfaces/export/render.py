"""Files made from templates: those of an export, and those of `deploy/` in the repository, from the same."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, values: Mapping[str, object]) -> str:
    """Return a template with its values; one that it names and that is not given is an error."""
    # These are no web pages: what is escaped there has no meaning here.
    environment = Environment(
        loader=PackageLoader("rifflux.surfaces.export"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        autoescape=False,
    )
    return environment.get_template(template).render(values)
