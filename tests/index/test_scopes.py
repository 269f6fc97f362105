"""Nothing of one user ever shows to another: every public method is tried, by all that it tells and by its errors.

Ann makes the same calls in two worlds. In one she is alone; in the other there are bob, ann2 and what is nobody's,
with keys, titles and words like hers, and with some that she does not have. What she is told must be the same in both,
to the last digit of a score, and nothing that she does may change what they are told. The same holds where others let
her read collections: of what else they have she is told nothing.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Index, OutOfScope, RiffluxError, Scope
from rifflux.conversations import Conversation, Conversations, Message, Thread
from rifflux.index.admin import Admin
from rifflux.index.documents import DocumentPage
from rifflux.ingest.walk.find import Finder
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView
from rifflux.session.writing import Writer
from rifflux.testing import everything
from tests.support.exploring import examples
from tests.support.reading import read_here
from tests.support.users import CANARY, KEYS, QUESTIONS, SECRETS, TEXTS, fill, hide, ids_of, share

CHAT = Path(__file__).parents[1] / "support" / "chat.json"


@dataclass
class World:
    """An index, and the ids of chunks that somebody may have told ann, her own among them."""

    index: Index
    ids: list[str]

    @property
    def ann(self) -> Index:
        return self.index.scoped(Scope("ann"))

    @property
    def talks(self) -> Conversations:
        return self.ann.conversations


@dataclass(frozen=True)
class Asked:
    """What a call may be given."""

    question: str
    key: str
    id: str
    narrow: Mapping[str, Any]
    collection: str = "library"


@pytest.fixture(scope="module", params=["owned", "shared"])
def worlds(request: pytest.FixtureRequest) -> Iterator[tuple[World, World]]:
    """Ann alone, and ann among others; some of their rows are older than hers, and some younger."""
    with rifflux.open(":memory:", model="hash:64") as alone, rifflux.open(":memory:", model="hash:64") as crowded:
        for index in (alone, crowded):
            index.policies.set(HYBRID_SEARCH, True)
        for user in ("bob", "ann2", ""):
            fill(crowded, user, SECRETS, "bobs-")
        if request.param == "shared":
            for index in (alone, crowded):
                share(index)
            hide(crowded)
        for index in (alone, crowded):
            fill(index, "ann", TEXTS)
        fill(crowded, "bob", (*SECRETS, *TEXTS), "bobs-")
        ids = ids_of(crowded)
        yield World(alone, ids), World(crowded, ids)


def counted(view: IndexView, question: str) -> dict[str, float]:
    return view.resources.idf(Searcher(view).hybrid_plan(question))


def pages(index: Index, limit: int) -> Sequence[DocumentPage]:
    """All pages of the list of documents."""
    found = [index.documents.list(limit=limit)]
    while after := found[-1].next:
        found.append(index.documents.list(after=after, limit=limit))
    return found


def cursor(*place: str) -> str:
    """A place in that list, as its pages name it."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


READ: Mapping[str, Callable[[World, Asked], Any]] = {
    "index.search": lambda w, a: w.ann.search(a.question, filter=dict(a.narrow)),
    "index.search lexical": lambda w, a: w.ann.search(a.question, mode="lexical", rerank="features"),
    "index.search semantic": lambda w, a: w.ann.search(a.question, mode="semantic", diversify=True, collapse=True),
    "index.search linear": lambda w, a: w.ann.search(a.question, fusion="linear", rerank="maxsim"),
    "index.why": lambda w, a: [w.ann.why(a.question, each) for each in (a.key, a.id)],
    "searcher.plan": lambda w, a: w.ann.admin.searcher.hybrid_plan(a.question)(5),
    "index.retrieve": lambda w, a: w.ann.retrieve(a.question),
    "index.answer": lambda w, a: w.ann.answer(a.question, filter=dict(a.narrow)),
    "index.answer in": lambda w, a: w.ann.answer(a.question, filter={"collections": [a.collection]}),
    "index.answering": lambda w, a: [*w.ann.answering(a.question, [{"role": "user", "content": "heron"}])],
    "index.chats": lambda w, a: w.ann.chats.list(),
    "index.chats get": lambda w, a: w.ann.chats.get(a.id),
    "index.classify": lambda w, a: w.ann.classify(a.question),
    "index.everything": lambda w, a: w.ann.everything(a.question),
    "index.get": lambda w, a: w.ann.get(a.id),
    "index.get key": lambda w, a: w.ann.get(a.key),
    "index.document": lambda w, a: w.ann.document(a.key),
    "index.chunks": lambda w, a: w.ann.chunks(a.key),
    "index.status": lambda w, a: w.ann.status(),
    "view.outdated": lambda w, a: w.ann.admin.view.outdated,
    "store.totals": lambda w, a: w.ann.admin.store.totals(),
    "index.contains": lambda w, a: (a.key in w.ann, a.id in w.ann),
    "index.count_tokens": lambda w, a: w.ann.count_tokens(a.question),
    "admin.counts": lambda w, a: w.ann.admin.counts(),
    "index.embedding_model": lambda w, a: w.ann.embedding_model,
    "admin.embeds_here": lambda w, a: w.ann.admin.embeds_here,
    "admin.warm": lambda w, a: w.ann.admin.warm(),
    "view.scope": lambda w, a: w.ann.admin.view.scope,
    "index.policies": lambda w, a: (w.ann.policies.all(), w.ann.policies.get(HYBRID_SEARCH)),
    "view.part": lambda w, a: Searcher(w.ann.admin.view.part(a.key, w.ann.profile)).search(a.question),
    "index.using": lambda w, a: w.ann.using(w.ann.profile).search(a.question),
    "index.works": lambda w, a: [w.ann.works.doubts(), w.ann.works.all()],
    "index.works get": lambda w, a: w.ann.works.get(a.key),
    "admin.personal_counts": lambda w, a: w.ann.admin.personal_counts(),
    "talks.counts": lambda w, a: w.talks.counts(),
    "index.memories": lambda w, a: [w.ann.memories.search(a.question).memories, w.ann.memories.all(everything=True)],
    "index.scoped": lambda w, a: w.ann.scoped(Scope("bob")),
    "admin.store": lambda w, a: everything(w.ann.admin.store, [int(id, 16) for id in w.ids]),
    "view.resources": lambda w, a: counted(w.ann.admin.view, a.question),
    "index.search in": lambda w, a: w.ann.search(a.question, filter={"collections": [a.collection]}),
    "index.search typed": lambda w, a: w.ann.search(f"{a.question} collection:{a.collection}"),
    "index.retrieve in": lambda w, a: w.ann.retrieve(a.question, filter={"collections": a.collection}).reranked,
    "index.everything in": lambda w, a: w.ann.everything(a.question, filter={"collections": [a.collection]}),
    "index.document in": lambda w, a: w.ann.document(f"{a.collection}/{a.key}"),
    "index.documents": lambda w, a: pages(w.ann, 3),
    "index.documents in": lambda w, a: w.ann.documents.list(collections=[a.collection]),
    "index.documents after": lambda w, a: w.ann.documents.list(after=cursor(a.collection, "=documents", a.key)),
    "index.collections": lambda w, a: w.ann.collections.list(),
    "index.collections get": lambda w, a: w.ann.collections.get(a.collection),
    "index.collections groups": lambda w, a: w.ann.collections.groups(),
    "view.rights": lambda w, a: w.ann.admin.view.rights.visible(),
    "talks.search": lambda w, a: w.talks.search(a.question, neighbors=2),
    "talks.search in": lambda w, a: w.talks.search(a.question, conversation_id=a.key, project="", archived=False),
    "talks.list": lambda w, a: [w.talks.list(), w.talks.list(project="bobs-")],
    "talks.get": lambda w, a: w.talks.get(a.key),
    "talks.messages": lambda w, a: w.talks.messages(a.key),
    "talks.message": lambda w, a: [w.talks.message("talk", a.key), w.talks.message("bobs-talk", a.key)],
    "talks.hybrid": lambda w, a: w.talks.hybrid,
    "talks.check_hybrid": lambda w, a: w.talks.check_hybrid(),
}

#: What changes something; `test_nothing_that_ann_does_reaches_others` tries them with other people's keys and ids.
WRITTEN: Mapping[str, Callable[[World, Asked], Any]] = {
    "index.add": lambda w, a: w.ann.add(Document(a.key, a.question)).chunks,
    "index.remove": lambda w, a: w.ann.remove(a.key),
    "index.judge": lambda w, a: w.ann.judge(a.question, a.key, 1).user,
    "index.judge as": lambda w, a: w.ann.judge(a.question, a.key, 1, user="bob"),
    "index.judge id": lambda w, a: w.ann.judge(a.question, a.id, 1).key,
    "index.note": lambda w, a: w.ann.note("click", a.question, a.id).key,
    "admin.declare_facets": lambda w, a: w.ann.admin.declare_facets("tags"),
    "admin.embed": lambda w, a: w.ann.admin.embed(),
    "writer.embed_changes": lambda w, a: Writer(w.ann.admin.view).embed_changes([]),
    "index.policies": lambda w, a: w.ann.policies.set(HYBRID_SEARCH, False),
    "index.works": lambda w, a: w.ann.works.import_text(a.question, source="own", format="latex").added,
    "index.sync": lambda w, a: w.ann.sync().deleted_files,
    "writer.sync_targets": lambda w, a: Writer(w.ann.admin.view).sync_targets((), finder=Finder()).indexed_files,
    "index.close": lambda w, a: w.ann.close(),
    "index.add in": lambda w, a: w.ann.add(Document(a.key, a.question), collection=a.collection).chunks,
    "documents.put": lambda w, a: w.ann.documents.put(Document(a.key, a.question)).chunks,
    "documents.put in": lambda w, a: w.ann.documents.put(Document(a.key, a.question), collection=a.collection).created,
    "documents.upload": lambda w, a: w.ann.documents.upload("n.txt", b"heron", key=a.key, collection=a.collection).key,
    "documents.remove": lambda w, a: w.ann.documents.remove(a.key),
    "documents.remove in": lambda w, a: w.ann.documents.remove(a.key, collection=a.collection),
    "collections.share": lambda w, a: w.ann.collections.share(a.collection, "bob").readers,
    "collections.unshare": lambda w, a: w.ann.collections.unshare(a.collection, "ann"),
    "collections.describe": lambda w, a: w.ann.collections.describe(a.collection, a.question).description,
    "collections.rename": lambda w, a: w.ann.collections.rename(a.collection, "quokka"),
    "collections.remove": lambda w, a: w.ann.collections.remove(a.collection, "/"),
    "collections.delete": lambda w, a: w.ann.collections.remove(a.collection),
    "collections.set_group": lambda w, a: w.ann.collections.set_group("quokkas", ["ann"]),
    "collections.remove_group": lambda w, a: w.ann.collections.remove_group("birders"),
    "talks.embed": lambda w, a: w.talks.embed().embedded,
    "talks.add": lambda w, a: w.talks.add("new", id=a.key, created_at="2024-05-05"),
    "talks.add_message": lambda w, a: w.talks.add_message("bobs-talk", a.question, id=a.key, created_at="2024-05-05"),
    "talks.edit": lambda w, a: w.talks.edit(a.key, title=a.question, archived=True),
    "talks.edit_message": lambda w, a: w.talks.edit_message("talk", a.key, text=a.question),
    "talks.put": lambda w, a: w.talks.put(Thread(Conversation(a.key), (Message("m0", a.key, a.question),))).added,
    # With a file it would start a process each time, and is the same besides.
    "talks.import_upload": lambda w, a: w.talks.import_upload("x.json", b"", format="none"),
    "talks.import_files": lambda w, a: w.talks.import_files(CHAT).added,
    "talks.delete_message": lambda w, a: [w.talks.delete_message(talk, a.key) for talk in ("talk", "bobs-talk")],
    "talks.delete": lambda w, a: w.talks.delete(a.key),
    "memories.forget": lambda w, a: w.ann.memories.forget(a.key),
    "memories.purge": lambda w, a: w.ann.memories.purge(),
}
#: What concerns everybody is refused.
REFUSED: Mapping[str, Callable[[World, Asked], Any]] = {
    "admin.check": lambda w, a: w.ann.admin.check(),
    "admin.repair": lambda w, a: w.ann.admin.repair(),
    "admin.backup": lambda w, a: w.ann.admin.backup("nowhere.db"),
    "admin.copy": lambda w, a: w.ann.admin.copy("nowhere.db"),
    "admin.extract": lambda w, a: w.ann.admin.extract("nowhere.db"),
    "admin.models": lambda w, a: w.ann.admin.models(),
    "admin.switch": lambda w, a: w.ann.admin.switch("hash:32"),
    "admin.switching": lambda w, a: w.ann.admin.switching(),
    "admin.abort_switch": lambda w, a: w.ann.admin.abort_switch(),
    "admin.accelerate": lambda w, a: w.ann.admin.accelerate(),
    "admin.embed_messages": lambda w, a: w.ann.admin.embed_messages(),
    "admin.refreshing": lambda w, a: w.ann.admin.refreshing(),
    "index.scoped": lambda w, a: w.ann.scoped(Scope("bob")),
    "admin.store": lambda w, a: w.ann.admin.store.of("bob"),
    "admin.delete_user": lambda w, a: w.ann.admin.delete_user("bob"),
    "admin.log": lambda w, a: w.ann.admin.log(),
}
#: These hold no rows: what is called through them is tried above.
OTHERWISE = frozenset(
    (
        *("index.watch", "index.conversations", "index.profile", "index.admin"),
        *("index.path", "admin.embedder", "admin.searcher", "admin.view"),
        # Of the whole process and for services alone: who may use them is decided by tokens, before.
        *("admin.keep_up", "admin.leave_building", "index.ledger", "admin.probe", "index.registry", "index.user"),
    )
)


def told(call: Callable[[World, Asked], Any], world: World, asked: Asked) -> str:
    """All that a call says: its answer, or its error, without what tells only the time."""
    try:
        answer = repr(call(world, asked))
    except RiffluxError as error:
        answer = f"{type(error).__name__}: {error}"
    answer = re.sub(
        r"milliseconds=mappingproxy\([^)]*\)|milliseconds=\{[^}]*\}|(\b\w*seconds|time|created_at)=[\d.e-]+", "", answer
    )
    # A pack says when it was asked for, and its digest covers that.
    answer = re.sub(r"(requested_at|digest)='[^']*'|created_at='[^']*\+00:00'", "", answer)
    return re.sub(r"0x[0-9a-f]+", "", answer)


def without(answer: str, asked: Asked) -> str:
    """An answer without what was asked: an echo tells nothing."""
    said = {*asked.question.replace('"', " ").split(), *asked.narrow.get("metadata", {}).values()}
    given = sorted({*said, asked.question, asked.id, *KEYS}, key=len)
    for text in (*sorted(COLLECTIONS, key=len, reverse=True), *reversed(given)):
        answer = answer.replace(text, "")
    return answer


#: Names of collections that ann has or reads, and of others.
COLLECTIONS = ("library", "wiki", "carl/wiki", "dora/plans", "/atlas", "plans", "carl/plans", "bob/wiki", "/bobs-wiki")
ASKED = st.builds(
    Asked,
    st.sampled_from(QUESTIONS),
    st.sampled_from(KEYS),
    st.integers(0, 10_000).map(str),
    st.sampled_from(
        ({}, {"documents": ["n0"]}, {"metadata": {"tags": "bobs-"}}, {"kinds": ["note"]}, {"until": "2024"})
    ),
    st.sampled_from(COLLECTIONS),
)


def given_id(world: World, asked: Asked) -> Asked:
    return replace(asked, id=world.ids[int(asked.id) % len(world.ids)])


def test_what_a_user_keeps_is_counted_for_that_user_alone() -> None:
    with rifflux.open(":memory:", model="hash:32") as index:
        ann = index.scoped(rifflux.Scope("ann"))
        ann.conversations.add(id="talk")
        ann.conversations.add_message("talk", "hello")
        ann.memories.add("Ann rows")
        assert ann.admin.personal_counts() == {"conversations": 1, "messages": 1, "memories": 1}
        assert index.scoped(rifflux.Scope("bob")).admin.personal_counts() == dict.fromkeys(
            ann.admin.personal_counts(), 0
        )
        index.scoped(rifflux.Scope("bob")).memories.add("Bob sails")
        index.memories.add("Somebody walks")
        assert index.admin.personal_counts() == {"conversations": 1, "messages": 1, "memories": 3}
        for each in (ann, index):
            status = each.status()
            assert {
                name: getattr(status, name) for name in each.admin.personal_counts()
            } == each.admin.personal_counts()


def test_every_public_method_is_tried() -> None:
    tried = {name.split()[0] for name in (*READ, *WRITTEN, *REFUSED)} | OTHERWISE
    public = {f"index.{name}" for name in dir(Index) if not name.startswith("_")}
    public |= {f"admin.{name}" for name in (*dir(Admin), "view") if not name.startswith("_")}
    public |= {f"talks.{name}" for name in dir(Conversations) if not name.startswith("_")}
    assert public <= tried


@pytest.mark.parametrize("name", READ)
@examples(12)
@given(asked=ASKED)
def test_what_ann_is_told_does_not_depend_on_others(name: str, asked: Asked, worlds: tuple[World, World]) -> None:
    asked = given_id(worlds[0], asked)
    alone, crowded = (told(READ[name], world, asked) for world in worlds)
    assert crowded == alone
    assert not CANARY.search(without(crowded, asked))


@pytest.mark.parametrize("name", REFUSED)
def test_what_concerns_everybody_is_refused_in_a_scope(name: str, worlds: tuple[World, World]) -> None:
    for world in worlds:
        with pytest.raises(OutOfScope):
            REFUSED[name](world, Asked("", "", "", {}))


def test_nothing_that_ann_does_reaches_others(worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> None:
    read_here(monkeypatch)
    alone, crowded = worlds
    ids = [int(id, 16) for id in crowded.ids]
    others = [
        view
        for view in crowded.index.admin.store.views()
        if not view.owner.startswith("ann\x1f") and view.owner != "ann"
    ]
    before = [everything(view, ids) for view in others]
    given = crowded.ids[::17]
    # Each call gets each key, each collection and each of these ids, in combinations that change from call to call.
    most = max(len(KEYS), len(COLLECTIONS), len(given))
    for place, (call, number) in enumerate(itertools.product(WRITTEN.values(), range(most))):
        asked = Asked(
            QUESTIONS[place % len(QUESTIONS)],
            KEYS[number % len(KEYS)],
            given[number % len(given)],
            {},
            COLLECTIONS[(place + number // len(COLLECTIONS)) % len(COLLECTIONS)],
        )
        assert told(call, crowded, asked) == told(call, alone, asked)
    assert [everything(view, ids) for view in others] == before


def test_the_canaries_are_there_to_be_seen(worlds: tuple[World, World]) -> None:
    bob = worlds[1].index.scoped(Scope("bob"))
    assert CANARY.search(repr(bob.search("kestrel")))
    assert CANARY.search(repr(bob.conversations.search("kestrel")))
    assert CANARY.search(repr(bob.memories.all()))
