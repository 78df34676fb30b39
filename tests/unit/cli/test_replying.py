from __future__ import annotations

import pytest

from callblocks.cli.exits import Refusal
from callblocks.cli.replying import write_reply
from callblocks.model.calls import Call, Item, Result
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


def test_a_dialect_that_was_named_has_no_other(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with pytest.raises(Refusal, match="choose another with --reply-in"):
        write_reply(SAID, "scissors-cat", ())
    assert capfdbinary.readouterr().out == b""


def test_what_no_dialect_can_say_is_refused() -> None:
    odd: list[Item] = [Call(id="c1", name="ls", input={"a": object()}, dialect="scissors-cat")]
    with pytest.raises(Refusal) as raised:
        write_reply(odd, None, ())
    assert "scissors-cat" in raised.value.message
    assert "tool-fence" in raised.value.message
