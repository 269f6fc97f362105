"""The 60 questions, each with how it is asked on the surfaces that know it.

`python` is called with the world; `cli` are the words after `rifflux`, `http` a method, a target and a body, and `mcp`
a tool with its arguments. What a surface has no word for is not asked there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import rifflux
from rifflux import SearchService
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.types import Bound, Filter
from tests.pinned.world import MAIN, MODEL, WORKS, World

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """A question: who asks it of which index, and how on each surface."""

    name: str
    python: Callable[[World], Any]
    cli: Sequence[str] | None = None
    http: tuple[str, str, Any] | None = None
    mcp: tuple[str, Mapping[str, Any]] | None = None
    user: str = ""
    db: str = MAIN


#: Flags of the command line for arguments of `Index.search`, where they are called otherwise.
_FLAGS = {"top_k": "-k", "paths": "--path", "kinds": "--kind", "metadata": "--where"}
#: What a search over HTTP takes.
_BODY = frozenset(("query", "top_k", "mode", "filter", "rerank", "min_score", "one_per_document", "explain"))


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    """Options as flags."""
    for name, value in options.items():
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if isinstance(value, Mapping):
            yield from (word for field, each in value.items() for word in (flag, f"{field}={each}"))
        elif isinstance(value, tuple | list):
            yield from (word for each in value for word in (flag, str(each)))
        else:
            yield from (flag,) if value is True else (flag, str(value))


def _listed(filter: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in filter.items()}


def search(name: str, query: str, user: str = "", filter: Mapping[str, Any] | None = None, **options: Any) -> Case:
    """A search; MCP's own search knows only a mode and how many."""
    given = {"top_k": 4, **options}
    body = {"query": query, **given, "explain": True} | ({"filter": _listed(filter)} if filter else {})
    plain = not filter and set(given) <= {"top_k", "mode"}
    return Case(
        name,
        lambda w: w.index(MAIN, user).search(query, filter=filter, **given),
        None if user else ("search", query, *_words(given), *_words(filter or {})),
        ("POST", "/search", body) if set(body) <= _BODY else None,
        ("search_rifflux", {"query": query, **given}) if plain and not user else None,
        user,
    )


def retrieve(name: str, query: str, user: str = "", db: str = WORKS, **options: Any) -> Case:
    """A retrieval of works."""
    given = {"top_k": 5, **options}
    flags = {{"subjects": "subject", "sources": "source"}.get(each, each): value for each, value in given.items()}
    filters = _listed({each: given[each] for each in ("subjects", "sources", "since", "until") if each in given})
    body = {each: value for each, value in given.items() if each not in filters}
    return Case(
        name,
        lambda w: w.index(db, user).retrieve(query, **body, filter=filters),
        ("retrieve", query, *_words(flags), *(("--user", user) if user else ())),
        ("POST", "/retrieve", {"query": query, **body, "filter": filters}),
        None if user else ("retrieve", {"query": query, **_listed(given)}),
        user,
        db,
    )


def why(name: str, query: str, document: str, top_k: int = 3, **options: Any) -> Case:
    """Why a document stands where it does; MCP explains its own search, of which the contract tells."""
    calling = {"top_k": top_k, **options}
    plain = set(options) <= {"mode"}
    return Case(
        name,
        lambda w: w.index().why(query, document, **calling),
        ("why", query, document, *_words(calling)),
        None,
        ("why", {"query": query, "document": document, **calling}) if plain else None,
    )


def talk(name: str, query: str, user: str = "ann", **options: Any) -> Case:
    """A search of messages."""
    flags = {{"conversation_id": "conversation"}.get(each, each): value
             for each, value in options.items() if each != "archived"}  # fmt: skip
    archived = {None: (), True: ("--archived",), False: ("--current",)}[options.get("archived")]
    return Case(
        name,
        lambda w: w.index(MAIN, user).conversations.search(query, top_k=4, **options),
        ("conversations", "search", query, "--user", user, "-k", "4", *_words(flags), *archived),
        ("POST", "/conversations/search", {"query": query, "top_k": 4, "explain": True, **options}),
        None,
        user,
    )


def recall(name: str, query: str, user: str = "ann", **options: Any) -> Case:
    """A search of memories."""
    return Case(
        name,
        lambda w: w.index(MAIN, user).memories.search(query, **options),
        ("memories", "search", query, "--user", user, *_words(options)),
        ("POST", "/memories/search", {"query": query, "explain": True, **options}),
        ("recall", {"query": query, **options}),
        user,
    )


def contract(name: str, query: str, **options: Any) -> Case:
    """The search of the contract, in the shapes of agents and scripts."""
    return Case(
        name,
        lambda w: SearchService(w.index()).search(query, **options),
        None,
        None,
        ("search_rifflux", {"query": query, **options}),
    )


def _synonyms(w: World) -> Any:
    with rifflux.open(w.path(MAIN), model=MODEL, synonyms=w.synonyms) as index:
        return index.search("raptor tapestry", top_k=4)


def _by_words_alone(w: World) -> Any:
    w.index().policies.set(HYBRID_SEARCH, False)
    try:
        return w.index(MAIN, "ann").conversations.search("cache minutes", top_k=3, neighbors=1).grouped()
    finally:
        w.index().policies.set(HYBRID_SEARCH, True)


def _status(w: World) -> Any:
    return [w.index(db, user).status() for db, user in ((MAIN, ""), (MAIN, "ann"), (MAIN, "bob"), (WORKS, ""))]


_FILTERED = Filter(not_kinds=("code",), bounds=(Bound("priority", most=1),), without=("author",))

FILES = (
    search("files hybrid", "how long do cache entries live"),
    search("files lexical", "cache eviction", mode="lexical"),
    search("files semantic", "birds that catch fish", mode="semantic"),
    search("files hybrid-rerank", "night train to the islands", mode="hybrid-rerank"),
    search("phrase", '"night train" ferry'),
    search("required and excluded", "+river -walrus heron"),
    search("prefix", "evict* -browser"),
    search("misspelt", "kingfishr evicton"),
    search("accents and case", "CREME CAFE", mode="lexical"),
    search("identifier in text", "E1042"),
    search("facet in the question", "minutes author:ann"),
    search("code identifier", "get_entry"),
    search("code in words", "count the herons of a river", filter={"kinds": ("code",)}),
    search("filter by path", "river", filter={"paths": ("birds/**", "*.rs")}),
    search("filter by dates", "cache", filter={"since": "2024-01-01", "until": "2024-12-31"}),
    search("filter by metadata", "minutes", filter={"metadata": {"tags": "storage"}}),
    Case("filter by bounds and kinds", lambda w: w.index().search("river fish", top_k=4, filter=_FILTERED)),
    search("fusion rrf", "river birds", fusion="rrf"),
    search("fusion linear", "river birds", fusion="linear"),
    search("fusion balanced", "river birds", fusion="balanced"),
    search("fusion adaptive", "river birds RFX-77", fusion="adaptive"),
    search("rerank features", "entries of the cache expire", rerank="features"),
    search("rerank maxsim", "entries of the cache expire", rerank="maxsim"),
    search("collapse", "cache entries live ten minutes", collapse=True),
    search("one per document", "walrus and tide", one_per_document=True),
    search("diversify", "cache river walrus", diversify=True, top_k=6),
    search("least relevance", "how long is bread baked", min_score=0.3),
    search("nothing found", "xylophone", mode="lexical"),
    search("not to be meant", "river", top_k=0),
    Case("synonyms", _synonyms, ("search", "raptor tapestry", "-k", "4", "--synonyms", "{folder}/synonyms.txt")),
    why("why it is found", "how long do cache entries live", "cache.md"),
    why("why it is below the page", "river", "long.md", top_k=1, mode="lexical"),
    why("why it is blocked", "leeks -potatoes", "cooking/soup.md"),
    Case(
        "why a filter hides it",
        lambda w: w.index().why("cache", "cache-old.md", top_k=3, rerank="features", filter={"since": "2024-01-01"}),
        ("why", "cache", "cache-old.md", "-k", "3", "--rerank", "features", "--since", "2024-01-01"),
    ),
    Case(
        "classify",
        lambda w: [w.index().classify(each) for each in ("E1042", "why do birds dive", "TimedCache evicts entries")],
        None,
        None,
        ("classify_query", {"query": "TimedCache evicts entries"}),
    ),
    Case(
        "read a document",
        lambda w: [w.index().get("cooking/bread.md"), w.index().chunks("cooking/bread.md")],
        ("get", "cooking/bread.md"),
        ("GET", "/documents/cooking/bread.md", None),
        ("get_document", {"document": "long.md", "start": 1, "max_tokens": 200}),
    ),
    Case(
        "no such document",
        lambda w: w.index().get("nowhere.md"),
        ("get", "nowhere.md"),
        ("GET", "/documents/nowhere.md", None),
        ("get_document", {"document": "nowhere.md"}),
    ),
    Case("status", _status, ("status",), ("GET", "/stats", None), ("index_status", {})),
    contract("contract lexical", "cache entries", mode="lexical", top_k=3),
    contract("contract hybrid", "herons at the river", top_k=3, mode="hybrid"),
)

USERS = (
    search("ann searches", "cache plan", user="ann"),
    search("bob searches", "cache plan", user="bob", rerank="features"),
    Case(
        "ann asks everything",
        lambda w: w.index(MAIN, "ann").everything("what about the cache", top_k=6),
        None,
        ("POST", "/everything", {"query": "what about the cache", "top_k": 6, "explain": True}),
        user="ann",
    ),
    Case(
        "nobody asks everything",
        lambda w: w.index().everything('"rested dough" river', top_k=5, mode="lexical"),
        None,
        ("POST", "/everything", {"query": '"rested dough" river', "top_k": 5, "mode": "lexical"}),
    ),
    talk("messages with neighbours", "who decided on cache entries", neighbors=1),
    talk("messages narrowed", "train", role="assistant", archived=True, project="home", since="2025-01-01"),
    talk("messages of bob", "cache of the mill", user="bob", conversation_id="talk-bread", neighbors=2),
    Case(
        "messages by words, in groups",
        _by_words_alone,
        ("conversations", "list", "--user", "ann"),
        ("GET", "/conversations", None),
        user="ann",
    ),
    recall("memories of ann", "how does she take her tea", top_k=3),
    recall("memories of a category", "tea", user="bob", category="preference"),
)

OF_WORKS = (
    retrieve("lookup", "Etale cohomology of schemes", cite="bibtex"),
    retrieve("survey", "sheaf cohomology", mode="survey", since="1990", until="2014", max_tokens=300),
    retrieve("compare", "quicksort versus etale cohomology", mode="compare", sources=["shelf"]),
    retrieve("prereq", "what to read before etale cohomology", mode="prereq", cite="csl"),
    retrieve("related", "papers similar to doi:10.1000/sheaves", mode="related", subjects=["math.AG", "math.AT"]),
    retrieve("related to a closed work", "works like Closed cohomology notes", mode="related"),
    retrieve("works of ann", "rings of caches", user="ann", db=MAIN),
    Case(
        "one work",
        lambda w: [w.index(WORKS).works.get(each) for each in ("doi:10.1000/etale", "shelf:closed")],
        ("works", "show", "doi:10.1000/etale"),
        ("GET", "/works/doi:10.1000/sheaves", None),
        ("get_document", {"document": "doi:10.1000/etale"}),
        db=WORKS,
    ),
    Case(
        "all works, and doubts",
        lambda w: [w.index(WORKS).works.all(), w.index(WORKS).works.doubts(), w.index(MAIN, "bob").works.all()],
        ("works", "list"),
        ("GET", "/works/shelf:closed", None),
        db=WORKS,
    ),
    Case(
        "bibliography",
        lambda w: w.index(WORKS).works.export("shelf:sheaves", "shelf:closed", "cs/9401001", format="csl").split("\n"),
        ("works", "export", "--bibtex", "shelf:sheaves", "shelf:closed"),
        ("POST", "/works/export", {"works": ["shelf:primer", "shelf:closed"], "format": "csl"}),
        db=WORKS,
    ),
)

CASES: tuple[Case, ...] = tuple(chain(FILES, USERS, OF_WORKS))
