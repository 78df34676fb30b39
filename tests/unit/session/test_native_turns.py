"""Turns with a model that calls natively: the same events and outcomes as with calls in text."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.blocks import text_of
from callblocks.core.calls import Call
from callblocks.core.errors import ModelError
from callblocks.core.events import (
    CallInput,
    CallReady,
    CallStarted,
    Malformed,
    Text,
    TurnEnded,
)
from callblocks.dialects import dialects
from callblocks.models.model import NativeDelta, Request, Spoken, Stopped, ToolsUnheard, Usage
from callblocks.session.model_choice import SessionSettings
from callblocks.session.session import Session
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.played_turns import GOOD, LOOKING
from support.scripted_sessions import (
    Replies,
    blocks_of,
    check_grammar,
    of_type,
    run_turn,
    some_host,
)

GARDEN = '{"place": "garden"}'


def native(slot: int, text: str, *, name: str = "look", id: str = "") -> NativeDelta:
    return NativeDelta(slot, id, name, text)


class Turn:
    """One turn, or several, with a model of a mode."""

    def __init__(
        self, folder: Path, *says: Any, mode: str = "mixed", turns: int = 1, name: str = "replies"
    ) -> None:
        self.model: Any = Replies(*says, size=10_000)
        self.model.mode, self.model.name = mode, name
        self.events: list[Any] = []
        with some_host(folder, self.model, tools=LOOKING) as host:
            self.session: Session = host.session("talk")
            for _ in range(turns):
                events = asyncio.run(run_turn(self.session, "Look."))
                check_grammar(events)
                self.events += events
            self.blocks = blocks_of(self.session)
        for request in self.model.requests:
            check_native(request)

    @property
    def codes(self) -> list[str]:
        ended = [one.outcome for one in self.events if hasattr(one, "outcome")]
        return [one.error.code if one.error else "" for one in ended]

    @property
    def calls(self) -> list[Call]:
        return [one.call for one in of_type(self.events, CallReady)]


def check_native(request: Request) -> None:
    """Every call has exactly one `tool` message, before anything else follows."""
    waiting: list[str] = []
    for message in request.messages:
        if message.role == "tool":
            assert waiting.pop(0) == message.call_id
        else:
            assert not waiting
        waiting += [call.id for call in message.calls]
    assert not waiting
    roles = [one.role for one in request.messages if one.role != "tool"]
    assert roles[:2] == ["system", "user"]


def test_parallel_native_calls_run_and_their_results_go_back_natively(tmp_path: Path) -> None:
    says = [
        Spoken("I look."),
        native(0, "", id="a"),
        native(1, '{"place": ', id="b"),
        NativeDelta(0, "", "", GARDEN),
        NativeDelta(1, "", "", '"nowhere"}'),
        Spoken(" Twice."),
    ]
    turn = Turn(tmp_path, says, "Done.")
    assert sorted(turn.codes) == ["", "path_not_found"]
    assert [(one.id, one.input, one.dialect) for one in turn.calls] == [
        ("a", {"place": "garden"}, "native"),
        ("b", {"place": "nowhere"}, "native"),
    ]
    written = of_type(turn.events, CallInput)
    assert [(one.index, one.text) for one in written][:2] == [(2, '{"place": '), (1, GARDEN)]
    first, second = turn.model.requests
    assert [spec.name for spec in first.tools if "." in spec.name] == []
    assert "look" in {spec.name for spec in first.tools}
    said, good, bad = second.messages[-3:]
    assert [call.name for call in said.calls] == ["look", "look"]
    assert said.parts[0].text == "I look.\n Twice.\n"
    assert "a garden" in good.parts[0].text
    assert "path_not_found" in bad.parts[0].text


def test_tools_have_names_that_apis_allow_and_run_under_their_own(tmp_path: Path) -> None:
    given = '{"path": "a.md", "content": "# A"}'
    turn = Turn(tmp_path, [native(0, given, name="react_write")], "Done.", turns=1)
    assert [one.name for one in turn.calls] == ["react.write"]
    assert turn.codes == [""]
    assert turn.model.requests[1].messages[-2].calls[0].name == "react_write"


@pytest.mark.parametrize("name", ["react_write", "react.write"])
def test_a_call_that_the_server_left_in_the_text_runs_in_mixed_mode(
    tmp_path: Path, name: str
) -> None:
    call = Call(id="c1", name=name, input={"path": "a.md", "content": "# A"})
    turn = Turn(tmp_path, dialects["hermes"].write([call]), "Done.")
    assert [(one.name, one.dialect) for one in turn.calls] == [("react.write", "hermes")]
    assert turn.codes == [""]
    assert turn.model.requests[1].messages[-1].role == "tool"


def test_in_native_mode_text_is_only_text(tmp_path: Path) -> None:
    text = dialects["hermes"].write([GOOD], LOOKING)
    turn = Turn(tmp_path, text, mode="native")
    assert turn.calls == []
    assert "".join(one.text for one in of_type(turn.events, Text)) == text


@pytest.mark.parametrize("text_first", [True, False])
def test_a_call_in_both_forms_runs_once(tmp_path: Path, text_first: bool) -> None:
    text = Spoken("Look: " + dialects["hermes"].write([GOOD], LOOKING) + " So.")
    both = [text, native(0, GARDEN)] if text_first else [native(0, GARDEN), text]
    turn = Turn(tmp_path, both, "Done.")
    assert turn.codes == [""]
    (hint,) = of_type(turn.events, Malformed)
    assert hint.code == "native.twice"
    assert "runs once" in hint.detail
    said = turn.model.requests[1].messages[-2].parts[0].text
    assert said == "Look:\n So.\n"


def test_two_equal_native_calls_are_two(tmp_path: Path) -> None:
    turn = Turn(tmp_path, [native(0, GARDEN), native(1, GARDEN)], "Done.")
    assert turn.codes == ["", ""]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("{'place': 'garden',}", {"place": "garden"}),
        ('"{\\"place\\": \\"garden\\"}"', {"place": "garden"}),
    ],
)
def test_inputs_as_models_write_them_are_read(
    tmp_path: Path, text: str, value: dict[str, Any]
) -> None:
    turn = Turn(tmp_path, [native(0, text)], "Done.")
    assert [one.input for one in turn.calls] == [value]


@pytest.mark.parametrize("text", ["[1]", "7", '{"place": ', "{} {}", "garden"])
def test_an_input_that_is_none_is_told_and_the_model_is_asked_again(
    tmp_path: Path, text: str
) -> None:
    turn = Turn(tmp_path, [Spoken("So: "), native(0, text), Spoken("!")], "Done.")
    (broken,) = of_type(turn.events, Malformed)
    assert (broken.code, broken.text) == ("native.input", f"look {text}")
    assert turn.calls == []
    (notice,) = [one for one in turn.blocks if one.type == "react.notice"]
    assert "native.input" in (notice.text or "")
    assert text in turn.model.requests[1].messages[-2].parts[0].text


def test_what_was_said_around_calls_that_are_none_keeps_its_order(tmp_path: Path) -> None:
    says: list[Any] = []
    for at, text in enumerate(("[1]", GARDEN, "[2]", "[3]")):
        says += [Spoken(f"{at} "), native(at, text)]
    turn = Turn(tmp_path, [*says, Spoken("end")], "Done.")
    said = turn.model.requests[1].messages[2].parts[0].text
    assert said == "0 look [1]1\n2 look [2]3 look [3]end\n"


def test_a_call_without_a_name_is_told(tmp_path: Path) -> None:
    turn = Turn(tmp_path, [native(0, GARDEN, name="")], "Done.")
    (broken,) = of_type(turn.events, Malformed)
    assert broken.index is None
    assert "names no tool" in broken.detail
    assert not of_type(turn.events, CallStarted)


def test_a_name_that_comes_late_opens_the_call_then(tmp_path: Path) -> None:
    turn = Turn(tmp_path, [NativeDelta(0, "", "", GARDEN), NativeDelta(0, "", "look")], "Done.")
    assert turn.codes == [""]


def test_a_tool_that_the_model_made_up_is_one_failed_call(tmp_path: Path) -> None:
    turn = Turn(tmp_path, [native(0, "{}", name="teleport")], "Done.")
    assert turn.codes == ["unknown_tool"]


def test_one_id_for_two_calls_gives_two_outcomes(tmp_path: Path) -> None:
    other = '{"place": "cellar"}'
    turn = Turn(tmp_path, [native(0, GARDEN, id="x"), native(1, other, id="x")], "Done.")
    assert turn.codes == ["", ""]
    assert len({one.id for one in turn.calls}) == 2


def test_a_call_that_comes_again_under_its_id_runs_once(tmp_path: Path) -> None:
    turn = Turn(tmp_path, [native(0, GARDEN, id="x"), native(1, GARDEN, id="x")], "Done.")
    assert turn.codes == [""]
    (hint,) = of_type(turn.events, Malformed)
    assert hint.code == "native.twice"


def test_a_small_model_is_given_short_schemas(tmp_path: Path) -> None:
    sizes: list[int] = []
    for name in ("qwen2.5-1.5b", "qwen2.5-72b"):
        model: Any = Replies("Hi.")
        model.mode, model.name = "mixed", name
        (tmp_path / name).mkdir()
        with some_host(tmp_path / name, model) as host:
            asyncio.run(run_turn(host.session("talk"), "Hello."))
        sizes.append(len(str([spec.parameters for spec in model.requests[0].tools])))
    assert sizes[0] < sizes[1] * 0.7


def test_a_reply_that_a_filter_cut_is_no_answer(tmp_path: Path) -> None:
    turn = Turn(tmp_path, [Spoken("I ca"), Stopped("content_filter")])
    assert (turn.events[-1].status, turn.events[-1].code) == ("limited", "reply_filtered")


def test_a_stream_that_is_cut_inside_a_call_runs_nothing(tmp_path: Path) -> None:
    cut = ModelError("model_unreachable", "it broke off")
    turn = Turn(tmp_path, [native(0, '{"place": "gar'), cut])
    assert turn.codes == ["cancelled"]
    assert turn.events[-1].code == "model_unreachable"


def test_a_call_that_is_whole_does_not_run_where_the_stream_is_cut(tmp_path: Path) -> None:
    cut = ModelError("model_unreachable", "it broke off")
    turn = Turn(tmp_path, [native(0, GARDEN), cut])
    assert turn.codes == ["cancelled"]


def test_a_reply_that_is_out_of_tokens_inside_a_call_is_refused_with_a_word(
    tmp_path: Path,
) -> None:
    turn = Turn(tmp_path, [native(0, '{"place": "gar'), Stopped("length")], "Done.")
    assert turn.codes == ["unended_call"]


def test_an_input_that_is_too_long_ends_the_turn_and_runs_nothing(tmp_path: Path) -> None:
    model: Any = Replies([native(0, '{"place": "' + "x" * 5_000_000 + '"}')])
    model.mode = "mixed"
    with some_host(tmp_path, model, tools=LOOKING, session=SessionSettings()) as host:
        events = asyncio.run(run_turn(host.session("talk"), "Look."))
    check_grammar(events)
    assert events[-1].code == "model_too_long"  # pyright: ignore[reportAttributeAccessIssue]


class NoTools(Replies):
    """A server that takes no tools, and says so at the first request that has some."""

    mode = "mixed"

    def reply(self, request: Request) -> Any:
        if request.tools:
            self.mode = "text"
            self._says.insert(0, ModelError("model_no_tools", "this model has no tools"))
        return super().reply(request)


def test_a_server_without_tools_is_asked_again_in_text(tmp_path: Path) -> None:
    model = NoTools(dialects["hermes"].write([GOOD], LOOKING), "Done.")
    with some_host(tmp_path, model, tools=LOOKING) as host:
        events = asyncio.run(run_turn(host.session("talk"), "Look."))
    check_grammar(events)
    refused, taught, last = model.requests
    assert (refused.round, taught.round, last.round) == (1, 1, 2)
    assert refused.tools
    assert not taught.tools
    assert "<tool_call>" not in text_of(list(refused.messages[0].parts))
    assert "<tool_call>" in text_of(list(taught.messages[0].parts))
    assert last.messages[-1].role == "user"


class Deaf(Replies):
    """A server that passes over tools, which is known by the count after its first reply."""

    mode = "mixed"

    def give_up_tools(self) -> None:
        self.mode = "text"

    async def reply(self, request: Request) -> Any:
        async for piece in super().reply(request):
            yield piece
            if request.tools and isinstance(piece, Usage):
                yield ToolsUnheard()


def test_a_model_that_never_heard_of_its_tools_is_asked_again_in_text(tmp_path: Path) -> None:
    model = Deaf("I have no tools.", dialects["hermes"].write([GOOD], LOOKING), "Done.")
    with some_host(tmp_path, model, tools=LOOKING) as host:
        session = host.session("talk")
        events = asyncio.run(run_turn(session, "Look."))
        notes = blocks_of(session, "react.notes")
    check_grammar(events)
    assert [bool(one.tools) for one in model.requests] == [True, False, False]
    assert notes[0].text == "I have no tools."
    assert "tools_taught" in text_of(list(model.requests[1].messages[-1].parts))


def test_a_model_that_calls_has_heard_of_its_tools_whatever_is_counted(tmp_path: Path) -> None:
    model = Deaf(dialects["hermes"].write([GOOD], LOOKING), "Done.")
    with some_host(tmp_path, model, tools=LOOKING) as host:
        asyncio.run(run_turn(host.session("talk"), "Look."))
    assert [bool(one.tools) for one in model.requests] == [True, True]


@pytest.mark.parametrize("mode", ["native", "mixed", "text"])
def test_a_session_made_anew_sends_the_messages_of_the_one_that_ran(
    tmp_path: Path, mode: str
) -> None:
    # The server numbers the calls of each reply from one on.
    says: list[Any] = [native(0, GARDEN, id="call_1"), native(1, '{"place": "x"}', id="call_2")]
    if mode == "text":
        says = [Spoken(dialects["hermes"].write([GOOD], LOOKING))]
    model: Any = Replies(size=10_000)
    model.mode = mode
    with some_host(tmp_path, model, tools=LOOKING) as host:
        session = host.session("talk")
        for prompt in ("One.", "Two."):
            model.begin(list(says), "Done.")
            asyncio.run(run_turn(session, prompt))
        model.begin("Three.")
        asyncio.run(run_turn(session, "Three?"))
        (ran,) = model.requests
    with some_host(tmp_path, model, tools=LOOKING) as host:
        model.begin("Four.")
        asyncio.run(run_turn(host.session("talk"), "Four?"))
        (anew,) = model.requests
    assert anew.messages[: len(ran.messages)] == ran.messages
    check_native(anew)
    if mode != "text":
        calls = [call.id for one in anew.messages for call in one.calls]
        assert calls == ["call_1", "call_2"] * 2


class Fickle(Replies):
    """A server whose mode another turn changes while a reply arrives."""

    mode = "mixed"

    async def reply(self, request: Request) -> Any:
        self.mode = "text"
        async for piece in super().reply(request):
            yield piece


def test_a_reply_is_read_in_the_mode_of_its_request(tmp_path: Path) -> None:
    given = '{"path": "a.md", "content": "# A"}'
    model = Fickle([native(0, given, name="react_write")], "Done.")
    with some_host(tmp_path, model, tools=LOOKING) as host:
        events = asyncio.run(run_turn(host.session("talk"), "Look."))
    (written,) = of_type(events, CallReady)
    assert written.call.name == "react.write"


def test_a_reply_that_was_told_is_kept_where_tools_are_refused_after_it(tmp_path: Path) -> None:
    model = NoTools()
    model.begin([Spoken("I will look."), ModelError("model_no_tools", "no")], "Done.")
    with some_host(tmp_path, model, tools=LOOKING) as host:
        session = host.session("talk")
        vars(model)["mode"] = "mixed"
        model.reply = Replies.reply.__get__(model)
        events = asyncio.run(run_turn(session, "Look."))
        said = blocks_of(session, "assistant.completion")
    assert events[-1].code == "model_no_tools"  # pyright: ignore[reportAttributeAccessIssue]
    assert [one.text for one in said] == ["I will look."]


def test_later_turns_begin_with_the_messages_of_the_one_before(tmp_path: Path) -> None:
    turn = Turn(tmp_path, [native(0, GARDEN, id="a")], "One.", "Two.", turns=2)
    *_, second, third = turn.model.requests
    assert third.messages[: len(second.messages)] == second.messages
    assert [one.role for one in third.messages[len(second.messages) :]] == ["assistant", "user"]


def test_a_model_that_plays_the_part_of_a_tool_is_told_so(tmp_path: Path) -> None:
    made_up = "<tool_response>\na cellar\n</tool_response>"
    turn = Turn(tmp_path, made_up, [native(0, GARDEN)], made_up)
    (hint,) = of_type(turn.events, Malformed)
    assert hint.code == "written-result"
    assert turn.codes == [""]
    assert turn.events[-1].status == "answered"
    shown = [text_of(list(one.parts)) for one in turn.model.requests[-1].messages]
    assert not any("tool_response" in text for text in shown[:-1] if "written-result" not in text)


BARE = '{"name": "look", "arguments": {"place": "garden"}}\n'
FENCED = f"```json\n{BARE}```\n"
LARGE, SMALL = "qwen2.5-coder-72b", "qwen2.5-coder-1.5b"


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        FENCED,
        f"I look.\n{FENCED}",
        f"{BARE}{BARE.replace('garden', 'cellar')}",
        '```json\n[{"name": "look", "arguments": {"place": "garden"}},\n'
        '{"name": "look", "arguments": {"place": "cellar"}}]\n```\n',
        '{{"name": "look", "arguments": {"place": "garden"}}}\n',
    ],
)
def test_a_call_without_markers_is_shown_as_the_model_wrote_it(tmp_path: Path, text: str) -> None:
    turn = Turn(tmp_path, text, "One.", "Two.", turns=2, name=LARGE)
    assert set(turn.codes) == {""}
    _, second, third = turn.model.requests
    said, given = second.messages[-2:]
    assert (said.role, said.calls) == ("assistant", ())
    assert "".join(text_of(list(said.parts)).split()) == "".join(text.split())
    assert given.role == "user"
    results = text_of(list(given.parts))
    assert results.count("<tool_response>") == len(turn.calls)
    assert results.endswith("</tool_response>\n")
    assert third.messages[: len(second.messages)] == second.messages


def test_a_call_whose_family_has_no_tags_for_results_is_shown_natively(tmp_path: Path) -> None:
    turn = Turn(tmp_path, FENCED, "Done.", name="llama3.1-70b")
    said, given = turn.model.requests[1].messages[-2:]
    assert [call.name for call in said.calls] == ["look"]
    assert given.role == "tool"


def test_what_is_no_frame_of_a_call_is_not_kept(tmp_path: Path) -> None:
    far = '{"name": "look", ' + " " * 400 + '"arguments": {"place": "garden"}}'
    typed = '{"name": "look", "arguments": "{\\"place\\": \\"garden\\"}"}'
    for text in (far, typed):
        folder = tmp_path / str(len(text))
        folder.mkdir()
        turn = Turn(folder, text, "Done.", name=LARGE)
        assert turn.codes == [""]
        assert turn.model.requests[1].messages[-1].role == "tool"


def test_a_small_model_is_reminded_of_its_tools_and_of_its_answer(tmp_path: Path) -> None:
    ends: list[list[str]] = []
    for name in (SMALL, LARGE):
        (tmp_path / name).mkdir()
        turn = Turn(tmp_path / name, FENCED, "One.", "Two.", turns=2, name=name)
        sent = turn.model.requests[-1].messages
        asked = [text_of(list(one.parts)) for one in sent if one.role == "user"]
        ends.append([text.rstrip("\n").rpartition("\n")[2] for text in asked])
    (first, after, second), plain = ends
    assert first == second
    assert "tool" in first
    assert "Answer" in after
    assert plain == ["[User say]: Look.", "</tool_response>", "[User say]: Look."]


def test_a_small_model_that_repeats_a_call_is_told_to_answer(tmp_path: Path) -> None:
    other = BARE.replace("garden", "cellar")
    turn = Turn(tmp_path, BARE, f"{BARE}{other}", BARE, "Done.", name=SMALL)
    ends = [text_of(list(one.messages[-1].parts)) for one in turn.model.requests[1:]]
    assert ["Do not call again" in text for text in ends] == [False, False, True]
    again = Turn(tmp_path, BARE, "Done.", name=SMALL)
    assert "Do not call again" not in text_of(list(again.model.requests[1].messages[-1].parts))


def test_a_call_that_gives_something_new_is_not_taken_for_a_repetition(tmp_path: Path) -> None:
    numbers = count(1)

    @tool(read_only=True)
    def look(place: str) -> str:
        """Look at a place."""
        return f"{place} {next(numbers)}"

    model: Any = Replies(BARE, BARE, "Done.")
    model.mode, model.name = "mixed", SMALL
    with some_host(tmp_path, model, tools=Registry((look,))) as host:
        asyncio.run(run_turn(host.session("talk"), "Look."))
    assert "garden 2" in text_of(list(model.requests[2].messages[-1].parts))
    assert "Do not call again" not in text_of(list(model.requests[2].messages[-1].parts))


def test_a_call_that_ran_out_of_the_turn_is_answered_in_its_own_form(tmp_path: Path) -> None:
    model: Any = Replies(BARE, "Done.")
    model.mode, model.name = "mixed", LARGE
    limits = SessionSettings(rounds=1)
    with some_host(tmp_path, model, tools=LOOKING, session=limits) as host:
        session = host.session("talk")
        for _ in range(2):
            asyncio.run(run_turn(session, "Look."))
    roles = [one.role for one in model.requests[1].messages]
    assert roles == ["system", "user", "assistant", "user"]
    last = text_of(list(model.requests[1].messages[-1].parts))
    assert last.index("<tool_response>") < last.index("[User say]: Look.")


def test_tags_without_a_word_are_no_answer_and_are_not_shown_again(tmp_path: Path) -> None:
    empty = "<tools></tools>\n"
    turn = Turn(tmp_path, empty, BARE, "Done.", empty, empty, "Hi.", turns=3, name=SMALL)
    ends = [(one.status, one.code) for one in of_type(turn.events, TurnEnded)]
    assert ends == [("answered", ""), ("failed", "empty_reply"), ("answered", "")]
    assert turn.codes == [""]
    sent = turn.model.requests[-1].messages
    said = [text_of(list(one.parts)) for one in sent if one.role == "assistant"]
    assert said == ["(no answer)\n", BARE, "Done.\n", "(no answer)\n", "(no answer)\n"]
    assert "you said nothing" in text_of(list(turn.model.requests[1].messages[-1].parts))


@pytest.mark.parametrize("mode", ["text", "mixed"])
def test_a_small_model_that_has_tools_is_asked_at_a_low_temperature(
    tmp_path: Path, mode: str
) -> None:
    for name, wanted in ((SMALL, True), (LARGE, False)):
        (tmp_path / name).mkdir()
        turn = Turn(tmp_path / name, "Hi.", name=name, mode=mode)
        temperature = turn.model.requests[0].temperature
        assert (temperature is not None and temperature < 0.5) == wanted
