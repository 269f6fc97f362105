"""Build the documentation: generate the reference from the code, then the site, and hold that it needs no other host.

python scripts/docs.py               generate the generated pages of docs/reference and build site/
python scripts/docs.py --reference   generate only
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site"
#: The search of a site that is read from disk needs this script; themes load it from another host.
SHIM = "https://unpkg.com/iframe-worker/shim"
_ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(https?://[^"'> ]+)""")
#: A page may name its own address, and link to others; only what a browser loads is looked for.
_HARMLESS = re.compile(r'<link[^>]*\brel="?(?:canonical|next|prev|alternate)\b[^>]*>')


def main() -> int:
    """Generate the reference and build the site; return the exit status."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    from scripts.reference import write_reference

    write_reference(ROOT / "docs" / "reference")
    if "--reference" in sys.argv[1:]:
        return 0
    shutil.rmtree(SITE, ignore_errors=True)
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    if status := subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": source}, check=False).returncode:
        return status
    localize(SITE)
    foreign = loaded_from_elsewhere(SITE)
    for page, address in foreign:
        print(f"{page} loads {address}", file=sys.stderr)
    return 1 if foreign else 0


def localize(site: Path) -> None:
    """Have every page load the search script from the site itself."""
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text("utf-8")
        page.write_text(text.replace(SHIM, f"{up}assets/iframe-worker.js"), "utf-8")


def loaded_from_elsewhere(site: Path) -> list[tuple[Path, str]]:
    """Find what pages load from other hosts."""
    return [
        (page.relative_to(site), address)
        for page in sorted(site.rglob("*.html"))
        for address in _ELSEWHERE.findall(_HARMLESS.sub("", page.read_text("utf-8")))
    ]


if __name__ == "__main__":
    sys.exit(main())
