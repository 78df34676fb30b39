from __future__ import annotations

from typing import Any

import pytest

from callblocks.approvals.approval import Approval, Taken
from callblocks.approvals.book import Moment
from callblocks.policy.lint import Finding
from callblocks.policy.policy import Decision, Policy
from callblocks.policy.rules import Facts, Rule, RuleFault

NAMED = [Approval, Taken, Finding, Facts, Decision, Rule]


@pytest.mark.parametrize("kind", [*NAMED, Moment, Policy, RuleFault])
def test_a_value_never_changes(kind: Any) -> None:
    assert kind.__struct_config__.frozen


@pytest.mark.parametrize("kind", NAMED)
def test_a_value_of_many_fields_is_made_by_their_names(kind: Any) -> None:
    with pytest.raises(TypeError, match="positional"):
        kind("x")
