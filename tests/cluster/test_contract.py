"""The engine on a cluster fulfils the contract: what it skips, a capability explains that it does not declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rifflux.errors import OutOfScope
from rifflux.store import Store
from rifflux.store.opensearch import OpenSearchStore
from rifflux.testing import (
    AccountsContract,
    GenerationContract,
    LogContract,
    OwnerContract,
    SharingContract,
    StoreContract,
    UnitedContract,
)


@pytest.fixture
def opened(location: Callable[[], str]) -> Iterator[Store]:
    store = OpenSearchStore.open(location())
    yield store
    store.close()


class TestCluster(StoreContract):
    @pytest.fixture
    def store(self, opened: Store) -> Store:
        return opened


class TestClusterView(StoreContract):
    """A named owner's view is a store like any other."""

    @pytest.fixture
    def store(self, opened: Store) -> Store:
        return opened.of("ann")

    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        with pytest.raises(OutOfScope):
            store.check()


class TestClusterWhole(
    AccountsContract, GenerationContract, LogContract, OwnerContract, SharingContract, UnitedContract
):
    @pytest.fixture
    def opened(self, location: Callable[[], str]) -> Iterator[Store]:
        store = OpenSearchStore.open(location())
        yield store
        store.close()
