"""The commands of works, run in processes of their own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from rifflux.index import open_index
from rifflux.surfaces.cli.app import CommonOptions
from rifflux.surfaces.cli.retrieve import print_retrieval
from rifflux.surfaces.cli.verify import verify
from rifflux.types import WITHHELD, Document, Identifier, Scope
from rifflux.types.nouns import noun_json
from rifflux.works import Work

#: They start processes.
pytestmark = pytest.mark.slow

BIB = """@article{serre, title={On coherent sheaves}, author={Serre, J.-P.}, year={1955}, license={cc-by},
  abstract={Why.}}
@article{serre2, title={On coherent sheaves}, author={Serre, J.-P.}, year={1999}}
@article{broken, title={Never"""


def test_works_are_imported_shown_reviewed_and_exported(run: Any, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB)
    done = run("works", "import", tmp_path / "refs.bib", "--source", "refs", "--no-embed", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["added"], len(report["failed"]), len(report["doubts"])) == (2, 1, 1)

    shown = run("works", "show", "refs:serre")
    assert "On coherent sheaves" in shown.stdout
    assert "Why." in shown.stdout
    assert json.loads(run("works", "show", "refs:serre", "--json").stdout)["year"] == 1955

    (doubt,) = json.loads(run("works", "review", "--json").stdout)
    assert {doubt["one"], doubt["other"]} == {"refs:serre", "refs:serre2"}
    decided = run("works", "review", "--same", "refs:serre", "refs:serre2", "--json")
    assert json.loads(decided.stdout) == []

    exported = run("works", "export", "--bibtex", "refs:serre")
    assert exported.stdout.startswith("@article{serre1955coherent,")
    assert json.loads(run("works", "export", "--csl", "refs:serre2").stdout)[0]["id"] == "serre1955coherent"


def test_questions_are_narrowed_to_collections(run: Any, tmp_path: Path) -> None:
    with open_index(tmp_path / ".rifflux" / "index.db", model="hash", profile="works") as index:
        for user in ("ann", "bob"):
            mine = index.scoped(Scope(user))
            mine.works.add(Work(f"Sheaves of {user}", "On sheaves.", license="CC0-1.0"))
            mine.add(Document(f"{user}.md", "Notes on sheaves."), collection="notes")
        index.scoped(Scope("bob")).collections.share("library", "ann")
        index.scoped(Scope("bob")).collections.share("notes", "ann")

    def found(command: str, name: str) -> set[str]:
        answer = run.json(command, "sheaves", "--user", "ann", "--collection", name)
        return {each["collection"] for each in answer["reranked" if command == "retrieve" else "results"]}

    assert found("retrieve", "bob/library") == {"bob/library"}
    assert found("everything", "bob/notes") == {"bob/notes"}
    for command in ("retrieve", "everything"):
        refused = run(command, "sheaves", "--collection", "diary")
        assert (refused.returncode, "no collection 'diary'" in refused.stderr) == (2, True)


def test_a_user_has_works_of_their_own(run: Any, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB)
    ann = ("--user", "ann")
    imported = run("works", "import", tmp_path / "refs.bib", "--source", "zotero", "--no-embed", *ann)
    assert "keys are zotero:KEY" in imported.stdout
    assert run("works", "export", "--bibtex", "zotero:serre", *ann).stdout.startswith("@article{serre1955")
    assert [doubt["one"] for doubt in run.json("works", "review", *ann)] == ["zotero:serre2"]
    found = run("retrieve", "sheaves", "--json", *ann)
    assert json.loads(found.stdout)["evidence_pack"]["items"][0]["document"] == "serre"
    assert run("works", "list", "--without-license", *ann).stdout.splitlines() == [
        "On coherent sheaves", "    zotero:serre2  no license recorded  zotero",
    ]  # fmt: skip
    listed = run.json("works", "list", "--source", "zotero", *ann)
    assert [(each["license"], each["withheld"]) for each in listed] == [("CC-BY", False), (None, True)]
    assert run("works", "show", "zotero:serre").returncode == 2
    assert "run 'rifflux works import PATHS'" in run("retrieve", "sheaves", *ann).stderr


def test_an_identifier_that_no_work_has_is_told_with_the_nearest_titles_and_intents_can_be_asked_for(
    run: Any, tmp_path: Path
) -> None:
    with open_index(tmp_path / ".rifflux" / "index.db", model="hash", profile="works") as index:
        index.works.add(Work("On coherent sheaves", "Why.", license="CC0-1.0"))
    told = "no work here has the identifier doi:10.5555/absent: the nearest titles here are 'On coherent sheaves'"
    asked = ("retrieve", "doi:10.5555/absent on sheaves")
    assert told in [note["text"] for note in run.json(*asked)["diagnostics"]["notes"]]
    assert told in " ".join(run(*asked).stderr.split())
    for mode in ("generic", "keywords"):
        assert run.json(*asked, "--mode", mode)["mode"] == mode


def test_wrong_use_is_told_in_one_line(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "title": "One"}\n')
    assert run("works", "import", tmp_path / "a.jsonl", "--no-embed").returncode == 0
    for arguments, told in (
        (("works", "show", "nothing"), "no work 'nothing'"),
        (("works", "export", "a:1"), "--bibtex or --csl"),
        (("works", "import", "nowhere.bib"), "nothing at nowhere.bib"),
        (("works", "import", tmp_path / "a.jsonl", "--source", "a b"), "cannot be a source's name"),
        (("works", "import", tmp_path / "a.jsonl", "--source", "doi"), "is a scheme of identifiers"),
    ):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_a_folder_of_bad_input_is_told_with_its_places_and_the_rest_is_found(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    records = [
        {"id": "good", "title": "Sheaves on stacks", "text": "Sheaves.", "license": "cc0", "cites": ["round", "gone"]},
        {"id": "round", "title": "Stacks of sheaves", "text": "Stacks.", "license": "cc0", "cites": ["good"]},
        {"id": "none"},
        {"id": "later", "title": "Sheaves to come", "year": 2999, "tags": {"mcs": ["14F05"]}},
    ]
    (folder / "list.jsonl").write_text("\n".join(map(json.dumps, records)))
    with (folder / "huge.pdf").open("wb") as file:
        file.truncate(200 * 2**20)
    (folder / "open.tex").write_text(r"\begin{document}\begin{theorem} Sheaves {exist. \end{document}")
    report = run.json("works", "import", folder, "--no-embed", status=1)
    assert report["added"] == 4
    failed = {Path(each["path"]).name: each["reason"] for each in report["failed"]}
    assert "neither a title nor a text" in failed["list.jsonl:3"]
    assert "200 MB" in failed["huge.pdf"]
    noted = " ".join(f"{Path(each['path']).name} {each['reason']}" for each in report["noted"])
    for told in (
        "list.jsonl:4",
        "2999",
        "'mcs'",
        "'gone', which is not there",
        "in a circle: good → round",
        "open.tex:1",
    ):
        assert told in noted, told
    (tmp_path / "words.txt").write_text("bundles => sheaves\n")
    found = run.json("retrieve", "bundles", "--synonyms", "words.txt")
    assert any("synonyms of 'bundles'" in note["text"] for note in found["diagnostics"]["notes"])
    found = run.json("retrieve", "sheaves on stacks")
    assert found["evidence_pack"]["items"][0]["title"] == "Sheaves on stacks"
    assert {work["title"] for work in found["reranked"]} >= {"Stacks of sheaves", "Sheaves to come"}


def test_evidence_of_a_user_is_verified_as_that_user_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_index("works.db", model="hash", profile="works") as index:
        index.scoped(Scope("ann")).works.add(Work("On sheaves", "Sheaves are things.", license="CC0-1.0"))
        pack = noun_json(index.scoped(Scope("ann")).retrieve("sheaves").evidence)
    (tmp_path / "pack.json").write_text(json.dumps(pack))
    verify(CommonOptions(db="works.db"), Path("pack.json"), user="ann")
    assert capsys.readouterr().out == "1 passage unchanged\n"
    with pytest.raises(typer.Exit):
        verify(CommonOptions(db="works.db"), Path("pack.json"), user="")
    assert "is not in the index" in capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_works_and_evidence_are_laid_out_for_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    works = (
        Work(
            "On the cohomology of sheaves that have a title which is longer than a line of most terminals is wide",
            "Cohomology of sheaves. " * 40,
            authors=("Ann Able", "Bo Best", "Cy Cole", "Di Dale"),
            year=1990,
            venue="Annals",
            identifiers=(Identifier("doi", "10.1/open"), Identifier("label", "sheaves")),
            license="CC0-1.0",
        ),
        Work("Bare cohomology", license="CC0-1.0"),
        Work("Closed cohomology", "Cohomology of closed things.", authors=("Ed Ever",), year=1871),
    )
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(*works)
        index.policies.set("facts", "nobody")
        found = index.retrieve("cohomology of sheaves", cite="bibtex", min_relevance=0.0)
        print_retrieval(found, index.profile.analyzer)
        nothing = index.retrieve("cohomology", filter={"sources": ["nowhere"]})
        told = capsys.readouterr()
        print_retrieval(nothing, index.profile.analyzer)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in told.out.splitlines()]
    assert max(map(len, lines[: lines.index("@article{able1990cohomology,")])) <= width
    text = " ".join(" ".join(lines).split())
    for part in (
        " 1 On the cohomology of sheaves",
        "Ann Able, Bo Best, Cy Cole and 1 more · 1990 · Annals doi:10.1/open, label:sheaves",
        "score ",
        " lexical",
        "[1] able1990cohomology On the cohomology",
        "[title only: the index has no text of this work]",
        WITHHELD,
        "@article{able1990cohomology,",
    ):
        assert part in text
    assert "1871" not in text
    assert "= \n" not in told.out
    assert "nothing found" in (end := capsys.readouterr().err)
    assert "a guess" not in end
