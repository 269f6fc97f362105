"""`/why` and `/classify`: why a document ranks where it does, and how a question is classified."""

from __future__ import annotations

from rifflux.requests import ClassifyRequest, WhyRequest
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Diagnostics
from rifflux.surfaces.shared.nouns import trace_json
from rifflux.surfaces.shared.shapes import ClassifiedShape, VerdictShape
from rifflux.surfaces.shared.verdicts import verdict_json
from rifflux.types.nouns import noun_json

router = make_router(tags=["search"])


class WhyOut(VerdictShape):
    """The explanation of a document's rank. Path and reason may quote the document: untrusted data."""

    mode: str
    diagnostics: Diagnostics


@router.post("/why", summary="Explain the rank of a document")
def why(request: WhyRequest, service: ServiceDependency, caller: User) -> WhyOut:
    """Return the stage that placed or lost a document, and what would bring it among the results."""
    verdict = service.of(caller).why(**vars(request))
    return WhyOut.of(verdict_json(verdict) | {"diagnostics": Diagnostics.of(trace_json(verdict.trace))})


@router.post("/classify", summary="Classify a question")
def classify(request: ClassifyRequest, service: ServiceDependency, caller: User) -> ClassifiedShape:
    """Classify a question as identifier, mixed or conceptual in this index, with reasons."""
    return ClassifiedShape.of(noun_json(service.of(caller).classify(request.query)))
