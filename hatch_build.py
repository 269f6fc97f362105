"""Compile the kernels when Rifflux is built; without a compiler the package is pure Python.

`RIFFLUX_PURE=1` skips them. A wheel with them is for one platform and all Pythons from 3.11 on. An editable
installation has the file beside its source.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

NAME = "_kernels"
SUFFIX = ".abi3.so"
FLAGS = ("-O3", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden")


class CompiledKernels(BuildHookInterface[Any]):
    """Adds the compiled kernels to a wheel or an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels if possible, and tag the wheel with its platform."""
        package = Path(self.root, "src", "rifflux")
        if self.target_name != "wheel" or os.environ.get("RIFFLUX_PURE", "0") not in ("", "0"):
            return
        # Hatchling reads the file after this method has returned: the folder is removed when the build ends.
        self.folder = tempfile.TemporaryDirectory()
        compiled = compile_kernels(package / f"{NAME}.c", Path(self.folder.name) / f"{NAME}{SUFFIX}")
        if compiled is None:
            self.app.display_warning("no compiler, so the kernels are left out: all works, more slowly")
            return
        if version == "editable":
            # Another file and not other contents of the same: a process may have that loaded.
            shutil.move(compiled, package / f"{compiled.name}.new")
            Path(package, f"{compiled.name}.new").replace(package / compiled.name)
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{next(sys_tags()).platform}"
        build_data["force_include"][str(compiled)] = f"rifflux/{compiled.name}"


def compile_kernels(source: Path, target: Path, flags: tuple[str, ...] = ()) -> Path | None:
    """Compile a source file and return the target, or None if that fails."""
    if sys.platform == "win32":
        return None
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]):
        compiler = [found] if (found := shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")) else []
    if not compiler:
        return None
    more = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    include = f"-I{sysconfig.get_path('include')}"
    command = [*compiler, *FLAGS, *more, *flags, include, str(source), "-o", str(target)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(getattr(error, "stderr", "") or error, file=sys.stderr)
        return None
    return target
