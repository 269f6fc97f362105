"""Content in several languages: each document is analyzed in its own, and found by questions in any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument, Scope

GERMAN = {
    "recht.md": "# Verträge\n\nDie Kündigung eines Vertrags geht drei Monate vorher ein.\n",
    "umzug.md": "# Umzug\n\nAlte Häuser werden verkauft, und die letzte Rechnung war fällig.\n",
    "pflanzen.md": "# Garten\n\nIm Frühjahr werden die Bäume geschnitten.\n",
}
ENGLISH = {
    "war.md": "# War\n\nPrograms die when their caches run out, and invalidation of caches is hard.\n",
    "contract.md": "# Contracts\n\nTermination of a contract takes notice of three months.\n",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def german(tmp_path: Path) -> Path:
    return write(tmp_path / "notizen", GERMAN)


@pytest.fixture
def english(tmp_path: Path) -> Path:
    return write(tmp_path / "notes", ENGLISH)


@pytest.fixture
def both(tmp_path: Path, german: Path, english: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "both.db") as index:
        index.add(english, embed=False)
        index.add(german, language="german", embed=False)
        yield index


def found(index: Index, query: str) -> list[str]:
    return [hit.key for hit in index.search(query, mode="lexical")]


class TestAFolderWithItsLanguage:
    """What is in a folder is analyzed in the language that was given for it."""

    @pytest.mark.parametrize(
        ("query", "document"),
        [
            ("Kündigungen", "recht.md"),
            ("Haus", "umzug.md"),
            ("wann war die Rechnung fällig", "umzug.md"),
            ('"Kündigungen eines Vertrages"', "recht.md"),
            ("Kündigungen*", "recht.md"),
            ("Baum", "pflanzen.md"),
            ("how does a program die", "war.md"),
            ("cache", "war.md"),
            ("contracts", "contract.md"),
        ],
    )
    def test_a_question_in_either_language_finds_other_forms_of_its_words(
        self, both: Index, query: str, document: str
    ) -> None:
        assert found(both, query) == [document]

    def test_what_is_excluded_is_so_in_every_form(self, both: Index) -> None:
        assert found(both, "Vertrag") == ["recht.md"]
        assert found(both, "Vertrag -Kündigungen") == []

    def test_function_words_of_a_question_in_one_language_name_nothing_in_another(self, both: Index) -> None:
        assert "war.md" not in found(both, "wann war die Rechnung fällig")
        assert found(both, "war") == ["war.md"]

    def test_a_word_in_another_form_counts_as_much_as_in_an_index_of_that_language(
        self, both: Index, tmp_path: Path, german: Path
    ) -> None:
        with rifflux.open(tmp_path / "alone.db", language="german") as alone:
            alone.add(german, embed=False)
            own = alone.search("Kündigungen der Verträge", mode="lexical")
            beside = both.search("Kündigungen der Verträge", mode="lexical")
        assert [hit.key for hit in beside] == [hit.key for hit in own]
        assert beside[0].relevance == pytest.approx(own[0].relevance)

    def test_words_are_highlighted_in_the_language_of_the_passage(self, both: Index) -> None:
        from rifflux.surfaces.shared.nouns import found_json

        (hit,) = found_json(both.search("Haus", mode="lexical"), both.profile.analyzer)
        words = [hit["text"][start:end] for start, end in hit["highlights"]]
        assert words == ["Häuser"]

    def test_a_misspelt_word_is_corrected_to_one_of_either_language(self, both: Index) -> None:
        assert found(both, "Rechnnung") == ["umzug.md"]

    def test_it_holds_for_files_that_come_later(self, both: Index, german: Path) -> None:
        (german / "spaeter.md").write_text("# Wege\n\nDie Straßen sind gesperrt.\n", "utf-8")
        both.sync(embed=False)
        assert found(both, "Straße") == ["spaeter.md"]

    def test_it_holds_after_the_terms_were_made_again(self, both: Index) -> None:
        both.admin.store.records.set("analysis", "0")
        both.admin.repair()
        assert found(both, "Haus") == ["umzug.md"]
        assert found(both, "caches") == ["war.md"]


class TestChangingALanguage:
    """A language that is changed is that of what is indexed already, and the report says so."""

    def test_what_is_indexed_is_analyzed_again(self, both: Index, german: Path) -> None:
        report = both.add(german, language="none", embed=False)
        assert report.indexed_files == len(GERMAN)
        assert {(each.code, each.data["language"], each.data["former"]) for each in report.remarks} == {
            ("language.changed", "none", "german")
        }
        assert found(both, '"Kündigungen"') == []
        assert found(both, '"Kündigung"') == ["recht.md"]

    def test_the_same_language_again_changes_nothing(self, both: Index, german: Path) -> None:
        report = both.add(german, language="german", embed=False)
        assert (report.indexed_files, report.remarks) == (0, ())

    def test_without_a_language_a_folder_keeps_its_own(self, both: Index, german: Path) -> None:
        assert both.add(german, embed=False).indexed_files == 0
        assert found(both, "Haus") == ["umzug.md"]

    def test_a_folder_inside_another_may_have_its_own(self, tmp_path: Path, english: Path) -> None:
        inner = write(english / "deutsch", GERMAN)
        with rifflux.open(tmp_path / "i.db") as index:
            index.add(english, embed=False)
            index.add(inner, language="german", embed=False)
            assert found(index, "Haus") == ["deutsch/umzug.md"]
            assert found(index, "caches") == ["war.md"]

    def test_an_unknown_language_is_refused_with_those_that_are_known(self, both: Index, german: Path) -> None:
        with pytest.raises(InvalidArgument, match="german"):
            both.add(german, language="klingon")

    def test_chunks_keep_their_vectors(self, tmp_path: Path, german: Path) -> None:
        with rifflux.open(tmp_path / "i.db", model="hash:32") as index:
            index.add(german)
            assert index.add(german, language="german").embedded_chunks == 0
            assert index.status().embedded_chunks == index.status().chunks


class TestTheLanguageOfAnIndex:
    """An index is made in a language and keeps it."""

    def test_it_is_kept(self, tmp_path: Path, german: Path) -> None:
        with rifflux.open(tmp_path / "i.db", language="german") as index:
            index.add(german, embed=False)
        with rifflux.open(tmp_path / "i.db") as index:
            assert index.status().language == "german"
            assert found(index, "Haus") == ["umzug.md"]

    def test_opened_with_another_it_is_that_of_what_is_added(self, tmp_path: Path, german: Path, english: Path) -> None:
        with rifflux.open(tmp_path / "i.db") as index:
            index.add(english, embed=False)
        with rifflux.open(tmp_path / "i.db", language="german") as index:
            index.add(german, embed=False)
            index.sync(embed=False)
            assert index.status().languages == ("english", "german")
            assert found(index, "Haus") == ["umzug.md"]
            assert found(index, "cache") == ["war.md"]

    def test_an_unknown_one_makes_no_index(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument):
            rifflux.open(tmp_path / "i.db", language="klingon")
        assert not (tmp_path / "i.db").exists()

    def test_status_tells_the_language_of_each_folder(self, both: Index, german: Path) -> None:
        status = both.status()
        assert (status.language, status.languages) == ("english", ("english", "german"))
        assert status.root_languages == {str(german): "german"}

    def test_documents_may_have_their_own(self, tmp_path: Path) -> None:
        with rifflux.open(tmp_path / "i.db") as index:
            index.add(Document("a", "Alte Häuser", language="german"), embed=False)
            index.documents.put(Document("b", "Neue Häuser", language="german"), embed_seconds=0)
            index.documents.upload("c.md", "Große Häuser".encode(), key="c", language="german", embed_seconds=0)
            assert sorted(found(index, "Haus")) == ["a", "b", "c"]


class TestWhatOthersHave:
    """Answers to a user depend on the languages of what the user sees alone."""

    def test_a_folder_in_another_language_changes_no_digit_for_others(
        self, tmp_path: Path, german: Path, english: Path
    ) -> None:
        pages = []
        for name in ("alone", "beside"):
            with rifflux.open(tmp_path / f"{name}.db") as index:
                ann = index.scoped(Scope("ann"))
                ann.add(english, embed=False)
                if name == "beside":
                    index.scoped(Scope("ben")).add(german, language="german", embed=False)
                pages.append([ann.search(query).to_dicts() for query in ("war and caches", "die Kündigung", "houses")])
                assert ann.status().languages == ("english",)
                assert ann.status().root_languages == {}
        assert pages[0] == pages[1]
