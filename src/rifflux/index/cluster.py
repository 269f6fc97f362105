"""Looking after an index on an OpenSearch cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rifflux.errors import InvalidArgument
from rifflux.store import IndexPlace

if TYPE_CHECKING:
    from rifflux.store.opensearch.administration import ClusterAdministration as ClusterAdministration


def cluster_of(address: str) -> ClusterAdministration:
    """Return what looks after the index at `opensearch://HOST:PORT/NAME`. Raises `InvalidArgument` for other places."""
    place = IndexPlace.of(address)
    if place.is_file:
        raise InvalidArgument("the index is a file, not on a cluster: give --db opensearch://HOST:PORT/NAME")
    from rifflux.store.opensearch.administration import ClusterAdministration

    return ClusterAdministration(place.name, is_secure=place.scheme.endswith("+https"))
