"""The works that a question names: by an identifier, a title, an author and words of the title, or a heading.

`named_work` and `work_of_author` look up the one work that a question is about. `names_in` reads everything in a
question that can be a name, and `MarkNamed` judges with it how surely the question means each candidate: a theorem
by name or number, a term that is defined, a section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np

from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.table import NAMED, OUTRIGHT, Candidates, declare
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import MOST_IDENTIFIED, Store, find_documents
from rifflux.text.identifiers import named_results
from rifflux.text.names import TITLE, plain, title_keys
from rifflux.text.question_words import framed
from rifflux.text.schemes import parse_identifier
from rifflux.types import AUTHORS, Hit, Identifier, Query, Ranking, Tag
from rifflux.works.intent.lexicon import group, words
from rifflux.works.intent.rules import is_result

Place = tuple[str, str]
#: The least words of a title that is taken for a name: a shorter one is a subject more often.
LEAST_WORDS = 4
#: A title key of more works than this names none of them.
MOST_TITLED = 20
#: Words before a title in a question about a work.
_ABOUT = re.compile(
    r"\b(?:(?:related|similar|akin|close) to|like|before (?:I |we |one )?(?:read|study|learn|tackl)(?:ing|y)?|before"
    r"|prerequisites? (?:for|of|to)|background (?:(?:reading|needed|required|knowledge|material) )?for|to understand"
    r"|cit(?:e|es|ing)|cited by)\s+(?P<name>.+)",
    re.IGNORECASE,
)
#: A title between the words of a question about what the work cites.
_CITING = re.compile(r"\b(?:does|do|did)\s+(?P<name>.+)\s+(?:cite|reference)\b", re.IGNORECASE)
_LEAD = re.compile(r"\A(?:(?:the|a|an|paper|article|book|work|titled|called|entitled|named|tag)\s+)+", re.IGNORECASE)
_AUTHOR = re.compile(r"\s+by\s+[^\W\d_].*\Z")
_QUOTED = re.compile(r'["“]([^"”]+)["”]')
_EDGES = " \t\r\n\"'“”?!,;:()[]"
_plain = lru_cache(maxsize=1 << 14)(plain)


# The one work that a question is about


@dataclass(frozen=True, slots=True)
class NamedWork:
    """A work by its first chunk, its subjects, and the name that the question gives it.

    `alone` says that the question is this name only, and can hardly mean anything else. The hit is as stored, whatever
    its license; `tags` are the subjects that may be disclosed. `certainty` says how surely the work is meant.
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
    def display_name(self) -> str:
        """Return its name and title, which any license discloses."""
        if plain(self.name) == plain(self.hit.title):
            return self.name
        return f"{self.name} ({self.hit.title})"


def named_work(text: str, store: Store, visible: LicensePolicy) -> tuple[NamedWork | None, str]:
    """Return the work that a question (without its filters) names, and a note if the name is that of several."""
    bare = text.strip(_EDGES)
    for name, places in _places(text, store).items():
        if len(places) > 1:
            many = f"{len(places)}" if len(places) < MOST_IDENTIFIED else f"{MOST_IDENTIFIED} or more"
            return None, f"{name!r} is the name of {many} works here: none was taken to be meant"
        if hits := store.catalog.chunks_of(*places[0], most=1):
            hit = hits[0]
            alone = is_only_name(bare, name, hit.title)
            return NamedWork(hit, _tags_of(hit, store, visible), name, alone=alone), ""
    return None, ""


def _tags_of(hit: Hit, store: Store, visible: LicensePolicy) -> Sequence[Tag]:
    """Return the subjects of a work that its license discloses."""
    id = int(hit.id, 16)
    tags = store.catalog.tags_of(np.array([id], np.int64)).get(id, ())
    return visible.tags(hit.place[0], hit.license, tags)


_SINGLE = group("publication by a person")
#: How people refer to a work by its author, for whom `WHO` stands, and by words of its title.
_CALLED = (
    rf"WHO(?:['’]s|['’])?\s+(?P<words>[^,;:?!]{{1,80}}?)\s+{_SINGLE}\b(?!\s+(?:on|about)\b)",
    rf"WHO(?:['’]s|['’])?\s+{_SINGLE}\s+(?:on|about)\s+(?P<words>[^,;:?!]{{1,80}})",
    rf"\b(?:the|that|an?)\s+(?P<words>(?:(?!(?:the|that|an?)\b)[\w-]+\s+){{1,5}}?){_SINGLE}\s+(?:by|of)\s+WHO\b"
    r"(?!\s+(?:on|about)\b)",
    rf"\b{_SINGLE}\s+(?:by|of)\s+WHO\s+(?:on|about)\s+(?P<words>[^,;:?!]{{1,80}})",
    r"(?<=does )WHO['’]s\s+(?P<words>[^,;:?!]{1,80}?)(?=\s+(?:cite|reference)\b)",
)
#: The least share of these words that the title must contain, and how surely the work is meant then.
LEAST_SHARE = 0.6
BY_AUTHOR = 0.9
#: At most this many works of an author are compared.
MOST_OF_AUTHOR = 500


def work_of_author(text: str, query: Query, store: Store, visible: LicensePolicy) -> tuple[NamedWork | None, str]:
    """Return the work that a question names by author and words of the title, such as `Perelman's entropy paper`.

    `text` is the question as typed, with the names of people. The work whose title contains most of the words is meant,
    if it contains enough of them; if several works have that title, the note says so.
    """
    people = [credit for credit in query.credits if credit.role == AUTHORS]
    forms = [form.replace("WHO", re.escape(credit.wording)) for credit in people for form in _CALLED]
    called = next((found for form in forms if (found := re.search(form, text, re.IGNORECASE))), None)
    if called is None:
        return None, ""
    name = called[0]
    terms = frozenset(query.words[called.group("words")])
    theirs = query.filter
    for credit in people:
        theirs = theirs.narrowed(credit.filter)
    ids = store.catalog.first_of(theirs, MOST_OF_AUTHOR) if terms else np.array([], np.int64)
    hits = store.catalog.hydrate(Ranking(ids, np.zeros(len(ids)))) if len(ids) else ()
    disclosed = [hit for hit in hits if visible.discloses_facts(hit.place[0], hit.license)]
    shares = {hit.place: len(terms.intersection(query.words[hit.title])) / len(terms) for hit in disclosed}
    best = max(shares.values(), default=0.0)
    if best < LEAST_SHARE:
        return None, ""
    best_hits = [hit for hit in disclosed if shares[hit.place] == best]
    if len(best_hits) > 1:
        return None, f"{name!r} can be {len(best_hits)} works here: none was taken to be meant"
    alone = _LEAD.sub("", text.strip(_EDGES)) == name
    return NamedWork(best_hits[0], _tags_of(best_hits[0], store, visible), name, alone=alone, certainty=BY_AUTHOR), ""


def _places(text: str, store: Store) -> Mapping[str, list[Place]]:
    """Return the works of each name in a question: identifiers and keys before titles."""
    names = identifier_candidates(text)
    keyed = _title_keys(text)
    found: dict[str, list[Place]] = {}
    codes: dict[str, list[str]] = {}
    for name in names:
        parsed = None
        if ":" in name or "/" in name or any(each.isdigit() for each in name):
            parsed = parse_identifier(name)
        # As typed, and in its canonical spelling.
        codes[name] = [name] if ":" in name or parsed else []
        if parsed and str(parsed) != name:
            codes[name].append(str(parsed))
    known = store.catalog.identified(list(dict.fromkeys([*chain.from_iterable(codes.values()), *keyed.values()])))
    for name, several in codes.items():
        for each in several:
            if each in known:
                found.setdefault(name, known[each])
    for name in codes:
        is_key = any(each.isdigit() for each in name) and any(each.isalpha() for each in name)
        if is_key and name not in found and (places := find_documents(store.catalog, name)):
            found[name] = places
    if not known.keys().isdisjoint(keyed.values()):
        for name, places in _titled(keyed, known, store).items():
            found.setdefault(name, places)
    return found


def _titled(keyed: Mapping[str, str], known: Mapping[str, list[Place]], store: Store) -> Mapping[str, list[Place]]:
    """Return the works whose title is a name, by that name."""
    alike = {name: known[key] for name, key in keyed.items() if key in known and len(known[key]) <= MOST_TITLED}
    titles = store.catalog.documents_at(list({place for places in alike.values() for place in places}))
    found = {}
    for name, places in alike.items():
        if titled := [place for place in places if place in titles and plain(titles[place].title) == plain(name)]:
            found[name] = titled
    return found


def identifier_candidates(text: str) -> list[str]:
    """Return the words that may be identifiers, and each scheme joined with the word behind it."""
    typed = text.split()
    names: list[str] = []
    bare = [word.strip(_EDGES).removesuffix(".") for word in typed]
    for place, word in enumerate(typed):
        names.append(bare[place])
        if word.endswith(":") and place + 1 < len(typed):
            names.append(f"{bare[place]}:{bare[place + 1]}")
    return names


def _title_keys(text: str) -> Mapping[str, str]:
    """Return the title keys of what may be titles: quotations, the whole question, and what it asks about."""
    names = [quoted.strip(_EDGES) for quoted in _QUOTED.findall(text)]
    subjects = (each["name"] for pattern in (_ABOUT, _CITING) for each in pattern.finditer(text))
    for piece in (text, *subjects):
        name = piece.strip(_EDGES)
        for bare in (name, _LEAD.sub("", name)):
            names += (bare, bare.removesuffix("."), _AUTHOR.sub("", bare))
    keyed = {}
    for name in names:
        for key in title_keys(name, ()):
            keyed[name] = f"{TITLE}:{key}"
    return keyed


def is_only_name(text: str, name: str, title: str) -> bool:
    """Return True if a question is only a name: an identifier, or a title too long to be a subject."""
    length = len(plain(name).split())
    bare = text.strip(_EDGES)
    return name in (bare, _LEAD.sub("", bare)) and (length >= LEAST_WORDS or plain(name) != plain(title))


# How surely a question names each candidate

CERTAINTY = declare(
    "certainty", "from 0 to 3", "how surely the question names the work: by identifier, title, subject or heading"
)
#: The certainty of a work that was looked up before the search, as if by its identifier; and of one named by its title.
LOOKED_UP = 3
BY_TITLE = 2
#: If more works than this are named in some form, that is their subject and not a name.
MOST_ALIKE = 3


#: Words for a work next to its title.
_SORTS = words("part of a publication")
_ARTICLES = words("article")
#: The language of names of results.
_LANGUAGE = "english"
_TITLES = re.compile(r'"([^"]+)"|“([^”]+)”|``(.+?)\'\'')
#: Every identifier contains a number, or a scheme before its value.
_CODED = re.compile(r"[:\d]")
#: The number of a section; that of a theorem follows the word.
_NUMBER = re.compile(r"^(?:\d+ )+")
#: Shorter values of identifiers may be ordinary words.
_SHORTEST_VALUE = 4


@dataclass(frozen=True, slots=True)
class QuestionNames:
    """Everything in a question that can name a work; `words` are its words between blanks, folded.

    `identifiers` are those that it spells out or has as two words, as in `tag 06Z4`. `titles` are the whole question
    and its quotations, in plain spelling. `subjects` are the things it names, without words such as `theorem`: all of
    the question but the words that ask and `people`, who are given as authors, and each named result in it. So a proof,
    a statement and applications of a theorem all name the theorem.
    """

    words: frozenset[str]
    identifiers: frozenset[str]
    titles: frozenset[str]
    subjects: frozenset[str]
    people: frozenset[str]

    def certainty(self, title: str, authors: Sequence[str], identifiers: Iterable[Identifier]) -> int:
        """Return how surely a work is meant: 3 by an identifier, 2 by its title, 1 by its title's subject, else 0."""
        for identifier in identifiers:
            value = identifier.value.casefold()
            is_distinctive = len(value) >= _SHORTEST_VALUE and not value.isalpha() and not value.isdigit()
            if f"{identifier.scheme}:{value}" in self.identifiers or (is_distinctive and value in self.words):
                return 3
        written = _plain(title)
        if written in self.titles:
            return 2
        if _bare(written.split(), before=_ARTICLES) not in self.subjects:
            return 0
        return int(self.people <= {word for name in authors for word in _plain(name).split()})

    def has_heading(self, heading_path: str) -> bool:
        """Return True if a passage is named by its heading: `Theorem 2.1 (Hahn–Banach)` by its name or its number."""
        if not heading_path:
            return False
        heading = heading_path.rpartition(" > ")[2]
        number, _, names = heading.rstrip(")").partition(" (")
        if any(_plain(name) in self.subjects for name in names.split(", ")):
            return True
        written = _NUMBER.sub("", _plain(number))
        return " " in written and written in self.titles


def names_in(question: str) -> QuestionNames:
    """Read everything in a question that can be a name."""
    stripped = [word.strip("\"'“”?!.,;()[]").casefold() for word in question.split()]
    typed = [word for word in stripped if word]
    identifiers = {*typed, *(":".join(pair) for pair in pairwise(typed))}
    for word in typed:
        identifier = parse_identifier(word) if _CODED.search(word) else None
        if identifier:
            identifiers.add(str(identifier).casefold())
    whole = plain(question)
    about, by, people = whole.rpartition(" by ")
    named = [
        about if by else whole,
        plain(framed(question, _LANGUAGE).subject),
        *(plain(name) for name in named_results(question) if is_result(name)),
    ]
    titles = {plain(each) for each in (question, *("".join(parts) for parts in _TITLES.findall(question)))}
    subjects = {_bare(each.split(), before=_SORTS | _ARTICLES | {"of"}) for each in named}
    return QuestionNames(
        words=frozenset(typed),
        identifiers=frozenset(identifiers),
        titles=frozenset(titles - {""}),
        subjects=frozenset(subjects - {""}),
        people=frozenset(people.split()) if by else frozenset(),
    )


def _bare(name: Sequence[str], *, before: frozenset[str]) -> str:
    """Return a name without words such as articles in front of it and `theorem` behind it."""
    start = 0
    end = len(name)
    while start < end and name[start] in before:
        start += 1
    while start < end and name[end - 1] in _SORTS:
        end -= 1
    return " ".join(name[start:end])


@dataclass(frozen=True, slots=True)
class MarkNamed:
    """Adds the column of how surely a question names each candidate's work; 0 where it does not.

    A work is named by its identifier (3), by its title (2), by its title's subject or the heading of a passage (1);
    that at `first` was looked up before. If none is named so, those are that the search recognized in any form of their
    name, as long as they are few. Of a work that may not be shown, its title and identifiers alone decide.
    """

    text: str
    first: Place | None
    visible: LicensePolicy

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates in their order; by an identifier or a title, the question asks for a work outright."""
        names = names_in(self.text)
        facts = plan.evidence.facts(table.ids)
        outright: dict[Place, int] = {}
        alike: dict[Place, int] = {}
        hits = self.visible.hits(table.passages)
        for hit, id, recognized in zip(hits, table.ids.tolist(), np.nan_to_num(table[NAMED]).tolist(), strict=True):
            place = hit.place
            disclosed = self.visible.discloses_facts(place[0], hit.license)
            authors = tuple(map(str, hit.metadata.get("authors", ()))) if disclosed else ()
            # A work whose facts are not disclosed cannot be that of a certain author.
            known = {word for name in (*authors, hit.title, hit.heading_path) for word in _plain(name).split()}
            by_them = names.people <= known and (disclosed or not names.people)
            if place == self.first and by_them:
                certainty = LOOKED_UP
            else:
                certainty = names.certainty(hit.title, authors, facts[id].identifiers if id in facts else ())
                if not certainty and not hit.withheld:
                    certainty = int(names.has_heading(hit.heading_path))
            outright[place] = max(outright.get(place, 0), certainty)
            if recognized and by_them and not hit.withheld:
                alike[place] = 1
        if any(outright.values()):
            found = outright
        elif len(alike) <= MOST_ALIKE:
            found = alike
        else:
            found = {}
        certainties = np.array([found.get(hit.place, 0) for hit in table.passages], np.float64)
        surely = np.maximum(np.nan_to_num(table[OUTRIGHT]), certainties >= BY_TITLE)
        return table.with_column(CERTAINTY, certainties).with_column(OUTRIGHT, surely)
