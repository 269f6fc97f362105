"""Query parsing, analysis and classification. The result is a `Query`.

    "exact phrase"   must occur, its words adjacent; in a longer query that only mentions it
                     (more words outside quotes than inside), it raises the score instead
    -word  -"a b"    must not occur
    start*           any word with this prefix
    field:value      for the facets the profile declares, kind, path and collection; anything else with a colon is
                     plain words

Everything else is plain words. No input is an error.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, filterfalse
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING

from rifflux.store import Store
from rifflux.text.analyzer import Analyzer, fold
from rifflux.text.identifiers import labelled, named_results, numbered_results
from rifflux.text.question_words import framed
from rifflux.types import Clause, Filter, Phrasing, Query, QueryLanguages, Understanding

if TYPE_CHECKING:
    from rifflux.retrieve.query.codes import Frequencies, Phrases


#: The facet that selects a caller's collections rather than a property of documents.
COLLECTION = "collection"


@dataclass(slots=True)
class KnownFrequencies:
    """The number of chunks that contain each term, cached; `first` are looked up with the terms of the first call."""

    store: Store
    first: Sequence[str]
    known: dict[str, int] = field(default_factory=dict)

    def __call__(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Return the frequencies of the terms that occur."""
        missing = [*filterfalse(self.known.__contains__, dict.fromkeys((*self.first, *terms)))]
        if missing:
            self.known |= dict.fromkeys(missing, 0) | dict(self.store.lexical.document_frequencies(missing))
        return dict(filter(itemgetter(1), zip(terms, (self.known[term] for term in terms), strict=True)))


#: Characters that may surround a word, and an excluded word.
_EDGES = ".,;:!?()[]{}'"
_MARKS = ".,;:!?()[]{}'-"


class Words(dict[str, Clause]):
    """The terms of a query's words as typed; no word is tokenized twice.

    A part of the query is looked up word by word; a part with unknown words, such as a piece of a formula, is analyzed.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self._analyzer = analyzer

    def read(self, text: str) -> list[tuple[str, Clause]]:
        """Tokenize a text, record the terms of its words, and return its tokens with their terms."""
        read: list[tuple[str, Clause]] = []
        for word, tokens in self._analyzer.words(text):
            found = list(zip(tokens, (self._analyzer.terms_of(token) for token in tokens), strict=True))
            self[word.strip(_MARKS)] = _joined(found)
            for token, terms in found:
                self[token] = terms
                for part in token.split("-") if "-" in token else ():
                    self[part] = self._analyzer.terms_of(part)
            read += found
        return read

    def begin(self, prefix: str, terms: Clause) -> Clause:
        """Return a prefix as typed and as a stem: stored terms are stems, so `configuration*` must find `configur`."""
        self[f"{prefix}*"] = terms
        return fold(prefix), *terms[:1]

    def __missing__(self, part: str) -> Clause:
        known = [*(self.get(each) for each in map(methodcaller("strip", _MARKS), part.split()))]
        if None in known:
            self[part] = found = tuple(self._analyzer.terms(part))
            return found
        return tuple(chain.from_iterable(filter(None, known)))


def _joined(read: Iterable[tuple[str, Clause]]) -> Clause:
    """Return the concatenated terms of tokens."""
    return tuple(chain.from_iterable(each[1] for each in read))


_PIECE = re.compile(
    r"""
    (?:(?<=\s)|^)(?P<minus>-)?"(?P<phrase>[^"]+)"
    | (?:(?<=\s)|^)-(?P<without>[^\W\d][^\s"]*)
    | (?:(?<=\s)|^)(?P<field>[^\W\d]\w*):(?:"(?P<quoted>[^"]+)"|(?P<value>(?:(?<=\bcollection:)/)?[^\s":/][^\s"]*))
    | (?:(?<=\s)|^)(?P<prefix>\w[\w.-]+)\*(?=\s|$)
    | (?P<words>\S+|\s+)
    """,
    re.VERBOSE,
)

#: Numeric values of facets may be stored as numbers.
_WHOLE = re.compile(r"-?\d{1,18}\Z")
_DECIMAL = re.compile(r"-?\d{1,15}\.\d{1,15}\Z")
#: The ways to search for a part of a query: word by word, as a phrase, or as a prefix.
WORDS = "words"
PHRASE = "phrase"
PREFIX = "prefix"
#: How quickly the weight of a repeated word saturates, and the minimum length of such a word.
K3 = 8.0
SHORTEST_WORD = 3
#: The maximum number of repetitions that count: each distinct count of a query's words costs another statement.
MOST_REPEATS = 5
#: A query without these characters is plain words.
_SYNTAX = frozenset('"-:*')


@dataclass
class _Reading:
    """The parts of a query by purpose; `meaning` are the parts to search for, in order."""

    meaning: list[tuple[str, str]] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    facets: dict[str, list[str]] = field(default_factory=dict)


def understand(
    text: str,
    analyzer: Analyzer,
    facets: Collection[str] = (),
    filter: Filter | None = None,
    adjacent: Phrases = lambda *_: [],
    others: Sequence[Analyzer] = (),
) -> Query:
    """Parse and analyze a query. `facets` are the metadata fields that `field:value` may name beyond kind and path.

    `others` are the analyzers of further languages of the content. `adjacent` returns those of some clauses whose
    terms are adjacent in the index: words at the end of a query may belong to its subject.
    """
    # A broken terminal may send unpaired surrogates, which cannot be stored or compared.
    text = text.encode("utf-8", "replace").decode()
    reading = _read(text, {*facets, "kind", "path"})
    words = Words(analyzer)
    interrogative, meaning = _subject(reading.meaning, words, analyzer.language, adjacent)
    tokens: list[tuple[str, Clause]] = []
    searched = defaultdict[str, list[Clause]](list)
    for sort, part in meaning:
        read = words.read(part)
        tokens += read
        searched[sort].append(_joined(read) if sort != PREFIX else words.begin(part, _joined(read)))
    plain = [*chain.from_iterable(searched[WORDS])]
    phrases = tuple(dict.fromkeys(each for each in searched[PHRASE] if each))
    mentioned = len(plain) > sum(map(len, phrases))
    beside = phrases if mentioned else ()
    # The text to search for, and the exclusions and facets; each parses as in the whole.
    body = text
    if reading.searched or reading.limits:
        body = " ".join("".join(reading.searched).split())
    limits = " ".join(reading.limits)
    query = Query(
        text=text,
        # Every single word, including those of a mentioned phrase, then the phrases themselves.
        clauses=tuple(dict.fromkeys([*zip(chain(plain, *beside), strict=True), *beside])),
        worths=_worths(plain),
        required=() if mentioned else phrases,
        excluded=tuple(dict.fromkeys(clause for each in reading.excluded if (clause := _joined(words.read(each))))),
        prefixes=tuple(dict.fromkeys(chain.from_iterable(searched[PREFIX]))),
        semantic_text=" ".join(" ".join(each[1] for each in meaning).split()),
        tokens=tuple(tokens),
        words=words,
        languages=QueryLanguages(analyzer.language),
        phrasing=Phrasing(body, limits, interrogative),
        filter=_limits(reading.facets) if reading.facets else Filter(),
    )
    if others:
        from rifflux.retrieve.query.languages import in_other_languages

        texts = [part for sort, part in meaning if sort == PHRASE]
        spelled = [(text, tuple(words[text])) for text in texts]
        prefixes = [part for sort, part in meaning if sort == PREFIX]
        query = in_other_languages(query, others, spelled, reading.excluded, prefixes)
    if filter:
        return within(query, filter)
    return query


def _subject(
    meaning: Sequence[tuple[str, str]], words: Words, language: str, adjacent: Phrases
) -> tuple[str, Sequence[tuple[str, str]]]:
    """Return the question words, and the parts of a query without them."""
    if len(meaning) != 1 or meaning[0][0] != WORDS:
        return "", meaning
    found = framed(meaning[0][1], language)
    if found.after and not found.before and (subject := words[found.subject]):
        closing = words[found.after]
        if closing and adjacent([(subject[-1], closing[0])]):
            return "", meaning
    return " ".join(filter(None, (found.before, found.after.strip()))), [(WORDS, found.subject)]


def collections_in(text: str) -> tuple[str, ...]:
    """Return the collections that a query names as `collection:wiki`."""
    if COLLECTION in text:
        comparable = text.encode("utf-8", "replace").decode()
        return tuple(_read(comparable, {COLLECTION}).facets.get(COLLECTION, ()))
    return ()


def _worths(words: Sequence[str]) -> Mapping[Clause, float]:
    """Return the weight of each word that the query repeats n times: (k3 + 1) n / (k3 + n), as in Okapi BM25.

    Robertson et al., "Okapi at TREC-3", 1994. Repeated letters and numbers carry no additional meaning.
    """
    worths: dict[Clause, float] = {}
    for word, count in Counter(filter(str.isalpha, words)).items():
        if count > 1 and len(word) >= SHORTEST_WORD:
            times = min(count, MOST_REPEATS)
            worths[word,] = (K3 + 1) * times / (K3 + times)
    return worths


def _read(text: str, facets: Collection[str]) -> _Reading:
    if _SYNTAX.isdisjoint(text):
        return _Reading([(WORDS, text)])
    reading = _Reading()
    for piece in _PIECE.finditer(text):
        is_facet = piece["field"] in facets
        (reading.limits if piece["minus"] or piece["without"] or is_facet else reading.searched).append(piece[0])
        if piece["without"] or piece["minus"]:
            reading.excluded.append(piece["without"] or piece["phrase"])
        elif is_facet:
            reading.facets.setdefault(piece["field"], []).append(piece["quoted"] or piece["value"])
        elif piece["phrase"] or piece["prefix"]:
            reading.meaning.append((PHRASE, piece["phrase"]) if piece["phrase"] else (PREFIX, piece["prefix"]))
        elif reading.meaning and reading.meaning[-1][0] == WORDS:
            reading.meaning[-1] = WORDS, reading.meaning[-1][1] + piece[0]
        else:
            reading.meaning.append((WORDS, piece[0]))
    return reading


def within(query: Query, filter: Filter) -> Query:
    """Return a query, parsed without a filter, restricted by one."""
    typed = query.filter
    kinds = (*filter.kinds, *typed.kinds)
    paths = (*filter.paths, *typed.paths)
    return replace(
        query, filter=replace(filter, kinds=kinds, paths=paths, metadata={**filter.metadata, **typed.metadata})
    )


def _limits(facets: dict[str, list[str]]) -> Filter:
    """Return the facets of a query as a filter."""
    metadata = {
        name: [each for value in values for each in _readings(value)]
        for name, values in facets.items()
        if name not in ("kind", "path", COLLECTION)
    }
    return Filter(kinds=tuple(facets.get("kind", ())), paths=tuple(facets.get("path", ())), metadata=metadata)


def _readings(value: str) -> Iterator[str | int | float]:
    """Yield a facet's value as typed, and as the number it may be stored as."""
    yield value
    if _WHOLE.match(value):
        yield int(value)
    elif _DECIMAL.match(value):
        yield float(value)


#: Above this share of identifiers among its meaningful words, a query is for one thing.
IDENTIFIER_SHARE = 0.5
#: Above this share, it is a query about one thing.
MIXED_SHARE = 0.2
#: A word in at most this share or number of chunks is rare enough to be a name.
RARE_SHARE = 0.002
RARE_COUNT = 2
_QUOTED = re.compile(r'"([^"]+)"')
#: A query for Hahn–Banach also finds Hahn Banach.
_DASH = re.compile(r"(?<=[^\W\d_])\s?(?:--?|[‐‑–—−])\s?(?=[^\W\d_])")


def classify(
    query: Query,
    analyzer: Analyzer,
    frequencies: Frequencies,
    documents: int,
    adjacent: Phrases = lambda *_: [],
) -> Understanding:
    """Classify a query; `frequencies` returns how many of the index's `documents` chunks contain each term.

    `adjacent` returns those of some clauses whose terms are adjacent in the index.
    """
    rest = _QUOTED.sub(" ", query.text)
    terms = query.words
    # A single quoted word is mostly meant ironically or as a word; alone, it is the search term.
    quoted = [each for each in _QUOTED.findall(query.text) if len(terms[each]) > 1 or not rest.strip()]
    # Named results are anchors but also count as ordinary words: a theorem may be described without its name.
    results: list[str] = []
    codes: list[str] = []
    finders = [labelled]
    if analyzer.mathematics == "notation":
        results = named_results(rest)
        finders = [numbered_results, labelled]
    for find in finders:
        for written, code in list(find(rest)):
            codes.append(code)
            rest = rest.replace(written, " ")
    codes = list(dict.fromkeys(codes))
    words = []
    searched = {*chain.from_iterable((*query.clauses, *query.required))}
    for written in rest.split():
        word = written.strip(_EDGES)
        if word and not searched.isdisjoint(terms[word]):
            words.append(word)
    # A single word counts as a name, and so does a capitalized word inside the query.
    single = len(words) == 1 and not codes and not quoted
    names = [word for place, word in enumerate(words) if single or (place and word[0].isupper())]
    if names:
        names = _rare(names, terms, frequencies, documents)
    specific = len(codes) + len(quoted) + len(names)
    share = specific / max(1, len(codes) + len(quoted) + len(words))
    if any(each.isdecimal() for each in query.semantic_text) and not query.phrasing.interrogative:
        first = [terms[code][0] for code in codes if terms[code]]
        if not (share == 1 and frequencies(first)) and (spelled := _spelled_code(query, frequencies, adjacent)):
            return spelled
    others = len(words) - len(names)
    reasons = [f"{result!r} is a named result or object" for result in results]
    reasons += [f"{code!r} looks like an identifier" for code in codes]
    reasons += [f"{each!r} is quoted" for each in quoted]
    reasons += [f"{name!r} is rare in this index" for name in names]
    reasons.append(f"{others} other meaningful {'word' if others == 1 else 'words'}")
    return Understanding(
        kind="identifier" if share > IDENTIFIER_SHARE else "mixed" if share > MIXED_SHARE else "conceptual",
        specificity=share,
        identifiers=(*codes, *quoted, *map(partial(_DASH.sub, " "), results)),
        names=tuple(names),
        reasons=tuple(reasons),
    )


def _spelled_code(query: Query, frequencies: Frequencies, adjacent: Phrases) -> Understanding | None:
    """Return the classification of a query that spells a single code of the index differently, or None."""
    from rifflux.retrieve.query.codes import spelled_code

    spelled = spelled_code(query, frequencies, adjacent)
    if spelled is None:
        return None
    code = " ".join(spelled)
    reason = f"{query.semantic_text!r} spells the identifier {code!r}"
    return Understanding(kind="identifier", specificity=1.0, identifiers=(code,), reasons=(reason,))


def _rare(words: Sequence[str], terms: Mapping[str, Clause], frequencies: Frequencies, documents: int) -> list[str]:
    """Return the words that occur in the index but rarely."""
    known = frequencies([*chain.from_iterable(terms[word] for word in words)])
    most = max(RARE_COUNT, RARE_SHARE * documents)
    return [word for word in words if 0 < max(known.get(term, 0) for term in terms[word]) <= most]


def as_typed(query: Query) -> Mapping[str, str]:
    """Return the query's words by term, without words of several terms."""
    return {terms[0]: word for word, terms in query.words.items() if len(terms) == 1}


def in_typed_words(clause: Clause, typed: Mapping[str, str]) -> str:
    """Return a clause in the words as typed."""
    return " ".join(typed.get(term, term) for term in clause)
