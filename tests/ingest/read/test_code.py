"""Source code becomes blocks under the names of its definitions, with a grammar or without."""

import time
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.ingest.read import definitions
from rifflux.ingest.read.base import File
from rifflux.ingest.read.code import LANGUAGES, code_blocks, read_code

HAS_GRAMMARS = find_spec("tree_sitter_language_pack") is not None
needs_grammars = pytest.mark.skipif(not HAS_GRAMMARS, reason="needs the extra: pip install 'rifflux[code]'")


@pytest.fixture(params=[pytest.param("grammar", marks=needs_grammars), "indentation"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Reads once with the grammars and once as if they were not installed."""
    if request.param == "indentation":
        monkeypatch.setattr(definitions, "_parser", lambda _: None)
    return str(request.param)


def shown(text: str, language: str) -> list[tuple[tuple[str, ...], str]]:
    return [(block.headings, text[block.start : block.end]) for block in code_blocks(text, language)]


PYTHON = '''"""A module."""

import os

# Says hello.
@cached
def hello(name):
    return f"hello {name}"


LIMIT = 3


class Small:
    def method(self):
        pass
'''


@pytest.mark.usefixtures("parser")
def test_definitions_have_their_comments_and_the_rest_is_kept() -> None:
    found = shown(PYTHON, "python")
    assert [headings for headings, _ in found] == [(), ("hello",), (), ("Small",)]
    assert found[0][1] == '"""A module."""\n\nimport os'
    assert found[1][1].startswith("# Says hello.\n@cached\ndef hello")
    assert found[2][1] == "LIMIT = 3"


LONG_METHODS = "\n".join(
    f"    def method_{number}(self):\n        # {number}\n        return {number}\n" for number in range(12)
)


@pytest.mark.usefixtures("parser")
def test_a_long_class_is_read_method_by_method() -> None:
    found = shown(f'class Long(Base):\n    """Doc."""\n\n{LONG_METHODS}\n\nx = 1\n', "python")
    names = [("Long",), *(("Long", f"method_{number}") for number in range(12)), ()]
    assert [headings for headings, _ in found] == names
    assert found[1][1] == "    def method_0(self):\n        # 0\n        return 0"


RUST = """use std::fmt;

/// A point.
#[derive(Debug)]
pub struct Point {
    x: i32,
}

impl fmt::Display for Point {
    fn fmt(&self) -> fmt::Result {
        write!(f, "{}", self.x)
    }
}

pub async fn run() {
    go();
}
"""


@pytest.mark.usefixtures("parser")
def test_braces_end_definitions() -> None:
    found = shown(RUST, "rust")
    assert found[1][0] == ("Point",)
    assert found[1][1].startswith("/// A point.\n#[derive")
    assert found[1][1].endswith("}")
    assert found[3] == (("run",), "pub async fn run() {\n    go();\n}")


@needs_grammars
@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("rust", "impl<T> Show for Point<T> {\n}\nmod inner {\n}\n", ["Point<T>", "inner"]),
        ("go", "func (p *Point) Move() {\n}\ntype Point struct {\n}\n", ["Point.Move", "Point"]),
        ("c", "static int *find(int a) {\n}\nstruct s {\n};\n", ["find", "s"]),
        ("cpp", "template<class T>\nclass Box {\n};\nvoid Box::open() {\n}\n", ["Box", "Box::open"]),
        ("javascript", "export default class A {\n}\nconst f = () => {\n};\n", ["A", "f"]),
        ("typescript", "export interface I {\n}\ntype T = {\n}\n", ["I", "T"]),
        ("java", "public class A {\n}\nenum B {\n}\n", ["A", "B"]),
        ("ruby", "module M\nend\nclass C\nend\n", ["M", "C"]),
        ("sql", "create table t (a int);\n", ["t"]),
        ("bash", "greet() {\n  :\n}\n", ["greet"]),
    ],
)
def test_names_by_grammar(language: str, text: str, names: list[str]) -> None:
    assert [definition.name for definition in definitions.by_grammar(text, language)] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("export async function load() {\n}\n", ["load"]),
        ("const f = async (a) => {\n}\n", ["f"]),
        ("int main(int argc, char **argv)\n{\n}\n", ["main"]),
        ("func (p *Point) Move() {\n}\n", ["Move"]),
        ("defmodule Shop do\n  def buy do\n  end\nend\n", ["Shop"]),
        ("create or replace function add(a int)\n", ["add"]),
        ("return f(x)\nif (a) {\n}\n", []),
    ],
)
def test_names_by_indentation(text: str, names: list[str]) -> None:
    assert [definition.name for definition in definitions.by_indentation(text.split("\n"))] == names


@needs_grammars
def test_closing_brackets_stay_with_what_they_close() -> None:
    methods = "\n".join(f"  m{number}() {{\n    return {number};\n  }}\n" for number in range(12))
    found = shown(f"class A {{\n{methods}}}\n", "javascript")
    assert found[-1][1].endswith("}\n}")


def test_the_document_names_its_language() -> None:
    (parsed,) = read_code(File("src/app.py", b"x = 1\n"))
    found = parsed.document
    assert (found.title, found.kind, found.metadata) == ("app.py", "code", {"language": "python"})


@needs_grammars
def test_every_language_has_a_grammar() -> None:
    assert len(set(LANGUAGES.values())) >= 25
    assert [language for language in set(LANGUAGES.values()) if definitions._parser(language) is None] == []


@needs_grammars
def test_what_is_no_code_is_given_up_on_in_time() -> None:
    begun = time.thread_time()
    text = "<!--\n\n" * 10_000 + "\ndef f():\n    pass\n"
    assert shown(text, "python")[-1][0] == ("f",)
    assert shown("def g():\n    pass\n", "python")[0][0] == ("g",)
    assert time.thread_time() - begun < 10


@needs_grammars
def test_characters_outside_ascii_shift_nothing() -> None:
    assert shown('x = "größer 🦀"\n\ndef f():\n    return "ü"\n', "python")[1] == (
        ("f",),
        'def f():\n    return "ü"',
    )


LINES = [
    "",
    "def f():",
    "class A:",
    "    x = 1",
    "    def m(self):",
    "        return",
    "}",
    "# note",
    "@dec",
    "import a",
]


@given(st.lists(st.sampled_from(LINES), max_size=60), st.sampled_from(["python", "rust", ""]))
def test_every_word_is_in_one_block(lines: list[str], language: str) -> None:
    text = "\n".join(lines)
    blocks = code_blocks(text, language)
    covered = [at for block in blocks for at in range(block.start, block.end)]
    assert covered == sorted(set(covered))
    assert {at for at, character in enumerate(text) if not character.isspace()} <= set(covered)


ASSIGNED = """res.sendFile = function sendFile(path) {
  return stream(path);
};

exports.late = (name) => {
  return name;
};

View.prototype.render = async function () {
  return 1;
};
"""


def test_assigned_functions_are_called_by_what_they_are_assigned_to(parser: str) -> None:
    del parser
    assert [headings for headings, _ in shown(ASSIGNED, "javascript")] == [
        ("res.sendFile",),
        ("late",),
        ("View.render",),
    ]


@needs_grammars
def test_what_a_module_gives_away_is_called_by_its_own_name() -> None:
    text = "exports = module.exports = function make() {\n};\n\nmodule.exports = function () {\n};\n"
    assert [headings for headings, _ in shown(text, "javascript")] == [("make",), ()]


@needs_grammars
def test_methods_of_an_object_are_called_by_their_names() -> None:
    body = "".join(f"    step({number});\n" for number in range(20))
    methods = f"  limit: 3,\n\n  get status() {{\n{body}  }},\n\n  send: function () {{\n{body}  }},\n"
    text = f"module.exports = {{\n{methods}}};\n"
    assert [headings for headings, _ in shown(text, "javascript")] == [(), ("status",), ("send",)]
    named = text.replace("module.exports", "const proto")
    assert [headings for headings, _ in shown(named, "javascript")][1:] == [("proto", "status"), ("proto", "send")]


@needs_grammars
def test_an_object_without_methods_is_no_definition() -> None:
    text = "const options = {\n" + "".join(f"  key{number}: {number},\n" for number in range(40)) + "};\n"
    assert {headings for headings, _ in shown(text, "javascript")} == {()}
