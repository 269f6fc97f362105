"""Running the service: what the dashboard is told, and alerts that name what is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rifflux.index import open_index
from rifflux.works import Work
from tests.support.server import Running, serving

#: They start processes.
pytestmark = pytest.mark.slow

RULES = Path(__file__).parents[3] / "deploy" / "prometheus" / "rifflux-alerts.yml"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Any:
    """The command line in a folder with an index of works."""
    run = command_line(tmp_path_factory.mktemp("operated"))
    with open_index(run.folder / "index.db", model="hash", profile="works") as index:
        index.works.add(Work("Caching", "Cache entries live for ten minutes.", license="CC0-1.0"))
    return run


@pytest.fixture(scope="module")
def service(run: Any) -> Iterator[Running]:
    """A service that was asked, and told what became of it."""
    with serving(run, "--db", "index.db", "--open") as service:
        with service.client() as client:
            for path in ("/search", "/retrieve", "/everything"):
                assert client.post(path, json={"query": f"cache entries {HOSTILE}"}).status_code == 200
            assert client.post("/search", json={}).status_code == 422
            work = client.post("/search", json={"query": "cache"}).json()["results"][0]["document"]
            for kind in ("click", "not_relevant"):
                told = {"kind": kind, "query": "cache", "document": work}
                assert client.post("/feedback", json=told).status_code == 204
        yield service


class TestAlerts:
    def test_every_metric_that_a_rule_names_is_exposed(self, service: Running) -> None:
        with service.client() as client:
            exposed = client.get("/metrics").text
        kept = set(re.findall(r"^# TYPE (rifflux_\w+) ", exposed, re.MULTILINE))
        sampled = set(re.findall(r"^(rifflux_\w+)[{ ]", exposed, re.MULTILINE))
        rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
        named = {name for rule in rules for name in re.findall(r"rifflux_\w+", rule["expr"])}
        assert len(named) >= 6
        for name in named:
            assert name in kept | sampled, name

    def test_every_rule_says_how_bad_it_is_and_what_it_means(self) -> None:
        rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
        assert len({rule["alert"] for rule in rules}) == len(rules) >= 8
        for rule in rules:
            assert rule["labels"]["severity"] in ("page", "ticket")
            assert rule["annotations"]["summary"]

    def test_labels_that_rules_ask_for_are_those_that_there_are(self, service: Running) -> None:
        with service.client() as client:
            exposed = client.get("/metrics").text
        assert 'rifflux_request_seconds_bucket{le="0.06",route="/retrieve"}' in exposed
        assert 'rifflux_request_seconds_bucket{le="0.15",route="/retrieve"}' in exposed
        stages = set(re.findall(r'rifflux_stage_seconds_count\{stage="(\w+)"\}', exposed))
        assert {"understand", "embed", "lexical", "semantic", "fuse", "fetch", "citations", "rerank", "pack"} <= stages
        assert 'rifflux_retrievals_total{intent="keywords"} 1.0' in exposed


class TestDashboard:
    def test_what_it_shows_is_for_administrators(self, run: Any) -> None:
        user, admin = (
            run.json("tokens", "create", "--user", "ann", "--role", role, "--db", "index.db")["token"]
            for role in ("user", "admin")
        )
        with serving(run, "--db", "index.db") as service:
            for token, status in (("", 401), (user, 403), (admin, 200)):
                with service.client(token) as client:
                    assert client.get("/dashboard/data").status_code == status

    def test_its_counts_are_those_of_the_metrics(self, service: Running) -> None:
        with service.client() as client:
            data = client.get("/dashboard/data").json()
        routes = {each["name"]: each for each in data["routes"]}
        assert routes["/retrieve"]["count"] == 1
        assert routes["/search"]["buckets"][-1] == routes["/search"]["count"] == 3
        assert len(routes["/search"]["buckets"]) == len(data["bounds"]) + 1
        assert {"200", "422", "204"} <= {each["name"] for each in data["statuses"]}
        assert data["limits"] == {"p50": 0.06, "p95": 0.15}
        assert data["online"][-1]["questions"] == 2  # the same words thrice are one
        assert data["online"][-1]["click_through"] == 0.5
        assert HOSTILE not in json.dumps(data)
