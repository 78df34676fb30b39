"""Writing a file: which paths are never written, and how a file is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief

__all__ = (
    "PROTECTED",
    "Protected",
    "create_temporary",
    "fill",
    "flush_folder",
    "foreign_journal",
    "is_temporary",
    "own_paths",
    "refuse_protected",
    "remove_if_left",
    "replace",
    "replace_private",
)

# --- Atomic replacement of a file: the name holds all of the new content or all of the old ---
#
# A new file is written beside the old one, synced, and renamed over it; then the folder is synced.
# Without the first fsync, a power cut could leave the name on an empty file; without the second,
# the rename itself could be lost. The old file is never opened for writing, so other hard links to
# it keep their content.
#
# The temporary name is random, so nobody can place a link there in advance. The file is locked
# while it is written: a temporary file that is not locked was left by a process that died, and the
# next write removes it.

_TRIES = 8
_TEMPORARY = re.compile(r"\.callblocks-[0-9a-f]{16}\.tmp")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_temporary(name: str) -> bool:
    """Return whether a name is one of a temporary file of ours."""
    return _TEMPORARY.fullmatch(name) is not None


def replace(
    folder: int,
    name: str,
    content: bytes,
    *,
    old: os.stat_result | None,
    executable: bool,
    overwrite: bool,
) -> None:
    """Replace the file `name` in an open folder with `content`.

    `old` is the status of the existing file: its mode and owner are kept, without setuid and
    setgid. Without `overwrite`, raise `FileExistsError` if something is there.
    """
    # Before the new file is created, so that our own temporary file is never a candidate.
    _sweep(folder)
    temporary, new = create_temporary(folder, _mode(old, executable), ".callblocks-", ".tmp")
    try:
        try:
            fill(new, content)
            if old is not None:
                _keep_owner_and_mode(new, old, executable)
            os.fsync(new)
            _take_name(folder, temporary, name, overwrite)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
    finally:
        os.close(new)
    flush_folder(folder)


def replace_private(file: Path, content: bytes, *, synced: bool = True) -> None:
    """Replace a file of our own with `content`; nobody but its owner can ever read it.

    The new file lies in the same folder, because a rename is atomic only within one file system.
    Without `synced`, a power cut may lose the content: enough for what can be fetched again.
    """
    import secrets

    new = file.with_name(f".{file.name}.{secrets.token_hex(6)}")
    opened = os.open(new, _NEW, 0o600)
    try:
        with os.fdopen(opened, "wb") as stream:
            stream.write(content)
            stream.flush()
            if synced:
                os.fsync(stream.fileno())
        os.replace(new, file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _mode(old: os.stat_result | None, executable: bool) -> int:
    if old is None:
        return 0o777 if executable else 0o666
    mode = stat.S_IMODE(old.st_mode) & 0o777
    # The right to execute is given to those who may read.
    return mode | (mode & 0o444) >> 2 if executable else mode


def create_temporary(folder: int, mode: int, prefix: str, ending: str = "") -> tuple[str, int]:
    """Return the random name of a new file in an open folder, and the file, locked."""
    import secrets

    for _ in range(_TRIES):
        name = f"{prefix}{secrets.token_hex(8)}{ending}"
        with suppress(FileExistsError):
            new = os.open(name, _NEW, mode, dir_fd=folder)
            if _is_ours(new):
                return name, new
            os.close(new)
    raise FileExistsError("no name is free for a temporary file")


def _is_ours(new: int) -> bool:
    # Another process may sweep the file after it was created and before it is locked. Then its link
    # count is 0, and a new name is tried.
    try:
        _lock(new)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nothing is swept there either
        pass
    return os.fstat(new).st_nlink == 1


def _lock(opened: int) -> None:
    import fcntl

    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


def fill(new: int, content: bytes) -> None:
    """Write all of the content to an open file."""
    left = memoryview(content)
    while left:
        left = left[os.write(new, left) :]


def _keep_owner_and_mode(new: int, old: os.stat_result, executable: bool) -> None:
    mode = _mode(old, executable)
    try:
        os.fchown(new, old.st_uid, old.st_gid)
    except OSError:
        # The file now has another group. That group must not get more than everybody has.
        mode &= 0o707 | (mode & 0o007) << 3
    os.fchmod(new, mode)


def _take_name(folder: int, temporary: str, name: str, overwrite: bool) -> None:
    if overwrite:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    # A hard link fails if the name is taken, a rename does not: `overwrite=False` is free of races.
    os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(temporary, dir_fd=folder)


def _sweep(folder: int) -> None:
    for name in filter(is_temporary, os.listdir(folder)):
        with suppress(OSError):
            remove_if_left(folder, name)


def remove_if_left(folder: int, name: str) -> None:
    """Remove a temporary file that no process locks; raise `OSError` where one does."""
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    left = os.open(name, flags, dir_fd=folder)
    try:
        _lock(left)
        os.unlink(name, dir_fd=folder)
    finally:
        os.close(left)


# --- Files beside an SQLite database: a journal must come from the database's own writers ---
#
#     tasks.sqlite
#     tasks.sqlite-journal     rolled back by the next process that opens the file, even for reading
#
# A rollback journal can name a super-journal, the journal of a transaction over several databases.
# SQLite deletes that file after the rollback, wherever it lies. An attacker who can put a journal
# beside a database could thus delete any file of the user. Our databases are written one by one,
# and our journals never name another file.

_BESIDE = ("-journal", "-wal", "-shm")
# The magic number of a journal header. A journal that ends with it names a super-journal.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")


def flush_folder(folder: int) -> None:
    """Sync the names in a folder; file systems that cannot sync folders are ignored."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def foreign_journal(path: Path | str) -> str:
    """Return a fault of the files beside an SQLite file, worded to follow its name; "" if there is
    none.
    """
    for ending in _BESIDE:
        place = f"{path}{ending}"
        try:
            # NOFOLLOW: a link could point to any file. NONBLOCK: opening a pipe must not hang.
            opened = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            continue
        except OSError:
            return f"{os.path.basename(place)} beside it is no file that can be read; delete that"
        with open(opened, "rb") as file:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                return f"{os.path.basename(place)} beside it is no file; delete that"
            file.seek(max(0, status.st_size - len(_NAMES_ANOTHER)))
            if file.read() == _NAMES_ANOTHER:
                return f"{os.path.basename(place)} beside it names another file; delete that"
    return ""


# --- Protected files: no call writes or deletes them, whatever a policy allows ---
#
# The table holds files that make a program act with the person's powers without being asked to run
# this project's code: on entering a folder, opening it in an editor, a git command, a login, a
# push. Source code, tests and build files are not in the table; they are a matter for the policy.
#
#     .git/hooks/pre-commit   sub/.GIT/config   a/.ssh/authorized_keys   .github/workflows/ci.yml
#
# Temporary names of callblocks are refused as well, because it removes such files.
#
# An entry counts at any depth, with everything below it. Names are compared as the loosest file
# system would compare them: without case, without invisible characters, without trailing dots and
# blanks. Comparing exactly would let `.GIT/config` through on a file system that ignores case.

# Characters that are not of category Cf but draw nothing: fillers and variation selectors.
_FILLER = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)


class Protected(msgspec.Struct, frozen=True):
    """Paths that are not written, and the reason.

    A name that starts with `*` matches by its end. With `at_root` the paths count from the
    workspace only, not at any depth.
    """

    reason: str
    paths: tuple[str, ...]
    at_root: bool = False

    def covers(self, path: str) -> bool:
        """Return whether a normal relative path is one of these, or below one."""
        return _covers(self, path)


# Asked for each path before and after it is resolved, and by each call anew: decided once.
@lru_cache(maxsize=4096)
def _covers(entry: Protected, path: str) -> bool:
    names = _keys(path)
    return any(_stands_in(_keys(own), names, entry.at_root) for own in entry.paths)


_LEFTHOOK = ("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml")

# The table that every workspace refuses to write.
PROTECTED = (
    # A file `.git`, or a HEAD beside a config, makes any folder a repository with its own hooks.
    # `git~1` is the short name that Windows file systems give `.git`.
    Protected("git runs what it says", ("*.git", "git~1", "HEAD", ".gitmodules", ".gitconfig")),
    Protected(
        "git runs it at a commit",
        (*(".husky", ".huskyrc", ".config/husky", ".pre-commit-config.yaml"), *_LEFTHOOK),
    ),
    Protected(
        "a version control system runs what it says", (".hg", ".hgrc", ".svn", ".jj", ".bzr")
    ),
    Protected(
        "a shell runs it",
        (
            *(".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout"),
            *(".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout"),
            *(".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc"),
            *(".envrc", ".direnv", ".config/fish", ".config/mise", ".mise.toml", "mise.toml"),
            *(".mise.local.toml", "mise.local.toml", ".bash_completion", ".oh-my-zsh", ".xonshrc"),
            *(".config/nushell", ".config/xonsh"),
        ),
    ),
    Protected(
        "it is run at a login or on a timetable",
        (
            *(".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".pam_environment"),
            *(".config/autostart", ".config/systemd", ".config/environment.d"),
            *("Library/LaunchAgents", ".crontab", ".forward", ".procmailrc", ".config/sway"),
            *(".config/i3", ".config/hypr", ".local/share/systemd"),
        ),
    ),
    Protected(
        "it holds keys, or says whom to trust",
        (
            *(".ssh", ".gnupg", ".netrc", "_netrc", ".git-credentials", ".config/git"),
            *(".config/gh", ".pgpass", ".my.cnf", ".aws", ".azure", ".kube", ".docker"),
        ),
    ),
    Protected(
        "a package manager takes its orders from it",
        (
            *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pip", "pip.conf", ".condarc"),
            *(".config/pip", ".gemrc", ".cargo/config", ".cargo/config.toml", ".m2/settings.xml"),
            *(".pnpmfile.cjs", ".yarn/releases", ".yarn/plugins", ".gradle/init.gradle"),
        ),
    ),
    Protected(
        "an editor runs it when the folder is opened",
        (
            *(".vscode", ".idea", ".fleet", ".zed", ".devcontainer", ".devcontainer.json"),
            *(".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".emacs", ".emacs.d", ".dir-locals.el"),
            *(".vim", ".config/nvim", ".helix", ".config/helix", "*.code-workspace"),
        ),
    ),
    Protected(
        "an agent takes its orders from it",
        (
            *(".claude", ".cursor", ".cursorrules", ".mcp.json", ".codex", ".gemini"),
            *("AGENTS.md", "CLAUDE.md", "GEMINI.md"),
        ),
    ),
    Protected(
        "a program runs it when it starts",
        (
            *(".gdbinit", ".lldbinit", ".pdbrc", ".psqlrc", ".sqliterc", ".tmux.conf"),
            *(".screenrc", ".irbrc", ".pryrc", ".ghci", ".Rprofile", ".curlrc", ".wgetrc"),
            *(".ipython", "usercustomize.py", "sitecustomize.py"),
        ),
    ),
    Protected(
        "programs that are already trusted are in it",
        (".venv", "venv/bin", "env/bin", "node_modules/.bin", ".local/bin", ".local/lib"),
    ),
    Protected(
        "it runs with the project's secrets at a push",
        (".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci"),
    ),
)


def refuse_protected(path: str, table: Iterable[Protected]) -> None:
    """Raise `protected_path` if an entry of the table covers the path, or it would be swept."""
    for entry in (*table, *_swept(path)):
        if entry.covers(path):
            raise ToolError(
                "protected_path",
                f"{brief(path)} is never written by a call: {entry.reason}; "
                "show the person what to change, or write another file",
            )


def _swept(path: str) -> tuple[Protected, ...]:
    is_swept = any(map(is_temporary, _keys(path)))
    return (Protected("callblocks removes files of that name", (path,)),) if is_swept else ()


def own_paths(folder: str | os.PathLike[str], paths: Iterable[str | os.PathLike[str]]) -> Protected:
    """Return the files of callblocks itself that lie in a workspace, by every path to them."""
    bases = (os.path.abspath(folder), os.path.realpath(folder))
    inside = {
        os.path.relpath(way, base)
        for path in paths
        for way in _ways_to(path)
        for base in bases
        if os.path.commonpath((way, base)) == base
    }
    return Protected("callblocks itself is steered by it", tuple(sorted(inside)), at_root=True)


def _ways_to(path: str | os.PathLike[str]) -> tuple[str, ...]:
    # The path as given, with links on the way resolved, and with all links resolved.
    given = os.path.abspath(path)
    above, name = os.path.split(given)
    return given, os.path.join(os.path.realpath(above), name), os.path.realpath(given)


@lru_cache(maxsize=512)
def _keys(path: str) -> tuple[str, ...]:
    return tuple(_key(name) for name in path.split("/"))


def _key(name: str) -> str:
    # NFKC before folding case: full-width letters and ligatures spell `.git` on some file systems.
    folded = unicodedata.normalize("NFKC", name).casefold()
    seen = "".join(sign for sign in folded if not _is_invisible(sign))
    return seen.rstrip(". ") or seen


def _is_invisible(sign: str) -> bool:
    # Characters that file systems with folded names ignore: format characters, fillers, variation
    # selectors.
    return unicodedata.category(sign) == "Cf" or _FILLER.match(sign) is not None


def _stands_in(own: tuple[str, ...], names: tuple[str, ...], at_root: bool) -> bool:
    starts = range(1 if at_root else len(names))
    return any(_begins(own, names[start:]) for start in starts)


def _begins(own: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return len(own) <= len(names) and all(map(_is_named, own, names))


def _is_named(own: str, name: str) -> bool:
    return name.endswith(own[1:]) if own.startswith("*") else name == own
