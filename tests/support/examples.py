"""A runner of the examples on a page of the documentation.

- A `python` block is executed; all blocks of a page share one namespace. `value  # -> repr`
  says what a line gives. What a block prints stands in the `text` block right after it.
- In a `console` block each line that begins with `$ ` is run by a shell, must end well, and
  prints what stands below it, up to the next one. A line with `<<'END'` goes on up to `END`.
"""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from support.pages import CodeBlock, code_blocks

__all__ = ("Examples",)

_EXPECTED = re.compile(r"  # -> (.+)$")
_COMMAND = re.compile(
    r"^\$ (?P<command>.*<<'(\w+)'\n(?:.*\n)*?\2|.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE
)


class Examples:
    """The examples of one page, run in a folder of their own.

    What callblocks remembers goes into a folder beside it, and no terminal is there: a command
    that would ask a person finds nobody. A shell looks for commands in `programs` first.
    """

    def __init__(self, page: Path, folder: Path, programs: Path | None = None) -> None:
        self.page = page
        self.folder = folder
        self.programs = [programs or Path(sys.executable).parent, Path(sys.executable).parent]
        self.namespace: dict[str, Any] = {"__name__": page.stem}

    def run(self) -> None:
        """Run them all; fail at the first that does not say what is shown."""
        printed: str | None = None
        for block in code_blocks(self.page.read_text("utf-8")):
            if block.language == "text" and block.follows and printed is not None:
                _compare(printed, block.text, f"{self.page.name}:{block.line}")
                printed = None
                continue
            assert not printed, f"{self.page.name}: printed and not shown: {printed}"
            printed = self._run(block)
        assert not printed, f"{self.page.name}: printed and not shown: {printed}"

    def _run(self, block: CodeBlock) -> str | None:
        match block.language:
            case "python":
                return self.run_python(block)
            case "console":
                for number, command, shown in _commands(block):
                    _compare(self._run_shell(command), shown, f"{self.page.name}:{number}")
            case _:
                pass
        return None

    def run_python(self, block: CodeBlock) -> str:
        """Execute a block in the page's namespace; return what it printed."""
        # Blank lines in front make the lines of a traceback those of the page.
        source = "\n" * (block.line - 1) + block.text
        tree, expected = ast.parse(source, str(self.page)), _expectations(source)
        for at, node in enumerate(tree.body):
            shown = expected.pop(node.end_lineno or 0, None)
            if shown is not None:
                assert isinstance(node, ast.Expr), f"line {node.lineno} gives no value"
                tree.body[at] = _checked(node, shown)
        assert not expected, f"{self.page.name}: no statement ends where {expected} is expected"
        code = compile(tree, str(self.page), "exec", dont_inherit=True)
        self.namespace["_check"] = _check
        with redirect_stdout(io.StringIO()) as out:
            exec(code, self.namespace)
        return out.getvalue()

    def _run_shell(self, command: str) -> str:
        path = os.pathsep.join([*map(str, self.programs), os.environ["PATH"]])
        state = f"{self.folder}-state"
        env = {"PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8", "CALLBLOCKS_HOME": state}
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            start_new_session=True,
        )
        said = done.stdout.decode()
        assert done.returncode == 0, f"{command} ended with {done.returncode}: {said}"
        return said


def _expectations(source: str) -> dict[int, str]:
    lines = enumerate(source.splitlines(), 1)
    return {number: found[1] for number, line in lines if (found := _EXPECTED.search(line))}


def _checked(node: ast.Expr, shown: str) -> ast.Expr:
    """`_check(value, shown)` in place of the value."""
    call = ast.Call(ast.Name("_check", ast.Load()), [node.value, ast.Constant(shown)], [])
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))


def _check(value: object, shown: str) -> None:
    _compare(repr(value), shown, "a value")


def _compare(said: str, shown: str, place: str) -> None:
    assert said == shown, f"{place}\nsays:\n{said}\nbut the page shows:\n{shown}"


def _commands(block: CodeBlock) -> Iterator[tuple[int, str, str]]:
    """Each command with its line and what is shown below it."""
    for found in _COMMAND.finditer(block.text):
        line = block.line + block.text.count("\n", 0, found.start())
        yield line, found["command"], found["shown"]
