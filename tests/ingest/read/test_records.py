"""JSON Lines of documents, and mail."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from rifflux.errors import Unreadable
from rifflux.ingest.read import File, read
from rifflux.types import Document, Failure, Link, Parsed
from tests.support.files import make_mail


def parts(path: str, data: bytes | str) -> tuple[list[Parsed], list[Failure]]:
    data = data.encode() if isinstance(data, str) else data
    found = read(File(path, data, created_at="2020-01-01", updated_at="2020-02-02"))
    return [part for part in found if isinstance(part, Parsed)], [each for each in found if isinstance(each, Failure)]


def record(**fields: object) -> Parsed:
    (part,), failures = parts("a.jsonl", json.dumps(fields))
    assert not failures
    return part


def texts(part: Parsed) -> list[str]:
    return [part.document.text[block.start : block.end] for block in part.blocks]


def test_a_record_says_everything_about_its_document() -> None:
    fields: dict[str, Any] = {
        "_id": "d1",
        "title": "T",
        "text": "one\n\ntwo",
        "metadata": {"year": 1999},
        "kind": "note",
    }
    fields |= {"created_at": "2024-03-01", "updated_at": "2024-03-02T10:00:00Z", "license": "MIT", "score": 3}
    links = ["d2", {"key": "d3", "kind": "quotes", "confidence": 0.5}]
    fields |= {"links": links, "tags": ["a"], "nested": {"x": 1}}
    part = record(**fields)
    assert texts(part) == ["one", "two"]
    assert part.document == Document(
        key="d1",
        text="one\n\ntwo",
        title="T",
        kind="note",
        created_at="2024-03-01",
        updated_at="2024-03-02T10:00:00Z",
        metadata={"year": 1999, "score": 3, "tags": ["a"]},
        links=(Link("d2"), Link("d3", "quotes", 0.5)),
        license="MIT",
    )


@pytest.mark.parametrize(
    ("fields", "key", "text"),
    [
        ({"id": 7, "content": "x"}, "7", "x"),
        ({"key": "k", "body": "x"}, "k", "x"),
        ({"_id": "", "text": "x"}, "a.jsonl#1", "x"),
        ({"text": "x"}, "a.jsonl#1", "x"),
        ({"question": "Why?", "answer": "So."}, "a.jsonl#1", "question: Why?\nanswer: So."),
    ],
)
def test_fields_have_other_names_too(fields: dict[str, object], key: str, text: str) -> None:
    document = record(**fields).document
    assert (document.key, document.text) == (key, text)


def test_a_title_alone_is_a_document() -> None:
    part = record(_id="a", title="Only a title", text="")
    assert (part.document.title, part.document.text, part.blocks) == ("Only a title", "", ())


def test_a_title_is_cut_between_words() -> None:
    assert record(title="word " * 300, text="x").document.title == "word " * 198 + "word…"


def test_markdown_records_have_headings() -> None:
    part = record(text="# Top\n\nwords", kind="markdown")
    assert [(block.headings, text) for block, text in zip(part.blocks, texts(part), strict=True)] == [
        (("Top",), "words")
    ]


def test_dates_that_are_none_stay_in_the_metadata() -> None:
    document = record(text="x", date="1:56 pm on 8 May, 2023").document
    assert document.metadata == {"date": "1:56 pm on 8 May, 2023"}
    assert document.updated_at == "2020-02-02"
    assert record(text="x", created_at=0).document.created_at == "1970-01-01T00:00:00+00:00"


def test_a_bad_line_is_told_and_the_rest_goes_on() -> None:
    bad = [
        '{"id": 1, "text": ',
        "[1]",
        '{"text": 5}',
        '{"text": "x", "metadata": 1}',
        '{"text": "x", "links": "y"}',
    ]
    good, failures = parts("d.jsonl", "\n".join(["", '{"id": "a", "text": "x"}', *bad, '{"id": "b", "text": "y"}']))
    assert [part.document.key for part in good] == ["a", "b"]
    assert [failure.path for failure in failures] == [f"d.jsonl:{line}" for line in range(3, 8)]
    assert "not valid JSON" in failures[0].reason
    assert "'text' is not a string" in failures[2].reason


def test_of_equal_ids_the_last_counts() -> None:
    good, failures = parts(
        "d.jsonl", '{"id": "a", "text": "old"}\n{"id": "b", "text": "x"}\n{"id": "a", "text": "new"}'
    )
    assert [(part.document.key, part.document.text) for part in good] == [("b", "x"), ("a", "new")]
    assert failures == [Failure("d.jsonl:1", "its id 'a' is repeated in line 3")]


def test_many_bad_lines_are_counted() -> None:
    _, failures = parts("d.jsonl", '{"text": "x"}\n' + "bad\n" * 50)
    assert len(failures) == 21
    assert failures[-1] == Failure("d.jsonl", "30 more lines could not be read")


def test_no_good_line_at_all() -> None:
    with pytest.raises(Unreadable, match="line 1 is not valid JSON"):
        parts("d.jsonl", "not\njson\n")
    assert parts("d.jsonl", "") == ([], [])


def test_json_files_of_records() -> None:
    for text in (
        '[{"id": "a", "text": "x"}, {"title": "y"}]',
        '{"documents": [{"id": "a", "text": "x"}, {"title": "y"}]}',
    ):
        good, _ = parts("d.json", text)
        assert [part.document.key for part in good] == ["a", "d.json#2"]


@pytest.mark.parametrize("text", ['{"name": "x"}', "[1, 2]", "[]", '[{"a": 1}]', "{broken", "[" * 100_000])
def test_other_json_files_are_text(text: str) -> None:
    (part,), _ = parts("d.json", text)
    assert (part.document.key, part.document.kind, part.document.text) == ("d.json", "code", text)


def test_five_thousand_records_are_quick() -> None:
    lines = [json.dumps({"_id": str(i), "title": f"t{i}", "text": "Some words to read. " * 75}) for i in range(5000)]
    data = "\n".join(lines).encode()
    start = time.thread_time()
    good, _ = parts("d.jsonl", data)
    assert len(good) == 5000
    assert time.thread_time() - start < 3  # of the processor: a tenth of it on an idle machine


def test_mail() -> None:
    body = "Hello Bob,\n\n> what you wrote\n\nYours"
    data = make_mail("Grüße: budget", body, html="<p>other</p>", attachment="plän.pdf")
    (part,), _ = parts("a.eml", data)
    assert texts(part) == ["Hello Bob,", "> what you wrote", "Yours"]
    document = part.document
    assert (document.key, document.title, document.kind) == ("a.eml", "Grüße: budget", "mail")
    assert document.created_at == "2024-03-01T12:00:00+01:00"
    assert document.metadata["from"] == "Lee, Änn <ann@example.org>"
    assert document.metadata["to"] == ["Bob <bob@example.org>"]
    assert document.metadata["attachments"] == ["plän.pdf"]


def test_mail_in_html_only() -> None:
    (part,), _ = parts("a.eml", make_mail("x", "", html="<p>Hello <b>you</b></p><ul><li>one<li>two</ul>"))
    assert texts(part) == ["Hello you", "- one", "- two"]


def test_broken_headers_and_character_sets() -> None:
    head = b'From: "unclosed <a@b\nSubject: =?x-unknown?B?aGk=?=\nDate: yesterday\n'
    (part,), _ = parts("a.eml", head + b"Content-Type: text/plain; charset=nope\n\nna\xefve words\n")
    assert texts(part) == ["naïve words"]
    assert part.document.created_at == "2020-01-01"
    with pytest.raises(Unreadable, match="no mail headers"):
        parts("a.eml", "only words")


def test_each_message_of_a_mailbox_is_a_document() -> None:
    one, two = make_mail("One", "First\n\nFrom here on: more\n"), make_mail("Two!", "Second")
    nameless = b"Subject: Three\n\nThird\n\n>From quoted\n"
    box = b"".join(
        b"From ann@example.org Fri Mar  1 12:00:00 2024\n" + mail + b"\n" for mail in (one, two, two, nameless)
    )
    found, _ = parts("a.mbox", box)
    keys = ["3@example.org", "4@example.org", "3", "4"]
    assert [part.document.key for part in found] == [f"a.mbox#{key}" for key in keys]
    assert [part.document.title for part in found] == ["One", "Two!", "Two!", "Three"]
    assert texts(found[0]) == ["First", "From here on: more"]
    assert texts(found[3]) == ["Third", "From quoted"]
    assert parts("a.mbox", "") == ([], [])
    with pytest.raises(Unreadable, match="does not begin with a message"):
        parts("a.mbox", "words")
