"""One bad call does not spoil the others."""

from __future__ import annotations

from callblocks import parse

GOOD = '{"type":"search","id":"b","operation":"o","parameters":{}}'


def test_a_number_of_too_many_digits_is_a_bad_call() -> None:
    bad = f'{{"type":"search","operation":"o","parameters":{{"n":{"7" * 5000}}}}}'
    parsed = parse(f"[{bad}, {GOOD}]\n✂️🐱\nprose", "scissors-cat")
    assert [call.id for call in parsed.calls] == ["b"]
    assert [problem.code for problem in parsed.problems] == ["scissors-cat.call"]
    assert parsed.text == "prose"
