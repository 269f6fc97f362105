"""What is found in a folder, and what is left out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument, NotFound
from rifflux.ingest.walk.find import Finder, FoundFile, Skipped
from tests.support.exploring import examples

GIT = shutil.which("git")


def plant(root: Path, *paths: str, **contents: str) -> None:
    """Make files below `root`; a path that ends in a slash makes a folder."""
    for path in paths:
        name, _, content = path.partition("=")
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            (root / name).mkdir(exist_ok=True)
        else:
            (root / name).write_text(content.replace("|", "\n") or "x")


def paths(root: Path, within: Path | None = None, **options: object) -> list[str]:
    return [found.path for found in Finder(**options)(root, within) if isinstance(found, FoundFile)]  # type: ignore[arg-type]


def skipped(root: Path, **options: object) -> dict[str, str]:
    return {left.path: left.reason for left in Finder(**options)(root) if isinstance(left, Skipped)}  # type: ignore[arg-type]


def test_files_come_in_order_with_their_facts(tmp_path: Path) -> None:
    plant(tmp_path, "b.md=hello", "a/z.md", "a/b/c.md", "c.md")
    found = [each for each in Finder()(tmp_path) if isinstance(each, FoundFile)]
    assert [each.path for each in found] == ["b.md", "c.md", "a/z.md", "a/b/c.md"]
    assert found[0].size == 5
    assert found[0].absolute == tmp_path / "b.md"
    os.utime(tmp_path / "b.md", ns=(0, 1_714_521_600 * 10**9))
    again = next(iter(Finder()(tmp_path)))
    assert isinstance(again, FoundFile)
    assert again.updated_at == "2024-05-01T00:00:00+00:00"


def test_hidden_and_generated_folders_are_left_out_anywhere(tmp_path: Path) -> None:
    generated = [
        "node_modules/a.js",
        "deep/er/node_modules/a.md",
        "x/__pycache__/a.py",
        "p.egg-info/SOURCES.txt",
    ]
    plant(tmp_path, "kept.md", ".hidden.md", ".config/a.md", "x/.git/HEAD", ".rifflux/index.db", *generated)
    plant(tmp_path, "env/pyvenv.cfg", "env/lib/a.py")
    plant(tmp_path, "target/CACHEDIR.TAG=Signature: 8a477f597d28d172789f06886806bc55", "target/debug/a.txt")
    assert paths(tmp_path) == ["kept.md"]
    assert paths(tmp_path, hidden=True) == [".hidden.md", "kept.md", ".config/a.md"]


def test_what_is_named_itself_is_taken(tmp_path: Path) -> None:
    plant(tmp_path, ".gitignore=build|*.log", "build/a.md", "build/b.log", ".notes/a.md", "node_modules/x/a.md")
    assert paths(tmp_path / "node_modules") == ["x/a.md"]
    assert paths(tmp_path / ".notes") == ["a.md"]
    assert paths(tmp_path, tmp_path / "build") == ["build/a.md"]
    assert paths(tmp_path, tmp_path / ".gitignore") == [".gitignore"]
    assert paths(tmp_path / "build" / "b.log") == ["b.log"]


def test_within_walks_a_part_with_paths_from_the_root(tmp_path: Path) -> None:
    plant(tmp_path, ".gitignore=*.tmp", "a/x.md", "a/y.tmp", "a/b/z.md", "c.md")
    assert paths(tmp_path, tmp_path / "a") == ["a/x.md", "a/b/z.md"]
    assert paths(tmp_path, tmp_path / "a" / "x.md") == ["a/x.md"]
    with pytest.raises(InvalidArgument, match="not inside"):
        paths(tmp_path / "a", tmp_path / "c.md")
    with pytest.raises(NotFound, match="no file or folder"):
        paths(tmp_path / "nowhere")


def test_deeper_and_later_rules_win(tmp_path: Path) -> None:
    plant(tmp_path, ".gitignore=*.log|/top.md|!keep.log", "top.md", "sub/top.md", "a.log", "keep.log")
    plant(tmp_path, "sub/.gitignore=!b.log|drafts/", "sub/b.log", "sub/c.log", "sub/drafts/x.md", "drafts/y.md")
    plant(tmp_path, "rf/.gitignore=!a.md|b.md", "rf/.riffluxignore=a.md|!b.md", "rf/a.md", "rf/b.md")
    assert paths(tmp_path) == ["keep.log", "drafts/y.md", "rf/b.md", "sub/b.log", "sub/top.md"]


def test_a_rule_that_takes_a_folder_back_does_not_take_back_its_files(tmp_path: Path) -> None:
    plant(
        tmp_path,
        ".gitignore=build/|*.log",
        "a/.gitignore=!build/",
        "a/build/x.md",
        "a/build/x.log",
        "build/x.md",
    )
    assert paths(tmp_path) == ["a/build/x.md"]


def test_rules_above_the_root_hold_up_to_the_top_of_the_repository(tmp_path: Path) -> None:
    plant(tmp_path, ".gitignore=*.md", "repo/.git/info/exclude=*.secret", "repo/.gitignore=/docs/drafts")
    plant(tmp_path, "repo/docs/a.md", "repo/docs/drafts/b.md", "repo/docs/c.secret")
    assert paths(tmp_path / "repo" / "docs") == ["a.md"]


def test_a_root_that_its_repository_ignores_is_walked_all_the_same(tmp_path: Path) -> None:
    plant(tmp_path, ".git/HEAD", ".gitignore=*", "notes/a.md", "notes/.gitignore=b.md", "notes/b.md")
    assert paths(tmp_path) == []
    assert paths(tmp_path / "notes") == ["a.md"]


def test_exclude_is_not_overridden(tmp_path: Path) -> None:
    plant(tmp_path, ".gitignore=!*.csv", "a.csv", "b.md", "old/c.md", "x/old/d.md")
    assert paths(tmp_path, exclude=("*.csv", "/old/")) == ["b.md", "x/old/d.md"]


def test_too_large_tells_size_limit_and_cure(tmp_path: Path) -> None:
    plant(tmp_path, "big.txt=" + "x" * 3000, "small.txt", "empty.txt")
    (tmp_path / "empty.txt").write_text("")
    assert paths(tmp_path, max_bytes=2000) == ["empty.txt", "small.txt"]
    assert "raise max_file_mb" in skipped(tmp_path, max_bytes=2000)["big.txt"]


def test_links(tmp_path: Path) -> None:
    root = tmp_path / "root"
    plant(tmp_path, "outside/secret.md", "root/real/a.md", "root/.store/b.md", "root/.store/deep/c.md")
    (root / "twice.md").symlink_to("real/a.md")
    (root / "again").symlink_to("real")
    (root / "from_store.md").symlink_to(".store/b.md")
    (root / "store").symlink_to(".store")
    (root / "up").symlink_to("..")
    (root / "real" / "loop").symlink_to("..")
    (root / ".store" / "loop").symlink_to("../.store")
    (root / "circle").symlink_to("circle")
    (root / "gone").symlink_to("nothing.md")
    # A file is found under its own path; one that is hidden there, under the link's.
    assert paths(root) == ["from_store.md", "real/a.md", "store/b.md", "store/deep/c.md"]
    told = skipped(root)
    assert set(told) == {"up", "circle", "gone"}
    assert "out of the root" in told["up"]
    assert "leads nowhere" in told["gone"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX names and pipes")
def test_odd_files_do_not_stop_the_walk(tmp_path: Path) -> None:
    plant(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    assert paths(tmp_path) == ["a.md"]
    assert "not valid UTF-8" in skipped(tmp_path)["caf\\xe9.md"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may open everything")
def test_a_folder_without_permission_is_told(tmp_path: Path) -> None:
    plant(tmp_path, "shut/a.md", "b.md")
    (tmp_path / "shut").chmod(0)
    try:
        left = [each for each in Finder()(tmp_path) if isinstance(each, Skipped)]
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert left == [Skipped("shut/", "the folder cannot be opened: permission denied", "permission", failed=True)]


def test_ten_thousand_files_take_well_under_a_second(tmp_path: Path) -> None:
    for folder in range(100):
        (tmp_path / f"d{folder}").mkdir()
        for file in range(100):
            (tmp_path / f"d{folder}" / f"{file}.md").touch()
    plant(tmp_path, ".gitignore=*.log|build/|/dist|node_modules|a/**/b|*.py[co]")
    start = time.thread_time()
    assert len(paths(tmp_path)) == 10_000
    assert time.thread_time() - start < 4  # of the processor: a third of a second on a slow machine of 2024


NAMES = ["a", "b", "ab", "a.md", "b.md", "#a", "a b", "[a]"]
PATTERNS = st.lists(
    st.sampled_from(
        [
            *("a", "b", " ", "#", "!", "/", "*", "**", "***", "?", "\\", "[", "]", ".", "md", "a**/b", "\\/", "[a/b]"),
            *(
                "b.md",
                "*.md",
                "a/",
                "/**",
                "**/",
                "[ab]",
                "[!a]",
                "[^b]",
                "[a-c]",
                "[[:alpha:]]",
                "\\#",
                "\\[",
            ),
        ]
    ),
    min_size=1,
    max_size=5,
).map("".join)
IGNORE_FILE = st.lists(PATTERNS, max_size=4)


@pytest.mark.skipif(GIT is None, reason="git is the judge here")
@examples(20)
@given(top=IGNORE_FILE, nested=IGNORE_FILE)
@example(top=["a**/b", "/d/a**/b"], nested=["a**/b"])
@example(top=["d/***/b"], nested=["a**b", "**/b", "!ab.d/***"])
@example(top=["d/[a/b]"], nested=["ab.d**\\/b"])
def test_git_agrees(top: list[str], nested: list[str]) -> None:
    assert GIT is not None
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        files = [*NAMES, *(f"d/{name}" for name in NAMES), *(f"d/ab.d/{name}" for name in NAMES)]
        for name in files:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("x")
        (root / ".gitignore").write_text("\n".join(top))
        (root / "d" / ".gitignore").write_text("\n".join(nested))
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        listed = ["ls-files", "-z", "--others", "--exclude-standard"]
        subprocess.run([GIT, "init", "-q"], cwd=root, env=environment, check=True)
        told = subprocess.run([GIT, *listed], cwd=root, env=environment, check=True, capture_output=True)
        wanted = {path for path in told.stdout.decode().split("\0") if path and not path.endswith(".gitignore")}
        assert set(paths(root)) == wanted
