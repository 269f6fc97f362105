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
    from rifflux.conversations import ImportReport as ImportReport
    from rifflux.conversations import Message as Message
    from rifflux.conversations import MessageHit as MessageHit
    from rifflux.conversations import MessageResults as MessageResults
    from rifflux.conversations import Thread as Thread
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
    from rifflux.evidence.pack import EvidenceItem as EvidenceItem
    from rifflux.evidence.pack import EvidencePack as EvidencePack
    from rifflux.index import Index as Index
    from rifflux.index import open as open
    from rifflux.index.collections import CollectionInfo as CollectionInfo
    from rifflux.index.contract import SearchService as SearchService
    from rifflux.index.documents import DocumentInfo as DocumentInfo
    from rifflux.index.salvage import diagnose as diagnose
    from rifflux.index.salvage import repair as repair
    from rifflux.index.salvage import restore as restore
    from rifflux.index.status import Status as Status
    from rifflux.ingest.walk.find import Finder as Finder
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
    from rifflux.models.loading import known_models as known_models
    from rifflux.retrieve.explain.verdict import Verdict as Verdict
    from rifflux.retrieve.steps.rerank import RerankSettings as RerankSettings
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
    from rifflux.works import Work as Work
    from rifflux.works.catalog import WorkRecord as WorkRecord
    from rifflux.works.catalog import WorksCatalog as WorksCatalog
    from rifflux.works.export import verify as verify
    from rifflux.works.listing import WorkSummary as WorkSummary
    from rifflux.works.report import WorksReport as WorksReport
    from rifflux.works.retrieval.replay import Replay as Replay
    from rifflux.works.retrieval.retriever import Retrieval as Retrieval

__version__ = "0.1.0"

# The public names by their module. Loading them all takes longer than many a command runs, so each is loaded when it is
# first asked for.
_PUBLIC = {
    "answer.model": "Answer AnswerEvent AnswerSentence Citation Cited Delta Done Failed Sources Withdrawn",
    "conversations": "Conversation Conversations ImportReport Message MessageHit MessageResults Thread",
    "errors": (
        "Busy Conflict DamagedIndex DiskFull InvalidArgument MissingExtra ModelError ModelMismatch NewerIndex "
        "NotAnIndex NotFound NothingImported OutOfScope OutsideRoots ReadOnlyIndex RiffluxError TokenExpired "
        "Unreadable UnusableIndex"
    ),
    "evidence.pack": "EvidencePack EvidenceItem",
    "index": "Index open",
    "index.collections": "CollectionInfo",
    "index.contract": "SearchService",
    "index.documents": "DocumentInfo",
    "index.salvage": "diagnose repair restore",
    "index.status": "Status",
    "ingest.walk.find": "Finder",
    "memories": "Memories Memory Recalled Saved",
    "models": "Embedder load_embedder",
    "models.chat": "ChatModel",
    "models.custom": "CustomEmbedder SimpleEmbedder",
    "models.loading": "known_models",
    "models.fetched": "fetch_model",
    "retrieve.explain.verdict": "Verdict",
    "retrieve.steps.rerank": "RerankSettings",
    "types": (
        "Bound Cure Document Failure Filter Freshness Hit Identifier IndexReport LeftOut Link Notice Part Progress "
        "Results Scope Tag Trace Understanding Why"
    ),
    "works": "Work",
    "works.catalog": "WorkRecord WorksCatalog",
    "works.export": "verify",
    "works.listing": "WorkSummary",
    "works.report": "WorksReport",
    "works.retrieval.replay": "Replay",
    "works.retrieval.retriever": "Retrieval",
}
_PLACES = {name: module for module, names in _PUBLIC.items() for name in names.split()}

# `from rifflux import *` leaves Python's own `open` alone.
__all__ = sorted(_PLACES.keys() - {"open"})


def __getattr__(name: str) -> _typing.Any:
    """Load a public name."""
    if name not in _PLACES:
        raise AttributeError(f"module 'rifflux' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"rifflux.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
