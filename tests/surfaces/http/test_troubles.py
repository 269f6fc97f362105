"""What clients are told while the service itself is in trouble: the truth, and nothing of the machine it runs on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.support.places import small_disk, word
from tests.support.server import Running, serving

#: They start processes.
pytestmark = pytest.mark.slow

QUESTION = {"query": "where do herons fish", "mode": "lexical"}
#: Pages of the file that are left whole: the schema and the small tables.
TABLES = "chunk", "chunk_terms_data", "owned_terms_data", "document", "document_text"


@pytest.fixture
def run(tmp_path: Path, command_line: Any) -> Any:
    """The command line in a folder with notes of Ann's that are indexed."""
    folder = tmp_path / "a-folder-that-is-nobody-elses-business"
    (folder / "notes").mkdir(parents=True)
    for number in range(60):
        # Together they need several pages.
        other = " ".join(word(100 * number + each) for each in range(100))
        (folder / "notes" / f"{number}.md").write_text(f"# Herons {number}\n\nHerons fish in the river. {other}")
    run = command_line(folder)
    run.json("index", "notes", "--user", "ann", "--db", "index.db")
    return run


@pytest.fixture
def token(run: Any) -> str:
    return str(run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"])


def damage(path: Path, *tables: str) -> None:
    """Overwrite what a search reads of an index, but not what it is opened by."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("wal_checkpoint", "truncate")
        size = connection.pragma("page_size")
        pages = [
            page
            for (page,) in connection.execute(
                f"select rootpage from sqlite_master where name in ({','.join('?' * len(tables))})", tables
            )
        ]
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(b"\xa5" * size)


@pytest.fixture
def damaged(run: Any, token: str) -> Iterator[Running]:
    """A service whose index was damaged before it was started."""
    damage(run.folder / "index.db", *TABLES)
    with serving(run, "--db", "index.db") as service:
        yield service


def test_a_damaged_index_is_told_without_its_place(damaged: Running, token: str, run: Any) -> None:
    with damaged.client(token) as client:
        answers = [
            client.post("/search", json=QUESTION),
            client.get("/", params={"q": "herons"}, headers={"Accept": "text/html"}),
            client.post("/chat", json={"question": "where do herons fish"}),
            client.get("/ready"),
        ]
    for answer in answers:
        assert answer.status_code == 503, answer.text
        assert run.folder.name not in answer.text
        assert "index.db" not in answer.text
        assert "rifflux doctor" not in answer.text
    assert any("index.db" in line["cause"] for line in damaged.lines if line["event"] == "index")


@pytest.mark.parametrize("workers", [1, 2])
def test_damage_that_only_some_requests_meet_is_known_to_whoever_asks_if_it_is_ready(
    run: Any, token: str, workers: int
) -> None:
    with closing(apsw.Connection(str(run.folder / "index.db"))) as connection:
        connection.execute("delete from service_record where kind = 'event'")
    with serving(run, "--db", "index.db", "--workers", workers) as service, service.client(token) as client:
        assert client.get("/ready").status_code == 200
    with closing(apsw.Connection(str(run.folder / "index.db"))) as connection:
        connection.pragma("wal_checkpoint", "truncate")
        size = connection.pragma("page_size")
        leaves = [
            page
            for (page,) in connection.execute(
                "select pageno from dbstat where name = 'chunk' and pagetype = 'leaf' order by pageno"
            )
        ]
    with (run.folder / "index.db").open("r+b") as file:
        # The first is what a look at the table reads.
        for page in leaves[1:]:
            file.seek((page - 1) * size)
            file.write(b"\xa5" * size)
    with serving(run, "--db", "index.db", "--workers", workers) as service, service.client(token) as client:
        documents = client.get("/documents", params={"limit": 100}).json()["documents"]
        read = [client.get(f"/documents/{each['document']}").status_code for each in documents]
        assert 503 in read
        for _ in range(10):
            with service.client() as another:
                assert another.get("/ready").status_code == 503


def test_an_index_that_is_whole_is_ready(run: Any, token: str) -> None:
    with serving(run, "--db", "index.db") as service, service.client(token) as client:
        assert client.get("/ready").status_code == 200
        assert client.get("/documents/nowhere").status_code == 404
        assert client.get("/ready").status_code == 200


def test_a_page_that_is_asked_wrongly_says_so_by_its_status(run: Any, token: str) -> None:
    with serving(run, "--db", "index.db") as service, service.client(token) as client:
        assert client.get("/", params={"q": "herons", "since": "yesterdayish"}).status_code == 422
        assert client.get("/", params={"doc": "nowhere"}).status_code == 404
        assert client.get("/", params={"q": "herons"}).status_code == 200


def fill(path: Path) -> None:
    """Write a file until the disk is full."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def test_a_full_disk_is_told_as_one_and_searches_go_on(run: Any, token: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64_000) as disk:
        shutil.copy(run.folder / "index.db", disk / "index.db")
        with serving(run, "--db", disk / "index.db") as service, service.client(token) as client:
            assert client.put("/documents/first", json={"text": "Room for one."}).status_code in (200, 201)
            fill(disk / "filler")
            answers = []
            for number in range(20):
                answer = client.put(f"/documents/more{number}", json={"text": f"More {number}. " * 2000})
                answers.append(answer)
                if answer.status_code >= 500:
                    break
            assert answers[-1].status_code == 507, answers[-1].text
            error = answers[-1].json()
            assert error["code"] == "disk_full"
            assert "full" in error["detail"]
            assert "again" not in error["detail"]
            assert str(disk) not in answers[-1].text
            assert "retry-after" not in answers[-1].headers
            assert any("full" in line.get("cause", "") for line in service.lines)
            assert client.post("/search", json=QUESTION).json()["results"]
            assert client.get("/ready").status_code == 200
            (disk / "filler").unlink()
            assert client.put("/documents/last", json={"text": "Room again."}).status_code in (200, 201)


@pytest.mark.parametrize("rerank", ["cross-encoder", "llm"])
def test_what_is_not_set_up_is_told_without_how_to_set_it_up(run: Any, token: str, rerank: str) -> None:
    with serving(run, "--db", "index.db") as service:
        with service.client(token) as client:
            answers = [client.post("/search", json={**QUESTION, "rerank": rerank})]
        ben = run.json("tokens", "create", "--user", "ben", "--db", "index.db")["token"]
        with service.client(ben) as client:
            answers.append(client.post("/search", json=QUESTION))
            answers.append(client.get("/", params={"q": "herons"}))
        with service.client() as client:
            answers.append(client.post("/search", json=QUESTION))
    assert answers[0].status_code == 422
    assert rerank in answers[0].json()["detail"]
    assert answers[-1].status_code == 401
    for answer in answers:
        told = answer.text if "html" in answer.headers["content-type"] else json.dumps(answer.json())
        for command in ("rifflux index", "rifflux tokens", "rifflux models", "RIFFLUX_", "--rerank", "llm_url"):
            assert command not in told
