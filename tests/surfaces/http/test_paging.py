"""Lists are told in pages: each entry once, however many a page has, and whatever comes or goes meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.surfaces.http.paging import page

NAMES = st.lists(st.text(min_size=1, max_size=3), unique=True, max_size=30)


def told(names: list[str], limit: int) -> list[list[str]]:
    """All pages of a list."""
    pages, after = [], ""
    while True:
        found, behind = page(names, str, after, limit)
        pages.append([*found])
        if behind is None:
            return pages
        after = behind


@given(names=NAMES, limit=st.integers(1, 40))
def test_each_entry_is_told_once_and_in_order(names: list[str], limit: int) -> None:
    pages = told(names, limit)
    assert [name for page in pages for name in page] == names
    assert all(len(page) == limit for page in pages[:-1])
    assert len(pages[-1]) <= limit


@given(names=NAMES.filter(bool), new=st.text(min_size=4, max_size=5))
def test_what_comes_before_shifts_no_page(names: list[str], new: str) -> None:
    _, behind = page(names, str, "", 1)
    if behind is not None:
        assert page([new, *names], str, behind, 40)[0] == names[1:]


def test_a_place_that_is_gone_is_told() -> None:
    with pytest.raises(InvalidArgument, match="begin again"):
        page(["a", "b"], str, "c", 1)
