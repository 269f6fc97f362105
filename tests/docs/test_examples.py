"""Every example of README and docs runs, and prints what the page shows, up to ids, times and scores.

With RIFFLUX_RECORD=1 output that differs is written into the page.
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import Block, Command, blocks_of, commands_of, differences, pages
from tests.docs.shell import Shell

RECORD = os.environ.get("RIFFLUX_RECORD") == "1"
RUN = {"console", "python", "bash", "sh"}


def _runnable(page: Path) -> bool:
    return any(block.language in RUN and not block.reason for block in blocks_of(page.read_text("utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in pages() if _runnable(page)], ids=lambda page: page.stem)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text("utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    recorded: list[tuple[Block, str]] = []
    with Shell(tmp_path) as shell:
        names: dict[str, Any] = {"__name__": "__main__"}
        printed: str | None = None
        for block in blocks_of(text):
            if block.reason:
                continue
            match block.language:
                case "console":
                    recorded += _console(shell, block)
                case "bash" | "sh":
                    _script(shell, block)
                case "python":
                    printed = _python(shell, block, names)
                    continue
                case "text" if printed is not None:
                    recorded += _shown(block, printed)
                case _ if block.title:
                    _file(shell, block)
            printed = None
    if recorded:
        _record(page, text, recorded)


def _console(shell: Shell, block: Block) -> list[tuple[Block, str]]:
    """Run a console block, and compare; return the block as it should be where that is to be recorded."""
    lines, differs = [], False
    for command in commands_of(block):
        printed, status = shell.run(command)
        assert status == command.status, f"$ {command.words}\n{printed}"
        assert "Traceback" not in printed, f"$ {command.words}\n{printed}"
        difference = differences(command.shown, printed)
        assert RECORD or not difference, f"$ {command.words}\n{difference}\n\n{printed}"
        differs = differs or bool(difference)
        output = "\n".join(map(str.rstrip, printed.strip("\n").splitlines()))
        shown = output if difference else "\n".join(command.shown).rstrip("\n")
        lines.append(f"$ {command.words}\n{shown}".rstrip("\n").replace(str(shell.home), "/home/ann"))
    return [(block, "\n".join(lines) + "\n")] if differs else []


def _script(shell: Shell, block: Block) -> None:
    printed, status = shell.run(Command(block.text.rstrip(), (), 0))
    assert status == 0, f"{block.text}\n{printed}"


def _python(shell: Shell, block: Block, names: dict[str, Any]) -> str:
    """Run Python after what the page ran before; return what it printed."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(shell.here(block.text), "<example>", "exec", dont_inherit=True), names)
    return printed.getvalue()


def _shown(block: Block, printed: str) -> list[tuple[Block, str]]:
    """Compare the block after Python with what was printed."""
    difference = differences(tuple(block.text.splitlines()), printed)
    assert RECORD or not difference, f"{difference}\n\n{printed}"
    return [(block, printed.strip("\n") + "\n")] if difference else []


def _file(shell: Shell, block: Block) -> None:
    """Write the file that a block is, into the folder that the shell is in."""
    path = Path(shell.run(Command("pwd", (), 0))[0].strip(), str(block.title))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, "utf-8")


def _record(page: Path, text: str, recorded: list[tuple[Block, str]]) -> None:
    for block, output in reversed(recorded):
        head = text[block.start : block.end].split("\n", 1)[0]
        text = f"{text[: block.start]}{head}\n{output}```{text[block.end :]}"
    page.write_text(text, "utf-8")
