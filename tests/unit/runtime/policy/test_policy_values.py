from __future__ import annotations

from typing import Any

import pytest

from callblocks.runtime.approvals.approval import Approval, Taken
from callblocks.runtime.approvals.moment import Moment
from callblocks.runtime.policy.check_policy import Finding
from callblocks.runtime.policy.facts import Facts
from callblocks.runtime.policy.policy import Decision, Policy
from callblocks.runtime.policy.rule_fault import RuleFault
from callblocks.runtime.policy.rules import Rule

NAMED = [Approval, Taken, Finding, Facts, Decision, Rule]


@pytest.mark.parametrize("kind", [*NAMED, Moment, Policy, RuleFault])
def test_a_value_never_changes(kind: Any) -> None:
    assert kind.__struct_config__.frozen


@pytest.mark.parametrize("kind", NAMED)
def test_a_value_of_many_fields_is_made_by_their_names(kind: Any) -> None:
    with pytest.raises(TypeError, match="positional"):
        kind("x")
