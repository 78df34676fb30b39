"""Tools that are not here because an extra is not: each names the way to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.core import extras
from callblocks.core.calls import Call
from callblocks.core.errors import UnknownTool
from callblocks.core.outcomes import Failure
from callblocks.guard.files.root import Root
from callblocks.runtime.judgement import take_call
from callblocks.toolkits import standard
from callblocks.tools.registry import Registry
from support.command import run

WAY = "pip install 'callblocks[documents]'"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setattr(standard, "fault_of", lambda extra: extra == "documents" and "needs more")
    with Root(tmp_path) as root:
        return standard.standard_tools(root)


def test_a_kit_without_its_extra_is_left_out_and_the_others_are_there(registry: Registry) -> None:
    name = "rendering_tools.write_pdf"
    assert name not in registry
    assert "file_read" in registry
    for known in (registry, Registry(registry), registry.only(["file_*"]), Registry() | registry):
        assert known.absent[name] == WAY
        with pytest.raises(UnknownTool, match="is not installed: pip install"):
            known[name]


def test_a_call_of_an_absent_tool_says_how_to_get_it(registry: Registry) -> None:
    failure = take_call(Call(id="1", name="rendering_tools.write_pdf"), registry)
    assert isinstance(failure, Failure)
    assert failure.code == "unknown_tool"
    assert failure.message.endswith(f"it is not installed here: {WAY}")


def test_a_tool_of_that_name_is_not_absent(registry: Registry) -> None:
    spec = {"name": "rendering_tools.write_pdf", "parameters": {"type": "object"}}
    both = Registry([spec]) | registry
    assert "rendering_tools.write_pdf" not in both.absent


def test_the_list_of_tools_names_what_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard, "fault_of", lambda extra: extra == "web" and "needs more")
    result = run("tools")
    assert result.exit_code == 0
    assert result.stderr == (
        "callblocks: 3 tools are not installed (api_call and the like): "
        f"{extras.install_line('web')}\n"
    )
