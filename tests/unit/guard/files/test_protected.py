from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.guard.files.replace_file import PROTECTED, Protected, own_paths, refuse_protected

REFUSED = (
    *(".git", ".git/hooks/pre-commit", ".git/config", "sub/.git/config", "a/b/.git", ".GIT/config"),
    *("project.git/hooks/x", "HEAD", "bare/HEAD", ".gitmodules", ".gitconfig", "GIT~1/config"),
    *(".g\u200cit/config", ".git\u200d/hooks/x", ".git./config", ".git /config", ".git.. ./config"),
    *(
        ".ｇｉｔ/config",
        ".g\u034fit/config",
        ".gi\ufe0ft/x",
        ".\u115f\u1160git",
        ".gi\u17b4\u17b5t",
    ),
    *(".gi\u180bt", ".gi\u180ft", ".gi\ufe00t", ".gi\U000e0100t", ".gi\U000e01eft"),
    *(".husky/pre-push", ".pre-commit-config.yaml", "lefthook.yml", ".hg/hgrc", ".svn/x"),
    *(".bashrc", "home/.bashrc", ".BashRC", ".zshenv", ".profile", ".envrc", ".config/fish/x"),
    *(".ssh/authorized_keys", ".ſsh/config", "x/.ssh", ".netrc", ".npmrc", ".pypirc", ".aws/x"),
    *(".config/autostart/x.desktop", ".config/systemd/user/x.service", ".config/git/config"),
    *(".vscode/tasks.json", ".vscode/settings.json", ".idea/runConfigurations/x.xml"),
    *(".devcontainer/devcontainer.json", ".claude/settings.json", ".mcp.json", ".pdbrc"),
    *(".venv/bin/python", "node_modules/.bin/x", ".cargo/config.toml", "Library/LaunchAgents/x"),
    *(".github/workflows/ci.yml", "sub/.GitHub/WORKFLOWS/ci.yml", ".github/actions/x/action.yml"),
    *(".gitlab-ci.yml", ".circleci/config.yml", ".huskyrc", ".config/husky/init.sh"),
    *("lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".mise.local.toml", "mise.local.toml"),
    *(".bash_completion", ".oh-my-zsh/custom/x.zsh", ".xonshrc", ".config/nushell/config.nu"),
    *(".config/sway/config", ".config/i3/config", ".config/hypr/x", ".local/share/systemd/x"),
    *(".pnpmfile.cjs", ".yarn/releases/yarn.cjs", ".yarn/plugins/x.cjs", ".gradle/init.gradle"),
    *(".vim/plugin/x.vim", ".config/nvim/init.lua", ".helix/config.toml", "a/x.code-workspace"),
    *(".cursorrules", ".codex/config.toml", ".gemini/x", "AGENTS.md", "sub/CLAUDE.md", "GEMINI.md"),
    *(".ipython/profile_default/startup/x.py", "usercustomize.py", "lib/sitecustomize.py"),
    *(
        ".callblocks-0123456789abcdef.tmp",
        "a/.CallBlocks-0123456789ABCDEF.tmp.",
        "b/.callblocks-0123456789abcdef.tmp/x",
    ),
    *("venv/bin/python", "env/bin/activate", ".local/bin/ls", ".local/lib/python3/x.py"),
)

FINE = (
    *(
        "a.md",
        "git",
        ".gitignore",
        ".gitattributes",
        ".github/CODEOWNERS",
        ".github",
        "workflows/x",
    ),
    *(".callblocks-0123456789abcde.tmp", "callblocks-0123456789abcdef.tmp", ".callblocks-x.tmp"),
    *("HEAD.md", "head.html", "ahead", "bashrc", ".bashrc.md", "my.ssh", "node_modules/x/bin"),
    *(".config", ".config/app.toml", "config/fish", ".cargo/x", "src/HEADER", "cargo/config.toml"),
    *("Makefile", "package.json", ".env", "hooks/pre-commit", "x.git.md", "...", ".", "fish"),
    *("venv/notes.md", "env/x", ".local/notes", ".yarn/cache/x.zip", ".gradle/x", "agents.txt"),
    *("code-workspace", "x.code-workspace.md", ".github/x.yml", "customize.py", ".config/i3x"),
    *(".config/a/fish", ".gi\u180at", ".gi\ufe10t", ".gi\u1161t"),
)


@pytest.mark.parametrize("path", REFUSED)
def test_what_steers_other_programs_is_protected(path: str) -> None:
    with pytest.raises(ToolError) as raised:
        refuse_protected(path, PROTECTED)
    assert raised.value.code == "protected_path"


@pytest.mark.parametrize("path", FINE)
def test_what_steers_none_is_not(path: str) -> None:
    refuse_protected(path, PROTECTED)


@pytest.mark.parametrize(
    "path", sorted(path for entry in PROTECTED for path in entry.paths), ids=lambda path: path
)
@pytest.mark.no_cover  # other tests walk the same ways
def test_each_path_of_the_table_is_protected_at_any_depth_and_below(path: str) -> None:
    plain = path.replace("*", "")
    for written in (plain, f"a/b/{plain}", f"{plain}/below", plain.upper()):
        with pytest.raises(ToolError, match="is never written by a call"):
            refuse_protected(written, PROTECTED)


def test_each_entry_says_why_once() -> None:
    reasons = [entry.reason for entry in PROTECTED]
    assert len(set(reasons)) == len(reasons)
    paths = [path for entry in PROTECTED for path in entry.paths]
    assert len(set(paths)) == len(paths)
    assert not any(entry.at_root for entry in PROTECTED)


def test_the_refusal_names_the_path_the_reason_and_the_way_out() -> None:
    with pytest.raises(ToolError) as raised:
        refuse_protected("a/.git/x", (Protected("other", ("b",)), Protected("why", (".git",))))
    assert raised.value.message == (
        "'a/.git/x' is never written by a call: why; "
        "show the person what to change, or write another file"
    )


def test_a_path_counts_from_the_workspace_only_if_it_says_so() -> None:
    entry = Protected("why", ("a/policy.toml",), at_root=True)
    assert entry.covers("a/policy.toml")
    assert entry.covers("A/Policy.TOML/x")
    assert not entry.covers("b/a/policy.toml")
    assert not entry.covers("a")
    assert not entry.covers("a/policy.tom")
    assert Protected("why", ("a/policy.toml",)).covers("b/a/policy.toml")


def test_a_star_stands_for_the_start_of_a_name_alone() -> None:
    entry = Protected("why", ("*.git/x",))
    assert entry.covers("a.git/x")
    assert entry.covers(".git/x")
    assert not entry.covers("a.gitt/x")
    assert not entry.covers("a.git")
    assert not entry.covers("a.git/y/x")


def test_own_files_are_protected_by_every_way_to_them(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "conf").mkdir(parents=True)
    (real / "conf/policy.toml").write_text("")
    os.symlink("conf", real / "linked")
    os.symlink("conf/policy.toml", real / "short.toml")
    os.symlink("real", tmp_path / "work")
    entry = own_paths(
        tmp_path / "work",
        (tmp_path / "work/linked/policy.toml", real / "short.toml", tmp_path / "elsewhere"),
    )
    assert entry.paths == ("conf/policy.toml", "linked/policy.toml", "short.toml")
    assert entry.at_root
    assert entry.reason == "callblocks itself is steered by it"


def test_own_files_beside_the_workspace_are_none_of_its(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    assert own_paths(tmp_path / "work", (tmp_path / "workshop/policy.toml",)).paths == ()


def test_own_files_may_be_given_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert own_paths(".", ("policy.toml",)).paths == ("policy.toml",)


@given(st.text(), st.sampled_from([".git", ".ssh", ".bashrc"]))
def test_whatever_stands_around_it_a_protected_name_is_protected(text: str, name: str) -> None:
    for path in (f"{text}/{name}", f"{name}/{text}", name.upper()):
        with pytest.raises(ToolError):
            refuse_protected(path, PROTECTED)
