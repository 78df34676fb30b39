"""A tool, the context that it gets while it runs, and the envelope in which it may answer."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec

from callblocks.core.call_text import said
from callblocks.core.calls import ResultKind
from callblocks.core.errors import CallerError
from callblocks.core.outcomes import Artifact, Failure, Notice
from callblocks.core.specs import ToolSpec
from callblocks.tools.schema import field_formats, formats_of, holds_format, values_of_format

__all__ = (
    "KINDS",
    "PATHS",
    "RESULT_KINDS",
    "RUNNING_CALL",
    "TRAITS",
    "URLS",
    "Check",
    "Checked",
    "Confirm",
    "Context",
    "Denoted",
    "FieldFault",
    "Keep",
    "Kind",
    "OfInput",
    "Origin",
    "Paths",
    "Precheck",
    "StandsFor",
    "Tool",
    "Traits",
    "combine",
    "envelope",
    "is_name",
    "running_as",
    "running_context",
    "unwrap",
)

# --- The context of a running tool: what it may report and ask, beside returning its output ---
#
# A function requests it by a parameter annotated `Context`, which the model never sees:
#
#     @tool
#     async def count(path: str, context: Context) -> int:
#         "Count the lines of a file."
#         context.report("reading …")

# A function that stores a file: its name, its content, its MIME type ("" to guess).
Keep = Callable[[str, bytes, str], Artifact]

# A question to a person: what it is about, the values shown, the reason, and a preview. Return
# `None` for a yes, else why not.
Confirm = Callable[[str, dict[str, Any], str, str], Awaitable[str | None]]


class Context:
    """One run of one call, as its tool sees it.

    `key` is the idempotency key that was recorded before the run: a service that accepts one will
    not do the same thing twice. `cancelled` is true once nobody waits any more. `origins` gives the
    reasons why the data that this call stores counts as text of others: those of the turn, and
    those of the call itself so far.
    """

    def __init__(
        self,
        call_id: str = "",
        key: str = "",
        *,
        report: Callable[[str], None] | None = None,
        keep: Keep | None = None,
        judge: Callable[[str], str | None] | None = None,
        judge_path: Callable[[str], str | None] | None = None,
        tainted: Callable[[], tuple[str, ...]] | None = None,
        confirm: Confirm | None = None,
    ) -> None:
        self.call_id = call_id
        self.key = key
        self.cancelled = False
        self.artifacts: list[Artifact] = []
        self.notices: list[Notice] = []
        # Read by the runtime after the run, and by stores during it: what a call stores is marked
        # by what it has read so far.
        self.taints: list[str] = []
        self._report = report
        self._keep = keep
        self._judge = judge
        self._judge_path = judge_path
        self._confirm = confirm
        self.origins = tainted or self._own_origins

    def report(self, text: str) -> None:
        """Show text while the tool still runs; it is not part of the output."""
        if self._report is not None:
            self._report(text)

    def keep(self, name: str, content: bytes | str, mime: str = "") -> Artifact:
        """Store a file with the outcome; text is stored as UTF-8."""
        if self._keep is None:
            raise RuntimeError("nothing here keeps artifacts")
        whole = content.encode() if isinstance(content, str) else content
        artifact = self._keep(name, whole, mime)
        self.artifacts.append(artifact)
        return artifact

    async def confirm(
        self, about: str, shown: dict[str, Any], *, reason: str, preview: str = ""
    ) -> str | None:
        """Ask a person in the middle of the call; return `None` for a yes, else why not.

        The question is one of its own, named `TOOL:about`: an approval of the call is none of it.
        Call this in the event loop in which the tool was started.
        """
        if self._confirm is None:
            return "nobody can be asked here"
        return await self._confirm(about, shown, reason, preview)

    def notice(self, code: str, message: str, **details: object) -> None:
        """Tell the model something beside the output."""
        self.notices.append(Notice(code=code, message=message, details=details))

    def taint(self, why: str) -> None:
        """Declare that the output holds text of others: this turn then asks before it acts."""
        self.taints.append(why)

    def _own_origins(self) -> tuple[str, ...]:
        return tuple(self.taints)

    def refusal(self, url: str) -> str | None:
        """Return why this call may not continue to another URL than the one it was let through
        with.

        `None` where the policy allows it outright: nobody is asked in the middle of a call.
        """
        return None if self._judge is None else self._judge(url)

    def path_refusal(self, path: str) -> str | None:
        """Return why this call may not read a file beside the paths it was let through with.

        `None` where it may. `path` is the real one, relative to the workspace.
        """
        return None if self._judge_path is None else self._judge_path(path)


# The context of the call that runs, as `running_context` returns it.
RUNNING_CALL: ContextVar[Context | None] = ContextVar("callblocks-running-call", default=None)


def running_context() -> Context | None:
    """Return the context of the current call; `None` outside of every call.

    Stores use it to track origins, so that a tool need not declare its reads and writes.
    """
    return RUNNING_CALL.get()


@contextmanager
def running_as(context: Context | None) -> Generator[None]:
    """Run what starts inside this block as a part of a call; `None` for work that no call shows."""
    token = RUNNING_CALL.set(context)
    try:
        yield
    finally:
        RUNNING_CALL.reset(token)


# --- Traits: what is known of a tool before it runs; a policy decides by them ---
#
#     read_only     changes nothing
#     destructive   may overwrite, delete or send what cannot be taken back
#     idempotent    a run repeated after a crash adds nothing: it does the same, or knows its key
#     open_world    reaches beyond this machine and its workspace
#
# The worst is assumed for a trait that is not declared: a tool that is not read-only is
# destructive.

# plain; writer makes files; exec runs code or commands; source brings text of others.
Kind: TypeAlias = Literal["plain", "writer", "exec", "source"]

KINDS: tuple[Kind, ...] = ("plain", "writer", "exec", "source")
RESULT_KINDS: tuple[ResultKind, ...] = get_args(ResultKind)
TRAITS = ("read_only", "destructive", "idempotent", "open_world")


# The defaults are the worst case: a tool that declares nothing is treated as destructive.
class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """The traits of a tool, its kind, and the kind of its result.

    No policy decides by the result: a timeline makes its blocks by it. `None` is undeclared: then
    the tool's name decides, where timelines know it, and otherwise it is `plain`.
    """

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = False
    kind: Kind = "plain"
    result: ResultKind | None = None

    def names(self) -> tuple[str, ...]:
        """Return the names of its traits, then its kind where that is not `plain`."""
        held = tuple(name for name in TRAITS if getattr(self, name))
        return held if self.kind == "plain" else (*held, self.kind)


# --- A tool: its specification for a model, its traits for a policy, and its function ---

# builtin: shipped here; function: a caller's own; external: runs elsewhere.
Origin: TypeAlias = Literal["builtin", "function", "external"]


class FieldFault(msgspec.Struct, frozen=True):
    """The fault of one field of an input, in words a model can act on.

    `field` is a path such as `to` or `rows[2].name`; "" is the input as a whole.
    """

    field: str
    problem: str


class Checked(msgspec.Struct, frozen=True):
    """An input after checking: values as the function takes them, or the faults.

    `input` is the repaired input, as JSON, where it was not taken as given.
    """

    values: dict[str, Any] = {}
    faults: tuple[FieldFault, ...] = ()
    input: dict[str, Any] | None = None


Check: TypeAlias = Callable[[dict[str, Any]], Checked]
Paths: TypeAlias = Callable[[dict[str, Any]], Iterable[object]]
OfInput: TypeAlias = Callable[[dict[str, Any]], bool]
# A function of the checked values that raises `ToolError` where the call cannot work.
Precheck: TypeAlias = Callable[..., Awaitable[None] | None]
# A function of the checked values that returns the name and the input of the call that is meant.
StandsFor: TypeAlias = Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]


# The formats of a parameter that takes a path.
PATHS = ("path", "file-path", "directory-path")
# The formats of a parameter that takes a URL.
URLS = ("uri", "url")


class Denoted(msgspec.Struct, frozen=True, kw_only=True):
    """An input with the defaults of its tool, and the values of its parameters for addresses and
    paths; no paths where the tool has a function for them.
    """

    input: dict[str, Any]
    urls: tuple[Any, ...]
    paths: tuple[Any, ...]


class Tool(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Something that can be called.

    `function` takes the checked values as keywords; a tool without one is known but cannot run
    here. `context` names the parameter that takes a `Context`. `preview` returns what a call would
    change, for a person to see before approving: it takes the same values, and changes nothing. A
    `ToolError` that it raises about the call itself is the outcome, and nobody is asked. `precheck`
    takes the same values, changes nothing, and raises the `ToolError` of a call that cannot work:
    it runs before a person is asked. `paths` returns the paths that an input denotes, where its
    single parameters do not hold them. `reaches` returns the files that an input denotes by an id:
    it may have to look them up, and is only called where a policy has a rule about paths.
    `reaches_any_host` returns whether a call with this input may reach any host, where the tool in
    general does not reach out: such a call is judged like one of an `open_world` tool. `isolated`
    runs the function in a subprocess. With `stands_for` a call of this tool is another way to write
    a call of another: that one is judged, approved and run in its place.

    `stores` names the place where a tool keeps its input, outside of the workspace: what a tainted
    call put there taints every call that reads it, by any tool that names the same place. Foreign
    tools that name none share one; "" is for a tool that keeps nothing. `carries` returns the paths
    of what leaves with a call, where its other paths do not say it.
    """

    spec: ToolSpec
    check: Check
    function: Callable[..., Any] | None = None
    traits: Traits = Traits()
    origin: Origin = "function"
    needs_approval: bool = False
    timeout: float | None = None
    context: str | None = None
    preview: Callable[..., str] | None = None
    precheck: Precheck | None = None
    paths: Paths | None = None
    reaches: Paths | None = None
    reaches_any_host: OfInput | None = None
    isolated: bool = False
    stands_for: StandsFor | None = None
    stores: str | None = None
    carries: Paths | None = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function itself, as Python code that imported it expects."""
        if self.function is None:
            raise CallerError(f"the tool {self.name} has no function here; it is only known")
        return self.function(*args, **kwargs)

    @cached_property
    def name(self) -> str:
        """Return the name that a call uses."""
        return self.spec.name

    @cached_property
    def brings_text_of_others(self) -> bool:
        """Return whether its output is known to hold text of others before it runs.

        A tool that reaches out may bring such text. A built-in declares it by its kind, or while it
        runs by `context.taint`.
        """
        reaches_out = self.traits.open_world and self.origin != "builtin"
        return reaches_out or self.traits.kind == "source"

    @cached_property
    def is_sandboxed(self) -> bool:
        """Return whether it runs commands in our sandbox, which data can leave only by the
        network.
        """
        return self.traits.kind == "exec" and self.origin == "builtin"

    def with_defaults(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return an input with the default of each parameter that is not given and has one."""
        defaults = {name: value for name, value in self._defaults.items() if name not in given}
        return {**given, **defaults}

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        properties = self.spec.properties.items()
        return {name: schema["default"] for name, schema in properties if "default" in schema}

    @cached_property
    def _formats(self) -> frozenset[str]:
        """Return the formats of the schema, cached: most tools have none, and no input need be
        searched.
        """
        return formats_of(self.spec.parameters, self.spec.parameters)

    @cached_property
    def _field_formats(self) -> dict[str, str] | None:
        """Return the format of each parameter, where none stands deeper; most schemas are so."""
        return field_formats(self.spec.parameters)

    def parameters_of_format(self, *formats: str) -> tuple[str, ...]:
        """Return the parameters that hold a value of one of these formats, at any depth: `path`,
        `uri`.
        """
        root = self.spec.parameters
        known = self.spec.properties.items()
        return tuple(name for name, schema in known if holds_format(schema, root, formats))

    def denoted(self, given: dict[str, Any]) -> Denoted:
        """Return an input with its defaults, and the addresses and paths that its schema names."""
        whole = self.with_defaults(given)
        return Denoted(
            input=whole,
            urls=self.values_of_format(whole, *URLS),
            paths=self.values_of_format(whole, *PATHS) if self.paths is None else (),
        )

    # The policy's paths and hosts come from here, so a value must not be missed: any branch of the
    # schema that may describe it counts.
    def values_of_format(self, given: dict[str, Any], *formats: str) -> tuple[Any, ...]:
        """Return the values of an input that have one of these formats, in lists and
        objects too.
        """
        if self._formats.isdisjoint(formats):
            return ()
        fields = self._field_formats
        if fields is not None:
            found = [name for name in given if fields.get(name) in formats]
            return tuple(given[name] for name in found if not isinstance(given[name], dict | list))
        return values_of_format(self.spec.parameters, given, formats)


# --- The envelope in which a tool may answer: whether it went well, why not, and the output ---
#
#     {"ok": true,  "error": null, "ret": {"rows": 3}}
#     {"ok": false, "error": {"code": "no_table", "message": "…", "where": "db", "managed": true},
#      "ret": null}
#
#     builtin    an envelope is unwrapped: the output is always `ret`, also beside an error;
#                any other value is the output itself
#     function   the same, but only what has no other keys is taken for an envelope
#     external   must answer with `ok` and `error`; the output is what stands beside them, and
#                `ret` alone is unwrapped
#
# `ok` decides: an `error` beside `ok: true` was handled by the tool, and is dropped.

_KEYS = {"ok", "error", "ret"}
_MAX_CODE = 80
_MAX_MESSAGE = 4000


def unwrap(value: object, origin: Origin) -> tuple[Any, Failure | None]:
    """Return the output of a tool, and its failure if it reports one."""
    if origin == "external":
        return _unwrap_external(value)
    if not isinstance(value, dict):
        return value, None
    answer = cast("dict[str, Any]", value)
    if not _is_envelope(answer, origin):
        return answer, None
    return answer.get("ret"), _failure(answer)


def combine(execution: Failure | None, tool: Failure | None) -> Failure | None:
    """Combine two failures: that of the run comes first, and the tool's own is kept in it."""
    if execution is None or tool is None:
        return execution or tool
    return Failure(
        code=execution.code,
        message=f"{execution.message}; the tool said {tool.code}: {tool.message}",
        where=execution.where or tool.where,
        # Nothing is lost: the tool's own failure stays readable inside the one of the run.
        details={**execution.details, "tool_error": tool.payload()},
        managed=execution.managed and tool.managed,
    )


def envelope(output: object, failure: Failure | None) -> dict[str, Any]:
    """Return an output and a failure as an envelope; `unwrap` of a built-in is the inverse."""
    return {"ok": failure is None, "error": failure and _error(failure), "ret": output}


def _error(failure: Failure) -> dict[str, Any]:
    error = {
        "code": failure.code,
        "message": failure.message,
        "where": failure.where,
        "managed": failure.managed,
    }
    return {**error, "details": failure.details} if failure.details else error


# A function may return any dict of its own that happens to have `ok`, so for those the keys must
# match exactly; a built-in knows the convention.
def _is_envelope(answer: dict[str, Any], origin: Origin) -> bool:
    if not isinstance(answer.get("ok"), bool):
        return False
    return answer.keys() <= _KEYS or (
        origin == "builtin" and ("ret" in answer or "error" in answer)
    )


def _unwrap_external(given: object) -> tuple[Any, Failure | None]:
    value = cast("Any", given)
    answer = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    lacking = [key for key in ("ok", "error") if key not in answer]
    # A foreign tool must use the envelope. Guessing success from any other value would turn an
    # error page into an output.
    if lacking:
        return value, _bad(f"the tool answered without {_named(lacking)}")
    if not isinstance(answer["ok"], bool):
        return value, _bad(f"`ok` must be true or false, got {said(answer['ok'])}")
    if answer["ok"] and not isinstance(answer["error"], dict | None):
        return value, _bad(f"`error` must be null or an object, got {said(answer['error'])}")
    return _beside(answer), _failure(answer)


def _beside(answer: dict[str, Any]) -> Any:
    rest = {key: part for key, part in answer.items() if key not in ("ok", "error")}
    return rest.get("ret") if rest.keys() <= {"ret"} else rest


def _failure(answer: dict[str, Any]) -> Failure | None:
    if answer["ok"]:
        return None
    given = answer.get("error")
    error = cast("dict[str, Any]", given) if isinstance(given, dict) else {"message": given}
    details = error.get("details")
    return Failure(
        code=_text(error.get("code"), _MAX_CODE) or "tool_error",
        message=_text(error.get("message"), _MAX_MESSAGE) or "the tool failed, and did not say why",
        where=_text(error.get("where"), _MAX_CODE),
        details=cast("dict[str, Any]", details) if isinstance(details, dict) else {},
        managed=error.get("managed") is True,
    )


def _text(value: object, width: int) -> str:
    """Return a text up to a width; any other value as messages show it."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else said(value)
    return text if len(text) <= width else f"{text[:width]}…"


def _bad(what: str) -> Failure:
    return Failure(
        code="bad_envelope", message=f'{what}; it must give {{"ok": true, "error": null, …}}'
    )


def _named(keys: list[str]) -> str:
    return " and ".join(f"`{key}`" for key in keys)


# --- Names of tools, and suggestions for a misspelled one ---
#
#     file_read   rendering.write_pdf   create-file   mcp:search/web
#
# Blanks and control characters are refused: a name appears in prompts, policies and approvals.

_NAME = re.compile(r"\w[\w.:/-]{0,127}")


# Strict, because a name that looks like another one would deceive a person who approves it.
def is_name(name: object) -> bool:
    """Return whether a tool may have this name."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None
