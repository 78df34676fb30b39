"""The process of an isolated tool: `python -m callblocks.guard.workers.isolated_program`."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.json_values import to_json_value
from callblocks.guard.workers.worker_process import WorkerAnswer
from callblocks.tools.check import faults_text
from callblocks.tools.tool import Tool

__all__ = ("main",)


def main(file: str, name: str, answer_to: str) -> None:
    """Load the function, run it on the JSON from standard input, and write the answer."""
    given = msgspec.json.decode(sys.stdin.buffer.read())
    answer = _answer(file, name, given)
    with os.fdopen(int(answer_to), "wb") as pipe:
        pipe.write(msgspec.json.encode(answer) + b"\n")


def _answer(file: str, name: str, given: dict[str, Any]) -> WorkerAnswer:
    try:
        # The whole answer is built before the pipe is opened, so that a failure while converting
        # the value is still an answer.
        value = _run(file, name, given)
        if inspect.isawaitable(value):
            value = asyncio.run(_wait(value))
        return WorkerAnswer(value=to_json_value(value))
    except ToolError as error:
        return WorkerAnswer(
            code=error.code, message=error.message, details=to_json_value(error.details)
        )
    except (Exception, SystemExit) as error:
        return WorkerAnswer(code="tool_error", message=f"{type(error).__name__}: {error}")


async def _wait(value: Any) -> Any:
    return await value


def _run(file: str, name: str, given: dict[str, Any]) -> Any:
    found = attrgetter(name)(_load(file))
    if not isinstance(found, Tool):
        return found(**given)
    # The values crossed the pipe as JSON, so the tool converts them to its parameter types again.
    checked = found.check(given)
    if checked.faults:
        raise ToolError("invalid_input", faults_text(checked.faults))
    assert found.function is not None
    return found.function(**checked.values)


def _load(file: str) -> ModuleType:
    """Run the source file itself: `__pycache__` may have been written by anyone, and the import
    system would trust it.
    """
    module = ModuleType("callblocks_isolated")
    module.__file__ = file
    sys.modules[module.__name__] = module
    exec(compile(Path(file).read_bytes(), file, "exec", dont_inherit=True), module.__dict__)
    return module


if __name__ == "__main__":
    main(*sys.argv[1:])
