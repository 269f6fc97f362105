"""The contract of catalogs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rifflux.store import (
    MOST_IDENTIFIED,
    ChunkFacts,
    Credited,
    DocumentChange,
    DocumentUses,
    Edge,
    FileRemoval,
    FileState,
    FileUpdate,
    Order,
    Placed,
    Removal,
    Selection,
    SourceData,
    Store,
    chunk_at,
    find_documents,
)
from rifflux.testing.making import NeedsStore, change
from rifflux.types import Document, Filter, Identifier, Lines, Link, Part, Ranking, Tag, Why


class CatalogContract(NeedsStore):
    """The behaviour of every Catalog. Only `catalog` of the store is used."""

    def test_equal_keys_in_two_namespaces_are_two_documents(self, store: Store) -> None:
        store.catalog.write(Placed("one", change("README.md", "first words", first_id=1)))
        store.catalog.write(Placed("two", change("README.md", "second words", first_id=2)))
        assert find_documents(store.catalog, "README.md") == [("one", "README.md"), ("two", "README.md")]
        store.catalog.write(Removal("one", ["README.md"]))
        assert find_documents(store.catalog, "README.md") == [("two", "README.md")]
        assert find_documents(store.catalog, "") == []

    def test_many_at_once_are_as_one_after_the_other(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("known", "old words", "kept", first_id=1)))
        texts = {"known": ("fresh", "kept"), "new": ("first",), "twice": ("former",)}
        changes = [change(key, *each) for key, each in texts.items()]
        store.catalog.write(*(Placed("c", each) for each in [*changes, change("twice", "latter", title="again")]))
        assert [hit.text for hit in store.catalog.chunks_of("c", "known")] == ["fresh", "kept"]
        assert [hit.text for hit in store.catalog.chunks_of("c", "twice")] == ["latter"]
        assert store.totals().documents == 3

    def test_a_list_is_read_in_pages(self, store: Store) -> None:
        for number, (namespace, key) in enumerate((("two", "a"), ("one", "b"), ("one", "a"))):
            put = change(key, "some words", "more", first_id=2 * number + 1, title=f"{namespace} {key}", kind="note")
            store.catalog.write(Placed(namespace, put))
        first, second = store.catalog.documents(Selection(), most=2)
        assert [(first.namespace, first.document.key), (second.namespace, second.document.key)] == [
            ("one", "a"),
            ("one", "b"),
        ]
        (last,) = store.catalog.documents(Selection(), after=("one", "b"), most=2)
        assert (last.namespace, last.path, last.chunks) == ("two", "a", 2)
        assert (last.document.title, last.document.kind, last.document.text) == ("two a", "note", "")
        assert not [*store.catalog.documents(Selection(), after=("two", "a"), most=2)]

    def test_everything_stored_is_read_in_the_order_of_addition(self, store: Store) -> None:
        store.catalog.write(FileUpdate("/root", FileState("f.md", 10, 1, "h"), None))
        parts = (Part("abstract", (0, 3), ("One",), "a", 2), Part("section", (3, 9)))
        tags = (Tag("arxiv", "math.AG"), Tag("msc", "14F05"))
        rich = change(
            "z", "some text", "more of it", title="T", kind="note", created_at="2024-01-01", license="CC0",
            metadata={"n": 1, "tags": ["x"]}, links=(Link("b", "cites", 0.5),), tags=tags, parts=parts,
            identifiers=(Identifier("doi", "10.1/x"),), language="german",
        )  # fmt: skip
        chunk = replace(rich.chunks[1].chunk, headings=("One", "a > b"), page=3)
        second = replace(rich.chunks[1], chunk=chunk, hash=7, embedded="what is embedded", words=8)
        rich = replace(rich, chunks=(rich.chunks[0], second))
        store.catalog.write(Placed("two", rich, ("/root", "f.md")), Placed("one", change("empty")))
        store.catalog.write(Placed("one", change("b", "other")))
        store.catalog.write(SourceData("two", "z", {"crossref": "{}", "arxiv": "[]"}))
        store.catalog.write(DocumentUses("two", ["z"], 5.5), DocumentUses("two", ["z"], 4.5, 2))
        first, *others = store.catalog.stored()
        assert [each.placed.change.document.key for each in others] == ["empty", "b"]
        assert [each.placed.change for each in store.catalog.stored(others[0].number)] == [others[1].placed.change]
        terms = [f"{each.title} {each.headings} {each.body}".split() for each in rich.chunks]
        assert first.lengths == tuple(map(len, terms))
        without_terms = tuple(replace(each, title="", headings="", body="") for each in rich.chunks)
        assert first.placed == Placed("two", replace(rich, chunks=without_terms), ("/root", "f.md"))
        assert (first.records, first.uses) == ({"crossref": "{}", "arxiv": "[]"}, (3, 5.5))
        # Another version of a document stays where it was, one that was removed and is back comes last.
        store.catalog.write(Placed("two", change("z", "new text")), Removal("one", ["empty"]))
        store.catalog.write(Placed("one", change("empty")))
        assert [each.placed.change.document.key for each in store.catalog.stored()] == ["z", "b", "empty"]

    def test_files_hold_documents_and_take_them_along(self, store: Store) -> None:
        store.catalog.write(FileUpdate("/root", FileState("f.jsonl", 10, 1, "h"), keep=None))
        store.catalog.write(Placed("/root/f.jsonl", change("r1", "one", first_id=1), file=("/root", "f.jsonl")))
        store.catalog.write(Placed("/root/f.jsonl", change("r2", "two", first_id=2), file=("/root", "f.jsonl")))
        assert store.catalog.write(FileUpdate("/root", FileState("f.jsonl", 11, 2, "h2"), keep=["r2"])) == 1
        assert [*store.catalog.files("/root")] == [FileState("f.jsonl", 11, 2, "h2")]
        assert store.catalog.chunks_of("/root/f.jsonl", "r1") == []
        assert store.catalog.roots() == ["/root"]
        assert store.catalog.write(FileRemoval("/root", ["f.jsonl"])) == 1
        assert store.totals().chunks == 0
        assert [*store.catalog.files("/root")] == []

    def test_a_document_comes_back_as_it_was_put(self, store: Store) -> None:
        put = change(
            "a", "some text", title="T", kind="note", created_at="2024-01-01", updated_at="2024-01-02",
            metadata={"n": 1, "tags": ["x"]}, links=(Link("b", "cites", 0.5),), license="CC0",
        )  # fmt: skip
        store.catalog.write(Placed("c", put))
        assert store.catalog.document("c", "a") == put.document
        assert store.catalog.document("c", "b") is None

    def test_works_are_looked_up_by_authors_and_venues(self, store: Store) -> None:
        facts = {"authors": ["Kurt Gödel", "A. Tarski"], "venue": "Acta Mathematica", "year": 1931}
        store.catalog.write(Placed("works/c", change("a", "some text", first_id=1, metadata=facts, license="CC0-1.0")))
        store.catalog.write(
            Placed("works/c", change("b", "more text", first_id=2, metadata={"authors": ["K. Goedel"]}))
        )
        store.catalog.write(Placed("notes", change("c", "a note", first_id=3, metadata={"authors": ["Kurt Gödel"]})))
        assert store.catalog.credited("authors", ["godel", "goedel", "nobody"]) == [
            Credited("godel", "Kurt Gödel", "works/c", "CC0-1.0", 1),
            Credited("goedel", "K. Goedel", "works/c", None, 1),
            Credited("goedel", "Kurt Gödel", "works/c", "CC0-1.0", 1),
        ]
        store.catalog.write(Placed("works/c", change("d", "text", first_id=4, metadata={"authors": ["K. Goedel"]})))
        assert store.catalog.credited("authors", ["godel", "goedel"], 1) == [
            Credited("goedel", "K. Goedel", "works/c", None, 2)
        ]
        store.catalog.write(Removal("works/c", ["d"]))
        assert [each.name for each in store.catalog.credited("venue", ["act mat"])] == ["Acta Mathematica"]
        by_name = Filter(metadata={"authors": ["Kurt Gödel"]})
        assert list(store.catalog.passing(by_name, np.array([1, 2, 3]))) == [1, 3]
        assert list(store.catalog.first_of(by_name, 10)) == [1, 3]
        store.catalog.write(Placed("works/c", change("a", "some text", first_id=1, metadata={})))
        assert store.catalog.credited("authors", ["tarski"]) == []

    def test_identifiers_tags_and_parts_come_back_and_are_replaced(self, store: Store) -> None:
        doi = Identifier("doi", "10.1/a")
        arxiv = Identifier("arxiv", "math/0102001")
        tags = (Tag("arxiv", "math.AG"), Tag("msc", "14F05"))
        parts = (Part("abstract", (0, 4)), Part("theorem", (5, 9), ("Schemes", "Theorem 1"), "thm:one", page=3))
        put = change("a", "some text", identifiers=(arxiv, doi), tags=tags, parts=parts)
        store.catalog.write(Placed("c", put))
        assert store.catalog.document("c", "a") == put.document
        id = put.chunks[0].chunk.id
        assert dict(store.catalog.tags_of(np.array([id, 5]))) == {id: list(tags)}
        assert store.catalog.facts(np.array([id, 5]))[id].identifiers == (arxiv, doi)
        assert dict(store.catalog.identified(["doi:10.1/a", "doi:10.1/b"])) == {"doi:10.1/a": [("c", "a")]}
        assert dict(store.catalog.identified(["doi:10.1/a", "doi:10.1/b"], 1)) == {"doi:10.1/a": [("c", "a")]}
        assert dict(store.catalog.identified(["doi:10.1/a"], 0)) == {}
        store.catalog.write(Placed("c", change("a", "some text", identifiers=(arxiv,))))
        assert list(store.catalog.identified(["doi:10.1/a", "arxiv:math/0102001"])) == ["arxiv:math/0102001"]
        store.catalog.write(Removal("c", ["a"]))
        assert dict(store.catalog.identified(["arxiv:math/0102001"])) == {}

    def test_two_documents_may_claim_one_identifier(self, store: Store) -> None:
        for key in ("b", "a"):
            store.catalog.write(Placed("c", change(key, "text", identifiers=(Identifier("doi", "10.1/a"),))))
        assert dict(store.catalog.identified(["doi:10.1/a"])) == {"doi:10.1/a": [("c", "a"), ("c", "b")]}

    def test_of_an_identifier_of_very_many_documents_some_are_returned(self, store: Store) -> None:
        many, one = Identifier("doi", "10.1/many"), Identifier("doi", "10.1/one")
        documents = [Document(f"{number}", "", identifiers=(many,)) for number in range(MOST_IDENTIFIED + 1)]
        documents.append(Document("last", "", identifiers=(many, one)))
        store.catalog.write(*(Placed("c", DocumentChange(each, each.key, ())) for each in documents))
        found = store.catalog.identified(["doi:10.1/one", "doi:10.1/many", "doi:10.1/none", "doi:10.1/one"])
        assert {name: len({*places}) for name, places in found.items()} == {
            "doi:10.1/many": MOST_IDENTIFIED,
            "doi:10.1/one": 1,
        }
        few = store.catalog.identified(["doi:10.1/many", "doi:10.1/one"], 2)
        assert {name: len({*places}) for name, places in few.items()} == {"doi:10.1/many": 2, "doi:10.1/one": 1}

    def test_links_are_followed_both_ways_by_any_identifier_and_by_key(self, store: Store) -> None:
        names = (Identifier("doi", "10.1/t"), Identifier("arxiv", "2101.00001"))
        store.catalog.write(Placed("c", change("target", "one", "two", first_id=1, identifiers=names)))
        store.catalog.write(
            Placed("c", change("by-doi", "x", first_id=10, links=(Link("doi:10.1/t"), Link("doi:10.1/nowhere"))))
        )
        store.catalog.write(
            Placed("d", change("by-arxiv", "y", first_id=20, links=(Link("arxiv:2101.00001", "cites", 0.5),)))
        )
        store.catalog.write(
            Placed("c", change("by-key", "z", first_id=30, links=(Link("target", "refers"), Link("by-key"))))
        )
        store.catalog.write(Placed("d", change("elsewhere", "z", first_id=40, links=(Link("target"),))))
        assert store.catalog.linked(np.array([10, 20, 30, 40])) == [
            Edge(10, 1, "cites", 1.0), Edge(20, 1, "cites", 0.5), Edge(30, 1, "refers", 1.0)
        ]  # fmt: skip
        assert store.catalog.linked(np.array([2]), incoming=True) == [
            Edge(2, 10, "cites", 1.0), Edge(2, 20, "cites", 0.5), Edge(2, 30, "refers", 1.0)
        ]  # fmt: skip
        assert store.catalog.linked(np.array([2]), incoming=True, most=2) == [
            Edge(2, 10, "cites", 1.0), Edge(2, 20, "cites", 0.5)
        ]  # fmt: skip
        assert dict(store.catalog.citations(np.array([2, 10]))) == {2: 2}
        assert dict(store.catalog.citations(np.array([2]), "refers")) == {2: 1}

    def test_records_of_sources_stay_until_the_document_goes(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "text")))
        store.catalog.write(SourceData("c", "a", {"one": "1", "two": "2"}))
        store.catalog.write(SourceData("c", "a", {"two": "3", "six": "6"}))
        store.catalog.write(Placed("c", change("a", "other")))
        assert dict(store.catalog.records("c", "a")) == {"six": "6", "two": "3"}
        store.catalog.write(Removal("c", ["a"]))
        store.catalog.write(Placed("c", change("a", "text")))
        assert dict(store.catalog.records("c", "a")) == {}

    def test_links_are_found_whichever_end_is_stored_first(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("citing", "x", first_id=1, links=(Link("doi:10.1/t"),))))
        assert store.catalog.linked(np.array([1])) == []
        store.catalog.write(Placed("c", change("cited", "y", first_id=2, identifiers=(Identifier("doi", "10.1/t"),))))
        assert [edge.chunk for edge in store.catalog.linked(np.array([1]))] == [2]
        store.catalog.write(Removal("c", ["citing"]))
        assert dict(store.catalog.citations(np.array([2]))) == {}

    def test_documents_come_back_together_and_in_outline(self, store: Store) -> None:
        names = (Identifier("doi", "10.1/a"),)
        one = change("a", "text", title="T", identifiers=names, links=(Link("b"),), tags=(Tag("s", "t"),))
        store.catalog.write(Placed("works/x", one))
        store.catalog.write(Placed("other", change("b", "text")))
        places = [("works/x", "a"), ("other", "b"), ("other", "gone")]
        assert store.catalog.documents_at(places) == {place: store.catalog.document(*place) for place in places[:2]}
        (row,) = store.catalog.documents(Selection(prefix="works/"))
        outline = row.document
        assert (row.namespace, outline.key, outline.title, outline.identifiers) == ("works/x", "a", "T", names)
        assert [row.namespace for row in store.catalog.documents(Selection(works=False))] == ["other"]

    def test_a_chunk_comes_back_by_its_public_id(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "first", "second", first_id=0xABC)))
        hit = chunk_at(store.catalog, f"{0xABD:016x}")
        assert hit is not None
        assert (hit.key, hit.text, hit.chunk_index) == ("a", "second", 1)
        assert [hit.text for hit in store.catalog.chunks_of("c", "a")] == ["first", "second"]
        assert [hit.text for hit in store.catalog.chunks_of("c", "a", 1)] == ["first"]
        for unknown in ("", "zz", "f" * 16, "0" * 16, "'; drop table chunk"):
            assert chunk_at(store.catalog, unknown) is None

    def test_kinds_and_names_of_chunks_are_looked_up_by_id(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "red car", "blue car", title="Cars", kind="text", first_id=1)))
        ids = np.array([1, 2, 99])
        assert store.catalog.facts(ids) == dict.fromkeys((1, 2), ChunkFacts("Cars", (), key="a", kind="text"))

    def test_hydrating_keeps_order_and_scores_and_leaves_out_what_is_gone(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "one", "two", first_id=1)))
        ranking = Ranking(np.array([2, 99, 1]), np.array([3.0, 2.0, 1.0]))
        trails = [(Why(f"stage of {id}"),) for id in (2, 99, 1)]
        assert [hit.why for hit in store.catalog.hydrate(ranking, trails)] == [trails[0], trails[2]]
        assert [(hit.text, hit.score) for hit in store.catalog.hydrate(ranking)] == [("two", 3.0), ("one", 1.0)]

    def test_the_metadata_of_hits_has_whole_numbers_of_any_size(self, store: Store) -> None:
        metadata = {"serial": 2**80 + 1, "share": 0.1, "names": ["a", "b"]}
        store.catalog.write(Placed("c", change("a", "one", first_id=1, metadata=metadata)))
        (hit,) = store.catalog.hydrate(Ranking(np.array([1], np.int64), np.array([1.0])))
        assert hit.metadata == metadata
        assert isinstance(hit.metadata["serial"], int)

    def test_chunks_pass_a_filter_by_their_document(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "one", "two", first_id=1, kind="note")))
        store.catalog.write(Placed("c", change("b", "three", first_id=3, kind="mail", created_at="2024-05-01")))
        ids = np.array([1, 2, 3, 99])
        assert store.catalog.passing(Filter(), ids).tolist() == [1, 2, 3]
        assert store.catalog.passing(Filter(kinds=("note",)), ids).tolist() == [1, 2]
        assert store.catalog.passing(Filter(since="2024"), ids).tolist() == [3]
        assert store.catalog.any_passes(Filter(kinds=("mail",), since="2024"))
        assert not store.catalog.any_passes(Filter(kinds=("note",), since="2024"))

    def test_values_are_counted_by_kind_folder_and_metadata_but_not_of_works(self, store: Store) -> None:
        tags = ({"tags": ["a", "b"], "n": 1}, {"tags": "a", "n": 1, "done": True}, {"tags": {"deep": 1}, "n": None})
        for number, (key, facts) in enumerate(zip(("x/1", "x/2", "3"), tags, strict=True)):
            store.catalog.write(Placed("c", change(key, f"text {number}", kind="note", metadata=facts)))
        store.catalog.write(Placed("works/list", change("w", "a work", kind="article", metadata={"tags": "a"})))
        showable = Selection(works=False)
        assert store.catalog.values("kind", Selection()) == [("note", 3), ("article", 1)]
        assert store.catalog.values("kind", showable, 9) == [("note", 3)]
        assert store.catalog.values("folder", showable, 9) == [("c/x", 2)]
        in_folder = store.catalog.passing(Filter(folders=("c/x",)), np.array([1, 2, 3]))
        assert len(in_folder) == len(store.catalog.passing(Filter(paths=("x/**",)), np.array([1, 2, 3])))
        assert not store.catalog.any_passes(Filter(folders=("x", "d/x", "")))
        assert store.catalog.any_passes(Filter(folders=("c/x",)))
        assert store.catalog.values("tags", showable, 9) == [("a", 2), ("b", 1)]
        assert store.catalog.values("tags", showable, 1) == [("a", 2)]
        assert store.catalog.values("n", showable, 9) == [(1, 2)]
        assert store.catalog.values("done", showable, 9) == [(True, 1)]
        assert store.catalog.values('no"thing', showable, 9) == []

    def test_chunks_have_the_lines_of_their_file(self, store: Store) -> None:
        def lines(text: str, key: str, path: str, kind: str) -> list[Lines | None]:
            first, second = change(key, "one", "head\ntwo\nthree", first_id=1).chunks
            start = text.index("one")
            chunks = [replace(first.chunk, span=(start, start + 3))]
            start = text.index("two")
            chunks.append(replace(second.chunk, span=(start, start + 9)))
            analyzed = [replace(each, chunk=chunk) for each, chunk in zip((first, second), chunks, strict=True)]
            store.catalog.write(Placed("c", DocumentChange(Document(key, text, kind=kind), path, tuple(analyzed))))
            return [hit.lines for hit in store.catalog.chunks_of("c", key)]

        assert lines("one\n\ntwo\nthree\n", "a", "a", "text") == [(1, 1), (3, 4)]
        assert lines("new\none\n\n\ntwo\nthree", "a", "a", "text") == [(2, 2), (5, 6)]
        assert lines("one\ntwo\nthree", "a", "a", "pdf") == [None, None]
        store.catalog.write(Removal("c", ["a"]))
        assert lines("one\ntwo\nthree", "a", "records.jsonl", "text") == [None, None]

    def test_documents_bear_words_in_path_or_title(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("deep/Cache.md", "one", first_id=1)))
        store.catalog.write(Placed("c", change("b.md", "two", first_id=2, title="50% of a_b")))
        for words, key in (
            ("cache", "deep/Cache.md"),
            ("0% of", "b.md"),
            ("A_B", "b.md"),
            ("a%b", None),
            ("axb", None),
        ):
            found = store.catalog.documents(Selection(words=words))
            assert [row.document.key for row in found] == ([key] if key else [])
        assert len([*store.catalog.documents(Selection(), most=1)]) == 1

    def test_source_code_is_distinguished_from_the_rest(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a.py", "one", "two", first_id=1, kind="code")))
        store.catalog.write(Placed("c", change("b.md", "three", first_id=3, kind="markdown")))
        found = store.catalog.code_of(np.array([1, 2, 3, 99]))
        assert {id: (piece.path, piece.text, piece.position) for id, piece in found.items()} == {
            1: ("a.py", "one", 0),
            2: ("a.py", "two", 1),
        }

    def test_subjects_are_filtered_whatever_their_case(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "some text", first_id=1, tags=(Tag("arxiv", "math.AG"),))))
        for name, passes in (("math.ag", True), ("arXiv:math.AG", True), ("msc:math.AG", False), ("math", False)):
            assert store.catalog.any_passes(Filter(tags=(name,))) == passes
            assert len(store.catalog.passing(Filter(tags=(name,)), np.array([1]))) == passes

    def test_a_namespace_is_read_by_date_and_among_equals_as_added(self, store: Store) -> None:
        for key, date in (("none", None), ("late", "2024-05-02"), ("early", "2024-05-01"), ("early2", "2024-05-01")):
            store.catalog.write(Placed("talk", change(key, f"words {key}", created_at=date)))
        store.catalog.write(Placed("", change("early", "words", first_id=7)))
        assert store.catalog.values("namespace", Selection()) == [("talk", 4), ("", 1)]
        assert store.catalog.values("namespace", Selection("talk")) == [("talk", 4)]
        expected = ["early", "early2", "late", "none"]

        def listed(order: Order, after: str | None = None, most: int | None = None) -> list[str]:
            place = None if after is None else ("talk", after)
            found = store.catalog.documents(Selection("talk"), order, after=place, most=most)
            return [each.document.key for each in found]

        assert listed(Order.OLDEST) == expected
        assert listed(Order.NEWEST) == expected[::-1]
        assert listed(Order.OLDEST, "early", 2) == ["early2", "late"]
        assert listed(Order.NEWEST, "late") == ["early2", "early"]
        assert listed(Order.OLDEST, "unknown") == []
        (first,) = store.catalog.documents(Selection("talk"), Order.OLDEST, most=1, with_text=True)
        assert first.document == store.catalog.document("talk", "early")

        def around(key: str, before: int, after: int) -> list[str]:
            found = store.catalog.around([("talk", key)], before, after)
            return [each.key for each in found.get(("talk", key), ())]

        assert around("early2", 1, 1) == ["early", "early2", "late"]
        assert around("early2", 5, 0) == ["early", "early2"]
        assert around("none", 2, 5) == ["early2", "late", "none"]
        assert around("unknown", 2, 5) == []
