"""Requests: a setting that is declared once is known on every surface."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import pytest

import rifflux
from rifflux.errors import InvalidArgument
from rifflux.index.documents import Documents
from rifflux.requests import (
    TEXT_FORMATS,
    WORK_FORMATS,
    FileRequest,
    FilterSettings,
    Param,
    SearchRequest,
    WorksFileRequest,
    takes,
)
from rifflux.surfaces.cli.app import option
from rifflux.surfaces.http.bodies import model_of, query_parameter, request_of
from rifflux.surfaces.mcp.tool import parameter
from rifflux.surfaces.shared.declared import built, leaves
from rifflux.works.retrieval.retriever import WorksRetriever


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


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (rifflux.Index.search, {"query", "top_k", "filter", "symbol"}),
        (rifflux.Index.answer, {"question", "history", "filter", "extract"}),
        (rifflux.Index.answering, {"question", "history", "filter", "gone"}),
        (WorksRetriever.__call__, {"query", "top_k", "filter", "cite"}),
        (rifflux.Memories.edit, {"id", "text", "importance"}),
        (rifflux.Conversations.edit, {"id", "title"}),
        (rifflux.Conversations.add_message, {"conversation_id", "text", "embed"}),
        (rifflux.Conversations.edit_message, {"conversation_id", "id", "role", "embed"}),
    ],
    ids=lambda each: getattr(each, "__qualname__", ""),
)
def test_a_method_that_takes_a_request_has_its_settings_as_arguments(
    method: Callable[..., object], settings: set[str]
) -> None:
    assert settings <= set(inspect.signature(method).parameters)


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


@dataclass(frozen=True)
class LongerRequest(SearchRequest):
    """A search with one more setting."""

    _: KW_ONLY
    patience: Annotated[int, Param(help="How long to wait", ge=1, le=9)] = 3


def test_a_new_field_is_a_setting_of_every_surface() -> None:
    class Caller:
        @takes(LongerRequest)
        def search(self, request: LongerRequest) -> int:
            return request.patience

    setting = next(each for each in leaves(LongerRequest) if each.name == "patience")
    assert Caller().search("cache", patience=4) == 4
    assert request_of(LongerRequest, model_of(LongerRequest).model_validate({"patience": 5})).patience == 5
    assert (option(setting).name, parameter("search", setting).default) == ("patience", 3)
    assert query_parameter(setting).default == 3
    with pytest.raises(InvalidArgument, match="patience must be a whole number from 1 to 9"):
        Caller().search("cache", patience=10)


def test_the_formats_of_works_are_those_that_can_be_imported() -> None:
    from rifflux.works.importers import TEXTS
    from rifflux.works.profile import WORKS

    assert sorted(TEXT_FORMATS) == sorted(TEXTS)
    assert sorted(WORK_FORMATS) == sorted(WORKS.formats)


def test_settings_of_python_alone_are_no_part_of_other_surfaces() -> None:
    assert "intake" in inspect.signature(Documents.upload).parameters
    assert not {"intake", "key", "new"} & model_of(FileRequest).model_fields.keys()
    assert "embed_seconds" not in {each.name for each in leaves(WorksFileRequest)}
