"""Answer without a model: the blocks of the evidence that answer best, quoted word for word."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath

import numpy as np

from rifflux.answer.blocks import AnswerBlock, blocks, grown
from rifflux.answer.gather import Evidence, Found
from rifflux.answer.marking import QuestionTokens, sentence_spans
from rifflux.answer.support import SourcePassage
from rifflux.errors import ModelError
from rifflux.retrieve.fuse.base import weights_of
from rifflux.retrieve.query.expand import VARIANTS
from rifflux.retrieve.query.reading import Words
from rifflux.retrieve.steps.rerank.maxsim import TokenEmbedder, token_weights
from rifflux.types import Notice, Scores, Span, Vectors

#: Blocks that are compared by meaning, and the characters of one that are read for that.
COMPARED = 24
READ_OF_BLOCK = 400
#: The tokens of a question that fit worst into a block, whose mean says what it does not speak of.
WORST = 2
#: A token that counts less than this share of the one that counts most may fit into nothing.
LIGHT = 0.5
#: How a block is scored: its meaning as a whole, by tokens and by those that fit worst, the question's words in it, its
#: passage's place, and whether it states a number.
MEANING = 0.7
FIT = 0.45
WORST_FIT = 0.25
COVERAGE = 0.23
PLACE = 0.13
VALUE = 0.05
#: What a heading says is said of what stands under it; by so much less.
HEADED = 0.6
#: What the words count that complete a follow-up.
OLD = 0.2
#: Characters of what is quoted of a block that was quoted before, and beyond which what answers is marked.
RUN = 400
MARKED = 200
#: A second block is quoted if its score is by no more than this behind the best one's. Words of the question that it
#: holds and the best one lacks count once more.
MARGIN = 0.1
ADDED = 0.2
#: Blocks of an answer, and its characters beyond which no further block follows.
MOST = 2
LONGEST = 700
#: The same of an answer that compares.
MARGIN_COMPARED = 0.3
MOST_COMPARED = 3
LONGEST_COMPARED = 1_200
#: How many of the headings that a block stands under are quoted with it.
NAMED = 2
#: What a question compares with.
_COMPARING = re.compile(
    r"\b(?:vs|versus|differ|differs|different|differences?|compared?|comparison|comparing|distinguish(?:es)?|better|than"
    r"|rather|unterschied\w*|unterscheid\w*|besser|als|différence|différent|mieux|diferencia|mejor|differenza|verschil)\b"
    r"|\w\s+or\s+\w",
    re.IGNORECASE,
)
#: The number of a passage, behind a sentence that cites it.
_MARK = re.compile(r"\s*\[\d+\]")
#: Ends of sentences, which fit into no block.
_STOPS = re.compile(r"[?!.…]+(?=\s|\Z)")
#: What parts the words of a file's name.
_PARTING = re.compile(r"[-_]+")


@dataclass(frozen=True, slots=True)
class Quotation:
    """A block of a passage as it is quoted; `span` is its place in the document, `label` the headings it is under.

    `answering` is the place in the text of the sentence that answers, None for a short text.
    """

    passage: SourcePassage
    text: str
    span: Span
    is_whole: bool = False
    label: str = ""
    answering: Span | None = None

    @property
    def labelled(self) -> str:
        """Return the text below its label."""
        return f"**{self.label}**\n\n{self.text}" if self.label else self.text


@dataclass
class Candidate:
    """A block that may answer, with what speaks for it.

    `shares` are those of the question's words that it holds, `meaning` is its cosine with the question. `fit` is their
    MaxSim: the mean, over the question's tokens by their weight, of the greatest cosine with a token of the block;
    `worst` that of the `WORST` tokens that fit worst. Without vectors of tokens there are none.
    """

    passage: SourcePassage
    block: AnswerBlock
    place: int
    heading_path: str
    shares: Mapping[str, float]
    meaning: float = 0.0
    fit: float | None = None
    worst: float | None = None
    score: float = 0.0

    @property
    def covered(self) -> float:
        """Return the share of the question that the block holds."""
        return sum(self.shares.values())

    def adds_to(self, other: Candidate) -> float:
        """Return the share of the question that the block holds and another one does not."""
        return sum(share for term, share in self.shares.items() if term not in other.shares)

    @property
    def span(self) -> Span:
        """Return the place of the block in its document."""
        return self._span_of(self.block)

    @property
    def headings(self) -> list[str]:
        """Return the headings that the block stands under."""
        return [each for each in self.heading_path.split(" > ") if each]

    def quotation(self) -> Quotation:
        """Return the block as it is quoted: with what belongs to it, below the headings that say something more."""
        block = self.block
        if not self.passage.is_code:
            block = grown(self.passage.item.text, block, _headings(self.passage), lead=self.passage.lead)
        label = " > ".join(self.headings[-NAMED:])
        analyzer = self.passage.analyzer
        if set(analyzer.terms(label)) <= set(analyzer.terms(block.text)):
            label = ""
        return Quotation(self.passage, block.text, self._span_of(block), "\n" in block.text, label)

    def _span_of(self, block: AnswerBlock) -> Span:
        start = self.passage.item.span[0]
        return (start + block.span[0], start + block.span[1])


@dataclass(frozen=True, slots=True)
class RankedBlocks:
    """The blocks of passages, those that answer best first, and what was `missing` to order them.

    `question` has its tokens, None where there are no vectors of tokens.
    """

    blocks: Sequence[Candidate]
    missing: Sequence[Notice] = ()
    question: QuestionTokens | None = None


def ranked(evidence: Evidence, passages: Sequence[SourcePassage], follow_up: str = "") -> RankedBlocks:
    """Return the blocks of passages in their order.

    Of a question that was completed, the words of the `follow_up` count more than those that complete it.
    """
    candidates: list[Candidate] = []
    for place, passage in enumerate(passages):
        candidates += _candidates(evidence, passage, place, follow_up)
    for each in candidates:
        each.score = COVERAGE * each.covered + PLACE / (1 + each.place)
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
    """Return True if a question asks how things differ, or which is better."""
    return bool(_COMPARING.search(question))


def chosen(
    ranking: RankedBlocks, most: int = MOST, given: Sequence[str] = (), *, comparing: bool = False
) -> list[Quotation]:
    """Return the best block, and others that are nearly as good and say something else; for a comparison, both sides.

    Of a block that was `given` before, only the sentence that answers is quoted, if that is not all that was given.
    """
    found: list[Quotation] = []
    longest = LONGEST
    margin = MARGIN
    if comparing and most > 1:
        most = MOST_COMPARED
        longest = LONGEST_COMPARED
        margin = MARGIN_COMPARED
    blocks = [(each.score, each) for each in ranking.blocks]
    if blocks:
        best = blocks[0][1]
        added = [(each.score + ADDED * each.adds_to(best), each) for _, each in blocks[1:]]
        blocks[1:] = sorted(added, key=lambda scored: -scored[0])
    least = -math.inf
    for score, each in blocks:
        if len(found) == most or score < least:
            break
        quotation = _quoted(each, given, ranking.question)
        if quotation is None:
            continue
        length = sum(len(other.text) for other in found)
        if found and (length + len(quotation.text) > longest or any(_repeats(quotation, other) for other in found)):
            continue
        if not found:
            least = score - margin
        if found and quotation.label == found[-1].label and quotation.passage.item.key == found[-1].passage.item.key:
            quotation = replace(quotation, label="")
        found.append(quotation)
    return found


def _quoted(candidate: Candidate, given: Sequence[str], question: QuestionTokens | None) -> Quotation | None:
    """Return a block as it is quoted; of one that was given before what answers, None if nothing else was given."""
    before = [text for text in given if candidate.block.text in text]
    if not before:
        return candidate.quotation()
    whole = candidate.quotation()
    (span,) = _answering([whole.text], question)
    longest = min(len(_MARK.sub("", text).strip()) for text in before) - 1
    texts = [_run_around(whole.text, span), whole.text[slice(*span)]] if span else [whole.text]
    text = next((text for text in texts if len(text) <= longest), None)
    if text is None:
        return None
    return replace(whole, text=text, label="")


def _run_around(text: str, answering: Span) -> str:
    """Return the sentence that answers with those behind it, then with those before it, as far as that is short."""
    spans = sentence_spans(text)
    first = last = spans.index(answering)
    while last + 1 < len(spans) and spans[last + 1][1] - answering[0] <= RUN:
        last += 1
    while first and spans[last][1] - spans[first - 1][0] <= RUN:
        first -= 1
    return text[spans[first][0] : spans[last][1]]


def marked(quotations: Sequence[Quotation], question: QuestionTokens | None) -> list[Quotation]:
    """Return quotations, in each long one the sentence that answers marked."""
    long = [each.text for each in quotations if len(each.text) > MARKED]
    spans = dict(zip(long, _answering(long, question), strict=True))
    return [replace(each, answering=spans.get(each.text)) for each in quotations]


def _answering(texts: Sequence[str], question: QuestionTokens | None) -> Sequence[Span | None]:
    """Return the place of the sentence of each text that answers; None where no model can tell."""
    if not question or not texts:
        return [None] * len(texts)
    try:
        return question.answering_spans(texts)
    except ModelError:
        return [None] * len(texts)


def numbered(evidence: Evidence, quotations: Sequence[Quotation]) -> tuple[Evidence, list[Quotation]]:
    """Return evidence whose first passages are those that are quoted, in that order, and the quotations of these."""
    items = list(dict.fromkeys(each.passage.item.number for each in quotations))
    by_number = {item.number: item for item in evidence.pack.items}
    order = [by_number.pop(number) for number in items] + list(by_number.values())
    renumbered = {item.number: replace(item, number=place) for place, item in enumerate(order, 1)}
    moved = [
        replace(each, passage=replace(each.passage, item=renumbered[each.passage.item.number])) for each in quotations
    ]
    return replace(evidence, pack=replace(evidence.pack, items=tuple(renumbered.values()))), moved


def _repeats(one: Quotation, other: Quotation) -> bool:
    """Return True if two quotations overlap."""
    if one.passage.item.key != other.passage.item.key:
        return one.text == other.text
    left = one.span
    right = other.span
    return (left[0] < right[1] and right[0] < left[1]) or one.text in other.text


def _candidates(evidence: Evidence, passage: SourcePassage, place: int, follow_up: str) -> list[Candidate]:
    """Return the blocks of a passage with the share of the question that each holds."""
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
    """Return the share of each term in all that a question says; where some are `new`, the others count `old` of it.

    What stands for a word, such as another spelling of one that occurs nowhere, counts what the word does.
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


def _mended(found: Found) -> str:
    """Return a question without its last stops, with words that occur nowhere as the texts spell them."""
    text = _STOPS.sub("", found.query.semantic_text)
    misspelt = {each.word for each in found.plan.variants if not each.spelling and each.clause[0].isalpha()}
    for notice in found.trace.notes:
        if notice.code == VARIANTS:
            for word, spelling in zip(notice.data["words"], notice.data["variants"], strict=False):
                if word in misspelt:
                    misspelt.remove(word)
                    text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", spelling, text, count=1)
    return text


def _by_meaning(evidence: Evidence, candidates: Sequence[Candidate], follow_up: str) -> QuestionTokens | None:
    """Add to each score how near a block is to the question, and return the tokens of that. Raises `ModelError`."""
    found = evidence.found[0]
    if not candidates or not found.searcher.store.counts()["embedded_chunks"] or not found.query.semantic_text:
        return None
    embedder = found.searcher.view.embedder
    texts = [headed(each) for each in candidates]
    tokens: QuestionTokens | None = None
    if isinstance(embedder, TokenEmbedder):
        text = _mended(found)
        question, *blocks = embedder.token_vectors([text, *texts])
        weights = _token_weights(found, embedder, text, len(question), follow_up)
        if len(question):
            tokens = QuestionTokens(question, weights, embedder)
            if found.searcher.analyzer.terms(follow_up):
                latest = _token_weights(found, embedder, text, len(question), follow_up, 0.0)
                tokens = QuestionTokens(question, latest, embedder)
            elif follow_up:
                latest = np.zeros(len(question))
                latest[: embedder.count_tokens(_STOPS.sub("", follow_up))] = 1.0
                tokens = QuestionTokens(question, latest, embedder, before=weights)
            whole = weights @ question if follow_up else question.mean(axis=0)
            _add_fits(candidates, question, weights, blocks, _unit(whole))
    else:
        question = embedder.question_vector(found.query.semantic_text)
        cosines = np.maximum(embedder.hurried.passage_vectors(texts) @ question, 0.0)
        for each, cosine in zip(candidates, cosines.tolist(), strict=True):
            each.meaning = cosine
    for each in candidates:
        each.score += MEANING * each.meaning + FIT * (each.fit or 0.0) + WORST_FIT * (each.worst or 0.0)
        each.score += VALUE * any(character.isdigit() for character in each.block.text)
    return tokens


def _token_weights(
    found: Found, embedder: TokenEmbedder, text: str, tokens: int, follow_up: str, old: float = OLD
) -> Scores:
    """Return what each token of the question counts: the root of the share of its word, nothing for a stop word."""
    analyzer = found.searcher.analyzer
    shares = _weights(found, frozenset(analyzer.terms(follow_up)), old)
    words = Words(analyzer)
    words.read(text)
    return np.sqrt(token_weights(embedder, text, words, shares, tokens))


def _add_fits(
    candidates: Sequence[Candidate], question: Vectors, weights: Scores, blocks: Sequence[Vectors], whole: Vectors
) -> None:
    """Add to each block how near it is to the question: as a whole, by tokens, and by the tokens that fit worst."""
    limit = LIGHT * weights.max()
    read = [(each, block) for each, block in zip(candidates, blocks, strict=True) if len(block)]
    if not read:
        return
    # One product of all blocks: many small ones wait for the threads of the library that multiplies.
    tokens = np.concatenate([block for _, block in read])
    starts = np.cumsum([0, *(len(block) for _, block in read[:-1])])
    nearest_of = np.maximum.reduceat(question @ tokens.T, starts, axis=1).T
    sums = np.add.reduceat(tokens, starts, axis=0)
    meanings = sums @ whole / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)
    for (each, _), nearest, meaning in zip(read, nearest_of, meanings.tolist(), strict=True):
        each.meaning = max(0.0, meaning)
        each.fit = float(weights @ nearest / weights.sum())
        each.worst = float(np.sort(nearest[weights >= limit])[:WORST].mean())


def _unit(vector: Vectors) -> Vectors:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def headed(candidate: Candidate) -> str:
    """Return a block below what it stands under, as it is embedded."""
    return "\n".join((*_above(candidate.passage, candidate.heading_path), candidate.block.text[:READ_OF_BLOCK]))


def _blocks_of(passage: SourcePassage) -> Iterator[AnswerBlock]:
    """Give the blocks of a passage; of code that reaches over several definitions, each definition."""
    text = passage.item.text
    if not passage.is_code:
        yield from blocks(text, _headings(passage), lead=passage.lead)
        return
    starts = [0]
    for (_, before), (start, path) in pairwise(passage.sections):
        if path != before:
            starts.append(start)
    for start, end in pairwise((*starts, len(text))):
        for block in blocks(text[start:end], code=True):
            yield replace(block, span=(start, end))


def _headings(passage: SourcePassage) -> set[str]:
    """Return the headings that stand in a passage or above it."""
    paths = [passage.item.heading_path, *(path for _, path in passage.sections)]
    return {heading for path in paths for heading in path.split(" > ")}


def _above(passage: SourcePassage, heading_path: str) -> list[str]:
    """Return what a block stands under: its folder, its file if the title has another name, title and headings.

    A note about a boat need not name it where it lies in a folder that does.
    """
    item = passage.item
    path = PurePosixPath(item.key)
    folder = _PARTING.sub(" ", path.parent.name)
    name = "" if path.stem.casefold() in item.title.casefold() else _PARTING.sub(" ", path.stem)
    return [part for part in (folder, name, item.title, heading_path) if part]
