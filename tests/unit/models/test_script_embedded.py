"""The scripts that come with callblocks: each is found, reads well and calls what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from callblocks import Registry, parse
from callblocks.guard.files.root import Root
from callblocks.models.scripted import EMBEDDED, Script, ScriptedModel, ScriptFolder, fill
from callblocks.toolkits.react_tools import react_tools
from callblocks.toolkits.standard import standard_tools
from callblocks.toolkits.turn_files import open_recorder

SCRIPTS = ScriptFolder(EMBEDDED).scripts
each_script = pytest.mark.parametrize("script", SCRIPTS, ids=[one.name for one in SCRIPTS])


@pytest.fixture
def tools(tmp_path: Path) -> Registry:
    with Root(tmp_path) as root, open_recorder(tmp_path / "state", "talk") as recorder:
        turn = recorder.new_turn()
        return Registry((*standard_tools(root).tools, *react_tools(recorder, turn)))


def test_none_is_broken_and_all_are_suggested() -> None:
    model = ScriptedModel()
    assert model.broken == {}
    assert len(model.suggestions) == len(SCRIPTS) == 10


@each_script
def test_what_is_suggested_finds_its_script(script: Script) -> None:
    found = ScriptFolder(EMBEDDED).find(script.prompt)
    assert found is not None
    assert found.name == script.name


@each_script
def test_every_reply_is_read_without_a_problem(script: Script, tools: Registry) -> None:
    results: tuple[tuple[str, str], ...] = ()
    for number, reply in enumerate(script.replies, 1):
        filled = fill(reply, script.prompt, results)
        parsed = parse(filled, tools=tools)
        assert parsed.problems == []
        # A session may take calls in code fences for calls.
        assert parse(filled, tools=tools, in_code_fences=True).calls == parsed.calls
        assert "{{" not in filled
        # All but the last round call something; else nobody would ask for the next.
        assert bool(parsed.calls) is (number < len(script.replies) or bool(parsed.results))
        assert parsed.text.strip()
        results = tuple((call.id, '{"a": [`1`]}') for call in parsed.calls)


@each_script
def test_every_call_fits_a_tool_or_carries_its_result(script: Script, tools: Registry) -> None:
    for reply in script.replies:
        parsed = parse(reply, tools=tools)
        carried = {result.id for result in parsed.results}
        for call in parsed.calls:
            if call.id not in carried:
                assert tools[call.name].check(call.input).faults == ()


def test_together_they_show_every_dialect_and_the_tools() -> None:
    replies = [parse(reply) for script in SCRIPTS for reply in script.replies]
    called = {call.name for reply in replies for call in reply.calls}
    assert called >= {"file_read", "file_list", "file_write", "terminal_execute", "api_call"}
    assert "react.write" in called
    whole = "\n".join(reply for script in SCRIPTS for reply in script.replies)
    assert all(sign in whole for sign in ("```tool ", "🛠️[", "✂️🐱", "output:", "errorText:", "| --"))
