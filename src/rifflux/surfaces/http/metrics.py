"""`GET /metrics`: what Prometheus reads."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from rifflux.surfaces.http.auth import Admin, Asked
from rifflux.surfaces.http.counters import CONTENT_TYPE

__all__ = ["router"]

router = APIRouter(tags=["operation"])


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
def metrics(service: Asked, caller: Admin) -> Response:
    """Requests, stages, failures: counts and times, never contents."""
    return Response(service.counters.exposed(), media_type=CONTENT_TYPE)
