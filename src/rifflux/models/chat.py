"""A client of OpenAI-compatible `/chat/completions` endpoints."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rifflux.errors import InvalidArgument, ModelError
from rifflux.models.embedder import well_formed

if TYPE_CHECKING:
    import httpx2

__all__ = ["ChatModel"]

CURES = {
    400: "the request may be too long for the model: rerank fewer hits",
    401: "check the API key",
    403: "check the API key and what it may use",
    404: "check the URL (it mostly ends in /v1) and the model's name",
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
        spent: Callable[[str, int], None] | None = None,
    ) -> str:
        """Return the model's answer to `user` under the instructions of `system`. Raises `ModelError`.

        `timeout` shortens the time for this request, in seconds. `spent` receives the model and the tokens of an
        answered request: what the server counted, else one for every four characters.
        """
        messages = [{"role": "system", "content": well_formed(system)}, {"role": "user", "content": well_formed(user)}]
        body: dict[str, object] = {"model": self.model, "temperature": 0, "messages": messages}
        if max_tokens:
            body["max_tokens"] = max_tokens
        answer = self._post(body, self.timeout if timeout is None else min(timeout, self.timeout))
        reply = _parsed(answer)
        try:
            content = reply["choices"][0]["message"]["content"]
        except (TypeError, LookupError):
            content = None
        if not isinstance(content, str):
            raise ModelError(f"{self._endpoint} answered without a message: check that it is a chat endpoint")
        if spent:
            spent(self.model, _tokens(reply, system + user + content))
        return content

    def _post(self, body: dict[str, object], timeout: float) -> bytes:
        import httpx2

        until = time.perf_counter() + timeout
        try:
            with self._client.stream("POST", self._endpoint, json=body, timeout=max(timeout, 0.001)) as response:
                answer = self._read(response, until)
        except httpx2.TimeoutException:
            raise self._late() from None
        except httpx2.HTTPError as error:
            problem = f"{type(error).__name__}: {self._without_key(str(error))}"
            raise ModelError(f"{self._endpoint} was not reached ({problem}): check that it runs and its URL") from None
        if not response.is_success:
            said = self._without_key(" ".join(answer[:1000].decode("utf-8", "replace").split()))[:200]
            cure = CURES.get(response.status_code, "look into the server's log, or try again later")
            raise ModelError(f"{self._endpoint} did not answer: status {response.status_code} ({said}); {cure}")
        return answer

    def _read(self, response: httpx2.Response, until: float) -> bytes:
        """Return the whole body. The client's timeout is for each step, and a server that drips never exceeds it."""
        body = bytearray()
        for block in response.iter_bytes():
            body += block
            if len(body) > LONGEST_ANSWER:
                raise ModelError(f"{self._endpoint} answers without end: check that it is a chat endpoint")
            if time.perf_counter() > until:
                raise self._late()
        return bytes(body)

    def _late(self) -> ModelError:
        return ModelError(f"{self._endpoint} did not answer in time: allow it more, or choose a faster model")

    def _without_key(self, text: str) -> str:
        return text.replace(self.api_key, "***") if self.api_key else text

    @property
    def _endpoint(self) -> str:
        return f"{self.base_url.rstrip('/')}/chat/completions"

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        return httpx2.Client(headers={"Authorization": f"Bearer {self.api_key}"} if self.api_key else {})


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except ValueError:
        return None


def _tokens(reply: Mapping[str, object], text: str) -> int:
    """Count the tokens of a request and its answer."""
    usage = reply.get("usage")
    counted = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return counted if isinstance(counted, int) and counted >= 0 else len(text) // 4
