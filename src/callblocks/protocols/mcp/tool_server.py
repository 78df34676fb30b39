"""Our tools for other programs: an MCP server without a state, under the policy.

    server = ToolServer(registry, policy, place)
    sdk = server.sdk_server()          served by `serve_stdio` and `http_app`

Each call is a turn of its own. What the client read before is not known here, so the turn counts as
tainted from the start, unless `trusts_client`: an allow then suffices only for what cannot harm, or
where the rule says `tainted = true`.

Approvals. Where the policy asks, the person at the client is asked by elicitation, with the exact
call and its preview; the book of approvals alone decides, as everywhere.

    2026-07-28     the answer to the call is `InputRequiredResult`; the client calls again with the
                   person's answer and with the sealed state
    before it      the question goes to the client while the call waits
    neither        the call fails with `approval_required`, and waits as a question for
                   `callblocks approvals`; once it is answered there, the same call runs

The state that a client brings back names what the person was shown, by a hash, and the question in
the book. An answer for another call, an answer to a question that was answered meanwhile and a
state that was not sealed here are none. Replicas share the sealing key; those that share the state
folder also share the book, so that no answer counts twice.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import msgspec

from callblocks.approvals.approval import ApprovalsUnavailable
from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Question
from callblocks.core.call_text import to_compact_text
from callblocks.core.calls import Call
from callblocks.core.events import CallTold
from callblocks.core.outcomes import Artifact, Outcome
from callblocks.guard.files.root import Root
from callblocks.models.model import NativeNames
from callblocks.policy.policy import Policy
from callblocks.runtime.gate import Approving
from callblocks.runtime.journal import Journal
from callblocks.runtime.judgement import Judged, Turn
from callblocks.runtime.runtime import Runtime
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.react_tools import in_turn, turn_tools
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

if TYPE_CHECKING:
    from mcp.server import Server

__all__ = ("ToolServer", "Workshop")

NAME = "callblocks"
_SHOWN_FILE = 1 << 20
_MODERN = "2026-07-28"
_ASKED = "approval"
_CLIENT = "the client's conversation, which is not known here"
_INSTRUCTIONS = (
    "Tools of callblocks. A person decides by a policy what runs: a call that fails with "
    "approval_required waits for them, and is repeated unchanged once it was approved."
)


class Workshop(msgspec.Struct, frozen=True, kw_only=True):
    """What the calls of a server work with, as in a session.

    With a `recorder` each call is a turn on its timeline, whose tools (`react.*`) are known, too.
    """

    book: ApprovalBook
    journal: Journal
    artifacts: Artifacts
    root: Root
    recorder: Recorder | None = None


class _SealedQuestion(msgspec.Struct, frozen=True):
    """What a client brings back: the question in the book, and the hash of what was shown."""

    approval: str
    shown: str


class ToolServer:
    """Answers MCP requests with our tools."""

    def __init__(
        self,
        registry: Registry,
        policy: Policy,
        place: Workshop,
        *,
        trusts_client: bool = False,
    ) -> None:
        self._registry = registry
        self._policy = policy
        self._place = place
        self._tainted = () if trusts_client else (_CLIENT,)
        recorder = place.recorder
        known = registry if recorder is None else self._in_turn(recorder, recorder.coming_turn)
        self._tools = known.tools
        self._names = NativeNames(tool.spec for tool in self._tools)

    def sdk_server(self, key: bytes) -> Server[Any]:
        """Return a server of the SDK; `key` seals what clients bring back."""
        from mcp.server import Server
        from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

        from callblocks import __version__

        server: Server[Any] = Server(
            NAME,
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )
        boundary = RequestStateBoundary(RequestStateSecurity(keys=[key]), default_audience=NAME)
        server.middleware.append(boundary)
        return server

    async def list_tools(self, context: Any, params: Any) -> Any:
        """Return all tools, under the names that every client can use."""
        import mcp_types as types

        specs = zip(self._names.specs, self._tools, strict=True)
        listed = [_listed(spec.name, tool) for spec, tool in specs]
        return types.ListToolsResult(tools=listed, ttl_ms=60_000, cache_scope="private")

    async def call_tool(self, context: Any, params: Any) -> Any:
        """Run one call as far as the policy and the person let it."""
        import mcp_types as types

        call = Call(
            id=f"mcp-{secrets.token_hex(6)}",
            name=self._names.own(str(params.name)),
            input=params.arguments or {},
        )
        asker = _Asker(self._place.book, context, _answer_in(params))
        outcome = await self._run(call, asker, context)
        failure = outcome.error
        waits = failure is not None and failure.code == "approval_required"
        if waits and asker.open is not None and asker.can_return:
            return types.InputRequiredResult(
                input_requests={_ASKED: types.ElicitRequest(params=_form(asker.open))},
                request_state=msgspec.json.encode(asker.open_state).decode(),
            )
        return self._result(outcome)

    async def _run(self, call: Call, asker: _Asker, context: Any) -> Outcome:
        place = self._place
        recorder = place.recorder
        turn = None if recorder is None else recorder.new_turn()
        registry = self._registry
        if recorder is not None and turn is not None:
            registry = self._in_turn(recorder, turn)
        runtime = Runtime(
            registry,
            self._policy,
            approving=Approving(place.book, asker, str(place.root.folder)),
            journal=place.journal,
            keep=place.artifacts,
            resolve=place.root.resolve,
            origins=place.root.origins,
        )

        def judged(judged: Judged) -> None:
            if recorder is not None and turn is not None:
                recorder.started(turn, call, runtime.check(call))

        listen = _progress(context)
        running = runtime.run((call,), Turn(call.id, tainted=self._tainted), listen, judged)
        (outcome,) = [outcome async for outcome in running]
        if recorder is not None and turn is not None:
            recorder.ended(turn, call, outcome)
            recorder.end_turn(turn)
        return outcome

    def _in_turn(self, recorder: Recorder, turn: str) -> Registry:
        return in_turn(self._registry, turn_tools(recorder, turn, root=self._place.root))

    def _result(self, outcome: Outcome) -> Any:
        import mcp_types as types

        if outcome.error is not None:
            words = f"{outcome.error.code}: {outcome.error.message}"
            return types.CallToolResult(content=[_text(words)], is_error=True)
        output = outcome.output
        text = output if isinstance(output, str) else to_compact_text(output)
        content: list[Any] = [_text(text)] if text else []
        content += [_text(f"{notice.code}: {notice.message}") for notice in outcome.notices]
        content += [self._file(artifact) for artifact in outcome.artifacts]
        data = cast("dict[str, Any]", output) if isinstance(output, dict) else None
        return types.CallToolResult(content=content, structured_content=data)

    def _file(self, artifact: Artifact) -> Any:
        """Return a kept file: a picture as itself, any other one by its name and place."""
        import mcp_types as types

        name = artifact.path.rpartition("/")[2]
        if artifact.mime.startswith("image/") and artifact.size <= _SHOWN_FILE:
            data = base64.b64encode(self._place.artifacts.read(artifact.digest)).decode()
            return types.ImageContent(data=data, mime_type=artifact.mime)
        kept = self._place.artifacts.folder / artifact.path
        return _text(f"[file {name}, {artifact.mime}, {artifact.size:,} bytes: {kept}]")


def _listed(name: str, tool: Tool) -> Any:
    import mcp_types as types

    traits = tool.traits
    return types.Tool(
        name=name,
        description=tool.spec.description,
        input_schema={"type": "object", **tool.spec.parameters},
        annotations=types.ToolAnnotations(
            title=tool.name,
            read_only_hint=traits.read_only,
            destructive_hint=traits.destructive,
            idempotent_hint=traits.idempotent,
            open_world_hint=traits.open_world,
        ),
    )


def _text(text: str) -> Any:
    import mcp_types as types

    return types.TextContent(text=text)


def _progress(context: Any) -> Callable[[Any], None]:
    """Return a listener that passes on what a tool shows while it runs."""
    loop = asyncio.get_running_loop()
    sent = 0
    tasks: set[asyncio.Task[None]] = set()

    def send(text: str) -> None:
        nonlocal sent
        sent += 1
        task = loop.create_task(context.session.report_progress(float(sent), None, text[:500]))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def listen(event: Any) -> None:
        if isinstance(event, CallTold):
            loop.call_soon_threadsafe(send, event.text)

    return listen


# --- Questions to the person at the client ---


class _Returned(msgspec.Struct, frozen=True):
    """An answer that a client brought, with the state that we gave it; `None` where the person left
    without one.
    """

    state: _SealedQuestion
    answer: Answer | None


class _Asker:
    """Asks by whatever the client has; `open` is the question that was not answered."""

    def __init__(self, book: ApprovalBook, context: Any, returned: _Returned | None) -> None:
        self._book = book
        self._context = context
        self._returned = returned
        self.open: Question | None = None

    @property
    def can_return(self) -> bool:
        """Return whether the client can bring an answer with a call of its own."""
        return self._context.protocol_version >= _MODERN and self._has_elicitation

    @property
    def open_state(self) -> _SealedQuestion:
        """Return what the client is to bring back with the answer."""
        assert self.open is not None
        return _SealedQuestion(self.open.approval_id, _digest(self.open))

    async def __call__(self, question: Question) -> Answer | None:
        self.open = question
        if self._returned is not None:
            returned, self._returned = self._returned, None
            if self._is_for(returned.state, question):
                # Also without an answer: who left is not asked again and again.
                self.open = None
                return returned.answer
        elif self._has_elicitation and self._context.session.can_send_request:
            return await self._ask(question)
        return None

    @property
    def _has_elicitation(self) -> bool:
        known = self._context.session.client_capabilities
        return known is not None and known.elicitation is not None

    def _is_for(self, state: _SealedQuestion, question: Question) -> bool:
        if state.shown != _digest(question):
            return False
        try:
            asked = self._book.get(state.approval)
        except ApprovalsUnavailable:
            return False
        # Another replica may have a book of its own, which does not know the question.
        return asked is None or asked.state == "pending"

    async def _ask(self, question: Question) -> Answer | None:
        from mcp.shared.exceptions import MCPError

        form = _form(question)
        try:
            result = await self._context.session.elicit_form(
                form.message, form.requested_schema, self._context.request_id
            )
        except (MCPError, RuntimeError, ValueError):
            return None
        self.open = None
        return _answer(result.action, result.content)


def _form(question: Question) -> Any:
    """Return the question as a form: the call, its preview, and a yes or no."""
    import mcp_types as types

    shown = question.shown
    why = f"{question.reason}\n" if question.reason else ""
    field = {"type": "boolean", "title": "Approve", "description": "Run exactly this call, once."}
    return types.ElicitRequestFormParams(
        message=f"Approve this call?\n{why}\n{shown.text}",
        requested_schema={
            "type": "object",
            "properties": {"approve": field},
            "required": ["approve"],
        },
    )


def _digest(question: Question) -> str:
    """Return the hash of what the person was shown, and of what would run."""
    said = [question.tool.name, question.call.input, question.preview, question.reason]
    form = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(
        b"callblocks mcp question 1\n" + form.encode("utf-8", "replace")
    ).hexdigest()


def _answer_in(params: Any) -> _Returned | None:
    """Return the answer that a call brings; the state was unsealed before it came here."""
    responses: Any = params.input_responses or {}
    given = responses.get(_ASKED)
    if not params.request_state or given is None:
        return None
    try:
        state = msgspec.json.decode(params.request_state, type=_SealedQuestion)
    except msgspec.MsgspecError:
        return None
    answer = _answer(getattr(given, "action", "cancel"), getattr(given, "content", None))
    return _Returned(state, answer)


def _answer(action: str, content: Any) -> Answer | None:
    """Return a person's answer; `None` where they left without one."""
    if action == "accept":
        said = cast("dict[str, Any]", content or {}).get("approve")
        return Answer("once") if said is True else Answer("deny", reason="not approved")
    return Answer("deny", reason="declined") if action == "decline" else None
