"""The base alone: what works without any extra, and what a command says that lacks its own.

`scripts/base` runs this file in an environment that has nothing but the base; `make test` calls it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distributions

import click
import pytest

import callblocks
from callblocks.cli.main import EXTRAS, cli
from callblocks.core.extras import MissingExtra

TEXT = "Look. 🛠️[read-file notes.txt]\n🛠️[/end]"
TOOL = {
    "type": "function",
    "function": {
        "name": "read-file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}
# What a command needs to be begun at all.
ARGUMENTS = {"chats": ["list"], "workspace": ["show"], "workspace connect": [__file__]}


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "callblocks", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group, info_name="callblocks")
    for name in group.list_commands(context):
        yield (*path, name)
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


COMMANDS = tuple(commands(cli))


def test_no_package_of_an_extra_is_here() -> None:
    names = {one.name.lower() for one in distributions()}
    assert "site-packages" in callblocks.__file__
    assert names & {"pydantic", "rich", "jsonschema-rs", "httpx2", "starlette"} == set()


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_page_works(path: tuple[str, ...]) -> None:
    done = run(*path, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: callblocks {' '.join(path)}")


@pytest.mark.parametrize(("path", "extra"), EXTRAS.items())
def test_a_command_that_lacks_its_extra_says_so_in_one_line(path: str, extra: str) -> None:
    done = run(*path.split(), *ARGUMENTS.get(path, ()), text=TEXT)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(f"pip install 'callblocks[{extra}]'\n")


def test_the_plain_commands_work() -> None:
    assert run("--version").stdout == f"callblocks {callblocks.__version__}\n"
    assert '"name":"read-file"' in run("parse", "--json", text=TEXT).stdout
    assert run("parse", text=TEXT).returncode == 0
    assert "🔧 read-file" in run("show", text=TEXT).stdout
    assert "```tool read-file" in run("convert", "--to", "tool-fence", text=TEXT).stdout
    assert "tool-fence" in run("dialects").stdout
    assert "hermes" in run("dialects", "hermes").stdout


def test_the_library_works_with_tools_as_dicts_and_specifications() -> None:
    spec = callblocks.ToolSpec("read-file", "Read.", TOOL["function"]["parameters"])
    for tools in ([TOOL], [spec], callblocks.Registry([TOOL])):
        call = callblocks.parse(TEXT, tools=tools).calls[0]
        assert call.input == {"path": "notes.txt"}
        for dialect in callblocks.dialects.values():
            if dialect.rules:
                assert "read-file" in dialect.teach(tools)
        assert callblocks.dialects["hermes"].grammar(tools, "gbnf")
        assert "read-file" in callblocks.convert(TEXT, target="tool-fence", tools=tools)


def test_a_public_name_either_works_or_names_its_extra() -> None:
    lacking = {"Session", "react_tools", "tool"}
    for name in set(callblocks.__all__) - lacking:
        assert getattr(callblocks, name) is not None
    for name in lacking:
        with pytest.raises(MissingExtra, match=r"pip install 'callblocks\[run\]'$"):
            getattr(callblocks, name)


def test_checking_an_input_and_asking_a_model_name_their_extras() -> None:
    check = callblocks.Registry([TOOL])["read-file"].check
    with pytest.raises(MissingExtra, match=r"pip install 'callblocks\[run\]'$"):
        check({})
    with pytest.raises(MissingExtra, match=r"pip install 'callblocks\[chat\]'$"):
        callblocks.open_model("ollama:qwen3")
