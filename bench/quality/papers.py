"""Measure how much of papers is recognized that are imported as PDF.

    python -m bench papers FOLDER TRUTHS.tsv [--show]

TRUTHS has a line for each paper: the name of its file in FOLDER, its title, its authors with semicolons between them,
the first and the last words of its abstract with `...` between, its sections of the first level with ` | ` between,
and the number of its references; tabs part them. `-` is for what a paper has not, an empty field is not judged.

`right` is what agrees: titles without case and signs, family names in their order, both ends of the abstract, all
sections in their order with at most one more, and references to one in thirty. `unknown` is what was told as not
recognized, `wrong` the rest.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.quality.kept import markdown
from rifflux.text.names import families, plain
from rifflux.works import Work
from rifflux.works.importers import read_works
from rifflux.works.importers.base import Entry, WorkSource

FIELDS = ("file", "title", "authors", "abstract", "sections", "references")
RIGHT, UNKNOWN, WRONG = "right", "unknown", "wrong"
#: What stands beside the sections of a paper and is not asked for.
_BESIDE = ("acknowledg", "appendi", "references", "categories", "general terms", "keywords", "abstract", "supp")


def main() -> None:
    """Print how many papers have each part right."""
    arguments = _arguments()
    with arguments.truths.open(encoding="utf-8", newline="") as file:
        truths = list(csv.DictReader(file, FIELDS, delimiter="\t", quoting=csv.QUOTE_NONE, restval=""))
    begin = time.perf_counter()
    works = {truth["file"]: _read(arguments.folder / truth["file"]) for truth in truths}
    seconds = time.perf_counter() - begin
    verdicts = [(part, *_judged(truth, part, works[truth["file"]])) for truth in truths for part in FIELDS[1:]]
    rows = []
    for part in FIELDS[1:]:
        found = [verdict for name, verdict, _ in verdicts if name == part and verdict]
        rows.append([part, str(len(found)), *(str(found.count(each)) for each in (RIGHT, UNKNOWN, WRONG))])
    print(f"{len(truths)} papers, {seconds:.0f} s\n")
    print("\n".join(markdown(["part", "judged", RIGHT, UNKNOWN, WRONG], rows)))
    for part, verdict, told in verdicts if arguments.show else ():
        if verdict not in ("", RIGHT):
            print(f"{verdict}  {part}  {told}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("truths", type=Path)
    parser.add_argument("--show", action="store_true", help="list what is not right")
    return parser.parse_args()


def _read(path: Path) -> Work:
    found = next(iter(read_works(WorkSource(path, "paper", lambda _: "paper", alone=True), "pdf")))
    return found.work if isinstance(found, Entry) else Work(path.stem)


def _judged(truth: Mapping[str, str], part: str, work: Work) -> tuple[str, str]:
    """Return the verdict on a part of a work, and what was found; no verdict where the truth says nothing."""
    said = _SAID[part](work, truth["file"])
    expected = truth[part].strip()
    if not expected:
        return "", said
    is_right = not said if expected == "-" else bool(said) and _RIGHT[part](said, expected)
    return (
        RIGHT if is_right else UNKNOWN if not said else WRONG,
        f"{truth['file']}: {said[:300]!r}, and not {expected!r}",
    )


def _sections(work: Work) -> Iterator[str]:
    heads = dict.fromkeys(each.headings[0] for each in work.passages if len(each.headings) > 1)
    yield from (head for head in heads if not any(each in plain(head) for each in _BESIDE))


def _same_abstract(said: str, expected: str) -> bool:
    first, _, last = expected.partition("...")
    return plain(said).startswith(plain(first)) and plain(said).endswith(plain(last))


def _same_sections(said: str, expected: str) -> bool:
    found, wanted = ([plain(each) for each in text.split(" | ")] for text in (said, expected))
    places = [next((place for place, each in enumerate(found) if each.startswith(one)), -1) for one in wanted]
    return -1 not in places and places == sorted(places) and len(found) <= len(wanted) + 1


_SAID: Mapping[str, Callable[[Work, str], str]] = {
    "title": lambda work, file: "" if work.title == Path(file).stem else work.title,
    "authors": lambda work, _: "; ".join(work.authors),
    "abstract": lambda work, _: work.abstract,
    "sections": lambda work, _: " | ".join(_sections(work)),
    "references": lambda work, _: str(len(work.metadata.get("references", ())) or ""),
}
_RIGHT: Mapping[str, Callable[[str, str], bool]] = {
    "title": lambda said, expected: plain(said) == plain(expected),
    "authors": lambda said, expected: [*families(said.split("; "))] == [*families(expected.split("; "))],
    "abstract": _same_abstract,
    "sections": _same_sections,
    "references": lambda said, expected: abs(int(said) - int(expected)) <= int(expected) / 30,
}


if __name__ == "__main__":
    main()
