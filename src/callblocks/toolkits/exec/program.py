"""Code as a program in the sandbox: its file, its interpreter, and what it finds around it.

The code comes on standard input and becomes a file in the folder for temporary things, so that an
error names its line. Time is kept inside: when it is over, what was written until then still comes
out. The sandbox has a clock of its own, for code that stops ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

__all__ = ("LANGUAGES", "PACKAGES", "Language", "command", "environment", "file_name")

# What code may expect where the machine's own Python has it; nothing is installed for it.
PACKAGES = (
    *("numpy", "pandas", "scipy", "sympy", "statsmodels", "sklearn", "networkx"),
    *("matplotlib", "seaborn", "PIL", "openpyxl", "docx", "pptx", "pypdf", "reportlab"),
    *("lxml", "bs4", "yaml", "tabulate"),
)

# Seconds between a request to end and the end.
_GRACE = 2

# $1: the name of the file   $2: seconds   $3: folders, one on a line   then the interpreter. The
# names of turns become links: what a result calls turn_1/files/x is found under that name, too.
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
    """The command of a job that reads its code from standard input and finds these folders."""
    script = f"{_START}{_TURNS if turns else ''}{_RUN}"
    given = (program, f"{seconds:g}", "\n".join(("files", *folders)))
    return ("/bin/sh", "-c", script, "exec", *given, *language.interpreter)


def environment() -> dict[str, str]:
    """What programs need to be told: no display, few threads, text as UTF-8, and nothing cached."""
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
    """The name of the program's file: what someone calls it, in plain letters."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", prog_name.removesuffix(language.ending)).strip("_-")
    return f"{plain[:60] or 'main'}{language.ending}"
