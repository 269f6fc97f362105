"""A client of OpenAI-compatible `/chat/completions` endpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from rifflux.errors import InvalidArgument, ModelError
from rifflux.models.embedder import well_formed
from rifflux.models.endpoint import Endpoint, Stop

CURES = {
    400: "the request may be too long for the model: rerank fewer hits",
    429: "the service limits the rate: wait, or rerank less",
}
#: The maximum bytes of an answer; a longer one is an error and would only fill the memory.
LONGEST_ANSWER = 1 << 20
#: The maximum characters of a stream.
LONGEST_STREAM = 32_000


@dataclass(frozen=True)
class ChatModel:
    """A chat model, which answers single requests at temperature 0.

    `timeout` is in seconds per request. There are no retries, since callers of a chat model have a deadline. The key is
    never revealed, even where the server repeats it.
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

        `timeout` shortens the time of this request, in seconds. `spent` receives the tokens of an answered request: the
        server's count, or else one for every four characters.
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
        text = content if isinstance(content, str) else ""
        if spent:  # even if the answer is unusable
            spent(_tokens(reply, len(system + user + text)))
        if not isinstance(content, str):
            message = "answered without a message: check that it is a chat endpoint"
            raise ModelError(f"{self.model} {message}", cause=f"{self._endpoint.url} {message}")
        return content

    @cached_property
    def _endpoint(self) -> Endpoint:
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        return Endpoint(self.model, url, self.api_key, LONGEST_ANSWER, CURES)


def stream(
    chat: ChatModel,
    messages: Sequence[Mapping[str, str]],
    stop: Stop,
    *,
    max_tokens: int,
    spent: Callable[[int], None],
) -> Iterator[str]:
    """Yield the pieces of an answer as the model writes them. Raises `ModelError`, also if it is cut off.

    `stop` ends the stream from another thread. `spent` finally receives the tokens, counted as in a call, even if the
    answer was cut off or ended.
    """
    cleaned = [{**each, "content": well_formed(each["content"])} for each in messages]
    options = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": max_tokens}
    body = {"model": chat.model, "temperature": 0, "messages": cleaned, **options}
    written = 0
    usage = None
    prompt_length = sum(len(each["content"]) for each in cleaned)
    frames = _Frames(chat, chat._endpoint.lines(body, chat.timeout, stop))
    try:
        for frame in frames:
            usage = frame if frame.get("usage") else usage
            if piece := _piece(frame):
                written += len(piece)
                if written > LONGEST_STREAM:
                    raise _misread(chat, "does not stop writing")
                yield piece
    finally:
        if written or usage:
            spent(_tokens(usage, prompt_length + written))
    if not frames.ended and not stop.is_set:
        raise _misread(chat, "stopped before its answer was complete")


def _misread(chat: ChatModel, what: str) -> ModelError:
    cure = "check that it is a chat endpoint, or try again later"
    return ModelError(f"{chat.model} {what}: {cure}", cause=f"{chat._endpoint.url} {what}: {cure}")


@dataclass
class _Frames:
    """The frames of a stream of server-sent events; `ended` is True once the last frame was read.

    A server that cannot stream sends the whole answer as a single frame.
    """

    chat: ChatModel
    lines: Iterator[str]
    ended: bool = False

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for line in self.lines:
            name, colon, data = line.partition(":")
            if line.startswith("{"):
                name = "data"
                data = line
            if name != "data" or not (colon and data.strip()):
                continue
            if data.strip() == "[DONE]":
                self.ended = True
                return
            frame = _parsed(data.encode())
            if not isinstance(frame, Mapping):
                raise _misread(self.chat, "sent an incomplete frame")
            if frame.get("error"):
                raise _misread(self.chat, "broke off with an error")
            self.ended = self.ended or bool(_choice(frame).get("finish_reason"))
            yield frame


def _choice(frame: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice of a frame; empty if there is none, as in a frame of usage."""
    choices = frame.get("choices")
    if isinstance(choices, list) and choices:
        first = choices[0]
    else:
        first = None
    if isinstance(first, Mapping):
        return first
    return {}


def _piece(frame: Mapping[str, Any]) -> str:
    """Return the text that a frame adds."""
    choice = _choice(frame)
    message = choice.get("delta") or choice.get("message")
    if isinstance(message, Mapping):
        content = message.get("content")
    else:
        content = None
    if isinstance(content, str):
        return content
    return ""


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _tokens(reply: object, characters: int) -> int:
    """Return the tokens of a request and its answer: the server's count, or else a quarter of `characters`."""
    if isinstance(reply, Mapping):
        usage = reply.get("usage")
    else:
        usage = None
    if isinstance(usage, Mapping):
        counted = usage.get("total_tokens")
    else:
        counted = None
    if isinstance(counted, int) and counted >= 0:
        return counted
    return characters // 4
