"""One `[[rule]]` of a policy file.

decide = "deny"
tool = ["mail_send", "mail_reply"]     several patterns
host = "*.example.org"                 one pattern needs no brackets
argument.mail.to = "*@example.org"     the field `to` of the argument `mail`
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from callblocks.runtime.policy.rule_fault import RuleFault, hint, rule_fault
from callblocks.runtime.policy.rules import Patterns, Rule

__all__ = ("line_of", "read_rule", "write_rule")

_PATTERNS = ("tool", "trait", "path", "host")
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*rule[ \t]*\]\]")


def read_rule(table: dict[str, Any]) -> Rule | RuleFault:
    """Return the rule, or its fault."""
    for key in table:
        if key not in Rule.__struct_fields__:
            return RuleFault(key, f"no rule has this key{hint(key, Rule.__struct_fields__)}")
    if "decide" not in table:
        return RuleFault("decide", "is missing: allow, ask or deny")
    fields = dict(table)
    for key in _PATTERNS:
        if fields.get(key) == []:
            return RuleFault(key, "no pattern is given; leave the key out")
        if key in fields:
            fields[key] = _listed(fields[key])
    if isinstance(fields.get("argument"), dict):
        pairs = list(_arguments(fields["argument"], ""))
        fields["argument"] = dict(pairs)
        if len(fields["argument"]) < len(pairs):
            return RuleFault("argument", "two names are the same once their dots are read")
    return rule_fault(fields) or Rule(**fields)


def write_rule(rule: Rule) -> str:
    """Return lines that `read_rule` reads as the same rule."""
    lines = ["[[rule]]", f"decide = {_quoted(rule.decide)}"]
    lines += [f"{key} = {_list(getattr(rule, key))}" for key in _PATTERNS if getattr(rule, key)]
    lines += [
        f"argument.{_quoted(name)} = {_list(patterns)}" for name, patterns in rule.argument.items()
    ]
    if rule.tainted is not None:
        lines.append(f"tainted = {str(rule.tainted).lower()}")
    if rule.because:
        lines.append(f"because = {_quoted(rule.because)}")
    return "\n".join(lines) + "\n"


def line_of(text: str, number: int, count: int, key: str) -> int | None:
    """Return the line of a key in a rule, or of the rule; `None` for an unusual layout."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    if len(starts) != count:
        return None
    start, end = [*starts, len(lines)][number - 1 : number + 1]
    for at in range(start, end):
        if re.match(rf"[ \t]*{re.escape(key)}[ \t]*=", lines[at]):
            return at + 1
    return start + 1


def _arguments(table: dict[str, Any], above: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _arguments(cast("dict[str, Any]", value), f"{above}{key}.")
        else:
            yield f"{above}{key}", _listed(value)


def _listed(value: object) -> object:
    """Return patterns as a tuple; leave anything else for `rule_fault` to report."""
    if isinstance(value, str):
        return (value,)
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _list(patterns: Patterns) -> str:
    quoted = [_quoted(pattern) for pattern in patterns]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _quoted(text: str) -> str:
    # JSON's escapes are valid in TOML, but TOML also requires DEL to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
