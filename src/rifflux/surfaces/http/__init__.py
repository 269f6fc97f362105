"""The HTTP surface: many users, one index, bearer tokens."""

from rifflux.surfaces.http.app import create_app
from rifflux.surfaces.http.service import Service, ServiceSettings

__all__ = ["Service", "ServiceSettings", "create_app"]
