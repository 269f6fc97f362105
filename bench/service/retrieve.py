"""Send POST /retrieve at a steady rate over a large index of works, and check its limits.

    python -m bench retrieve INDEX COLLECTION [--qrels NAME...] [--rate 10] [--seconds 60] [--warm-up 10]
        [--workers 1]

INDEX is an index of works with vectors, such as `bench works --keep` leaves; COLLECTION holds questions in BEIR's
layout. A service of its own is started; citations are followed and works scored as they are by default. After
warming up it prints p50, p95 and p99 from when each request was due, the time of each stage as the service
tells it, and how many answers were degraded. Exit status 1, with the reasons, where p50 or p95 is over its limit, a
request failed, or what was measured is not what shall be fast: more than 1 % of the answers were degraded, or fewer
than 95 % followed citations or were scored (some questions find nothing that cites or is cited).
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx

from bench.service.load import Answer, Request, at_rate, percentile, serving, told
from rifflux.evaluate import read_beir

P50_MS, P95_MS = 40.0, 60.0
#: Shares of the answers: at most so many degraded, at least so many with citations followed and works scored.
MOST_DEGRADED, LEAST_WHOLE = 0.01, 0.95


@dataclass
class Asking:
    """Asks the service, and keeps what it says of itself."""

    client: httpx.Client
    stages: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    reasons: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    degraded: int = 0
    cited: int = 0
    scored: int = 0
    tokens: list[float] = field(default_factory=list)

    def requests(self, questions: Sequence[str], count: int) -> Iterator[Request]:
        """The questions in turn."""
        for question in itertools.islice(itertools.cycle(questions), count):
            yield Request("retrieve", lambda question=question: self.ask(question))  # type: ignore[misc]

    def ask(self, question: str) -> int:
        """Ask once; the status of the answer."""
        reply = self.client.post("/retrieve", json={"query": question})
        if reply.status_code != 200:
            return reply.status_code
        self.note(reply.json())
        return reply.status_code

    def note(self, answer: Mapping[str, Any]) -> None:
        """Count what an answer tells of itself."""
        diagnostics: Mapping[str, Any] = answer["diagnostics"]
        for stage, milliseconds in diagnostics["milliseconds"].items():
            self.stages[stage].append(milliseconds)
        self.answered += 1
        self.reasons.update(notice["text"] for notice in diagnostics["degraded"])
        self.degraded += bool(diagnostics["degraded"])
        self.cited += diagnostics["counts"].get("cited", 0) > 0
        self.scored += any(work["components"] for work in answer["reranked"])
        self.tokens.append(answer["evidence_pack"]["tokens"])


def faults(answers: Sequence[Answer], asking: Asking) -> list[str]:
    """What is not as it shall be; nothing where the limits were kept, by whole answers."""
    times = [each.milliseconds for each in answers]
    number = max(asking.answered, 1)
    limits = (
        (f"p50 is {percentile(times, 0.5):.0f} ms, over {P50_MS:g}", percentile(times, 0.5) > P50_MS),
        (f"p95 is {percentile(times, 0.95):.0f} ms, over {P95_MS:g}", percentile(times, 0.95) > P95_MS),
        ("requests failed", any(each.failure for each in answers) or not asking.answered),
        (f"{asking.degraded} of {number} answers were degraded", asking.degraded > MOST_DEGRADED * number),
        (f"citations were followed in {asking.cited} of {number} answers", asking.cited < LEAST_WHOLE * number),
        (f"works were scored in {asking.scored} of {number} answers", asking.scored < LEAST_WHOLE * number),
    )
    return [told for told, holds in limits if holds]


def main() -> None:
    """Run the load, print what was measured, and fail where it is over the limits."""
    arguments = _arguments()
    questions = [each.text for name in arguments.qrels for each in read_beir(arguments.collection, name).questions]
    options = ("--open", "--rate", "1000000", "--workers", str(arguments.workers))
    with serving(arguments.index, *options) as url, httpx.Client(base_url=url, timeout=60) as client:
        at_rate(Asking(client).requests(questions, int(arguments.rate * arguments.warm_up)), arguments.rate)
        asking = Asking(client)
        count = int(arguments.rate * arguments.seconds)
        answers = at_rate(asking.requests(questions[::-1], count), arguments.rate)
    print(told(f"/retrieve at {arguments.rate:g} a second, {arguments.workers} workers", answers))
    print(f"limits: p50 {P50_MS:g}, p95 {P95_MS:g} ms; of {asking.answered} answers, {asking.degraded} were degraded,")
    print(f"citations were followed in {asking.cited}, works scored in {asking.scored}")
    print(f"evidence of {percentile(asking.tokens, 0.5):.0f} tokens, the median")
    for stage, times in sorted(asking.stages.items(), key=lambda each: -percentile(each[1], 0.5)):
        print(f"  {stage:12} p50 {percentile(times, 0.5):6.1f}, p95 {percentile(times, 0.95):6.1f} ms")
    for reason, number in asking.reasons.most_common(5):
        print(f"  degraded {number} times: {reason}")
    found = faults(answers, asking)
    for fault in found:
        print(f"not as it shall be: {fault}")
    sys.exit(bool(found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--qrels", nargs="+", default=["test"])
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=10.0, help="seconds before answers count")
    parser.add_argument("--workers", type=int, default=1)
    return parser.parse_args()
