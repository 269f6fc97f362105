"""Answer without a chat model by quoting the best blocks of the evidence word for word."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import PurePosixPath

import numpy as np

from rifflux.answer.blocks import (
    CUT,
    DEFINITION,
    GROWN,
    ITEM,
    LIST,
    TABLE,
    AnswerBlock,
    blocks,
    grown,
    with_whole_items,
)
from rifflux.answer.documented import documented_blocks, grown_in_documentation
from rifflux.answer.gather import Evidence, Found
from rifflux.answer.marking import QuestionTokens, headed_row, sentence_spans
from rifflux.answer.support import SourcePassage
from rifflux.errors import ModelError
from rifflux.retrieve.fuse.base import weights_of
from rifflux.retrieve.query.expand import VARIANTS
from rifflux.retrieve.query.reading import Words
from rifflux.retrieve.steps.code import file_place
from rifflux.retrieve.steps.rerank.maxsim import TokenEmbedder, token_weights
from rifflux.text.analyzer import distance
from rifflux.types import Notice, Scores, Span, Vectors

#: The maximum number of blocks compared by meaning, and the characters read of each.
COMPARED = 24
READ_OF_BLOCK = 400
#: How many of the worst-matching tokens of a question are averaged: a low mean shows what a block does not mention.
WORST = 2
#: Tokens below this share of the largest weight need not match anything.
LIGHT = 0.5
#: The weights of a block's score: the cosine of the whole, all tokens, the worst-matching tokens, the question's words,
#: the rank of its passage, and whether it contains a number.
MEANING = 0.7
FIT = 0.45
WORST_FIT = 0.25
COVERAGE = 0.23
PLACE = 0.13
VALUE = 0.05
#: What is taken from code of tests and copies, which shows what something does but seldom says it.
ASIDE = 0.1
#: What is added for the description of the very term that is asked for.
DEFINES = 0.12
ALL_ASKED = 0.9
#: The weight of a word that only the headings above a block contain.
HEADED = 0.6
#: The weight of the words that complete a follow-up question.
OLD = 0.2
#: What is added for a block of the document that the answer before stands in, and the share of its words that does.
BEFORE = 0.15
HELD = 0.7
#: What is taken from a block that was given before.
SAID = 0.1
#: The maximum characters quoted of a block that was given before, and the length from which a sentence is marked.
RUN = 400
MARKED = 200
#: A second block is quoted if its score is within this margin of the best one's. Words of the question that only the
#: second contains add to its score.
MARGIN = 0.08
#: The best blocks among which parts of one list are sought.
PARTS = 5
ADDED = 0.2
#: The maximum number of blocks in an answer, and of their characters together: with what stands around each, and
#: without what stands around the later ones.
MOST = 3
LONGEST = 550
LONGEST_BARE = 900
#: The same for a comparison.
MARGIN_COMPARED = 0.3
MOST_COMPARED = 3
LONGEST_COMPARED = 1_200
#: The least weight of the words that only one side of a comparison stands under, and what is added for two blocks of
#: one passage. The characters of the beginning of an item that are read as what it is about.
SIDE = 0.08
ALIKE = 0.1
LONGEST_HEAD = 60
#: The number of innermost headings quoted above a block.
NAMED = 2
#: The words of a question that asks for a comparison.
_COMPARING = re.compile(
    r"\b(?:vs|versus|differ|differs|different|differences?|compared?|comparison|comparing|distinguish(?:es)?|better|than"
    r"|rather|unterschied\w*|unterscheid\w*|besser|als|différence|différent|mieux|diferencia|mejor|differenza|verschil)\b"
    r"|\w\s+or\s+\w",
    re.IGNORECASE,
)
#: The number of a cited passage, after a sentence.
_MARK = re.compile(r"\s*\[\d+\]")
#: Ends of sentences, which match nothing in a block.
_STOPS = re.compile(r"[?!.…]+(?=\s|\Z)")
#: What ends the beginning of an item.
_HEAD = re.compile(r":\s|\s[-–—=→]\s|[.;]\s")
#: What separates the words of a file name.
_PARTING = re.compile(r"[-_]+")


@dataclass(frozen=True, slots=True)
class Quotation:
    """A block as it is quoted, with its span in the document and the headings above it (`label`).

    `answering` is the span of the answering sentence within the text, or None for a short text.
    """

    passage: SourcePassage
    text: str
    span: Span
    is_whole: bool = False
    label: str = ""
    answering: Span | None = None

    @property
    def labelled(self) -> str:
        """Return the text with its label above it."""
        return f"**{self.label}**\n\n{self.text}" if self.label else self.text


@dataclass
class Candidate:
    """A block that may answer, with the evidence for it.

    `shares` are the weights of the question's words that it contains, and `meaning` is its cosine with the question.
    `fit` is their MaxSim: the weighted mean, over the question's tokens, of the largest cosine with a token of the
    block. `worst` is the mean of the `WORST` lowest of these, and `latest_fit` the fit of a follow-up's own
    words. All are None without token vectors. `is_continuing` is True in the document of the answer before.
    """

    passage: SourcePassage
    block: AnswerBlock
    place: int
    heading_path: str
    shares: Mapping[str, float]
    meaning: float = 0.0
    fit: float | None = None
    worst: float | None = None
    latest_fit: float | None = None
    is_continuing: bool = False
    score: float = 0.0

    @property
    def covered(self) -> float:
        """Return the share of the question that the block contains."""
        return sum(self.shares.values())

    def adds_to(self, other: Candidate) -> float:
        """Return the share of the question that this block contains and the other one does not."""
        return sum(share for term, share in self.shares.items() if term not in other.shares)

    def holds(self, other: Candidate) -> bool:
        """Return True if another block is a part of this one."""
        start, end = self.block.span
        first, last = other.block.span
        return self.passage is other.passage and start <= first and last <= end

    def stands_in(self, passage: SourcePassage, span: Span) -> bool:
        """Return True if the block overlaps a span of the document of a passage."""
        start, end = self.span
        return _of_one_document(self.passage, passage) and start < span[1] and span[0] < end

    def is_aside(self) -> bool:
        """Return True for code of tests and copies if the question does not name them."""
        if not self.passage.is_code:
            return False
        words = file_place(self.passage.item.key).aside
        return bool(words) and self.shares.keys().isdisjoint(self.passage.analyzer.terms(" ".join(words)))

    def defines(self) -> bool:
        """Return True for a term with its description if the term is all that the question asks for."""
        if self.block.kind != DEFINITION or not self.shares:
            return False
        term = set(self.passage.analyzer.terms(self.block.text.partition("\n")[0]))
        asked = sum(share for each, share in self.shares.items() if each in term)
        return asked >= ALL_ASKED and term <= self.shares.keys()

    def head(self) -> Mapping[str, float]:
        """Return the question's words that the block stands under: a term, the beginning of an item, or a heading."""
        first = self.block.text.partition("\n")[0]
        if self.block.kind == ITEM:
            written = _HEAD.split(first, maxsplit=1)[0]
        elif self.block.kind == DEFINITION:
            written = first
        else:
            written = (self.headings or [self.passage.item.title])[-1]
        terms = set(self.passage.analyzer.terms(written[:LONGEST_HEAD]))
        return {term: share for term, share in self.shares.items() if term in terms}

    @property
    def span(self) -> Span:
        """Return the span of the block in its document."""
        return self._span_of(self.block)

    @property
    def headings(self) -> list[str]:
        """Return the headings above the block."""
        return [each for each in self.heading_path.split(" > ") if each]

    def quotation(self, *, bare: bool = False) -> Quotation:
        """Return the block as it is quoted: with its context unless it is `bare`, and headings that add something."""
        passage = self.passage
        text = passage.item.text
        if bare:
            block = self.block
        elif not passage.is_code:
            block = grown(text, self.block, _headings(passage), lead=passage.lead)
        else:
            block = self._in_definition()
        label = " > ".join(self.headings[-NAMED:])
        analyzer = self.passage.analyzer
        if set(analyzer.terms(label)) <= set(analyzer.terms(block.text)):
            label = ""
        return Quotation(self.passage, block.text, self._span_of(block), "\n" in block.text, label)

    def _in_definition(self) -> AnswerBlock:
        """Return a block of code as it is quoted: of a definition with a line or two of documentation, all of it."""
        text = self.passage.item.text
        start, end = next(each for each in _definitions(self.passage) if each[0] <= self.block.span[0] < each[1])
        inside = [each for each in self.passage.documented if start <= each[0] and each[1] <= end]
        if end - start <= GROWN and len([*documented_blocks(text, inside)]) == 1:
            (block,) = blocks(text[start:end], code=True)
            return replace(block, span=(start, end))
        return grown_in_documentation(text, inside, self.block)

    def _span_of(self, block: AnswerBlock) -> Span:
        start = self.passage.item.span[0]
        return (start + block.span[0], start + block.span[1])


@dataclass(frozen=True, slots=True)
class RankedBlocks:
    """The blocks of passages, best first, and what was `missing` when they were ranked.

    `question` holds the token vectors of the question, or None without any.
    """

    blocks: Sequence[Candidate]
    missing: Sequence[Notice] = ()
    question: QuestionTokens | None = None


def ranked(
    evidence: Evidence, passages: Sequence[SourcePassage], follow_up: str = "", given: Sequence[str] = ()
) -> RankedBlocks:
    """Return the blocks of passages, best first.

    In a completed question, the words of the `follow_up` count more than those that complete it, and the document that
    the last of the `given` answers stands in more than others.
    """
    candidates: list[Candidate] = []
    for place, passage in enumerate(passages):
        candidates += _candidates(evidence, passage, place, follow_up)
    before = _source_of(passages, given[-1]) if given else None
    for each in candidates:
        each.is_continuing = before is not None and _of_one_document(each.passage, before)
        was_given = any(each.block.text in text for text in given)
        each.score = COVERAGE * each.covered + PLACE / (1 + each.place)
        each.score += BEFORE * each.is_continuing - SAID * was_given
    candidates.sort(key=lambda each: -each.score)
    candidates = candidates[:COMPARED]
    try:
        question = _by_meaning(evidence, candidates, follow_up)
    except ModelError as error:
        reason = f"blocks were chosen by their words alone: {error}"
        return RankedBlocks(candidates, [Notice.of(error, "sentences.by_words", reason)])
    candidates.sort(key=lambda each: -each.score)
    return RankedBlocks(candidates, question=question)


def compares(question: str) -> bool:
    """Return True if a question asks how things differ or which is better."""
    return bool(_COMPARING.search(question))


def chosen(ranking: RankedBlocks, given: Sequence[str] = (), *, comparing: bool = False) -> list[Quotation]:
    """Return the best block and others of its document that are nearly as good; for a comparison, both sides.

    Of a block that was `given` before, only the answering sentence is quoted, unless it was the whole answer.
    """
    found: list[Quotation] = []
    most = MOST
    longest = LONGEST
    margin = MARGIN
    if comparing:
        most = MOST_COMPARED
        longest = LONGEST_COMPARED
        margin = MARGIN_COMPARED
    blocks = [(each.score, each) for each in ranking.blocks]
    sides = _sides(ranking.blocks) if comparing else ()
    if sides:
        first = [*sides] if ranking.blocks[0] in sides else [ranking.blocks[0], *sides]
        rest = [each for each in ranking.blocks if each not in first]
        blocks = [(blocks[0][0], each) for each in first] + [(each.score, each) for each in rest]
    elif blocks:
        best = _whole(ranking.blocks)
        blocks[0] = (blocks[0][0], best)
        added = [(each.score + ADDED * each.adds_to(best), each) for _, each in blocks[1:]]
        blocks[1:] = sorted(added, key=lambda scored: -scored[0])
    least = -math.inf
    for score, each in blocks:
        if len(found) == most or score < least:
            break
        if found and not comparing and not _of_one_document(each.passage, found[0].passage):
            continue  # What another document says in nearly the same words seldom belongs to the answer.
        quotation = _beside(found, each, given, ranking.question, longest)
        if quotation is None:
            continue
        if not found:
            least = score - margin
        if found and quotation.label == found[-1].label and quotation.passage.item.key == found[-1].passage.item.key:
            quotation = replace(quotation, label="")
        found.append(quotation)
    return found


def _beside(
    found: Sequence[Quotation],
    candidate: Candidate,
    given: Sequence[str],
    question: QuestionTokens | None,
    longest: int,
) -> Quotation | None:
    """Return a block as it is quoted after those `found`; without its context if there is no room for that.

    None if it repeats one of them or is too long.
    """
    quotation = _quoted(candidate, given, question)
    if quotation is None or not found:
        return quotation
    length = sum(len(other.text) for other in found)
    options = [(quotation, longest)]
    if not any(candidate.block.text in text for text in given):
        options.append((candidate.quotation(bare=True), max(longest, LONGEST_BARE)))
    for option, limit in options:
        if length + len(option.text) <= limit and not any(_repeats(option, other) for other in found):
            return option
    return None


def _sides(blocks: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the two best blocks that each stand under words of the question that the other does not stand under.

    What is compared has a block of its own: an item, a term with its description, a section. Nothing if the best block
    is not one of them and far better.
    """
    best: Sequence[Candidate] = ()
    most = 0.0
    heads = [each.head() for each in blocks]
    for (first, above), (second, beside) in combinations(zip(blocks, heads, strict=True), 2):
        apart = min(_more(above, beside), _more(beside, above))
        if apart < SIDE or first.holds(second) or second.holds(first):
            continue
        least = blocks[0].score - MARGIN_COMPARED
        together = first.score + second.score + ALIKE * (first.passage is second.passage)
        if min(first.score, second.score) >= least and together > most:
            best = (first, second)
            most = together
    return best


def _more(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return what the words of one text weigh that the other does not have."""
    return sum(weight for term, weight in one.items() if term not in other)


def _whole(blocks: Sequence[Candidate]) -> Candidate:
    """Return the list or table of which several of the best blocks are parts, or else the best block.

    The items among the best blocks are quoted whole, also in a list that is shortened, or else the best of them alone.
    """
    best = blocks[0]
    for each in blocks:
        if each.block.kind in (LIST, TABLE) and each.score >= best.score - MARGIN and each.holds(best):
            parts = [other for other in blocks[:PARTS] if other is not each and each.holds(other)]
            if len(parts) > 1 or each is best:
                block = with_whole_items(each.block, [part.block.text for part in parts])
                near = [part for part in parts if part.block.kind == ITEM and part.score >= best.score - MARGIN]
                if near and CUT in block.text and near[0].block.text not in block.text:
                    return near[0]
                if each is not best and CUT in block.text and best.block.text.rpartition("\n\n")[2] not in block.text:
                    continue
                return replace(each, block=block)
    return best


def _quoted(candidate: Candidate, given: Sequence[str], question: QuestionTokens | None) -> Quotation | None:
    """Return a block as it is quoted; of one given before, the answering sentence.

    None if that was all of it, or has only words of the question.
    """
    before = [text for text in given if candidate.block.text in text]
    if not before:
        return candidate.quotation()
    whole = candidate.quotation()
    (span,) = _answering([whole.text], question, rows=True)
    longest = min(len(_MARK.sub("", text).strip()) for text in before) - 1
    if span and span not in sentence_spans(whole.text):
        texts = [headed_row(whole.text, span)]
    elif span:
        texts = [_run_around(whole.text, span), whole.text[slice(*span)]]
    else:
        texts = [whole.text]
    text = next((text for text in texts if len(text) <= longest), None)
    if text is None or candidate.shares.keys() >= set(candidate.passage.analyzer.terms(text)):
        return None
    return replace(whole, text=text, label="")


def _run_around(text: str, answering: Span) -> str:
    """Return the answering sentence with those after it, then with those before it, within the limit."""
    spans = sentence_spans(text)
    first = last = spans.index(answering)
    while last + 1 < len(spans) and spans[last + 1][1] - answering[0] <= RUN:
        last += 1
    while first and spans[last][1] - spans[first - 1][0] <= RUN:
        first -= 1
    return text[spans[first][0] : spans[last][1]]


def marked(quotations: Sequence[Quotation], question: QuestionTokens | None) -> list[Quotation]:
    """Return quotations with the answering sentence of each long one marked."""
    long = [each.text for each in quotations if len(each.text) > MARKED]
    spans = dict(zip(long, _answering(long, question), strict=True))
    return [replace(each, answering=spans.get(each.text)) for each in quotations]


def _answering(texts: Sequence[str], question: QuestionTokens | None, *, rows: bool = False) -> Sequence[Span | None]:
    """Return the span of the answering sentence (or row) of each text, or None if no model can find it."""
    if not question or not texts:
        return [None] * len(texts)
    try:
        return question.answering_spans(texts, rows=rows)
    except ModelError:
        return [None] * len(texts)


def numbered(evidence: Evidence, quotations: Sequence[Quotation]) -> tuple[Evidence, list[Quotation]]:
    """Return the evidence with the quoted passages first, in the order of quotation, and the renumbered quotations."""
    items = list(dict.fromkeys(each.passage.item.number for each in quotations))
    by_number = {item.number: item for item in evidence.pack.items}
    order = [by_number.pop(number) for number in items] + list(by_number.values())
    renumbered = {item.number: replace(item, number=place) for place, item in enumerate(order, 1)}
    moved = [
        replace(each, passage=replace(each.passage, item=renumbered[each.passage.item.number])) for each in quotations
    ]
    return replace(evidence, pack=replace(evidence.pack, items=tuple(renumbered.values()))), moved


def _document(passage: SourcePassage) -> tuple[str, str]:
    return (passage.item.namespace, passage.item.key)


def _of_one_document(one: SourcePassage, other: SourcePassage) -> bool:
    return _document(one) == _document(other)


def _repeats(one: Quotation, other: Quotation) -> bool:
    """Return True if two quotations overlap."""
    if one.passage.item.key != other.passage.item.key:
        return one.text == other.text
    left = one.span
    right = other.span
    return (left[0] < right[1] and right[0] < left[1]) or one.text in other.text


def _source_of(passages: Sequence[SourcePassage], answer: str) -> SourcePassage | None:
    """Return a passage of the document that holds most words of an answer, or None if none holds nearly all."""
    terms: dict[tuple[str, str], set[str]] = {}
    for each in passages:
        terms.setdefault(_document(each), set()).update(each.terms)
    text = _MARK.sub("", answer)
    best: SourcePassage | None = None
    most = HELD
    for each in {_document(passage): passage for passage in passages}.values():
        said = frozenset(each.analyzer.terms(text))
        held = len(said & terms[_document(each)]) / max(len(said), 1)
        if held > most:
            best = each
            most = held
    return best


def _candidates(evidence: Evidence, passage: SourcePassage, place: int, follow_up: str) -> list[Candidate]:
    """Return the blocks of a passage with the share of the question that each contains."""
    found = evidence.found_of(passage.item)
    weights = _weights(found, frozenset(passage.analyzer.terms(follow_up)))
    above: dict[str, frozenset[str]] = {}
    candidates: list[Candidate] = []
    for block in _blocks_of(passage):
        terms = frozenset(passage.analyzer.terms(block.text))
        path = passage.heading_path_at(block.span[0])
        if path not in above:
            above[path] = frozenset(passage.analyzer.terms(" ".join(_above(passage, path))))
        if terms:
            shares = {term: weight for term, weight in weights.items() if term in terms}
            shares |= {term: HEADED * weight for term, weight in weights.items() if term in above[path] - terms}
            candidates.append(Candidate(passage, block, place, path, shares))
    return candidates


def _weights(found: Found, new: frozenset[str], old: float = OLD) -> dict[str, float]:
    """Return the share of each term in the weight of a question; if some are `new`, the others count only `old`.

    A variant, such as another spelling of a word that occurs nowhere, has the weight of that word.
    """
    single: dict[str, float] = {}
    for clause, weight in weights_of(found.plan).items():
        for term in clause:
            worth = old * weight if new and term not in new else weight
            single[term] = max(single.get(term, 0.0), worth)
    total = sum(single.values())
    if not total:
        return {}
    for variant in found.plan.variants:
        if len(variant.clause) == len(variant.beside) == 1:
            single.setdefault(variant.clause[0], single.get(variant.beside[0], 0.0))
    return {term: weight / total for term, weight in single.items()}


def _mended(found: Found, embedder: TokenEmbedder) -> str:
    """Return a question without final punctuation, with misspelt words as the index spells them.

    A word that is one token of the embedder is not misspelt, even if it occurs nowhere.
    """
    text = _STOPS.sub("", found.query.semantic_text)
    misspelt = {each.word for each in found.plan.variants if not each.spelling and each.clause[0].isalpha()}
    misspelt = {word for word in misspelt if embedder.count_tokens(word) > 1}
    for notice in found.trace.notes:
        if notice.code == VARIANTS:
            for word in misspelt.intersection(notice.data["words"]):
                most = len(word)
                spelling = min(notice.data["variants"], key=lambda each: distance(word, each.casefold(), most))
                text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", spelling, text, count=1)
    return text


def _by_meaning(evidence: Evidence, candidates: Sequence[Candidate], follow_up: str) -> QuestionTokens | None:
    """Add the similarity of each block to its score and return the question's tokens. Raises `ModelError`."""
    found = evidence.found[0]
    if not candidates or not found.searcher.view.store.totals().embedded or not found.query.semantic_text:
        return None
    embedder = found.searcher.view.embedder
    texts = [headed(each) for each in candidates]
    tokens: QuestionTokens | None = None
    if isinstance(embedder, TokenEmbedder):
        text = _mended(found, embedder)
        question, *blocks = embedder.token_vectors([text, *texts])
        weights = _token_weights(found, embedder, text, len(question), follow_up)
        if len(question):
            latest = weights
            tokens = QuestionTokens(question, weights, embedder)
            if found.searcher.analyzer.terms(follow_up):
                latest = _token_weights(found, embedder, text, len(question), follow_up, 0.0)
                tokens = QuestionTokens(question, latest, embedder)
            elif follow_up:
                own = np.zeros(len(question))
                own[: embedder.count_tokens(_STOPS.sub("", follow_up))] = 1.0
                tokens = QuestionTokens(question, own, embedder, before=weights)
            whole = weights @ question if follow_up else question.mean(axis=0)
            _add_fits(candidates, question, weights, latest, blocks, _unit(whole))
    else:
        question = embedder.question_vector(found.query.semantic_text)
        cosines = np.maximum(embedder.hurried.passage_vectors(texts) @ question, 0.0)
        for each, cosine in zip(candidates, cosines.tolist(), strict=True):
            each.meaning = cosine
    for each in candidates:
        each.score += MEANING * each.meaning + FIT * (each.fit or 0.0) + WORST_FIT * (each.worst or 0.0)
        each.score += VALUE * any(character.isdigit() for character in each.block.text)
        each.score -= ASIDE * each.is_aside()
        each.score += DEFINES * each.defines()
    return tokens


def _token_weights(
    found: Found, embedder: TokenEmbedder, text: str, tokens: int, follow_up: str, old: float = OLD
) -> Scores:
    """Return the weight of each token of the question: the root of its word's share, and 0 for a stop word."""
    analyzer = found.searcher.analyzer
    shares = _weights(found, frozenset(analyzer.terms(follow_up)), old)
    words = Words(analyzer)
    words.read(text)
    return np.sqrt(token_weights(embedder, text, words, shares, tokens))


def _add_fits(
    candidates: Sequence[Candidate],
    question: Vectors,
    weights: Scores,
    latest: Scores,
    blocks: Sequence[Vectors],
    whole: Vectors,
) -> None:
    """Set the similarity of each block to the question: as a whole, by tokens, and by the worst-matching tokens."""
    limit = LIGHT * weights.max()
    read = [(each, block) for each, block in zip(candidates, blocks, strict=True) if len(block)]
    if not read:
        return
    # One product of all blocks is faster than many small ones, which each wait for the threads of the BLAS.
    tokens = np.concatenate([block for _, block in read])
    starts = np.cumsum([0, *(len(block) for _, block in read[:-1])])
    nearest_of = np.maximum.reduceat(question @ tokens.T, starts, axis=1).T
    sums = np.add.reduceat(tokens, starts, axis=0)
    meanings = sums @ whole / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)
    for (each, _), nearest, meaning in zip(read, nearest_of, meanings.tolist(), strict=True):
        each.meaning = max(0.0, meaning)
        each.fit = float(weights @ nearest / weights.sum())
        each.latest_fit = float(latest @ nearest / max(latest.sum(), 1e-9))
        each.worst = float(np.sort(nearest[weights >= limit])[:WORST].mean())


def _unit(vector: Vectors) -> Vectors:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def headed(candidate: Candidate) -> str:
    """Return a block below its headings, as it is embedded."""
    return "\n".join((*_above(candidate.passage, candidate.heading_path), candidate.block.text[:READ_OF_BLOCK]))


def _blocks_of(passage: SourcePassage) -> Iterator[AnswerBlock]:
    """Yield the blocks of a passage; of code, each definition, and the blocks of the documentation inside."""
    text = passage.item.text
    if not passage.is_code:
        yield from blocks(text, _headings(passage), lead=passage.lead)
        return
    for start, end in _definitions(passage):
        for block in blocks(text[start:end], code=True):
            yield replace(block, span=(start, end))
    yield from documented_blocks(text, passage.documented)


def _definitions(passage: SourcePassage) -> Iterator[Span]:
    """Yield the place of each definition in a passage of code."""
    starts = [0]
    for (_, before), (start, path) in pairwise(passage.sections):
        if path != before:
            starts.append(start)
    yield from pairwise((*starts, len(passage.item.text)))


def _headings(passage: SourcePassage) -> set[str]:
    """Return the headings in a passage and above it."""
    paths = [passage.item.heading_path, *(path for _, path in passage.sections)]
    return {heading for path in paths for heading in path.split(" > ")}


def _above(passage: SourcePassage, heading_path: str) -> list[str]:
    """Return the context of a block: its folder, its file unless the title names it, the title and the headings.

    A note in a folder `boat` need not mention the boat.
    """
    item = passage.item
    path = PurePosixPath(item.key)
    folder = _PARTING.sub(" ", path.parent.name)
    name = "" if path.stem.casefold() in item.title.casefold() else _PARTING.sub(" ", path.stem)
    return [part for part in (folder, name, item.title, heading_path) if part]
