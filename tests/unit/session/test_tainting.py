from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from callblocks.session.tainting import taint_of
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.running import call

Path = Annotated[str, Field(json_schema_extra={"format": "path"})]


@tool(read_only=True, open_world=True)
def search(query: str) -> str:
    """Search."""
    return query


@tool(read_only=True, kind="source")
def mail() -> str:
    """Read the mail."""
    return ""


@tool(kind="exec")
def shell(command: str) -> str:
    """Run a command."""
    return command


@tool(read_only=True)
def read(path: Path, more: tuple[Path, ...] = ()) -> str:
    """Read a file."""
    return path


KNOWN = Registry([search, mail, shell, read])


@pytest.mark.parametrize("name", ["search", "mail", "shell"])
def test_what_comes_from_outside_taints(name: str) -> None:
    assert taint_of(call(name), KNOWN) == f"the result of {name}"


def test_what_nobody_knows_taints() -> None:
    assert taint_of(call("sing"), KNOWN) == "the result of sing, which nobody here knows"


@pytest.mark.parametrize(
    ("given", "foreign"),
    [
        ({"path": "downloads/a"}, "downloads/a"),
        ({"path": "./Downloads//a"}, "./Downloads//a"),
        ({"path": "attachments"}, "attachments"),
        ({"path": "a", "more": ["b", "attachments/c"]}, "attachments/c"),
    ],
)
def test_files_of_others_taint(given: dict[str, Any], foreign: str) -> None:
    assert taint_of(call("read", **given), KNOWN) == f"file of others: {foreign}"


@pytest.mark.parametrize("given", [{"path": "notes/a"}, {"path": 7}, {"path": None}, {}])
def test_files_of_ones_own_do_not(given: dict[str, Any]) -> None:
    assert taint_of(call("read", **given), KNOWN) is None
