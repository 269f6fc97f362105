"""Errors as answers: the problem details of RFC 9457, with the code, the cure and the data of a notice."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from http import HTTPStatus

import structlog
from fastapi.responses import JSONResponse

from rifflux import (
    Busy,
    Conflict,
    Cure,
    DiskFull,
    InvalidArgument,
    MissingExtra,
    ModelError,
    NotFound,
    OutOfScope,
    OutsideRoots,
    ReadOnlyIndex,
    RiffluxError,
    Unreadable,
    UnusableIndex,
)
from rifflux.surfaces.http.cures import CURES
from rifflux.surfaces.shared.cures import with_cure
from rifflux.surfaces.shared.nouns import JsonObject

log = structlog.get_logger("rifflux.http")

#: The most specific class of an error decides.
_STATUS: tuple[tuple[type[RiffluxError], int], ...] = (
    (OutsideRoots, 403),
    (OutOfScope, 403),
    (Conflict, 409),
    (InvalidArgument, 422),
    (NotFound, 404),
    (Unreadable, 422),
    (MissingExtra, 501),
    (ModelError, 502),
    (RiffluxError, 500),
)


class Refused(Exception):
    """Raised to refuse a request; `status`, `code`, `message`, `cure` and `data` are the answer."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        *,
        cure: Cure | None = None,
        data: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})
        self.cure = cure
        self.data = dict(data or {})


#: Messages for errors of the index as a whole, whose own messages name a file and belong in the log only.
_OF_THE_INDEX: tuple[tuple[type[UnusableIndex], Refused], ...] = (
    (
        ReadOnlyIndex,
        Refused(403, "read_only", "here this can only be read: ask who looks after the index to change it"),
    ),
    (
        DiskFull,
        Refused(507, "disk_full", "the disk of the service is full, and this was not stored: tell an administrator"),
    ),
    (Busy, Refused(503, "busy", "others are writing to the index: try again", {"Retry-After": "1"})),
    (UnusableIndex, Refused(503, "unusable_index", "the index cannot be used now: tell an administrator")),
)
DISK_FULL = _OF_THE_INDEX[1][1]


def problem(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error as every route answers it."""
    return problem_of(Refused(status, code, message, headers))


def refusal_of(error: RiffluxError) -> Refused:
    """Return the problem for an error of Rifflux; details that are left out are logged."""
    if isinstance(error, UnusableIndex):
        refusal = next(refusal for kind, refusal in _OF_THE_INDEX if isinstance(error, kind))
        if refusal.status >= 500:
            log.error("index", cause=str(error))
        return refusal
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    # Other values, such as paths, are for administrators.
    words = CURES[error.cure] if error.cure else ""
    data = {name: value for name, value in error.data.items() if f"{{{name}}}" in words}
    return Refused(status, error.code, with_cure(error, CURES), cure=error.cure, data=data)


def problem_of(refusal: Refused) -> JSONResponse:
    """Return a refusal as every route answers it."""
    return JSONResponse(problem_json(refusal), refusal.status, refusal.headers, "application/problem+json")


def problem_json(refusal: Refused) -> JsonObject:
    """Return a refusal as a JSON object: in answers, in events of a stream and in jobs."""
    return {
        "title": HTTPStatus(refusal.status).phrase,
        "status": refusal.status,
        "detail": refusal.message,
        "code": refusal.code,
        "cure": refusal.cure,
        "data": refusal.data,
    }


def is_disk_full(error: OSError) -> bool:
    """Return True if an error of the system means that the disk is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
