"""Write the tables of the documentation from the code: python scripts/docs [--check]

A table stands between two comments, and only what is between them is touched::

    <!-- table: events -->
    …
    <!-- end -->

With `--check` nothing is written: what would change is printed, and the exit code is 1.
"""

from __future__ import annotations

import re
import sys
from difflib import unified_diff
from pathlib import Path

from tables import TABLES

ROOT = Path(__file__).parents[2]
PLACE = re.compile(
    r"(?<=^<!-- table: )(\S+)( -->\n).*?(?=^<!-- end -->$)", re.MULTILINE | re.DOTALL
)


def main() -> int:
    """Go through the pages; return the exit code."""
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    changed = False
    for page in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "tests" / "support" / "README.md"):
        old = page.read_text("utf-8")
        new = PLACE.sub(_filled, old)
        if new == old:
            continue
        changed = True
        if check:
            name = str(page.relative_to(ROOT))
            lines = unified_diff(old.splitlines(True), new.splitlines(True), name, "make docs")
            sys.stdout.writelines(lines)
        else:
            page.write_text(new, "utf-8")
            print(f"written: {page.relative_to(ROOT)}")
    return int(check and changed)


def _filled(place: re.Match[str]) -> str:
    name, _, argument = place[1].partition(":")
    made = TABLES[name](argument) if argument else TABLES[name]()
    return f"{place[1]}{place[2]}\n{made.strip()}\n\n"


if __name__ == "__main__":
    sys.exit(main())
