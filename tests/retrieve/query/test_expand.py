"""Spellings and synonyms: what else is searched, when, and that it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Index, InvalidArgument, NotFound, SearchService
from rifflux.retrieve.query.expand import read_synonyms, spellings
from rifflux.retrieve.query.reading import understand
from rifflux.store import VARIANT
from rifflux.text.analyzer import Analyzer, analyzer, distance

TEXTS = {
    "ownership": "Ownership of values moves.",
    "borrow": "A borrowed value has a lifetime.",
    "ttl": "The ttl of an entry is ten minutes.",
    "live": "The time to live of an entry is ten minutes.",
    "k8s": "k8s runs the pods.",
    "kubernetes": "Kubernetes runs the pods.",
    "d40": "Room D40 is dark.",
}
SYNONYMS = "# ours\nttl, time to live, time-to-live  # both ways\n\nk8s => kubernetes\nC#, c sharp\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "synonyms.txt"
    path.write_text(SYNONYMS)
    return path


@pytest.fixture
def index(tmp_path: Path, file: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", model="hash", synonyms=file) as index:
        index.add(*(Document(key, text) for key, text in TEXTS.items()))
        yield index


def found(index: Index, query: str) -> set[str]:
    return {hit.key for hit in index.search(query, mode="lexical")}


class TestSpelling:
    def test_a_word_that_occurs_nowhere_finds_its_neighbour_and_a_note_says_so(self, index: Index) -> None:
        results = index.search("onwership", mode="lexical")
        assert [hit.key for hit in results] == ["ownership"]
        (note,) = results.trace.notes
        assert note.text == "'onwership' occurs nowhere: also searched ownership"

    def test_one_letter_is_mended_where_it_changes_the_stem_by_several(self, index: Index) -> None:
        index.add(Document("hymns", "Hymns for a funeral."))
        assert [hit.key for hit in index.search("funreal", mode="lexical")] == ["hymns"]

    @pytest.mark.parametrize("query", ["ownership", "ownership of values", "the", "-onwership value", "onwer*"])
    def test_known_words_are_left_alone(self, index: Index, query: str) -> None:
        assert index.search(query, mode="lexical").trace.notes == ()

    @pytest.mark.parametrize("query", ["d41", "Room D41", "tll", "zebra", "xwnership"])
    def test_names_short_words_and_far_ones_have_no_neighbours(self, index: Index, query: str) -> None:
        assert not any("also searched" in note.text for note in index.search(query, mode="lexical").trace.notes)

    def test_a_required_phrase_stays_required(self, index: Index) -> None:
        assert found(index, '"onwership of values"') == set()

    def test_parts_of_hyphenated_words_are_words(self, index: Index) -> None:
        assert "borrow" in found(index, "quasi-borowed")

    def test_the_contract_search_adds_nothing(self, index: Index) -> None:
        service = SearchService(index)
        assert service.search("onwership", mode="lexical") == []
        assert len(service.search("ttl", mode="lexical")) == 1

    def test_a_guess_counts_less_than_what_was_asked(self, index: Index) -> None:
        asked, guessed = index.search("ownership", mode="lexical"), index.search("onwership", mode="lexical")
        assert guessed[0].score == pytest.approx(VARIANT * asked[0].score)
        both, values = index.search("onwership values", mode="lexical"), index.search("values", mode="lexical")
        assert both[0].key == values[0].key == "ownership"
        assert both[0].score == pytest.approx(values[0].score + VARIANT * asked[0].score)

    def test_what_a_word_was_taken_for_is_relevant_too(self, index: Index) -> None:
        guessed, unknown, asked = (
            index.search(f"{word} values", mode="lexical")[0].relevance or 0
            for word in ("onwership", "zebrawood", "ownership")
        )
        assert unknown < guessed < asked

    def test_why_tells_the_place_of_a_guess_as_the_search_does(self, index: Index) -> None:
        for rank, hit in enumerate(index.search("onwership vlaue k8s", mode="lexical"), 1):
            verdict = index.why("onwership vlaue k8s", hit.key, mode="lexical", top_k=1)
            assert (verdict.rank, verdict.score) == (rank, hit.score)

    @pytest.mark.parametrize(
        ("one", "other", "steps"),
        [("", "", 0), ("ab", "ba", 1), ("abc", "abd", 1), ("abc", "ab", 1), ("abc", "xyz", 3), ("ca", "abc", 3)],
    )
    def test_distance(self, one: str, other: str, steps: int) -> None:
        assert distance(one, other, 3) == distance(other, one, 3) == steps
        assert distance(one, other, 1) == min(steps, 2)

    @given(st.text("abc", max_size=8), st.integers(0, 7), st.sampled_from("abcd"))
    def test_one_change_is_a_distance_of_one_at_most(self, word: str, place: int, letter: str) -> None:
        for changed in (word[:place] + letter + word[place:], word[:place] + letter + word[place + 1 :]):
            assert distance(word, changed, 2) <= 1

    @given(st.text("xyz", min_size=3, max_size=9), st.sets(st.text("xyzé1", max_size=10), max_size=40))
    def test_all_that_is_nearest_is_found(self, tail: str, others: set[str]) -> None:
        word, known = f"q{tail}", {f"q{other}": len(other) for other in others} | {"other": 9}
        known.pop(word, None)
        query = understand(word, Analyzer("none"))

        def vocabulary(
            start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
        ) -> dict[str, int]:
            return {each: count for each, count in known.items() if like is None or like(each)}

        found = [each.clause[0] for each in spellings(query, analyzer("english"), lambda terms: {}, vocabulary)]
        most = 2 if len(word) >= 8 else 1
        distances = {each: distance(word, each, most) for each in known if each.isalpha()}
        nearest = min(distances.values(), default=0)
        near = [each for each, value in distances.items() if value == nearest <= most]
        assert found == sorted(near, key=lambda each: (-known[each], each))[:3]


class TestSynonyms:
    @pytest.mark.parametrize("query", ["ttl", "time to live", "time-to-live"])
    def test_each_member_of_a_group_finds_the_others(self, index: Index, query: str) -> None:
        assert {"ttl", "live"} <= found(index, query)

    def test_a_rule_holds_in_one_direction(self, index: Index) -> None:
        assert found(index, "k8s") == {"k8s", "kubernetes"}
        assert found(index, "kubernetes") == {"kubernetes"}

    def test_a_note_says_what_was_added(self, index: Index) -> None:
        notes = [note.text for note in index.search("k8s pods").trace.notes]
        assert "synonyms of 'k8s': also searched kubernetes" in notes

    def test_excluding_a_synonym_excludes_it(self, index: Index) -> None:
        assert found(index, "k8s -kubernetes") == {"k8s"}

    def test_what_was_asked_is_not_added_again(self, index: Index) -> None:
        assert not any("synonyms" in note.text for note in index.search("k8s kubernetes").trace.notes)

    def test_a_comment_starts_after_a_space(self, file: Path) -> None:
        rules = read_synonyms(file, analyzer()).rules
        assert tuple(analyzer().terms("C#")) in rules

    @pytest.mark.parametrize("line", ["alone", "a => b => c", "cache,", "=> cache", "cache =>", "the, cache", ", ,"])
    def test_a_broken_line_is_named_with_the_right_format(self, tmp_path: Path, line: str) -> None:
        path = tmp_path / "broken.txt"
        path.write_text(f"cache, store\n{line}\n")
        with pytest.raises(InvalidArgument, match=r"broken\.txt:2: .*write a group such as 'ttl, time to live'"):
            rifflux.open(":memory:", model="hash", synonyms=path)

    def test_a_missing_or_unreadable_file(self, tmp_path: Path) -> None:
        with pytest.raises(NotFound, match="no synonyms file"):
            read_synonyms(tmp_path / "none", analyzer())
        (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InvalidArgument, match="UTF-8"):
            read_synonyms(tmp_path / "binary", analyzer())
