"""A client of OpenAI-compatible `/chat/completions` endpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from rifflux.errors import InvalidArgument, ModelError
from rifflux.models.embedder import well_formed
from rifflux.models.endpoint import Endpoint

__all__ = ["ChatModel"]

CURES = {
    400: "the request may be too long for the model: rerank fewer hits",
    429: "the service limits the rate: wait, or rerank less",
}
#: Answers are short; what is longer than this (in bytes) is not one, and would only fill the memory.
LONGEST_ANSWER = 1 << 20


@dataclass(frozen=True)
class ChatModel:
    """Asks a chat model one thing at a time, at temperature 0.

    `timeout` is the seconds that one request may take. There are no retries: who waits for
    a chat model has a deadline. The key is never shown, also not where the server repeats it.
    """

    model: str
    base_url: str
    api_key: str | None = field(default=None, repr=False, compare=False)
    timeout: float = 30.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgument("the URL of a chat endpoint starts with http:// or https:// and a host")
        if parts.username or parts.password:
            raise InvalidArgument("give the key of a chat endpoint as key, not inside its URL")
        if not self.model:
            raise InvalidArgument(f"name the model that {self.base_url} should answer with")

    def __call__(
        self,
        system: str,
        user: str,
        *,
        timeout: float | None = None,
        max_tokens: int | None = None,
        spent: Callable[[int], None] | None = None,
    ) -> str:
        """Return the model's answer to `user` under the instructions of `system`. Raises `ModelError`.

        `timeout` shortens the time for this request, in seconds. `spent` receives the tokens of an answered request:
        what the server counted, else one for every four characters.
        """
        messages = [{"role": "system", "content": well_formed(system)}, {"role": "user", "content": well_formed(user)}]
        body: dict[str, object] = {"model": self.model, "temperature": 0, "messages": messages}
        if max_tokens:
            body["max_tokens"] = max_tokens
        answer = self._endpoint.post(body, self.timeout if timeout is None else min(timeout, self.timeout))
        reply = _parsed(answer)
        try:
            content = reply["choices"][0]["message"]["content"]
        except (TypeError, LookupError):
            content = None
        said = content if isinstance(content, str) else ""
        if spent:  # also where it says nothing that can be used
            spent(_tokens(reply, system + user + said))
        if not isinstance(content, str):
            message = "answered without a message: check that it is a chat endpoint"
            raise ModelError(f"{self.model} {message}", cause=f"{self._endpoint.url} {message}")
        return content

    @cached_property
    def _endpoint(self) -> Endpoint:
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        return Endpoint(self.model, url, self.api_key, LONGEST_ANSWER, CURES)


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except ValueError:
        return None


def _tokens(reply: object, text: str) -> int:
    """Count the tokens of a request and its answer."""
    usage = reply.get("usage") if isinstance(reply, Mapping) else None
    counted = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return counted if isinstance(counted, int) and counted >= 0 else len(text) // 4
