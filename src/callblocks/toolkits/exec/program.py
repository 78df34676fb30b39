"""Code as a program in the sandbox: its file, its interpreter and its environment.

The code comes on standard input and is written to a file in `$TMPDIR`, so that tracebacks name its
lines. The time limit is enforced inside of the sandbox by `timeout`, so files that were written
before it are still copied out. The sandbox has an outer limit as well, for code that kills or stops
`timeout`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

__all__ = ("LANGUAGES", "PACKAGES", "Language", "command", "environment", "file_name")

# Packages that code may use if the machine's own Python has them; nothing is installed.
PACKAGES = (
    *("numpy", "pandas", "scipy", "sympy", "statsmodels", "sklearn", "networkx"),
    *("matplotlib", "seaborn", "PIL", "openpyxl", "docx", "pptx", "pypdf", "reportlab"),
    *("lxml", "bs4", "yaml", "tabulate"),
)

# Seconds between a request to end and the end.
_GRACE = 2

# Arguments: $1 is the file's name, $2 the seconds, $3 folders to create (one per line), then the
# interpreter. Links make `turn_1/files/x`, the name that results use, valid in the current folder.
_START = """\
program="$TMPDIR/$1" seconds=$2 folders=$3
shift 3
cat > "$program" || exit 125
printf '%s\\n' "$folders" | while IFS= read -r folder; do
    mkdir -p -- "$folder" 2> /dev/null
done
"""
_TURNS = """\
for turn in ../*; do
    [ -e "${turn#../}" ] || ln -s "$turn" .
done
"""
_RUN = f'exec timeout -k {_GRACE} "$seconds" "$@" "$program" < /dev/null\n'


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """A language: its interpreter, the ending of its files, and what a model is told of it."""

    name: str
    interpreter: tuple[str, ...]
    ending: str
    about: str


_RUNS = (
    "apart from the machine, in the folder of this turn, and without network unless the call asks "
    "for it. The files that the contract names come out of it, from files/, and nothing else does: "
    "put results there, for what is printed is shown to the person only. Files of earlier turns "
    "can be read by the paths that their results named, such as turn_1/files/sales.csv."
)

LANGUAGES = (
    Language(
        name="python",
        interpreter=("python3", "-u"),
        ending=".py",
        about=f"Run Python code {_RUNS} numpy, pandas, matplotlib and the like can be imported "
        "where they are installed.",
    ),
    Language(
        name="shell",
        interpreter=("/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh",),
        ending=".sh",
        about=f"Run shell code {_RUNS}",
    ),
)


def command(
    language: Language, program: str, seconds: float, folders: Iterable[str], *, turns: bool
) -> tuple[str, ...]:
    """Return the argv of a job that reads its code from standard input and creates `folders`."""
    script = f"{_START}{_TURNS if turns else ''}{_RUN}"
    given = (program, f"{seconds:g}", "\n".join(("files", *folders)))
    return ("/bin/sh", "-c", script, "exec", *given, *language.interpreter)


def environment() -> dict[str, str]:
    """Return environment variables: no display, few threads, UTF-8, and no bytecode caches."""
    return {
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONSAFEPATH": "1",  # the name of a program hides no package
        "PYTHONUTF8": "1",
    }


def file_name(prog_name: str, language: Language) -> str:
    """Return the name of the program's file: `prog_name` in plain letters."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", prog_name.removesuffix(language.ending)).strip("_-")
    return f"{plain[:60] or 'main'}{language.ending}"
