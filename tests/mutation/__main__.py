"""`make mutate`: change the modules that guard, one small change at a time.

What no test notices is printed, and the score of each module goes into docs/mutation.md as soon
as it is known.

    python -m mutation [part of a module's path]
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mutation.mutants import Mutant, mutants, mutate
from mutation.trial import SURVIVED, start

SOURCE = Path("src")
PACKAGES = {
    "callblocks/policy": ["tests/unit/policy"],
    "callblocks/approvals": ["tests/unit/approvals"],
    "callblocks/guard/files": ["tests/unit/guard/files", "tests/faults/test_path_attacks.py"],
}
PAGE = Path("docs/mutation.md")
ROW = re.compile(r"^\| `(.+?)` \| (\d+) \| (\d+) \|", re.MULTILINE)
HEAD = """# How much the tests notice

`make mutate` changes the modules that decide what may run and which files may be touched, one
small change at a time: a comparison turned, a condition negated, a constant moved, a statement
left out. A change that no test notices has survived. Some of those change nothing that could be
noticed: an empty text for none, a limit that a second check holds as well.

| module | changes | noticed | score |
|---|--:|--:|--:|
"""


def main() -> None:
    """Try every mutant of the modules that were asked for."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    preload()
    for path, tests in modules(wanted):
        count = try_module(path, tests)
        counts = known() | {str(path.relative_to(SOURCE)): count}
        PAGE.write_text(HEAD + table(counts))


def preload() -> None:
    """Import what every child needs, and nothing of ours."""
    for name in ("hypothesis", "msgspec", "pydantic", "pytest", "sqlite3", "tomllib", "asyncio"):
        __import__(name)
    assert not any(name.startswith("callblocks") for name in sys.modules)


def modules(wanted: str) -> Iterator[tuple[Path, list[list[str]]]]:
    """The modules, each with its tests: those of its own file first."""
    for package, folders in PACKAGES.items():
        for path in sorted((SOURCE / package).glob("[!_]*.py")):
            if wanted in str(path):
                own = Path(folders[0]) / f"test_{path.stem}.py"
                yield path, [*([[str(own)]] if own.exists() else []), *([one] for one in folders)]


def try_module(path: Path, tests: list[list[str]]) -> Counter[str]:
    """Try all mutants of a module, as many at once as there are processors."""
    source = path.read_text()
    if os.waitpid(start("", path, None, tests), 0)[1] != SURVIVED:
        sys.exit(f"{path}: its tests fail without any change")
    waiting = mutants(source)[::-1]
    running: dict[int, Mutant] = {}
    count: Counter[str] = Counter()
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            mutant = waiting.pop()
            running[start(name, path, mutate(source, mutant.place), tests)] = mutant
        child, status = os.wait()
        if child not in running:
            continue
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        mutant = running.pop(child)
        survived = status == SURVIVED
        count["survived" if survived else "noticed"] += 1
        if survived:
            print(f"{path}:{mutant.line}: {mutant.what}", flush=True)
    print(f"{path}: {count['noticed']} of {count.total()} noticed", flush=True)
    return count


def known() -> dict[str, Counter[str]]:
    """What the page says of modules that are still there."""
    rows = ROW.findall(PAGE.read_text()) if PAGE.exists() else []
    return {
        name: Counter(noticed=int(noticed), survived=int(changes) - int(noticed))
        for name, changes, noticed in rows
        if (SOURCE / name).exists()
    }


def table(counts: dict[str, Counter[str]]) -> str:
    """A row for each module, and one for all."""
    total: Counter[str] = sum(counts.values(), Counter())
    rows = [row(f"`{name}`", count) for name, count in sorted(counts.items())]
    return "\n".join([*rows, row("**all**", total)]) + "\n"


def row(name: str, count: Counter[str]) -> str:
    """One row of the table."""
    all_of_them = count.total()
    score = 100 * count["noticed"] / all_of_them if all_of_them else 100
    return f"| {name} | {all_of_them} | {count['noticed']} | {score:.1f} % |"


main()
