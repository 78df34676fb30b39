"""`exec_tools.execute_code_python` and `exec_tools.execute_code_shell`: code with a contract.

The code runs in the sandbox on a copy of the turn's folder. Files of the contract are copied out,
also if the code failed or was stopped; all other changes are discarded. The result holds at most
one failure, and one line for each file that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, cast

import msgspec
from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Failure
from callblocks.guard.sandbox.sandbox import MIB, Limits, find_sandbox
from callblocks.toolkits.exec.run_code import CodeRun, Printed
from callblocks.toolkits.exec.workdir import (
    LANGUAGES,
    Contract,
    ExecWorkdir,
    Language,
    read_contract,
)
from callblocks.toolkits.terminal_tools import FindSandbox, require_found
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool, envelope

__all__ = ("ExecLimits", "exec_tools")

_LONGEST = 600
# Seconds that setting up and bringing out may take, beside the code itself.
_SLACK = 90
_OUTWARD = "reaches the network: any server that this machine can reach, and its own services"

_Code = Annotated[str, Field(min_length=1, max_length=500_000)]
_Name = Annotated[str, Field(max_length=200)]
_Seconds = Annotated[float, Field(gt=0, le=_LONGEST)]
_Megabytes = Annotated[int, Field(ge=32, le=4_096)]
_Characters = Annotated[int, Field(ge=0, le=20_000)]


class ExecLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that a call may request at most; sizes in bytes."""

    seconds: float = 600.0
    memory: int = 2_048 * MIB
    processes: int = 64
    files: int = 256 * MIB


def exec_tools(
    place: ExecWorkdir, *, find: FindSandbox = find_sandbox, limits: ExecLimits | None = None
) -> tuple[Tool, ...]:
    """Return the tools that run code in a place."""
    return tuple(_tool(one, place, find, limits or ExecLimits()) for one in LANGUAGES)


def _tool(language: Language, place: ExecWorkdir, find: FindSandbox, most: ExecLimits) -> Tool:
    def preview(contract: Contract, network: bool, **_: object) -> str:
        promised = read_contract(contract, place.promise)
        files = ("writes, and nothing else:", *(f"  {one.path}" for one in promised))
        return "\n".join((_OUTWARD, *files) if network else files)

    async def precheck(**_: object) -> None:
        await require_found(find)

    def paths(given: dict[str, Any]) -> Iterable[object]:
        return [place.promise(_named(one)).path for one in given["contract"]]

    @tool(
        name=f"exec_tools.execute_code_{language.name}",
        description=language.about,
        kind="exec",
        result="exec",
        needs_approval=True,
        timeout=_LONGEST + _SLACK,
        body="code",
        preview=preview,
        precheck=precheck,
        paths=paths,
        # The input is not yet validated here: everything but a plain `false` counts as network
        # access.
        reaches_any_host=lambda given: given["network"] is not False,
        origin="builtin",
    )
    async def execute(
        code: _Code,
        contract: Contract,
        context: Context,
        prog_name: _Name = "main",
        timeout: _Seconds = 60,
        memory_mb: _Megabytes = 512,
        output: _Characters = 8_000,
        network: bool = False,
    ) -> dict[str, Any]:
        """Run code.

        Args:
            code: the whole program
            contract: the files that it makes; one named sales.csv is written to files/sales.csv
            prog_name: what the program is called, such as monthly_sales
            timeout: seconds after which it is stopped; what it wrote until then is kept
            memory_mb: how much memory it may use, in megabytes
            output: how many characters of what it prints are kept
            network: whether it may connect to servers; that must be granted
        """
        limits = Limits(
            seconds=min(timeout, most.seconds),
            memory=min(memory_mb * MIB, most.memory),
            processes=most.processes,
            files=most.files,
        )
        printed = Printed(context, output)
        run = CodeRun(language, place, context, limits, printed, network=network)
        try:
            promised = read_contract(contract, place.promise)
            return await run.run(await require_found(find), code, prog_name, promised)
        # Failures become results instead of exceptions, because an exec result always lists what
        # was produced, and the recorder stores it as such.
        except ToolError as error:
            failure = Failure(code=error.code, message=error.message, details=error.details)
            return envelope({"produced": []}, failure)

    return execute


def _named(given: Any) -> str:
    named = cast("Mapping[str, Any]", given)["filename"] if isinstance(given, Mapping) else given
    return str(named)
