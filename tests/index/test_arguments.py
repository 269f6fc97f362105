"""Arguments of any type: whatever cannot be meant is an error of ours, and makes no file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Bound, Document, Filter, Index, InvalidArgument, RiffluxError, Scope

WRONG: tuple[Any, ...] = (
    *(5, -1, 0, 1.5, float("nan"), True, None, b"x", "x\0y", "", [], {}, ("a",)),
    *(object(), lambda each: each),
)
#: Each call with arguments that are right, of which one after the other is not.
CALLS: dict[str, tuple[Callable[[Index], Any], tuple[Any, ...]]] = {
    "search": (lambda index: index.search, ("heron",)),
    "why": (lambda index: index.why, ("heron", "a")),
    "answer": (lambda index: index.answer, ("heron", [("user", "egret")])),
    "get": (lambda index: index.get, ("a",)),
    "document": (lambda index: index.document, ("a",)),
    "chunks": (lambda index: index.chunks, ("a",)),
    "remove": (lambda index: index.remove, ("b",)),
    "classify": (lambda index: index.classify, ("heron",)),
    "judge": (lambda index: index.judge, ("heron", "a", 1)),
    "note": (lambda index: index.note, ("click", "heron", "a")),
    "everything": (lambda index: index.everything, ("heron",)),
    "scoped": (lambda index: index.scoped, (Scope("ann"),)),
    "works": (lambda index: index.works.get, ("doi:10.1/a",)),
    "memories.add": (lambda index: index.scoped(Scope("ann")).memories.add, ("Ann drinks tea",)),
    "memories.get": (lambda index: index.scoped(Scope("ann")).memories.get, ("m1",)),
    "memories.search": (lambda index: index.scoped(Scope("ann")).memories.search, ("tea",)),
    "conversations.add": (lambda index: index.scoped(Scope("ann")).conversations.add, ("tea",)),
    "conversations.add_message": (lambda index: index.scoped(Scope("ann")).conversations.add_message, ("c", "tea")),
}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(Document("a", "A heron stands in the river."), Document("b", "An egret."))
        yield index


def only_ours(call: Callable[..., object], *arguments: Any, **named: Any) -> None:
    """Call, and let pass what is an error of ours, or no error."""
    with suppress(RiffluxError):
        call(*arguments, **named)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_an_argument_of_another_type(index: Index, name: str) -> None:
    choose, right = CALLS[name]
    call = choose(index)
    named = [each.name for each in inspect.signature(call).parameters.values() if each.kind == each.KEYWORD_ONLY]
    for wrong in WRONG:
        for place in range(len(right)):
            only_ours(call, *right[:place], wrong, *right[place + 1 :])
        for argument in named:
            only_ours(call, *right, **{argument: wrong})


@pytest.mark.parametrize("field", Filter.__dataclass_fields__)
def test_a_filter(index: Index, field: str) -> None:
    for wrong in WRONG:
        only_ours(index.search, "heron", filter={field: wrong})


@pytest.mark.parametrize("field", ["key", "text", "title", "kind", "created_at", "updated_at", "metadata", "links"])
def test_a_document(index: Index, field: str) -> None:
    for wrong in WRONG:
        given: dict[str, Any] = {"key": "c", "text": "An ibis."} | {field: wrong}
        only_ours(index.add, Document(**given))


def opened_and_closed(**arguments: Any) -> None:
    rifflux.open(":memory:", **arguments).close()


@pytest.mark.parametrize("text", ["x\0y", "\ud800"])
@pytest.mark.parametrize(
    "filter",
    [
        lambda text: Filter(metadata={text: 1}),
        lambda text: Filter(without=(text,)),
        lambda text: Filter(bounds=(Bound(text, least=1.0),)),
    ],
    ids=["metadata", "without", "bounds"],
)
def test_what_is_no_name_of_a_field(index: Index, filter: Callable[[str], Filter], text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"is not a field name|unpaired surrogate"):
        index.search("heron", filter=filter(text))


@pytest.mark.parametrize("filter", [Filter(kinds=("\ud800",)), Filter(metadata={"project": "\ud800"})])
def test_text_of_a_filter_that_no_document_holds(index: Index, filter: Filter) -> None:
    with pytest.raises(InvalidArgument, match=r"surrogate|cannot compare"):
        index.search("heron", filter=filter)


OPENING = sorted(each for each in inspect.signature(rifflux.open).parameters if each not in ("path", "create"))


@pytest.mark.parametrize("argument", OPENING)
def test_opening(argument: str) -> None:
    for wrong in WRONG:
        only_ours(opened_and_closed, **{argument: wrong})


@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: type(each).__name__)
def test_a_path_that_names_no_file_makes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RiffluxError, match="the path of an index must"):
        rifflux.open(wrong)
    assert not any(tmp_path.iterdir())
