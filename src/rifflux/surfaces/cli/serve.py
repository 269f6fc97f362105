"""`rifflux serve`: serve the index over HTTP."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from rifflux import MissingExtra, NotFound
from rifflux.surfaces.cli.app import EngineOptions, app


@app.command(
    epilog="""Examples:  rifflux tokens create --user ann && rifflux serve

rifflux collections share library --with everyone && rifflux serve --watch

rifflux serve --open   (this machine only, no tokens)"""
)
def serve(
    here: EngineOptions,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8642,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    open: Annotated[bool, typer.Option("--open", help="No tokens: whoever is on this machine may ask.")] = False,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name that this server goes by.")] = None,
    allow_origin: Annotated[list[str] | None, typer.Option(help="A web page's origin that may call.")] = None,
    proxy: Annotated[
        list[str] | None, typer.Option(help="Address of a proxy: its X-Forwarded-For and -Proto are believed.")
    ] = None,
    root_path: Annotated[str, typer.Option(help="What a proxy cuts off the paths, such as /rifflux.")] = "",
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate, for TLS without a proxy.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's private key.")] = None,
    rate: Annotated[float, typer.Option(help="Requests a minute for each user.", min=0.001)] = 600.0,
    user_tokens: Annotated[
        int | None, typer.Option(help="Valid tokens that a user may have.  [default: 20]", min=1)
    ] = None,
    document_chunks: Annotated[
        int | None, typer.Option(help="Chunks of a document that is sent.  [default: 5000]", min=1)
    ] = None,
    request_chunks: Annotated[
        int | None, typer.Option(help="Chunks that one request may bring.  [default: 500000]", min=1)
    ] = None,
    max_body_kb: Annotated[int, typer.Option(help="Largest request.", min=1)] = 1000,
    max_upload_mb: Annotated[float, typer.Option(help="Largest file that may be sent.", min=0.001)] = 20.0,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the files of all collections as they change.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds that a request may take.", min=0.001)] = 30.0,
) -> None:
    """Serve the index over HTTP: search, conversations, memories, and operation.

    Every request needs a token, and sees what belongs to its user and what is shared with them; at the start the rights
    of all users are logged. OpenAPI is at /openapi.json, a page to try it at /docs.
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtra("the service needs more packages: pip install 'rifflux[serve]'")
    options = vars(here) | {
        "user_tokens": user_tokens,
        "document_chunks": document_chunks,
        "request_chunks": request_chunks,
    }
    from rifflux.surfaces.http.serve import serve as run
    from rifflux.surfaces.http.service import ServiceSettings

    run(
        ServiceSettings(
            host=host,
            port=port,
            open=open,
            hosts=tuple(allow_host or ()),
            origins=tuple(allow_origin or ()),
            proxies=tuple(proxy or ()),
            root_path=root_path,
            certificate=_readable(tls_cert),
            key=_readable(tls_key),
            rate=rate,
            max_body_bytes=max_body_kb * 1000,
            max_upload_bytes=int(max_upload_mb * 1_000_000),
            timeout_s=timeout,
            watch=watch,
            workers=workers,
            options={name: value for name, value in options.items() if value is not None},
        )
    )


def _readable(file: Path | None) -> str:
    if file is None:
        return ""
    if not os.access(file, os.R_OK):
        raise NotFound(f"{file} cannot be read: give the path of a PEM file that this user may read")
    return str(file)
