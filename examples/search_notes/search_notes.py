"""Index a folder and search it: python search_notes.py FOLDER QUESTION."""

from __future__ import annotations

import sys

import rifflux


def main(folder: str, question: str) -> int:
    """Print the best passage of each of three documents; return the exit status."""
    try:
        with rifflux.open(".rifflux/index.db") as index:
            report = index.add(folder)
            print(f"{report.indexed_files} files read, {report.skipped_files} unchanged")
            for failure in report.failed:
                print(f"not read: {failure.path}: {failure.reason}", file=sys.stderr)

            results = index.search(question, top_k=3, one_per_document=True)
            for hit in results:
                line = f":{hit.lines[0]}" if hit.lines else ""
                print(f"\n{hit.path}{line}  {hit.heading_path}  ({hit.quality})\n{hit.text}")
            for reason in results.trace.degraded:
                print(f"note: {reason.text}", file=sys.stderr)
    except rifflux.RiffluxError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], " ".join(sys.argv[2:])))
