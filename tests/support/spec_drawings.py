"""The drawings of the specification, their transcripts, and tools that return what they show."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.command_home import fence

__all__ = (
    "COLLAPSED",
    "EXPANDED",
    "FIVE",
    "FOUR",
    "STREAMING",
    "Machine",
    "in_one",
    "in_rounds",
)

COLLAPSED = "🔧 5 tool calls (show details)"

EXPANDED = """\
🔧 5 tool calls (hide details)
  run_shell_command(args=["pwd"]) → /app
  run_shell_command(args=["uname", "-a"])
    Linux server 6.12.33 x86_64 GNU/Linux
  run_shell_command(args=["python3", "-m", "pip", "list"])
    pip 24.0
    setuptools 69.5.1
    wheel 0.43.0
    ... (12 more lines)
  read_file(file_name=pyproject.toml)
    [name]
    version = "0.3.1"
    ... (truncated, 2.3KB)
  list_files(kwargs={}) → pyproject.toml, uv.lock, .venv/, src/"""

STREAMING = """\
🔧 4 tool calls (hide details)
  run_shell_command(args=["pwd"]) → /app
  run_shell_command(args=["uname", "-a"]) → Linux 6.12.33
  run_shell_command(args=["python3", "--version"]) → Python 3.12.12
  run_shell_command(args=["make build"]) ⏳"""

Made = tuple[str, dict[str, Any], str]
"""The name of a tool, what it is given, and what it gives."""

PACKAGES = "pip 24.0\nsetuptools 69.5.1\nwheel 0.43.0" + "".join(
    f"\npackage-{at} 1.{at}" for at in range(12)
)
# All that is shown of it, up to where it is cut, are its first two lines.
PROJECT = '[name]\nversion = "0.3.1"\n' + "\n" * 500 + "[tool]\n" + "x = 1\n" * 304

FIVE: list[Made] = [
    ("run_shell_command", {"args": ["pwd"]}, "/app"),
    ("run_shell_command", {"args": ["uname", "-a"]}, "Linux server 6.12.33 x86_64 GNU/Linux"),
    ("run_shell_command", {"args": ["python3", "-m", "pip", "list"]}, PACKAGES),
    ("read_file", {"file_name": "pyproject.toml"}, PROJECT),
    ("list_files", {"kwargs": {}}, "pyproject.toml, uv.lock, .venv/, src/"),
]
FOUR: list[Made] = [
    ("run_shell_command", {"args": ["pwd"]}, "/app"),
    ("run_shell_command", {"args": ["uname", "-a"]}, "Linux 6.12.33"),
    ("run_shell_command", {"args": ["python3", "--version"]}, "Python 3.12.12"),
    ("run_shell_command", {"args": ["make build"]}, "built"),
]


class Machine:
    """Its tools give what was made for them; `make build` takes until `built` is set."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self.built = threading.Event()

    def make(self, made: Sequence[Made]) -> None:
        """From now on the tools give this."""
        self.given = {_key(name, input): output for name, input, output in made}

    def registry(self) -> Registry:
        def run_shell_command(args: list[str]) -> str:
            """Run a command."""
            if args == ["make build"]:
                self.built.wait(120)
            return self.given[_key("run_shell_command", {"args": args})]

        def read_file(file_name: str) -> str:
            """Read a file."""
            return self.given[_key("read_file", {"file_name": file_name})]

        def list_files(kwargs: dict[str, str]) -> str:
            """List the files."""
            return self.given[_key("list_files", {"kwargs": kwargs})]

        functions: list[Callable[..., str]] = [run_shell_command, read_file, list_files]
        return Registry([tool(one, read_only=True) for one in functions])


def in_one(made: Sequence[Made], end: str) -> str:
    """A script that makes all calls at once."""
    fences = [fence(name, f"c{at}", **given) for at, (name, given, _) in enumerate(made, 1)]
    return "\n".join([*fences, "<!-- results -->", end])


def in_rounds(made: Sequence[Made], end: str) -> str:
    """A script that makes one call after the other."""
    fences = [fence(name, f"c{at}", **given) for at, (name, given, _) in enumerate(made, 1)]
    return "\n<!-- results -->\n".join([*fences, end])


def _key(name: str, input: dict[str, Any]) -> str:
    return name + json.dumps(input)
