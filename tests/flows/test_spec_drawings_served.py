"""Calls that a server runs, drawn as one block: folded, open, while they run, and per member."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from callblocks.core.events import TurnEvent
from callblocks.views.chat.tool_blocks import (
    format_tool_combined,
    format_tool_started,
    normalize_legacy,
)
from callblocks.views.replay import replayed
from callblocks.views.ui.ai_sdk.ui_messages import reduced
from support.chat_server import served_host
from support.followed_turns import Following, events_of, spec_form
from support.gated_scripts import written_scripts
from support.scripted_sessions import some_host
from support.spec_drawings import (
    COLLAPSED,
    EXPANDED,
    FIVE,
    FOUR,
    STREAMING,
    Machine,
    Made,
    in_one,
    in_rounds,
)
from support.terminal_drawing import chat_text_of, drawn_text, drawn_turn

LEGACY = "🔧 **Tool Call:** `save_file(file_name=a.py)`\n✅ **`save_file` result:**\nok"
TOOL = "<tool>save_file(file_name=a.py)\nok</tool>"
OLD = "<tool>save_file(file_name=a.py)</tool>\n<validation>completed in 2 s</validation>"
SCRIPTS = {
    "five at once": in_one(FIVE, "All done."),
    "five in rounds": in_rounds(FIVE, "All done."),
    "four in rounds": in_rounds(FOUR, "It is built."),
    "legacy": LEGACY,
    "old": OLD,
}


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


@pytest.fixture(scope="module")
def following(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Generator[Following]:
    folder = tmp_path_factory.mktemp("drawings")
    model = written_scripts(folder / "scripts", SCRIPTS)
    with served_host(lambda: some_host(folder, model, tools=machine.registry())) as server:
        yield Following(server, model)


def combined(made: list[Made]) -> str:
    """Calls that are over, as chat text writes them."""
    return "".join(format_tool_combined(*one)[0] for one in made)


def headers(events: list[TurnEvent], expanded: bool) -> list[str]:
    """The first line of the drawing after each event, once each."""
    lines = [
        drawn_turn(events[:count], expanded=expanded).partition("\n")[0]
        for count in range(len(events) + 1)
    ]
    return list(dict.fromkeys(line for line in lines if line.startswith("🔧")))


@pytest.mark.parametrize("prompt", ["five at once", "five in rounds"])
def test_five_calls_are_one_block(following: Following, machine: Machine, prompt: str) -> None:
    machine.make(FIVE)
    turn = following.play(prompt)
    assert spec_form(turn.text) == combined(FIVE) + "All done."
    for events in (turn.events, list(replayed(turn.entries))):
        assert drawn_turn(events) == f"{EXPANDED}\n\nAll done."
        assert drawn_turn(events, expanded=False) == f"{COLLAPSED}\n\nAll done."
        text = chat_text_of(events).text
        assert drawn_text(text) == f"{EXPANDED}\n\nAll done."
        assert drawn_text(text, expanded=False) == f"{COLLAPSED}\n\nAll done."


@pytest.mark.parametrize("version", [5, 6, 7])
@pytest.mark.parametrize("prompt", ["five at once", "five in rounds"])
def test_every_client_gets_the_calls_and_their_results(
    following: Following, machine: Machine, prompt: str, version: int
) -> None:
    machine.make(FIVE)
    turn = following.play(prompt, version)
    given = [
        {
            "type": "dynamic-tool",
            "toolCallId": f"c{at}",
            "toolName": name,
            "providerExecuted": True,
            "state": "output-available",
            "input": input,
            "output": output,
        }
        for at, (name, input, output) in enumerate(FIVE, 1)
    ]
    for parts in (turn.reply, reduced(turn.chunks)["parts"]):
        assert [part for part in parts if part["type"] == "dynamic-tool"] == given


def test_a_call_that_runs_is_shown_as_such(following: Following, machine: Machine) -> None:
    machine.make(FOUR)
    machine.built.clear()
    with following.begun("four in rounds") as (turn, chunks):
        try:
            for chunk in chunks:
                if chunk["type"] == "tool-input-available" and chunk["toolCallId"] == "c4":
                    break
            events = events_of(turn)
        finally:
            machine.built.set()
        rest = list(chunks)
    text = chat_text_of(events).text
    assert spec_form(text) == combined(FOUR[:3]) + format_tool_started(*FOUR[3][:2])[0]
    assert drawn_turn(events) == drawn_text(text) == STREAMING
    told = [chunk for chunk in rest if "toolCallId" in chunk]
    assert [(one["type"], one["output"]) for one in told] == [("tool-output-available", "built")]
    text = chat_text_of(events_of(turn)).text
    assert spec_form(text) == combined(FOUR) + "It is built."
    assert drawn_text(text) == f"{STREAMING.replace(' ⏳', ' → built')}\n\nIt is built."


def test_the_count_grows_as_calls_start(following: Following, machine: Machine) -> None:
    machine.make(FOUR)
    machine.built.set()
    events = following.play("four in rounds").events
    assert headers(events, expanded=True) == [
        "🔧 run_shell_command (hide details)",
        "🔧 2 tool calls (hide details)",
        "🔧 3 tool calls (hide details)",
        "🔧 4 tool calls (hide details)",
    ]
    assert headers(events, expanded=False)[-2:] == [
        "🔧 4 tool calls, running run_shell_command (show details)",
        "🔧 4 tool calls (show details)",
    ]


def test_an_old_call_reaches_a_reader_who_draws_it_as_a_block(following: Following) -> None:
    turn = following.play("legacy")
    (part,) = turn.reply[1:]
    assert part["text"] == LEGACY
    assert normalize_legacy(part["text"]) == TOOL
    assert drawn_text(part["text"]) == drawn_text(TOOL)
    assert drawn_text(part["text"]) == (
        "🔧 save_file (hide details)\n  save_file(file_name=a.py) → ok"
    )


def test_an_old_call_and_its_validation_stay_two_blocks(following: Following) -> None:
    turn = following.play("old")
    (part,) = turn.reply[1:]
    assert part["text"] == OLD
    assert drawn_text(part["text"], expanded=False) == (
        "🔧 save_file, running (show details)\n\n✅ Validation (show details)"
    )


@pytest.mark.parametrize("prompt", ["legacy", "old"])
def test_what_a_model_says_is_no_block_of_a_new_chat(following: Following, prompt: str) -> None:
    turn = following.play(prompt)
    assert not any("toolCallId" in chunk for chunk in turn.chunks)
    assert "<tool" not in turn.text
    assert "<validation" not in turn.text
    # What would look like one of our headings is quoted.
    said = SCRIPTS[prompt].replace("🔧", "\\🔧")
    assert drawn_text(turn.text) == drawn_turn(turn.events) == said
