"""Connections to MCP servers, which live apart from the turns that use them.

    servers = McpServers(entries, state_folder)
    registry = Registry(servers.tools())     known from their pins; nothing is started for that
    servers.close()

All connections live in one event loop in one thread of a program. Chats come and go in loops of
their own; a connection outlives them, and a server that blocks its connection blocks no chat. Calls
cross from the turn's loop into that one, questions to a person and progress cross back.

A connection
    closed      There is none; the first call makes one.
    open        Negotiated (2026-07-28 without a session, or a handshake before it), tools listed.
    failed      The reason is given to every call for some seconds; then the next one tries again.

Invariants
- A call fails with a `ToolError`, whatever a server does: hangs, dies, floods, answers nonsense.
- A connection is entered and left in one task of its own, because it holds cancel scopes.
- The time of a call does not run while a person is asked.
- Nothing of a result is checked by a schema that the server gave: its patterns could take forever.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from callblocks.core.errors import BadSpec, ToolError
from callblocks.core.redaction import redact
from callblocks.protocols.mcp.definitions import (
    MAX_TOOLS,
    Definition,
    Definitions,
    LeftOut,
    read_definitions,
    visible,
)
from callblocks.protocols.mcp.servers import ServerEntry
from callblocks.protocols.mcp.tool_call import CallProgress, Elicited, tool_of
from callblocks.tools.tool import Tool

if TYPE_CHECKING:
    from mcp import Client

    from callblocks.protocols.mcp.http_transport import BrowserSignIn

__all__ = ("MCP_STATE", "McpServers", "ServerLink", "ServerReport", "ToolReport")

MCP_STATE = "mcp"
"""The folder of MCP servers below the state folder."""

_PINS = "definitions.json"
_OPENING = 30.0
_LISTING = 20.0
_PAGES = 50
# A listing is asked for again after that long, also where the server announced no change.
_FRESH = 30.0
_PAUSE = 5.0
_CLOSING = 8.0
# How the SDK says that a connection ended, and we that an answer cannot be read.
_CONNECTION_CLOSED, _PARSE_ERROR = -32000, -32700
_REFUSALS = {
    _CONNECTION_CLOSED: ("service_unavailable", ""),
    _PARSE_ERROR: ("bad_output", "sent an answer that cannot be read"),
}

T = TypeVar("T")

_ASKED: ContextVar[Elicited | None] = ContextVar("callblocks-mcp-elicited", default=None)


class _LoopThread:
    """The event loop of all connections, in a thread that starts with the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                # The SDK logs every fault of a server; we tell it to whoever called.
                logging.getLogger("mcp").addHandler(logging.NullHandler())
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="callblocks-mcp", daemon=True
                )
                self._thread.start()
        return self._loop

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work in that loop from another one; cancelling this cancels it there."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Block until work in that loop is done."""
        done = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return done.result(seconds)
        except TimeoutError:
            done.cancel()
            raise

    def stop(self) -> None:
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSING)
            if not thread.is_alive():
                loop.close()


class ServerLink:
    """One server: its connection, and the definitions that it gives now.

    The public methods are for any event loop.
    """

    def __init__(
        self,
        entry: ServerEntry,
        place: Path,
        pins: Definitions,
        thread: _LoopThread,
        hidden: Iterable[str] = (),
        sign_in: BrowserSignIn | None = None,
    ) -> None:
        self.entry = entry
        self._place = place / entry.name
        self._pins = pins
        self._thread = thread
        self._hidden = tuple(hidden)
        self._sign_in = sign_in
        self._lock: asyncio.Lock | None = None
        self._client: Client | None = None
        self._running: asyncio.Future[None] | None = None
        self._closing: asyncio.Event | None = None
        self._open_calls: list[Elicited] = []
        self._listed_at = 0.0
        self._is_stale = False
        self._failed_at = 0.0
        self._failure: ToolError | None = None
        self.is_sandboxed = False
        self.version = ""
        self.definitions: Mapping[str, Definition] = {}
        self.left_out: tuple[LeftOut, ...] = ()

    @property
    def is_open(self) -> bool:
        """Return whether there is a connection."""
        return self._client is not None

    @property
    def fault(self) -> str:
        """Return why the last attempt to connect failed; "" where it did not."""
        return self._failure.message if self._failure is not None else ""

    async def current(self, name: str) -> Definition | None:
        """Return the definition of a tool as the server gives it now."""
        await self._thread.run(self._refresh())
        return self.definitions.get(name)

    async def refresh_here(self) -> None:
        """Connect and list the tools; called in the loop of the connections."""
        self._is_stale = True
        await self._refresh()

    def accepted(self, definition: Definition) -> bool:
        """Return whether exactly this definition is pinned."""
        known = self._pins.of(self.entry.name).get(definition.name)
        return known is not None and known.digest == definition.digest

    def accept(self, definition: Definition) -> None:
        """Pin a definition that a person accepted."""
        self._pins.pin_one(self.entry.name, definition)

    async def call(
        self, name: str, values: Mapping[str, Any], progress: CallProgress, asked: Elicited
    ) -> Any:
        """Return the SDK's result of a call; raise `ToolError` for everything else."""
        return await self._thread.run(self._call(name, values, progress, asked))

    async def close(self) -> None:
        """End the connection; called in the loop of the connections."""
        if self._closing is not None:
            self._closing.set()
        if self._running is not None:
            await asyncio.wait((self._running,), timeout=_CLOSING - 1)

    # --- In the loop of the connections ---

    async def _call(
        self, name: str, values: Mapping[str, Any], progress: CallProgress, asked: Elicited
    ) -> Any:
        client = await self._opened()
        _ASKED.set(asked)
        self._open_calls.append(asked)
        seconds = self.entry.timeout
        try:
            async with asyncio.timeout(seconds) as limit:
                asked.pause = _pauser(limit)
                return await self._unless_closed(
                    client.call_tool(name, dict(values), progress_callback=progress)
                )
        except TimeoutError as error:
            words = f"{self.entry.name} did not answer within {seconds:g} seconds"
            raise ToolError("timeout", words) from error
        except Exception as error:
            raise self._fault_of(error) from error
        finally:
            self._open_calls.remove(asked)

    async def _unless_closed(self, work: Coroutine[Any, Any, T]) -> T:
        """Await some work, but not longer than the connection lives."""
        assert self._running is not None
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task, self._running), return_when=asyncio.FIRST_COMPLETED)
            if not task.done() or _says_closed(task.exception()):
                # The end of the connection knows why it ended, and what the server's last words
                # were.
                await asyncio.wait((self._running,), timeout=_CLOSING)
                raise self._failure or ToolError("service_unavailable", self._words("ended"))
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _refresh(self) -> None:
        client = await self._opened()
        now = asyncio.get_running_loop().time()
        if self._is_stale or now - self._listed_at > _FRESH:
            try:
                await self._unless_closed(self._list(client))
            except Exception as error:
                raise self._fault_of(error) from error

    async def _opened(self) -> Client:
        """Return the client of an open connection; open one where there is none."""
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            if self._client is not None:
                return self._client
            loop = asyncio.get_running_loop()
            if self._failure is not None and loop.time() - self._failed_at < _PAUSE:
                raise self._failure
            opened: asyncio.Future[Client] = loop.create_future()
            self._failure = None
            self._closing = asyncio.Event()
            self._running = asyncio.ensure_future(self._live(opened, self._closing))
            seconds = _OPENING if self._sign_in is None else 600.0
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.shield(opened)
            except TimeoutError:
                self._fail(ToolError("timeout", self._words(f"was not ready in {seconds:g} s")))
            except ToolError as error:
                self._fail(error)
            except Exception as error:
                self._fail(self._fault_of(error))
            finally:
                # A caller that was cancelled leaves no half-open connection behind.
                if self._client is None:
                    self._running.cancel()
            await asyncio.wait((self._running,), timeout=_CLOSING)
            raise self._failure or ToolError("service_unavailable", self._words("failed"))

    def _fail(self, error: ToolError) -> None:
        self._failure = error
        self._failed_at = asyncio.get_running_loop().time()

    async def _live(self, opened: asyncio.Future[Client], closing: asyncio.Event) -> None:
        """Hold one connection from its beginning to its end, in this task."""
        try:
            async with self._transport() as streams, _client(streams, self) as client:
                # Patterns of a stranger's schema would be run on a stranger's values.
                setattr(client.session, "validate_tool_result", _check_nothing)  # noqa: B010
                self.version = client.protocol_version
                await self._list(client)
                self._client = client
                opened.set_result(client)
                await self._until_dead(client, closing)
        except BaseException as error:
            if opened.done():
                if not closing.is_set() and isinstance(error, Exception):
                    # It did begin: the next call may begin it again at once.
                    self._failure, self._failed_at = self._fault_of(error), -_PAUSE
            elif isinstance(error, Exception):
                opened.set_exception(self._fault_of(error))
            else:
                opened.cancel()
            if not isinstance(error, Exception):
                raise
        finally:
            self._client = None

    async def _until_dead(self, client: Client, closing: asyncio.Event) -> None:
        """Return when the connection is to be closed, raise when the server closed it."""
        ended = asyncio.ensure_future(self._watched.wait())
        leaving = asyncio.ensure_future(closing.wait())
        try:
            await asyncio.wait((ended, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            leaving.cancel()
        if not closing.is_set():
            raise ConnectionError("the connection ended")

    def _transport(self) -> Any:
        watched = self._watched = asyncio.Event()

        @asynccontextmanager
        async def watching() -> AsyncGenerator[Any]:
            async with self._reached() as (incoming, outgoing):
                yield _Watched(incoming, watched), outgoing

        return watching()

    def _reached(self) -> Any:
        if self.entry.is_http:
            from callblocks.protocols.mcp.http_transport import http_transport

            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            return http_transport(self.entry, self._place, self._sign_in)
        from callblocks.protocols.mcp.launch import Launch, find_bubblewrap, stdio_transport

        wanted = find_bubblewrap() if self.entry.sandbox else ""
        launch = Launch.of(self.entry, self._place / "home", wanted, self._hidden)
        self.is_sandboxed = bool(launch.bubblewrap)
        return stdio_transport(launch)

    async def _list(self, client: Client) -> None:
        listed: list[Any] = []
        cursor: str | None = None
        seen: set[str | None] = set()
        async with asyncio.timeout(_LISTING):
            while cursor not in seen and len(seen) < _PAGES and len(listed) <= 2 * MAX_TOOLS:
                seen.add(cursor)
                page = await client.list_tools(cursor=cursor, cache_mode="refresh")
                listed += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    break
        self._is_stale = False
        self._listed_at = asyncio.get_running_loop().time()
        # Neutralising long descriptions takes a while: other connections go on meanwhile.
        self.definitions, self.left_out = await asyncio.to_thread(
            read_definitions, self.entry, listed[: 2 * MAX_TOOLS]
        )

    async def on_message(self, message: Any) -> None:
        """Note that the server announced a change of its tools."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._is_stale = True

    async def on_elicitation(self, context: Any, params: Any) -> Any:
        """Answer a question of the server by the person whose call is open."""
        import mcp_types as types

        asked = _ASKED.get()
        if asked is None and len(self._open_calls) == 1:
            asked = self._open_calls[0]
        # With several calls open, nobody knows whose question it is.
        if asked is None:
            return types.ElicitResult(action="decline")
        with asked.pause():
            action, content = await asked(params)
        return types.ElicitResult(action=action, content=content)  # pyright: ignore[reportArgumentType] one of its literals

    def _words(self, what: str) -> str:
        return f"the MCP server {self.entry.name} {what}"

    def _fault_of(self, error: BaseException) -> ToolError:
        """Return what went wrong in words for a model and a person, without secrets."""
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        if isinstance(error, ToolError):
            if error.message.startswith("the MCP server"):
                return error
            return ToolError(error.code, self._words(f"fails: {error.message}"))
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        said = visible(redact(str(error)), 400).replace("\n", " ")
        if isinstance(error, ValidationError):
            return ToolError("bad_output", self._words("answered what is no answer"))
        if isinstance(error, MCPError):
            code, words = _REFUSALS.get(error.code, ("tool_error", ""))
            return ToolError(code, self._words(words or f"refused: {said}"))
        if isinstance(error, TimeoutError):
            return ToolError("timeout", self._words("did not answer in time"))
        words = f"cannot be used: {said or type(error).__name__}"
        return ToolError("service_unavailable", self._words(words))


def _says_closed(error: BaseException | None) -> bool:
    return getattr(error, "code", None) == _CONNECTION_CLOSED


def _pauser(limit: asyncio.Timeout) -> Callable[[], Any]:
    """Return a context manager that stops the clock of a call, also where several ask at once."""
    asking = 0
    left = 0.0

    @contextmanager
    def pause() -> Generator[None]:
        nonlocal asking, left
        loop = asyncio.get_running_loop()
        if not asking:
            left = max((limit.when() or loop.time()) - loop.time(), 0.0)
            limit.reschedule(None)
        asking += 1
        try:
            yield
        finally:
            asking -= 1
            if not asking and not limit.expired():
                limit.reschedule(loop.time() + left)

    return pause


class _Watched:
    """An incoming stream that tells when it ends."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended.set()
            raise

    async def receive(self) -> Any:
        try:
            return await self._stream.receive()
        except BaseException:
            self._ended.set()
            raise

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *given: Any) -> Any:
        self._ended.set()
        return await self._stream.__aexit__(*given)


def _client(streams: Any, link: ServerLink) -> Client:
    import mcp_types as types
    from mcp import Client

    from callblocks import __version__

    @asynccontextmanager
    async def given() -> AsyncGenerator[Any]:
        yield streams

    return Client(
        given(),
        client_info=types.Implementation(name="callblocks", version=__version__),
        elicitation_callback=link.on_elicitation,
        message_handler=link.on_message,
        cache=None,
    )


async def _check_nothing(name: str, result: Any) -> None:
    """Stand in for the check of a result by the server's own schema."""


# --- All servers of a program ---


class ToolReport(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of a server, for a person. `state`: ready, changed, new, off or left-out."""

    name: str
    description: str = ""
    state: str = "ready"
    reason: str = ""


class ServerReport(msgspec.Struct, frozen=True, kw_only=True):
    """One server, for a person. `state`: off, closed, open or failed."""

    name: str
    shown: str
    kind: str
    state: str
    fault: str = ""
    version: str = ""
    sandboxed: bool = False
    tools: tuple[ToolReport, ...] = ()


class McpServers:
    """The servers of a program, their tools and their connections.

    `state` is the state folder, which no server sees; `hidden` are further folders of that kind.
    `sign_in` lets a person sign in with a browser, where a command can ask for that. `said` is
    called with each reason why a server or a tool is left out.
    """

    def __init__(
        self,
        entries: Iterable[ServerEntry],
        state: Path,
        *,
        hidden: Iterable[str] = (),
        sign_in: BrowserSignIn | None = None,
        said: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._said = said
        self.pins = Definitions(state / MCP_STATE / _PINS)
        self._thread = _LoopThread()
        unseen = (str(state), *hidden)
        self._links = {
            entry.name: ServerLink(
                entry, state / MCP_STATE, self.pins, self._thread, unseen, sign_in
            )
            for entry in entries
        }
        atexit.register(self.close)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the servers."""
        return tuple(self._links)

    def tools(self) -> list[Tool]:
        """Return the tools of all servers that are not switched off.

        A server whose tools are pinned is not started for this. One that was never seen is, and
        what cannot be reached or offered is left out.
        """
        off = self.pins.off
        used = {
            name: link
            for name, link in self._links.items()
            if link.entry.enabled and name not in off
        }
        fresh = [link for name, link in used.items() if not self.pins.of(name)]
        for link, error in zip(fresh, self._connect(fresh), strict=True):
            if error is not None:
                self._said(f"{link.entry.name} is left out: {error.message}")
            elif link.definitions:
                self.pins.pin(link.entry.name, link.definitions)
            for left in link.left_out:
                self._said(f"{link.entry.name}.{left.name} is left out: {left.reason}")
        return [tool for link in used.values() for tool in self._tools_of(link, off)]

    def test(self, name: str, *, accept: bool = False) -> ServerReport:
        """Connect to a server now and return what it offers; `accept` pins all of that."""
        link = self._links[name]
        (error,) = self._connect([link])
        if error is None and link.definitions and (accept or not self.pins.of(name)):
            self.pins.pin(name, link.definitions)
        return self._report(link)

    def reports(self) -> list[ServerReport]:
        """Return all servers as they are now; none is started for this."""
        return [self._report(link) for link in self._links.values()]

    def link(self, name: str) -> ServerLink:
        """Return the connection of a server."""
        return self._links[name]

    def close(self) -> None:
        """Close all connections; servers that were started here end."""
        atexit.unregister(self.close)
        # Without a first use there is no loop, and nothing to close.
        if any(link.is_open for link in self._links.values()):
            work = _all(link.close() for link in self._links.values())
            with suppress(TimeoutError):
                self._thread.wait(work, _CLOSING)
        self._thread.stop()

    def _connect(self, links: list[ServerLink]) -> list[ToolError | None]:
        if not links:
            return []

        async def one(link: ServerLink) -> ToolError | None:
            try:
                await link.refresh_here()
            except ToolError as error:
                return error
            return None

        return self._thread.wait(_all(one(link) for link in links), 700.0)

    def _tools_of(self, link: ServerLink, off: frozenset[str]) -> Iterable[Tool]:
        for definition in self.pins.of(link.entry.name).values():
            if f"{link.entry.name}.{definition.name}" not in off:
                try:
                    yield tool_of(link.entry, definition, lambda link=link: link)
                except BadSpec:
                    # The pins are of an older version, which let this pass.
                    continue

    def _report(self, link: ServerLink) -> ServerReport:
        entry, off = link.entry, self.pins.off
        pinned = self.pins.of(entry.name)
        names = {**pinned, **link.definitions}
        is_off = entry.name in off or not entry.enabled
        reports = [self._tool_report(entry.name, one, pinned, link, off) for one in names.values()]
        reports += [
            ToolReport(name=f"{entry.name}.{one.name}", state="left-out", reason=one.reason)
            for one in link.left_out
        ]
        state = (
            "off" if is_off else "open" if link.is_open else "failed" if link.fault else "closed"
        )
        return ServerReport(
            name=entry.name,
            shown=redact(entry.shown),
            kind="http" if entry.is_http else "stdio",
            state=state,
            fault=link.fault,
            version=link.version,
            sandboxed=link.is_sandboxed,
            tools=tuple(reports),
        )

    def _tool_report(
        self,
        server: str,
        definition: Definition,
        pinned: Mapping[str, Definition],
        link: ServerLink,
        off: frozenset[str],
    ) -> ToolReport:
        name = f"{server}.{definition.name}"
        known = pinned.get(definition.name)
        now = link.definitions.get(definition.name)
        state = "ready"
        if known is None:
            state = "new"
        elif now is not None and now.digest != known.digest:
            state = "changed"
        if name in off:
            state = "off"
        about = visible(definition.description, 300).partition("\n")[0]
        return ToolReport(name=name, description=about, state=state)


async def _all(work: Iterable[Awaitable[T]]) -> list[T]:
    return list(await asyncio.gather(*work))
