"""The contract suites that a new store must pass: subclass one in a test and give it a fixture.

class TestMyStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path): ...
"""

from rifflux.testing.generations import GenerationContract
from rifflux.testing.making import MODEL, WEIGHTS, change, words
from rifflux.testing.owners import OwnerContract, everything
from rifflux.testing.store import StoreContract

__all__ = ["MODEL", "WEIGHTS", "GenerationContract", "OwnerContract", "StoreContract", "change", "everything", "words"]
