"""Rules, facts and tools for tests of policies and approvals."""

from __future__ import annotations

import sqlite3
from typing import Any

from hypothesis import strategies as st

from callblocks.approvals.book import ApprovalBook, Store
from callblocks.core.specs import ToolSpec
from callblocks.policy.policy import Policy
from callblocks.policy.rules import ANY_HOST, Facts, Rule
from callblocks.tools.tool import KINDS, TRAITS, Checked, Tool, Traits

__all__ = (
    "a_tool",
    "exec_traits",
    "facts",
    "policies",
    "rules",
    "sqlite_of",
    "values",
)

exec_traits = Traits(kind="exec")
_SAID = ("traits", "needs_approval", "reaches_any_host")


def a_tool(name: str = "act", **properties: Any) -> Tool:
    """A tool with these parameters, which does nothing, and with what else may be said of it."""
    said = {key: properties.pop(key) for key in _SAID if key in properties}
    spec = ToolSpec(name, "Act.", {"type": "object", "properties": properties})
    return Tool(spec=spec, check=Checked, **said)


_names = st.sampled_from(("file_read", "file_write", "terminal_execute", "mail"))
_name_patterns = st.sampled_from(("*", "file_*", "file_read", "mail", "*_execute", "[fm]*", "????"))
_paths = st.sampled_from((".", "notes", "notes/a.md", "notes/b/c.md", "keys/k", "a.md"))
_path_patterns = st.sampled_from(("**", "*", "notes/**", "*.md", "**/*.md", "notes/*", "keys/k"))
_hosts = st.sampled_from(("example.org", "a.example.org", "evil.net", "::1", ANY_HOST))
_host_patterns = st.sampled_from(("*", "example.org", "*.example.org", "evil.net", "::1"))
_texts = st.text(st.sampled_from("ab *;\n\"'\\\x7f\x00é🛠="), max_size=6)
_odd = st.sampled_from((float("nan"), 10**5000, b"x", {1: 1, "a": 2}, "\ud800", object()))
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
_traits = st.builds(
    Traits,
    read_only=st.booleans(),
    destructive=st.booleans(),
    idempotent=st.booleans(),
    open_world=st.booleans(),
    kind=st.sampled_from(KINDS),
)
facts = st.builds(
    Facts,
    tool=_names,
    traits=_traits,
    input=st.dictionaries(st.sampled_from(("a", "a.b", "c")), values | _odd | _texts, max_size=3),
    paths=st.lists(st.none() | _paths, max_size=3).map(tuple),
    hosts=st.lists(st.none() | _hosts, max_size=3).map(tuple),
    needs_approval=st.booleans(),
    tainted=st.sampled_from(((), ("a page",))),
    person=st.booleans(),
)


def _patterns(of: st.SearchStrategy[str], fewest: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(of, min_size=fewest, max_size=2).map(tuple)


_trait_names = st.sampled_from((*TRAITS, *KINDS)).flatmap(
    lambda name: st.sampled_from((name, f"!{name}"))
)
_conditions = st.fixed_dictionaries(
    {},
    optional={
        "tool": _patterns(_name_patterns),
        "trait": _patterns(_trait_names),
        "argument": st.dictionaries(
            st.sampled_from(("a", "a.b", "c")) | _texts.filter(bool),
            _patterns(_texts.filter(bool) | st.just("*"), 1),
            max_size=2,
        ),
        "path": _patterns(_path_patterns),
        "host": _patterns(_host_patterns),
        "tainted": st.booleans() | st.none(),
        "because": _texts,
    },
)


def sqlite_of(book: ApprovalBook) -> sqlite3.Connection:
    """The connection of a book that is kept in SQLite, to spoil it."""
    tables = book._tables
    assert isinstance(tables, Store)
    return tables._connection


def _rule(decide: Any, conditions: dict[str, Any]) -> Rule:
    """An allow without any condition is no rule: it gets one."""
    if not any(conditions.get(key) for key in ("tool", "trait", "argument", "path", "host")):
        conditions = {**conditions, "tool": ("*",)}
    return Rule(decide=decide, **conditions)


rules = st.builds(_rule, st.sampled_from(("allow", "ask", "deny")), _conditions)
policies = st.builds(
    Policy,
    st.lists(rules, max_size=4).map(tuple),
    name=st.sampled_from(("", "policy.toml")),
    autoexec=st.booleans() | st.none(),
)
