"""Plug-ins: dialects and toolkits of other packages, and what is wrong with one of them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import callblocks
from callblocks import Call, parse, register_dialect
from callblocks.core.errors import CallerError
from callblocks.dialects import dialects, table
from callblocks.dialects.hermes import Hermes
from callblocks.guard.files.root import Root
from callblocks.parser import reply_dialects
from callblocks.plugins import PluginWarning, load_plugins, register_dialects
from callblocks.toolkits.standard import standard_tools

DIALECT = """
from callblocks.dialects.hermes import Hermes


class Mine(Hermes):
    name = "mine"


class Taken(Hermes):
    name = "Tool_Fence"


class Raising(Hermes):
    def __init__(self):
        raise RuntimeError("no")


NOTHING = 7
"""
TOOLS = """
from callblocks import tool


@tool(read_only=True)
def tide(place: str) -> str:
    "Tell the tide."
    return f"high at {place}"


@tool
def file_read(path: str) -> str:
    "Read."
    return path


TOOLS = [tide]
TAKEN = [file_read]


def made(place):
    @tool
    def where() -> str:
        "Say where."
        return str(place.root.folder)

    return [where]


def raising(place):
    raise OSError("gone")
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where distributions are installed."""
    table.registered_dialects()  # those of the machine itself, if it has any
    (tmp_path / "my_dialects.py").write_text(DIALECT)
    (tmp_path / "my_tools.py").write_text(TOOLS)
    (tmp_path / "broken_plugin.py").write_text("raise SystemExit('no\\nway')")
    monkeypatch.syspath_prepend(str(tmp_path))
    load_plugins.cache_clear()
    yield tmp_path
    load_plugins.cache_clear()
    for name in ("my_dialects", "my_tools", "broken_plugin"):
        sys.modules.pop(name, None)


def install(site: Path, group: str, *entries: str, name: str = "mine") -> None:
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("\n".join((f"[callblocks.{group}]", *entries, "")))


def test_a_dialect_of_a_plugin_is_known_by_name_and_to_auto_and_comes_last(site: Path) -> None:
    install(site, "dialects", "mine = my_dialects:Mine")
    register_dialects()
    assert list(dialects)[-1] == "mine"
    assert (len(dialects), "MINE" in dialects) == (69, True)
    text = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    assert parse(text, "mine").calls[0].dialect == "mine"
    assert parse(text).calls[0].dialect == "hermes"
    assert dialects["mine"].write([Call(id="1", name="now")])


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("x = broken_plugin:Any", "SystemExit: no way"),
        ("x = no_such_module:Any", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = my_dialects:Missing", "AttributeError: "),
        ("x = my_dialects:Taken", "a dialect named Tool_Fence exists"),
        ("x = my_dialects:Raising", "RuntimeError"),
        ("x = my_dialects:NOTHING", "a dialect is an instance of `Dialect`, not 7"),
    ],
)
def test_a_bad_dialect_is_one_warning_and_the_others_work(site: Path, entry: str, why: str) -> None:
    install(site, "dialects", entry, "y = my_dialects:Mine")
    with pytest.warns(PluginWarning) as caught:
        register_dialects()
    [warning] = caught
    assert str(warning.message).startswith("the plug-in x (callblocks.dialects) is left out: ")
    assert why in str(warning.message)
    assert "\n" not in str(warning.message)
    assert "mine" in dialects
    assert parse("🛠️[ls]🛠️[/end]").calls[0].name == "ls"


def test_of_two_plugins_of_one_name_the_second_is_left_out(site: Path) -> None:
    install(site, "dialects", "x = my_dialects:Mine")
    install(site, "dialects", "x = my_dialects:Taken", name="other")
    with pytest.warns(PluginWarning, match="another plug-in has that name"):
        register_dialects()
    assert "mine" in dialects


def test_a_program_registers_a_dialect_once(site: Path) -> None:
    class Own(Hermes):
        name = "own-one"

    own = register_dialect(Own())
    assert dialects["own_one"] is own
    assert callblocks.dialects["OwnOne"] is own
    for name in ("own.one", "hermes", "qwen", "auto"):
        again = type("Again", (Hermes,), {"name": name})()
        with pytest.raises(CallerError, match="exists; give yours another name"):
            register_dialect(again)
    nameless = type("Nameless", (Hermes,), {"name": "-"})()
    with pytest.raises(CallerError, match="a dialect has a name"):
        register_dialect(nameless)


def test_replies_are_read_in_a_dialect_that_was_registered_after_the_first_reply(
    site: Path,
) -> None:
    known = reply_dialects()
    own = register_dialect(type("Late", (Hermes,), {"name": "late-one"})())
    assert reply_dialects() == (*known, own)


def test_tools_of_a_plugin_are_known_and_trusted_no_more_than_others(site: Path) -> None:
    install(site, "toolkits", "tides = my_tools:TOOLS", "places = my_tools:made")
    with Root(site) as root:
        registry = standard_tools(root)
    assert registry.names[-2:] == ("where", "tide")
    assert registry["tide"].origin == "function"
    assert registry["where"]() == str(site)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("x = broken_plugin:Any", "SystemExit: no way"),
        ("x = my_tools:TAKEN", "a tool named file_read exists"),
        ("x = my_tools:raising", "OSError('gone')"),
        ("x = my_dialects:NOTHING", "7"),
    ],
)
def test_a_bad_toolkit_is_one_warning_and_the_others_work(site: Path, entry: str, why: str) -> None:
    install(site, "toolkits", entry, "y = my_tools:TOOLS")
    with Root(site) as root, pytest.warns(PluginWarning) as caught:
        registry = standard_tools(root)
    [warning] = caught
    assert why in str(warning.message)
    assert {"tide", "file_read", "search"} <= set(registry.names)


def test_without_plugins_nothing_is_warned_of(site: Path) -> None:
    with warnings.catch_warnings(), Root(site) as root:
        warnings.simplefilter("error")
        register_dialects()
        standard_tools(root)


def test_the_command_says_one_line_about_a_bad_plugin_and_runs_no_tool_unasked(
    site: Path,
) -> None:
    install(site, "dialects", "x = broken_plugin:Any", "y = my_dialects:Mine")
    install(site, "toolkits", "x = my_tools:TAKEN", "y = my_tools:TOOLS", name="kits")
    environment = {"PYTHONPATH": str(site), "HOME": str(site), "PATH": "/usr/bin:/bin"}

    def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "callblocks", *arguments],
            input=text,
            capture_output=True,
            text=True,
            cwd=site,
            env=environment,
            check=False,
        )

    listed = run("dialects")
    assert listed.returncode == 0
    assert "mine" in listed.stdout
    assert listed.stderr == (
        "callblocks: the plug-in x (callblocks.dialects) is left out: SystemExit: no way\n"
    )
    call = "🛠️[tide Holm]\n🛠️[/end]"
    refused = run("run", "--dialect", "emoji-bracket", "-", text=call)
    assert refused.stderr.count("plug-in x (callblocks.toolkits) is left out") == 1
    assert "high at Holm" not in refused.stdout
    ran = run("run", "--dialect", "emoji-bracket", "--allow", "tide", "-", text=call)
    assert "high at Holm" in ran.stdout


def test_plugins_are_looked_for_when_a_dialect_is_first_asked_for(site: Path) -> None:
    looked = list[str]()
    table.find_more(lambda: looked.append("once"))
    assert "no-such-dialect" not in dialects
    assert len(dialects) == 68
    assert looked == ["once"]
