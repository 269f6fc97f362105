"""`/dashboard/data`: the state of the service in counts, times and shares, never contents."""

from __future__ import annotations

import time
from collections import defaultdict

from prometheus_client.samples import Sample
from pydantic import Field

from rifflux.surfaces.http.auth import Admin, ServiceDependency
from rifflux.surfaces.http.counters import BOUNDS, LIMIT_P50_S, LIMIT_P95_S, Counters
from rifflux.surfaces.http.operation import OnlineRow, online_rows
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.shapes import Shape

router = make_router(tags=["operation"])

#: Days of online measures that the page shows.
DAYS_S = 14 * 86_400.0


class Series(Shape):
    """A counter, or the cumulative buckets of a histogram and its count."""

    name: str
    count: float
    buckets: list[float] = Field(default_factory=list)


class LatencyLimits(Shape):
    """The latency targets of `/retrieve`, in seconds."""

    p50: float
    p95: float


class DashboardOut(Shape):
    """The data of the dashboard. Counts accumulate from the start of the service."""

    limits: LatencyLimits
    bounds: list[float] = Field(description="Upper bounds of the buckets, in seconds")
    routes: list[Series]
    stages: list[Series]
    statuses: list[Series]
    searches: list[Series]
    degraded: list[Series]
    embedder_failures: list[Series]
    hits: list[Series]
    answers: list[Series] = Field(description="By how they ended: answered, refused, failed")
    online: list[OnlineRow]


@router.get("/dashboard/data", summary="What the dashboard shows")
def data(service: ServiceDependency, caller: Admin) -> DashboardOut:
    """Latency by endpoint and stage, answers by status, what degraded, candidates by channel, online measures."""
    found = _read(service.counters)
    return DashboardOut(
        limits=LatencyLimits(p50=LIMIT_P50_S, p95=LIMIT_P95_S),
        bounds=list(BOUNDS),
        routes=_histograms(found["rifflux_request_seconds"], "route"),
        stages=_histograms(found["rifflux_stage_seconds"], "stage"),
        statuses=_counters(found["rifflux_requests"], "status"),
        searches=_counters(found["rifflux_searches"], "mode"),
        degraded=_counters(found["rifflux_degraded_searches"], ""),
        embedder_failures=_counters(found["rifflux_embedder_failures"], "cause"),
        hits=_counters(found["rifflux_candidates"], "channel"),
        answers=_counters(found["rifflux_answers"], "outcome"),
        online=online_rows(service, time.time() - DAYS_S),
    )


def _read(counters: Counters) -> dict[str, list[Sample]]:
    """Return the samples of each metric by its name."""
    return defaultdict(list, {metric.name: metric.samples for metric in counters.registry().collect()})


def _counters(samples: list[Sample], label: str) -> list[Series]:
    """Return the counts by one of the labels, the others summed."""
    sums: dict[str, float] = defaultdict(float)
    for sample in samples:
        if sample.name.endswith("_total"):
            sums[sample.labels.get(label, "all")] += sample.value
    return [Series(name=name, count=sums[name]) for name in sorted(sums)]


def _histograms(samples: list[Sample], label: str) -> list[Series]:
    """Return the buckets by label, the most frequent first."""
    buckets: dict[str, dict[float, float]] = defaultdict(dict)
    for sample in samples:
        if sample.name.endswith("_bucket"):
            buckets[sample.labels[label]][float(sample.labels["le"])] = sample.value
    ordered = {name: [bounded[bound] for bound in sorted(bounded)] for name, bounded in buckets.items()}
    found = [Series(name=name, count=values[-1], buckets=values) for name, values in ordered.items()]
    return sorted(found, key=lambda each: (-each.count, each.name))
