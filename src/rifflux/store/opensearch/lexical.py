"""The lexical role on a cluster: it names candidates, which are scored from their packed counts."""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from rifflux.store.lexical import MOST_CLAUSES, VARIANT, FieldWeights, Lexical, TermSequences
from rifflux.store.opensearch.engine import ANYTHING, MOST_VALUES, PAGE, OwnedRows
from rifflux.store.opensearch.filters import JSON, any_of, conditions, literal, none_of, terms
from rifflux.store.opensearch.rows import (
    HIT,
    PACKED,
    TERM_FIELDS,
    TERMS_READ,
    FieldTerms,
    term_digest,
    terms_of,
)
from rifflux.text.analyzer import okapi_idf
from rifflux.types import Clause, Ids, Query, Ranking, Scores

#: Candidates beyond the limit, since the cluster rounds lengths when it names them: as many as the limit, between these
#: numbers; and the most that it names.
LEAST_SLACK = 16
SLACK = 64
MOST_HITS = 10_000
#: The candidates for the best chunk that contains a clause; they are read whole.
_EXAMPLES = 4
#: The number of chunks of which it is remembered whether they contain a clause.
_MOST_SEEN = 20_000
#: The most chunks with a query's phrases whose terms are read with its candidates.
_PHRASED = 48
#: The number of chunks up to which an owner's vocabulary is read as a whole, and the length that its terms are below.
SMALL = 25_000
_LONGEST_TERM = 256
#: What is read of each chunk that a search finds: its id and its length, and of each term that was found in it the
#: place among those that were looked for, and the counts in title, headings and body. Both are whole groups of Base64.
_CHUNK = np.dtype([("uid", "<i8"), ("length", "<i4")])
_FOUND = np.dtype([("place", "<u2"), ("counts", "<u2", 3), ("rest", "u1")])
_ID_LETTERS = 12
#: Looks up the terms of the parameter `places` in the packed counts of a chunk, and returns what is found in Base64.
_COUNTING = f"""
long number(byte[] bytes, int start, int width) {{
  long value = 0L;
  for (int place = start + width - 1; place >= start; place--) {{
    int digit = bytes[place];
    if (digit < 0) {{ digit += 256 }}
    value = value * 256L + digit;
  }}
  return value;
}}
void put(byte[] bytes, int start, long value, int width) {{
  for (int place = 0; place < width; place++) {{ bytes[start + place] = (byte) (value >> (8 * place)); }}
}}
int[] starts = new int[params.places.size()];
int[] places = new int[params.places.size()];
int found = 0;
byte[] bytes = new byte[0];
if (doc['packed'].size() > 0) {{
  def packed = doc['packed'].get(0);
  bytes = packed.bytes;
  int end = packed.offset + packed.length;
  for (int start = packed.offset; start < end && found < starts.length; start += {PACKED.itemsize}) {{
    def place = params.places.get(Long.toString(number(bytes, start, 8)));
    if (place != null) {{
      starts[found] = start + 8;
      places[found] = (int) place;
      found++;
    }}
  }}
}}
byte[] counts = new byte[{_CHUNK.itemsize} + found * {_FOUND.itemsize}];
put(counts, 0, doc['uid'].value, 8);
put(counts, 8, doc['length'].value, 4);
for (int each = 0; each < found; each++) {{
  int start = {_CHUNK.itemsize} + each * {_FOUND.itemsize};
  put(counts, start, places[each], 2);
  for (int place = 0; place < 6; place++) {{ counts[start + 2 + place] = bytes[starts[each] + place]; }}
}}
return Base64.getEncoder().encodeToString(counts);
"""

#: An alternative: a clause, its weight, and whether it is the beginning of a term.
Alternative = tuple[Clause, float, bool]
#: The terms of chunks by field.
Texts = Mapping[int, FieldTerms]


def contains(clause: Clause, *, prefix: bool = False) -> JSON:
    """Return a condition that a chunk contains a term, the beginning of one, or a phrase."""
    if prefix:
        return {"prefix": {"all": clause[0]}}
    if len(clause) == 1:
        return {"term": {"all": clause[0]}}
    return any_of({"match_phrase": {field: " ".join(clause)}} for field in TERM_FIELDS)


def word_conditions(query: Query) -> list[JSON]:
    """Return what a query's required and excluded clauses ask of a chunk."""
    found = [any_of(map(contains, forms)) for forms in _required(query)]
    if query.excluded:
        found.append(none_of(contains(clause) for clause in query.excluded[:MOST_CLAUSES]))
    return found


def _required(query: Query) -> list[tuple[Clause, ...]]:
    """Return the clauses that must match, each with its forms in other languages, of which one suffices."""
    return [(clause, *query.languages.forms.get(clause, ())) for clause in query.required[:MOST_CLAUSES]]


def alternatives(query: Query) -> list[Alternative]:
    """Return what adds to a score, in the order of addition; required clauses count twice."""
    required = [(form, 1.0, False) for forms in _required(query) for form in forms]
    optional = [(clause, query.worths.get(clause, 1.0), False) for clause in query.clauses]
    optional += [(clause, query.worths.get(clause, VARIANT), False) for clause in query.variants]
    prefixes = [((start,), 1.0, True) for start in query.prefixes[:MOST_CLAUSES]]
    return [*required, *required, *optional[:MOST_CLAUSES], *prefixes]


@dataclass(frozen=True, slots=True)
class _Clauses:
    """What a query asks of chunks: what adds to their scores, and all its clauses."""

    alternatives: Sequence[Alternative]
    clauses: Sequence[Clause]

    @classmethod
    def by(cls, query: Query, weights: FieldWeights) -> _Clauses:
        if weights.by_match:
            query = replace(query, worths=dict.fromkeys(query.variants, 1.0))
        forms = chain.from_iterable(query.languages.forms.values())
        clauses = dict.fromkeys((*query.required, *query.clauses, *query.variants, *forms, *query.anchors))
        return cls(alternatives(query), [*clauses])

    @property
    def counted(self) -> set[tuple[Clause, bool]]:
        """Return the clauses whose chunks are counted, and whether each is the beginning of a term."""
        # In which chunks a phrase occurs is known only where its terms do.
        single = {((term,), False) for clause in self.clauses for term in clause}
        return {(clause, prefix) for clause, _, prefix in self.alternatives} | single


def counting(words: Sequence[str]) -> JSON:
    """Return the options of a search that counts some terms in each chunk that it finds; see `Counts`."""
    places = {}
    for place, word in enumerate(words):
        digest = term_digest(word)
        places[str(digest - (1 << 64) if digest >> 63 else digest)] = place
    script = {"lang": "painless", "source": _COUNTING, "params": {"places": places}}
    return {"script_fields": {"counts": {"script": script}}}


def ids_of(hits: Sequence[JSON]) -> Ids:
    """Return the chunks that searches found, with the options of `counting` or their ids alone."""
    fields = [each["fields"] for each in hits]
    letters = "".join(each["counts"][0][:_ID_LETTERS] for each in fields if "counts" in each)
    # The last of nine bytes is of the length.
    digits = np.frombuffer(b64decode(letters), np.uint8).reshape(-1, 9)[:, :8]
    counted = iter(np.ascontiguousarray(digits).view("<i8").ravel().tolist())
    return np.array([next(counted) if "counts" in each else each["uid"][0] for each in fields], np.int64)


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of terms in the chunks that a search found: by term the rows, and the counts in each field."""

    ids: Ids
    lengths: NDArray[np.int64]
    rows: Mapping[str, Ids]
    counts: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(cls, hits: Sequence[JSON], words: Sequence[str]) -> Counts:
        """Read the counts that a search with the options of `counting` returned, each chunk once."""
        found = [each["fields"]["counts"][0] for each in hits]
        packed = np.frombuffer(b64decode("".join(found)), np.uint8)
        sizes = np.array([*map(len, found)], np.int64) // 4 * 3
        starts = np.cumsum(sizes) - sizes
        heads = starts[:, None] + np.arange(_CHUNK.itemsize)
        chunks = packed[heads].view(_CHUNK).ravel()
        ids = chunks["uid"].astype(np.int64)
        distinct, first = np.unique(ids, return_index=True)
        if len(distinct) < len(ids):
            return cls.of([hits[place] for place in np.sort(first).tolist()], words)
        is_found = np.ones(len(packed), np.bool)
        is_found[heads] = False
        pairs = packed[is_found].view(_FOUND)
        # In the order of the terms, and for each of the hits.
        order = np.argsort(pairs["place"], kind="stable")
        row = np.repeat(np.arange(len(hits)), (sizes - _CHUNK.itemsize) // _FOUND.itemsize)[order]
        places = pairs["place"][order]
        fields = pairs["counts"][order].astype(np.int64)
        bounds = np.searchsorted(places, np.arange(len(words) + 1)).tolist()
        spans = dict(zip(words, pairwise(bounds), strict=True))
        rows = {word: row[start:end] for word, (start, end) in spans.items()}
        counts = {word: fields[start:end] for word, (start, end) in spans.items()}
        return cls(ids, chunks["length"].astype(np.int64), rows, counts)

    def together(self, clause: Clause) -> Ids:
        """Return the rows that have all terms of a phrase in one field."""
        table = np.ones((len(self.ids), len(TERM_FIELDS)), np.bool)
        for term in clause:
            held = np.zeros_like(table)
            held[self.rows[term]] = self.counts[term] > 0
            table &= held
        return np.flatnonzero(table.any(axis=1))


@dataclass(frozen=True, slots=True)
class Scoring:
    """How the chunks that a search finds are scored: alternatives with their weights, statistics, and counted terms.

    `clauses` are those of the query of which it is remembered which chunks contain them. `phrases` are all phrases
    among both that some chunk may contain, with the number of those that do where it is known.
    """

    scored: Sequence[Alternative]
    clauses: Sequence[Clause]
    phrases: Mapping[Clause, int | None]
    words: Sequence[str]
    weights: FieldWeights
    chunks: int
    length: int

    def reading(self) -> JSON:
        """Return the options of a search that read what scores are computed from."""
        return {"_source": False, **counting(self.words)}

    def needs_texts(self, counts: Counts) -> Ids:
        """Return the chunks whose terms must be read: those that may contain a phrase, or the beginning of a term."""
        if any(prefix for _, _, prefix in self.scored):
            return counts.ids
        rows: list[Ids] = [np.empty(0, np.int64)]
        rows += [counts.together(clause) for clause in self.phrases]
        return counts.ids[np.unique(np.concatenate(rows))]

    def scores(self, counts: Counts, texts: Texts) -> Scores:
        """Return the BM25 scores of chunks: SQLite's operations in the same order."""
        mean = self.length / max(self.chunks, 1) or 1.0
        weights = self.weights
        norms = weights.k1 * (1 - weights.b + weights.b * counts.lengths / mean)
        scores = np.zeros(len(counts.ids))
        for clause, worth, prefix in self.scored:
            if len(clause) == 1 and not prefix:
                found = counts.rows[clause[0]]
                numbers = counts.counts[clause[0]]
            else:
                found, numbers = occurrences(counts.ids, clause, texts, prefix=prefix)
            frequencies = weights.body * numbers.sum(axis=1).astype(np.float64)
            frequencies += (weights.title - weights.body) * numbers[:, 0]
            if weights.headings != weights.body:
                frequencies += (weights.headings - weights.body) * numbers[:, 1]
            scores[found] += worth * (frequencies * (weights.k1 + 1.0) / (frequencies + norms[found]))
        return scores


@dataclass(frozen=True, slots=True)
class NamedHits:
    """The hits of a query by words, and `further` ones that are not ranked, with the counts of its terms in each.

    `holding` are all chunks with one of its phrases, with their terms, if they were read with the hits.
    """

    hits: Sequence[JSON]
    counts: Counts
    further: Counts
    scoring: Scoring
    holding: Sequence[JSON] | None = None

    @classmethod
    def of(
        cls, hits: Sequence[JSON], further: Sequence[JSON], scoring: Scoring, holding: Sequence[JSON] | None = None
    ) -> NamedHits:
        """Read what a search for candidates returned."""
        return cls(hits, Counts.of(hits, scoring.words), Counts.of(further, scoring.words), scoring, holding)

    @property
    def read(self) -> Texts:
        """Return the terms that were read with hits."""
        if self.holding is not None:
            return {each["_source"]["uid"]: terms_of(each["_source"]) for each in self.holding}
        if not self.hits or "body" not in self.hits[0].get("_source", ()):
            return {}
        return {each["_source"]["uid"]: terms_of(each["_source"]) for each in self.hits}

    @property
    def needed(self) -> Ids:
        """Return the hits whose terms must be looked at."""
        if self.holding is not None:
            return np.empty(0, np.int64)
        return np.union1d(self.scoring.needs_texts(self.counts), self.scoring.needs_texts(self.further))


def occurrences(ids: Ids, clause: Clause, texts: Texts, *, prefix: bool) -> tuple[Ids, NDArray[np.int64]]:
    """Return the rows whose chunks contain a phrase, or terms with a beginning, and how often in each field."""
    rows = []
    found = []
    width = len(clause)
    for row, id in enumerate(ids.tolist()):
        fields = texts.get(id, ())
        if prefix:
            counts = [sum(word.startswith(clause[0]) for word in words) for words in fields]
        else:
            counts = [
                sum(words[start : start + width] == clause for start in range(len(words) - width + 1))
                for words in fields
            ]
        if any(counts):
            rows.append(row)
            found.append(counts)
    return np.array(rows, np.int64), np.array(found, np.int64).reshape(-1, len(TERM_FIELDS))


@dataclass(frozen=True, slots=True)
class KnownHolders:
    """Which of some chunks contain each of some clauses; their ids ascend."""

    ids: Ids
    clauses: Mapping[Clause, NDArray[np.bool_]]

    @classmethod
    def of(cls, clauses: Iterable[Clause], counts: Counts, texts: Texts) -> KnownHolders:
        """Tell which of the chunks of a search contain each clause."""
        order = np.argsort(counts.ids)
        found = {}
        for clause in clauses:
            if len(clause) == 1:
                rows = counts.rows[clause[0]]
            else:
                rows, _ = occurrences(counts.ids, clause, texts, prefix=False)
            contain = np.zeros(len(order), np.bool_)
            contain[rows] = True
            found[clause] = contain[order]
        return cls(counts.ids[order], found)

    def look_up(
        self, clauses: Sequence[Clause], ids: Ids, table: NDArray[np.bool_], is_known: NDArray[np.bool_]
    ) -> None:
        """Note in a table which chunks contain which clauses, a row for a clause, and where that is known."""
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        here = self.ids[places] == ids
        for row, clause in enumerate(clauses):
            contain = self.clauses.get(clause)
            if contain is not None:
                table[row] |= contain[places] & here
                is_known[row] |= here


@dataclass(frozen=True, slots=True)
class OpenSearchLexical(Lexical):
    """The terms of a view's chunks."""

    rows: OwnedRows

    def candidates(self, query: Query, scoring: Scoring, limit: int) -> JSON:
        """Return the body of the search for the candidates of a query."""
        should = [_boosted(clause, prefix=prefix, boost=worth) for clause, worth, prefix in scoring.scored]
        narrow = [*conditions(query.filter), *word_conditions(query)]
        wanted = {
            "bool": {
                "filter": self.rows.conditions("chunk", narrow),
                "should": should,
                "minimum_should_match": int(not query.required),
            }
        }
        size = min(limit + min(max(limit, LEAST_SLACK), SLACK), MOST_HITS)
        return {"size": size, "track_total_hits": False, "query": wanted, **scoring.reading()}

    def scoring(self, query: Query, weights: FieldWeights) -> Scoring:
        """Return how candidates are scored; without alternatives, nothing can match."""
        sought = _Clauses.by(query, weights)
        frequencies = self._frequencies(sought.counted)
        chunks, length = self._totals()
        scored = []
        for clause, worth, prefix in sought.alternatives:
            frequency = frequencies[clause, prefix]
            if frequency:
                scored.append((clause, worth * okapi_idf(chunks, frequency), prefix))
        terms = {term for clause, _, prefix in scored if not prefix for term in clause}
        terms |= {term for clause in sought.clauses for term in clause if frequencies[(term,), False]}
        present = [clause for clause in sought.clauses if terms.issuperset(clause)][:MOST_CLAUSES]
        phrases: dict[Clause, int | None] = {}
        for clause in (*(clause for clause, _, prefix in scored if not prefix), *present):
            number = frequencies.get((clause, False))
            if len(clause) > 1 and number != 0:
                phrases[clause] = number
        return Scoring(scored, present, phrases, sorted(terms), weights, chunks, length)

    def holding(self, query: Query, scoring: Scoring) -> JSON | None:
        """Return the body of the search for all chunks with a phrase of a query; None if terms are not read by it.

        That is so if there are none, or if they may be many.
        """
        numbers = [*scoring.phrases.values()]
        if not numbers or any(prefix for _, _, prefix in scoring.scored):
            return None
        if sum(_PHRASED + 1 if number is None else number for number in numbers) > _PHRASED:
            return None
        narrow = [any_of(map(contains, scoring.phrases)), *conditions(query.filter), *word_conditions(query)]
        return self.rows.body("chunk", narrow, size=_PHRASED, _source=["uid", *TERM_FIELDS])

    def count(self, queries: Sequence[tuple[Query, FieldWeights]]) -> None:
        """Count what some queries ask for in one request."""
        self._frequencies(each for query, weights in queries for each in _Clauses.by(query, weights).counted)

    def texts_for(self, named: Sequence[NamedHits]) -> Texts:
        """Return the terms of all hits whose terms must be looked at, which are read in one request."""
        texts = {id: terms for each in named for id, terms in each.read.items()}
        wanted = np.unique(np.concatenate([np.empty(0, np.int64), *(each.needed for each in named)]))
        return texts | self._texts(wanted[~np.isin(wanted, [*texts])])

    def ranking(self, named: NamedHits, texts: Texts, limit: int) -> Ranking:
        """Return the ranking of candidates, remembering which of the query's clauses all hits contain."""
        counts = named.counts
        scores = named.scoring.scores(counts, texts)
        for each in (counts, named.further):
            if len(each.ids):
                self._remember(KnownHolders.of(named.scoring.clauses, each, texts))
        order = np.lexsort((counts.ids, -scores))[:limit]
        return Ranking(counts.ids[order], scores[order])

    def _texts(self, ids: Ids) -> dict[int, FieldTerms]:
        """Return the terms of chunks by field."""
        bodies = []
        for start in range(0, len(ids), PAGE):
            some = [terms("uid", ids[start : start + PAGE].tolist())]
            bodies.append(self.rows.body("chunk", some, size=PAGE, _source=["uid", *TERM_FIELDS]))
        found: dict[int, FieldTerms] = {}
        for answer in self.rows.search_all(bodies):
            for each in answer["hits"]["hits"]:
                row = each["_source"]
                found[row["uid"]] = terms_of(row)
        return found

    def _remember(self, some: KnownHolders) -> None:
        """Remember which chunks contain some clauses: for the search of this thread, or else for others."""
        bounds = self.rows.engine.bounds
        if bounds.reads is not None:
            bounds.holders.setdefault(self.rows.owners, []).append(some)
        else:
            self._note(some)

    def _note(self, some: KnownHolders) -> None:
        known = self._known_holders
        seen = some.ids.tolist()
        for clause, contain in some.clauses.items():
            _note(known, clause, seen, some.ids[contain].tolist())

    @property
    def _known_holders(self) -> dict[Clause, _Holders]:
        """Return what is known of the chunks that contain each clause."""
        known: dict[Clause, _Holders] = self.rows.cached("held", dict)
        if len(known) > PAGE:
            known.clear()
        return known

    def _totals(self) -> tuple[int, int]:
        """Return the number of chunks and of their terms."""
        return self.rows.cached("terms", self._count_terms)

    def _count_terms(self) -> tuple[int, int]:
        if not self.rows.several and not self.rows.is_open:
            known = self.rows.engine.totals.get(self.rows.owner)
            if known and known[0] == self.rows.state.version:
                return known[1].chunks, known[2]
        found = self.rows.search("chunk", size=0, track_total_hits=True, aggs={"all": {"sum": {"field": "length"}}})
        return found["hits"]["total"]["value"], int(found["aggregations"]["all"]["value"])

    def _vocabulary(self) -> Mapping[str, Mapping[str, int]] | None:
        """Return the numbers of chunks of all terms, by their first letter; None if there are too many."""
        return self.rows.cached("whole vocabulary", self._read_vocabulary)

    def _read_vocabulary(self) -> Mapping[str, Mapping[str, int]] | None:
        chunks, _ = self._totals()
        if chunks > SMALL:
            return None
        known = self.rows.values("chunk", "vocabulary")
        if len(known) >= MOST_VALUES:
            return None
        by_letter: dict[str, dict[str, int]] = defaultdict(dict)
        for term, count in known.items():
            by_letter[term[0]][term] = count
        return by_letter

    def _frequencies(self, wanted: Iterable[tuple[Clause, bool]]) -> Mapping[tuple[Clause, bool], int]:
        """Return the number of chunks that contain each clause; counts are cached."""
        known: dict[tuple[Clause, bool], int] = self.rows.cached("frequencies", dict)
        missing = sorted({*wanted} - known.keys())
        vocabulary = self._vocabulary() if missing else None
        if vocabulary is not None:
            known |= {each: 0 for each in missing if not each[1] and not self._may_occur(each[0], vocabulary)}
            for clause, prefix in missing:
                if len(clause) == 1 and not prefix and len(clause[0]) < _LONGEST_TERM:
                    known[clause, prefix] = vocabulary.get(clause[0][:1], {}).get(clause[0], 0)
            missing = [each for each in missing if each not in known]
        if missing:
            counted = {str(number): contains(clause, prefix=prefix) for number, (clause, prefix) in enumerate(missing)}
            bodies = []
            names = [*counted]
            for start in range(0, len(names), PAGE):
                some = {name: counted[name] for name in names[start : start + PAGE]}
                bodies.append(self.rows.body("chunk", size=0, aggs={"in": {"filters": {"filters": some}}}))
            for answer in self.rows.search_all(bodies):
                for name, bucket in answer["aggregations"]["in"]["buckets"].items():
                    known[missing[int(name)]] = bucket["doc_count"]
        return known

    @staticmethod
    def _may_occur(clause: Clause, vocabulary: Mapping[str, Mapping[str, int]]) -> bool:
        """Return False if a term of a phrase occurs nowhere."""
        return all(len(term) >= _LONGEST_TERM or term in vocabulary.get(term[:1], ()) for term in clause)

    def holders(self, clauses: Sequence[Clause], ids: Ids) -> NDArray[np.bool_]:
        table = np.zeros((len(clauses), len(ids)), np.bool_)
        is_known = np.zeros_like(table)
        searched = self.rows.engine.bounds.holders
        for some in searched.get(self.rows.owners, ()):
            some.look_up(clauses, ids, table, is_known)
        unknown = [clauses[row] for row in np.flatnonzero(~is_known.all(axis=1)).tolist()]
        present = self.document_frequencies([*dict.fromkeys(chain.from_iterable(unknown))])
        # No chunk contains a clause of which a term occurs nowhere.
        if not any(clause and all(term in present for term in clause) for clause in unknown):
            return table
        for some in searched.pop(self.rows.owners, ()):
            self._note(some)
        return self._read_holders(clauses, ids)

    def _read_holders(self, clauses: Sequence[Clause], ids: Ids) -> NDArray[np.bool_]:
        known = self._known_holders
        wanted = ids.tolist()
        present = self.document_frequencies([*dict.fromkeys(chain.from_iterable(clauses))])
        bodies = []
        read: list[tuple[Clause, list[int]]] = []
        former = {clause: known.get(clause, _UNSEEN) for clause in clauses}
        fresh: dict[Clause, set[int]] = {clause: set() for clause in clauses}
        for clause, each in former.items():
            missing = [id for id in wanted if id not in each.seen]
            if not clause or not all(term in present for term in clause):
                _note(known, clause, missing, ())
                continue
            for start in range(0, len(missing), PAGE):
                some = missing[start : start + PAGE]
                narrow = [terms("uid", some), contains(clause)]
                bodies.append(self.rows.body("chunk", narrow, size=PAGE, _source=False, docvalue_fields=["uid"]))
                read.append((clause, some))
        for (clause, some), answer in zip(read, self.rows.search_all(bodies), strict=True):
            holders = [each["fields"]["uid"][0] for each in answer["hits"]["hits"]]
            fresh[clause].update(holders)
            _note(known, clause, some, holders)
        held = [[id in former[clause].holders or id in fresh[clause] for id in wanted] for clause in clauses]
        return np.array(held, np.bool_).reshape(len(clauses), len(ids))

    def sequences(self, ids: Ids) -> TermSequences | None:
        """Return the terms of chunks that a search has read as hits."""
        read: dict[int, FieldTerms] = self.rows.cached(TERMS_READ, dict)
        found = [read.get(id) for id in ids.tolist()]
        if None in found:
            return None
        fields = [each for each in found if each]
        every = {*chain.from_iterable(chain.from_iterable(fields))}
        numbers = {term: number for number, term in enumerate(sorted(every))}
        spelled = [each for title, _, body in fields for each in (title, body)]
        values = np.array([numbers[term] for term in chain.from_iterable(spelled)], np.int32)
        ends = np.cumsum([0, *map(len, spelled)])
        bounds = ends[2 * np.arange(len(fields))[:, None] + np.arange(3)]
        return TermSequences(values, bounds, numbers.get)

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        frequencies = self._frequencies([((term,), False) for term in terms])
        return {term: count for term in terms if (count := frequencies[(term,), False])}

    def occurring(self, clauses: Iterable[Clause], most: int = 1) -> list[Clause]:
        wanted = [*clauses]
        frequencies = self._frequencies([(clause, False) for clause in wanted])
        return [clause for clause in wanted if frequencies[clause, False]][:most]

    def best_with(self, clauses: Sequence[Clause], weights: FieldWeights) -> list[Ranking]:
        queries = [Query("", required=(clause,)) for clause in clauses]
        self._frequencies([(clause, False) for clause in clauses])
        scorings = [self.scoring(query, weights) for query in queries]
        places = [place for place, scoring in enumerate(scorings) if scoring.scored]
        reading = {"size": _EXAMPLES, "_source": [*HIT, *TERM_FIELDS], "sort": ["_score", {"uid": "asc"}]}
        bodies = [{**self.candidates(queries[place], scorings[place], 1), **reading} for place in places]
        answers = self.rows.search_all(bodies)
        passages: dict[int, JSON] = self.rows.cached(("chunks", *HIT), dict)
        found = [Ranking.empty() for _ in clauses]
        named = []
        for place, answer in zip(places, answers, strict=True):
            hits = answer["hits"]["hits"]
            passages.update((each["_source"]["uid"], each["_source"]) for each in hits)
            named.append(NamedHits.of(hits, (), scorings[place]))
        texts = self.texts_for(named)
        for place, each in zip(places, named, strict=True):
            found[place] = self.ranking(each, texts, 1)
        return found

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> Mapping[str, int]:
        whole = self._vocabulary()
        if whole is None:
            known = self.rows.cached(("vocabulary", start), lambda: self._beginning_with(start))
        elif start:
            known = {term: count for term, count in whole.get(start[0], {}).items() if term.startswith(start)}
        else:
            known = {term: count for terms in whole.values() for term, count in terms.items()}
        return {
            term: count
            for term, count in known.items()
            if shortest <= len(term) <= longest and (like is None or like(term))
        }

    def _beginning_with(self, start: str) -> Mapping[str, int]:
        if not start:
            return self.rows.values("chunk", "vocabulary")
        return self.rows.values("chunk", "vocabulary", include=literal(start) + ANYTHING)


@dataclass(frozen=True, slots=True)
class _Holders:
    """Chunks of which it is known whether they contain a clause, and those that do."""

    seen: set[int]
    holders: set[int]


_UNSEEN = _Holders(set(), set())


def _note(known: dict[Clause, _Holders], clause: Clause, seen: Iterable[int], holders: Iterable[int]) -> None:
    """Remember which of some chunks contain a clause."""
    former = known.get(clause)
    if former is None or len(former.seen) > _MOST_SEEN:
        known[clause] = _Holders({*seen}, {*holders})
        return
    # Another thread takes those that it does not see among the holders for none, once they were seen.
    former.holders.update(holders)
    former.seen.update(seen)


def _boosted(clause: Clause, *, prefix: bool, boost: float) -> JSON:
    if len(clause) == 1 and not prefix:
        return {"term": {"all": {"value": clause[0], "boost": boost}}}
    return {"constant_score": {"filter": contains(clause, prefix=prefix), "boost": boost}}
