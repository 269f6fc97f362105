"""Query expansion: corrections of words that occur nowhere, other spellings of codes, and synonyms.

No word of the query is replaced: variants are additional alternatives, and each is reported.

A synonyms file has one group of interchangeable phrases per line, or a one-way rule:

    ttl, time to live, time-to-live     # each of them finds the others
    k8s => kubernetes                   # k8s finds kubernetes, but not vice versa

Indexes that read mathematical notation also use the lexicon `text/lexicon/mathematics.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, permutations, product, starmap
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

import rifflux.text
from rifflux.errors import InvalidArgument, NotFound
from rifflux.text.analyzer import Analyzer, AnyOf, NearSpelling
from rifflux.text.symbols import symbol_names
from rifflux.types import Clause, Notice, Query

if TYPE_CHECKING:
    from rifflux.retrieve.query.codes import Frequencies, NearTerms, Phrases

#: The minimum word length for a correction of one letter, and for one of two letters.
SHORTEST = 4
SHORTEST_FOR_TWO = 8
MOST_SPELLINGS = 3
#: The length up to which the words that are one letter from a word are tried.
LONGEST_CHANGED = 24
#: The maximum number of unknown words corrected: a pasted page of another language must not cost seconds.
MOST_MENDED = 4
#: The maximum number of variants looked up in the texts to show them as people write them.
MOST_LOOKED_UP = 8
#: The code of the notice about variants of a word.
VARIANTS = "query.variants"
#: A comment must follow white space: the `#` of `C#` does not begin one.
_COMMENT = re.compile(r"(?:^|\s)#.*")
#: The built-in lexicon of each mathematics mode.
LEXICONS: Mapping[str, str] = {"notation": "mathematics.txt"}
_FORMAT = "write a group such as 'ttl, time to live', or a rule such as 'k8s => kubernetes'"


@dataclass(frozen=True, slots=True)
class Variant:
    """An additional clause to search for, with the words (`word`) and terms (`beside`) that it is an alternative to.

    `spelling` is how people write the clause; empty for terms of the index, which are stems.
    """

    clause: Clause
    spelling: str
    word: str
    beside: Clause
    reason: str = "synonyms of {!r}"


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Synonym rules: the variants of each phrase by its terms; `longest` is the longest phrase, in terms."""

    rules: Mapping[Clause, tuple[Variant, ...]]
    longest: int


def expand(
    query: Query,
    analyzer: Analyzer,
    frequencies: Frequencies,
    vocabulary: NearTerms,
    known: Synonyms | None,
    phrases: Phrases = lambda *_: [],
    elsewhere: Frequencies | None = None,
) -> tuple[Query, tuple[Variant, ...], tuple[Notice, ...]]:
    """Return the query with its variants, the variants of single words, and a notice on each formula.

    `phrases` returns those of some clauses whose terms are adjacent in the index; `elsewhere` returns the frequencies
    of terms in other stores that are searched with the same query.
    """
    numbered = any(map(str.isdecimal, chain(query.semantic_text, *(each[0] for each in query.tokens))))
    found = [
        *spellings(query, analyzer, frequencies, vocabulary, elsewhere),
        *(synonyms(query, known) if known else ()),
        *(_numbers(query, frequencies, vocabulary, phrases) if numbered else ()),
    ]
    present = {*query.clauses, *query.required, *query.excluded, *query.variants}
    # A dictionary, because two words may have the same variant.
    fresh: dict[Clause, Variant] = {}
    for variant in found:
        if variant.clause not in present:
            fresh[variant.clause] = variant
    whole: dict[str, list[Clause]] = {}
    if analyzer.mathematics == "notation":
        whole = dict(formulas(query))
    variants: dict[Clause, Clause] = dict.fromkeys(chain(fresh, *whole.values()), ())
    if not variants:
        return query, (), ()
    variants.update(zip(fresh, (each.beside for each in fresh.values()), strict=True))
    notes = []
    for each in whole:
        text = f"{each!r} is a formula: also searched as a whole"
        notes.append(Notice("query.formula", text, data={"formula": each}))
    query = replace(
        query,
        variants=(*query.variants, *variants),
        beside=(*query.beside, *variants.values()),
    )
    return query, tuple(fresh.values()), tuple(notes)


def _numbers(query: Query, frequencies: Frequencies, vocabulary: NearTerms, phrases: Phrases) -> Iterator[Variant]:
    """Yield other spellings of numbers and codes."""
    from rifflux.retrieve.query.codes import codes, shortened

    return starmap(
        _written, chain(codes(query, frequencies, phrases), shortened(query, frequencies, vocabulary, phrases))
    )


def _written(clause: Clause, word: str, beside: Clause) -> Variant:
    return Variant(clause, "", word, beside, "{!r} in other spellings")


def variant_notes(
    variants: Sequence[Variant], spelled: Callable[[Sequence[Clause]], Mapping[Clause, str]]
) -> Iterator[Notice]:
    """Yield a notice for each word with variants; `spelled` returns the spellings of clauses in the texts."""
    written = [each.clause for each in variants if not each.spelling and any(map(str.isalpha, chain(*each.clause)))]
    spellings = spelled(written[:MOST_LOOKED_UP])
    spellings_by_reason: dict[str, list[str]] = {}
    words_by_reason: dict[str, list[str]] = {}
    for variant in variants:
        spelling = variant.spelling or spellings.get(variant.clause) or " ".join(variant.clause)
        reason = variant.reason.format(variant.word)
        spellings_by_reason.setdefault(reason, []).append(spelling)
        words_by_reason.setdefault(reason, []).append(variant.word)
    for reason, others in spellings_by_reason.items():
        found = [*dict.fromkeys(others)]
        text = f"{reason}: also searched {', '.join(found)}"
        yield Notice(VARIANTS, text, data={"words": words_by_reason[reason], "variants": found})


# Spelling


def spellings(
    query: Query,
    analyzer: Analyzer,
    frequencies: Frequencies,
    vocabulary: NearTerms,
    elsewhere: Frequencies | None = None,
) -> Iterator[Variant]:
    """Yield similar terms, most frequent first, for each plain word that occurs neither here nor `elsewhere`."""
    present = set(query.clauses)
    words: dict[str, str] = {}
    for word, terms in query.words.items():
        # Words with digits or inner capitals are names and are not corrected.
        if len(terms) == 1 and terms in present and terms[0].isalpha() and len(terms[0]) >= SHORTEST:
            words[terms[0]] = word
    alternatives = [*zip(query.variants, query.beside, strict=True)]
    if words:
        counts = frequencies([*words, *chain.from_iterable(variant for variant, _ in alternatives)])
    else:
        counts = {}
    # A word whose form in another language occurs in the texts is not misspelt.
    known = {term for variant, beside in alternatives if all(counts.get(each) for each in variant) for term in beside}
    unknown = [term for term in words if not counts.get(term) and term not in known]
    if unknown and elsewhere:
        known_elsewhere = elsewhere(unknown)
        unknown = [term for term in unknown if not known_elsewhere.get(term)]
    for term in unknown[:MOST_MENDED]:
        for near in _near(term, words[term], analyzer, vocabulary):
            yield Variant((near,), "", words[term], (term,), "{!r} occurs nowhere")


def _near(term: str, word: str, analyzer: Analyzer, vocabulary: NearTerms) -> list[str]:
    """Return the nearest terms with the same first letter, which is seldom mistyped, most frequent first.

    One letter may change the stem of a word by several: `funreal` stays as it is, and `funeral` becomes `funer`. So if
    no term is near, the terms of words that are one letter from the word as it is written are tried.
    """
    most = 2 if len(term) >= SHORTEST_FOR_TWO else 1
    # If changing one letter suffices, two are not tried.
    for letters in range(1, most + 1):
        near = vocabulary(term[0], len(term) - letters, len(term) + letters, NearSpelling(term, letters))
        if not near and letters == 1 and len(word) <= LONGEST_CHANGED and word.isascii():
            changed = AnyOf(analyzer.stems([*_changed(word.lower())]))
            near = vocabulary(term[0], SHORTEST - 1, len(word) + 1, changed)
        if near:
            return sorted(near, key=lambda each: (-near[each], each))[:MOST_SPELLINGS]
    return []


def _changed(word: str) -> Iterator[str]:
    """Yield the words that are one edit from a word, behind its first letter."""
    letters = sorted({*ascii_lowercase, *word})
    for place in range(1, len(word) + 1):
        before = word[:place]
        behind = word[place:]
        yield from (before + letter + behind for letter in letters)
        if behind:
            yield before + behind[1:]
            yield before + behind[1:2] + behind[:1] + behind[2:]
            yield from (before + letter + behind[1:] for letter in letters)


# Synonyms


def synonyms(query: Query, known: Synonyms) -> Iterator[Variant]:
    """Yield the synonyms of the query's phrases, except those that the query already contains."""
    terms = query.terms
    windows: dict[Clause, None] = {}
    for width in range(known.longest, 0, -1):
        for start in range(len(terms) - width + 1):
            windows[terms[start : start + width]] = None
    for window in windows:
        for variant in known.rules.get(window, ()):
            if variant.clause not in windows:
                yield variant


def known_synonyms(path: str | Path | None, analyzer: Analyzer) -> Synonyms | None:
    """Return the synonyms of a file merged with the built-in lexicon of the analyzer's mathematics mode."""
    shipped = LEXICONS.get(analyzer.mathematics)
    paths = [
        *([Path(rifflux.text.__file__).with_name("lexicon") / shipped] if shipped else []),
        *([path] if path else []),
    ]
    files = [read_synonyms(each, analyzer) for each in paths]
    rules: dict[Clause, tuple[Variant, ...]] = {}
    for file in files:
        for source, variants in file.rules.items():
            rules[source] = tuple({each.clause: each for each in (*rules.get(source, ()), *variants)}.values())
    if files:
        return Synonyms(rules, max(file.longest for file in files))
    return None


def read_synonyms(path: str | Path, analyzer: Analyzer) -> Synonyms:
    """Read a file of synonyms. Raises `NotFound`, or `InvalidArgument` naming the invalid line."""
    path = Path(path).expanduser()
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise NotFound(f"no synonyms file at {path}: correct the setting 'synonyms', or create the file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"the synonyms in {path} cannot be read ({error}): give a text file in UTF-8") from None
    rules: dict[Clause, dict[Clause, Variant]] = {}
    for number, line in enumerate(lines, 1):
        if content := _COMMENT.sub("", line).strip():
            for source, variant in _rules(content, f"{path}:{number}", analyzer):
                rules.setdefault(source, {}).setdefault(variant.clause, variant)
    return Synonyms({each: tuple(found.values()) for each, found in rules.items()}, max(map(len, rules), default=0))


def _rules(line: str, place: str, analyzer: Analyzer) -> Iterator[tuple[Clause, Variant]]:
    """Yield the rules of a line: the terms of a phrase, and one of its variants."""
    sides = [_members(side, place, analyzer) for side in line.split("=>")]
    if len(sides) > 2 or (len(sides) == 1 and len(sides[0]) < 2):
        raise InvalidArgument(f"{place}: {line!r} is not a line of synonyms: {_FORMAT}")
    pairs = product(*sides) if len(sides) == 2 else permutations(sides[0], 2)
    for (source, word), (target, spelling) in pairs:
        if source != target:
            yield source, Variant(target, spelling, word, source)


def _members(side: str, place: str, analyzer: Analyzer) -> list[tuple[Clause, str]]:
    members = [(tuple(analyzer.terms(each)), each.strip()) for each in side.split(",")]
    for terms, written in members:
        if not terms:
            if written:
                problem = f"{written!r} contains no searchable word"
            else:
                problem = "an entry is empty"
            raise InvalidArgument(f"{place}: {problem}: {_FORMAT}")
    return members


#: The minimum number of terms for a formula to be searched as a phrase, the number of neighbouring tokens per piece,
#: and the maximum number of pieces per query. Shorter phrases occur in too many texts with another formula.
LEAST_TERMS = 3
WIDTH = 4
MOST_PIECES = 16
#: Names of functions and categories are short; a longer word belongs to the sentence.
LONGEST_NAME = 5
_NAMES = frozenset(
    {"lim", "colim", "dim", "det", "deg", "ker", "coker", "hom", "ext", "tor", "spec", "proj", "gal", "id"}
)


def formulas(query: Query) -> Iterator[tuple[str, list[Clause]]]:
    """Yield each formula of a query as its tokens, with the phrases to search for: the whole, then its pieces."""
    for run in _runs(query.tokens):
        terms = [*filter(None, (each[1] for each in run))]
        whole = _joined(terms)
        if len(whole) >= LEAST_TERMS and any(clause and _is_symbol(token) for token, clause in run):
            pieces = [_joined(terms[start : start + WIDTH]) for start in range(len(terms) - WIDTH + 1)]
            phrases = dict.fromkeys([whole, *pieces[:MOST_PIECES]])
            yield " ".join(token for token, clause in run if clause), list(phrases)


def _runs(tokens: Iterable[tuple[str, Clause]]) -> Iterator[list[tuple[str, Clause]]]:
    """Yield the longest runs of tokens, with their terms, that contain no ordinary word."""
    run: list[tuple[str, Clause]] = []
    for token, terms in tokens:
        letters = token.replace("-", "").replace("'", "")
        is_name = not letters.isalpha() or len(letters) == 1 or token in symbol_names() or token.lower() in _NAMES
        # Other words belong to the sentence around the formulas.
        if not is_name and (len(letters) > LONGEST_NAME or token.islower() or token.istitle()):
            yield run
            run = []
        else:
            run.append((token, terms))
    yield run


def _is_symbol(token: str) -> bool:
    return (len(token) == 1 and not token.isdecimal()) or "_" in token or "^" in token or token in symbol_names()


def _joined(clauses: Sequence[Clause]) -> Clause:
    return tuple(chain.from_iterable(clauses))
