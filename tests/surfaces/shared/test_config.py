"""Settings: defaults, then the file, then the environment, then flags; what is unknown or wrong is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rifflux.errors import InvalidArgument, NotFound, RiffluxError
from rifflux.surfaces.shared.config import Settings, find_above, load


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, in an empty home."""
    folder = tmp_path / "home" / "project"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


def write(folder: Path, text: str) -> Path:
    """A settings file for a folder."""
    path = folder / ".rifflux" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


class TestPrecedence:
    def test_without_anything_the_defaults_hold(self) -> None:
        assert load({}) == Settings()
        assert load({}).origins == {}

    def test_the_file_then_the_environment_then_flags(self, here: Path) -> None:
        path = write(here, "top_k = 3\nmode = 'lexical'\nthreads = 1\n")
        settings = load({"RIFFLUX_MODE": "semantic", "RIFFLUX_THREADS": "2"}, threads=4)
        assert (settings.top_k, settings.mode, settings.threads) == (3, "semantic", 4)
        assert settings.origins == {"top_k": str(path), "mode": "environment", "threads": "flag"}

    def test_a_flag_that_was_not_given_overrides_nothing(self) -> None:
        assert load({"RIFFLUX_TOP_K": "7"}, top_k=None).top_k == 7

    def test_the_nearest_file_upwards_is_read(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(here.parent, "top_k = 3\n")
        write(here, "top_k = 4\n")
        deep = here / "a" / "b"
        deep.mkdir(parents=True)
        monkeypatch.chdir(deep)
        assert load({}).top_k == 4

    @pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME"])
    def test_the_file_of_the_user_is_read_where_no_other_is(
        self, tmp_path: Path, variable: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "user"
        inside = folder / ".config" if variable == "HOME" else folder
        (inside / "rifflux").mkdir(parents=True)
        (inside / "rifflux" / "config.toml").write_text("top_k = 5\n")
        monkeypatch.setenv(variable, str(folder))
        assert load({variable: str(folder)}).top_k == 5

    def test_a_named_file_is_read_instead_of_the_nearest(self, here: Path, tmp_path: Path) -> None:
        write(here, "top_k = 3\n")
        named = tmp_path / "named.toml"
        named.write_text("top_k = 8\n")
        assert load({"RIFFLUX_CONFIG": str(named)}).top_k == 8

    def test_a_named_file_that_is_missing_is_an_error(self) -> None:
        with pytest.raises(NotFound, match="RIFFLUX_CONFIG"):
            load({"RIFFLUX_CONFIG": "nowhere.toml"})


class TestValues:
    @pytest.mark.parametrize(
        ("variable", "text", "name", "value"),
        [
            ("RIFFLUX_TOP_K", "5", "top_k", 5),
            ("RIFFLUX_MAX_FILE_MB", "0.5", "max_file_mb", 0.5),
            ("RIFFLUX_HIDDEN", "yes", "hidden", True),
            ("RIFFLUX_HIDDEN", "TRUE", "hidden", True),
            ("RIFFLUX_HIDDEN", "0", "hidden", False),
            ("RIFFLUX_EXCLUDE", "*.log, build/ ,", "exclude", ("*.log", "build/")),
            ("RIFFLUX_MODEL", "hash", "model", "hash"),
        ],
    )
    def test_a_variable_is_read_as_the_type_of_its_setting(
        self, variable: str, text: str, name: str, value: Any
    ) -> None:
        assert getattr(load({variable: text}), name) == value

    @pytest.mark.parametrize(
        ("line", "name", "value"),
        [
            ("max_file_mb = 5", "max_file_mb", 5.0),
            ("exclude = ['*.log']", "exclude", ("*.log",)),
            ("hidden = true", "hidden", True),
        ],
    )
    def test_a_line_of_the_file_too(self, here: Path, line: str, name: str, value: Any) -> None:
        write(here, line)
        assert getattr(load({}), name) == value

    @pytest.mark.parametrize(
        ("variable", "text"),
        [
            ("RIFFLUX_TOP_K", "many"),
            ("RIFFLUX_HIDDEN", "perhaps"),
            ("RIFFLUX_MAX_FILE_MB", "big"),
            ("RIFFLUX_TPO_K", "5"),
        ],
    )
    def test_a_wrong_variable_is_named(self, variable: str, text: str) -> None:
        with pytest.raises(InvalidArgument, match=variable) as refused:
            load({variable: text})
        assert isinstance(refused.value, ValueError)

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("tpo_k = 5", "tpo_k"),
            ("top_k = 'five'", "top_k"),
            ("top_k = true", "top_k"),
            ("hidden = 1", "hidden"),
            ("exclude = '*.log'", "exclude"),
            ("exclude = [1]", "exclude"),
            ("[top_k]\nvalue = 5", "top_k"),
            ("origins = 'x'", "origins"),
            ("top_k = -5", "top_k"),
            ("rrf_k = -5", "rrf_k"),
            ("rrf_k = nan", "rrf_k"),
            ("mode = 'psychic'", "psychic"),
            ("fusion = 'psychic'", "psychic"),
            ("max_file_mb = 0", "max_file_mb"),
            ("top_k = ", "config.toml"),
            ("\x00", "config.toml"),
        ],
    )
    def test_a_wrong_line_of_the_file_is_named_with_the_file(self, here: Path, text: str, named: str) -> None:
        path = write(here, text)
        with pytest.raises(InvalidArgument, match=named) as refused:
            load({})
        assert str(path) in str(refused.value)

    def test_a_value_that_no_search_could_use_is_refused_in_a_variable_too(self) -> None:
        with pytest.raises(InvalidArgument, match="RIFFLUX_RRF_K"):
            load({"RIFFLUX_RRF_K": "-5"})

    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        with pytest.raises(InvalidArgument, match="top_k, mode"):
            load({"RIFFLUX_TPO_K": "5"})

    def test_variables_of_others_are_left_alone(self) -> None:
        assert load({"PATH": "/bin", "RIFF": "x", "XRIFFLUX_TOP_K": "5"}) == Settings()


class TestSecrets:
    SECRET = "a-key-nobody-may-see"

    def test_they_are_shown_as_set_or_not(self) -> None:
        assert load({"RIFFLUX_API_KEY": self.SECRET}).redacted()["api_key"] == "(set)"
        assert load({}).redacted()["api_key"] == ""

    def test_they_never_appear_in_what_is_printed(self) -> None:
        settings = load({"RIFFLUX_API_KEY": self.SECRET})
        assert self.SECRET not in repr(settings) + str(settings.redacted())

    def test_a_mistyped_one_is_not_repeated(self, here: Path) -> None:
        write(here, f"api_key = ['{self.SECRET}']")
        with pytest.raises(InvalidArgument, match="api_key") as refused:
            load({})
        assert self.SECRET not in str(refused.value)


class TestCommand:
    @pytest.mark.slow
    def test_it_prints_every_setting_and_its_origin(self, run: Any, tmp_path: Path) -> None:
        path = write(tmp_path, "top_k = 3\n")
        shown = run.json("config", RIFFLUX_API_KEY="hidden-key")
        assert shown.keys() == {"settings", "origins"}
        assert shown["settings"].keys() == Settings().redacted().keys()
        assert shown["origins"] == {"top_k": str(path), "model": "environment", "api_key": "environment"}
        assert shown["settings"]["api_key"] == "(set)"

    @pytest.mark.slow
    def test_its_columns_stand_apart(self, run: Any) -> None:
        lines = run("config").stdout.splitlines()
        for name, line in zip(Settings().redacted(), lines, strict=True):
            assert line.startswith(f"{name}  ")
            assert re.search(r"  (default|environment)$", line)

    @pytest.mark.slow
    def test_people_read_no_secret_either(self, run: Any) -> None:
        done = run("config", RIFFLUX_API_KEY="hidden-key")
        assert "hidden-key" not in done.stdout + done.stderr
        assert "(set)" in done.stdout

    @pytest.mark.slow
    @pytest.mark.parametrize("command", ["index", "search", "status", "doctor", "get", "config"])
    def test_a_wrong_setting_stops_every_command_that_reads_it(self, run: Any, command: str) -> None:
        arguments = {"index": ["."], "search": ["x"], "get": ["x"]}.get(command, [])
        assert "RIFFLUX_TPO_K" in run.refusal(command, *arguments, RIFFLUX_TPO_K="5")

    @pytest.mark.slow
    def test_settings_reach_the_search(self, run: Any, tmp_path: Path) -> None:
        notes = tmp_path / "notes"
        notes.mkdir()
        for number in range(5):
            (notes / f"{number}.txt").write_text(f"Heron number {number}.")
        run("index", notes)
        write(tmp_path, "top_k = 2\nmode = 'lexical'\n")
        answer = run.json("search", "heron")
        assert (answer["count"], answer["mode"]) == (2, "lexical")
        assert run.json("search", "heron", "-k", "3")["count"] == 3


def test_the_index_is_found_upwards_and_made_here(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RiffluxError, match="no index here"):
        Settings().index_path()
    assert Settings().index_path(create=True) == here / ".rifflux" / "index.db"
    above = write(here.parent, "").with_name("index.db")
    above.touch()
    assert Settings().index_path() == Settings().index_path(create=True) == above
    assert find_above(Path("nowhere")) is None
    assert Settings(db="~/my.db").index_path() == here.parent / "my.db"
