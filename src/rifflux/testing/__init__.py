"""Contract suites for a new store: subclass one and provide its fixture.

class TestMyStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path): ...
"""

from rifflux.testing.catalog import CatalogContract
from rifflux.testing.generations import GenerationContract
from rifflux.testing.lexical import LexicalContract
from rifflux.testing.making import MODEL, WEIGHTS, change, words
from rifflux.testing.owners import OwnerContract, everything
from rifflux.testing.records import RecordsContract
from rifflux.testing.registry import AccountsContract, LogContract, RegistryContract, SharingContract
from rifflux.testing.semantic import SemanticContract
from rifflux.testing.store import StoreContract
from rifflux.testing.united import UnitedContract

__all__ = [
    "MODEL",
    "WEIGHTS",
    "AccountsContract",
    "CatalogContract",
    "GenerationContract",
    "LexicalContract",
    "LogContract",
    "OwnerContract",
    "RecordsContract",
    "RegistryContract",
    "SemanticContract",
    "SharingContract",
    "StoreContract",
    "UnitedContract",
    "change",
    "everything",
    "words",
]
