"""A policy for people: its rules in order, and what is odd about them.

1  deny   path **/.env, **/*.pem                 secrets stay where they are
2  allow  tool file_read, file_list              looking changes nothing

warning  rule 2  free_commands: any command may run
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.runtime.policy.check_policy import Finding
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.rule_words import conditions
from callblocks.views.rows import Kind, Row, wrap
from callblocks.views.safe import visible_line

__all__ = ("finding_rows", "policy_rows")

_WORDS: dict[str, Kind] = {"allow": "code", "ask": "warning", "deny": "error"}
_SEVERITIES: dict[str, Kind] = {"error": "error", "warning": "warning", "note": "quiet"}
_HANG: Row = (("plain", " " * 13),)


def policy_rows(policy: Policy, width: int) -> list[Row]:
    """The rules, and what becomes of all that none of them names."""
    if not policy.enabled:
        return [(("strong", "off"), ("plain", ": nothing runs, whatever the rules say"))]
    rows: list[Row] = []
    for number, rule in enumerate(policy.rules, 1):
        because = f"  {rule.because}" if rule.because else ""
        head: Row = (
            ("quiet", f"{number:>4}  "),
            (_WORDS[rule.decide], f"{rule.decide:<7}"),
            ("plain", visible_line(conditions(rule))),
            ("quiet", visible_line(because)),
        )
        rows += wrap(head, width, _HANG)
    rest = "all else is asked where a person is there, and refused where not"
    return [*rows, (("quiet", f"      {rest}"),)]


def finding_rows(findings: Sequence[Finding], width: int) -> list[Row]:
    """What is odd, a row or more each."""
    rows: list[Row] = [()] if findings else []
    for finding in findings:
        head: Row = (
            (_SEVERITIES[finding.severity], f"{finding.severity:<9}"),
            ("quiet", f"rule {finding.rule}  " if finding.rule else ""),
            ("plain", visible_line(f"{finding.code}: {finding.message}")),
        )
        rows += wrap(head, width, (("plain", " " * 9),))
    return rows
