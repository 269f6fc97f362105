"""A work survives being stored as a document, and its names have one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.types import Identifier, Link, Tag
from rifflux.works import Passage, Work, document_of, identify, parse_identifier, tagged, work_of

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
works = st.builds(
    Work,
    title=words,
    abstract=st.just("") | words,
    authors=st.lists(words, max_size=3).map(tuple),
    year=st.none() | st.integers(1600, 2030),
    venue=st.just("") | words,
    identifiers=st.lists(st.builds(Identifier, st.sampled_from(["doi", "list"]), words), max_size=3).map(tuple),
    tags=st.lists(st.builds(Tag, st.sampled_from(["msc", "arxiv"]), words), max_size=3).map(tuple),
    passages=st.lists(
        st.builds(Passage, words, st.sampled_from(["section", "proof"]), st.tuples(words), words), max_size=4
    ).map(tuple),
    citations=st.lists(st.builds(Link, words, st.just("cites"), st.floats(0, 1)), max_size=3).map(tuple),
    license=st.none() | words,
)


@given(works)
def test_a_work_comes_back_from_its_document(work: Work) -> None:
    back = work_of(document_of(work, "key"))
    told = ("title", "abstract", "authors", "year", "venue", "passages", "license", "kind")
    assert [getattr(back, name) for name in told] == [getattr(work, name) for name in told]
    assert set(back.identifiers) == set(work.identifiers)
    assert set(back.tags) == set(work.tags)
    assert {link.key for link in back.citations} == {link.key for link in work.citations}


@pytest.mark.slow
@given(works)
def test_storing_what_was_stored_changes_nothing(work: Work) -> None:
    document = document_of(work, "key")
    assert document_of(work_of(document), "key") == document


@pytest.mark.slow
@given(works)
def test_parts_are_the_passages_of_the_text(work: Work) -> None:
    document = document_of(work, "key")
    texts = [document.text[slice(*part.span)] for part in document.parts]
    assert texts == [*([work.abstract] if work.abstract else []), *(passage.text for passage in work.passages)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("10.1007/BF01389815", "doi:10.1007/bf01389815"),
        ("https://doi.org/10.1007/BF01389815", "doi:10.1007/bf01389815"),
        ("doi:10.1007/bf01389815", "doi:10.1007/bf01389815"),
        ("http://dx.doi.org/10.1016%2F0022-4049", "doi:10.1016/0022-4049"),
        ("10.48550/arXiv.2101.00001", "arxiv:2101.00001"),
        ("2101.00001v3", "arxiv:2101.00001"),
        ("arXiv:2101.00001v3 [math.AG]", "arxiv:2101.00001"),
        ("https://arxiv.org/pdf/2101.00001v1.pdf", "arxiv:2101.00001"),
        ("math.AG/0601001", "arxiv:math/0601001"),
        ("math/0601001v2", "arxiv:math/0601001"),
        ("https://openalex.org/W2741809807", "openalex:W2741809807"),
        ("MR:MR0463157 (57 #3116)", "mr:463157"),
        ("isbn: 978-0-387-90244-9", "isbn:9780387902449"),
        ("978-0-387-98403-2", "isbn:9780387984032"),
        ("9780387984032", "isbn:9780387984032"),
        ("0-8044-2957-X", "isbn:080442957X"),
        ("cacm:CACM-0100", "cacm:CACM-0100"),
        ("CACM-0100", None),
        ("https://example.org/a", None),
        ("doi:nothing", None),
    ],
)
def test_an_identifier_has_one_spelling(text: str, name: str | None) -> None:
    found = parse_identifier(text)
    assert (str(found) if found else None) == name
    if found:
        assert parse_identifier(str(found)) == found


@given(st.text(max_size=30))
def test_a_parsed_identifier_is_parsed_to_itself(text: str) -> None:
    found = parse_identifier(text)
    assert found is None or parse_identifier(str(found)) == found


@pytest.mark.parametrize(("scheme", "text"), [("doi", "nonsense"), ("isbn", "12"), ("", "x"), ("a b", "x")])
def test_what_is_no_identifier_is_refused(scheme: str, text: str) -> None:
    with pytest.raises(InvalidArgument, match="not a valid identifier"):
        identify(scheme, text)


@pytest.mark.parametrize(
    ("scheme", "text"), [("msc", "14F05"), ("msc", "14-XX"), ("MSC", "14Fxx"), ("arxiv", "math.AG")]
)
def test_a_tag_of_a_known_scheme_is_taken(scheme: str, text: str) -> None:
    assert tagged(scheme, f" {text} ") == Tag(scheme.lower(), text)


@pytest.mark.parametrize(("scheme", "text"), [("mcs", "14F05"), ("msc", "algebraic geometry"), ("arxiv", "Math AG")])
def test_an_unknown_scheme_or_a_tag_of_another_is_refused(scheme: str, text: str) -> None:
    with pytest.raises(InvalidArgument):
        tagged(scheme, text)
