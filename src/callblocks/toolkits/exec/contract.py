"""The contract: the files that code promises to make, `[{filename, description, mime?}]`.

In the sandbox each file is at `files/<filename>`. A name that leads out of that folder, or that is
promised twice, is refused before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, BeforeValidator, Field, JsonValue

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError

__all__ = ("Contract", "Promised", "read_contract")

_MOST = 100
_EXAMPLE: dict[str, JsonValue] = {
    "filename": "sales.csv",
    "description": "sales per month",
    "mime": "text/csv",
}


class ContractFile(BaseModel):
    """One file of a contract, as a model writes it."""

    filename: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="its name, such as sales.csv; the code writes it to files/sales.csv",
        ),
    ]
    description: Annotated[str, Field(max_length=2_000, description="what is in it")] = ""
    mime: Annotated[
        str,
        Field(max_length=200, description="its type, where the name does not say it"),
    ] = ""


def _file(given: Any) -> Any:
    return {"filename": given} if isinstance(given, str) else given


# At least one file; a name alone is taken too.
Contract = Annotated[
    list[Annotated[ContractFile, BeforeValidator(_file)]],
    Field(min_length=1, max_length=_MOST, json_schema_extra={"examples": [[_EXAMPLE]]}),
]


class Promised(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a contract: `path` is its name for the caller, `inside` its path in the sandbox."""

    path: str
    inside: str


def read_contract(
    contract: Iterable[ContractFile], promise: Callable[[str], Promised]
) -> tuple[Promised, ...]:
    """Resolve the path of each file; `promise` raises `ToolError` for a name that leads
    elsewhere.
    """
    found: dict[str, Promised] = {}
    for at, one in enumerate(contract):
        promised = promise(one.filename)
        # Compare resolved paths, not names: `a.csv` and `./a.csv` are the same file.
        if promised.path in found:
            words = f"{brief(one.filename, 200)} is promised twice; name each file once"
            raise ToolError("invalid_input", words, **{f"contract[{at}]": words})
        found[promised.path] = promised
    return tuple(found.values())
