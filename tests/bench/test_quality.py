"""Sets made mechanically hold what they say: names in ten forms, invented collections, definitions, pages."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from bench.quality import made, memories, naming, notes, papers, ranking, reliability, variants
from bench.quality.definitions import Definition, definitions, parts
from bench.quality.invented import COLLECTIONS, PROSE, invent, pronounceable
from bench.quality.manuals import Page, _pages, _pdf
from bench.quality.name_forms import FORMS, Name, beginnings, in_form, unique
from bench.quality.notebook import MONTH, write_notes

from rifflux.evaluate import Cache, Collection, JudgedQuestion
from rifflux.ingest.read.base import File
from rifflux.ingest.read.pdf import read
from rifflux.models.hashing import HashEmbedder
from tests.support.papers import centered, column, typeset


def test_a_name_is_changed_to_what_people_write() -> None:
    changed = {form: change("Chapter 7, Section 12: Find the Path") for form, change in FORMS.items()}
    assert changed.pop("in a sentence").count("Chapter 7, Section 12: Find the Path") == 1
    assert changed == {
        "exact": "Chapter 7, Section 12: Find the Path",
        "lower case": "chapter 7, section 12: find the path",
        "unpunctuated": "Chapter 7 Section 12 Find the Path",
        "hyphens": "Chapter-7,-Section-12:-Find-the-Path",
        "leading zeros": "Chapter 07, Section 12: Find the Path",
        "number first": "7 Chapter Section 12: Find the Path",
        "abbreviated": "Ch. 7, Section 12: Find the Path",
        "compact": "Chapter7, Section 12: Find the Path",
        "reordered": "the Path Chapter 7, Section 12: Find",
    }


def test_a_form_is_asked_of_what_it_changes() -> None:
    names = [Name("Find the Path", "a"), Name("Chapter 7", "b")]
    assert [name.document for name, _ in in_form("leading zeros", names)] == ["b"]
    assert [name.document for name, _ in in_form("exact", names)] == ["a", "b"]


def test_names_are_unique_after_normalising() -> None:
    names = [Name(text, text) for text in ("The Path", "path, the", "Path 07", "PATH 7", "Short way", "abc")]
    assert [name.text for name in unique(names)] == ["Short way"]


def test_beginnings_end_with_the_number_that_sets_them_apart() -> None:
    names = [Name(f"30 CFR § 250.{number} Who may appeal?", str(number)) for number in range(5)]
    assert [name.text for name in beginnings(names)] == [f"30 CFR § 250.{number}" for number in range(5)]
    assert beginnings([Name("10 years later", "a"), Name("Another title", "b"), Name("A third one", "c")]) == []


def test_what_naming_changes_is_measured(tmp_path: Path) -> None:
    texts = {f"other-{number}": ("Walking", f"To find the path, find path {number}.") for number in range(9)}
    texts |= {"spell": ("Find the Path", "It leads the way, and ends with the day, on foot or on horseback.")}
    records = ({"_id": id, "title": title, "text": text} for id, (title, text) in texts.items())
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, records)))
    asked = (JudgedQuestion("1", "find the path", {"spell": 1}), JudgedQuestion("2", "horseback", {"spell": 1}))
    collection = Collection("spells", "test", asked, tmp_path / "corpus.jsonl")
    with Cache(tmp_path / "kept", model="hash:64") as cache:
        found = naming.compared("srd5e", collection, cache.index(collection))
    assert found.recognized.tolist() == [1.0, 1.0]
    assert found.ignored[0] < 1.0
    assert found.ignored[1] == 1.0
    rows = [*naming._rows([found, naming.Compared("prose", ["a"], found.recognized[1:], found.ignored[1:])])]
    assert [row[0] for row in rows] == ["prose", "**mean**", "srd5e"]
    assert [row[-1] for row in rows] == ["0", "", "1"]


def test_invented_collections_are_a_seed_s_own(tmp_path: Path) -> None:
    for name in PROSE:
        (tmp_path / name).mkdir()
        prose = [f"A sentence that is long enough to be taken, number {number} of {name}." for number in range(9)]
        (tmp_path / name / "corpus.jsonl").write_text("\n".join(json.dumps({"text": each}) for each in prose))
    made = {where: invent(tmp_path / where, tmp_path, seed) for where, seed in (("a", 1), ("b", 1), ("c", 2))}
    assert made["a"] == made["b"]
    assert len(made["a"]) == len(COLLECTIONS)
    for kind, names in made["a"].items():
        assert len({name.text for name in names}) == len({name.document for name in names}) > 200, kind
        records = map(json.loads, (tmp_path / "a" / kind / "corpus.jsonl").read_text().split("\n"))
        titles = {record["_id"]: record["title"] for record in records}
        assert all(titles[name.document].startswith(name.text) for name in names)
    assert not set(made["a"]["cases-1"]) & set(made["c"]["cases-2"])
    assert pronounceable(random.Random(1)).isalpha()


def test_definitions_are_those_that_one_file_has(tmp_path: Path) -> None:
    (tmp_path / "python").mkdir()
    (tmp_path / "one.py").write_text(
        'class Reader:\n    def read_all(self):\n        """Read all that is there, please."""\n'
    )
    (tmp_path / "two.go").write_text(
        "package two\n\n// Open opens what the given path names.\nfunc Open(path string) {}\n"
    )
    (tmp_path / "three.js").write_text("app.handle = function handle() {}\nfunction shared() {}\n")
    (tmp_path / "four.ts").write_text("export function shared(): void {}\nexport interface Options {}\n")
    (tmp_path / "five.d.ts").write_text("export interface Options {}\n")
    (tmp_path / "six.rs").write_text("#[inline]\npub fn trim_all() {}\n")
    found = {each.name: each for each in definitions(tmp_path)}
    assert set(found) == {"Reader", "read_all", "Open", "handle", "Options", "trim_all"}
    assert found["read_all"] == Definition("read_all", "python", "one.py", (2,), "Read all that is there, please")
    assert found["Open"].sentence == "opens what the given path names"
    assert found["trim_all"].lines == (2,)
    assert parts("safeJoin") == parts("safe_join") == ["safe", "join"]


def test_pages_are_those_that_the_reader_reads() -> None:
    text = "# First (one)\n\n" + "\n\n".join(f"Paragraph {number} speaks of wombats." for number in range(40))
    pages = list(_pages("manual.pdf", text))
    assert pages[0].headings == ["First (one)"]
    (parsed,) = read(File("manual.pdf", _pdf([page.lines for page in pages], "manual")))
    for page in pages:
        assert _shown(page) <= set(parsed.document.text.split("\n"))
    assert parsed.document.metadata["pages"] == len(pages) == 2


def _shown(page: Page) -> set[str]:
    return {line for line in page.lines if line}


def test_notes_are_asked_for_what_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = write_notes(tmp_path / "made", 0)
    assert all((tmp_path / "made" / question.note).is_file() for question in questions)
    months = [question.text for question in questions if question.kind == MONTH]
    assert len(set(months)) == len(months) > 80
    monkeypatch.setattr(notes, "write_notes", lambda folder, seed: write_notes(folder, seed)[:4])
    monkeypatch.setattr("sys.argv", ["notes", "--modes", "lexical", "--json", str(tmp_path / "answers.json")])
    notes.main()
    assert "| paraphrase | lexical | 2 |" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "answers.json").read_text())) == 4


def test_relevance_that_is_as_often_right_as_it_says_is_reliable() -> None:
    relevance = np.array([0.25] * 4 + [0.75] * 4)
    answer = np.array([True, False, False, False, True, True, True, False])
    bins = list(reliability.reliability(relevance, answer, np.ones(8)))
    assert [each for each in bins if each[2]] == [(0.25, 0.25, 4), (0.75, 0.75, 4)]
    assert len(bins) == 10
    assert reliability.brier(relevance, answer, np.ones(8)) == 0.1875
    assert reliability.brier(answer.astype(float), answer, np.ones(8)) == 0


def test_a_mode_may_be_the_name_of_a_run_of_an_ablation() -> None:
    runs = list(ranking._runs(["rrf", "hybrid"]))
    assert [run.name for run in runs] == ["rrf", "hybrid"]
    assert runs[0].options == {"mode": "hybrid", "fusion": "rrf", "rerank": "none"}
    assert runs[1].options == {"mode": "hybrid"}


def test_papers_are_judged_by_what_is_true_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.pdf").write_bytes(
        typeset([[*centered(["The Patience of Herons"], 700, 16), *centered(["Anna Lee"], 660, 10), *_BODY]])
    )
    (tmp_path / "truths.tsv").write_text(
        "a.pdf\tThe patience of herons\tA. Lee\tHerons wait...\t1 Rivers | 2 Birds\t\n"
    )
    monkeypatch.setattr("sys.argv", ["papers", str(tmp_path), str(tmp_path / "truths.tsv"), "--show"])
    papers.main()
    told = capsys.readouterr().out
    assert "| title | 1 | 1 | 0 | 0 |" in told
    assert "| authors | 1 | 1 | 0 | 0 |" in told
    assert "| abstract | 1 | 0 | 1 | 0 |" in told
    assert "| sections | 1 | 1 | 0 | 0 |" in told
    assert "| references | 0 | 0 | 0 | 0 |" in told
    assert "unknown  abstract  a.pdf: ''" in told


_BODY = column(["# 1 Rivers", "Rivers flow. " * 60, "# 2 Birds", "Birds wade. " * 60], 90, 600, 430)


def test_memories_are_found_at_least_as_well_as_the_same_texts_as_documents() -> None:
    ranks: dict[str, list[float]] = {}
    for _, way, _, *_, reciprocal in memories.rows(most=20):
        ranks.setdefault(way, []).append(reciprocal)
    means = {way: float(np.mean(each)) for way, each in ranks.items()}
    assert means["memories"] >= means["documents"]
    assert means["memories"] > means["memories, rrf"]


def test_facts_name_their_owner_and_forms_do_not() -> None:
    known = memories.facts()
    assert all(each.name and len(each.memories) == 40 for each in known)
    for each in known:
        named, by_pronoun, plain = (form for _, form in memories.forms(each))
        assert len(named.questions) == len(by_pronoun.questions) == len(plain.questions) > 20
        assert all(memory in plain.memories for _, memory in plain.questions)
        assert not any(person in memory for memory in plain.memories for person in memories.PRONOUNS)


class TestMadeQuestions:
    TEXTS = (
        "The ferry is a flat boat that crosses the river near Basel every quarter of an hour. In May 1898 the boatman "
        "Karl Emil Huber stretched the first rope across the water. Passengers pay the fare to the boatman on board. "
        "Only the current moves it from one bank to the other.",
        "A beehive is an enclosed structure that houses a colony of bees all through the year. On June 3, 1851 the "
        "priest Lorenzo Langstroth found the space that bees leave free. Frames hang in it, and can be lifted out one "
        "by one. Honey is taken from the upper boxes in late summer.",
    )

    @pytest.fixture
    def collection(self, tmp_path: Path) -> Collection:
        corpus = tmp_path / "corpus.jsonl"
        records = [
            {"_id": f"d{number}", "title": f"Of ferries and hives {number}", "text": f"{text} It is number {number}."}
            for number, text in enumerate(self.TEXTS * 6)
        ]
        corpus.write_text("\n".join(json.dumps(record) for record in records))
        return Collection("made", "test", (), corpus)

    def test_each_form_asks_for_the_document_it_was_made_of(self, collection: Collection) -> None:
        assert collection.corpus is not None
        maker = made.Maker(collection.corpus, HashEmbedder(64))
        keys = {source.key for source in maker.sources}
        forms = dict(made.made(collection, maker, 2))
        assert {"title", "sentence", "keywords", "year", "month", "person", "definition", "two sentences"} <= {*forms}
        for form, questions in forms.items():
            assert questions.qrels == form
            for question in questions.questions:
                assert question.text.strip()
                assert {*question.grades} <= keys

    def test_the_same_questions_are_made_every_time(self, collection: Collection) -> None:
        assert collection.corpus is not None
        first, second = (dict(made.made(collection, made.Maker(collection.corpus, HashEmbedder(64)), 2)) for _ in "ab")
        assert first == second


def test_a_loss_is_marked_where_it_is_sure() -> None:
    usual = [0.5] * 100
    assert variants.change([0.6] * 100, usual).mark == "▼"
    assert variants.change([0.4] * 100, usual).mark == "▲"
    noise = [0.5 + (0.1 if number % 2 else -0.1) for number in range(100)]
    assert variants.change(noise, usual).mark == ""
    assert str(variants.change(usual, usual)) == "·"
