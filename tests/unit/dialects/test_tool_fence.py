"""Text never raises, not even where the caller lifts the limits."""

from __future__ import annotations

import pytest

from callblocks import Limits, parse
from callblocks.dialects.tool_fence import UNKNOWN_ERROR

NESTED = "[" * 3000 + "]" * 3000
NO_LIMITS = Limits(depth=10**6)


@pytest.mark.parametrize("key", ["state", "id", "name", "input", "output", "other"])
def test_a_field_of_any_depth_is_kept_where_the_caller_allows_it(key: str) -> None:
    parsed = parse(f"```tool a b\n{key}: {NESTED}\n```\n", "tool-fence", limits=NO_LIMITS)
    assert [call.name for call in parsed.calls] == ["a"]


def test_an_error_too_deep_to_be_told_is_unknown() -> None:
    parsed = parse(f"```tool a b\nerror: {NESTED}\n```\n", "tool-fence", limits=NO_LIMITS)
    assert [result.error for result in parsed.results] == [UNKNOWN_ERROR]
