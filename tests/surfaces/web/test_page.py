"""The page without a browser: what is served, to whom, under which policy, and signing in by a cookie."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2 as httpx
import pytest

from rifflux.surfaces import web
from tests.surfaces.web.conftest import HOSTILE, Site

pytestmark = pytest.mark.slow

FOLDER = Path(web.__file__).parent
MOST_BYTES = 106_000


@pytest.fixture
def client(site: Site) -> httpx.Client:
    """Somebody who is not signed in."""
    return site.service.client()


def signed(site: Site, user: str) -> httpx.Client:
    """A client that signed in as the page does."""
    client = site.service.client()
    assert client.post("/session", json={"token": site.tokens[user]}).status_code == 204
    return client


def test_it_is_small_and_names_no_other_host() -> None:
    files = [*FOLDER.glob("assets/*"), *FOLDER.glob("templates/*")]
    assert sum(each.stat().st_size for each in FOLDER.glob("assets/*")) < MOST_BYTES
    for each in files:
        text = each.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]|innerHTML|insertAdjacent|outerHTML|document\.write|eval\(", text), each
        assert not re.search(r"\son\w+=|style=|javascript:", text) or each.suffix == ".js", each


def test_its_policy_lets_nothing_run_but_its_own_files(client: httpx.Client) -> None:
    page = client.get("/")
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
    assert not re.search(r"<script>|<style>", page.text)
    for path in re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.text):
        found = client.get(path)
        assert found.status_code == 200
        assert client.get(path, headers={"If-None-Match": found.headers["ETag"]}).status_code == 304
    assert client.get("/assets/nothing.js").status_code == 404
    assert client.get("/assets/..%2Fpage.py").status_code == 404


def test_a_plain_list_is_there_without_javascript(site: Site) -> None:
    ann = signed(site, "ann")
    page = ann.get("/?q=cache+entries&kind=markdown").text
    assert "<mark>Cache</mark> <mark>entries</mark>" in page
    assert page.count('<li class="hit">') == 10
    more = re.search(r'href="/\?([^"]+offset=10)"', page)
    assert more
    assert ann.get(f"/?{more[1].replace('&amp;', '&')}").text.count('<li class="hit">') > 0
    document = re.search(r'href="/(\?doc=[^"]+)"', page)
    assert document
    assert '<mark class="here">Cache entries live' in ann.get(f"/{document[1].replace('&amp;', '&')}").text
    assert "no such thing" in ann.get("/?q=cache&since=no+such+thing").text


def test_a_hostile_document_is_text(site: Site) -> None:
    page = signed(site, "ann").get("/?q=evil").text
    assert HOSTILE not in page
    assert "&lt;img src=x onerror=" in page


def test_somebody_else_sees_none_of_it(site: Site) -> None:
    assert "kestrel" in signed(site, "ben").get("/?q=kestrel").text
    ann = signed(site, "ann").get("/?q=kestrel").text
    assert "secret" not in ann
    assert "Herons" in signed(site, "ann").get("/?q=heron").text


def test_nobody_sees_anything_without_a_token(client: httpx.Client) -> None:
    page = client.get("/?q=cache")
    assert page.status_code == 401
    assert "Sign in" in page.text
    assert "minutes" not in page.text
    assert client.get("/").status_code == 200


def test_texts_are_laid_out_for_whoever_is_signed_in(site: Site, client: httpx.Client) -> None:
    assert client.post("/layout", json={"texts": ["a"]}).status_code == 401
    headers = {"Authorization": f"Bearer {site.tokens['ann']}"}
    found = client.post("/layout", json={"texts": ["# a", "b"]}, headers=headers).json()["layouts"]
    assert [each[0]["kind"] for each in found] == ["heading", "paragraph"]
    assert client.post("/layout", json={"texts": ["a" * 250_000] * 2}, headers=headers).status_code == 422


class TestSession:
    def test_a_token_becomes_a_cookie_that_no_script_reads(self, site: Site, client: httpx.Client) -> None:
        cookie = client.post("/session", json={"token": site.tokens["ann"]}).headers["Set-Cookie"]
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        assert "Secure" not in cookie
        assert client.get("/me").json()["user"] == "ann"
        assert client.post("/session/end").headers["Set-Cookie"].endswith("SameSite=lax")
        assert client.get("/me").status_code == 401

    def test_a_form_leads_back_to_the_page(self, site: Site, client: httpx.Client) -> None:
        home = client.post("/session", data={"token": site.tokens["ann"]})
        assert (home.status_code, home.headers["Location"]) == (303, "/")
        wrong = client.post("/session", data={"token": "rfx_no_no"})
        assert (wrong.status_code, wrong.headers["Location"]) == (303, "/?refused=1")
        assert "not valid" in client.get("/?refused=1").text

    @pytest.mark.parametrize("given", [{"token": "rfx_no_no"}, {"token": ""}, {"pass": "no"}, {"pass": ""}])
    def test_what_is_no_token_is_refused(self, client: httpx.Client, given: dict[str, str]) -> None:
        answer = client.post("/session", json=given)
        assert answer.status_code == 401
        assert "Set-Cookie" not in answer.headers

    def test_what_is_no_object_is_refused(self, client: httpx.Client) -> None:
        assert client.post("/session", content=b"[]").status_code == 422

    def test_a_cookie_writes_only_from_a_page_of_the_service(self, site: Site) -> None:
        ann, own = signed(site, "ann"), {"Origin": site.service.url}
        for headers, status in (
            ({}, 403),
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            (own, 200),
        ):
            assert ann.post("/search", json={"query": "cache"}, headers=headers).status_code == status
        for site_of, mode, status in (
            ("same-site", "cors", 403),
            ("cross-site", "no-cors", 403),
            ("same-origin", "cors", 200),
        ):
            headers = {"Sec-Fetch-Site": site_of, "Sec-Fetch-Mode": mode}
            assert ann.get("/me", headers=headers).status_code == status

    def test_a_token_in_a_header_comes_before_the_cookie(self, site: Site) -> None:
        headers = {"Authorization": f"Bearer {site.tokens['ben']}"}
        assert signed(site, "ann").get("/me", headers=headers).json()["user"] == "ben"
