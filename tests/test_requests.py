"""Requests: a setting that is declared once is known on every surface."""

from __future__ import annotations

import inspect

import pytest

import rifflux
from rifflux.errors import InvalidArgument
from rifflux.requests import FilterSettings, SearchRequest
from rifflux.surfaces.cli.app import option
from rifflux.surfaces.http.bodies import model_of, request_of
from rifflux.surfaces.mcp.tool import parameter
from rifflux.surfaces.shared.declared import built, leaves


def test_a_setting_is_a_key_of_bodies_an_argument_of_tools_and_an_option() -> None:
    body = model_of(SearchRequest).model_validate({"query": "cache", "filter": {"not_kinds": ["code"]}})
    assert request_of(SearchRequest, body).filter.not_kinds == ("code",)
    settings = {each.name: each for each in leaves(SearchRequest)}
    assert parameter("search", settings["not_kinds"]).name == "not_kinds"
    (about,) = option(settings["not_kinds"]).annotation.__metadata__
    assert "--not-kind" in (about.default, *about.param_decls)
    values = dict.fromkeys(settings) | {"query": "cache", "not_kinds": ["code"]}
    assert built(SearchRequest, values).filter == FilterSettings(not_kinds=("code",)).filter()


@pytest.mark.parametrize(
    "wrong", [{"top_k": 0}, {"top_k": True}, {"mode": "psychic"}, {"deadline_ms": 0}, {"collapse": "yes"}]
)
def test_a_value_out_of_bounds_is_refused_where_the_request_is_made(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(InvalidArgument, match=name):
        SearchRequest("cache", **wrong)  # type: ignore[arg-type]


def test_a_method_that_takes_a_request_has_its_settings_as_arguments() -> None:
    from rifflux import Index

    assert {"query", "top_k", "filter", "symbol"} <= set(inspect.signature(Index.search).parameters)


def test_a_signature_shows_the_types_that_callers_pass() -> None:
    parameters = inspect.signature(rifflux.Index.search).parameters
    assert parameters["top_k"].annotation == "int"
    assert parameters["query"].annotation == "str"
    assert parameters["fusion"].annotation == "str | Fuse | None"
    assert not [each for each in parameters.values() if "Param" in str(each) or "replace" in str(each)]


def test_a_search_within_documents_is_the_same_on_every_surface() -> None:
    settings = {each.name: each for each in leaves(SearchRequest)}
    body = model_of(SearchRequest).model_validate({"query": "heron", "filter": {"documents": ["pond.md"]}})
    values = dict.fromkeys(settings) | {"query": "heron", "documents": ["pond.md"]}
    (about,) = option(settings["documents"]).annotation.__metadata__
    assert "--document" in (about.default, *about.param_decls)
    with rifflux.open(":memory:", model="hash") as index:
        index.add({"key": "pond.md", "text": "A heron in the pond."}, {"key": "lake.md", "text": "A heron."})
        for request in (request_of(SearchRequest, body), built(SearchRequest, values)):
            assert [hit.key for hit in index.search(**vars(request))] == ["pond.md"]
        assert [hit.key for hit in index.search("heron", filter={"documents": "lake.md"})] == ["lake.md"]
