"""What may be shown: by the license, then by who owns it, then by what was decided."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rifflux.index import Index, open_index
from rifflux.session.license_policy import LicensePolicy
from rifflux.text.licenses import checked_rules
from rifflux.types import REST_WITHHELD, WITHHELD, Document, Hit, Link, Part, Tag

WORKS = "works/shelf"
DOCUMENT = Document(
    "a", "Abstract.\n\nSecret.", "Title", "article", "1871", None, {"authors": ["Ann"], "note": "Secret."},
    links=(Link("doi:10.1/b"),), tags=(Tag("msc", "14"), Tag("term", "secret")),
    parts=(Part("abstract", (0, 9)), Part("section", (11, 18), ("Secret heading",))),
)  # fmt: skip
HIT = Hit(
    "0" * 16, "a", "shelf/a", "Title", "Secret heading", 0, "Secret.", (11, 18), namespace=WORKS, created_at="1871",
    metadata={"authors": ["Ann"], "note": "Secret."},
)  # fmt: skip


def test_what_is_no_work_is_shown_whatever_its_license() -> None:
    rule = LicensePolicy(mine=())
    assert rule.document("default", DOCUMENT) is DOCUMENT
    assert rule.hit(replace(HIT, namespace="default")).text == "Secret."


def test_an_owner_is_told_facts_and_no_text() -> None:
    shown = LicensePolicy().document(WORKS, DOCUMENT)
    assert (shown.text, shown.withheld, shown.metadata, shown.created_at) == (
        WITHHELD,
        True,
        {"authors": ["Ann"]},
        "1871",
    )
    assert (shown.links, shown.tags, shown.parts) == (DOCUMENT.links, (Tag("msc", "14"),), ())
    hit = LicensePolicy().hit(HIT)
    assert (hit.text, hit.heading_path, hit.withheld, hit.metadata) == (WITHHELD, "", True, {"authors": ["Ann"]})


def test_a_reader_of_what_another_shares_is_told_neither() -> None:
    rule = LicensePolicy(mine=())
    assert rule.document(WORKS, DOCUMENT) == Document("a", WITHHELD, "Title", withheld=True)
    hit = rule.hit(HIT)
    assert (hit.text, hit.metadata, hit.created_at, hit.withheld) == (WITHHELD, {}, None, True)


def test_of_an_abstract_license_the_abstract_is_shown_to_all() -> None:
    license = "arXiv-nonexclusive-distrib-1.0"
    shown = LicensePolicy(mine=()).document(WORKS, replace(DOCUMENT, license=license))
    assert shown.text == f"Abstract.\n\n{REST_WITHHELD}"
    assert (shown.parts, shown.metadata, shown.withheld) == (DOCUMENT.parts[:1], {"authors": ["Ann"]}, False)


def test_without_a_store_no_passage_is_taken_for_the_abstract() -> None:
    hit = replace(HIT, license="arXiv-nonexclusive-distrib-1.0", span=(0, 9))
    assert LicensePolicy().hit(hit).withheld


@pytest.fixture
def index() -> Index:
    return open_index(":memory:", model="hash")


class TestDecisions:
    def test_own_texts_are_shown_to_their_owner_and_never_to_readers(self, index: Index) -> None:
        index.policies.set("own_texts", "on")
        rule = index.admin.view.visible
        assert rule.hit(HIT).text == "Secret."
        assert replace(rule, mine=()).hit(HIT).text == WITHHELD

    def test_facts_may_be_told_to_everyone(self, index: Index) -> None:
        index.policies.set("facts", "everyone")
        assert replace(index.admin.view.visible, mine=()).hit(HIT).metadata == {"authors": ["Ann"]}

    def test_the_policy_comes_before_the_configuration(self, index: Index) -> None:
        configured = LicensePolicy(checked_rules({"mine": "text", "other-oa": "text"}), index.admin.store)
        index.policies.set("licenses", {"mine": "nothing"})
        assert configured.hit(replace(HIT, license="mine")).withheld
        assert not configured.hit(replace(HIT, license="other-oa")).withheld

    def test_rules_that_cannot_be_read_open_nothing(self, index: Index) -> None:
        index.admin.store.records.set("policy licenses", "what a later version wrote")
        index.admin.store.records.set("policy facts", "what a later version wrote")
        shown = index.admin.view.visible.hit(replace(HIT, license="CC0-1.0"))
        assert (shown.withheld, shown.metadata) == (True, {})
