"""What files say of themselves besides their text is searched: other names, tags, properties, and the file's name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux import Document, Index
from rifflux.text.properties import key_names

FILES = {
    "z.md": "---\naliases: [Zorblax, The Big Z]\nsummary: about quokkas\nstatus: draft\ntags: [kitchen/cold]\n---\n"
    "The lever opens both doors.\n",
    "lever.md": "# Levers\n\nA lever opens doors. #kitchen/hot and `#nothing`, see [there](#below) and issue #12.\n",
    "page.html": "<html><head><title>Doors</title><meta name='keywords' content='hinge, oak'>"
    "<meta name='description' content='how marsupials live'></head><body><p>A door of a house.</p></body></html>",
    "part 1/notes.md": "# On wood\n\nThe saw is sharp, the plane is dull.\n",
    "part 3/notes.md": "# On stone\n\nA chisel cuts granite slowly.\n",
    "book/ch07-02-paths.md": "# Referring to an item\n\nIt takes two forms.\n",
    "book/ch07-03-use.md": "# Bringing it into scope\n\nThe keyword makes shortcuts.\n",
    "book/ch15-02-deref.md": "# Pointers like references\n\nAn operator follows them.\n",
    "guide-07.md": "# Seventh steps\n\nHow to grease a chain.\n",
    "guide-17.md": "# More steps\n\nHow to paint.\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("notes")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    with rifflux.open(":memory:", model="hash") as index:
        index.add(folder)
        index.add(Document("release-notes", "The button is blue.", "What changed in May"))
        yield index


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    ("question", "file"),
    [
        *((question, "z.md") for question in ("Zorblax", "zorblax", "big z", "the-big-z", "quokkas", "draft")),
        *((question, "page.html") for question in ("hinge", "oak door", "marsupials")),
        ("hot lever", "lever.md"),
    ],
)
def test_properties_find_the_passage_and_are_not_shown(index: Index, question: str, file: str, mode: str) -> None:
    first = index.search(question, mode=mode)[0]
    assert first.key == file
    assert not {"Zorblax", "quokkas", "hinge"} & set(first.text.split())


def test_an_alias_names_its_document_as_a_title_does(index: Index) -> None:
    lifted = index.search("the note called big Z")[0].because("anchors")
    assert lifted is not None
    assert "identifier: title" in lifted.detail
    assert index.search("Zorblax")[0].quality == "high"


@pytest.mark.parametrize(
    ("tag", "files"),
    [("kitchen", {"z.md", "lever.md"}), ("kitchen/cold", {"z.md"}), ("kitchen/hot", {"lever.md"}), ("kitch", set())],
)
def test_a_tag_is_found_by_its_upper_level_and_in_the_text(index: Index, tag: str, files: set[str]) -> None:
    assert {hit.key for hit in index.search(f"tags:{tag} lever")} == files


def test_only_tags_of_the_prose_are_tags(index: Index) -> None:
    (document,) = (hit for hit in index.search("levers") if hit.key == "lever.md")
    assert document.metadata["tags"] == ["kitchen/hot"]


@pytest.mark.parametrize(
    ("question", "key"),
    [
        *((each, "book/ch07-02-paths.md") for each in ("ch07-02", "ch7-2", "ch 7 02", "CH07-02", "ch07-02-paths.md")),
        *((each, "guide-07.md") for each in ("guide-07", "guide 7", "guide07", "7 guide", "Guide 007", "guide-7.md")),
        *((each, "part 3/notes.md") for each in ("part 3/notes.md", "part 3 notes", "notes part 3", "part-03-notes")),
        *((each, "release-notes") for each in ("release-notes", "release notes", "what do the Release Notes say")),
    ],
)
def test_a_file_is_found_by_its_name_in_any_form(index: Index, question: str, key: str) -> None:
    assert index.search(question)[0].key == key
    assert index.why(question, key).rank == 1


def test_a_part_of_a_code_finds_its_family(index: Index) -> None:
    assert {hit.key for hit in index.search("ch07")[:2]} == {"book/ch07-02-paths.md", "book/ch07-03-use.md"}


def test_the_words_of_properties_are_made_again(index: Index) -> None:
    assert not index.admin.check()
    index.admin.store.records.set("analysis", "0")
    assert index.admin.repair().done
    for question in ("Zorblax", "quokkas", "guide 7"):
        assert index.search(question, mode="lexical")


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("notes.md", ("notes",)),
        ("a/part 3/notes.md", ("part 3/notes", "notes")),
        ("guide-07", ("guide-07",)),
        ("4983", ()),
        ("f47ac10b-58cc-4372-a567-0e02b2c3d479", ()),
        ("2024-03-01.md", ()),
    ],
)
def test_a_key_that_somebody_types_is_a_name(key: str, names: tuple[str, ...]) -> None:
    assert key_names(key) == names


def test_metadata_of_records_is_data() -> None:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(Document("a", "one text", metadata={"aliases": ["Zorblax"], "summary": "quokkas"}))
        assert not index.search("Zorblax", mode="lexical")
