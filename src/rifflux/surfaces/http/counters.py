"""Counters and histograms: requests, time by stage, what degraded. Never a query, a name or an id."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from rifflux import AnswerEvent, Done, Failed, Retrieval, Trace

CONTENT_TYPE = CONTENT_TYPE_LATEST
#: The targets of `/retrieve` for the 50th and the 95th percentile.
LIMIT_P50_S = 0.06
LIMIT_P95_S = 0.15
#: Upper bounds of the buckets of times; they include the targets, so that alerts on them are exact.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.04, 0.06, 0.1, 0.15, 0.25, 0.5, 1.0, 1.5, 2.5, 4.0, 10.0)
#: Set by the process that starts the workers: prometheus_client keeps their counts there.
SHARED = "PROMETHEUS_MULTIPROC_DIR"


def _counter(name: str, what: str, *labels: str) -> Counter:
    return Counter(name, what, labels, registry=None)


def _histogram(name: str, what: str, *labels: str) -> Histogram:
    return Histogram(name, what, labels, registry=None, buckets=BOUNDS)


class Counters:
    """The counters and histograms of one process; `exposed` sums those of all workers."""

    def __init__(self) -> None:
        self.requests = _counter("rifflux_requests", "Requests answered", "method", "route", "status")
        self.seconds = _histogram("rifflux_request_seconds", "Time to answer a request", "route")
        self.stages = _histogram("rifflux_stage_seconds", "Time of a stage of a search", "stage")
        self.hits = _counter("rifflux_candidates", "Candidates that a channel found", "channel")
        self.searches = _counter("rifflux_searches", "Searches by the mode that answered", "mode")
        self.degraded = _counter("rifflux_degraded_searches", "Searches that were degraded")
        self.embedder_failures = _counter("rifflux_embedder_failures", "Queries without a vector", "cause")
        self.retrievals = _counter("rifflux_retrievals", "Retrievals of works by intent", "intent")
        self.uncertain = _counter("rifflux_uncertain_packs", "Uncertain evidence")
        self.answers = _counter("rifflux_answers", "Answers by author and outcome", "by", "outcome")
        self.withdrawn = _counter("rifflux_withdrawn_sentences", "Sentences of a model that no source supports")
        self.events = _counter("rifflux_feedback_events", "Feedback by kind", "kind")

    def searched(self, trace: Trace) -> None:
        """Count a search by its trace."""
        self.searches.labels(trace.effective_mode).inc()
        for stage, milliseconds in trace.milliseconds.items():
            self.stages.labels(stage).observe(milliseconds / 1000)
        for channel, count in trace.counts.items():
            self.hits.labels(channel).inc(count)
        if trace.degraded:
            self.degraded.inc()

    def retrieved(self, found: Retrieval) -> None:
        """Count a retrieval of works."""
        self.searched(found.trace)
        self.retrievals.labels(found.decision.intent.name).inc()
        if found.evidence.uncertain:
            self.uncertain.inc()

    def answered(self, last: AnswerEvent) -> None:
        """Count an answer by its last event."""
        if isinstance(last, Done):
            if last.answer.by == "extract":
                by = last.answer.by
            else:
                by = "model"
            self.answers.labels(by, "refused" if last.answer.refused else "answered").inc()
            self.withdrawn.inc(len(last.answer.withdrawn))
        elif isinstance(last, Failed):
            self.answers.labels("", "failed").inc()

    def registry(self) -> CollectorRegistry:
        """Return the registry that collects the metrics of all workers."""
        registry = CollectorRegistry()
        if os.environ.get(SHARED):
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            for metric in vars(self).values():
                registry.register(metric)
        return registry

    def exposed(self, availability: Availability | None = None) -> bytes:
        """Return all metrics in Prometheus' text format."""
        registry = self.registry()
        if availability:
            registry.register(availability)
        return generate_latest(registry)


@dataclass(frozen=True)
class Availability(Collector):
    """Metrics on refreshing: read from the index, as other processes refresh it too."""

    succeeded: int
    failed: int
    fresh: bool

    def collect(self) -> Iterator[Metric]:
        """Yield the attempts to refresh by outcome, and whether the index is as its files are."""
        attempts = CounterMetricFamily("rifflux_refreshes", "Attempts to refresh a collection", labels=["outcome"])
        attempts.add_metric(["succeeded"], self.succeeded)
        attempts.add_metric(["failed"], self.failed)
        yield attempts
        yield GaugeMetricFamily("rifflux_index_fresh", "1 if no collection is behind its files", value=int(self.fresh))
