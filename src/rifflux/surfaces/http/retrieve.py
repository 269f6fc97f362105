"""`POST /retrieve` and `/verify`: find research works, with evidence to cite, and check it."""

from __future__ import annotations

import json

from fastapi import Response

from rifflux.requests import RetrieveRequest, VerifyRequest
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.cures import all_noticed
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.packs import checked_json, retrieval_json
from rifflux.surfaces.shared.shapes import RetrievalShape, VerifiedShape

router = make_router(tags=["works"])


@router.post("/retrieve", summary="Find works, and evidence to cite", response_model=RetrievalShape)
def retrieve(request: RetrieveRequest, service: ServiceDependency, caller: User) -> Response:
    """Search by words, meaning and citations; the intent of the question, or `mode`, decides their weights."""
    found = service.of(caller).retrieve(**vars(request))
    service.note_question(caller, request.query)
    service.counters.retrieved(found)
    # Serialized here: the framework would do it in the event loop.
    answer = retrieval_json(found)
    answer["diagnostics"] = all_noticed(answer["diagnostics"])
    return Response(RetrievalShape.model_validate(answer).model_dump_json(), media_type="application/json")


@router.post("/verify", summary="Check the passages of an evidence pack")
def verify(request: VerifyRequest, service: ServiceDependency, caller: User) -> VerifiedShape:
    """Check every passage against its hash and its work as it is indexed now, and the facts of the work."""
    return VerifiedShape.of(checked_json(service.of(caller), json.dumps(request.evidence_pack), replay=request.replay))
