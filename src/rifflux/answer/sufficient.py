"""Whether evidence is enough to answer from, told before any model is asked: else an answer is refused.

The relevance of a passage says how likely a question is to have an answer where such a passage is found. It cannot say
that the passage is the answer: what is only near has most of its words and its meaning. So three things are asked:

    relevance   a passage must be of high relevance, or of medium where words and meaning agree on the document:
                two searches that err in different ways. `bench/quality/answers.py` prints the curve
    statement   a sentence of such a passage, with the headings it stands under, must hold enough of what was asked: an
                answer is made of sentences
    subject     a question that only names a thing is answered by what is about it. Where headings name things, that is
                a document of that title, or a passage under a heading of that name that is relevant enough, since what
                many passages mention is explained by none of them; or else the only one that says it all under a
                heading of its subject. `Potion of X` is no heading of the name `X`, `All about X` is: what it says
                besides must be common

A question that is all of something named to the letter, such as a section's number, is answered wherever that stands.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from rifflux.answer.gather import Evidence, Found
from rifflux.retrieve.fuse.base import weights_of
from rifflux.retrieve.table import HIGH, MEDIUM
from rifflux.text.analyzer import Analyzer, idf
from rifflux.text.question_words import asks_how
from rifflux.text.sentences import pieces
from rifflux.types import Clause, Hit

#: The passages of a source that are looked at.
LOOKED_AT = 10
#: The share of a question that one sentence must hold, and the number of its terms that is enough of a long one.
STATED = 0.35
TERMS = 4.0
#: The share that it must hold where the relevance is medium, and one search alone cannot be agreed with.
HALF = 0.5
#: The share of a question that names something to the letter, for that to be all that is asked.
LETTER = 0.5
#: Passages of an index that is too small to tell how rare a term is.
SMALL = 100
#: A question of at most so many terms may be a name.
LONGEST_NAME = 6
#: Headings name things where half of them have at most so many terms.
SHORT_HEADING = 5
#: How much a heading and a name have in common that mean the same, and how relevant what is meant by name must be.
SAME = 0.65
NAMED_RELEVANCE = 0.5
#: The share of a question that the headings of its subject hold.
SUBJECT = 0.5
#: Kinds whose titles are names of files, and tell nothing of what is in them.
_UNTITLED = frozenset({"text", "code", "table", "pdf", "mail", "message", "memory"})
#: `What does X do` asks something of X; `can you explain X` does not.
_ACTING = re.compile(r"\b(?:do|does|did|can|could|should|would|will|has|have|had|may|must|might)\b", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you|i|me|we|us)\b", re.IGNORECASE)

#: A link, by its label; in a wiki by its page.
_POINTER = re.compile(r"\[\[([^\[\]|]+)[^\[\]]*\]\]|\[([^\[\]]+)\](?:\([^()]*\)|\[[^\[\]]*\])")
#: What parts the words of a file's name.
_PARTING = re.compile(r"[-_]+")

_NOTHING = "nothing was found: index something that answers it, or ask in other words"
_WEAK = "nothing that was found is near enough to answer it: these passages are the nearest"


def refusal(evidence: Evidence, follow_up: str = "") -> str:
    """Return why a question is refused; empty if the evidence of some source is enough.

    Of a question that was completed, the `follow_up` is what was asked.
    """
    if not evidence.pack.items:
        return _NOTHING
    enough = any(_is_enough(found) or (bool(follow_up) and _follows(found, follow_up)) for found in evidence.found)
    if enough:
        return ""
    return _WEAK


def _follows(found: Found, question: str) -> bool:
    """Return True if a passage holds all that a follow-up asks: what completes it needs not stand there, too."""
    query = found.searcher.parse(question).query
    asked = frozenset(query.terms)
    near = (hit for hit in found.hits[:LOOKED_AT] if not hit.withheld and (hit.relevance or 0.0) >= NAMED_RELEVANCE)
    for hit in near:
        analyzer = found.searcher.analyzer.beside(query.languages.stands_for, hit.language)
        if asked <= {*analyzer.terms(f"{hit.title} {hit.heading_path} {hit.text}")}:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage as it is compared with a question: the shares of it that are held, each from 0 to 1.

    `headed` is that of its title and headings, `named` how much the best of them has in common with the question, and
    `stated` that of its best sentence with them; `is_titled` says that the question is all of its title, or of the name
    of its file.
    """

    document: tuple[str, str]
    relevance: float
    headed: float
    named: float
    stated: float
    heading_terms: int | None
    is_titled: bool


def _is_enough(found: Found) -> bool:
    """Return True if what was found in a source answers."""
    hits = [hit for hit in found.hits[:LOOKED_AT] if not hit.withheld]
    if not hits:
        return False
    best = max(hit.relevance or 0.0 for hit in hits)
    weights = _weights(found)
    if best < NAMED_RELEVANCE or not weights:
        return best >= HIGH and not weights
    if found.query.specificity > LETTER and _held_to_the_letter(found, hits):
        return best >= MEDIUM
    is_name = _is_name(found, weights)
    worths = _worths(found, hits) if is_name else {}
    passages = [_compared(hit, weights, worths, _analyzer(found, hit)) for hit in hits]
    if found.agreed is None:
        agreed = any(each.stated >= HALF for each in passages)
    else:
        agreed = found.agreed
    least = MEDIUM if agreed else HIGH
    if is_name and _names_things(passages):
        return _is_about(passages, least)
    enough = min(STATED, TERMS / len(weights))
    return any(each.relevance >= least and each.stated >= enough for each in passages)


def _weights(found: Found) -> Mapping[Clause, float]:
    """Return what each clause of the question counts; in a small index all alike, for there few terms are rare."""
    weights = weights_of(found.searcher.store, found.plan)
    if _is_small(found):
        return dict.fromkeys(weights, 1.0)
    return weights


def _is_small(found: Found) -> bool:
    statistics = found.plan.execution.statistics
    return statistics is not None and statistics.chunks < SMALL


def _worths(found: Found, hits: Sequence[Hit]) -> Mapping[str, float]:
    """Return what each term of the headings of passages counts, as those of a question do."""
    terms = sorted({term for hit in hits for term in _analyzer(found, hit).terms(f"{hit.title} {hit.heading_path}")})
    statistics_of_terms = found.plan.execution.statistics
    if _is_small(found) or not statistics_of_terms:
        return dict.fromkeys(terms, 1.0)
    frequencies = found.searcher.store.lexical.document_frequencies(terms)
    return {term: idf(statistics_of_terms.chunks, frequencies.get(term, 0)) for term in terms}


def _is_about(passages: Sequence[_Passage], least: float) -> bool:
    """Return True if a passage stands under a heading of that name, or is the only one that says all of it.

    A document of that title is meant, and so is the only one with a section of that name. What several have a section
    on, or a heading names among other things, must be of the `least` relevance.
    """
    own = {passage.document for passage in passages if passage.named == 1}
    for passage in passages:
        is_meant = passage.is_titled or (passage.named == 1 and len(own) == 1)
        is_headed = passage.headed == 1 and passage.named >= SAME
        if passage.relevance >= (NAMED_RELEVANCE if is_meant else least) and (is_headed or passage.is_titled):
            return True
    saying = [passage for passage in passages if passage.stated == 1]
    return len(saying) == 1 and saying[0].headed >= SUBJECT and saying[0].relevance >= HIGH


def _is_name(found: Found, weights: Mapping[Clause, float]) -> bool:
    """Return True if a question may only name a thing: it is short, and asks neither how nor what something does."""
    query = found.query
    acts = _ACTING.search(query.phrasing.interrogative) and not _YOU.search(query.phrasing.interrogative)
    how = asks_how(query.semantic_text, query.languages.query)
    return len(weights) <= LONGEST_NAME and not acts and not how and not found.source.view.is_part


def _names_things(passages: Sequence[_Passage]) -> bool:
    """Return True if the headings that passages stand under are names, and no sentences."""
    lengths = [SHORT_HEADING + 1 if each.heading_terms is None else each.heading_terms for each in passages]
    return statistics.median(lengths) <= SHORT_HEADING


def _held_to_the_letter(found: Found, hits: Sequence[Hit]) -> bool:
    """Return True if a passage holds all that a question names to the letter."""
    anchors = found.query.anchors
    if not anchors:
        return False
    wholes = ((hit, f"{hit.title} {hit.heading_path} {hit.text}") for hit in hits)
    texts = (f" {_analyzer(found, hit).joined(whole)} " for hit, whole in wholes)
    return any(all(f" {' '.join(anchor)} " in text for anchor in anchors) for text in texts)


def _analyzer(found: Found, hit: Hit) -> Analyzer:
    """Return the analyzer of a passage that gives the terms of the question."""
    return found.searcher.analyzer.beside(found.query.languages.stands_for, hit.language)


def _compared(hit: Hit, weights: Mapping[Clause, float], worths: Mapping[str, float], analyzer: Analyzer) -> _Passage:
    """Compare a passage with the clauses of a question by their weights, and its headings by what their terms count."""
    # A title that is the name of a file is no heading.
    if hit.kind in _UNTITLED:
        title = ""
    else:
        title = hit.title
    headings = [analyzer.joined(part) for part in (title, *hit.heading_path.split(" > ")) if part]
    above = "".join(f" {heading} \n" for heading in headings)
    asked = {term for clause in weights for term in clause}
    common = [set(heading.split()) for heading in headings if heading]
    ends = [len(set(heading.split())) for heading in (*headings[:1], *headings[-1:]) if heading]
    sentences = (_unpointed(hit.text[slice(*piece.span)], asked, analyzer) for piece in pieces(hit.text))
    stated = [_share(weights, f"{above} {analyzer.joined(sentence)} ") for sentence in sentences]
    return _Passage(
        hit.place,
        hit.relevance or 0.0,
        _share(weights, above),
        max((_likeness(asked, terms, worths) for terms in common), default=0.0),
        max(stated, default=0.0),
        min(ends, default=None),
        asked in ({*analyzer.terms(title)}, {*analyzer.terms(_PARTING.sub(" ", PurePosixPath(hit.key).stem))}),
    )


def _likeness(one: set[str], other: set[str], worths: Mapping[str, float]) -> float:
    """Return what two names have in common, as a share of all that they say."""
    if not worths:
        return 0.0
    usual = statistics.mean(worths.values())
    common, both = (sum(worths.get(term, usual) for term in terms) for terms in (one & other, one | other))
    if both:
        return common / both
    return 0.0


def _unpointed(sentence: str, asked: set[str], analyzer: Analyzer) -> str:
    """Return a sentence without links to what is asked: that stands elsewhere."""
    return _POINTER.sub(lambda link: " " if asked <= {*analyzer.terms(link[1] or link[2])} else link[0], sentence)


def _share(weights: Mapping[Clause, float], text: str) -> float:
    """Return the share of clauses that a text of terms holds, by weight."""
    held = [weight for clause, weight in weights.items() if f" {' '.join(clause)} " in text]
    if len(held) == len(weights):
        return 1.0
    return sum(held) / sum(weights.values())
