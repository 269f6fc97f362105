"""Rifflux finds the right passage in what you own, says why it ranked there, and hands it over as evidence.

import rifflux

with rifflux.open("notes.db") as index:
    index.add("~/notes")
    for hit in index.search("how long do cache entries live"):
        print(hit.path, hit.heading_path, hit.content)
"""

from __future__ import annotations

import typing as _typing

if _typing.TYPE_CHECKING:
    from rifflux.conversations import Conversation, Conversations, ImportReport, Message, MessageHit, MessageResults
    from rifflux.errors import (
        Busy,
        DamagedIndex,
        InvalidArgument,
        MissingExtra,
        ModelError,
        ModelMismatch,
        NewerIndex,
        NotAnIndex,
        NotFound,
        OutOfScope,
        OutsideRoots,
        RiffluxError,
        Unreadable,
        UnusableIndex,
    )
    from rifflux.evidence.pack import TITLE_ONLY, EvidencePack
    from rifflux.evidence.pack import Item as EvidenceItem
    from rifflux.index import Index
    from rifflux.index import open_index as open
    from rifflux.index.salvage import diagnose, repair
    from rifflux.index.status import Status
    from rifflux.ingest.walk.find import Finder, Found, Skipped
    from rifflux.memories import Memories, Memory, Saved
    from rifflux.models import Embedder, load_embedder
    from rifflux.models.embedder import KnownModel, known_models
    from rifflux.models.guarded import Guard
    from rifflux.models.workers import Workers
    from rifflux.retrieve.explain.verdict import QueryTerm, Verdict
    from rifflux.retrieve.fuse import ReciprocalRank
    from rifflux.retrieve.steps.rerank import DEFAULT_RERANKER, RerankSettings
    from rifflux.session.maintenance import Copied, Repaired, Switched
    from rifflux.session.policies import HYBRID_SEARCH, POLICIES
    from rifflux.store import Erased, Event, Generation, Problem, Store, Token
    from rifflux.surfaces.shared.contract import SearchService, contract_results, score_breakdown
    from rifflux.text.analyzer import Analyzer
    from rifflux.types import (
        WITHHELD,
        Document,
        Failure,
        Filter,
        Hit,
        Identifier,
        IndexReport,
        Link,
        Progress,
        Results,
        Scope,
        Tag,
        Trace,
        Understanding,
        Why,
        is_withheld,
    )
    from rifflux.works import Work
    from rifflux.works.catalog import WorkRecord, WorksCatalog, WorkSummary
    from rifflux.works.export import verify
    from rifflux.works.report import WorksReport
    from rifflux.works.retrieval.intent import adjusted as adjusted_intents
    from rifflux.works.retrieval.retriever import Retrieval

__all__ = [  # noqa: RUF022
    "Analyzer",
    "Busy",
    "Conversation",
    "Conversations",
    "Copied",
    "DEFAULT_RERANKER",
    "DamagedIndex",
    "Document",
    "Embedder",
    "Erased",
    "Event",
    "EvidenceItem",
    "EvidencePack",
    "Failure",
    "Filter",
    "Finder",
    "Found",
    "Generation",
    "Guard",
    "HYBRID_SEARCH",
    "Hit",
    "Identifier",
    "ImportReport",
    "Index",
    "IndexReport",
    "InvalidArgument",
    "KnownModel",
    "Link",
    "Memories",
    "Memory",
    "Message",
    "MessageHit",
    "MessageResults",
    "MissingExtra",
    "ModelError",
    "ModelMismatch",
    "NewerIndex",
    "NotAnIndex",
    "NotFound",
    "OutOfScope",
    "OutsideRoots",
    "POLICIES",
    "Problem",
    "Progress",
    "QueryTerm",
    "ReciprocalRank",
    "Repaired",
    "RerankSettings",
    "Results",
    "Retrieval",
    "RiffluxError",
    "Saved",
    "Scope",
    "SearchService",
    "Skipped",
    "Status",
    "Store",
    "Switched",
    "TITLE_ONLY",
    "Tag",
    "Token",
    "Trace",
    "Understanding",
    "Unreadable",
    "UnusableIndex",
    "Verdict",
    "WITHHELD",
    "Why",
    "Work",
    "WorkRecord",
    "WorkSummary",
    "Workers",
    "WorksCatalog",
    "WorksReport",
    "adjusted_intents",
    "contract_results",
    "diagnose",
    "is_withheld",
    "known_models",
    "load_embedder",
    "open",
    "repair",
    "score_breakdown",
    "verify",
]

__version__ = "0.1.0"

# Where the public names are that are neither an error nor one of the types. Loading them all takes longer than many a
# command runs, so each is loaded when it is first asked for. `inner:outer` is one that is called otherwise here.
_ELSEWHERE = {
    "conversations": "Conversation Conversations ImportReport Message MessageHit MessageResults",
    "evidence.pack": "TITLE_ONLY EvidencePack Item:EvidenceItem",
    "index": "Index open_index:open",
    "index.salvage": "diagnose repair",
    "index.status": "Status",
    "ingest.walk.find": "Finder Found Skipped",
    "memories": "Memories Memory Saved",
    "models": "Embedder load_embedder",
    "models.guarded": "Guard",
    "models.embedder": "KnownModel known_models",
    "models.workers": "Workers",
    "retrieve.explain.verdict": "QueryTerm Verdict",
    "retrieve.fuse": "ReciprocalRank",
    "retrieve.steps.rerank": "DEFAULT_RERANKER RerankSettings",
    "session.maintenance": "Copied Repaired Switched",
    "session.policies": "HYBRID_SEARCH POLICIES",
    "store": "Erased Event Generation Problem Store Token",
    "surfaces.shared.contract": "SearchService contract_results score_breakdown",
    "text.analyzer": "Analyzer",
    "works": "Work",
    "works.catalog": "WorkRecord WorksCatalog WorkSummary",
    "works.export": "verify",
    "works.report": "WorksReport",
    "works.retrieval.retriever": "Retrieval",
    "works.retrieval.intent": "adjusted:adjusted_intents",
}


def __getattr__(name: str) -> _typing.Any:
    """Load a public name."""
    if name not in __all__:
        raise AttributeError(f"module 'rifflux' has no attribute {name!r}")
    from importlib import import_module

    for module, names in _ELSEWHERE.items():
        for inner, _, outer in (each.partition(":") for each in names.split()):
            if name == (outer or inner):
                value = globals()[name] = getattr(import_module(f"rifflux.{module}"), inner)
                return value
    errors = import_module("rifflux.errors")
    value = globals()[name] = getattr(errors if hasattr(errors, name) else import_module("rifflux.types"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
