"""Documents and files sent to a service: what is taken, found, listed, removed, refused."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from tests.support.files import make_docx, make_notebook, make_pdf
from tests.support.server import Running, serving

#: They start processes.
pytestmark = pytest.mark.slow

PDF = make_pdf([["The heron stands in the river."], ["A kingfisher dives."]])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Any, failing: dict[str, str]) -> Any:
    """The command line in an empty folder, with a model that fails."""
    return command_line(tmp_path_factory.mktemp("documents"), failing)


@pytest.fixture(scope="module")
def service(run: Any, tokens: dict[str, str]) -> Iterator[Running]:
    """Two processes that share an index."""
    options = ("--rate", 100_000, "--workers", 2, "--max-upload-mb", 0.5, "--max-body-kb", 20)
    with serving(run, "--db", "index.db", *options) as service:
        yield service


@pytest.fixture
def ann(service: Running, tokens: dict[str, str]) -> Iterator[httpx.Client]:
    """Ann, who has nothing at the start."""
    with service.client(tokens["ann"]) as ann:
        yield ann
        for each in ann.get("/documents").json()["documents"]:
            ann.delete(f"/documents/{each['namespace']}/{each['document']}")


@pytest.fixture
def bob(service: Running, tokens: dict[str, str]) -> Iterator[httpx.Client]:
    with service.client(tokens["bob"]) as bob:
        yield bob


def found(client: httpx.Client, query: str) -> list[tuple[str, str]]:
    results = client.post("/search", json={"query": query, "mode": "lexical"}).json()["results"]
    return [(hit["document"], hit["collection"]) for hit in results]


def keys(client: httpx.Client, **options: Any) -> list[str]:
    return [each["document"] for each in client.get("/documents", params=options).json()["documents"]]


def refusal(reply: httpx.Response, status: int) -> str:
    assert reply.status_code == status, reply.text
    return str(reply.json()["detail"])


class TestText:
    def test_put_found_read_replaced_removed(self, ann: httpx.Client) -> None:
        given = {"text": "The heron stands.", "document": "bird", "title": "Birds", "metadata": {"legs": [2], "n": 1.5}}
        reply = ann.post("/documents", json=given)
        assert reply.status_code == 201
        (degraded,) = reply.json()["degraded"]
        assert degraded["text"].endswith("text is kept, and found by words")
        assert reply.json() == {
            "document": "bird",
            "collection": "library",
            "created": True,
            "documents": 1,
            "chunks": 1,
            "embedded_chunks": 0,
            "failed": [],
            "degraded": [degraded],
        }
        assert found(ann, "heron") == [("bird", "library")]
        told = ann.get("/documents/bird").json()
        assert (told["text"], told["title"], told["metadata"]) == (given["text"], "Birds", {"legs": [2], "n": 1.5})
        assert "put it under this key" in refusal(ann.post("/documents", json=given), 409)
        new = ann.put("/documents/bird", json={"text": "The kingfisher dives."})
        assert (new.status_code, new.json()["created"]) == (200, False)
        assert (found(ann, "heron"), found(ann, "kingfisher")) == ([], [("bird", "library")])
        assert ann.put("/documents/a/b.md", json={"text": "A path of a key."}).status_code == 201
        assert ann.delete("/documents/bird").json() == {"documents": 1}
        assert keys(ann) == ["a/b.md"]
        refusal(ann.get("/documents/bird"), 404)
        refusal(ann.delete("/documents/bird"), 404)

    def test_a_document_may_have_its_own_language(self, ann: httpx.Client) -> None:
        ann.put("/documents/umzug", json={"text": "Alte Häuser werden verkauft", "language": "german"})
        file = {"file": ("neu.md", "Neue Gärten im Frühjahr".encode())}
        ann.put("/documents/neu", files=file, data={"language": "german"})
        assert [each for each, _ in found(ann, "Haus")] == ["umzug"]
        assert [each for each, _ in found(ann, "Garten")] == ["neu"]
        assert ann.get("/status").json()["languages"] == ["german"]
        refused = ann.put("/documents/x", json={"text": "x", "language": "klingon"})
        assert refused.status_code == 422
        assert "german" in refused.text

    def test_a_key_is_drawn(self, ann: httpx.Client) -> None:
        drawn = [ann.post("/documents", json={"text": "heron"}).json()["document"] for _ in range(2)]
        assert keys(ann) == sorted(drawn)

    def test_pages(self, ann: httpx.Client) -> None:
        for number in range(5):
            ann.post("/documents", json={"text": "heron", "document": f"d{number}"})
        first = ann.get("/documents", params={"limit": 3}).json()
        second = ann.get("/documents", params={"limit": 3, "after": first["next"]}).json()
        assert [each["document"] for each in first["documents"] + second["documents"]] == [f"d{n}" for n in range(5)]
        assert second["next"] is None
        assert "cursor" in refusal(ann.get("/documents", params={"after": "x"}), 422)
        refusal(ann.get("/documents", params={"limit": 1001}), 422)

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({}, "text: Field required"),
            ({"text": ""}, "text"),
            ({"text": "x", "user": "bob"}, "user: Extra"),
            ({"text": "x", "metadata": {"a": {"b": 1}}}, "metadata"),
            ({"text": "x", "metadata": {str(n): 1 for n in range(101)}}, "metadata"),
            ({"text": "x", "created_at": "yesterday"}, "date"),
            ({"text": "x", "document": "a\u001ebob"}, "a key is"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, ann: httpx.Client, wrong: Any, told: str) -> None:
        assert told in refusal(ann.post("/documents", json=wrong), 422)
        assert keys(ann) == []

    def test_other_bodies_are_refused(self, ann: httpx.Client) -> None:
        as_json = {"Content-Type": "application/json"}
        assert "not JSON" in refusal(ann.post("/documents", content=b"{", headers=as_json), 422)
        refusal(ann.post("/documents", content=b'{"text": "x", "metadata": {"n": NaN}}', headers=as_json), 422)
        assert "multipart/form-data" in refusal(ann.post("/documents", data={"text": "x"}), 415)


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "data", "words", "kind"),
        [
            ("report.pdf", PDF, "kingfisher", "pdf"),
            ("report.docx", make_docx(), "", "docx"),
            ("report.ipynb", make_notebook(), "", "notebook"),
            ("page.html", b"<main><h1>Birds</h1><p>The heron stands.</p></main>", "heron", "html"),
            ("stands.py", b"def heron():\n    return 'kingfisher'\n", "kingfisher", "code"),
            ("notes.md", b"# Birds\n\nThe heron stands.\n", "heron", "markdown"),
        ],
    )
    def test_a_file_is_found_by_its_text(
        self, ann: httpx.Client, name: str, data: bytes, words: str, kind: str
    ) -> None:
        told = ann.post("/documents", files={"file": (name, data)}, data={"metadata": '{"team": "birds"}'})
        key = told.json()["document"]
        document = ann.get(f"/documents/{key}").json()
        assert (document["kind"], document["metadata"]["team"]) == (kind, "birds")
        assert not words or found(ann, words) == [(key, "library")]

    def test_a_file_of_records_is_one_upload(self, ann: httpx.Client) -> None:
        records = b'{"_id": "r1", "text": "heron one"}\n{"_id": "r2", "text": "heron two"}\nno JSON\n'
        told = ann.put("/documents/birds", files={"file": ("b.jsonl", records)}).json()
        assert (told["documents"], told["failed"][0]["path"]) == (2, "b.jsonl:3")
        assert {key for key, _ in found(ann, "heron")} == {"r1", "r2"}
        assert ann.delete("/documents/birds").json() == {"documents": 2}

    @pytest.mark.parametrize(
        ("name", "data", "reason"),
        [
            ("a.pdf", make_pdf([["x"]], encrypted=True), "a.pdf is encrypted: save a copy without the password"),
            ("a.pdf", PDF[:-600], "a.pdf"),
            ("../../a.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "a.png contains a PNG image, which is not read: send"),
            ("a.pdf", b"text", "says .pdf but holds text"),
        ],
    )
    def test_what_cannot_be_read_is_refused_and_nothing_kept(
        self, ann: httpx.Client, name: str, data: bytes, reason: str
    ) -> None:
        reply = ann.post("/documents", files={"file": (name, data)})
        assert reply.json()["code"] == "unreadable"
        assert reason in refusal(reply, 422)
        assert keys(ann) == []

    def test_what_unpacks_to_too_much_is_refused(self, ann: httpx.Client) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/worksheets/sheet1.xml", b"<c>" * (100 << 20))
        assert "unpack" in refusal(ann.post("/documents", files={"file": ("a.xlsx", packed.getvalue())}), 422)
        assert ann.get("/health").status_code == 200

    def test_what_is_too_large_is_refused(self, ann: httpx.Client) -> None:
        files = {"file": ("a.txt", b"heron " * 100_000)}
        assert "500000 bytes" in refusal(ann.post("/documents", files=files), 413)
        refusal(ann.post("/documents", json={"text": "x" * 21_000}), 413)
        refusal(ann.post("/search", files={"file": ("a.txt", b"x" * 21_000)}), 413)
        assert ann.post("/documents", files={"file": ("a.txt", b"heron " * 10_000)}).status_code == 201

    def test_forms_that_cannot_be_meant_are_refused(self, ann: httpx.Client) -> None:
        file = {"file": ("a.txt", b"heron")}
        assert "curl -F file=@" in refusal(ann.post("/documents", files={"other": ("a.txt", b"x")}), 422)
        assert "user" in refusal(ann.post("/documents", files=file, data={"user": "bob"}), 422)
        assert "metadata" in refusal(ann.post("/documents", files=file, data={"metadata": "[1"}), 422)
        assert "metadata" in refusal(ann.post("/documents", files=file, data={"metadata": '{"a": {"b": 1}}'}), 422)
        assert keys(ann) == []


class TestCollections:
    def test_only_what_may_be_written_is(self, ann: httpx.Client, bob: httpx.Client) -> None:
        bob.post("/collections", json={"name": "wiki"})
        bob.put("/documents/bird", json={"text": "the heron of bob", "collection": "wiki"})
        there, nowhere = (
            refusal(ann.put("/documents/x", json={"text": "x", "collection": name}), 404)
            for name in ("bob/wiki", "bob/none")
        )
        assert there.replace("wiki", "none") == nowhere
        refusal(ann.delete("/documents/bob/wiki/bird"), 404)
        bob.put("/collections/wiki/readers/ann")
        file = {"file": ("a.txt", b"heron")}
        for reply in (
            ann.put("/documents/x", json={"text": "x", "collection": "bob/wiki"}),
            ann.post("/documents", files=file, data={"collection": "bob/wiki"}),
            ann.delete("/documents/bird"),
        ):
            assert "read-only" in refusal(reply, 403)
        assert ann.get("/documents", params={"collections": "bob/wiki"}).json()["documents"][0]["document"] == "bird"
        bob.put("/collections/wiki/readers/ann", json={"write": True})
        assert ann.post("/documents", files=file, data={"collection": "bob/wiki"}).status_code == 201
        assert found(bob, "heron")[0][1] == "wiki"
        assert bob.delete("/collections/wiki").json() == {"documents": 2}

    def test_without_a_token_nothing_is_read(self, service: Running) -> None:
        with service.client() as nobody:
            assert nobody.post("/documents", files={"file": ("a.pdf", PDF)}).status_code == 401
            assert nobody.get("/documents").status_code == 401


class TestImports:
    def test_conversations_of_a_file(self, ann: httpx.Client) -> None:
        lines = [
            {"conversation_id": "talk", "text": "Where do herons stand?"},
            {"conversation_id": "talk", "text": "There."},
        ]
        file = {"file": ("talk.jsonl", "\n".join([*map(json.dumps, lines), "no JSON"]).encode())}
        told = ann.post("/conversations/import", files=file, data={"project": "birds"}).json()
        assert (told["conversations"], told["added"], told["failed"][0]["path"]) == (1, 2, "talk.jsonl:3")
        assert ann.get("/conversations").json()["conversations"][0]["project"] == "birds"
        assert ann.post("/conversations/import", files=file).json()["unchanged"] == 2
        assert ann.delete("/conversations/talk").status_code == 204

    def test_works_of_a_file(self, ann: httpx.Client, bob: httpx.Client) -> None:
        file = {"file": ("refs.bib", b"@article{a, title={Things}, doi={10.1000/c}}\n@book{broken, title={Never")}
        told = ann.post("/works/import", files=file, data={"license": "CC0-1.0"}).json()
        assert (told["added"], told["sources"], told["failed"][0]["path"][:8]) == (1, ["refs"], "refs.bib")
        assert ann.get("/works/refs:a").json()["license"] == "CC0-1.0"
        assert bob.get("/works/refs:a").status_code == 404
        paper = {"file": ("things.pdf", make_pdf([["Cohomology of things", "Abstract", "We study things."]]))}
        assert ann.post("/works/import", files=paper, data={"source": "papers"}).json()["sources"] == ["papers"]

    @pytest.mark.parametrize("route", ["/conversations/import", "/works/import"])
    def test_what_is_no_file_is_refused(self, ann: httpx.Client, route: str) -> None:
        assert "multipart/form-data" in refusal(ann.post(route, json={}), 415)
        assert "curl -F file=@" in refusal(ann.post(route, files={"other": ("a.txt", b"x")}), 422)
        wrong = {"file": ("a.json", b"[]")}
        assert "format" in refusal(ann.post(route, files=wrong, data={"format": "odt"}), 422)
        refusal(ann.post(route, files={"file": ("a.json", b"x" * 500_000)}), 413)


def test_every_body_is_described(service: Running) -> None:
    with service.client() as client:
        told = client.get("/openapi.json").json()
    for method, path in (("post", "/documents"), ("put", "/documents/{document}")):
        content = told["paths"][path][method]["requestBody"]["content"]
        assert set(content) == {"application/json", "multipart/form-data"}
        assert content["multipart/form-data"]["schema"]["properties"]["file"]["format"] == "binary"
        assert "$ref" not in json.dumps(content)
        assert content["application/json"]["schema"]["properties"]["text"]["examples"]
