"""Where each source says which license a work is under."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rifflux.index import Index

BY = "http://creativecommons.org/licenses/by/4.0/"
WILEY = "http://onlinelibrary.wiley.com/termsAndConditions#vor"


def crossref(*licenses: tuple[str, str | None, list[int] | None]) -> dict[str, object]:
    """A record of Crossref, with its list of licenses: address, version of the text, first day."""
    told = [
        {
            "URL": url,
            **({"content-version": version} if version else {}),
            **({"start": {"date-parts": [start]}} if start else {}),
        }
        for url, version, start in licenses
    ]
    return {"title": ["Herons"], "container-title": ["Birds"], "DOI": "10.1000/a", "license": told}


def license_of(index: Index, path: Any) -> str | None:
    report = index.works.import_files(path, source="s", embed=False)
    assert report.added == 1, report.failed
    return index.works.all()[0].license


@pytest.mark.parametrize(
    ("fields", "license"),
    [
        ("rights = {Creative Commons Attribution 4.0 International}", "CC-BY-4.0"),
        ("rights = {© 2019 Elsevier}", "© 2019 Elsevier"),
        ("license = {cc-by}, rights = {© 2019 Elsevier}", "CC-BY"),
        ("rights = {© 2019 Elsevier}, copyright = {CC BY 4.0}", "CC-BY-4.0"),
        ("license = {none}, copyright = {MIT}", "MIT"),
        ("", None),
    ],
)
def test_biblatex(index: Index, write: Any, fields: str, license: str | None) -> None:
    assert license_of(index, write("a.bib", f"@article{{a, title = {{Herons}}, {fields}}}")) == license


@pytest.mark.parametrize(
    ("licenses", "license"),
    [
        ([(BY, "vor", [2019, 1, 1])], "CC-BY-4.0"),
        ([(BY, "unspecified", None)], "CC-BY-4.0"),
        ([(BY, "tdm", None)], None),
        ([(BY, "am", [2019])], None),
        ([(BY, "vor", [2999, 1, 1])], None),
        ([(BY, "vor", ["soon"])], None),
        ([(BY, "vor", None), (WILEY, "tdm", None)], "CC-BY-4.0"),
        ([(BY, "vor", None), (WILEY, "vor", None)], f"CC-BY-4.0 AND {WILEY}"),
    ],
)
def test_crossref(index: Index, write: Any, licenses: Any, license: str | None) -> None:
    assert license_of(index, write("a.json", json.dumps([crossref(*licenses)]))) == license


@pytest.mark.parametrize(
    ("main", "best", "license"),
    [
        ("cc-by", None, "CC-BY"),
        ("publisher-specific-oa", "cc-by-nc", "CC-BY-NC"),
        ("other-oa", "implied-oa", "other-oa"),
        (None, "public-domain", "CC-PDDC"),
        (None, None, None),
    ],
)
def test_openalex(index: Index, write: Any, main: str | None, best: str | None, license: str | None) -> None:
    record = {
        "id": "https://openalex.org/W1",
        "display_name": "Herons",
        "primary_location": {"license": main},
        "best_oa_location": {"license": best},
    }
    assert license_of(index, write("a.jsonl", record)) == license


def test_csl_and_records_have_rights_too(index: Index, write: Any) -> None:
    told = {"title": "Herons", "rights": "CC BY 4.0"}
    assert license_of(index, write("a.json", json.dumps([{**told, "container-title": "Birds"}]))) == "CC-BY-4.0"
    index.works.import_files(write("b.jsonl", {**told, "title": "Otters of the river"}), embed=False)
    assert {each.license for each in index.works.all()} == {"CC-BY-4.0"}
