"""Files made from templates: those of an export, and those of `deploy/` in the repository, from the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

__all__ = ["render"]

_ALONE = re.compile(r"^(?:# )?\{\{ (\w+) \}\}\n", re.MULTILINE)
_NAME = re.compile(r"\{\{ (\w+) \}\}")


def render(template: str, values: Mapping[str, object]) -> str:
    """Return a template with `{{ name }}` replaced by values; a line that is one name goes where its value is empty."""
    text = files("rifflux.surfaces.export").joinpath("templates", template).read_text("utf-8")
    text = _ALONE.sub(lambda found: found[0] if values[found[1]] else "", text)
    return _NAME.sub(lambda found: str(values[found[1]]), text)
