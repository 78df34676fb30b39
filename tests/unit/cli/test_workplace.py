from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from callblocks.cli.options.tool_setup import code_files
from support.command import run
from support.command_home import fence, move_in


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return move_in(tmp_path, monkeypatch)


def pretend_imported(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, path.stem, module)


def test_what_was_imported_from_the_workspace_is_code(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    assert code_files(".") == set()
    pretend_imported(monkeypatch, workspace / "imported_here.py")
    assert code_files(".") == {str(workspace / "imported_here.py")}
    assert code_files(str(workspace.parent)) == {str(workspace / "imported_here.py")}


def test_a_link_to_the_workspace_leads_there(
    monkeypatch: pytest.MonkeyPatch, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "real.py").touch()
    (tmp_path / "linked_file.py").symlink_to(workspace / "real.py")
    (tmp_path / "linked").symlink_to(workspace)
    pretend_imported(monkeypatch, tmp_path / "linked_file.py")
    pretend_imported(monkeypatch, tmp_path / "linked" / "linked_folder.py")
    assert code_files(".") == {
        str(tmp_path / "linked_file.py"),
        str(tmp_path / "linked" / "linked_folder.py"),
    }


def test_an_environment_in_the_workspace_stands_for_all_in_it(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.setattr(sys, "prefix", str(workspace / "env"))
    pretend_imported(monkeypatch, workspace / "env" / "in_the_environment.py")
    pretend_imported(monkeypatch, workspace / "env2" / "beside_the_environment.py")
    assert code_files(".") == {
        str(workspace / "env"),
        str(workspace / "env2" / "beside_the_environment.py"),
    }


def test_a_workspace_in_the_environment_has_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.setattr(sys, "prefix", str(workspace.parent))
    pretend_imported(monkeypatch, workspace / "below_the_prefix.py")
    assert code_files(".") == {str(workspace / "below_the_prefix.py")}


REEXPORT = """
import sys
sys.path.insert(0, "lib")
import kit_of_the_workspace
TOOLS = [kit_of_the_workspace.hello]
"""
KIT = '''
import functools
from callblocks.tools.declare import tool

def loud(function):
    @functools.wraps(function)
    def call(*args, **options):
        return function(*args, **options).upper()
    return call

@tool(read_only=True)
@loud
def hello() -> str:
    """Say hello."""
    return "hello"
'''


def test_no_call_writes_the_files_that_tools_come_from(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "kit_of_the_workspace", raising=False)
    (workspace / "lib").mkdir()
    kit = workspace / "lib" / "kit_of_the_workspace.py"
    kit.write_text(KIT)
    (workspace / "tools.py").write_text(REEXPORT)
    text = fence("hello", "h") + "".join(
        fence("file_write", path, path=path, content="evil")
        for path in ("tools.py", "lib/kit_of_the_workspace.py", "lib/other.py")
    )
    result = run("run", "-T", "tools.py", "--allow", "*", "--json", text=text)
    monkeypatch.delitem(sys.modules, "kit_of_the_workspace")
    found = {line["id"]: line for line in map(json.loads, result.stdout.splitlines())}
    assert found["h"]["output"] == "HELLO"
    assert found["tools.py"]["error"]["code"] == "protected_path"
    assert found["lib/kit_of_the_workspace.py"]["error"]["code"] == "protected_path"
    assert found["lib/other.py"]["ok"]
    assert kit.read_text() == KIT


def test_a_tool_that_replaces_one_that_comes_along_is_told() -> None:
    Path("mine.py").write_text(
        "from callblocks.tools.declare import tool\n\n\n@tool(read_only=True)\n"
        'def file_read(path: str) -> str:\n    """Mine."""\n    return "mine"\n'
    )
    result = run(
        "run", "-T", "mine.py", "--allow", "file_read", "--json", text=fence("file_read", path="a")
    )
    assert json.loads(result.stdout)["output"] == "mine"
    assert result.stderr == (
        "callblocks: file_read is the one of -T, not the one that comes with callblocks\n"
    )
