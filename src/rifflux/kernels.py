"""The compiled kernels of this installation, if it has any.

Each does the same as the numpy code beside its call, faster and with identical results. A file of another version or
platform is not loaded; `RIFFLUX_PURE=1` in the environment disables the kernels.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

#: The version that `_kernels.c` must have.
VERSION = 5
#: The environment variable that disables the kernels.
PURE = "RIFFLUX_PURE"


def _load() -> tuple[ModuleType | None, str]:
    """Return the kernels or None, and a description of what computes."""
    if os.environ.get(PURE, "0") not in ("", "0"):
        return None, f"numpy, as {PURE} is set"
    if sys.byteorder != "little":
        return None, "numpy, as this processor stores numbers the other way round"
    try:
        found = import_module("rifflux._kernels")
    except ModuleNotFoundError:
        return None, "numpy, as nothing was compiled for this installation"
    except ImportError as error:
        return None, f"numpy, as the compiled file cannot be loaded: {error}"
    if found.VERSION != VERSION:
        return None, f"numpy, as the compiled file is of version {found.VERSION} and not {VERSION}"
    return found, f"compiled, {found.INSTRUCTIONS}"


#: The kernels or None, and a description of what computes.
compiled, description = _load()
