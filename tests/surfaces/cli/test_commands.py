"""The command line, run as its users run it: in processes of its own, on pipes and on a terminal."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import sqlite3
import stat
import subprocess
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rifflux import kernels
from rifflux.store.sqlite.connection.connect import connect
from rifflux.surfaces.cli.app import app
from rifflux.surfaces.cli.main import COMMANDS
from tests.support.commands import PATIENCE

#: They start processes.
pytestmark = pytest.mark.slow

REPORT = {
    *(
        "found_files",
        "indexed_files",
        "unchanged_files",
        "skipped_files",
        "failed_files",
        "deleted_files",
        "failed",
        "failed_kinds",
        "skipped",
        "skipped_kinds",
        "chunks",
        "embedded_chunks",
    ),
    *("indexed_paths", "embedding_model", "embedding_backend", "seconds", "waited_for", "degraded", "remarks"),
}
SEARCH = {"query", "mode", "effective_mode", "fusion", "reranker", "count", "results", "diagnostics"}
HIT = {
    *("id", "document", "path", "title", "heading_path", "chunk_index", "text", "span", "score", "why"),
    *("kind", "created_at", "updated_at", "metadata", "license", "collection", "score_breakdown"),
    *("relevance", "quality", "lines", "page", "root"),
}
BREAKDOWN = {
    "lexical": {"bm25"},
    "semantic": {"cosine"},
    "hybrid": {"rrf", "lexical_rank", "semantic_rank"},
}
STATUS = {"documents", "chunks", "embedded_chunks", "embedding_model", "roots", "schema_version"}
ESCAPE = "\x1b"
SCHEMA_3 = Path(__file__).parents[2] / "store" / "sqlite" / "schema-3.db.gz"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of three notes, one of them hostile to terminals."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "cache.md").write_text(
        "# Cache\n\nEntries of the cache live ten minutes.\n\n## Eviction\n\nThe oldest goes.\n"
    )
    (folder / "birds.txt").write_text("The heron stands in the river, and is not a duck.")
    (folder / "evil.txt").write_text(f"A viper {ESCAPE}[2J{ESCAPE}]0;owned\x07 and\x08\x08 a \x9b31m wasp.")
    return folder


@pytest.fixture
def indexed(run: Any, notes: Path) -> Any:
    """The command line in a folder whose notes are indexed."""
    assert run("index", notes).returncode == 0
    return run


class TestLanguages:
    def test_a_folder_has_its_language_whoever_indexes_it_later(self, indexed: Any, notes: Path) -> None:
        german = notes.parent / "deutsch"
        german.mkdir()
        (german / "umzug.md").write_text("Alte Häuser werden verkauft.", "utf-8")
        indexed("index", german, "--language", "german")
        (german / "wege.md").write_text("Die Straßen sind gesperrt.", "utf-8")
        indexed("index")
        for query, document in (("Haus", "umzug.md"), ("Straße", "wege.md")):
            found = indexed.json("search", query, "--mode", "lexical")["results"]
            assert [hit["document"] for hit in found] == [document]
        assert "(german)" in indexed("status").stdout
        again = indexed("index", german, "--language", "none")
        assert "analyzed again in none instead of german" in again.stderr
        assert "german" in indexed.refusal("index", german, "--language", "klingon")

    def test_the_setting_is_that_of_a_new_index(self, run: Any, notes: Path) -> None:
        run.settings["RIFFLUX_LANGUAGE"] = "german"
        run("index", notes)
        assert run.json("status")["language"] == "german"


class TestHelp:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_explains_itself(self, command: str) -> None:
        import_module(f"rifflux.surfaces.cli.{command}")
        for flag in ("--help", "-h"):
            done = CliRunner().invoke(app, [command, flag], prog_name="rifflux")
            assert (done.exit_code, done.stderr) == (0, "")
            assert done.stdout.startswith(f"Usage: rifflux {command}")

    def test_it_does_so_in_a_process_of_its_own(self, run: Any) -> None:
        done = run("search", "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: rifflux search")

    def test_an_example_can_be_copied_as_a_line(self, run: Any) -> None:
        examples = run("search", "--help").stdout.partition("Examples:")[2].splitlines()
        assert [each.strip() for each in examples if each.strip() and not each.strip().startswith("rifflux ")] == []

    def test_the_overview_names_every_command(self, run: Any) -> None:
        listed = run("--help").stdout.partition("Commands:")[2]
        assert all(re.search(rf"^  {command}\b", listed, re.MULTILINE) for command in COMMANDS)
        assert "..." not in listed

    def test_the_version_is_printed(self, run: Any) -> None:
        assert re.fullmatch(r"rifflux \d+\.\d+\.\d+\n", run("--version").stdout)


class TestIndex:
    def test_the_report_has_exactly_its_keys(self, run: Any, notes: Path) -> None:
        report = run.json("index", notes)
        assert report.keys() == REPORT
        assert (report["indexed_files"], report["indexed_paths"], report["failed"]) == (3, [str(notes)], [])

    def test_a_second_run_has_nothing_to_do(self, indexed: Any) -> None:
        report = indexed.json("index")
        assert (report["indexed_files"], report["skipped_files"]) == (0, 3)

    def test_failures_are_told_on_stderr_and_by_the_status(self, run: Any, notes: Path) -> None:
        (notes / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of the kind")
        done = run("index", notes)
        assert done.returncode == 1
        assert "1 failed" in done.stdout
        assert f"\nfailed: {notes}/broken.pdf: " in done.stderr
        report = run.json("index", notes, status=1)
        assert [failure["path"] for failure in report["failed"]] == [f"{notes}/broken.pdf"]
        assert report["failed"][0].keys() == {"path", "reason", "code", "cure", "data", "kind"}

    def test_no_embed_leaves_the_vectors_to_a_later_run(self, run: Any, notes: Path) -> None:
        assert run.json("index", notes, "--no-embed")["embedded_chunks"] == 0
        assert run.json("index")["embedded_chunks"] == run.json("status")["chunks"]

    def test_flags_reach_the_finder(self, run: Any, notes: Path) -> None:
        (notes / ".hidden.txt").write_text("A marten.")
        assert run.json("index", notes, "--hidden", "--exclude", "*.md")["indexed_files"] == 3
        assert run.json("search", "marten", "--mode", "lexical")["count"] == 1
        assert run.json("search", "oldest", "--mode", "lexical")["count"] == 0

    def test_prune_and_force_do_as_they_say(self, indexed: Any, notes: Path) -> None:
        (notes / "birds.txt").unlink()
        assert indexed.json("index", "--no-prune")["deleted_files"] == 0
        assert indexed.json("index", "--force")["indexed_files"] == 2
        assert indexed.json("search", "heron", "--mode", "lexical")["count"] == 0

    def test_facets_of_the_settings_may_be_asked_for(self, run: Any, tmp_path: Path) -> None:
        (tmp_path / "r.jsonl").write_text('{"_id": "a", "text": "a heron", "metadata": {"year": "2024"}}\n')
        run.json("index", tmp_path / "r.jsonl", RIFFLUX_FACETS="year")
        assert run.json("search", "heron year:2024", "--mode", "lexical")["count"] == 1
        assert run.json("search", "heron year:2023", "--mode", "lexical")["count"] == 0


class TestSearch:
    @pytest.mark.parametrize("mode", BREAKDOWN)
    def test_the_answer_has_exactly_its_keys(self, indexed: Any, mode: str) -> None:
        answer = indexed.json("search", "heron", "--mode", mode)
        assert answer.keys() == SEARCH
        assert (answer["query"], answer["mode"], answer["effective_mode"]) == ("heron", mode, mode)
        assert answer["count"] == len(answer["results"]) > 0
        assert answer["diagnostics"].keys() >= {"milliseconds", "counts", "degraded"}
        for hit in answer["results"]:
            assert hit.keys() == HIT
            assert hit["score_breakdown"].keys() == BREAKDOWN[mode]
        assert answer["results"][0]["path"] == "birds.txt"

    def test_without_vectors_the_answer_says_how_it_was_found(self, run: Any, notes: Path) -> None:
        run("index", notes, "--no-embed")
        answer = run.json("search", "heron")
        assert (answer["mode"], answer["effective_mode"], answer["count"]) == ("hybrid", "lexical", 1)
        assert len(answer["diagnostics"]["degraded"]) == 1
        assert run("search", "heron").stderr.startswith("note: no chunk has a vector")

    def test_people_read_where_it_stands_and_what_it_says(self, indexed: Any, notes: Path) -> None:
        done = indexed("search", "oldest", "--mode", "lexical")
        first, second, *_ = done.stdout.splitlines()
        assert first.startswith(" 1 notes/cache.md:7  Cache > Eviction")
        assert second == "   The oldest goes."
        assert done.stderr == ""
        inside = indexed("search", "oldest", "--mode", "lexical", cwd=notes)
        assert inside.stdout.startswith(" 1 cache.md:")

    def test_a_symbol_needs_no_question(self, indexed: Any, notes: Path) -> None:
        (notes / "shop.py").write_text("def ring(bell):\n    return bell\n\n\ndef call():\n    return ring(ring)\n")
        indexed("index")
        assert [hit["lines"] for hit in indexed.json("search", "--symbol", "ring")["results"]] == [[1, 2]]
        assert "the query is empty" in indexed.refusal("search")

    def test_records_of_a_file_are_told_apart(self, indexed: Any, notes: Path) -> None:
        (notes / "r.jsonl").write_text('{"_id": "k1", "text": "an osprey"}\n{"_id": "k2", "text": "an owl"}\n')
        indexed("index")
        assert indexed("search", "osprey", "--mode", "lexical").stdout.startswith(" 1 notes/r.jsonl/k1  ")

    def test_explain_tells_each_channel_and_the_time(self, indexed: Any) -> None:
        done = indexed("search", "heron", "--explain", "--fusion", "rrf")
        for stage in ("lexical: rank 1", "semantic: rank", "rrf: rank 1"):
            assert stage in done.stdout
        assert re.search(r"^hybrid: .*lexical [\d.]+ ms", done.stderr, re.MULTILINE)

    def test_a_long_passage_is_cut_unless_all_is_asked_for(self, run: Any, notes: Path) -> None:
        (notes / "long.txt").write_text("Filler words. " * 60 + "The kingfisher dives. " + "More words. " * 20)
        run("index", notes)
        brief, full = (run("search", "kingfisher", *more, "--mode", "lexical").stdout for more in ([], ["--full"]))
        assert "kingfisher dives" in brief
        assert "…" in brief
        assert len(brief) < 700 < len(full)
        assert "…" not in full

    def test_nothing_found_is_no_failure_unless_it_is_said_to_be(self, indexed: Any) -> None:
        done = indexed("search", "qqzzqq", "--mode", "lexical")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing found\n")
        assert indexed("search", "qqzzqq", "--mode", "lexical", "--fail-empty").returncode == 1
        assert indexed("search", "heron", "--mode", "lexical", "--fail-empty").returncode == 0

    @pytest.mark.parametrize(
        ("flags", "paths"),
        [
            (["--path", "*.md"], {"cache.md"}),
            (["--kind", "text"], {"birds.txt", "evil.txt"}),
            (["--path", "*.md", "--path", "birds*"], {"cache.md", "birds.txt"}),
            (["--until", "1999"], set()),
            (["--since", "1999"], {"cache.md", "birds.txt", "evil.txt"}),
            (["--where", "colour=red"], set()),
            (["--min-score", "2"], set()),
        ],
    )
    def test_filters_narrow(self, indexed: Any, flags: list[str], paths: set[str]) -> None:
        answer = indexed.json("search", "cache heron viper", "--mode", "semantic", *flags)
        assert {hit["path"] for hit in answer["results"]} == paths

    def test_metadata_is_compared_as_text_and_as_number(self, run: Any, tmp_path: Path) -> None:
        (tmp_path / "r.jsonl").write_text(
            '{"_id": "a", "text": "a heron", "metadata": {"year": 2024}}\n'
            '{"_id": "b", "text": "a heron", "metadata": {"year": "2024"}}\n'
            '{"_id": "c", "text": "a heron", "metadata": {"year": 2023}}\n'
        )
        run("index", tmp_path / "r.jsonl")
        answer = run.json("search", "heron", "--where", "year=2024")
        assert {hit["document"] for hit in answer["results"]} == {"a", "b"}

    @pytest.mark.parametrize(
        "query", ['C++ "quoted', "a/b:c@d", "AND OR NOT (", "🚀", "naïve \u202e query", "word " * 2_000]
    )
    def test_no_query_is_read_as_syntax(self, indexed: Any, query: str) -> None:
        assert indexed.json("search", query)["query"] == query


class TestGet:
    def test_a_chunk_and_a_document_come_back_to_the_letter(self, indexed: Any, notes: Path) -> None:
        hit = indexed.json("search", "heron")["results"][0]
        assert indexed("get", hit["id"]).stdout == hit["text"] + "\n"
        text = (notes / "evil.txt").read_bytes()
        shown = subprocess.run(
            indexed.command("get", "evil.txt"), cwd=indexed.folder, env=indexed.environment, capture_output=True
        )
        assert shown.stdout == text + b"\n"

    @pytest.mark.parametrize("name", ["cache.md", "notes/cache.md", "{notes}/cache.md"])
    def test_a_document_is_known_by_key_and_by_path_from_here(self, indexed: Any, notes: Path, name: str) -> None:
        assert indexed.json("get", name.format(notes=notes))["title"] == "Cache"

    def test_an_unknown_name_says_where_to_take_one_from(self, indexed: Any) -> None:
        assert "take an id or path from the results of a search" in indexed.refusal("get", "nope")


class TestStatusAndDoctor:
    def test_the_status_has_its_keys(self, indexed: Any, notes: Path) -> None:
        state = indexed.json("status")
        assert state.keys() >= STATUS
        assert (state["documents"], state["roots"], state["embedding_model"]) == (3, [str(notes)], "hash")
        assert state["chunks"] == state["embedded_chunks"] == 4

    def test_the_status_for_people_counts_too(self, indexed: Any) -> None:
        assert re.search(r"^documents +3 from 3 files$", indexed("status").stdout, re.MULTILINE)

    def test_one_is_not_told_as_many(self, run: Any, notes: Path) -> None:
        run("index", next(notes.glob("*.md")))
        assert re.search(r"^documents +1 from 1 file$", run("status").stdout, re.MULTILINE)

    def test_a_sound_index_passes(self, indexed: Any) -> None:
        assert indexed("doctor").stdout.splitlines()[0] == "the index is sound"
        told = indexed.json("doctor")
        assert (told["sound"], told["problems"]) == (True, [])
        # The environment of the command is the one of the tests.
        assert told["kernels"] == kernels.description
        assert kernels.description in indexed("status").stdout.replace("\n", " ")

    def test_a_damaged_one_fails_and_the_cure_is_named(self, indexed: Any) -> None:
        connection, _ = connect(str(indexed.folder / ".rifflux/index.db"), create=False)
        connection.execute("update vector set hash = hash + 1")
        connection.close()
        assert indexed("doctor").returncode == 1
        problems = indexed.json("doctor", status=1)["problems"]
        assert [problem.keys() for problem in problems] == [{"what", "cure", "data", "unreadable"}]
        assert problems[0]["cure"] == "repair"

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
    def test_what_everybody_may_read_is_told_and_closed(self, indexed: Any) -> None:
        path, settings = indexed.folder / ".rifflux/index.db", indexed.folder / ".rifflux/config.toml"
        path.chmod(0o664)
        (problem,) = indexed.json("doctor", status=1)["problems"]
        assert "may read index.db" in problem["what"]
        assert indexed.json("doctor", "--repair")["sound"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        settings.write_text('llm_key = "sk-SECRET"\n')
        settings.chmod(0o644)
        (problem,) = indexed.json("doctor", status=1)["problems"]
        assert "keys" in problem["what"]
        assert "SECRET" not in str(problem)
        settings.chmod(0o640)
        assert indexed.json("doctor")["sound"]

    def test_a_truncated_file_is_no_traceback(self, indexed: Any) -> None:
        path = indexed.folder / ".rifflux/index.db"
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
        assert indexed("doctor").returncode in (1, 2)


class TestWhichIndex:
    def test_the_nearest_one_upwards_is_used(self, indexed: Any, notes: Path) -> None:
        deep = notes / "a" / "b"
        deep.mkdir(parents=True)
        assert indexed.json("status", cwd=deep)["documents"] == 3
        assert not (deep / ".rifflux").exists()

    def test_a_new_one_is_made_here_where_there_is_none(self, run: Any, notes: Path, tmp_path: Path) -> None:
        run("index", notes)
        assert (tmp_path / ".rifflux/index.db").is_file()

    def test_the_flag_wins_over_the_variable_and_that_over_the_nearest(self, indexed: Any, tmp_path: Path) -> None:
        for name in ("flag", "variable"):
            (tmp_path / f"{name}.txt").write_text(f"An osprey of the {name}.")
            indexed("index", tmp_path / f"{name}.txt", "--db", tmp_path / f"{name}.db")
        variable, flag = tmp_path / "variable.db", tmp_path / "flag.db"
        assert indexed.json("status")["documents"] == 3
        assert indexed.json("search", "osprey", RIFFLUX_DB=str(variable))["results"][0]["path"] == "variable.txt"
        both = indexed.json("search", "osprey", "--db", flag, RIFFLUX_DB=str(variable))
        assert both["results"][0]["path"] == "flag.txt"

    @pytest.mark.parametrize("command", [["search", "x"], ["status"], ["doctor"], ["get", "x"], ["index"]])
    def test_without_any_the_cure_is_named(self, run: Any, command: list[str], tmp_path: Path) -> None:
        assert "rifflux index PATH" in run.refusal(*command)
        assert "rifflux index PATH" in run.refusal(*command, "--db", tmp_path / "none.db")
        assert list(tmp_path.iterdir()) == []


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            ([], "Usage"),
            (["nonsense"], "nonsense"),
            (["search"], "query"),
            (["search", ""], "say what to look for"),
            (["search", "x", "--mode", "magic"], "lexical, semantic, hybrid"),
            (["search", "x", "-k", "0"], "1 to 1000"),
            (["search", "x", "-k", "1001"], "1 to 1000"),
            (["search", "x", "-k", "five"], "-k"),
            (["search", "x", "--since", "yesterday"], "2024-05-01"),
            (["search", "x", "--fusion", "magic"], "rrf"),
            (["search", "x", "--where", "year"], "FIELD=VALUE"),
            (["search", "x", "--colour"], "--colour"),
            (["index", "nowhere"], "nowhere"),
            (["index", "--threads", "0", "."], "threads"),
            (["index", ".", "--model", "hash:32"], "hash:64"),
            (["index", ".", "--model", "hash:32"], "'rifflux models switch hash:32'"),
            (["mcp", "--http", "nonsense"], "HOST:PORT"),
        ],
        ids=" ".join,
    )
    def test_wrong_usage_is_told_on_stderr_with_status_2(
        self, indexed: Any, arguments: Sequence[str], named: str
    ) -> None:
        assert named in indexed.refusal(*arguments)

    @pytest.mark.parametrize("command", [["search", "x"], ["status"], ["doctor"], ["index", "."]])
    def test_what_is_no_index_is_refused_and_left_alone(self, run: Any, command: list[str], tmp_path: Path) -> None:
        other, text, folder = tmp_path / "other.db", tmp_path / "text.db", tmp_path / "folder.db"
        connection = sqlite3.connect(other)
        connection.execute("create table precious (x)")
        connection.commit()
        connection.close()
        text.write_text("Not a database at all, but somebody's text.")
        folder.mkdir()
        before = other.read_bytes(), text.read_bytes()
        assert "another program" in run.refusal(*command, "--db", other)
        assert "not a Rifflux index" in run.refusal(*command, "--db", text)
        for each in (folder, "."):
            assert "is a folder" in run.refusal(*command, "--db", each)
        assert (other.read_bytes(), text.read_bytes()) == before

    def test_an_index_of_an_earlier_version_is_brought_up_to_date_by_the_command_it_names(
        self, run: Any, tmp_path: Path
    ) -> None:
        path = tmp_path / "index.db"
        path.write_bytes(gzip.decompress(SCHEMA_3.read_bytes()))
        assert "'rifflux index'" in run.refusal("status", "--db", path)
        run("index", "--db", path)
        assert path.with_name("index.db.schema-3").exists()
        assert run.json("status", "--db", path)["documents"] > 0

    def test_a_place_where_nothing_can_be_made_is_no_traceback(self, run: Any, notes: Path) -> None:
        assert "cannot be opened" in run.refusal("index", notes, "--db", notes / "birds.txt" / "index.db")


def terminal(run: Any, *arguments: object) -> tuple[str, str]:
    """What a command shows on a terminal: its stdout and its stderr, each on one of its own."""
    outputs = [pty.openpty() for _ in range(2)]
    environment = run.environment | {"TERM": "xterm-256color", "COLUMNS": "100"}
    for name in ("NO_COLOR", "FORCE_COLOR", "CI"):
        environment.pop(name, None)
    process = subprocess.Popen(
        run.command(*arguments), cwd=run.folder, env=environment, stdout=outputs[0][1], stderr=outputs[1][1]
    )
    process.wait(PATIENCE)
    return tuple(_drained(*pair) for pair in outputs)  # type: ignore[return-value]


def _drained(reader: int, writer: int) -> str:
    os.close(writer)
    shown = b""
    try:
        while block := os.read(reader, 65536):
            shown += block
    except OSError:  # the terminal has no writer left
        pass
    os.close(reader)
    return shown.decode()


class TestOutput:
    @pytest.mark.parametrize(
        "command", [["search", "heron cache viper"], ["status"], ["doctor"], ["config"], ["index", "--force"]]
    )
    def test_a_pipe_gets_no_colours_and_no_bars(self, indexed: Any, command: list[str]) -> None:
        done = indexed(*command)
        assert ESCAPE not in done.stdout + done.stderr
        assert "\r" not in done.stderr
        assert bool(done.stderr) == (command[0] == "index")  # lines of progress

    def test_a_terminal_gets_the_words_of_the_question_in_bold(self, indexed: Any) -> None:
        shown, _ = terminal(indexed, "search", "herons", "--mode", "lexical")
        assert re.search(r"\x1b\[1;\d+mheron\x1b\[0m stands", shown)

    def test_a_terminal_gets_long_lines_wrapped_under_their_margin(self, run: Any, notes: Path) -> None:
        (notes / "long.md").write_text(f"# Herons\n\n{'The heron stands in the river. ' * 9}\n")
        run("index", notes)
        shown, _ = terminal(run, "search", "heron", "--full", "--path", "long.md")
        lines = [line for line in re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines() if line.strip()]
        assert len(lines) > 2
        assert all(line.startswith("   ") and len(line) <= 100 for line in lines[1:])

    def test_a_terminal_gets_a_progress_bar_on_stderr_only(self, run: Any, notes: Path) -> None:
        shown, errors = terminal(run, "index", notes)
        assert "Reading files" in errors
        assert "Embedding chunks" in errors
        assert "3/3" in errors
        assert shown.startswith("3 indexed")
        assert ESCAPE not in shown

    @pytest.mark.parametrize(
        "command", [["search", "viper", "--mode", "lexical"], ["search", "viper", "--full"], ["get", "evil.txt"]]
    )
    def test_indexed_text_never_commands_the_terminal(self, indexed: Any, command: list[str]) -> None:
        shown, _ = terminal(indexed, *command)
        ours = re.sub(r"\x1b\[[\d;]*m", "", shown)
        assert "viper" in ours
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", ours)
        assert "[2J" in ours, "what was made harmless is still to be seen"

    def test_a_file_name_never_commands_the_terminal(self, run: Any, notes: Path) -> None:
        (notes / f"a{ESCAPE}[2Jb.txt").write_text("A marten.")
        (notes / f"c{ESCAPE}[2Jd.pdf").write_bytes(b"%PDF-1.7 broken")
        shown, errors = terminal(run, "index", notes)
        assert f"{ESCAPE}[2Jd" not in shown + errors
        shown, _ = terminal(run, "search", "marten")
        assert f"{ESCAPE}[2J" not in shown

    def test_a_reader_that_has_seen_enough_ends_it_quietly(self, indexed: Any, notes: Path) -> None:
        (notes / "long.txt").write_text("\n\n".join(f"Paragraph {n} of herons. " * 30 for n in range(400)))
        indexed("index")
        command = indexed.command("search", "herons", "-k", "1000", "--full")
        process = subprocess.Popen(
            command, cwd=indexed.folder, env=indexed.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0

    def test_text_is_utf_8_whatever_the_locale(self, run: Any, notes: Path) -> None:
        (notes / "umlaut.txt").write_text("Der Eisvögel 🐦 taucht.", encoding="utf-8")
        run("index", notes, LC_ALL="C")
        done = run("search", "Eisvögel", "--mode", "lexical", "--json", LC_ALL="C")
        assert json.loads(done.stdout)["results"][0]["text"] == "Der Eisvögel 🐦 taucht."


class TestMemories:
    def test_remembered_recalled_superseded_forgotten(self, run: Any) -> None:
        ann = ("--user", "ann", "--db", "m.db")
        saved = run.json("memories", "add", "Ann lives in Oslo", *ann)["memory"]
        run("memories", "add", "Ann lives in Bergen", "--supersedes", saved["id"], *ann)
        (found,) = run.json("memories", "search", "where does Ann live", *ann)
        assert found["text"] == "Ann lives in Bergen"
        assert run.json("memories", "search", "where does Ann live", "--user", "bob", "--db", "m.db") == []
        assert len(run.json("memories", "list", "--all", *ann)) == 2
        assert "Bergen" in run("memories", "list", *ann).stdout
        assert "Oslo" in run("memories", "show", found["id"], "--history", *ann).stdout
        edited = run.json("memories", "edit", found["id"], "--text", "Ann lives in Voss", "--importance", 9, *ann)
        assert run.json("memories", "show", found["id"], *ann)["text"] == edited["text"] == "Ann lives in Voss"
        assert len(run.json("memories", "list", "--min-importance", 9, *ann)) == 1
        assert run.json("memories", "search", "Voss", "--min-importance", 10, *ann) == []
        assert run.json("memories", "forget", found["id"], *ann) == {"forgotten": 1}
        assert [each["text"] for each in run.json("memories", "list", *ann)] == ["Ann lives in Oslo"]

    def test_what_does_not_matter_is_refused_with_the_reason(self, run: Any) -> None:
        done = run("memories", "add", "It rained", "--importance", "3", "--db", "m.db")
        assert (done.returncode, done.stdout) == (1, "refused: importance 3 is below 7\n")


def test_files_that_are_not_read_are_told_in_one_line_for_each_reason(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "book.epub").write_bytes(b"PK\x03\x04")
    done = run("index", folder, "--db", tmp_path / "i.db", "--no-embed")
    told = [line for line in done.stderr.splitlines() if line.startswith("skipped: ")]
    assert done.returncode == 0
    assert len(told) == 2
    assert "30 files" in told[0] + told[1]
    assert "book.epub" in told[0] + told[1]
    assert "30 image" in run("status", "--db", tmp_path / "i.db").stdout
    assert run.json("status", "--db", tmp_path / "i.db")["left_out"] == {"image": 30, "ebook": 1}
