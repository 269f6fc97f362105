"""The compiled kernels do what numpy does, for all whole numbers and with all instructions of this processor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux import kernels
from rifflux.retrieve.table import places_in
from rifflux.store.sqlite.query import Ascending, best
from rifflux.store.sqlite.semantic import matrix, scan
from rifflux.text.analyzer import NearSpelling
from rifflux.types import Ranking

T = TypeVar("T")

ROOT = Path(__file__).parents[4]


def _instructions() -> Iterator[int]:
    yield from range(kernels.compiled.WAYS + 1 if kernels.compiled else 0)


@pytest.fixture(params=[*_instructions()])
def compiled(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    assert kernels.compiled
    kernels.compiled.use(request.param)
    yield kernels.compiled
    kernels.compiled.use(kernels.compiled.WAYS)


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(seed=st.integers(0, 1 << 32), rows=st.integers(0, 1100), words=st.integers(1, 12), skipped=st.integers(0, 70))
def test_counts_are_those_of_numpy(seed: int, rows: int, words: int, skipped: int) -> None:
    random = _random(seed)
    whole = random.integers(0, 1 << 63, (words, rows + skipped), np.uint64) * 2 + 1
    signs = whole[:, skipped:]
    query, large = random.integers(0, 1 << 63, (2, words), np.uint64)
    expected = np.zeros(rows, np.uint16)
    scan._count(signs, query, large, expected)
    for way in _instructions():
        assert kernels.compiled
        kernels.compiled.use(way)
        counts = np.full(rows, 7, np.uint16)
        kernels.compiled.apart(signs, query, large, counts)
        assert np.array_equal(counts, expected)


@given(
    seed=st.integers(0, 1 << 32),
    rows=st.integers(1, 600),
    width=st.integers(1, 530),
    wanted=st.integers(0, 700),
    size=st.sampled_from([1, 300, 32767]),
)
def test_cosines_are_those_of_numpy(seed: int, rows: int, width: int, wanted: int, size: int) -> None:
    random = _random(seed)
    values = random.integers(-size, size, (rows, width), np.int16, endpoint=True)
    scales = random.random(rows, np.float32)
    places = random.integers(0, rows, wanted)
    vector = random.standard_normal(width).astype(np.float32)
    vector /= max(float(np.linalg.norm(vector)), 1e-9)
    found = []
    known, kernels.compiled = kernels.compiled, None
    try:
        expected = matrix.cosines_of(values, scales, places, vector)
    finally:
        kernels.compiled = known
    for way in _instructions():
        assert kernels.compiled
        kernels.compiled.use(way)
        found.append(matrix.cosines_of(values, scales, places, vector))
    assert all(np.array_equal(each, expected) for each in found)
    exact = (values[places].astype(np.float64) @ vector.astype(np.float64)) * scales[places]
    np.testing.assert_allclose(expected, exact, rtol=0, atol=size * width / matrix.PARTS)


@given(
    counts=st.lists(st.integers(0, (1 << 16) - 1), max_size=1200),
    above=st.integers(-1, 1 << 16),
    upto=st.integers(-1, 1 << 16),
)
def test_places_in_a_range_are_those_of_numpy(counts: list[int], above: int, upto: int) -> None:
    array = np.array(counts, np.uint16)
    expected = np.flatnonzero((array.astype(np.int64) > above) & (array <= upto))
    for way in _instructions():
        assert kernels.compiled
        kernels.compiled.use(way)
        for room in (len(array), len(expected) // 2):
            places = np.empty(room, np.int64)
            assert kernels.compiled.between(array, above, upto, places) == len(expected)
            assert np.array_equal(places[: len(expected)], expected[:room])


@given(
    counts=st.lists(st.integers(0, (1 << 16) - 1) | st.integers(0, 9), max_size=300),
    each=st.integers(1, 9),
    size=st.integers(0, 1 << 16),
)
@pytest.mark.skipif(not kernels.compiled, reason="nothing was compiled")
def test_the_rows_of_each_count_are_those_of_numpy(counts: list[int], each: int, size: int) -> None:
    array = np.array(counts, np.uint16)
    expected = np.bincount(array[::each], minlength=size)[:size]
    found = np.zeros(size, np.int64)
    assert kernels.compiled
    length = kernels.compiled.tally(array, each, found)
    assert np.array_equal(found, expected)
    assert length == max([0, *(np.flatnonzero(expected) + 1).tolist()])


@given(
    lists=st.lists(st.sets(st.integers(0, 40)), max_size=9),
    apart=st.sampled_from([1, 100, 5000]),
    seed=st.integers(0, 1 << 32),
)
@pytest.mark.skipif(not kernels.compiled, reason="nothing was compiled")
def test_sums_of_lists_are_those_of_numpy_to_the_last_digit(lists: list[set[int]], apart: int, seed: int) -> None:
    rows = np.array([apart * row for each in lists for row in sorted(each)], np.int64)
    added = _random(seed).random(len(rows))
    ends = np.cumsum([*map(len, lists)], dtype=np.int64)
    found = np.empty(len(rows), np.int64)
    sums = np.empty(len(rows))
    assert kernels.compiled
    count = kernels.compiled.merge(rows, added, ends, found, sums)
    expected = np.bincount(rows, added)
    assert found[:count].tolist() == [apart * row for row in sorted(set().union(*lists))]
    assert np.array_equal(sums[:count], expected[found[:count]])


def _without_kernels(work: Callable[[], T]) -> T:
    known, kernels.compiled = kernels.compiled, None
    try:
        return work()
    finally:
        kernels.compiled = known


SOME_IDS = st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-9, 9), max_size=70)


@given(known=SOME_IDS, wanted=SOME_IDS)
def test_ids_are_found_where_numpy_finds_them(known: list[int], wanted: list[int]) -> None:
    values = np.array(known, np.int64)
    places = Ascending(values, np.argsort(values, kind="stable").astype(np.int32))
    missing = np.array([*wanted, *known[::2]], np.int64)
    assert np.array_equal(places.places_of(missing), _without_kernels(lambda: places.places_of(missing)))


@given(known=SOME_IDS, ranked=SOME_IDS, seed=st.integers(0, 1 << 32))
def test_ranks_are_those_of_numpy(known: list[int], ranked: list[int], seed: int) -> None:
    ids = np.array(sorted({*known, *ranked[::2]}), np.int64)
    ranking = Ranking(np.array(ranked, np.int64), _random(seed).random(len(ranked)))
    found = places_in(ranking, ids)
    expected = _without_kernels(lambda: places_in(ranking, ids))
    assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(found, expected, strict=True))


SOME_SCORES = st.lists(
    st.integers(-3, 3).map(float) | st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0]), max_size=70
)


@given(scores=SOME_SCORES, limit=st.integers(1, 70), seed=st.integers(0, 1 << 32))
def test_the_best_rows_are_those_of_numpy(scores: list[float], limit: int, seed: int) -> None:
    ids = _random(seed).permutation(len(scores)) - 20
    given = np.array(scores, np.float64)
    found = best(ids, given, limit)
    expected = _without_kernels(lambda: best(ids, given, limit))
    assert np.array_equal(found.ids, expected.ids)
    assert np.array_equal(found.scores, expected.scores)


@given(
    word=st.text("abc", min_size=1, max_size=9),
    others=st.lists(st.text("abcï", min_size=1, max_size=9), max_size=30),
    most=st.integers(1, 2),
)
@pytest.mark.skipif(not kernels.compiled, reason="nothing was compiled")
def test_only_words_that_are_too_different_are_left_out(word: str, others: list[str], most: int) -> None:
    spelled = [other.encode() for other in others]
    bounds = np.cumsum([0, *map(len, spelled)])
    places = np.empty(len(others), np.int64)
    assert kernels.compiled
    size = kernels.compiled.near(b"".join(spelled), bounds, word.encode(), most, places)
    found = [others[place] for place in places[:size].tolist()]
    like = NearSpelling(word, most)
    assert [*filter(like, found)] == [*filter(like, others)]
    assert all(like(each) for each in found if each.isascii())


def test_shapes_that_do_not_fit_are_refused(compiled: ModuleType) -> None:
    words = np.zeros((2, 10), np.uint64)
    with pytest.raises(ValueError, match="fit"):
        compiled.apart(words, words[0, :2].copy(), words[0, :2].copy(), np.zeros(9, np.uint16))
    with pytest.raises(ValueError, match="dimensions"):
        compiled.apart(words, words, words[0, :2].copy(), np.zeros(10, np.uint16))
    with pytest.raises(ValueError, match="fit"):
        compiled.apart(words[:, ::2], words[0, :2].copy(), words[0, :2].copy(), np.zeros(5, np.uint16))
    values = np.zeros((3, 4), np.int16)
    for row in (-1, 3):
        with pytest.raises(ValueError, match="no such row"):
            compiled.products(values, np.array([row]), np.zeros(4), np.zeros(1))
    with pytest.raises(ValueError, match="fit"):
        compiled.products(values, np.array([0]), np.zeros(5), np.zeros(1))
    with pytest.raises(ValueError, match="fit"):
        compiled.between(np.zeros(4, np.uint16), 0, 1 << 17, np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="fit"):
        compiled.tally(np.zeros(4, np.uint16), 0, np.zeros(3, np.int64))
    for rows, ends in (([1, 1], [2]), ([2, 1], [2]), ([1, 2], [3]), ([1, 2], [1, 0]), ([1], [0] * 24 + [1])):
        given = np.array(rows, np.int64)
        with pytest.raises(ValueError, match="fit"):
            compiled.merge(given, np.zeros(len(rows)), np.array(ends, np.int64), given.copy(), np.zeros(len(rows)))
    ids = np.arange(4)
    scores = np.zeros(4)
    with pytest.raises(ValueError, match="fit"):
        compiled.places(ids, np.zeros(3, np.int32), ids, ids.copy())
    with pytest.raises(ValueError, match="fit"):
        compiled.ranks(ids, ids, scores[:3], scores.copy(), scores.copy())
    with pytest.raises(ValueError, match="fit"):
        compiled.best(ids, scores, ids[:2].copy(), scores[:1].copy())
    with pytest.raises(TypeError):
        compiled.between(np.zeros(4, np.uint16), 0, 1)
    for bounds in ([0, 4], [-1, 2], [2, 1], []):
        with pytest.raises(ValueError, match="fit"):
            compiled.near(b"abc", np.array(bounds, np.int64), b"ab", 1, np.zeros(1, np.int64))
    frozen = np.zeros(10, np.uint16)
    frozen.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        compiled.apart(words, words[0, :2].copy(), words[0, :2].copy(), frozen)
    with pytest.raises(ValueError, match="instructions"):
        compiled.use(compiled.WAYS + 1)


def test_the_environment_turns_them_off() -> None:
    shown = [sys.executable, "-c", "from rifflux import kernels; print(kernels.compiled, kernels.description)"]
    off = subprocess.run(shown, env=os.environ | {"RIFFLUX_PURE": "1"}, capture_output=True, text=True, check=True)
    assert off.stdout == "None numpy, as RIFFLUX_PURE is set\n"


def test_a_file_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("rifflux._kernels")
    vars(other).update(VERSION=0, INSTRUCTIONS="plain")
    monkeypatch.setitem(sys.modules, "rifflux._kernels", other)
    monkeypatch.delenv(kernels.PURE, raising=False)
    found, description = kernels._load()
    assert found is None
    assert "of version 0" in description


def test_a_file_of_another_platform_is_reported(tmp_path: Path) -> None:
    (tmp_path / "_kernels.abi3.so").write_bytes(b"no library")
    code = (
        f"import rifflux; rifflux.__path__.insert(0, {str(tmp_path)!r});"
        "from rifflux import kernels; print(kernels.compiled, kernels.description)"
    )
    environment = {name: value for name, value in os.environ.items() if name != kernels.PURE}
    shown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("None numpy, as the compiled file cannot be loaded")


#: Calls each function with arrays of exactly the size that it may touch, and with ones that do not fit.
FUZZ = """
import sys
import sysconfig
import rifflux
rifflux.__path__.insert(0, sys.argv[1])
import numpy as np
from rifflux import kernels
assert kernels.compiled and sys.argv[1] in kernels.compiled.__file__, kernels.description
random = np.random.default_rng(int(sys.argv[2]))
done = refused = 0


def segments(random, rows, words, off):
    values = random.integers(0, 200, rows).astype(random.choice([np.uint8, np.uint16, np.uint32]))
    further = random.integers(0, 1 << 31, words, dtype=np.int32)
    found = []
    for marks in random.integers(0, 4, words).tolist():
        size = len(further) if marks & 2 else rows
        start, end = sorted(random.integers(min(0, off), 1 + size + max(0, off), 2).tolist())
        found.append((start, end, 7, marks))
    room = sum(end - start + 1 for start, end, _, _ in found) + int(random.integers(min(0, off), 1 + max(0, off)))
    numbers = np.empty(max(0, room), np.int32)
    every = np.array(found, np.int64).reshape(-1, 4)
    return values, further, every, numbers, np.empty(len(numbers), np.int64), np.empty(len(numbers), np.bool_)


for _ in range(400):
    kernels.compiled.use(int(random.integers(0, kernels.compiled.WAYS + 1)))
    rows, words, width, wanted = (int(each) for each in random.integers(0, (1200, 8, 500, 300)))
    off = int(random.integers(-1, 2)) if random.random() < 0.2 else 0
    terms = random.integers(-1, 1 << int(random.integers(1, 31)), rows).astype(np.int32)
    of = random.integers(min(0, off), 1 + width + max(0, off), max(0, rows + off))
    clauses = random.integers(0, 4, words)
    several = terms[:int(clauses.sum())].copy()
    for call, arguments in (
        ("apart", (
            random.integers(0, 1 << 63, (words, rows), np.uint64), random.integers(0, 1 << 63, words, np.uint64),
            random.integers(0, 1 << 63, words, np.uint64), np.empty(max(0, rows + off), np.uint16),
        )),
        ("products", (
            random.integers(-32768, 32767, (rows, width), np.int16, endpoint=True),
            random.integers(min(0, off), max(1, rows + max(0, off)), wanted if rows else 0),
            random.standard_normal(width), np.empty(max(0, (wanted if rows else 0) + off)),
        )),
        ("between", (
            random.integers(0, 1 << 16, rows).astype(np.uint16), int(random.integers(-2, 1 << 16)),
            int(random.integers(-2, 1 << 17)), np.empty(max(0, rows + off), np.int64),
        )),
        ("tally", (
            random.integers(0, 1 << int(random.integers(1, 17)), rows).astype(np.uint16), int(random.integers(off, 9)),
            np.zeros(width, np.int64),
        )),
        ("merge", (
            np.sort(random.integers(0, 1 << 20, rows)) if off else random.integers(0, 99, rows), random.random(rows),
            np.append(np.sort(random.integers(0, 1 + rows, words)), rows + off), np.empty(rows, np.int64),
            np.empty(rows),
        )),
        ("merge", (
            np.arange(rows), random.random(rows), np.append(np.sort(random.integers(0, 1 + rows, words)), rows),
            np.empty(rows, np.int64), np.empty(rows),
        )),
        ("places", (
            np.sort(random.integers(0, 99, rows)), np.arange(rows + off, dtype=np.int32),
            random.integers(-9, 199, wanted), np.empty(wanted, np.int64),
        )),
        ("ranks", (
            np.sort(random.integers(0, 99, width)), random.integers(-9, 199, wanted), random.random(wanted),
            np.empty(max(0, width + off)), np.empty(width),
        )),
        ("best", (
            random.integers(0, 99, rows), random.integers(-9, 9, rows) / random.choice([3.0, 1e-300, np.inf]),
            np.empty(wanted, np.int64), np.empty(max(0, wanted + off)),
        )),
        ("gather", segments(random, rows, words, off)),
        ("holders", (terms, of, several, clauses.cumsum(), np.zeros((max(0, words + off), width + 1), np.bool_))),
        ("likely", (
            terms, of, random.random(words), several, int(random.integers(min(0, off), 30)), np.empty(width + 1),
        )),
        ("asked", (terms, of, random.random(rows) < 0.5, several, np.empty(width + 1))),
        ("near", (
            random.integers(96, 101 + 100 * max(0, off), max(0, int(clauses.sum()) + off), np.uint8),
            np.append(0, clauses.cumsum()), random.integers(96, 101, width, np.uint8), int(random.integers(0, 70)),
            np.empty(words, np.int64),
        )),
    ):
        try:
            getattr(kernels.compiled, call)(*arguments)
            done += 1
        except ValueError:
            refused += 1
assert done > 400 and refused > 20, (done, refused)
print("done")
"""


@pytest.mark.skipif(not (shutil.which("gcc") and sys.platform == "linux"), reason="there is no gcc")
def test_no_memory_is_touched_that_is_not_theirs(tmp_path: Path) -> None:
    source = ROOT / "src" / "rifflux" / "_kernels.c"
    target = tmp_path / "_kernels.abi3.so"
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
    flags = ["-O1", "-g", "-fPIC", "-shared", *checks, f"-I{sysconfig.get_path('include')}"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(target)], check=True)
    shown = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    environment = os.environ | {"LD_PRELOAD": shown.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0", kernels.PURE: "0"}
    command = [sys.executable, "-c", FUZZ, str(tmp_path), "1"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr[-4000:]
