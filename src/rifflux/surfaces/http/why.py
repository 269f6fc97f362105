"""`/why` and `/classify`: why a document is where it is, and what a question is taken for."""

from __future__ import annotations

from rifflux.requests import ClassifyRequest, WhyRequest
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Diagnostics
from rifflux.surfaces.shared.nouns import trace_json
from rifflux.surfaces.shared.shapes import ClassifiedShape, VerdictShape
from rifflux.surfaces.shared.verdicts import verdict_json
from rifflux.types.nouns import noun_json

router = make_router(tags=["search"])


class WhyOut(VerdictShape):
    """Why a document is where it is. Its path and reason may quote the document: untrusted data."""

    mode: str
    diagnostics: Diagnostics


@router.post("/why", summary="Tell why a document ranks where it does")
def why(request: WhyRequest, service: Asked, caller: User) -> WhyOut:
    """Tell which stage placed a document, or lost it, and what would bring it among the results."""
    verdict = service.of(caller).why(**vars(request))
    return WhyOut.of(verdict_json(verdict) | {"diagnostics": Diagnostics.of(trace_json(verdict.trace))})


@router.post("/classify", summary="Tell what sort of question it is")
def classify(request: ClassifyRequest, service: Asked, caller: User) -> ClassifiedShape:
    """Tell whether a question is for one identifier, mixed or conceptual in this index, and why."""
    return ClassifiedShape.of(noun_json(service.of(caller).classify(request.query)))
