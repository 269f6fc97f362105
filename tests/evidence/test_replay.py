"""Replaying a pack: what was tampered with is found, and an untouched pack always agrees."""

from __future__ import annotations

import copy
import json
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import RiffluxError
from rifflux.evidence.pack import digest, pack_digest
from rifflux.evidence.verify import differences
from rifflux.index import Index, open_index
from rifflux.session.searching import NO_QUERY_VECTOR
from rifflux.store.sqlite.connection import derived
from rifflux.store.sqlite.connection.derived import BackgroundBuilder
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import vector_index
from rifflux.surfaces.shared.packs import checked_json, read_pack, retrieval_json
from rifflux.types import Cure, Notice
from rifflux.types.nouns import noun_json
from rifflux.works.retrieval.stages import RetrievalSettings
from tests.evidence.test_pack import WORKS
from tests.support.commands import PATIENCE
from tests.support.exploring import examples

Json = dict[str, Any]
#: No answer of these tests depends on how busy the machine is.
PATIENT = RetrievalSettings(60_000, 60_000)
QUESTION = "cohomology of stacks"


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(*WORKS)
        yield index


def asked(index: Index, query: str = QUESTION, **more: Any) -> Json:
    """A whole answer of retrieve, as JSON."""
    return retrieval_json(replace(index.retrieve, settings=PATIENT)(query, **{"cite": "bibtex"} | more))


def item(name: str, value: Any, place: int = 0) -> Callable[[Json], None]:
    def change(told: Json) -> None:
        told["evidence_pack"]["items"][place][name] = value

    return change


def pack(name: str, value: Any) -> Callable[[Json], None]:
    def change(told: Json) -> None:
        told["evidence_pack"][name] = value

    return change


def asking(name: str, value: Any) -> Callable[[Json], None]:
    def change(told: Json) -> None:
        told["evidence_pack"]["request"][name] = value

    return change


def within(*path: Any, to: Any) -> Callable[[Json], None]:
    """Change what stands at a path of the whole answer."""

    def change(told: Any) -> None:
        for step in path[:-1]:
            told = told[step]
        told[path[-1]] = to

    return change


def notice(code: str, **data: Any) -> Json:
    """A notice as packs have it."""
    return {"code": code, "text": "as it was", "cure": None, "data": data}


def new_text(told: Json) -> None:
    told["evidence_pack"]["items"][0] |= {"text": "Forged.", "hash": digest("Forged."), "span": [0, 7]}


def cut(told: Json) -> None:
    """Cut a passage at its end, consistently."""
    one = told["evidence_pack"]["items"][0]
    one |= {"text": one["text"][:-5], "hash": digest(one["text"][:-5]), "span": [one["span"][0], one["span"][1] - 5]}


def cut_before(told: Json) -> None:
    one = told["evidence_pack"]["items"][0]
    one |= {"text": one["text"][3:], "hash": digest(one["text"][3:]), "span": [one["span"][0] + 3, one["span"][1]]}


def swapped(told: Json) -> None:
    items = told["evidence_pack"]["items"]
    items[0], items[1] = items[1] | {"number": 1}, items[0] | {"number": 2}


def doubled(told: Json) -> None:
    items = told["evidence_pack"]["items"]
    items.append(items[0] | {"number": len(items) + 1})


def dropped(told: Json) -> None:
    gone = told["evidence_pack"]["items"].pop()
    told["evidence_pack"]["bibliography"].pop(gone["citation_key"], None)


def emptied(told: Json) -> None:
    told["evidence_pack"] |= {"items": [], "tokens": 0, "uncertain": True, "confidence": 0.0, "bibliography": {}}


def without_entry(told: Json) -> None:
    told["evidence_pack"]["bibliography"].popitem()


def without_digest(told: Json) -> None:
    del told["evidence_pack"]["digest"]


def without_asking(told: Json) -> None:
    del told["evidence_pack"]["request"]


def reversed_list(told: Json) -> None:
    told["reranked"].reverse()


def without_candidate(told: Json) -> None:
    told["candidates"].pop()


#: What a forger may change, who makes the digest anew.
TAMPERED: dict[str, Callable[[Json], None]] = {
    "query": pack("query", "best pizza"),
    "intent": pack("intent", "survey"),
    "confidence": pack("confidence", 0.999),
    "confidence, slightly": pack("confidence", 0.70001),
    "uncertain": pack("uncertain", True),
    "tokens": pack("tokens", 7),
    "budget": pack("max_tokens", 9_999),
    "minimum": pack("min_relevance", 0.1),
    "notes": pack("notes", [notice("all.well")]),
    "a sentence for a notice": pack("notes", ["all is well"]),
    "citations not followed": pack("notes", [notice("citations.left_out")]),
    "score not made": pack("notes", [notice("scores.left_out")]),
    "no vector": pack("notes", [notice("query_vector.missing")]),
    "another key": pack("verified", True),
    "items emptied": emptied,
    "item dropped": dropped,
    "item doubled": doubled,
    "items swapped": swapped,
    "bibliography entry dropped": without_entry,
    "bibliography dropped": pack("bibliography", {}),
    "bibliography entry": within("evidence_pack", "bibliography", "x", to="@misc{x,}"),
    "text": item("text", "Forged."),
    "text with its hash": new_text,
    "text cut behind": cut,
    "text cut before": cut_before,
    "hash": item("hash", "0" * 64),
    "span": item("span", [1, 2]),
    "number": item("number", 3),
    "rank": item("rank", 2),
    "rank of the second": item("rank", 11, 1),
    "key": item("citation_key", "forged1999"),
    "namespace": item("namespace", "works/other"),
    "document": item("document", "other"),
    "collection": item("collection", "wiki"),
    "title": item("title", "Forged"),
    "authors": item("authors", ["Someone Else"]),
    "year": item("year", 1066),
    "venue": item("venue", "Forgeries"),
    "identifiers": item("identifiers", ["doi:10.9/x"]),
    "heading": item("heading_path", "Forged"),
    "chunk": item("chunk_id", "0" * 16),
    "license": item("license", "CC0-1.0"),
    "score": item("score", 0.123),
    "score by a hair": within("evidence_pack", "items", 0, "score", to=None),
    "component": within("evidence_pack", "items", 0, "components", "lexical", to=0.01),
    "component more": within("evidence_pack", "items", 0, "components", "fame", to=0.01),
    "components": item("components", {}),
    "relevance": item("relevance", 0.98),
    "withheld": item("withheld", True),
    "exact": item("exact", True),
    "key of an item": item("certified", True),
    "arguments": asking("arguments", {"top_k": 3, "cite": "bibtex"}),
    "arguments that are none": asking("arguments", {"fame": 3}),
    "arguments of another kind": asking("arguments", {"top_k": "many", "cite": "bibtex"}),
    "moment to come": asking("requested_at", "2999-01-01T00:00:00+00:00"),
    "no moment": asking("requested_at", "yesterday"),
    "state to come": asking("state", "999999-0123456789abcdef"),
    "state that is none": asking("state", "as it was"),
    "state of another index": asking("state", "7-0123456789abcdef"),
    "asking dropped": without_asking,
    "mode beside": within("mode", to="survey"),
    "query beside": within("query", to="best pizza"),
    "list reversed": reversed_list,
    "score in the list": within("reranked", 0, "score", to=0.5),
    "relevance in the list": within("reranked", 0, "relevance", to=0.5),
    "candidate dropped": without_candidate,
    "candidate's snippet": within("candidates", 0, "snippet", to="Forged."),
    "diagnostics": within("diagnostics", "reason", to="because"),
    "certainty in diagnostics": within("diagnostics", "uncertain", to=True),
}


@pytest.mark.parametrize("sealed", [True, False], ids=["with a new digest", "with the old one"])
@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_what_was_tampered_with_is_found(index: Index, change: Callable[[Json], None], *, sealed: bool) -> None:
    told = copy.deepcopy(asked(index))
    if change is TAMPERED["score by a hair"]:
        change = item("score", told["evidence_pack"]["items"][0]["score"] * 1.00001)
    if change is TAMPERED["state of another index"]:
        change = asking("state", told["evidence_pack"]["request"]["state"].partition("-")[0] + "-0123456789abcdef")
    before = json.dumps(told)
    change(told)
    assert json.dumps(told) != before
    try:
        if sealed:
            told["evidence_pack"]["digest"] = pack_digest(read_pack(json.dumps(told)))
        found = checked_json(index, json.dumps(told), replay=True)
    except RiffluxError:
        return
    assert not found["sound"]
    assert found["problems"]


#: How the packs are made whose messages are reworded before they are replayed.
CIRCUMSTANCES = {
    "in time": (PATIENT, {"max_tokens": 300, "top_k": 3}),
    "late": (RetrievalSettings(0.0, 0.0), {}),
    "without a vector": (replace(PATIENT, skip=frozenset((NO_QUERY_VECTOR,))), {}),
}


@pytest.mark.parametrize("circumstances", CIRCUMSTANCES.values(), ids=CIRCUMSTANCES)
def test_a_pack_agrees_after_every_message_was_reworded(
    index: Index, monkeypatch: pytest.MonkeyPatch, circumstances: tuple[RetrievalSettings, Json]
) -> None:
    settings, arguments = circumstances
    found = replace(index.retrieve, settings=settings)(QUESTION, **arguments)
    assert found.evidence.notes
    pack_alone, whole = json.dumps(noun_json(found.evidence)), json.dumps(retrieval_json(found))
    made, random = Notice.__init__, Random(7)

    def reworded(self: Notice, code: str, text: str, cure: Cure | None = None, data: Any = None) -> None:
        words = text.split()
        random.shuffle(words)
        made(self, code, f"{random.random()} {' '.join(words)}", cure, data or {})

    monkeypatch.setattr(Notice, "__init__", reworded)
    for text in (pack_alone, whole):
        assert checked_json(index, text, replay=True)["problems"] == []
        assert checked_json(index, text, replay=True)["replayed"] == "agrees"


def test_a_changed_digest_is_found_without_the_index(index: Index) -> None:
    from rifflux import verify

    told = asked(index)
    told["evidence_pack"]["notes"] = [notice("all.well")]
    assert "its digest does not match its content" in verify(read_pack(json.dumps(told)))
    without_digest(told)
    assert any("digest" in problem for problem in verify(read_pack(json.dumps(told))))


QUESTIONS = (
    "cohomology",
    "stacks",
    "versus",
    "survey of",
    "part 3",
    "similar to doi:10.1/3",
    "what to read before",
    "pages",
)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["lookup", "survey", "compare", "prereq", "related"]),
        "top_k": st.integers(1, 12),
        "offset": st.integers(0, 12),
        "filter": st.fixed_dictionaries(
            {},
            optional={
                "since": st.sampled_from(["1991", "1995-01-01"]),
                "subjects": st.sampled_from(["math.AG", ("math.AG", "math.AT")]),
            },
        ),
        "max_tokens": st.integers(1, 500),
        "cite": st.sampled_from([None, "csl"]),
        "min_relevance": st.sampled_from([0, 0.2, 0.9]),
    },
)


@examples(40)
@given(words=st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=4), arguments=ARGUMENTS)
def test_an_untouched_answer_agrees(index: Index, words: list[str], arguments: Json) -> None:
    told = json.loads(json.dumps(asked(index, " ".join(words), **arguments)))
    found = checked_json(index, json.dumps(told), replay=True)
    assert found == {"sound": True, "items": found["items"], "problems": [], "replayed": "agrees", "note": ""}


def test_an_untouched_pack_agrees_whatever_was_built_beside_the_index_since(tmp_path: Path) -> None:
    queries = (QUESTION, "stacks", "papers similar to doi:10.1/3", "cohomology versus stacks")
    with open_index(tmp_path / "works.db", model="hash", profile="works") as index:
        index.works.add(*WORKS)
        packs = [json.dumps(asked(index, query)) for query in queries]
        for state in ("absent", "built", "behind"):
            if state == "built":
                index.admin.store.local.build()
            elif state == "behind":
                for derived in tmp_path.glob("works.db.*"):
                    if derived.is_file() and derived.suffix in (".vectors", ".words"):
                        derived.unlink()
            outcomes = [checked_json(index, pack, replay=True) for pack in packs]
            assert [each["problems"] for each in outcomes] == [[]] * len(packs), state
            assert {each["replayed"] for each in outcomes} == {"agrees"}
    with open_index(tmp_path / "works.db", model="hash", profile="works") as index:
        assert all(checked_json(index, pack, replay=True)["replayed"] == "agrees" for pack in packs)


def test_an_untouched_pack_agrees_while_files_are_built_beside_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each build is held when its copy is written, before the database knows it; none but these builds begins."""
    for module, least in ((vector_index, "LEAST"), (words_index, "LEAST")):
        monkeypatch.setattr(module, least, 1)
    for name in ("require", "suggest"):
        monkeypatch.setattr(BackgroundBuilder, name, lambda self: None)
    written, go_on = queue.Queue[str](), threading.Semaphore(0)
    made = derived._made

    def held(connection: Any, name: str, format: int, make: Any, put: Any) -> bool:
        def making(stamp: Any) -> None:
            make(stamp)
            written.put(name)
            assert go_on.acquire(timeout=PATIENCE)

        return made(connection, name, format, making, put)

    monkeypatch.setattr(derived, "_made", held)
    queries = (QUESTION, "stacks", "papers similar to doi:10.1/3", "cohomology versus stacks")
    with open_index(tmp_path / "works.db", model="hash", profile="works") as index:
        index.works.add(*WORKS)
        packs = [json.dumps(asked(index, query)) for query in queries]

        def agree() -> bool:
            return all(checked_json(index, pack, replay=True)["replayed"] == "agrees" for pack in packs)

        assert agree()
        building = threading.Thread(target=index.admin.store.local.build, daemon=True)
        building.start()
        for name in ("words", "vectors"):
            assert written.get(timeout=PATIENCE) == name
            assert not (tmp_path / f"works.db.{name}").exists()
            assert agree(), name
            assert [pack_of(each) for each in packs] == [pack_of(json.dumps(asked(index, each))) for each in queries]
            go_on.release()
        building.join(PATIENCE)
        assert not building.is_alive()
        assert (tmp_path / "works.db.words").exists()
        assert agree()


def pack_of(told: str) -> Json:
    """What a whole answer claims, but for the moment that it was asked."""
    found: Json = json.loads(told)["evidence_pack"]
    return {name: value for name, value in found.items() if name not in ("request", "digest")}


@pytest.mark.parametrize("method", ["linked", "citations"])
def test_what_was_left_out_for_being_late_is_left_out_again(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(*WORKS)
        with monkeypatch.context() as failing:
            failing.setattr(type(index.admin.store.catalog), method, lambda *_, **__: 1 / 0)
            told = json.dumps(asked(index))
        assert checked_json(index, told, replay=True)["replayed"] == "agrees"


def test_an_index_that_changed_since_is_told_as_that() -> None:
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(*WORKS)
        told = asked(index)
        index.works.add(replace(WORKS[9], title="A new one", identifiers=()))
        found = checked_json(index, json.dumps(told), replay=True)
        assert (found["replayed"], found["problems"], found["sound"]) == ("changed", [], True)
        assert "the index has changed since the pack was made" in found["note"]
        told["evidence_pack"]["confidence"] = 0.999
        assert not checked_json(index, json.dumps(told), replay=True)["sound"]


def test_other_settings_are_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "works.db"
    with open_index(path, model="hash", profile="works") as index:
        index.works.add(*WORKS)
        told = json.dumps(asked(index))
    with open_index(path, model="hash", profile="works", intents={"generic": {"authority": 1}}) as index:
        found = checked_json(index, told, replay=True)
    assert (found["replayed"], found["problems"]) == ("changed", [])
    assert "the settings of the index" in found["note"]


def test_numbers_are_compared_to_six_digits_and_nothing_else_is() -> None:
    assert [*differences({"score": 0.1234567}, {"score": 0.12345674})] == []
    assert [*differences({"score": 0.1234567}, {"score": 0.123457})] != []
    assert [*differences([1, True], [True, 1])] != []
    assert [*differences({"a": 1}, {"b": 1})] == [
        "b: nothing is claimed, repeated it is 1",
        "a: 1 is claimed, repeated it is nothing",
    ]


def test_a_pack_is_as_it_was_written(index: Index) -> None:
    found = index.retrieve(QUESTION, filter={"subjects": "math.AG"}, cite="csl").evidence
    assert read_pack(json.dumps(noun_json(found))) == found
    assert found.request
    assert read_pack(json.dumps(noun_json(found))).request == found.request
    assert found.request.arguments == {"filter": {"subjects": "math.AG"}, "cite": "csl"}
