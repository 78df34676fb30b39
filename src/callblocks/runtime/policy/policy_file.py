"""A policy as a TOML file.

    autoexec = true            # false: nothing runs, whatever the rules say

    [[rule]]
    decide = "allow"
    tool = ["file_read", "file_list"]
    path = "notes/**"
    because = "my notes are mine to read"

    [[rule]]
    decide = "deny"
    tool = "terminal_*"
    argument.command = "rm *"

Without `autoexec` the policy is on if it has rules. A single pattern needs no brackets. Anything
that is not understood is an error, because a rule that is read in part would decide something else.
"""

from __future__ import annotations

import os
from typing import Any, cast

from callblocks.model.brief import brief
from callblocks.model.errors import BadPolicy
from callblocks.model.toml_text import parse_toml
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.rule_fault import hint
from callblocks.runtime.policy.rule_table import line_of, read_rule, write_rule
from callblocks.runtime.policy.rules import Rule

__all__ = ("LARGEST", "parse_policy", "read_policy", "write_policy")

# The most bytes of a policy file.
LARGEST = 1_000_000

_KEYS = ("autoexec", "rule")


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read the policy in a file; its name is the path."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            # One byte more than allowed tells that the file is too large, without reading all of
            # it.
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise BadPolicy(f"{name}: larger than {LARGEST} bytes, which no policy is")
        return parse_policy(content.decode("utf-8"), name)
    except OSError as error:
        raise BadPolicy(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadPolicy(f"{name}: not UTF-8 text: {error.reason} at byte {error.start}") from error


def parse_policy(text: str, name: str = "") -> Policy:
    """Parse the text of a policy; `name` prefixes every error message."""
    where = f"{name}: " if name else ""
    found = parse_toml(text, "policy", name, lambda tables: tables, BadPolicy)
    for key in found:
        if key not in _KEYS:
            raise BadPolicy(f"{where}{brief(key)} is no key of a policy{hint(key, _KEYS)}")
    return Policy(_rules(found.get("rule", []), text, where), name, _autoexec(found, where))


def write_policy(policy: Policy) -> str:
    """Return a text that `parse_policy` reads as the same policy."""
    head = f"autoexec = {str(policy.enabled).lower()}\n"
    return "\n".join([head, *map(write_rule, policy.rules)])


def _autoexec(found: dict[str, Any], where: str) -> bool | None:
    autoexec = found.get("autoexec")
    if autoexec is not None and not isinstance(autoexec, bool):
        raise BadPolicy(f"{where}autoexec: {brief(autoexec)} is not true or false")
    return autoexec


def _rules(found: object, text: str, where: str) -> tuple[Rule, ...]:
    tables = cast("list[object]", found) if isinstance(found, list) else [found]
    rules: list[Rule] = []
    for number, table in enumerate(tables, 1):
        if not isinstance(found, list) or not isinstance(table, dict):
            raise BadPolicy(f"{where}rule: {brief(table)} is no rule; write [[rule]] above each")
        rule = read_rule(cast("dict[str, Any]", table))
        if not isinstance(rule, Rule):
            line = line_of(text, number, len(tables), rule.key)
            place = f"rule {number} (line {line})" if line else f"rule {number}"
            raise BadPolicy(f"{where}{place}, {rule.key}: {rule.problem}")
        rules.append(rule)
    return tuple(rules)
