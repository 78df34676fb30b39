from __future__ import annotations

import click
import pytest

from callblocks.cli.commands.run import check_reply, write_reply
from callblocks.cli.exits import Refusal
from callblocks.core.calls import Call, Item, Result
from callblocks.parser import parse

CALL = Call(id="c1", name="ls", input={"path": "a"}, dialect="tool-fence")
SAID: list[Item] = ["Look.\n", CALL, Result(id="c1", output="x")]


def test_the_dialect_is_that_of_the_calls(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_reply(SAID, None, ())
    found = parse(capfdbinary.readouterr().out.decode(), "tool-fence")
    assert [one.output for one in found.results] == ["x"]


def test_a_text_without_calls_is_written_as_it_is(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    write_reply(["Only words.\n"], None, ())
    assert capfdbinary.readouterr() == (b"Only words.\n", b"")


SAY_RESULTS = ("tool-fence", "chat-blocks", "emoji-bracket", "emoji-bracket+")


@pytest.mark.parametrize("name", SAY_RESULTS)
def test_a_dialect_that_can_say_results_may_be_named(name: str) -> None:
    check_reply(name)


@pytest.mark.parametrize("name", ["scissors-cat", "hermes", "qwen3_coder", "gpt_oss"])
def test_a_dialect_that_cannot_say_results_may_not(name: str) -> None:
    with pytest.raises(click.BadParameter, match=f"{name} cannot write (results|the result)"):
        check_reply(name)


def test_no_dialect_need_be_named() -> None:
    check_reply(None)


def test_what_a_named_dialect_cannot_say_is_said_in_another(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    write_reply(SAID, "emoji-bracket", ())
    out, said = capfdbinary.readouterr()
    assert [one.output for one in parse(out.decode(), "tool-fence").results] == ["x"]
    assert said.startswith(b"callblocks: emoji-bracket cannot write the input ")
    assert said.endswith(b"; replied in tool-fence\n")


def test_prose_that_cannot_be_said_beside_results_is_left_out(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    write_reply(["```tool\n", *SAID], None, ())
    out, said = capfdbinary.readouterr()
    found = parse(out.decode(), "tool-fence")
    assert (found.text, [one.output for one in found.results]) == ("", ["x"])
    assert said.endswith(b"; replied in tool-fence, without the prose\n")


def test_what_no_dialect_can_say_is_refused() -> None:
    odd: list[Item] = [Call(id="c1", name="ls", input={"a": object()}, dialect="scissors-cat")]
    with pytest.raises(Refusal) as raised:
        write_reply(odd, None, ())
    assert "scissors-cat" in raised.value.message
    assert "tool-fence" in raised.value.message
