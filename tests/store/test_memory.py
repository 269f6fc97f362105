"""A second engine fulfils the contract: what it skips, a capability explains that it does not declare."""

from __future__ import annotations

import pytest

from rifflux.errors import OutOfScope
from rifflux.store import Store
from rifflux.testing import (
    AccountsContract,
    GenerationContract,
    LogContract,
    OwnerContract,
    SharingContract,
    StoreContract,
    UnitedContract,
)
from rifflux.testing.memory import MemoryStore


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class TestMemoryView(StoreContract):
    """A named owner's view is a store like any other."""

    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore().of("ann")

    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        with pytest.raises(OutOfScope):
            store.check()


class TestMemoryWhole(
    AccountsContract, GenerationContract, LogContract, OwnerContract, SharingContract, UnitedContract
):
    @pytest.fixture
    def opened(self) -> Store:
        return MemoryStore()
