"""Definitions lead mentions, signatures lead bodies, sources lead their copies; what is no code stays where it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

import rifflux
from rifflux import Document, Index
from rifflux.retrieve.steps.code import parts

SAFE_JOIN = '''def safe_join(directory, *names):
    """Join names to a folder and never leave it."""
    return directory
'''
BODY = "\n".join(f"    step_{number} = directory.joined({number})  # joined safely {number}" for number in range(60))
SOURCES: Mapping[str, str] = {
    "shop/paths.py": SAFE_JOIN,
    "shop/views.py": "def serve(name):\n    path = safe_join(ROOT, name)\n    return safe_join(path, name)\n",
    "tests/test_paths.py": "def check(name):\n    assert safe_join('a', name)\n    safe_join('safe', 'join')\n",
    "shop/long.py": f'def long_walk(directory):\n    """Walk a long way."""\n{BODY}\n    return long_walk\n',
    "shop/send.js": "var res = {};\n\nres.sendFile = function sendFile(path) {\n  return stream(path);\n};\n",
    "shop/mail.js": "const sent = res.sendFile(path); // sendFile, send file\nsendFile(path, sendFile);\n",
    "shop/src/queue.ts": "export function takeNext(queue: Queue): Item {\n    return queue.items.shift()\n}\n",
    "shop/dist/queue.d.ts": "export declare function takeNext(queue: Queue): Item;\n",
    "shop/dist/queue.cjs": "function takeNext(queue) {\n  return queue.items.shift();\n}\nexports.takeNext = 1;\n",
    "shop/cli.go": "package shop\n\ntype Commands struct {\n\tNames []string\n}\n",
    "shop/run.go": "package shop\n\nfunc commands(name string) []string {\n\treturn find(name)\n}\n",
    "shop/plugin.js": "function enablePlugin(api) {\n"
    + "".join(f"  api.unpackedInside({number}, unpackedInside);\n" for number in range(40))
    + "\n  function unpackedInside(one) {\n    return one.inside;\n  }\n"
    + "".join(f"  api.register({number}, packed);\n" for number in range(40))
    + "}\n",
    "vendor/clock.py": "def time_left(until):\n    return until - clock()\n",
    "shop/clock.py": "def time_left(until):\n    return until - monotonic()\n",
}


@pytest.fixture(scope="module")
def sources() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(*(Document(path, text, title=path.split("/")[-1], kind="code") for path, text in SOURCES.items()))
        index.add(Document("notes.md", "safe_join, takeNext and sendFile: safe join of safe_join.", kind="markdown"))
        yield index


def found(index: Index, question: str) -> list[str]:
    return [hit.key for hit in index.search(question)]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        *(
            (question, "shop/paths.py")
            for question in ("safe_join", "safe join", "safeJoin", "what does safe_join do?")
        ),
        *((question, "shop/send.js") for question in ("sendFile", "send file", "res.sendFile")),
        *((question, "shop/src/queue.ts") for question in ("takeNext", "take next", "take_next")),
        ("time_left", "shop/clock.py"),
        ("Commands", "shop/cli.go"),
        ("commands", "shop/run.go"),
    ],
)
def test_what_defines_a_name_is_first(sources: Index, question: str, first: str) -> None:
    assert found(sources, question)[0] == first


def test_copies_and_tests_stay_on_the_page_behind_what_they_are_of(sources: Index) -> None:
    assert {"shop/dist/queue.d.ts", "shop/dist/queue.cjs"} <= set(found(sources, "takeNext"))
    assert "tests/test_paths.py" in found(sources, "safe_join")


def test_of_the_pieces_of_a_definition_that_with_the_signature_is_first(sources: Index) -> None:
    hits = [hit for hit in sources.search("directory joined safely") if hit.key == "shop/long.py"]
    assert len(hits) > 1
    assert hits[0].text.startswith("def long_walk(")


def test_what_is_defined_inside_another_stays_before_its_signature(sources: Index) -> None:
    hit = sources.search("unpackedInside")[0]
    assert hit.key == "shop/plugin.js"
    assert "function unpackedInside" in hit.text


def test_every_reason_is_told(sources: Index) -> None:
    hit = sources.search("safe_join")[0]
    told = hit.because("code")
    assert told is not None
    assert told.detail == {"defines": 8.0, "spelling": 2.0}


def test_a_sentence_of_a_comment_finds_what_it_is_about(sources: Index) -> None:
    hit = sources.search("join names to a folder and never leave it")[0]
    assert hit.key == "shop/paths.py"
    assert (told := hit.because("code")) is not None
    assert told.detail == {"quoted": 3.0}


def test_why_tells_what_was_moved(sources: Index) -> None:
    assert sources.why("safe_join", "shop/paths.py").rank == 1
    verdict = sources.why("safe_join", "shop/paths.py", rerank="none")
    assert verdict.rank == 1
    assert verdict.contributions["code"] > 0
    assert sum(verdict.contributions.values()) == pytest.approx(verdict.score)


def test_what_is_no_code_keeps_its_order(sources: Index) -> None:
    assert all(hit.because("code") is None for hit in sources.search("safe_join") if hit.kind != "code")


def test_by_words_alone_the_order_is_that_of_bm25(sources: Index) -> None:
    hits = sources.search("safe_join", mode="lexical")
    assert [hit.because("lexical").rank for hit in hits] == [*range(1, len(hits) + 1)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("safe_join", ("safe", "join")),
        ("parseHTTPHeader", ("parse", "http", "header")),
        ("__init__", ("init",)),
        ("utf8", ("utf", "8")),
    ],
)
def test_a_name_is_made_of_words(name: str, words: tuple[str, ...]) -> None:
    assert parts(name) == words


@pytest.mark.parametrize(
    ("symbol", "where"),
    [
        ("safe_join", ["shop/paths.py"]),
        ("safeJoin", ["shop/paths.py"]),
        ("Commands", ["shop/cli.go"]),
        ("commands", ["shop/run.go"]),
        ("res.sendFile", ["shop/send.js"]),
        ("takeNext", ["shop/dist/queue.cjs", "shop/dist/queue.d.ts", "shop/src/queue.ts"]),
        ("nowhere", []),
    ],
)
def test_a_symbol_leaves_what_defines_it(sources: Index, symbol: str, where: list[str]) -> None:
    assert sorted(hit.key for hit in sources.search("", symbol=symbol)) == where


def test_a_symbol_narrows_a_question(sources: Index) -> None:
    assert {hit.key for hit in sources.search("the clock", symbol="time_left")} == {
        "shop/clock.py",
        "vendor/clock.py",
    }


def test_a_symbol_must_be_a_name(sources: Index) -> None:
    with pytest.raises(rifflux.InvalidArgument, match="name of a definition"):
        sources.search("", symbol=5)  # type: ignore[arg-type]
    with pytest.raises(rifflux.InvalidArgument, match="the query is empty"):
        sources.search("")
