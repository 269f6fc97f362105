"""Rifflux finds the right passage in what you own, says why it ranked there, and hands it over as evidence.

import rifflux

with rifflux.open("notes.db") as index:
    index.add("~/notes")
    for hit in index.search("how long do cache entries live"):
        print(hit.path, hit.heading_path, hit.text)
"""

from __future__ import annotations

import os as _os
import typing as _typing

# ONNX Runtime reports its use to its maker over the network, and keeps an identifier in the home folder, unless this
# stands in the environment before it is loaded. Processes started from here inherit it.
_os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# Type checkers read the public names here, programs in the table below.
if _typing.TYPE_CHECKING:
    from rifflux.answer.model import Answer as Answer
    from rifflux.answer.model import AnswerEvent as AnswerEvent
    from rifflux.answer.model import AnswerSentence as AnswerSentence
    from rifflux.answer.model import Citation as Citation
    from rifflux.answer.model import Cited as Cited
    from rifflux.answer.model import Delta as Delta
    from rifflux.answer.model import Done as Done
    from rifflux.answer.model import Failed as Failed
    from rifflux.answer.model import Sources as Sources
    from rifflux.answer.model import Withdrawn as Withdrawn
    from rifflux.conversations import Conversation as Conversation
    from rifflux.conversations import Conversations as Conversations
    from rifflux.conversations import Group as Group
    from rifflux.conversations import ImportReport as ImportReport
    from rifflux.conversations import Message as Message
    from rifflux.conversations import MessageHit as MessageHit
    from rifflux.conversations import MessageResults as MessageResults
    from rifflux.conversations import Thread as Thread
    from rifflux.conversations import VectorsMade as VectorsMade
    from rifflux.conversations import WrittenMessage as WrittenMessage
    from rifflux.errors import Busy as Busy
    from rifflux.errors import Conflict as Conflict
    from rifflux.errors import DamagedIndex as DamagedIndex
    from rifflux.errors import DiskFull as DiskFull
    from rifflux.errors import InvalidArgument as InvalidArgument
    from rifflux.errors import MissingExtra as MissingExtra
    from rifflux.errors import ModelError as ModelError
    from rifflux.errors import ModelMismatch as ModelMismatch
    from rifflux.errors import NewerIndex as NewerIndex
    from rifflux.errors import NotAnIndex as NotAnIndex
    from rifflux.errors import NotFound as NotFound
    from rifflux.errors import NothingImported as NothingImported
    from rifflux.errors import OutOfScope as OutOfScope
    from rifflux.errors import OutsideRoots as OutsideRoots
    from rifflux.errors import ReadOnlyIndex as ReadOnlyIndex
    from rifflux.errors import RiffluxError as RiffluxError
    from rifflux.errors import TokenExpired as TokenExpired
    from rifflux.errors import Unreadable as Unreadable
    from rifflux.errors import UnusableIndex as UnusableIndex
    from rifflux.evidence.pack import TITLE_ONLY as TITLE_ONLY
    from rifflux.evidence.pack import Asking as Asking
    from rifflux.evidence.pack import EvidenceItem as EvidenceItem
    from rifflux.evidence.pack import EvidencePack as EvidencePack
    from rifflux.index import Index as Index
    from rifflux.index import open as open
    from rifflux.index.admin import Admin as Admin
    from rifflux.index.collections import CollectionInfo as CollectionInfo
    from rifflux.index.collections import Collections as Collections
    from rifflux.index.documents import DocumentInfo as DocumentInfo
    from rifflux.index.documents import DocumentPage as DocumentPage
    from rifflux.index.documents import Documents as Documents
    from rifflux.index.documents import Stored as Stored
    from rifflux.index.extract import Extracted as Extracted
    from rifflux.index.extract import Issued as Issued
    from rifflux.index.facets import Facet as Facet
    from rifflux.index.facets import FacetValue as FacetValue
    from rifflux.index.federated import Everything as Everything
    from rifflux.index.places import DocumentAt as DocumentAt
    from rifflux.index.places import Heading as Heading
    from rifflux.index.salvage import diagnose as diagnose
    from rifflux.index.salvage import repair as repair
    from rifflux.index.status import Status as Status
    from rifflux.index.status import VectorReport as VectorReport
    from rifflux.ingest.walk.find import Finder as Finder
    from rifflux.ingest.walk.find import FoundFile as FoundFile
    from rifflux.ingest.walk.find import Skipped as Skipped
    from rifflux.ingest.walk.inside import Place as Place
    from rifflux.memories import Memories as Memories
    from rifflux.memories import Memory as Memory
    from rifflux.memories import Recalled as Recalled
    from rifflux.memories import Saved as Saved
    from rifflux.models import Embedder as Embedder
    from rifflux.models import load_embedder as load_embedder
    from rifflux.models.chat import ChatModel as ChatModel
    from rifflux.models.custom import CustomEmbedder as CustomEmbedder
    from rifflux.models.custom import SimpleEmbedder as SimpleEmbedder
    from rifflux.models.fetched import fetch_model as fetch_model
    from rifflux.models.guarded import ModelCallFailed as ModelCallFailed
    from rifflux.models.loading import KnownModel as KnownModel
    from rifflux.models.loading import known_models as known_models
    from rifflux.retrieve.explain.verdict import Change as Change
    from rifflux.retrieve.explain.verdict import QueryTerm as QueryTerm
    from rifflux.retrieve.explain.verdict import Verdict as Verdict
    from rifflux.retrieve.fuse import Fuse as Fuse
    from rifflux.retrieve.fuse import ReciprocalRank as ReciprocalRank
    from rifflux.retrieve.fuse.spelled import fusion_of as fusion_of
    from rifflux.retrieve.steps.rerank import DEFAULT_RERANKER as DEFAULT_RERANKER
    from rifflux.retrieve.steps.rerank import Rerank as Rerank
    from rifflux.retrieve.steps.rerank import RerankSettings as RerankSettings
    from rifflux.session.arguments import MODES as MODES
    from rifflux.session.arguments import named_mode as named_mode
    from rifflux.session.intake import Intake as Intake
    from rifflux.session.license_policy import LicensePolicy as LicensePolicy
    from rifflux.session.maintenance import Copied as Copied
    from rifflux.session.maintenance import Repaired as Repaired
    from rifflux.session.maintenance import Switched as Switched
    from rifflux.session.policies import POLICIES as POLICIES
    from rifflux.session.policies import Policies as Policies
    from rifflux.session.profile import Profile as Profile
    from rifflux.store import Erased as Erased
    from rifflux.store import Event as Event
    from rifflux.store import Generation as Generation
    from rifflux.store import Grant as Grant
    from rifflux.store import LogEntry as LogEntry
    from rifflux.store import ModelInfo as ModelInfo
    from rifflux.store import Problem as Problem
    from rifflux.store import State as State
    from rifflux.store import Store as Store
    from rifflux.store import Token as Token
    from rifflux.surfaces.shared.contract import SearchService as SearchService
    from rifflux.surfaces.shared.contract import contract_results as contract_results
    from rifflux.surfaces.shared.contract import score_breakdown as score_breakdown
    from rifflux.text.analyzer import Analyzer as Analyzer
    from rifflux.text.licenses import checked_rules as checked_rules
    from rifflux.types import WITHHELD as WITHHELD
    from rifflux.types import Bound as Bound
    from rifflux.types import Cure as Cure
    from rifflux.types import Document as Document
    from rifflux.types import Failure as Failure
    from rifflux.types import Filter as Filter
    from rifflux.types import Freshness as Freshness
    from rifflux.types import Hit as Hit
    from rifflux.types import Identifier as Identifier
    from rifflux.types import IndexReport as IndexReport
    from rifflux.types import LeftOut as LeftOut
    from rifflux.types import Link as Link
    from rifflux.types import Notice as Notice
    from rifflux.types import Part as Part
    from rifflux.types import Progress as Progress
    from rifflux.types import Results as Results
    from rifflux.types import Scope as Scope
    from rifflux.types import Tag as Tag
    from rifflux.types import Trace as Trace
    from rifflux.types import Understanding as Understanding
    from rifflux.types import Why as Why
    from rifflux.types.nouns import json_names as json_names
    from rifflux.types.nouns import noun_json as noun_json
    from rifflux.works import Passage as Passage
    from rifflux.works import Work as Work
    from rifflux.works.catalog import WorkRecord as WorkRecord
    from rifflux.works.catalog import WorksCatalog as WorksCatalog
    from rifflux.works.export import verify as verify
    from rifflux.works.intent.classify import IntentDecision as IntentDecision
    from rifflux.works.intent.intents import Intent as Intent
    from rifflux.works.intent.intents import adjusted_intents as adjusted_intents
    from rifflux.works.listing import WorkSummary as WorkSummary
    from rifflux.works.report import Doubt as Doubt
    from rifflux.works.report import WorksReport as WorksReport
    from rifflux.works.retrieval.replay import Replay as Replay
    from rifflux.works.retrieval.retriever import Retrieval as Retrieval
    from rifflux.works.retrieval.retriever import WorksRetriever as WorksRetriever

__version__ = "0.1.0"

# The public names by their module. Loading them all takes longer than many a command runs, so each is loaded when it is
# first asked for.
_PUBLIC = {
    "answer.model": "Answer AnswerEvent AnswerSentence Citation Cited Delta Done Failed Sources Withdrawn",
    "conversations": (
        "Conversation Conversations Group ImportReport Message MessageHit MessageResults Thread VectorsMade "
        "WrittenMessage"
    ),
    "errors": (
        "Busy Conflict DamagedIndex DiskFull InvalidArgument MissingExtra ModelError ModelMismatch NewerIndex "
        "NotAnIndex NotFound NothingImported OutOfScope OutsideRoots ReadOnlyIndex RiffluxError TokenExpired "
        "Unreadable UnusableIndex"
    ),
    "evidence.pack": "TITLE_ONLY Asking EvidencePack EvidenceItem",
    "index": "Index open",
    "index.admin": "Admin",
    "index.collections": "CollectionInfo Collections",
    "index.documents": "DocumentInfo DocumentPage Documents Stored",
    "index.extract": "Extracted Issued",
    "index.facets": "Facet FacetValue",
    "index.federated": "Everything",
    "index.places": "DocumentAt Heading",
    "index.salvage": "diagnose repair",
    "index.status": "Status VectorReport",
    "ingest.walk.find": "Finder FoundFile Skipped",
    "ingest.walk.inside": "Place",
    "memories": "Memories Memory Recalled Saved",
    "models": "Embedder load_embedder",
    "models.chat": "ChatModel",
    "models.custom": "CustomEmbedder SimpleEmbedder",
    "models.loading": "KnownModel known_models",
    "models.fetched": "fetch_model",
    "models.guarded": "ModelCallFailed",
    "retrieve.explain.verdict": "Change QueryTerm Verdict",
    "retrieve.fuse": "Fuse ReciprocalRank",
    "retrieve.fuse.spelled": "fusion_of",
    "retrieve.steps.rerank": "DEFAULT_RERANKER Rerank RerankSettings",
    "session.arguments": "MODES named_mode",
    "session.intake": "Intake",
    "session.license_policy": "LicensePolicy",
    "session.maintenance": "Copied Repaired Switched",
    "session.policies": "POLICIES Policies",
    "session.profile": "Profile",
    "store": "Erased Event Generation Grant LogEntry ModelInfo Problem State Store Token",
    "surfaces.shared.contract": "SearchService contract_results score_breakdown",
    "text.analyzer": "Analyzer",
    "text.licenses": "checked_rules",
    "types": (
        "Bound Cure Document Failure Filter Freshness Hit Identifier IndexReport LeftOut Link Notice Part Progress "
        "Results Scope Tag Trace Understanding WITHHELD Why"
    ),
    "types.nouns": "json_names noun_json",
    "works": "Passage Work",
    "works.catalog": "WorkRecord WorksCatalog",
    "works.listing": "WorkSummary",
    "works.export": "verify",
    "works.report": "Doubt WorksReport",
    "works.intent.intents": "Intent adjusted_intents",
    "works.intent.classify": "IntentDecision",
    "works.retrieval.replay": "Replay",
    "works.retrieval.retriever": "Retrieval WorksRetriever",
}
_PLACES = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> _typing.Any:
    """Load a public name."""
    if name not in _PLACES:
        raise AttributeError(f"module 'rifflux' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"rifflux.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
