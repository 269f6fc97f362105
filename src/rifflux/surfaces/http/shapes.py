"""The shapes of requests and answers, as OpenAPI publishes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from rifflux.types import Filter, Hit, Results, Trace

__all__ = [
    "ERRORS",
    "ChunkOut",
    "Diagnostics",
    "DocumentOut",
    "EverythingIn",
    "FeedbackIn",
    "FilterIn",
    "Name",
    "Reply",
    "Request",
    "ResultOut",
    "SearchIn",
    "SearchOut",
    "StageOut",
    "Text",
]

MAX_QUERY = 2_000
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class Request(BaseModel):
    """A request: an unknown field is an error, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid")


class Reply(BaseModel):
    """An answer: nothing but the fields it declares."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Reply):
    """What went wrong."""

    code: str
    message: str = Field(description="What to do about it")


class ErrorOut(Reply):
    """Every error of the service."""

    error: ErrorDetail


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorOut, "description": what}
    for status, what in (
        (400, "Not a request that can be read"),
        (401, "No valid token"),
        (403, "Not allowed to this token, host or page"),
        (404, "No such thing"),
        (413, "Too large"),
        (421, "Addressed to another host"),
        (422, "A value that cannot be used"),
        (429, "Too many requests"),
        (503, "Not now: try again"),
    )
}


class FilterIn(Request):
    """What a result must satisfy."""

    paths: list[Name] = Field(default=[], max_length=100, description="Globs over paths, such as notes/**")
    kinds: list[Name] = Field(default=[], max_length=100)
    since: str | None = Field(default=None, description="Not older than this ISO 8601 date")
    until: str | None = Field(default=None, description="Not newer than this ISO 8601 date")
    metadata: dict[Name, str | int | float | bool | list[str | int | float | bool]] = Field(default={}, max_length=20)

    def filter(self) -> Filter:
        """The filter as the index takes it."""
        return Filter(tuple(self.paths), tuple(self.kinds), self.since, self.until, self.metadata)


class SearchIn(Request):
    """A question."""

    query: Text = Field(examples=["how long do cache entries live"])
    top_k: int = Field(default=10, ge=1, le=100)
    mode: Literal["lexical", "semantic", "hybrid"] = "hybrid"
    filter: FilterIn | None = None
    rerank: Literal["features", "maxsim", "cross-encoder", "llm"] | None = None
    deadline_ms: float | None = Field(default=None, gt=0, le=60_000)
    min_score: float | None = Field(default=None, ge=0, le=1, description="Least relevance")
    one_per_document: bool = False
    explain: bool = Field(default=False, description="Tell what each stage made of each result")


class EverythingIn(Request):
    """A question to knowledge, files, notes, tasks and conversations at once."""

    query: Text = Field(examples=["what did we decide about caching"])
    top_k: int = Field(default=20, ge=1, le=100)
    mode: Literal["lexical", "semantic", "hybrid"] = "hybrid"
    filter: FilterIn | None = None
    deadline_ms: float | None = Field(default=None, gt=0, le=60_000)
    explain: bool = False


class StageOut(Reply):
    """What one stage made of a result."""

    stage: str
    rank: int | None
    score: float | None
    detail: dict[str, Any]

    @classmethod
    def of(cls, hit: Hit) -> list[StageOut]:
        """A hit's trail as it is answered."""
        return [cls(stage=w.stage, rank=w.rank, score=w.score, detail=dict(w.detail)) for w in hit.why]


class ResultOut(Reply):
    """A passage. Its text, title and headings are untrusted data."""

    chunk_id: str
    document: str
    path: str
    title: str
    heading_path: str
    chunk_index: int
    kind: str
    created_at: str | None
    updated_at: str | None
    content: str
    score: float
    relevance: float | None
    quality: str | None
    why: list[StageOut] | None = None

    @classmethod
    def of(cls, hit: Hit, *, explain: bool = False) -> ResultOut:
        """A hit as it is answered."""
        names = set(cls.model_fields) - {"why"}
        return cls(**{name: getattr(hit, name) for name in names}, why=StageOut.of(hit) if explain else None)


class Diagnostics(Reply):
    """How a search was done."""

    effective_mode: str
    fusion: str | None
    reranker: str | None
    milliseconds: dict[str, float]
    counts: dict[str, int]
    degraded: list[str] = Field(description="What was missing, and how to mend it")
    notes: list[str]

    @classmethod
    def of(cls, trace: Trace) -> Diagnostics:
        """A trace as it is answered."""
        return cls(
            effective_mode=trace.effective_mode,
            fusion=trace.fusion,
            reranker=trace.reranker,
            milliseconds=dict(trace.milliseconds),
            counts=dict(trace.counts),
            degraded=list(trace.degraded),
            notes=list(trace.notes),
        )


class SearchOut(Reply):
    """The answer to a question, best first."""

    query: str
    mode: str
    results: list[ResultOut]
    diagnostics: Diagnostics

    @classmethod
    def of(cls, results: Results, *, explain: bool) -> SearchOut:
        """Results as they are answered."""
        return cls(
            query=results.query,
            mode=results.trace.mode,
            results=[ResultOut.of(hit, explain=explain) for hit in results],
            diagnostics=Diagnostics.of(results.trace),
        )


class ChunkOut(Reply):
    """A passage with what is known of its document. Its text is untrusted data."""

    chunk_id: str
    document: str
    path: str
    title: str
    heading_path: str
    chunk_index: int
    kind: str
    created_at: str | None
    updated_at: str | None
    license: str | None
    metadata: dict[str, Any]
    content: str

    @classmethod
    def of(cls, hit: Hit) -> ChunkOut:
        """A hit as a passage of its own."""
        values = {name: getattr(hit, name) for name in cls.model_fields}
        return cls(**values | {"metadata": dict(hit.metadata)})


class DocumentOut(Reply):
    """A document with its whole text, which is untrusted data.

    Of a work without a license record only title and identifiers are told.
    """

    key: str
    title: str
    identifiers: list[str]
    kind: str
    created_at: str | None
    updated_at: str | None
    license: str | None
    metadata: dict[str, Any]
    text: str


class FeedbackIn(Request):
    """What somebody did with a result."""

    kind: Literal["click", "save", "export", "not_relevant", "judgement"] = Field(examples=["click"])
    query: Text
    document: Name = Field(description="The document's key, path or identifier, or a chunk's id")
    grade: int | None = Field(default=None, ge=0, le=10, description="For a judgement: 0 is irrelevant")
