"""A question about works, read once: what it asks for, and the works that it names.

`meant` decides what is asked. `naming` reads what can be a name in a question, to judge how surely it means each of
several works: a theorem by name or number, a term that is defined, a section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, pairwise, product
from operator import methodcaller

import numpy as np

from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Store
from rifflux.text.identifiers import named_results
from rifflux.text.moments import YEAR_OF_WORK
from rifflux.text.question_words import framed
from rifflux.text.schemes import STRONG, parse_identifier
from rifflux.text.titles import TITLE, plain, title_keys
from rifflux.types import AUTHORS, Hit, Identifier, Query, Ranking, Tag
from rifflux.works.retrieval.asked import Asked, Liken, asked_for
from rifflux.works.retrieval.intent import ABOUT, FIRST, GENERIC, Intent
from rifflux.works.retrieval.wording import is_bare, is_result, works_of


@dataclass(frozen=True, slots=True)
class Question:
    """A question about works as it was typed and read, and its intent.

    The work that is looked for comes `first`; of one that it is `about`, such as that whose prerequisites are wanted,
    others are. `lacking` are identifiers in it that no work here has.
    """

    text: str
    query: Query
    asked: Asked
    first: NamedWork | None = None
    about: NamedWork | None = None
    notes: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


def meant(
    text: str,
    query: Query,
    mode: str | None,
    intents: Mapping[str, Intent],
    store: Store,
    visible: LicensePolicy,
    liken: Liken = lambda _: None,
) -> Question:
    """Return a question that was read as it is meant, by its wording and by what the index holds.

    `liken` tells what it is worded like. Raises `InvalidArgument` for an unknown mode.
    """
    named, doubt = named_work(query.asked, store, visible)
    if not named and not doubt:
        named, doubt = work_of_author(text, query, store, visible)
    if named:
        called = f"the name of a work here: {named.shown}"
    else:
        called = ""
    if named and named.alone:
        alone = called
    else:
        alone = _referred(query) or _works_of(query)
    ask = partial(asked_for, query.asked, mode, query.understanding, intents, query.words, liken=liken)
    asked = ask(named=alone)
    if (
        named
        and not mode
        and asked.intent.name == GENERIC
        and _is_alone(query.semantic_text, named.name, named.hit.title)
    ):
        # "What is tag 06Z4?": words that ask are no part of the name.
        asked = ask(named=called)
    told = f"{asked.intent.name}: {asked.reason}"
    lacking = _lacking(query.asked, store)
    if asked.intent.naming == ABOUT:
        if named:
            note = f"it is about {named.shown}, which is left out itself"
        else:
            note = doubt
        if named and asked.cited:
            asked = replace(asked, intent=asked.intent.directed(asked.cited))
        return Question(text, query, asked, None, named, (told, note) if note else (told,), lacking)
    if asked.intent.naming == FIRST:
        first = named
    else:
        first = None
    return Question(text, query, asked, first, notes=(told,), lacking=lacking)


def _referred(query: Query) -> str:
    """Return what a question refers to a work by, as notes do: an author known here, then a year and a few bare words.

    Without the author it would be an event: `Chile earthquake 1960`.
    """
    people = [credit.said for credit in query.credits if credit.role == AUTHORS]
    year = YEAR_OF_WORK.search(query.asked)
    asked = query.asked.strip()
    if query.credits_only or not year or not is_bare(asked, query.words):
        return ""
    first = next(filter(asked.startswith, people), "")
    if first:
        return f"an author, a subject and a year: {first!r}, {year[0]}"
    return ""


def _works_of(query: Query) -> str:
    """Return whose works a question asks for, and for nothing else; empty if it asks for others."""
    people = [credit.said for credit in query.credits if credit.role == AUTHORS]
    name = works_of(query.asked, people if query.credits_only else ())
    if name:
        return f"a question for the works of {name!r}"
    return ""


def _lacking(text: str, store: Store) -> tuple[str, ...]:
    """Return the identifiers in a question that mean one work everywhere, and none here."""
    found = [
        each for each in (parse_identifier(each) for each in _codes(text)) if each and each.scheme in (*STRONG, "isbn")
    ]
    names = dict.fromkeys(map(str, found))
    if names:
        known = store.catalog.identified([*names])
    else:
        known = {}
    return tuple(name for name in names if name not in known)


Place = tuple[str, str]
#: A shorter title is a subject more often than it is meant as a name.
LEAST_WORDS = 4
#: Where the titles of more works begin so, that is no name of one.
MOST_ALIKE = 20
#: What a title stands after where a question is about a work.
_ABOUT = re.compile(
    r"\b(?:(?:related|similar|akin|close) to|like|before (?:I |we |one )?(?:read|study|learn|tackl)(?:ing|y)?|before"
    r"|prerequisites? (?:for|of|to)|background (?:(?:reading|needed|required|knowledge|material) )?for|to understand"
    r"|cit(?:e|es|ing)|cited by)\s+(?P<name>.+)",
    re.IGNORECASE,
)
_LEAD = re.compile(r"\A(?:(?:the|a|an|paper|article|book|work|titled|called|entitled|named|tag)\s+)+", re.IGNORECASE)
_AUTHOR = re.compile(r"\s+by\s+[^\W\d_].*\Z")
_QUOTED = re.compile(r'["“]([^"”]+)["”]')
_EDGES = " \t\r\n\"'“”?!,;:()[]"
_plain = lru_cache(maxsize=1 << 14)(plain)


# The one work that a question is about


@dataclass(frozen=True, slots=True)
class NamedWork:
    """A work by its first chunk, its subjects, and the name that the question gives it.

    `alone` says that the question is this name and nothing else, and can hardly be meant otherwise. The hit is as it is
    stored, whatever its license; subjects are those that may be told. `certainty` says how surely it is meant.
    """

    hit: Hit
    tags: Sequence[Tag]
    name: str
    alone: bool
    certainty: float = 1.0

    @property
    def id(self) -> int:
        """Return the id of its first chunk."""
        return int(self.hit.id, 16)

    @property
    def shown(self) -> str:
        """Return its name and title, which may be shown whatever its license."""
        if plain(self.name) == plain(self.hit.title):
            return self.name
        return f"{self.name} ({self.hit.title})"


def named_work(text: str, store: Store, visible: LicensePolicy) -> tuple[NamedWork | None, str]:
    """Return the work that a question without its filters names, and a note if the name is that of several."""
    words = text.strip(_EDGES)
    for name, places in _places(text, store).items():
        if len(places) > 1:
            return None, f"{name!r} is the name of {len(places)} works here: none was taken to be meant"
        if hits := store.catalog.chunks_of(*places[0]):
            hit = hits[0]
            alone = _is_alone(words, name, hit.title)
            return NamedWork(hit, _tags_of(hit, store, visible), name, alone=alone), ""
    return None, ""


def _tags_of(hit: Hit, store: Store, visible: LicensePolicy) -> Sequence[Tag]:
    """Return the subjects of a work that may be told."""
    id = int(hit.id, 16)
    tags = store.catalog.tags_of(np.array([id], np.int64)).get(id, ())
    return visible.tags(hit.place[0], hit.license, tags)


#: What a single publication is called; `work` is also all that somebody did.
_SINGLE = r"(?:paper|article|book|preprint|monograph|thesis|memoir|treatise|note|notes)"
#: How people call a work by its author, for whom `WHO` stands, and by words of its title.
_CALLED = (
    rf"WHO(?:['’]s|['’])?\s+(?P<words>[^,;:?!]{{1,80}}?)\s+{_SINGLE}\b(?!\s+(?:on|about)\b)",
    rf"WHO(?:['’]s|['’])?\s+{_SINGLE}\s+(?:on|about)\s+(?P<words>[^,;:?!]{{1,80}})",
    rf"\b(?:the|that|an?)\s+(?P<words>(?:(?!(?:the|that|an?)\b)[\w-]+\s+){{1,5}}?){_SINGLE}\s+(?:by|of)\s+WHO\b"
    r"(?!\s+(?:on|about)\b)",
    rf"\b{_SINGLE}\s+(?:by|of)\s+WHO\s+(?:on|about)\s+(?P<words>[^,;:?!]{{1,80}})",
)
#: The share of these words that the title has, and how surely the work is meant then.
MOST_SAID = 0.6
BY_AUTHOR = 0.9
#: So many works of an author are compared.
MOST_OF_AUTHOR = 500


def work_of_author(text: str, query: Query, store: Store, visible: LicensePolicy) -> tuple[NamedWork | None, str]:
    """Return the work that a question calls by its author and words of its title, such as `Perelman's entropy paper`.

    `text` is the question as it was typed, with the names of people. The title that holds most of the words is meant,
    if it holds enough of them; if it is that of several works, the note says so.
    """
    people = [credit for credit in query.credits if credit.role == AUTHORS]
    called = _called(text, [credit.said for credit in people])
    if called is None:
        return None, ""
    name = called[0]
    terms = frozenset(query.words[called.group("words")])
    theirs = query.filter
    for credit in people:
        theirs = theirs.narrowed(credit.filter)
    ids = store.catalog.first_of(theirs, MOST_OF_AUTHOR) if terms else np.array([], np.int64)
    hits = store.catalog.hydrate(Ranking(ids, np.zeros(len(ids)))) if len(ids) else ()
    told = [hit for hit in hits if visible.tells_facts(hit.place[0], hit.license)]
    shares = {hit.place: len(terms.intersection(query.words[hit.title])) / len(terms) for hit in told}
    best = max(shares.values(), default=0.0)
    if best < MOST_SAID:
        return None, ""
    meant = [hit for hit in told if shares[hit.place] == best]
    if len(meant) > 1:
        return None, f"{name!r} can be {len(meant)} works here: none was taken to be meant"
    alone = _LEAD.sub("", text.strip(_EDGES)) == name
    return NamedWork(meant[0], _tags_of(meant[0], store, visible), name, alone=alone, certainty=BY_AUTHOR), ""


def _called(text: str, people: Sequence[str]) -> re.Match[str] | None:
    """Return where a question calls a single work by one of these people, with the words of its title."""
    for who, form in product(people, _CALLED):
        found = re.search(form.replace("WHO", re.escape(who)), text, re.IGNORECASE)
        if found:
            return found
    return None


def _places(text: str, store: Store) -> Mapping[str, list[Place]]:
    """Return the works of each name in a question that is one: identifiers and keys before titles."""
    names = _codes(text)
    keyed = _title_keys(text)
    found: dict[str, list[Place]] = {}
    codes = dict(zip(names, (_spellings(name) for name in names), strict=True))
    known = store.catalog.identified(list(dict.fromkeys([*chain.from_iterable(codes.values()), *keyed.values()])))
    for name, several in codes.items():
        for each in several:
            if each in known:
                found.setdefault(name, known[each])
    for name in codes:
        is_key = any(each.isdigit() for each in name) and any(each.isalpha() for each in name)
        if is_key and name not in found and (places := store.catalog.find_documents(name)):
            found[name] = places
    if not known.keys().isdisjoint(keyed.values()):
        for name, places in _titled(keyed, known, store).items():
            found.setdefault(name, places)
    return found


def _titled(keyed: Mapping[str, str], known: Mapping[str, list[Place]], store: Store) -> Mapping[str, list[Place]]:
    """Return the works whose title is a name, by that name."""
    alike = {name: known[key] for name, key in keyed.items() if key in known and len(known[key]) <= MOST_ALIKE}
    titles = store.catalog.documents_at(list({place for places in alike.values() for place in places}))
    found = {}
    for name, places in alike.items():
        if titled := [place for place in places if place in titles and plain(titles[place].title) == plain(name)]:
            found[name] = titled
    return found


def _spellings(name: str) -> list[str]:
    """Return an identifier as typed, and in its canonical spelling."""
    if ":" in name or "/" in name or any(each.isdigit() for each in name):
        parsed = parse_identifier(name)
    else:
        parsed = None
    if ":" in name or parsed:
        return list(dict.fromkeys([name, *([str(parsed)] if parsed else [])]))
    return []


def _codes(text: str) -> list[str]:
    """Return what may be an identifier: each word, and a scheme with what follows it after a space."""
    words = text.split()
    names: list[str] = []
    bare = [*map(methodcaller("removesuffix", "."), map(methodcaller("strip", _EDGES), words))]
    for place, word in enumerate(words):
        names.append(bare[place])
        if word.endswith(":") and place + 1 < len(words):
            names.append(f"{bare[place]}:{bare[place + 1]}")
    return names


def _title_keys(text: str) -> Mapping[str, str]:
    """Return how titles are looked up, by what may be one: what is quoted, the whole question, what it asks about."""
    names = [*map(methodcaller("strip", _EDGES), _QUOTED.findall(text))]
    for piece in (text, *(each["name"] for each in _ABOUT.finditer(text))):
        name = piece.strip(_EDGES)
        for bare in (name, _LEAD.sub("", name)):
            names += (bare, bare.removesuffix("."), _AUTHOR.sub("", bare))
    keyed = {}
    for name in names:
        for key in title_keys(name, ()):
            keyed[name] = f"{TITLE}:{key}"
    return keyed


def _is_alone(text: str, name: str, title: str) -> bool:
    """Return True if a question is a name alone: an identifier, or a title long enough to be no subject."""
    words = plain(name).split()
    bare = text.strip(_EDGES)
    return name in (bare, _LEAD.sub("", bare)) and (len(words) >= LEAST_WORDS or plain(name) != plain(title))


# How surely a question means each of several works

#: Words for a work that stand next to its title.
_SORTS = frozenset(
    ("article", "book", "chapter", "corollary", "definition", "lemma", "paper", "proposition", "section", "theorem")
)
_ARTICLES = frozenset(("a", "an", "the"))
#: Names of results are read in this language.
_LANGUAGE = "english"
_TITLES = re.compile(r'"([^"]+)"|“([^”]+)”|``(.+?)\'\'')
#: What every identifier holds: a number, or a scheme before its value.
_CODED = re.compile(r"[:\d]")
#: The number of a section; that of a theorem stands behind what it is.
_NUMBER = re.compile(r"^(?:\d+ )+")
#: Shorter values of identifiers are words as well.
_SHORTEST_VALUE = 4


@dataclass(frozen=True, slots=True)
class Naming:
    """The words of a question that can name a work; `words` are its words between blanks, folded.

    `identifiers` are those it spells out or has as two words, as in `tag 06Z4`. `titles` are the whole question and
    what it quotes, plainly written. `subjects` are the things that it names, without words such as `theorem`: all of
    the question but the words that ask and `people`, who are said to have written it, and each result in it that has a
    name. So a proof, a statement and applications of a theorem all name the theorem.
    """

    words: frozenset[str]
    identifiers: frozenset[str]
    titles: frozenset[str]
    subjects: frozenset[str]
    people: frozenset[str]

    def certainty(self, title: str, authors: Sequence[str], identifiers: Iterable[Identifier]) -> int:
        """Return how surely a work is meant: 3 by an identifier, 2 by its title, 1 by its title's subject, else 0."""
        if any(self._says(identifier) for identifier in identifiers):
            return 3
        written = _plain(title)
        if written in self.titles:
            return 2
        if _bare(written.split(), before=_ARTICLES) not in self.subjects:
            return 0
        return int(self.people <= {word for name in authors for word in _plain(name).split()})

    def heads(self, heading_path: str) -> bool:
        """Return whether a passage is meant: `Theorem 2.1 (Hahn–Banach)` is, by its name and by its number."""
        if not heading_path:
            return False
        heading = heading_path.rpartition(" > ")[2]
        number, _, names = heading.rstrip(")").partition(" (")
        if any(_plain(name) in self.subjects for name in names.split(", ")):
            return True
        written = _NUMBER.sub("", _plain(number))
        return " " in written and written in self.titles

    def _says(self, identifier: Identifier) -> bool:
        value = identifier.value.casefold()
        if f"{identifier.scheme}:{value}" in self.identifiers:
            return True
        telling = len(value) >= _SHORTEST_VALUE and not value.isalpha() and not value.isdigit()
        return telling and value in self.words


def naming(question: str) -> Naming:
    """Read what can be a name in a question."""
    stripped = map(methodcaller("strip", "\"'“”?!.,;()[]"), question.split())
    words = [*(each.casefold() for each in filter(None, stripped))]
    spelled = map(str, filter(None, (parse_identifier(each) for each in filter(_CODED.search, words))))
    whole = plain(question)
    about, by, people = whole.rpartition(" by ")
    named = [
        (about if by else whole),
        plain(framed(question, _LANGUAGE).subject),
        *(plain(name) for name in named_results(question) if is_result(name)),
    ]
    subjects = (_bare(each.split(), before=_SORTS | _ARTICLES | {"of"}) for each in named)
    return Naming(
        frozenset(words),
        frozenset([*words, *(each.casefold() for each in spelled), *(":".join(each) for each in pairwise(words))]),
        frozenset(filter(None, map(plain, [question, *("".join(each) for each in _TITLES.findall(question))]))),
        frozenset(filter(None, subjects)),
        frozenset(people.split()) if by else frozenset(),
    )


def _bare(words: Sequence[str], *, before: frozenset[str]) -> str:
    """Return words without what stands before and behind a name."""
    start = 0
    end = len(words)
    while start < end and words[start] in before:
        start += 1
    while start < end and words[end - 1] in _SORTS:
        end -= 1
    return " ".join(words[start:end])
