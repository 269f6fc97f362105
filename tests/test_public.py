"""The public surface: names, errors, types; and what is not loaded until it is needed."""

from __future__ import annotations

import ast
import builtins
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from scripts.reference import SPECIAL

import rifflux
from rifflux import errors
from rifflux.surfaces.cli.main import COMMANDS, needed

#: Packages that take long to load, each of which some command can do without.
HEAVY = {
    *("onnxruntime", "tokenizers", "mcp", "httpx2", "httpx", "anyio", "uvicorn", "starlette"),
    *("markdown_it", "lxml", "docx", "pptx", "pypdfium2", "python_calamine", "nbformat"),
    *("tree_sitter", "tree_sitter_language_pack", "charset_normalizer", "ir_measures", "hypothesis", "torch"),
}


def test_every_public_name_is_listed_in_order_and_there() -> None:
    assert rifflux.__all__ == sorted(rifflux.__all__)
    assert {*rifflux.__all__, "open"} <= set(dir(rifflux))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rifflux.nothing


def test_type_checkers_see_the_public_names_and_no_others() -> None:
    module = ast.parse(Path(rifflux.__file__).read_text())
    (seen,) = (each for each in module.body if isinstance(each, ast.If))
    imported = [name for each in seen.body if isinstance(each, ast.ImportFrom) for name in each.names]
    assert {name.asname or name.name for name in imported} == {*rifflux.__all__, "open"}


def test_importing_everything_leaves_open_alone() -> None:
    assert "open" not in rifflux.__all__


#: What is documented as an attribute of an index.
PARTS = {"Admin", "Chats", "Collections", "Documents"}
#: What the signatures may mention besides public names: what Python and numpy have, and aliases.
UNNAMED = {
    *(
        "IO",
        "AbstractContextManager",
        "Any",
        "Callable",
        "Iterable",
        "Iterator",
        "Mapping",
        "Sequence",
        "BinaryIO",
        "DataFrame",
        "Found",  # what a page holds, a type variable
        "Path",
        "date",
    ),
    *("Addable", "Found", "Lines", "Model", "Rules", "Searcher", "Span", "T", "Vectors", "threading"),
}


def _named(annotation: object) -> Iterator[str]:
    """The names in an annotation."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Name):
            yield node.id


def _mentioned(thing: Any) -> Iterator[str]:
    """The names in the signatures and fields of a public name."""
    if isinstance(thing, type):
        for field in getattr(thing, "__dataclass_fields__", {}).values():
            yield from () if field.name.startswith("_") else _named(field.type)
        for name, member in vars(thing).items():
            if name == "__call__" or not name.startswith("_"):
                yield from _mentioned(getattr(member, "fget", None) or getattr(member, "func", None) or member)
    elif inspect.isfunction(thing):
        signature = inspect.signature(thing)
        for annotation in (*(each.annotation for each in signature.parameters.values()), signature.return_annotation):
            if annotation is not inspect.Signature.empty:
                yield from _named(annotation)


@pytest.mark.parametrize("name", rifflux.__all__)
def test_what_the_signature_of_a_public_name_mentions_is_in_the_reference(name: str) -> None:
    special = {each for names in SPECIAL.values() for each in names.split()}
    known = {*rifflux.__all__, *special, *PARTS, *dir(builtins), *UNNAMED}
    assert {*_mentioned(getattr(rifflux, name))} - known == set()


def test_the_version_is_that_of_the_package() -> None:
    assert rifflux.__version__ == version("rifflux")


def test_every_error_is_public() -> None:
    assert set(errors.__all__) <= set(rifflux.__all__)
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), rifflux.RiffluxError)


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (rifflux.InvalidArgument, ValueError),
        (rifflux.OutsideRoots, rifflux.InvalidArgument),
        (rifflux.NotFound, LookupError),
        (rifflux.ModelMismatch, rifflux.ModelError),
        *((error, rifflux.UnusableIndex) for error in (
            rifflux.NotAnIndex, rifflux.NewerIndex, rifflux.DamagedIndex, rifflux.DiskFull, rifflux.Busy
        )),
    ],
)  # fmt: skip
def test_errors_can_be_caught_by_their_kind(error: type[Exception], also: type[Exception]) -> None:
    assert issubclass(error, also)


SIGNATURES: dict[str, dict[str, Any]] = {
    "open": {"path": ..., "create": True, "profile": "files", "model": None},
    "Index.add": {"items": ..., "embed": True, "force": False, "prune": None, "progress": None},
    "Index.search": {
        "query": ...,
        "top_k": 10,
        "mode": "hybrid",
        "fusion": None,
        "rerank": None,
        "filter": None,
        "deadline_ms": None,
        "min_score": None,
    },
    "Index.get": {"id": ...},
    "Index.remove": {"keys": ..., "collection": "", "dry_run": False},
    "Index.status": {},
    "Index.why": {"query": ..., "document": ...},
    "Document": {
        "key": ...,
        "text": ...,
        "title": "",
        "kind": "",
        "created_at": None,
        "updated_at": None,
        "metadata": ...,
        "links": (),
        "license": None,
    },
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_arguments_that_scripts_rely_on_are_there_with_their_defaults(name: str) -> None:
    found: Any = rifflux
    for part in name.split("."):
        found = getattr(found, part)
    parameters = inspect.signature(found).parameters
    for argument, default in SIGNATURES[name].items():
        assert argument in parameters, argument
        if default is not ...:
            assert parameters[argument].default == default, argument


@pytest.mark.parametrize(
    ("type", "fields"),
    [
        (rifflux.Hit, "id key path title heading_path chunk_index text span score why"),
        (rifflux.IndexReport, "indexed_files skipped_files deleted_files failed chunks indexed_paths embedding_model "
                              "embedding_backend seconds"),
        (rifflux.Status, "documents chunks embedded_chunks embedding_model roots schema_version"),
        (rifflux.Failure, "path reason"),
        (rifflux.Trace, "mode effective_mode fusion reranker milliseconds counts dropped degraded"),
    ],
)  # fmt: skip
def test_results_are_frozen_and_have_the_promised_fields(type: Any, fields: str) -> None:
    assert set(fields.split()) <= set(type.__dataclass_fields__)
    assert type.__dataclass_params__.frozen


def test_the_package_is_typed() -> None:
    assert Path(rifflux.__file__).with_name("py.typed").is_file()


class TestLean:
    """What is not needed is not loaded: the start of a command is what its user waits for."""

    def modules(self, run: Any, code: str) -> list[str]:
        """The modules that some code loads."""
        done = subprocess.run(
            [sys.executable, "-c", f"{code}\nimport sys; print(*sorted(sys.modules))"],
            cwd=run.folder, env=run.environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.splitlines()[-1].split()

    def loaded(self, run: Any, code: str) -> set[str]:
        """The heavy packages that some code loads."""
        return {name.partition(".")[0] for name in self.modules(run, code)} & HEAVY

    @staticmethod
    def command(*arguments: str) -> str:
        """Code that runs a command as `rifflux` does."""
        return (
            f"import sys; sys.argv = ['rifflux', *{arguments!r}]\n"
            "from rifflux.surfaces.cli import main\n"
            "try: main()\nexcept SystemExit as end: assert not end.code, end.code\nprint()"
        )

    def test_the_measure_itself_works(self, run: Any) -> None:
        assert self.loaded(run, "import lxml") == {"lxml"}

    def test_importing_the_package_loads_nothing_heavy(self, run: Any) -> None:
        assert self.loaded(run, "import rifflux; rifflux.open") == set()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "arguments",
        [
            ("search", "heron", "--mode", "lexical"),
            ("search", "heron", "--mode", "lexical", "--json"),
            ("search", "heron"),
            ("get", "note.txt"),
            ("status",),
            ("doctor",),
            ("config",),
        ],
        ids=" ".join,
    )
    def test_commands_that_need_no_model_load_nothing_heavy(
        self, run: Any, tmp_path: Path, arguments: tuple[str, ...]
    ) -> None:
        (tmp_path / "note.txt").write_text("A heron.")
        run("index", "note.txt")
        assert self.loaded(run, self.command(*arguments)) == set()

    def test_indexing_text_loads_no_reader_of_other_formats(self, run: Any, tmp_path: Path) -> None:
        (tmp_path / "note.txt").write_text("A heron.")
        assert self.loaded(run, self.command("index", "note.txt")) == set()

    @pytest.mark.slow
    def test_searching_by_words_loads_no_model_even_where_the_bundled_one_made_the_vectors(
        self, run: Any, tmp_path: Path
    ) -> None:
        (tmp_path / "note.txt").write_text("A heron.")
        run("index", "note.txt", RIFFLUX_MODEL="")
        run.settings["RIFFLUX_MODEL"] = ""
        assert self.loaded(run, self.command("search", "heron", "--mode", "lexical")) == set()
        assert "onnxruntime" in self.loaded(run, self.command("search", "heron"))

    def test_asking_for_the_version_loads_neither_numpy_nor_the_index(self, run: Any) -> None:
        loaded = self.modules(run, "import rifflux; rifflux.__version__; rifflux.NotFound")
        assert not {"numpy", "apsw", "rifflux.index", "rifflux.types"} & set(loaded)

    @pytest.mark.slow
    def test_a_search_by_words_loads_nothing_unrelated(self, run: Any, tmp_path: Path) -> None:
        (tmp_path / "note.txt").write_text("A heron.")
        run("index", "note.txt")
        loaded = self.modules(run, self.command("search", "heron", "--mode", "lexical", "--json"))
        others = {"rich", "pydantic", "fastapi", "tantivy", "concurrent.futures", "asyncio", "tomllib", "numpy.random"}
        assert not others & set(loaded)
        unrelated = ("rifflux.works", "rifflux.evaluate", "rifflux.conversations", "rifflux.ingest.read")
        assert not [name for name in loaded if name.startswith(unrelated)]

    def test_each_command_is_in_the_module_that_is_called_after_it(self) -> None:
        for name in COMMANDS:
            import_module(f"rifflux.surfaces.cli.{name}")
        commands: Any = typer.main.get_command(import_module("rifflux.surfaces.cli.app").app)
        found = {}
        for name, command in commands.commands.items():
            one = command if command.callback else next(iter(command.commands.values()))
            found[name] = one.callback.__module__.rpartition(".")[2]
        assert found == {name: name for name in COMMANDS}
        assert needed(["why"]) == ["why"]
        assert needed([]) == needed(["--help"]) == needed(["misspelt"]) == COMMANDS
