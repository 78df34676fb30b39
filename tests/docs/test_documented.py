"""Nothing that a user can meet is undocumented: names, options, commands, events, codes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import get_args

import click
import pytest

import callblocks
from callblocks import Parser, dialects
from callblocks.cli.chat.chat_screen import COMMANDS as CHAT_COMMANDS
from callblocks.cli.main import cli
from callblocks.core import errors
from callblocks.core.blocks import TYPES
from callblocks.core.events import Event, Status, TurnEvent
from callblocks.core.outcomes import FAILURES
from callblocks.guard.sandbox.sandbox import Limits as SandboxLimits
from callblocks.models.model import MODEL_CODES
from callblocks.models.open_model import MODEL_FORMS
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.prompt_formats import PROMPT_FORMATS
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.policy.lint import FINDINGS
from callblocks.policy.rules import Rule
from callblocks.server.app import ENDPOINTS
from callblocks.server.http.faults import FAULTS
from callblocks.server.http.monitoring import Metrics
from callblocks.server.settings import ServerSettings
from callblocks.session.event_gate import TURN_CODES
from callblocks.session.host import HostSettings
from callblocks.session.model_choice import SessionSettings
from callblocks.session.team_file import Member
from callblocks.timeline.codec.call_blocks import SHAPES, TEXT
from callblocks.timeline.codec.ended_call import FIELDS
from callblocks.timeline.codec.results import EMBEDDED, PAGE_TEXT, ROW_TEXT, SOURCE_TEXT
from callblocks.timeline.recall.lookup import MAX_TEXT
from callblocks.timeline.recall.read import MAX_PATHS, MAX_TOKENS
from callblocks.timeline.timeline import TIMELINE_CODES, CacheSettings
from callblocks.tools.declare import Options
from callblocks.tools.tool import KINDS, TRAITS
from support.pages import PAGES, ROOT
from support.sources import nodes

# Files of examples that docstrings name.
_EXAMPLES = {"a.py", "greet.py", "hello.py", "script.py", "server.py"}
CONTEXT = click.Context(cli, info_name="callblocks")


def _commands(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command by its full name, those below a command too."""
    for name in group.list_commands(CONTEXT):
        command = group.get_command(CONTEXT, name)
        assert command is not None
        yield f"{above}{name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{above}{name} ")


COMMANDS = dict(_commands(cli))
OPTIONS = [
    spelling
    for command in COMMANDS.values()
    for parameter in command.params
    if isinstance(parameter, click.Option)
    for spelling in (*parameter.opts, *parameter.secondary_opts)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section(command: str) -> None:
    assert f"### callblocks {command}\n" in _page("docs/cli.md")


@pytest.mark.parametrize("option", sorted(set(OPTIONS)))
def test_every_option_of_a_command_is_listed(option: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", _page("docs/cli.md"))


@pytest.mark.parametrize("event", [event.__name__ for event in get_args(Event)])
def test_every_event_has_a_row(event: str) -> None:
    assert f"\n| `{event}` |" in _page("docs/core.md")


@pytest.mark.parametrize(
    "code",
    [*GENERAL_CODES, *(code for dialect in dialects.values() for code in dialect.codes)],
)
def test_every_code_has_a_row(code: str) -> None:
    assert f"\n| `{code}` |" in _page("docs/tasks/handle-problems.md")


@pytest.mark.parametrize("dialect", dialects)
def test_every_dialect_has_a_section(dialect: str) -> None:
    assert re.search(rf"\n###? {re.escape(dialect)}\n", _page("docs/dialects.md"))


@pytest.mark.parametrize("error", errors.__all__)
def test_every_error_stands_in_the_tree(error: str) -> None:
    assert re.search(rf"^[│├└─ ]*{error}\b", _page("docs/core.md"), re.MULTILINE)


@pytest.mark.parametrize("name", callblocks.__all__)
def test_every_public_name_is_listed(name: str) -> None:
    assert f"\n| `{name}` |" in _page("docs/index.md")


@pytest.mark.parametrize("option", list(inspect.signature(Parser).parameters))
def test_every_option_of_a_parser_has_a_row(option: str) -> None:
    assert f"\n| `{option}` |" in _page("docs/parsing.md")


@pytest.mark.parametrize(
    "package", sorted(path.parent.name for path in ROOT.glob("src/callblocks/*/__init__.py"))
)
def test_every_package_has_a_page(package: str) -> None:
    assert (ROOT / "docs" / f"{package}.md") in PAGES


@pytest.mark.parametrize("code", FAILURES)
def test_every_failure_has_a_row(code: str) -> None:
    assert f"\n| `{code}` |" in _page("docs/tasks/understand-outcomes.md")


def test_every_failure_that_the_sources_name_is_known() -> None:
    raised = ("ToolError", "Failure", "_refused", "_failed", "Failed", "Unrenderable")
    assert set(_named(*raised)) - {*FAILURES} == set()


def test_every_notice_that_the_sources_give_has_a_row() -> None:
    page = _page("docs/tasks/understand-outcomes.md")
    named = sorted({*_named("notice", "Notice", "tell")})
    assert named
    assert [code for code in named if f"\n| `{code}` |" not in page] == []


@pytest.mark.parametrize("code", FINDINGS)
def test_every_finding_about_a_policy_has_a_row(code: str) -> None:
    assert f"\n| `{code}` |" in _page("docs/tasks/write-a-policy.md")


@pytest.mark.parametrize("key", Rule.__struct_fields__)
def test_every_key_of_a_rule_has_a_row(key: str) -> None:
    assert f"\n| `{key}` |" in _page("docs/tasks/write-a-policy.md")


@pytest.mark.parametrize("name", [*TRAITS, *KINDS, *Options.__annotations__])
def test_every_trait_kind_and_option_of_a_tool_has_a_row(name: str) -> None:
    assert f"\n| `{name}` |" in _page("docs/tools.md")


@pytest.mark.parametrize("limit", SandboxLimits.__struct_fields__)
def test_every_limit_of_the_sandbox_has_a_row(limit: str) -> None:
    assert f"\n| `{limit}` |" in _page("docs/tasks/keep-the-sandbox-strict.md")


@pytest.mark.parametrize(
    "name", [*TIMELINE_CODES, *TYPES, *FIELDS, *SHAPES, *CacheSettings.__struct_fields__]
)
def test_every_code_type_field_shape_and_setting_of_a_timeline_has_a_row(name: str) -> None:
    assert f"\n| `{name}` |" in _page("docs/timeline.md")


@pytest.mark.parametrize(
    ("page", "limit"),
    [
        *(("docs/timeline.md", limit) for limit in (ROW_TEXT, PAGE_TEXT, SOURCE_TEXT)),
        *(("docs/tasks/read-and-hide.md", limit) for limit in (MAX_PATHS, MAX_TOKENS, MAX_TEXT)),
        *(("docs/decisions/025-blocks-and-artifacts.md", limit) for limit in (TEXT, EMBEDDED)),
    ],
)
def test_a_limit_of_a_timeline_is_what_its_page_says(page: str, limit: int) -> None:
    assert re.search(rf"(?<![\d,]){limit:,}(?![\d,])", _page(page))


@pytest.mark.parametrize("tool", ["react.write", "react.read", "react.hide"])
def test_every_tool_of_a_timeline_has_a_section(tool: str) -> None:
    assert f"\n## {tool}\n" in _page("docs/tasks/read-and-hide.md")


@pytest.mark.parametrize(
    "name",
    [*MODEL_CODES, *MODEL_FORMS, *PROMPT_FORMATS, *EndpointSettings.__struct_fields__],
)
def test_every_code_form_format_and_setting_of_a_model_has_a_row(name: str) -> None:
    assert f"\n| `{name}` |" in _page("docs/models.md")


@pytest.mark.parametrize(
    "name",
    [
        *(event.__name__ for event in get_args(TurnEvent)),
        *get_args(Status),
        *TURN_CODES,
        *SessionSettings.__struct_fields__,
        *HostSettings.__struct_fields__,
    ],
)
def test_every_event_status_code_and_setting_of_a_session_has_a_row(name: str) -> None:
    assert f"\n| `{name}` |" in _page("docs/session.md")


def test_every_notice_of_a_session_has_a_row() -> None:
    sources = (ROOT / "src/callblocks/session").rglob("*.py")
    text = "".join(path.read_text("utf-8") for path in sources)
    named = set(re.findall(r'"(protocol_violation\.\w+)"', text))
    assert named
    for page in ("docs/session.md", "docs/timeline.md", "docs/tasks/understand-outcomes.md"):
        assert [code for code in named if f"\n| `{code}` |" not in _page(page)] == []


@pytest.mark.parametrize("key", Member.__struct_fields__)
def test_every_key_of_a_member_has_a_row(key: str) -> None:
    assert f"\n| `{key}` |" in _page("docs/tasks/run-a-team.md")


@pytest.mark.parametrize("command", CHAT_COMMANDS)
def test_every_command_of_a_chat_has_a_row(command: str) -> None:
    assert re.search(rf"^\| `/{command}\b", _page("docs/tasks/talk-with-a-model.md"), re.MULTILINE)


@pytest.mark.parametrize("name", [*FAULTS, *ServerSettings.__struct_fields__])
def test_every_code_and_setting_of_a_server_has_a_row(name: str) -> None:
    assert f"\n| `{name}` |" in _page("docs/server.md")


@pytest.mark.parametrize("route", [f"`{one.method}` | `{one.path}`" for one in ENDPOINTS])
def test_every_address_of_a_server_has_a_row(route: str) -> None:
    assert f"\n| {route} |" in _page("docs/server.md")


@pytest.mark.parametrize("metric", [one.name for one in Metrics().registry.collect()])
def test_every_metric_has_a_row(metric: str) -> None:
    assert re.search(rf"^\| `{metric}(?:_total)?` \|", _page("docs/server.md"), re.MULTILINE)


def _named(*makers: str) -> Iterator[str]:
    """The codes that the sources give to what makes a failure or a notice, as plain text."""
    for node in nodes(*(f"{maker}(" for maker in makers)):
        if isinstance(node, ast.Call) and _called(node) in makers:
            given = [*node.args, *(one.value for one in node.keywords if one.arg == "code")]
            yield from (code for one in given if (code := _code(one)))


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _code(node: ast.expr) -> str:
    text = node.value if isinstance(node, ast.Constant) else None
    return (
        text if isinstance(text, str) and re.fullmatch(r"[a-z]+(?:_[a-z]+)+|timeout", text) else ""
    )


def _page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_page_about_blocks_of_a_timeline_needs_no_deep_import() -> None:
    assert "from callblocks." not in _page("docs/tasks/write-timeline-blocks.md")
    assert all(name in _page("docs/index.md") for name in SPECIFIED)


SPECIFIED = (
    *("read-tool-fences.md", "read-a-meowstik-reply.md", "show-calls-in-a-chat.md"),
    *("write-timeline-blocks.md", "read-emoji-brackets.md"),
)


def test_each_file_that_a_docstring_names_is_there() -> None:
    sources = list((ROOT / "src" / "callblocks").rglob("*.py"))
    known = {path.name for top in ("src", "tests", "bench") for path in (ROOT / top).rglob("*.py")}
    for path in sources:
        tree = ast.parse(path.read_text("utf-8"))
        named = (
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            for name in re.findall(r"\w+\.py\b", ast.get_docstring(node) or "")
        )
        assert set(named) <= known | _EXAMPLES, path
