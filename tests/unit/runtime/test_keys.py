from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.calls import Call
from callblocks.runtime.runtime import idempotency_key

texts = st.text(max_size=5)
inputs = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=4)
calls = st.builds(Call, id=texts, name=texts, input=inputs)


@given(texts, calls)
def test_the_same_call_of_the_same_turn_has_the_same_key(turn: str, call: Call) -> None:
    turned = dict(reversed(call.input.items()))
    same = Call(id=call.id, name=call.name, input=turned, dialect="x", span=(1, 2))
    assert idempotency_key(turn, call) == idempotency_key(turn, same)
    assert len(idempotency_key(turn, call)) == 32


@given(texts, calls, texts, calls)
def test_any_other_call_or_turn_has_another_key(
    turn: str, call: Call, other_turn: str, other: Call
) -> None:
    same = (turn, call.id, call.name, _typed(call)) == (
        other_turn,
        other.id,
        other.name,
        _typed(other),
    )
    assert (idempotency_key(turn, call) == idempotency_key(other_turn, other)) == same


def _typed(call: Call) -> dict[str, tuple[str, object]]:
    """Python takes 1 for True; a key does not."""
    return {key: (type(value).__name__, value) for key, value in call.input.items()}
