"""What others keep to themselves changes no answer, above and below every size at which files are derived.

Ann sends the same drawn requests to two worlds that differ only in what she may not see, over HTTP, the page without
scripts, MCP and the command line. Every byte of the answers must be equal, but for times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench.service.scopes import Compared, compare, search_words
from bench.service.strangers import STATES, SURFACES, Built, Request, built_in, drawn, worlds
from hypothesis import Phase, given
from hypothesis import strategies as st

from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import vector_index
from tests.support.exploring import examples

#: They build large indexes.
pytestmark = pytest.mark.slow

#: More chunks than any file needs that is derived from what all owners have together; vectors need no more than words.
FOREIGN = words_index.LEAST + 100
#: What Ann reads: too little for any derived file, and enough for each of them.
VISIBLE = {"few": 120, "many": FOREIGN}
REQUESTS = 40


@pytest.fixture(scope="module", params=VISIBLE)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """Two worlds of which the one with others has files that are derived from everybody's rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_index, "LEAST", words_index.LEAST)
        yield built_in(tmp_path_factory.mktemp("worlds"), visible=VISIBLE[request.param], foreign=FOREIGN)


def differences(found: Compared) -> list[tuple[Request, object, object]]:
    return found.differing[:3]


def derived_files(path: Path) -> set[str]:
    return {each.name.removeprefix(f"{path.name}.") for each in path.parent.iterdir()}


@pytest.mark.parametrize("state", STATES)
def test_every_surface_answers_alike_whatever_others_keep(built: Built, state: str) -> None:
    found = compare(built, state, REQUESTS, seed=STATES.index(state))
    assert set(found.sent) == set(SURFACES)
    assert not differences(found)


def test_no_word_comes_back_that_only_others_have(built: Built) -> None:
    found = search_words(built, 60, seed=1)
    assert {"words", "vectors"} <= derived_files(built.crowded)
    assert found.corrected
    assert not found.foreign
    assert not found.differing


def test_every_operation_and_tool_is_drawn(built: Built) -> None:
    requests = list(drawn(built, 6000, seed=1))
    with worlds(built, "missing") as (alone, _):
        paths = alone.app.openapi()["paths"]
        tools = {tool.name for tool in alone.portal.call(alone.agent.list_tools).tools}
    patterns = {
        (method.upper(), path): re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
        for path, operations in paths.items()
        for method in operations
    }
    targets = {(each.method, each.target) for each in requests if each.surface == "http"}
    missing = [
        operation
        for operation, pattern in patterns.items()
        if not any(method == operation[0] and pattern.fullmatch(target) for method, target in targets)
    ]
    assert missing == []
    assert tools == {each.target for each in requests if each.surface == "mcp"}


@contextmanager
def small_files() -> Iterator[None]:
    """Let every file be derived however little there is."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (words_index, vector_index):
            patch.setattr(module, "LEAST", 50)
        yield


@examples(3, phases=(Phase.generate,))
@given(seed=st.integers(1, 10**6), state=st.sampled_from(STATES))
def test_any_two_worlds_that_differ_in_what_is_invisible_answer_alike(
    seed: int, state: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with small_files():
        built = built_in(tmp_path_factory.mktemp("worlds"), visible=120, foreign=80, seed=seed)
        assert not differences(compare(built, state, 30, seed))
