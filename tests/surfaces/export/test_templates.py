"""The files of `deploy/` and those of an export are made from the same templates."""

from __future__ import annotations

from importlib.resources import files

import pytest
from jinja2 import UndefinedError
from scripts.deploy import FILES, ROOT, rendered

from rifflux.surfaces.export.render import render


@pytest.mark.parametrize("name", sorted(FILES))
def test_deploy_is_what_the_templates_give(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == rendered()[name], "run 'python scripts/deploy.py'"


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("run.sh", {})


def test_every_template_is_in_the_package() -> None:
    names = {each.name for each in files("rifflux.surfaces.export").joinpath("templates").iterdir()}
    assert names == {"Dockerfile", "README.md", "compose.yaml", "rifflux.service", "run.sh"}
