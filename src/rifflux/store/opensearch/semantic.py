"""The semantic role on a cluster: vectors in one field for each model, ranked along Lucene's graph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rifflux.errors import Busy, InvalidArgument, ModelMismatch, OutOfScope
from rifflux.store.opensearch.engine import (
    CHUNKS,
    MOST_VALUES,
    PAGE,
    WORLD,
    Action,
    ClusterIndex,
    OwnedRows,
    row_id,
    vector_field,
)
from rifflux.store.opensearch.filters import JSON, all_of, conditions, none_of, terms
from rifflux.store.opensearch.lexical import MOST_HITS, ids_of, word_conditions
from rifflux.store.semantic import Generation, Generations, ModelInfo, Pending, Semantic, State
from rifflux.types import Ids, Query, Ranking, Scores, Vectors

#: The least number of neighbors that the graph of each segment is searched for. Fewer can miss whole groups of chunks,
#: most of all where a segment has many deleted rows.
_BREADTH = 600
#: How often a change of the models is tried again that somebody else's interferes with.
_TRIES = 50
#: Stores a vector if the chunk has the text that it is of, and its row was not replaced by a batch that counts.
_PUT = (
    "def replaced = ctx._source.replaced;"
    "if (((Number) ctx._source.hash).longValue() != ((Number) params.hash).longValue()"
    " || replaced != null && !params.without.contains(((Number) replaced).longValue())) { ctx.op = 'none' } else {"
    "ctx._source[params.field] = params.vector;"
    "if (ctx._source.embedded == null) { ctx._source.embedded = [] }"
    "if (!ctx._source.embedded.contains(params.field)) { ctx._source.embedded.add(params.field) } }"
)
#: Chunks of all owners, without those that a batch replaced.
_CHUNKS: tuple[JSON, ...] = ({"term": {"type": "chunk"}}, none_of([{"exists": {"field": "replaced"}}]))
_DROP = "ctx._source.remove(params.field); ctx._source.embedded.removeIf(each -> each == params.field)"


def has_vector(field: str) -> JSON:
    """Return a condition that a chunk has a vector in a field."""
    return {"term": {"embedded": field}}


def cosines_of(scores: Scores) -> Scores:
    """Return the cosines of Lucene's scores for a maximum inner product."""
    return np.asarray(np.where(scores >= 1, scores - 1, 1 - 1 / np.maximum(scores, 1e-9)))


@dataclass(frozen=True, slots=True)
class OpenSearchSemantic(Semantic):
    """The vectors of a view's chunks."""

    rows: OwnedRows

    def candidates(self, query: Query, vector: Vectors | None, limit: int, model: str | None) -> JSON | None:
        """Return the body of the search for the nearest chunks; None if there is nothing to rank."""
        active = self.rows.state.active
        if active and model and active.fingerprint != model:
            raise ModelMismatch(f"the question was embedded by another model than {active.name}: embed it again")
        if active is None or vector is None or not np.linalg.norm(vector) or not limit:
            return None
        direction = np.asarray(vector, np.float64) / np.linalg.norm(vector)
        narrow = [*conditions(query.filter), *word_conditions(query)]
        wanted = {
            "vector": direction.tolist(),
            "k": min(max(limit, _BREADTH), MOST_HITS),
            "filter": all_of(self.rows.conditions("chunk", narrow)),
        }
        return {
            "size": min(limit, MOST_HITS),
            "track_total_hits": False,
            "_source": False,
            "docvalue_fields": ["uid"],
            "query": {"knn": {vector_field(active.fingerprint): wanted}},
        }

    def ranking(self, hits: Sequence[JSON], limit: int) -> Ranking:
        """Return the ranking of hits, by cosine."""
        ids = ids_of(hits)
        cosines = cosines_of(np.array([each["_score"] for each in hits], np.float64))
        order = np.lexsort((ids, -cosines))[:limit]
        return Ranking(ids[order], cosines[order])

    def rescoring(self, vector: Vectors, number: int) -> JSON:
        """Return the options of a search whose first hits get their cosine as a score, and 0 without a vector."""
        direction = np.asarray(vector, np.float64) / np.linalg.norm(vector)
        field = self._field() or ""
        wanted = {"field": field, "query_value": direction.tolist(), "space_type": "innerproduct"}
        script = {"lang": "knn", "source": "knn_score", "params": wanted}
        scored = {"script_score": {"query": all_of([has_vector(field)]), "script": script}}
        replacing = {"rescore_query": scored, "query_weight": 0, "rescore_query_weight": 1}
        return {"rescore": {"window_size": number, "query": replacing}}

    @property
    def field(self) -> str | None:
        """Return the field of the active model's vectors, or None."""
        return self._field()

    def _field(self, model: str | None = None) -> str | None:
        """Return the field of a model's vectors, or of the active one's."""
        active = self.rows.state.active
        if model is None and active is None:
            return None
        return vector_field(model or (active.fingerprint if active else ""))

    @property
    def known(self) -> dict[int, Vectors]:
        """Return the vectors that were read of the current contents."""
        known: dict[int, Vectors] = self.rows.cached("vectors", dict)
        if len(known) > 4 * PAGE:
            known.clear()
        return known

    def vectors_of(self, ids: Ids) -> Mapping[int, Vectors]:
        field = self._field()
        if field is None or not len(ids):
            return {}
        known = self.known
        wanted = [*dict.fromkeys(ids.tolist())]
        found = {id: vector for id in wanted if (vector := known.get(id)) is not None}
        missing = [id for id in wanted if id not in found]
        for start in range(0, len(missing), PAGE):
            narrow = [terms("uid", missing[start : start + PAGE]), has_vector(field)]
            for row in self.rows.scan("chunk", narrow, ("uid", field)):
                found[row["uid"]] = np.array(row[field], np.float32)
        known.update(found)
        return {id: found[id] for id in wanted if id in found}

    def sample(self, most: int) -> tuple[Ids, Vectors]:
        return self.rows.cached(("sample", most), lambda: self._sample(most))

    def _sample(self, most: int) -> tuple[Ids, Vectors]:
        field = self._field()
        if field is None:
            return np.empty(0, np.int64), np.zeros((0, 0), np.float32)
        rows = [*self.rows.scan("chunk", [has_vector(field)], ("uid", field), ["uid"], most)]
        if not rows:
            return np.empty(0, np.int64), np.zeros((0, 0), np.float32)
        ids = np.array([row["uid"] for row in rows], np.int64)
        return ids, np.array([row[field] for row in rows], np.float32)

    def vectors_by_hash(self, hashes: Sequence[int], model: str | None = None) -> Mapping[int, Vectors]:
        field = self._field(model)
        if field is None:
            return {}
        found = {}
        for start in range(0, len(hashes), PAGE):
            some = hashes[start : start + PAGE]
            narrow = [terms("hash", some), has_vector(field)]
            for row in self.rows.scan("chunk", narrow, ("hash", field), among=[CHUNKS, *map(_of_text, some)]):
                found[row["hash"]] = np.array(row[field], np.float32)
        return {hash: found[hash] for hash in hashes if hash in found}

    def pending(self, batch: int, model: str | None = None) -> Iterator[list[Pending]]:
        field = self._field(model)
        narrow = [] if field is None else [none_of([has_vector(field)])]
        fields = ("uid", "owner", "hash", "facts", "passage", "waiting")
        waiting: list[Pending] = []
        known = self.rows.engine.chunk_rows
        for row in self.rows.scan("chunk", narrow, fields, ["uid"]):
            if len(known) > MOST_VALUES:
                known.clear()
            known[row["owner"], row["uid"]] = row["_id"]
            waiting.append(_pending(row))
            if len(waiting) == batch:
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors, model: str | None = None) -> int:
        in_use = [each.fingerprint for each in self.rows.state.models_in(State.ACTIVE, State.BUILDING)]
        if not in_use or (model and model not in in_use):
            raise ModelMismatch("the index was switched to another model: embed this again")
        field = self._field(model) or vector_field(in_use[0])
        wanted = {int(id): (hash, vector) for id, hash, vector in zip(ids, hashes, vectors, strict=True)}
        rows = self._rows_of([*wanted])
        stored = self._put(field, wanted, rows)
        left = rows.keys() - stored
        if left:
            # Their rows were replaced meanwhile: the texts of those that came after them may be the same.
            self.rows.engine.forget_states(self.rows.owner)
            later = self._rows_of(sorted(left))
            if later:
                stored |= self._put(field, wanted, later)
        return len(stored)

    def _put(self, field: str, vectors: Mapping[int, tuple[int, Vectors]], rows: Mapping[int, str]) -> set[int]:
        """Store vectors of chunks, each with the hash of its text, in rows; return the chunks that have theirs now."""
        without = self.rows.state.batches[self.rows.owner].void
        actions: list[Action] = []
        for id, row in rows.items():
            hash, vector = vectors[id]
            values = np.ascontiguousarray(vector, np.float32)
            parameters = {"hash": hash, "field": field, "vector": values, "without": without}
            actions.append(("update", row, {"script": {"source": _PUT, "params": parameters}}))
        names = [_of_text(vectors[id][0]) for id in rows]
        answers = self.rows.write([*actions, self.rows.change()], among=names)
        return {id for id, answer in zip(rows, answers, strict=False) if answer.get("result") == "updated"}

    def _rows_of(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the ids of the rows of chunks: as they were read last with the text, or else as they are visible."""
        known = self.rows.engine.chunk_rows
        found = {int(id): row for id in ids if (row := known.pop((self.rows.owner, int(id)), ""))}
        missing = [int(id) for id in ids if int(id) not in found]
        for start in range(0, len(missing), PAGE):
            narrow = [terms("uid", missing[start : start + PAGE])]
            found |= {row["uid"]: row["_id"] for row in self.rows.scan("chunk", narrow, ("uid",), among=[CHUNKS])}
        return found

    def model(self) -> ModelInfo | None:
        return self.rows.state.active

    def use_model(self, model: ModelInfo) -> None:
        active = self.rows.state.active
        if active and active.fingerprint != model.fingerprint:
            raise ModelMismatch(f"the index holds vectors of {active.name}, not of {model.name}")
        if active == model:
            return
        self.rows.engine.add_vector_field(model)
        set_models(self.rows.engine, {model.fingerprint: (model, State.ACTIVE)})

    @property
    def generations(self) -> OpenSearchGenerations:
        if self.rows.owners != ("",):
            raise OutOfScope("this concerns the whole index: ask who looks after it")
        return OpenSearchGenerations(self.rows.engine)


def _of_text(hash: int) -> str:
    """Return the name of a refresh that is due if a text with this hash got a vector."""
    return f"text {hash}"


def _pending(row: Mapping[str, Any]) -> Pending:
    facts = json.loads(row["facts"])
    passage = json.loads(row["passage"])
    # The passage of a document that has only a title is that.
    text = passage["text"] if passage["span"][1] else ""
    return Pending(row["uid"], row["hash"], facts["title"], tuple(facts["headings"]), text, row["waiting"])


def set_models(engine: ClusterIndex, changes: Mapping[str, tuple[ModelInfo, State] | None]) -> None:
    """Change the states of models, or forget them, if no one else changes them at the same time."""
    rows = OwnedRows(engine, (WORLD,))
    id = row_id(WORLD, "models")
    for _ in range(_TRIES):
        row = rows.get([id]).get(id)
        models: JSON = {}
        version = None
        if row:
            models = dict(row["models"])
            version = row["_seq"]
        for fingerprint, change in changes.items():
            models.pop(fingerprint, None)
            if change:
                models[fingerprint] = {"model": asdict(change[0]), "state": change[1].value}
        if rows.put_if(id, {"type": "models", "models": models}, version):
            engine.forget_states()
            return
    raise Busy("the models of the index are changed by others all the time: try again")


@dataclass(frozen=True, slots=True)
class OpenSearchGenerations(Generations):
    """The models whose vectors an index holds. A change of one is one write; dropping vectors can be interrupted."""

    engine: ClusterIndex

    def _models(self) -> Mapping[str, tuple[ModelInfo, State]]:
        self.engine.forget_states()
        return self.engine.state(("",)).models

    def _in(self, *states: State) -> list[ModelInfo]:
        return [model for model, state in self._models().values() if state in states]

    def all(self) -> list[Generation]:
        models = self._models()
        if not models:
            return []
        aggregations = {"of": {"terms": {"field": "embedded", "size": PAGE}}}
        found = self.engine.count_everywhere([*_CHUNKS], aggregations)
        counts = {each["key"]: each["doc_count"] for each in found["aggregations"]["of"]["buckets"]}
        chunks = found["hits"]["total"]["value"]
        generations = []
        for wanted in (State.ACTIVE, State.BUILDING, State.RETIRED):
            for model, state in models.values():
                if state is wanted:
                    count = counts.get(vector_field(model.fingerprint), 0)
                    generations.append(Generation(model, state, count, chunks))
        return generations

    def begin(self, model: ModelInfo) -> None:
        active = self._in(State.ACTIVE)
        building = self._in(State.BUILDING)
        if not active:
            raise InvalidArgument("there are no vectors to switch from: embed with the model instead")
        if model in active:
            raise InvalidArgument(f"{model.name} is already in use")
        if building and building != [model]:
            raise InvalidArgument(f"vectors of {building[0].name} are being built: abort_switch first")
        self.engine.add_vector_field(model)
        set_models(self.engine, {model.fingerprint: (model, State.BUILDING)})

    def finish(self) -> bool:
        for model in self._in(State.BUILDING):
            missing = none_of([has_vector(vector_field(model.fingerprint))])
            found = self.engine.count_everywhere([*_CHUNKS, missing], {})
            if found["hits"]["total"]["value"]:
                return False
            retired = {each.fingerprint: (each, State.RETIRED) for each in self._in(State.ACTIVE)}
            set_models(self.engine, {**retired, model.fingerprint: (model, State.ACTIVE)})
            return True
        return False

    def abort(self) -> ModelInfo | None:
        for model in self._in(State.BUILDING):
            set_models(self.engine, {model.fingerprint: (model, State.RETIRED)})
            return model
        return None

    def drop(self, most: int) -> int:
        dropped = 0
        for model in self._in(State.RETIRED):
            field = vector_field(model.fingerprint)
            chunks = [{"term": {"type": "chunk"}}, has_vector(field)]
            if most > dropped:
                script = {"source": _DROP, "params": {"field": field}}
                dropped += self.engine.change_everywhere(chunks, script, most - dropped)
            if not self.engine.count_everywhere(chunks, {})["hits"]["total"]["value"]:
                set_models(self.engine, {model.fingerprint: None})
        return dropped
