"""Pages for a browser, which load nothing from other hosts: their security policy, interactive documentation."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, Response

router = APIRouter()

#: The files of Swagger UI, from a package, by the path they are served at.
_FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css", "favicon.png": "image/png"}
#: Files that browsers cache for a day; they change with the version of a package.
_CACHEABLE = {"Cache-Control": "max-age=86400", "X-Content-Type-Options": "nosniff"}


def page_headers(page: str, *more: str) -> dict[str, str]:
    """Return headers under which only the page's own style and script run; `more` are further directives."""
    policy = (
        *("default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'"),
        *("frame-ancestors 'none'", " ".join(["script-src", *_inline(page, "script")])),
        *(more or (" ".join(["style-src", *_inline(page, "style")]),)),
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def _inline(page: str, tag: str) -> Iterator[str]:
    """Yield the hashes of inline content of a page, and its own host if it loads some."""
    for text in re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL):
        yield f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    if f"<{tag} src=" in page:
        yield "'self'"


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Return the interactive documentation."""
    root = request.scope.get("root_path", "").rstrip("/")
    page = get_swagger_ui_html(
        openapi_url=f"{root}/openapi.json",
        title="Rifflux",
        swagger_js_url=f"{root}/docs/swagger-ui-bundle.js",
        swagger_css_url=f"{root}/docs/swagger-ui.css",
        swagger_favicon_url=f"{root}/docs/favicon.png",
    )
    text = bytes(page.body).decode()
    # Its script sets styles of elements, and draws its icons from data.
    return HTMLResponse(text, headers=page_headers(text, "style-src 'self' 'unsafe-inline'", "img-src 'self' data:"))


@router.get("/docs/{name}", include_in_schema=False)
def part(name: str) -> Response:
    """Return a file that the page loads."""
    if name not in _FILES:
        return Response(status_code=404)
    found = files("fastapi_offline").joinpath("static", name).read_bytes()
    return Response(found, media_type=_FILES[name], headers=_CACHEABLE)
