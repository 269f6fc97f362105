"""Errors as answers: one shape, with the message that names the cure."""

from __future__ import annotations

from fastapi.responses import JSONResponse

from rifflux import (
    Busy,
    Conflict,
    InvalidArgument,
    MissingExtra,
    ModelError,
    NotFound,
    OutOfScope,
    OutsideRoots,
    RiffluxError,
    Unreadable,
    UnusableIndex,
)
from rifflux.surfaces.http.wording import for_clients

__all__ = ["problem", "problem_of"]

#: The nearest class of an error decides.
_STATUS: tuple[tuple[type[RiffluxError], int, str], ...] = (
    (OutsideRoots, 403, "forbidden"),
    (OutOfScope, 403, "out_of_scope"),
    (Conflict, 409, "conflict"),
    (InvalidArgument, 422, "invalid"),
    (NotFound, 404, "not_found"),
    (Unreadable, 422, "unreadable"),
    (Busy, 503, "busy"),
    (MissingExtra, 501, "not_installed"),
    (ModelError, 502, "model"),
    (UnusableIndex, 503, "unusable_index"),
    (RiffluxError, 500, "error"),
)


def problem(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error as every route answers it."""
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


def problem_of(error: RiffluxError) -> JSONResponse:
    """Return the answer to an error of ours."""
    status, code = next((status, code) for kind, status, code in _STATUS if isinstance(error, kind))
    return problem(status, code, for_clients(str(error)), {"Retry-After": "1"} if status == 503 else None)
