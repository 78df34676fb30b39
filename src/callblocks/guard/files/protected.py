"""Protected files: no call writes or deletes them, whatever a policy allows.

The table holds files that make a program act with the person's powers without being asked to run
this project's code: on entering a folder, opening it in an editor, a git command, a login, a push.
Source code, tests and build files are not in the table; they are a matter for the policy.

    .git/hooks/pre-commit   sub/.GIT/config   a/.ssh/authorized_keys   .github/workflows/ci.yml

Temporary names of callblocks are refused as well, because it removes such files.

An entry counts at any depth, with everything below it. Names are compared as the loosest file
system would compare them: without case, without invisible characters, without trailing dots and
blanks. Comparing exactly would let `.GIT/config` through on a file system that ignores case.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.atomic_write import is_temporary

__all__ = ("PROTECTED", "Protected", "own_paths", "refuse_protected")

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
        names = _keys(path)
        return any(_stands_in(_keys(own), names, self.at_root) for own in self.paths)


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
