"""What the page of settings shows: tools with what the policy says of them, and tests of models.

    GET  /api/tools/verdicts
    POST /api/models/test     {"model": "qwen3-coder"}

Nothing is changed here: models are those of the server's config file, rules those of its policy.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from callblocks.policy.policy import Policy
from callblocks.policy.rules import Facts, Rule
from callblocks.server.http.faults import ApiFault, answer_json
from callblocks.server.http.request import read_body
from callblocks.server.service import Service, service_of
from callblocks.session.session import Trial, try_model
from callblocks.tools.tool import Tool

__all__ = (
    "ModelTest",
    "TestBody",
    "ToolVerdict",
    "ToolVerdicts",
    "show_verdicts",
    "test_model",
    "verdict_of",
)

_STRICT = ("allow", "ask", "deny")


class ToolVerdict(msgspec.Struct, frozen=True):
    """What the policy says of a tool before it knows the arguments.

    `verdict` is the strictest that a call may get, by the rule `number`, 0 for none; `exceptions`
    are the rules that say something else for some arguments.
    """

    name: str
    verdict: str
    number: int
    reason: str
    exceptions: list[str]


class ToolVerdicts(msgspec.Struct, frozen=True):
    """The verdicts, by tool; `policy` is its name."""

    policy: str
    tools: list[ToolVerdict]


async def show_verdicts(request: Request) -> Response:
    """Return what the policy says of each tool, before a call is made."""
    host = service_of(request).host
    policy = host.settings.policy
    tools = [verdict_of(tool, policy) for tool in host.registry.tools]
    return answer_json(ToolVerdicts(policy.name, tools))


def verdict_of(tool: Tool, policy: Policy) -> ToolVerdict:
    """Return the strictest verdict that a call of a tool may get, and what deviates from it."""
    facts = Facts(
        tool=tool.name, traits=tool.traits, needs_approval=tool.needs_approval, person=True
    )
    last = policy.decide(facts)
    words = {last.number: (last.verdict if not last.asked else "ask", last.reason)}
    for number, rule in enumerate(policy.rules, 1):
        if last.number and number >= last.number:
            break
        bare = replace(rule, argument={}, path=(), host=(), tainted=None)
        if _is_by_input(rule) and bare.matches(facts):
            words[number] = (rule.decide, rule.because or f"rule {number}")
    number = max(words, key=lambda one: (_STRICT.index(words[one][0]), -one))
    verdict, reason = words[number]
    others = [
        f"rule {one}: {said} where {_conditions(policy.rules[one - 1])}"
        for one, (said, _) in sorted(words.items())
        if one and one != number and said != verdict
    ]
    return ToolVerdict(tool.name, verdict, number, reason, others)


def _is_by_input(rule: Rule) -> bool:
    return bool(rule.argument or rule.path or rule.host or rule.tainted is not None)


def _conditions(rule: Rule) -> str:
    """Return the conditions of a rule on the input of a call, in words."""
    said = [f"{name} is {' or '.join(some)}" for name, some in rule.argument.items()]
    said += [f"the path is {' or '.join(rule.path)}"] if rule.path else []
    said += [f"the host is {' or '.join(rule.host)}"] if rule.host else []
    if rule.tainted is not None:
        said.append(f"text of others was {'' if rule.tainted else 'not '}read")
    return ", ".join(said) or "the input decides"


# --- A test of a model: one real turn ---

_SECONDS = 60.0
_testing = asyncio.Lock()


class TestBody(msgspec.Struct, frozen=True):
    """Which model is tested; "" is the usual one."""

    __test__ = False

    model: Annotated[str, msgspec.Meta(max_length=300)] = ""


class ModelTest(msgspec.Struct, frozen=True):
    """What came of a test: whether a call was made, natively or in a dialect, and how long it took.

    `words` says it in one line; `message` has the words of the model's server where it failed.
    """

    model: str
    ok: bool
    mode: str
    dialect: str
    seconds: float
    words: str
    message: str


async def test_model(request: Request) -> Response:
    """Have a model call a small tool once; what it says and gives is not kept."""
    service = service_of(request)
    body = await read_body(request, TestBody, service.settings)
    if _testing.locked():
        raise ApiFault("too_busy", "another test runs; wait for its end", {"retry-after": "5"})
    async with _testing:
        return answer_json(_told(await _tried(service, body.model)))


test_model.__test__ = False  # pyright: ignore[reportFunctionMemberAccess] pytest takes it for a test


async def _tried(service: Service, name: str) -> Trial:
    if service.host.settings.team is not None:
        raise ApiFault(
            "invalid_request", "a team answers here; test its models by callblocks models"
        )
    known = {one.name: one for one in service.host.offered}
    offered = known.get(name) if name else service.host.offered[0]
    if offered is None:
        raise ApiFault(
            "invalid_request", f"no model of that name here; there is {', '.join(known)}"
        )
    return await try_model(offered, replace(service.host.settings.session, seconds=_SECONDS))


def _told(trial: Trial) -> ModelTest:
    took = f"{trial.seconds:.1f} s" if trial.seconds >= 1 else f"{trial.seconds * 1000:.0f} ms"
    if trial.ok:
        how = "calls natively" if trial.dialect == "native" else f"speaks {trial.dialect}"
        words = f"{how}, {took}"
    elif trial.status == "answered":
        words = f"answered without a call, {took}"
    else:
        words = f"no answer: {trial.message or trial.code or trial.status}, {took}"
    return ModelTest(
        trial.model, trial.ok, trial.mode, trial.dialect, trial.seconds, words, trial.message
    )
