"""Files rendered from templates, for exports and for `deploy/` in the repository."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, values: Mapping[str, object]) -> str:
    """Render a template; a missing value is an error."""
    # These are not web pages, so nothing is escaped.
    environment = Environment(
        loader=PackageLoader("rifflux.surfaces.export"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        autoescape=False,
    )
    return environment.get_template(template).render(values)
