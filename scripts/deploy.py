"""Write `deploy/` anew from the templates that `rifflux export` uses: `python scripts/deploy.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rifflux.surfaces.export.render import render

ROOT = Path(__file__).parents[1]

#: The files by where they lie, each with its template and what it says there.
FILES: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "deploy/docker/Dockerfile": (
        "Dockerfile",
        {
            "usage": "docker build -f deploy/docker/Dockerfile -t rifflux .",
            "python": "3.13",
            "install": "COPY . /source\n"
            "RUN python -m venv /opt/rifflux && /opt/rifflux/bin/pip install --no-cache-dir '/source[serve,works]'",
            "contents": "",
            "folder": "/data",
            "settings": "RIFFLUX_DB=/data/index.db",
        },
    ),
    "deploy/docker/compose.yaml": (
        "compose.yaml",
        {
            "usage": "docker compose -f deploy/docker/compose.yaml up --build --detach",
            "tokens": "docker compose -f deploy/docker/compose.yaml exec rifflux rifflux tokens create --user root "
            "--role admin",
            "build": "      context: ../..\n      dockerfile: deploy/docker/Dockerfile",
            "command": "    # The proxy has a fixed address, so that what it says of a caller is believed, and nobody "
            "else.\n"
            "    command: serve --host 0.0.0.0 --workers 2 --proxy 172.30.0.2 --allow-host ${RIFFLUX_NAME:-localhost} "
            "--allow-host rifflux --allow-host 127.0.0.1",
            "network": """\
    networks: [inside]

  caddy:
    image: caddy:2
    restart: unless-stopped
    environment:
      RIFFLUX_NAME: ${RIFFLUX_NAME:-localhost}
      RIFFLUX_UPSTREAM: rifflux:8642
    ports: ["80:80", "443:443"]
    volumes: ["../Caddyfile:/etc/caddy/Caddyfile:ro", "certificates:/data"]
    networks:
      inside:
        ipv4_address: 172.30.0.2

networks:
  inside:
    ipam:
      config: [{subnet: 172.30.0.0/24}]

volumes:
  data:
  certificates:""",
        },
    ),
    "deploy/systemd/rifflux.service": (
        "rifflux.service",
        {
            "about": "# Runs the service: /opt/rifflux is a virtual environment with rifflux[serve], /var/lib/rifflux "
            "its only writable folder.\n"
            "# Settings, and keys of model endpoints, go into /etc/rifflux.env (mode 0600): RIFFLUX_API_KEY=...",
            "description": "Rifflux",
            "state": "rifflux",
            "folder": "/var/lib/rifflux",
            "environment": "Environment=RIFFLUX_DB=/var/lib/rifflux/index.db",
            "command": "/opt/rifflux/bin/rifflux serve --workers 2 --proxy 127.0.0.1 --allow-host search.example.org",
        },
    ),
}


def rendered() -> Mapping[str, str]:
    """Return the texts of the files."""
    return {name: render(template, values) for name, (template, values) in FILES.items()}


if __name__ == "__main__":
    for name, text in rendered().items():
        (ROOT / name).write_text(text, "utf-8")
