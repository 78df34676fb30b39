from __future__ import annotations

from callblocks.policy.lint import Finding
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.views.terminal.tables import finding_rows, policy_rows
from support.terminal_rows import EVIL, harmless, lines


def test_a_policy_that_is_off_says_so() -> None:
    assert lines(policy_rows(Policy(), 80)) == ["off: nothing runs, whatever the rules say"]


def test_each_rule_says_what_it_decides_for_which_calls() -> None:
    policy = Policy(
        (
            Rule(decide="deny", path=("**/.env", "**/*.pem"), because="secrets stay"),
            Rule(decide="allow", tool=("file_*",), trait=("read_only",), tainted=False),
            Rule(decide="ask", argument={"command": ("ls *",)}, host=("*.test",), tainted=True),
        )
    )
    assert lines(policy_rows(policy, 100)) == [
        "   1  deny   path **/.env, **/*.pem  secrets stay",
        "   2  allow  tool file_*; trait read_only; not tainted",
        "   3  ask    command ls *; host *.test; tainted",
        "      all else is asked where a person is there, and refused where not",
    ]


def test_findings_name_their_rule() -> None:
    found = (
        Finding(severity="warning", rule=2, code="free_commands", message="any command may run"),
        Finding(severity="note", rule=0, code="no_rules", message="there are none"),
    )
    assert lines(finding_rows(found, 80)) == [
        "",
        "warning  rule 2  free_commands: any command may run",
        "note     no_rules: there are none",
    ]
    assert finding_rows((), 80) == []


def test_nothing_in_a_rule_steers_the_terminal() -> None:
    policy = Policy((Rule(decide="deny", argument={f"a{EVIL}": (EVIL,)}, because=EVIL),))
    assert harmless(policy_rows(policy, 60))
    found = (Finding(severity="error", rule=1, code="x", message=EVIL * 20),)
    assert harmless(finding_rows(found, 60))
