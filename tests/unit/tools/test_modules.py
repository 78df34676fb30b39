from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from callblocks.core.errors import BadTool
from callblocks.tools.registry import Registry

TOOL = '''
from __future__ import annotations
import dataclasses
from callblocks.tools.declare import tool

@dataclasses.dataclass
class Row:
    name: str

@tool
def one(row: Row) -> str:
    """One."""
    return row.name

@tool
def two() -> None:
    """Two."""

def helper() -> int:
    """Help."""
    return 3

again = one
'''


def load(folder: Path, text: str, name: str = "tools.py") -> Registry:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return Registry.from_module(path)


def test_every_tool_at_the_top_level_is_found_once(tmp_path: Path) -> None:
    registry = load(tmp_path, TOOL)
    assert registry.names == ("one", "two")
    values = registry["one"].check({"row": {"name": "x"}}).values
    assert registry["one"](**values) == "x"


def test_the_list_named_tools_decides(tmp_path: Path) -> None:
    assert load(tmp_path, TOOL + "TOOLS = [two, helper]").names == ("two", "helper")
    assert load(tmp_path, TOOL + "TOOLS = (two,)").names == ("two",)
    more = "\nfrom callblocks.tools.registry import Registry\nTOOLS = Registry([two])"
    assert load(tmp_path, TOOL + more).names == ("two",)


def test_what_is_exported_decides(tmp_path: Path) -> None:
    assert load(tmp_path, TOOL + "__all__ = ['helper', 'two', 'gone']").names == ("two",)


def test_two_files_of_one_name_do_not_collide(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one = load(tmp_path, TOOL)
    two = load(tmp_path / "other", TOOL.replace("def one", "def three").replace("= one", "= three"))
    assert (one.names, two.names) == (("one", "two"), ("three", "two"))
    assert one["one"].function is not None
    assert two["three"].function is not None
    assert one["one"].function.__module__ != two["three"].function.__module__


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    load(tmp_path, TOOL)
    assert "three" in load(tmp_path, TOOL.replace("def two", "def three"))


def test_a_module_is_loaded_by_its_dotted_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "a_package_of_tools"
    package.mkdir()
    (package / "inner.py").write_text(TOOL, encoding="utf-8")
    (package / "broken.py").write_text("\n1 / 0", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "one" in Registry.from_module("a_package_of_tools.inner")
    with pytest.raises(BadTool, match=r"line 2 of .*broken.py\): ZeroDivisionError: division by"):
        Registry.from_module("a_package_of_tools.broken")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no tools; declare one"),
        ("def f() -> int: ...", "`@tool` above a typed function"),
        (TOOL + "TOOLS = []", "has no tools"),
        (TOOL + "__all__ = []", "has no tools"),
        (TOOL + "TOOLS = 5", "TOOLS is a list of tools, not 5"),
        (TOOL + "TOOLS = [5]", "tool 0 is 5; a tool is a ToolSpec, a @tool"),
        ("x = (", "SyntaxError: '(' was never closed"),
        ("x = 1\n\nraise ValueError('what now')", "(line 3 of"),
        ("x = 1\n\nraise ValueError('what now')", "ValueError: what now"),
        ("import no_such_module_at_all", "No module named"),
        ("import sys; sys.exit('done')", "SystemExit: done"),
        ("from callblocks.tools.declare import tool\n@tool\ndef f(x): ...", "no type for `x`"),
        ("from callblocks.tools.declare import tool\n@tool\ndef f(x): ...", "(line 2 of"),
        ("x = '\0'", "null bytes"),
    ],
)
def test_a_file_without_tools_or_with_faults_says_what_is_wrong(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(BadTool) as caught:
        load(tmp_path, text)
    assert words in str(caught.value)
    assert str(tmp_path / "tools.py") in str(caught.value)


def test_a_file_that_breaks_leaves_no_module(tmp_path: Path) -> None:
    before = set(sys.modules)
    with pytest.raises(BadTool):
        load(tmp_path, "1 / 0")
    assert set(sys.modules) == before


def test_a_fault_keeps_its_cause(tmp_path: Path) -> None:
    with pytest.raises(BadTool) as caught:
        load(tmp_path, "1 / 0")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_file_that_breaks_leaves_the_one_before_it_known(tmp_path: Path) -> None:
    function = load(tmp_path, TOOL)["one"].function
    assert function is not None
    with pytest.raises(BadTool):
        load(tmp_path, "1 / 0")
    assert sys.modules[function.__module__].__dict__["one"].function is function


def test_latin_1_says_so(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_bytes(b"x = '\xe9'")
    with pytest.raises(BadTool, match="SyntaxError"):
        Registry.from_module(tmp_path / "tools.py")


@pytest.mark.parametrize(
    "name", ["no/such/file.py", "nowhere.py", "no_such_module", "a..b", "", ".", "..", "a\0b"]
)
def test_what_is_not_there_is_a_bad_tool(name: str) -> None:
    with pytest.raises(BadTool):
        Registry.from_module(name)


def test_what_lies_beside_a_file_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "planted_beside.py").write_text("raise SystemExit", encoding="utf-8")
    with pytest.raises(BadTool, match="No module named 'planted_beside'"):
        load(tmp_path, "import planted_beside")


def test_compiled_files_are_neither_read_nor_written(tmp_path: Path) -> None:
    load(tmp_path, TOOL)
    assert os.listdir(tmp_path) == ["tools.py"]


def test_a_file_that_wants_its_neighbour_is_told_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_tools.py").write_text("")
    (tmp_path / "tools.py").write_text("import neighbour_of_tools\n")
    with pytest.raises(BadTool, match="does not see the files beside it: give a package"):
        Registry.from_module(tmp_path / "tools.py")
