"""A service with two users and an administrator, and a browser, one of each for all tests here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

import rifflux
from rifflux import Document, Scope
from rifflux.conversations import Conversation, Message, Thread
from rifflux.service.accounts import ADMIN, Accounts
from rifflux.works import Work
from tests.support.browser import Opened, launched, opened
from tests.support.server import Running, serving

HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>'
MARKDOWN = """# Penguins

The **penguin 🐧 colony** has [a page](https://penguins.example/colony), [no page](javascript:alert(1)),
![a chick](x.png).

| bird | eats |
| --- | --- |
| emperor penguin | `krill` |

<script>document.title = 1</script>
"""
FENCED = "The quokka is fed by this:\n\n```python\nif quokka.hungry:\n    quokka.feed()\n```\n\nThe quokka sleeps then."
LONG = "\n\n".join(f"## Part {number}\n\nThe cache of part {number} is 🦦 emptied daily." for number in range(40))


@dataclass(frozen=True)
class Site:
    """A service that runs, and the tokens of its users."""

    service: Running
    tokens: dict[str, str]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Iterator[Site]:
    """Ann and ben have things of their own and share little; root looks after it."""
    run = command_line(tmp_path_factory.mktemp("site"))
    with rifflux.open(run.folder / "index.db", model="hash") as index:
        accounts = Accounts(index.registry)
        tokens = {
            name: accounts.create(name, ADMIN if name == "root" else "user")[1] for name in ("ann", "ben", "root")
        }
        fill(index)
    with serving(run, "--db", "index.db", "--rate", "100000") as service:
        yield Site(service, tokens)


def fill(index: rifflux.Index) -> None:
    """Give both users documents, conversations and works."""
    ann, ben = (index.scoped(Scope(name)) for name in ("ann", "ben"))
    index.admin.declare_facets("team")
    for number in range(14):
        facts = {"team": "search" if number % 2 else "index"}
        text, dated = f"Cache entries live for {number} minutes.", f"2024-05-{number + 1:02}"
        ann.add(Document(f"notes/n{number}.md", text, f"Caching {number}", "markdown", dated, metadata=facts))
    ann.add(Document("marked.md", MARKDOWN, "Of Markdown", "markdown"))
    ann.add(Document("fenced.md", FENCED, "Feeding", "markdown"))
    ann.add(Document("long.md", LONG, "A long story", "markdown"))
    ann.add(Document("hostile.html", f"{HOSTILE} the cache is evil", HOSTILE, "html", metadata={"team": HOSTILE}))
    ben.add(Document("secret.md", "The cache of ben is a secret kestrel.", "Kestrels", "markdown"))
    ben.collections.create("wiki", description="What ben tells")
    ben.documents.put(
        Document("shared.md", "Everybody may read of the shared heron cache.", "Herons"), collection="wiki"
    )
    ben.collections.share("wiki", "ann")
    talk = tuple(
        Message(f"m{number}", "talk", text, role=role, created_at="2024-05-01")
        for number, (role, text) in enumerate(
            (("user", "How long does the cache live?"), ("assistant", "Ten minutes."))
        )
    )
    ann.conversations.put(Thread(Conversation("talk", "Of caches"), talk))
    ann.memories.add("Ann drinks green tea", category="taste")
    ann.works.add(
        Work("On caching", "Cache entries live for ten minutes.", year=1990, authors=("Able, Ann",), license="CC0-1.0")
    )


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """A browser."""
    with launched() as browser:
        yield browser


@pytest.fixture
def tab(browser: Any, site: Site) -> Iterator[Callable[..., Opened]]:
    """What opens a tab, signed in as a user if one is named; nothing may go wrong in it.

    A user's tab shows the page at an address; without one it is left for the test to load it.
    """
    with ExitStack() as stack:

        def new(user: str = "", *, at: str | None = "/", **options: Any) -> Opened:
            made = stack.enter_context(opened(browser, site.service.url, **options))
            if user:
                made.sign_in(site.tokens[user])
            if user and at is not None:
                made.goto(at).wait_for_selector("#who button")
            return made

        yield new
