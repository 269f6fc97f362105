"""The programs that measure works do what they say, on a collection of a few statements."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pytest
from bench.quality import branches, packs, works
from bench.service import hanging, imports, load, retrieve, scopes, workday, workers
from bench.service.meaning import Meaning
from bench.structure import journeys

import rifflux
from rifflux.evaluate import read_beir
from rifflux.models import load_embedder
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import vector_index
from tests.support.commands import PATIENCE

ROOT = Path(__file__).parents[2]
CHAPTERS = ("Commutative Algebra", "Topology", "Homological Algebra", "Schemes", "Examples")
KINDS = ("flat module", "compact space", "derived functor", "open immersion", "odd example")


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    """Two statements and a definition of each chapter, in the layout of the Stacks Project's collection."""
    folder = tmp_path / "stacks"
    folder.mkdir()
    records = []
    for number, (chapter, name) in enumerate(zip(CHAPTERS, KINDS, strict=True)):
        words = " ".join(f"word{letter}{chr(97 + number)}" for letter in "abcdefghijkl")
        told = {"chapter": chapter, "cites": [f"{number}-d"]}
        records += [
            _record(
                f"{number}-d",
                f"A {{\\it {name}}} is \\emph{{{name}}} when {words}.",
                told | {"cites": []},
                "definition",
            ),
            _record(f"{number}-l", f"Each {name} is good: {words}.", told, "lemma"),
            _record(f"{number}-t", f"Every {name} is better: {words}.", told, "theorem"),
        ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, records)))
    return folder


def _record(id: str, text: str, told: dict[str, Any], type: str) -> dict[str, Any]:
    return {"_id": id, "title": f"{type} {id}", "text": text, "metadata": {**told, "type": type}}


def test_branches_are_sets_of_questions_that_their_own_statements_answer(
    stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "again"):
        monkeypatch.setattr("sys.argv", ["branches", str(stacks), str(tmp_path / name), "--queries", "4"])
        branches.main()
    chapter_of = {f"{number}-{kind}": chapter for number, chapter in enumerate(CHAPTERS) for kind in "dlt"}
    for branch in branches.BRANCHES:
        collection = read_beir(tmp_path / "one", branch)
        assert {question.metadata["kind"] for question in collection.questions} == {"term", "item"}, branch
        relevant = {document for question in collection.questions for document in question.grades}
        assert {branches.branch_of(chapter_of[each]) for each in relevant} == {branch}
    for name in ("queries.jsonl", "qrels/algebra.tsv"):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "again" / name).read_text()
    assert branches.branch_of("Examples") is None


def test_questions_on_analysis_are_of_articles_that_are_filed_under_it(
    stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cacm = tmp_path / "cacm"
    cacm.mkdir()
    words = "quadrature errors of splines bounded by roots of orthogonal polynomials over weighted intervals"
    articles = [
        {"_id": f"C-{number}", "title": f"Title {number}", "text": words, "metadata": {"cr_categories": [code]}}
        for number, code in enumerate(["5.11", "5.16", "4.12", "5.2"])
    ]
    (cacm / "corpus.jsonl").write_text("\n".join(map(json.dumps, articles)))
    monkeypatch.setattr("sys.argv", ["branches", str(stacks), str(tmp_path / "made"), "--cacm", str(cacm)])
    branches.main()
    collection = read_beir(tmp_path / "made" / "analysis", "analysis")
    assert {document for question in collection.questions for document in question.grades} == {"C-0", "C-1"}


def test_works_are_compared_row_by_row(
    stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [json.loads(line) for line in (stacks / "corpus.jsonl").read_text().split("\n")]
    branches.write(tmp_path / "made", stacks / "corpus.jsonl", list(branches.questions(records, 4)))
    monkeypatch.chdir(tmp_path)
    asked = [
        "nowhere",
        "--collections",
        "made:algebra",
        "made:topology",
        "--model",
        "hash:64",
        "--keep",
        "kept",
    ]
    works.main(asked)
    head, _, *lines = capsys.readouterr().out.split("\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert "branches@10" in head
    assert [row[0] for row in rows[:16]] == ["algebra"] * 8 + ["topology"] * 8
    assert [row[1][0] for row in rows[:8]] == ["1", "2", "3", "4", "5", "6", "d", "6"]
    assert all(float(row[2]) > 0.5 and 1 <= float(row[5]) <= 10 for row in rows if row[1] == "1 words")
    assert rows[0][6:] == ["", ""]
    assert "What does not help:" in lines
    pairs = rows[16:]
    assert [row[0] for row in pairs] == ["collection", "---", "algebra", "topology"]
    works.main([*asked, "--default"])
    alone = [line for line in capsys.readouterr().out.split("\n") if line.startswith("|")]
    assert alone == [line for line in lines if line.startswith("|")][16:]
    packs.main([*asked, "--min-share", "0", "1"])
    _, _, *packed = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.split("\n") if line]
    names = [f"{name}, {share}" for name in ("algebra", "topology", "mean") for share in "01"]
    assert [row[0] for row in packed] == names
    assert all(float(packed[place][2]) > float(packed[place + 1][2]) for place in (0, 2, 4))
    with rifflux.open(tmp_path / "kept" / "stacks-works.db") as index:
        index.works.import_text('{"id": 1, "title": "Closed"}', source="closed", format="jsonl", embed=False)
    with pytest.raises(SystemExit, match=r"without a license.*delete it"):
        works.main(asked)


def test_a_row_adds_one_thing_to_the_row_before() -> None:
    parts = [run.options["parts"] for run in works.WAYS.values() if "parts" in run.options]
    *steps, without = parts
    assert steps[0] == ("lexical", "semantic")
    assert all(after[:-1] == before for before, after in pairwise(steps))
    assert set(steps[-1]) - set(without) == {"citation"}


@pytest.mark.parametrize(("gain", "verdict"), [(0.0, "as good"), (0.01, "as good"), (0.1, "above"), (-0.1, "below")])
def test_the_default_is_below_by_more_than_chance_alone(gain: float, verdict: str) -> None:
    base, noise = np.full(60, 0.5), np.tile([0.2, -0.2], 30)
    rows = [
        works.Row("CACM", way, {"ndcg@10": each}) for way, each in (("rrf", base), ("default", base + noise + gain))
    ]
    assert rows[1].beside(rows[0]).verdict == verdict


def test_what_does_not_help_is_told_by_rule() -> None:
    much, noise = np.full(60, 0.2), np.tile([0.2, -0.2], 30)
    base = np.full(60, 0.5)
    gains = {
        "1 words": base,
        "2 meaning": base - much,
        "3 both": base,
        "4 + citations": base - much / 2,
        works.ALL: base + noise - much / 2,
        works.DEFAULT: base + noise - much / 2,
        works.WITHOUT: base + noise + much,
    }
    table = [works.Row("CACM", way, {"ndcg@10": gain}) for way, gain in gains.items()]
    told = list(works.unhelpful([table]))
    assert told[:4] == [
        "**2 meaning** is below the row before on CACM (-0.200, p < .001)",
        "**3 both** cannot be told from words on CACM (+0.000, p 1.000)",
        "**4 + citations** is below the row before on CACM (-0.100, p < .001)",
        "**4 + citations** is below words on CACM (-0.100, p < .001)",
    ]
    assert told[4].startswith(f"**{works.ALL}** is below words on CACM (-0.100, p")
    assert told[5] == f"**{works.ALL}** cannot be told from the row before on CACM (+0.000, p 1.000)"
    assert told[-1] == "citations cost: **without** them row 6 is better on CACM (+0.300, p < .001)"
    assert list(works.unhelpful([table[:1]])) == []


@pytest.mark.parametrize(
    ("milliseconds", "failure", "diagnostics", "scored", "told"),
    [
        (10.0, "", {}, True, ""),
        (70.0, "", {}, True, "p50 is 70 ms, over 40"),
        (10.0, "503", {}, True, "requests failed"),
        (
            10.0,
            "",
            {"degraded": [{"code": "scores.left_out", "text": "works stay in the merged order"}]},
            True,
            "100 of 100 answers were degraded",
        ),
        (10.0, "", {"counts": {}}, True, "citations were followed in 0 of 100"),
        (10.0, "", {}, False, "works were scored in 0 of 100"),
    ],
)
def test_a_load_that_measures_less_than_the_whole_fails(
    milliseconds: float, failure: str, diagnostics: dict[str, Any], scored: bool, told: str
) -> None:
    asking = retrieve.Asking(httpx.Client())
    answer = {
        "diagnostics": {"milliseconds": {"score": 1.0}, "degraded": [], "counts": {"cited": 3}} | diagnostics,
        "evidence_pack": {"tokens": 100},
        "reranked": [{"components": {"lexical": 0.5}}] if scored else [],
    }
    for _ in range(100):
        asking.note(answer)
    found = retrieve.faults([load.Answer("retrieve", milliseconds, failure)] * 100, asking)
    assert bool(found) == bool(told)
    assert told in "; ".join(found)


@pytest.mark.parametrize(
    ("milliseconds", "failure", "told"),
    [
        (workday.P95_MS, "", []),
        (workday.P95_MS, "RemoteProtocolError", []),
        (workday.P95_MS + 1, "", ["steady: p95 is 91 ms, over 90"]),
        (workday.P95_MS, "503", ["steady: 6 answers of 5xx"]),
    ],
)
def test_a_phase_of_a_working_day_fails_by_its_slowest_or_a_server_error(
    milliseconds: float, failure: str, told: list[str]
) -> None:
    answers = [load.Answer("search", 1.0)] * 94 + [load.Answer("search", milliseconds, failure)] * 6
    assert workday.faults("steady", answers) == told


@pytest.mark.parametrize(
    ("health", "searches", "faults"), [(1.5, 1.5, 0), (1.6, 1.5, 1), (1.5, 1.4, 1), (50.0, 0.6, 2)]
)
def test_a_second_worker_must_not_slow_answers_and_must_add_searches(
    health: float, searches: float, faults: int
) -> None:
    rounds = [workers.Round(1.0, health, 100.0, searches * 100), workers.Round(2.0, 2 * health, 50.0, searches * 50)]
    assert len(workers.faults(rounds)) == faults


@pytest.mark.slow
def test_workers_are_compared_on_real_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "workers.md"
    monkeypatch.setattr(workers, "HEALTH_REQUESTS", 20)
    small = ["--documents", "30", "--rounds", "1", "--seconds", "0.3"]
    monkeypatch.setattr("sys.argv", ["workers", *small, "--markdown", str(page)])
    with suppress(SystemExit):  # half a second on a busy machine decides no goal
        workers.main()
    rows = [line.split("|") for line in page.read_text().splitlines() if line.startswith("|")][2:]
    assert len(rows) == 3
    assert all(float(cell) > 0 for row in rows[:2] for cell in row[2:4])


@pytest.mark.slow
def test_answers_are_compared_with_and_without_what_others_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "scopes.md"
    for derived in (words_index, vector_index):
        monkeypatch.setattr(derived, "LEAST", 60)
    small = ["--requests", "24", "--words", "20", "--foreign", "40"]
    monkeypatch.setattr("sys.argv", ["scopes", *small, "--markdown", str(page)])
    with pytest.raises(SystemExit) as end:
        scopes.main()
    assert not end.value.code
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("|")][2:]
    assert len(rows) == 6
    assert all(sum(map(int, row[2:6])) == 4 and row[6] == "0" for row in rows)


@pytest.mark.parametrize(
    ("uploads", "failed", "told"),
    [
        ([2.9, 3.0], [], ""),
        ([0.1, 3.1], [], "an upload was stored after 3.1 s, over 3"),
        ([], [], "the import was done before anything was uploaded"),
        ([0.1], ["a search was answered 503"], "a search was answered 503"),
    ],
)
def test_an_import_must_not_keep_others_from_storing(uploads: list[float], failed: list[str], told: str) -> None:
    found = imports.faults(imports.Measured(2, uploads=uploads, failed=failed))
    assert bool(found) == bool(told)
    assert told in "; ".join(found)


@pytest.mark.slow
def test_imports_are_measured_beside_uploads_and_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "imports.md"
    monkeypatch.setattr(imports, "WARM_UP", 1)
    monkeypatch.setattr(imports, "BEFORE", 5)
    small = ["--conversations", "300", "--documents", "30", "--workers", "2"]
    monkeypatch.setattr("sys.argv", ["imports", *small, "--markdown", str(page)])
    with suppress(SystemExit):  # the seconds of a busy machine decide no goal
        imports.main()
    (row,) = [line.split("|") for line in page.read_text().splitlines() if line.startswith("| 2 ")]
    assert int(row[3]) > 0


def test_an_endpoint_counts_what_it_does_not_answer() -> None:
    asked = {"input": ["one", "two", "one"]}
    meaning = Meaning(load_embedder("hash"))
    with (
        hanging.embedding_endpoint(meaning) as endpoint,
        httpx.Client(base_url=endpoint.url, timeout=PATIENCE) as client,
    ):
        one, two, again = (each["embedding"] for each in client.post("/embeddings", json=asked).json()["data"])
        assert one == again != two
        assert one == meaning(["one"])[0].tolist()
        with endpoint.hanging():
            with pytest.raises(httpx.ReadTimeout):
                client.post("/embeddings", json=asked, timeout=httpx.Timeout(PATIENCE, read=0.05))
            while not endpoint.calls:
                time.sleep(0.01)
        assert client.post("/embeddings", json=asked).status_code == 200
    assert endpoint.calls == 1


def test_the_same_request_takes_the_same_way(tmp_path: Path) -> None:
    package = f"{Path(rifflux.__file__).parent}/"
    requests = []
    for name in ("warm", "one", "other"):
        (tmp_path / name).mkdir()
        requests.append(journeys.JOURNEYS["b"][1](tmp_path / name))
    requests[0]()
    one, other = (journeys.traced(request, package) for request in requests[1:])
    assert one.functions == other.functions
    assert any(module.startswith("retrieve/") for module in one.modules)
    assert len(one.modules) <= one.moves < len(one.entered)
