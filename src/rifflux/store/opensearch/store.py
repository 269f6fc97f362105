"""The store on a cluster: the view of one owner, or of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from time import perf_counter

import numpy as np

from rifflux.errors import InvalidArgument, OutOfScope
from rifflux.store.catalog import FactTable
from rifflux.store.mending import Analysis, Mended, Problem
from rifflux.store.opensearch.address import ClusterAddress
from rifflux.store.opensearch.catalog import OpenSearchCatalog
from rifflux.store.opensearch.engine import MOST_STATES, NAMELESS, PAGE, ClusterIndex, OwnedRows, vector_field
from rifflux.store.opensearch.filters import JSON, all_of, none_of, terms
from rifflux.store.opensearch.lexical import (
    MOST_HITS,
    SLACK,
    NamedHits,
    OpenSearchLexical,
    Scoring,
    Texts,
    counting,
    ids_of,
)
from rifflux.store.opensearch.mapping import SCHEMA_VERSION
from rifflux.store.opensearch.records import NOT_RECORDS, OpenSearchRecords
from rifflux.store.opensearch.rows import FACTS
from rifflux.store.opensearch.semantic import OpenSearchSemantic, cosines_of
from rifflux.store.reader import DESCRIBED, LEXICAL, CandidateRequest, CandidateResponse, Reads, Totals
from rifflux.store.store import BESIDE, PART, ErasedContent, Store
from rifflux.types import Ranking

#: Owners whose totals are read in one request.
TOGETHER = 200
#: Searches that are asked for in the first request of several, and at most in a later one; each time twice as many as
#: before, or half, if that took longer.
FEW = 4
AT_ONCE = 64
QUICK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Search:
    """A request as searches of the cluster: by words, the first hits perhaps scored by cosine, then by meaning.

    If it `has_phrases`, the last one is for all chunks with a phrase of the query.
    """

    request: CandidateRequest
    scoring: Scoring
    bodies: Sequence[JSON]
    lexical: int
    is_rescored: bool
    has_phrases: bool


@dataclass(frozen=True, slots=True)
class _Hits:
    """What the cluster found: the hits of each search, those by words with the counts of terms, those by meaning."""

    search: _Search
    answers: Sequence[Sequence[JSON]]
    named: NamedHits
    similar: Sequence[JSON]

    @classmethod
    def of(cls, search: _Search, answers: Sequence[Sequence[JSON]]) -> _Hits:
        holding = None
        if search.has_phrases:
            *answers, holding = answers
        ranked = [each for hits in answers[: search.lexical] for each in hits]
        similar = [each for hits in answers[search.lexical :] for each in hits]
        others = answers[search.lexical] if similar and LEXICAL in search.request.channels else []
        return cls(search, answers, NamedHits.of(ranked, others, search.scoring, holding), similar)


class OpenSearchStore(Store):
    """One owner's view, or several's, of an index on a cluster."""

    schema_version = SCHEMA_VERSION
    read_only = False

    def __init__(self, engine: ClusterIndex, owners: tuple[str, ...] = ("",), beside: Sequence[str] = ()) -> None:
        """`beside` are owners that are probably read next."""
        self.engine = engine
        self.rows = OwnedRows(engine, owners, tuple(beside))
        self.owners = owners
        self.owner = owners[0]
        if len(owners) > 1:
            self.owner = BESIDE.join(("", *owners))
        self.capabilities = frozenset()
        self.local = None
        self.catalog = OpenSearchCatalog(self.rows)
        self.lexical = OpenSearchLexical(self.rows)
        self.semantic = OpenSearchSemantic(self.rows)
        self.records = OpenSearchRecords(self.rows)

    @classmethod
    def open(
        cls, location: str, *, create: bool = True, neighbours: str = "scan", state: str = "", is_secure: bool = False
    ) -> OpenSearchStore:
        """Open the index at `HOST:PORT/NAME`, or create it. Raises `UnusableIndex` and `InvalidArgument`."""
        if state:
            raise InvalidArgument("an index on a cluster has no state file: leave out the setting `state`")
        if neighbours != "scan":
            raise InvalidArgument("a cluster searches vectors by its own graph: leave out the setting `neighbors`")
        return cls(ClusterIndex.open(ClusterAddress.of(location, is_secure=is_secure), create=create))

    # Totals

    def totals(self) -> Totals:
        """Return the totals; those of one owner are read with those of the owners that are probably next."""
        if self.rows.several or self.rows.is_open:
            return self.rows.cached("totals", self._summed_totals)
        # A state that is not known any more is read with those of the others.
        _ = self.rows.state
        version = self.engine.contents(self.owners).version
        known = self.engine.totals.get(self.owner)
        if known is None or known[0] != version:
            names = (self.owner, *(name for name in self.rows.beside if name != self.owner))
            states = {name: self.engine.state((name,), names) for name in names}
            versions = {name: state.version for name, state in states.items()}
            for state in states.values():
                self.engine.note_changes(state)
            if len(self.engine.totals) > MOST_STATES:
                self.engine.totals.clear()
            for name, (totals, terms) in self._read_totals(names).items():
                self.engine.totals[name] = versions[name], totals, terms
            known = self.engine.totals[self.owner]
        return known[1]

    def _summed_totals(self) -> Totals:
        found = [*self._read_totals(self.owners).values()]
        languages = {language for each, _ in found for language in each.languages if each.documents} or {""}
        chunks = sum(each.chunks for each, _ in found)
        self.engine.cache(self.owners)["terms"] = chunks, sum(terms for _, terms in found)
        return Totals(
            documents=sum(each.documents for each, _ in found),
            chunks=chunks,
            files=sum(each.files for each, _ in found),
            embedded=sum(each.embedded for each, _ in found),
            has_works=any(each.has_works for each, _ in found),
            languages=tuple(sorted(languages)),
        )

    def _read_totals(self, names: Sequence[str]) -> Mapping[str, tuple[Totals, int]]:
        """Return the totals of some owners and the numbers of their terms, in one request."""
        active = self.rows.state.active
        field = vector_field(active.fingerprint) if active else ""
        visible = self.engine.visible(tuple(names))
        documents = all_of([{"term": {"type": "document"}}, visible])
        chunks = all_of([{"term": {"type": "chunk"}}, visible])
        types: JSON = {
            "documents": documents,
            "chunks": chunks,
            "files": {"term": {"type": "file"}},
            "embedded": all_of([chunks, {"term": {"embedded": field}}]),
            "works": all_of([documents, {"term": {"is_work": True}}]),
        }
        language = {"filter": types["documents"], "aggs": {"of": {"terms": {"field": "language", "size": PAGE}}}}
        length = {"filter": types["chunks"], "aggs": {"of": {"sum": {"field": "length"}}}}
        counted = {"counts": {"filters": {"filters": types}}, "language": language, "length": length}
        body = {
            "size": 0,
            "track_total_hits": False,
            "query": {"bool": {"filter": [terms("owner", names)]}},
            "aggs": {"owners": {"terms": {"field": "owner", "size": len(names)}, "aggs": counted}},
        }
        (answer,) = OwnedRows(self.engine, tuple(names)).search_all([body])
        totals = {name: (Totals(0, 0, 0, 0, False, ("",)), 0) for name in names}
        for each in answer["aggregations"]["owners"]["buckets"]:
            counts = {name: bucket["doc_count"] for name, bucket in each["counts"]["buckets"].items()}
            has_works = counts.pop("works") > 0
            languages = {bucket["key"] for bucket in each["language"]["of"]["buckets"]} or {""}
            found = Totals(**counts, has_works=has_works, languages=tuple(sorted(languages)))
            totals[each["key"]] = found, int(each["length"]["of"]["value"])
        return totals

    def contents(self) -> str:
        state = self.rows.state
        changes = [state.changes[owner] for owner in self.owners]
        text = repr((self.owners, changes, state.active))
        return f"{sum(changes)}-{sha256(text.encode()).hexdigest()[:16]}"

    # Searching

    def search(self, request: CandidateRequest) -> CandidateResponse:
        (found,) = self.search_each([request])
        return found

    def search_each(self, requests: Sequence[CandidateRequest]) -> list[CandidateResponse]:
        found: list[CandidateResponse] = []
        number = FEW
        while left := requests[len(found) :]:
            start = perf_counter()
            found += self._search_some(left[:number])
            # How long searches take depends on the index and on the cluster's load.
            if perf_counter() - start < QUICK_SECONDS:
                number = min(2 * number, AT_ONCE)
            else:
                number = max(number // 2, 1)
        return found

    def _search_some(self, requests: Sequence[CandidateRequest]) -> list[CandidateResponse]:
        start = perf_counter()
        self.lexical.count([(each.query, each.weights) for each in requests])
        searches = [self._bodies(each) for each in requests]
        bodies = [body for each in searches for body in each.bodies]
        answers = iter(self.rows.search_all(bodies, omitted=NAMELESS))
        answered = [[next(answers)["hits"]["hits"] for _ in each.bodies] for each in searches]
        hits = [_Hits.of(each, some) for each, some in zip(searches, answered, strict=True)]
        texts = self.lexical.texts_for([each.named for each in hits if LEXICAL in each.search.request.channels])
        elapsed = (perf_counter() - start) * 1e3
        return [self._response(each, texts, elapsed) for each in hits]

    def _bodies(self, request: CandidateRequest) -> _Search:
        """Return the searches of the cluster that a request takes."""
        run = request.execution
        query = request.query
        names = [*request.channels]
        has_words = LEXICAL in names
        has_meaning = len(names) > has_words
        scoring = self.lexical.scoring(query, request.weights)
        bodies: list[JSON] = []
        is_rescored = False
        if has_words and scoring.scored:
            body = self.lexical.candidates(query, scoring, run.limit)
            best = min(DESCRIBED[LEXICAL] + SLACK, body["size"])
            first = {**body, "size": best}
            if request.described:
                first["_source"] = FACTS
            if run.vector is not None and np.linalg.norm(run.vector) and self.semantic.field:
                is_rescored = True
                first |= self.semantic.rescoring(run.vector, best)
            # Of each shard, the best are scored by cosine, so that those of all are asked for.
            shards = len(self.owners) * self.engine.spread
            first["size"] = min(best * shards, MOST_HITS)
            bodies = [first, {**body, "from": best, "size": body["size"] - best}]
            if is_rescored and shards > 1:
                bodies = [first, body]
            bodies = [each for each in bodies if each["size"]]
        lexical = len(bodies)
        nearest = None
        if has_meaning:
            nearest = self.semantic.candidates(query, run.vector, run.sufficient, run.model)
        if nearest:
            self.engine.bounds.field = self.semantic.field
            size = nearest["size"]
            near = min(DESCRIBED[LEXICAL], size)
            first = {**nearest, "size": near, "docvalue_fields": [], **counting(scoring.words)}
            if request.described:
                first["_source"] = FACTS
            bodies.append(first)
            if size > near:
                bodies.append({**nearest, "from": near, "size": size - near})
        holding = self.lexical.holding(query, scoring) if has_words else None
        if holding:
            bodies.append(holding)
        return _Search(request, scoring, bodies, lexical, is_rescored, holding is not None)

    def _response(self, hits: _Hits, texts: Texts, elapsed: float) -> CandidateResponse:
        search = hits.search
        request = search.request
        names = [*request.channels]
        run = request.execution
        rankings: dict[str, Ranking] = {}
        for name in names:
            if name == LEXICAL:
                rankings[name] = self.lexical.ranking(hits.named, texts, run.limit)
            else:
                rankings[name] = self.semantic.ranking(hits.similar, run.sufficient)
        cosines: dict[int, float] = {}
        if search.is_rescored:
            known = [each for each in hits.answers[0] if each["_score"] > 0]
            scores = cosines_of(np.array([each["_score"] for each in known], np.float64))
            cosines = dict(zip(ids_of(known).tolist(), scores.tolist(), strict=True))
        facts = FactTable()
        if request.described:
            described = np.unique(np.concatenate([rankings[name].ids[: DESCRIBED[name]] for name in names]))
            read = [some for some in hits.answers if some and "_source" in some[0]]
            facts = self.catalog.fact_table(described, [*chain.from_iterable(read)])
        return CandidateResponse(rankings, facts, dict.fromkeys(names, elapsed), cosines)

    # Views

    def of(self, *owners: str) -> OpenSearchStore:
        names = tuple(sorted({*owners})) or (BESIDE,)
        for name in names:
            is_own = any(name == each or name.startswith(f"{each}{PART}") for each in self.owners)
            if not is_own and self.owners != ("",):
                raise OutOfScope("this view is not of that owner: take another owner's from the store that was opened")
        return OpenSearchStore(self.engine, names)

    def views(self) -> list[OpenSearchStore]:
        if self.owners == ("",):
            names = self.engine.owners_like("")
        else:
            names = sorted(name for each in self.owners for name in self.engine.owners_like(f"{each}{PART}"))
        others = [name for name in names if name not in self.owners]
        pages = [others[start : start + TOGETHER] for start in range(0, len(others), TOGETHER)]
        return [self, *(OpenSearchStore(self.engine, (name,), page) for page in pages for name in page)]

    # Upkeep

    @contextmanager
    def transaction(self) -> Iterator[None]:
        # What the block writes depends on what it reads, which no other writer may change in between.
        with self.rows.together() as scope:
            scope.exclusive = True
            yield

    def erase(self, owner: str, finish: Callable[[ErasedContent], bool], *, parts: bool = True) -> None:
        """Delete all rows of an owner; the owner's own row goes last, so that an interrupted call can be repeated."""
        self._whole()
        kinds: Counter[str] = Counter()
        files = records = settings = 0
        names = [
            name
            for name in self.engine.owners_like(owner)
            if name == owner or (parts and name.startswith(owner + PART))
        ]
        for name in names:
            rows = OwnedRows(self.engine, (name,))
            for kind, count in rows.values("document", "kind").items():
                kinds[kind or "document"] += count
            files += rows.count("file")
            found = self.engine.count_everywhere([terms("owner", [name])], {"types": {"terms": {"field": "type"}}})
            types = {each["key"]: each["doc_count"] for each in found["aggregations"]["types"]["buckets"]}
            records += sum(count for type, count in types.items() if type not in NOT_RECORDS)
            settings += len(rows.state.settings[name])
            self.engine.change_everywhere([terms("owner", [name]), none_of([terms("type", ["owner"])])], None)
        finish(ErasedContent(kinds, files, records, settings))
        if names:
            self.engine.change_everywhere([terms("owner", names)], None)

    def memoized(self, deadline: float | None = None) -> AbstractContextManager[Reads]:
        return self.engine.bounded(deadline)

    def probe(self) -> None:
        self.engine.forget_states()
        self.rows.count("chunk")

    def check(self, analysis: Analysis | None = None) -> list[Problem]:
        del analysis
        self._whole()
        name = self.engine.address.name
        found = self.engine.call(self.engine.client.cluster.health, index=name)
        if found["status"] == "red":
            return [Problem("a part of the index is on no node of the cluster that runs: start its nodes again")]
        return []

    def mend(self, analysis: Analysis) -> Mended:
        del analysis
        self._whole()
        return Mended(())

    def _whole(self) -> None:
        if self.owners != ("",):
            raise OutOfScope("this concerns the whole index: ask who looks after it")

    def close(self) -> None:
        if self.owners == ("",):
            self.engine.close()


class SecureOpenSearchStore:
    """The same over TLS."""

    @staticmethod
    def open(location: str, **options: object) -> OpenSearchStore:
        """Open an index as `OpenSearchStore.open` does."""
        return OpenSearchStore.open(location, is_secure=True, **options)  # type: ignore[arg-type]
