"""Subsumption of rules: does an earlier rule match every call that a later one could match?

The answer is conservative: yes only where that is certain. General inclusion of glob patterns is
hard, so of two patterns with wildcards only the simple shapes are compared. A rule that is reported
as unreachable therefore really is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from callblocks.runtime.policy.facts import ANY_HOST
from callblocks.runtime.policy.globs import holds_host, holds_path, holds_text, is_exact
from callblocks.runtime.policy.rules import Patterns, Rule

__all__ = ("covers", "takes_all")

Covers: TypeAlias = Callable[[str, str], bool]


def covers(early: Rule, late: Rule, *, reaching: bool = False) -> bool:
    """Return whether every call that matches the later rule matches the earlier one.

    With `reaching`, some of these calls may reach any host: most allow rules do not match those.
    """
    if reaching and not _takes_reaching(early) and _takes_reaching(late):
        return False
    return (
        ("*" in early.tool or _cover(early.tool, late.tool, _name_covers))
        and set(early.trait) <= set(late.trait)
        and all(_argument_covers(early, late, name) for name in early.argument)
        and _places_cover(early, late)
        and early.tainted in (None, late.tainted)
    )


def takes_all(rule: Rule) -> bool:
    """Return whether the rule matches every call, apart from those that may reach any host."""
    return covers(rule, Rule(decide="deny"))


def _takes_reaching(rule: Rule) -> bool:
    """Return whether the rule may match a call that may reach any host."""
    return rule.decide != "allow" or ANY_HOST in rule.host


def _argument_covers(early: Rule, late: Rule, name: str) -> bool:
    patterns = late.argument.get(name, ())
    if early.decide != "allow":
        return _cover(early.argument[name], patterns, _name_covers)
    # An allow matches commands strictly (`holds_command`), so only the same pattern surely matches
    # the same calls.
    same = bool(patterns) and set(patterns) <= set(early.argument[name])
    return same and late.decide == "allow"


def _places_cover(early: Rule, late: Rule) -> bool:
    if not early.path and not early.host:
        return True
    # An allow needs all paths to fit, an ask or deny needs one. The second does not imply the
    # first.
    if early.decide == "allow" and late.decide != "allow":
        return False
    paths_cover = _cover(early.path, late.path, _path_covers)
    # `holds_host` also compares two patterns: `*.a.org` covers `*.b.a.org`.
    return paths_cover and _cover(early.host, late.host, holds_host)


def _cover(early: Patterns, late: Patterns, one_covers: Covers) -> bool:
    """Return whether each of the later patterns is covered; an empty list means everything."""
    if not early:
        return True
    return bool(late) and all(any(one_covers(wide, narrow) for wide in early) for narrow in late)


def _name_covers(wide: str, narrow: str) -> bool:
    if is_exact(narrow):
        return holds_text(wide, narrow)
    # Only `prefix*` is compared with other patterns; any other shape counts as not covering.
    start = wide.removesuffix("*")
    return wide == narrow or (start != wide and is_exact(start) and narrow.startswith(start))


def _path_covers(wide: str, narrow: str) -> bool:
    if is_exact(narrow):
        return holds_path(wide, narrow)
    start = wide.removesuffix("**")
    return wide == narrow or (start != wide and is_exact(start) and narrow.startswith(start))
