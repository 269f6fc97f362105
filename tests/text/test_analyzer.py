"""Words, identifiers, mathematics and scripts become terms the same way for documents and queries."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.text.analyzer import Analyzer, analyzer


def terms(text: str, language: str = "english") -> list[str]:
    return analyzer(language).terms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The caches are expiring", ["cach", "expir"]),
        ("naïve Café", ["naiv", "cafe"]),
        ("cafe\u0301", ["cafe"]),
        ("ﬁle Ｗｉｄｅ ⅷ", ["file", "wide", "viii"]),
        ("don't stop, don’t", ["stop"]),
        ("Smith's law, L'Hôpital", ["smith", "law", "l", "hopit"]),
        ("1,000 items", ["1000", "item"]),
        ("", []),
        ("the of and", []),
    ],
)
def test_words_are_folded_stopped_and_stemmed(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("250.1725", ["250.1725", "250", "1725"]),
        ("PII-2024-0042", ["pii-2024-0042", "pii", "2024", "0042"]),
        ("D40", ["d40"]),
        ("E0502", ["e0502"]),
        ("cacheTTL", ["cachettl", "cach", "ttl"]),
        ("parseHTTPHeader", ["parsehttpheader", "pars", "http", "header"]),
        ("snake_case_name", ["snake_case_name", "snake", "case", "name"]),
        ("x86_64", ["x86_64", "x86", "64"]),
        ("C++", ["c++", "c"]),
        ("C#", ["c#", "c"]),
        ("C*-algebra", ["c*-algebra", "c", "algebra"]),
        ("a/b:c@d", ["a/b:c@d", "b", "c", "d"]),
        ("v1.2.3-rc1", ["v1.2.3-rc1", "v1", "2", "3", "rc1"]),
        ("ÉcoleNormale", ["ecolenormale", "ecol", "normal"]),
    ],
)
def test_identifiers_are_kept_whole_and_split(identifier: str, expected: list[str]) -> None:
    assert terms(identifier) == expected


@pytest.mark.parametrize("query", ["cache", "TTL", "cacheTTL", "CacheTTL"])
def test_a_name_is_found_by_itself_and_by_its_words(query: str) -> None:
    assert set(terms(query)) & set(terms("the cacheTTL option"))


def test_a_short_code_does_not_match_a_longer_one() -> None:
    assert not set(terms("D4")) & set(terms("Region D40"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"$\mathcal{O}_X$", "O_X"),
        (r"{\mathcal O}_X", "𝒪_X"),
        (r"$H^{1}$", "H^1"),
        (r"\'etale", "étale"),
        ("étale", "etale"),
        (r"Erd\H{o}s", "Erdős"),
        ("Erdős", "Erdos"),
    ],
)
def test_spellings_of_one_symbol_meet(one: str, other: str) -> None:
    assert set(terms(one)) & set(terms(other))


def test_latex_layout_says_nothing() -> None:
    assert terms(r"\begin{enumerate} \item sheaf \end{enumerate}") == ["sheaf"]


def test_scripts_without_spaces_become_bigrams() -> None:
    assert terms("東京都") == ["東京", "京都"]
    assert set(terms("京都")) <= set(terms("東京都に住む"))
    assert terms("水") == ["水"]


def test_emoji_are_terms_and_break_nothing() -> None:
    assert "🚀" in terms("launch 🚀 now")
    assert "launch" in terms("🚀launch🚀")


def test_composed_and_decomposed_text_agree() -> None:
    assert terms("Zürich") == terms("Zu\u0308rich")


def test_other_languages_have_their_own_stems_and_stop_words() -> None:
    assert terms("die Häuser", "german") == terms("das Haus", "german")
    assert terms("running", "none") == ["running"]


def test_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match="english"):
        Analyzer("klingon")


@given(st.text())
def test_any_text_has_terms_an_engine_can_take(text: str) -> None:
    for term in terms(text):
        assert term
        assert not set(term) & {" ", "\n", "\t", '"', "\0"}
        assert not any(char.isspace() for char in term)


@given(st.text(), st.text())
def test_lines_are_analyzed_one_by_one(one: str, other: str) -> None:
    if "\\" not in one + other and "{" not in one + other:
        assert terms(f"{one}\n\n{other}") == terms(one) + terms(other)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_analyzing_is_deterministic(text: str) -> None:
    assert Analyzer().terms(text) == terms(text)


def test_a_hyphenated_word_meets_its_joined_spelling() -> None:
    assert set(terms("e-mail")) & set(terms("emails"))
    assert set(terms("non-zero")) & set(terms("nonzero"))


@given(st.text() | st.text("ab C'-+#*.,0123_^{}\\ \n\u00a0½é日本𝒪\x1c", max_size=40))
def test_joined_terms_are_the_terms(text: str) -> None:
    assert analyzer("english").joined(text) == " ".join(terms(text))


def test_another_process_gets_the_same_analyzer() -> None:
    for each in (analyzer("german"), analyzer(mathematics="notation")):
        assert pickle.loads(pickle.dumps(each)) == each
