"""Options whose value may be left out, which the parser has no notion of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperCommand

__all__ = ["RerankByDefault", "with_default"]

#: What a reranker may be called; anything else after the option is the next argument.
_NAME = re.compile(r"[a-z]+(-[a-z]+)*")


class RerankByDefault(TyperCommand):
    """A command whose `--rerank` means the default reranker where no name follows."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the name filled in."""
        if "--rerank" not in args:
            return super().parse_args(ctx, args)
        from rifflux.retrieve.steps.rerank import DEFAULT_RERANKER

        return super().parse_args(ctx, list(with_default(args, "--rerank", DEFAULT_RERANKER)))


def with_default(arguments: Sequence[str], option: str, value: str) -> Iterator[str]:
    """The arguments, with a value for each `option` that no lower-case name follows."""
    literal = False
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        literal = literal or argument == "--"
        bare = argument == option and not literal and not _NAME.fullmatch(following)
        yield f"{option}={value}" if bare else argument
