"""Where an index is: a path, or the address of an engine; what is neither is refused with the cure."""

from __future__ import annotations

from pathlib import Path

import pytest

import rifflux
from rifflux.errors import InvalidArgument, UnusableIndex
from rifflux.store import IndexPlace, open_store
from rifflux.surfaces.shared.config import Settings


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("notes.db", "notes.db"),
        ("sqlite:notes.db", "notes.db"),
        ("sqlite://notes.db", "notes.db"),
        ("sqlite:///srv/notes.db", "/srv/notes.db"),
        (Path("sqlite:notes.db"), "notes.db"),
        (Path("/srv/sqlite:/notes.db"), "/srv/sqlite:/notes.db"),
        (":memory:", ":memory:"),
        ("C:/notes.db", "C:/notes.db"),
        ("2024-01:02.db", "2024-01:02.db"),
        ("meeting:notes.db", "meeting:notes.db"),
        ("./sqlite:/notes.db", "./sqlite:/notes.db"),
    ],
)
def test_paths_and_addresses_name_a_file(location: str | Path, name: str) -> None:
    assert IndexPlace.of(location) == IndexPlace("sqlite", name)


@pytest.mark.parametrize(
    ("location", "cure"),
    [
        ("opensearch://ann:secret@host/notes", "RIFFLUX_OPENSEARCH_PASSWORD"),
        ("opensearch+https://ann:secret@host/notes", "RIFFLUX_OPENSEARCH_PASSWORD"),
        ("opensearch://host", "HOST:PORT"),
        ("opensearch://host/Notes", "lower-case"),
        ("opensearch://host/_all", "lower-case"),
        ("opensearch://host:port/notes", "is not a host"),
        ("opensearch://host:99999/notes", "is not a host"),
        ("https://host/notes", "choose one of sqlite"),
        (Path("opensearch://ann:secret@host/notes"), "as text"),
        (Path("sqlite://notes.db"), "as text"),
        ("sqlite:", "sqlite:notes.db"),
        ("sqlite://", "sqlite:notes.db"),
    ],
)
def test_what_is_no_place_is_refused_with_the_cure_and_without_a_secret(location: str | Path, cure: str) -> None:
    for open_it in (open_store, rifflux.open):
        with pytest.raises(InvalidArgument, match=cure) as refused:
            open_it(location)
        assert "secret" not in str(refused.value)


def test_an_index_is_where_its_address_says(tmp_path: Path) -> None:
    with rifflux.open(f"sqlite://{tmp_path}/notes.db", model="hash") as index:
        index.add(rifflux.Document("a", "The heron stands in the river."))
    assert (tmp_path / "notes.db").is_file()
    assert Settings(db=f"sqlite://{tmp_path}/notes.db").index_path() == tmp_path / "notes.db"
    with pytest.raises(InvalidArgument, match="no file"):
        Settings(db="opensearch://host/notes").index_path()


@pytest.mark.parametrize("options", [{"state": "state.db"}, {"neighbors": "hnsw"}])
def test_what_only_a_file_has_is_refused_beside_an_address(options: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match="leave out the setting"):
        rifflux.open("opensearch://127.0.0.1:1/notes", **options)  # type: ignore[arg-type]


def test_a_cluster_that_is_not_there_is_named_with_the_cure() -> None:
    pytest.importorskip("opensearchpy", reason="opensearch-py is not installed")
    with pytest.raises(UnusableIndex, match="cannot be reached: check its hosts"):
        rifflux.open("opensearch://127.0.0.1:1/notes")
