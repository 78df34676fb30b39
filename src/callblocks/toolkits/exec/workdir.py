"""The folders in which code runs, and into which its promised files are written.

    a turn         <turns>/turn_2/files/x     it starts in the folder of its turn; those of earlier
                                              turns can be read: turn_1/files/y
    a workspace    <workspace>/files/x        where nothing is written down

The code works on a copy. Only files of the contract are written back, through the same checks as
every other write.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, Protocol

import msgspec
from pydantic import BaseModel, BeforeValidator, Field, JsonValue

from callblocks.core.errors import BadPath, ToolError
from callblocks.core.paths import FilePath, parse_path, parse_physical, written_path
from callblocks.core.text import brief
from callblocks.guard.files.root import Root
from callblocks.guard.sandbox.inputs import fault_of_path, walk
from callblocks.guard.sandbox.sandbox import MIB
from callblocks.timeline.recall.lookup import noted_digest, recovered
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.terminal_tools import OF_THE_OFFICE
from callblocks.toolkits.turn_files import FolderFiles

__all__ = (
    "LANGUAGES",
    "PACKAGES",
    "Contract",
    "ExecWorkdir",
    "Ground",
    "Language",
    "LeftBehind",
    "Promised",
    "TurnPlace",
    "WorkspacePlace",
    "command",
    "environment",
    "file_name",
    "left_behind",
    "named_files",
    "read_contract",
    "recall",
)

# --- Restoring kept files that code names to the folder in which it looks for them ---
#
# A file that another tool kept, such as the answer of a server, has a path on the timeline and no
# file in the folder of its turn: `fi:turn_1.files/c1/prices.json`. If the code contains that path,
# or the one on disk, the file is restored from the artifacts.

# A bound on the work that one text can cause.
_MOST = 100
_TURN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
_NAMED = re.compile(
    rf"fi:{_TURN}\.(?:files|user\.attachments)/[^\s\"'`<>|;,()\[\]]+"
    rf"|\b{_TURN}/(?:files|attachments)/[^\s\"'`<>|;,()\[\]]+"
)


def named_files(code: str) -> Iterator[FilePath]:
    """Yield the files of turns that a text names, in either notation."""
    for found in islice(_NAMED.finditer(code), _MOST):
        text = found[0]
        try:
            path = parse_path(text) if text.startswith("fi:") else parse_physical(text)
        except BadPath:
            continue
        if isinstance(path, FilePath):
            yield path


def recall(code: str, recorder: Recorder) -> None:
    """Restore each named file that is missing in its folder and known to the timeline."""
    with recorder.lock:
        for path in named_files(code):
            digest = noted_digest(path, recorder.state)
            if digest and recorder.holdings.read(path) is None:
                recovered(path, digest, recorder.state, recorder.holdings)


# --- The choice of files of earlier turns that are copied into the sandbox ---
#
# Whole turns go in, the newest first, up to a size and a number. Of a turn that does not fit, only
# those files go in that the code names: `turn_1/files/sales.csv`, `fi:turn_1.files/sales.csv`. The
# search for names is textual; a path that the code computes is not found, which is why whole turns
# come first.

# The copy is made for each run, so these limits bound its time. Named files have a larger budget:
# the code asked for them.
_TURNS = 50
_FILES = 2_000
_BYTES = 64 * MIB
_NAMED_BYTES = 128 * MIB


class LeftBehind(msgspec.Struct, frozen=True):
    """The paths that are not copied, and the turns of which something is.

    `foreign` is true if a file that a person attached is copied.
    """

    without: tuple[str, ...]
    turns: tuple[str, ...]
    foreign: bool


class _File(msgspec.Struct, frozen=True):
    path: str
    size: int


def left_behind(folder: str, turn: str, earlier: Sequence[str], code: str) -> LeftBehind:
    """Select what is not copied of the folder of all turns; `earlier` is sorted newest first."""
    named = {path.physical for path in named_files(code)}
    there = set(os.listdir(folder))
    # Folders that no turn of this timeline owns are left out too, except for names that are no
    # valid paths in the sandbox.
    without = [name for name in there - {turn, *earlier} if not fault_of_path(name)]
    turns: list[str] = []
    count = size = 0
    foreign = _has_attachments(folder, turn)
    for one in (name for name in earlier if name in there):
        files = list(_files(folder, one))
        whole = sum(file.size for file in files)
        # A turn that does not fit does not end the loop: an older, smaller one may still fit.
        fits = len(turns) < _TURNS and count + len(files) <= _FILES and size + whole <= _BYTES
        kept = files if fits else list(_named(files, named, _NAMED_BYTES - size))
        turns += [one] if kept else []
        count, size = count + len(kept), size + sum(file.size for file in kept)
        without += _without(one, files, kept)
        foreign = foreign or (bool(kept) and _has_attachments(folder, one))
    return LeftBehind(tuple(sorted(without)), tuple(turns), foreign)


def _files(folder: str, turn: str) -> Iterator[_File]:
    for found in walk(os.path.join(folder, turn)):
        path = f"{turn}/{found.path}"
        if stat.S_ISREG(found.seen.st_mode) and not fault_of_path(path):
            yield _File(path, found.seen.st_size)


def _named(files: list[_File], named: set[str], room: int) -> Iterator[_File]:
    for file in files:
        if file.size <= room and file.path in named:
            room -= file.size
            yield file


def _without(turn: str, files: list[_File], kept: list[_File]) -> list[str]:
    if not kept:
        return [turn]
    names = {file.path for file in kept}
    return [file.path for file in files if file.path not in names]


def _has_attachments(folder: str, turn: str) -> bool:
    try:
        return bool(os.listdir(os.path.join(folder, turn, "attachments")))
    except OSError:
        return False


# --- Code as a program in the sandbox: its file, its interpreter and its environment ---
#
# The code comes on standard input and is written to a file in `$TMPDIR`, so that tracebacks name
# its lines. The time limit is enforced inside of the sandbox by `timeout`, so files that were
# written before it are still copied out. The sandbox has an outer limit as well, for code that
# kills or stops `timeout`.

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
_TURN_FOLDERS = """\
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
    script = f"{_START}{_TURN_FOLDERS if turns else ''}{_RUN}"
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


# --- The contract: the files that code promises to make, `[{filename, description, mime?}]` ---
#
# In the sandbox each file is at `files/<filename>`. A name that leads out of that folder, or that
# is promised twice, is refused before anything runs.

_EXAMPLE: dict[str, JsonValue] = {
    "filename": "sales.csv",
    "description": "sales per month",
    "mime": "text/csv",
}


class ContractFile(BaseModel):
    """One file of a contract, as a model writes it."""

    filename: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="its name, such as sales.csv; the code writes it to files/sales.csv",
        ),
    ]
    description: Annotated[str, Field(max_length=2_000, description="what is in it")] = ""
    mime: Annotated[
        str,
        Field(max_length=200, description="its type, where the name does not say it"),
    ] = ""


def _file(given: Any) -> Any:
    return {"filename": given} if isinstance(given, str) else given


# At least one file; a name alone is taken too.
Contract = Annotated[
    list[Annotated[ContractFile, BeforeValidator(_file)]],
    Field(min_length=1, max_length=_MOST, json_schema_extra={"examples": [[_EXAMPLE]]}),
]


class Promised(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a contract: `path` is its name for the caller, `inside` its path in the sandbox."""

    path: str
    inside: str


def read_contract(
    contract: Iterable[ContractFile], promise: Callable[[str], Promised]
) -> tuple[Promised, ...]:
    """Resolve the path of each file; `promise` raises `ToolError` for a name that leads
    elsewhere.
    """
    found: dict[str, Promised] = {}
    for at, one in enumerate(contract):
        promised = promise(one.filename)
        # Compare resolved paths, not names: `a.csv` and `./a.csv` are the same file.
        if promised.path in found:
            words = f"{brief(one.filename, 200)} is promised twice; name each file once"
            raise ToolError("invalid_input", words, **{f"contract[{at}]": words})
        found[promised.path] = promised
    return tuple(found.values())


# --- The folders in which code runs, and into which its promised files are written ---

_NO_TURN = "no-turn"


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a sandbox job: see `Job`.

    With `turns`, the folders of other turns get a link in the current folder. `foreign` is true if
    files of others are included.
    """

    folder: str
    cwd: str = ""
    without: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    turns: bool = False
    foreign: bool = False


class ExecWorkdir(Protocol):
    """A folder in which code runs."""

    def promise(self, filename: str) -> Promised:
        """Return the path of a promised file; `ToolError("unsafe_path")` if it leads out."""
        ...

    def ground(self, code: str) -> Ground:
        """Choose the files that the code can read. It walks folders, so call it in a thread."""
        ...

    def put(self, promised: Promised, content: bytes) -> None:
        """Write a promised file; `ToolError` or `OSError` if that fails."""
        ...


class TurnPlace:
    """A turn of a timeline whose files are in a folder."""

    def __init__(self, recorder: Recorder, files: FolderFiles, turn: str) -> None:
        self._recorder = recorder
        self._files = files
        self._turn = turn

    def promise(self, filename: str) -> Promised:
        path = _written(filename, self._turn, self._turns())
        return Promised(path=path.physical, inside=path.physical)

    def ground(self, code: str) -> Ground:
        folder = self._files.make_room(self._turn)
        # Restore before choosing: a restored file must be on disk when the folder is walked.
        recall(code, self._recorder)
        # The newest turn first: `left_behind` stops copying whole turns when its budget is spent.
        earlier = [turn for turn in reversed(self._turns()) if turn != self._turn]
        left = left_behind(folder, self._turn, earlier, code)
        return Ground(
            folder=folder,
            cwd=self._turn,
            without=left.without,
            # Earlier turns and attachments are read-only in the sandbox: a contract can name only
            # files of this turn, so changes there would be lost without a word.
            read_only=(*left.turns, f"{self._turn}/attachments"),
            turns=True,
            foreign=left.foreign,
        )

    def put(self, promised: Promised, content: bytes) -> None:
        self._files.write(parse_physical(promised.path), content)

    def _turns(self) -> list[str]:
        with self._recorder.lock:
            return list(self._recorder.state.turns)


class WorkspacePlace:
    """A workspace; its files can be read, and its folder `files/` takes the promised files."""

    def __init__(self, root: Root) -> None:
        self._root = root

    def promise(self, filename: str) -> Promised:
        path = f"files/{_written(filename, _NO_TURN, ()).name}"
        return Promised(path=path, inside=path)

    def ground(self, code: str) -> Ground:
        return Ground(
            folder=str(self._root.folder),
            without=(*self._root.hidden, *OF_THE_OFFICE),
            foreign=self._root.origins.holds_foreign(),
        )

    def put(self, promised: Promised, content: bytes) -> None:
        self._root.write(promised.path, content)


def _written(filename: str, turn: str, turns: list[str] | tuple[str, ...]) -> FilePath:
    try:
        return written_path(filename, turn, turns).path
    except BadPath as error:
        raise ToolError(error.code, f"contract: {error}; nothing was run") from error
