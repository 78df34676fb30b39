"""What an error says, and what a program reads off it."""

from __future__ import annotations

from callblocks.core.errors import ModelError, NotABlock, TimelineError


def test_an_error_of_a_timeline_has_a_code_and_its_details() -> None:
    error = TimelineError("store_unavailable", "no such host", host="db")
    assert (error.code, error.message, error.details) == (
        "store_unavailable",
        "no such host",
        {"host": "db"},
    )
    assert str(error) == "no such host"


def test_an_error_of_a_model_has_a_code_and_its_details() -> None:
    error = ModelError("unreachable", "nobody answers", url="http://127.0.0.1:1/v1")
    assert str(error) == error.message == "nobody answers"
    assert error.code == "unreachable"
    assert error.details == {"url": "http://127.0.0.1:1/v1"}


def test_what_is_no_block_is_named() -> None:
    assert str(NotABlock({"type": "x"})) == "a timeline takes a Block, not dict: {'type': 'x'}"
