"""The tool `index_status`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from rifflux.surfaces.mcp.desk import Desk
from rifflux.surfaces.mcp.reply import MOST_NOTED, UNTRUSTED, DbPath, ReplyNotes, reply
from rifflux.surfaces.shared.nouns import JsonObject, collection_json
from rifflux.surfaces.shared.shapes import CollectionShape, FailureShape, Shape


class StatusOutput(Shape):
    """The answer of index_status."""

    path: str = Field(description="The index file")
    documents: int
    chunks: int
    embedded_chunks: int = Field(description="Chunks that can be found by meaning")
    files: int
    conversations: int
    messages: int
    memories: int = Field(description="In force or not")
    embedding_model: str
    embedding_backend: str
    roots: list[str] = Field(description="Folders that were indexed")
    allowed_roots: list[str] = Field(description="Folders that reindex may read")
    schema_version: int
    profile: str
    language: str
    languages: list[str] = Field(description="Those of its documents")
    root_languages: dict[str, str] = Field(description="Languages that folders and files were given")
    collections: list[CollectionShape] = Field(
        description="Your collections and those shared with you; all are counted here"
    )
    facets: list[str] = Field(description="Metadata fields that a query may name as field:value")
    bytes: int
    read_only: bool
    freshness: JsonObject | None = Field(description="How far the index may be behind its files, by a sample")
    degraded: list[str] = Field(description="Why answers are not what they could be, such as files that changed")
    unreadable: int = Field(description="Files that could not be read")
    unreadable_files: list[FailureShape] = Field(description="The first of them, with the reason")
    failed_kinds: dict[str, int] = Field(description="All of them by the kind of reason")
    left_out: dict[str, int] = Field(description="Unread files by kind")
    exclusions: dict[str, list[str]] = Field(description="Patterns of what is left out of folders")
    removed: dict[str, list[str]] = Field(description="Patterns of what was removed of folders, and stays out")
    kernels: str = Field(description="What the inner loops of a search are computed by")
    switching: JsonObject | None = Field(description="Vectors of another model that is being switched to")
    notes: ReplyNotes


def index_status(desk: Desk, db_path: DbPath = None) -> Annotated[CallToolResult, StatusOutput]:
    """Report what the index holds, its embedding model, and which folders may be indexed."""
    status = desk.open(db_path).index.status()
    facts = asdict(status) | {
        "degraded": [desk.sentence(each) for each in status.degraded],
        "collections": [*(collection_json(each) for each in status.collections)],
        "allowed_roots": [str(root) for root in desk.roots],
        "unreadable": sum(status.failed_kinds.values()),
        "unreadable_files": desk.failures(status.unreadable_files, MOST_NOTED),
    }
    return reply(StatusOutput.of(facts, notes=ReplyNotes(warning=UNTRUSTED)))
