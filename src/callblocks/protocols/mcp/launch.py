"""MCP servers that are started here and speak over standard input and output.

    launch = Launch.of(entry, home, bubblewrap, hidden)
    async with stdio_transport(launch) as (incoming, outgoing): …

A server is somebody's program. It gets an environment that is built from nothing, a home folder of
its own, and a guardian that kills all its processes when we die. Where bubblewrap works it runs in
a root that is built from nothing, too: the machine's programs, its own program, and the folders
that its entry names. The network is off unless the entry says otherwise; package launchers such as
`npx` and `uvx` cannot work without one.

What comes back is read as hostile: a line of more than 16 MiB, too many lines that are no messages
and a flood of messages without an answer among them each end the connection. An answer that cannot
be read (nested too deep, half a character, a batch) fails the request that it names, at once.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import sys
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.redaction import redact
from callblocks.guard.sandbox.bubblewrap import NAMES, certificates, environment, system_folders
from callblocks.guard.sandbox.launch_plan import Plan, memory_file, setting_up, start
from callblocks.guard.sandbox.sandbox import MIB, Job
from callblocks.protocols.mcp.servers import ServerEntry

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from mcp.client._transport import TransportStreams

__all__ = ("Launch", "find_bubblewrap", "stdio_transport")

MAX_LINE = 16 * MIB
# Lines that are no messages: some servers print their log to standard output.
_MAX_NOISE = 200
# Messages in a row that answer nothing.
_MAX_UNASKED = 4_000
_STDERR = 4_000
_GRACE = 2.0
_LAST_WORDS = 0.5
_MEMORY, _PROCESSES = 2048 * MIB, 256
_FETCHING = frozenset(("npx", "uvx", "bunx", "pnpm", "pnpx", "yarn", "pipx", "uv", "deno", "npm"))
_HOME = "/home/user"
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
# Folders that no program lies in alone: they are never shown because of a path below them.
_SHARED = frozenset(("/", "/usr", "/usr/local", "/opt", "/home", "/root", "/etc", "/var", "/tmp"))


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is started. `bubblewrap` is the program of that name; "" starts outside of it.

    `read` and `write` are the folders that it sees in the sandbox. `home` is its own folder. Below
    `hidden` it sees nothing, whatever stands above.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    folder: str
    home: str
    bubblewrap: str = ""
    network: bool = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: ServerEntry, home: Path, bubblewrap: str, hidden: Iterable[str]) -> Launch:
        """Return the launch of an entry; raise `ToolError` for a program that is not there."""
        program = shutil.which(os.path.expanduser(entry.command))
        if program is None:
            raise ToolError("service_unavailable", f"{entry.command} is not installed here")
        program = os.path.abspath(program)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.path.abspath(os.path.expanduser(entry.folder)) if entry.folder else ""
        write = tuple(os.path.abspath(os.path.expanduser(path)) for path in entry.write)
        named = tuple(os.path.abspath(os.path.expanduser(path)) for path in entry.read)
        own = tuple(_program_folders(program, entry.args))
        fetches = os.path.basename(entry.command) in _FETCHING
        is_inside = bool(bubblewrap) and entry.sandbox
        place = _HOME if is_inside else str(home)
        paths = dict.fromkeys((os.path.dirname(program), *_PATH.split(":")))
        own_env = {"PATH": ":".join(paths), "NO_COLOR": "1"} | entry.environment()
        return cls(
            argv=(program, *entry.args),
            env=environment(Job(argv=(program,), env=own_env), place),
            folder=folder or place,
            home=str(home),
            bubblewrap=bubblewrap if is_inside else "",
            network=fetches if entry.network is None else entry.network,
            read=tuple(path for path in (*own, *named, folder) if path),
            write=write,
            hidden=tuple(hidden),
        )


@cache
def find_bubblewrap() -> str:
    """Return the path of bubblewrap where it can make namespaces here, else ""."""
    import subprocess

    program = shutil.which("bwrap", path=_PATH)
    if program is None or not sys.platform.startswith("linux"):
        return ""
    trial = (program, "--unshare-all", "--ro-bind", "/", "/", "/bin/true")
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(trial, check=False, capture_output=True, timeout=10, env={})
        return program if done.returncode == 0 else ""
    return ""


# --- What a sandboxed server sees ---


def _program_folders(program: str, args: Iterable[str]) -> Iterable[str]:
    """Yield the folders of a program: where it lies, where its links lead, and what runs it.

    An argument that is an absolute path counts, too: `python /srv/server.py` needs that folder.
    """
    seen: set[str] = set()
    for path in (program, *_interpreters(program), *args):
        if not os.path.isabs(path) or not os.path.exists(path):
            continue
        for place in (path, *_links(path)):
            folder = _folder_of(place)
            if folder and folder not in seen:
                seen.add(folder)
                yield folder


def _links(path: str) -> Iterable[str]:
    """Yield the targets of a chain of links, and the real path."""
    for _ in range(8):
        if not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
        yield os.path.abspath(path)
    yield os.path.realpath(path)


def _interpreters(program: str) -> Iterable[str]:
    """Yield the program that a script names in its first line."""
    with suppress(OSError), open(program, "rb") as file:
        if file.read(2) == b"#!":
            words = os.fsdecode(file.readline(500)).split()
            yield from words[:1]


def _folder_of(path: str) -> str:
    """Return the folder to show for a path: that of its package, its environment or itself."""
    if path.startswith(("/usr/", "/bin/", "/lib", "/sbin/")):
        return ""
    parts = Path(path).parts
    if "node_modules" in parts:
        return os.path.join(*parts[: parts.index("node_modules") + 1])
    parent = os.path.dirname(path)
    if os.path.basename(parent) == "bin" and os.path.isfile(path):
        folder = os.path.dirname(parent)
        return parent if _is_shared(folder) else folder
    if os.path.isdir(path):
        return "" if _is_shared(path) else path
    return path


def _is_shared(folder: str) -> bool:
    return folder in _SHARED or folder == os.path.expanduser("~")


def _options(launch: Launch) -> list[str]:
    """Return the options of bubblewrap; a later mount covers an earlier one."""
    shown = Job(argv=launch.argv, network=launch.network)
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--hostname", "sandbox"]
    options += ["--share-net"] if launch.network else []
    options += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", *system_folders(shown)]
    outward = ("/etc/hosts", "/etc/nsswitch.conf", *NAMES, *certificates())
    for path in (
        *(outward if launch.network else ()),
        "/etc/passwd",
        "/etc/group",
        "/etc/mime.types",
    ):
        options += ["--ro-bind-try", path, path]
    options += ["--bind", launch.home, _HOME]
    for path in launch.read:
        options += ["--ro-bind-try", path, path]
    for path in launch.write:
        options += ["--bind", path, path]
    bound = [*launch.read, *launch.write]
    for path in launch.hidden:
        real = os.path.realpath(path)
        if os.path.isdir(real) and any(_is_below(real, one) for one in bound):
            options += ["--tmpfs", real]
    return [*options, "--chdir", launch.folder]


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath((path, os.path.realpath(folder))) == os.path.realpath(folder)


def _plan(launch: Launch, stack: ExitStack) -> Plan:
    from callblocks.guard.sandbox.cgroups import find_group_home, group_of
    from callblocks.guard.sandbox.seccomp import machine_is_known, syscall_filter

    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: 4096}
    if not launch.bubblewrap:
        return Plan(
            argv=[*launch.argv], env=launch.env, cwd=launch.folder, rlimits=limits, sweep=True
        )
    for path in launch.write:
        if not os.path.isdir(path):
            raise ToolError("service_unavailable", f"{path} is no folder")
    group = stack.enter_context(group_of(find_group_home(), memory=_MEMORY, processes=_PROCESSES))
    # The filter must not count on namespaces of its own: a shown folder may hold a socket.
    program = syscall_filter(apart=False, network=launch.network) if machine_is_known() else b""
    options, fds = _options(launch), list[int]()
    # The descriptors of the process are 0 to 2, then the filter, if any, and then the options.
    if program:
        options += ["--seccomp", "3"]
        fds.append(memory_file("filter", program))
    fds.append(memory_file("options", "\0".join(options).encode() + b"\0"))
    return Plan(
        argv=[launch.bubblewrap, "--args", str(2 + len(fds)), "--", *launch.argv],
        env=launch.env,
        groups=group.doors if group is not None else [],
        rlimits=limits,
        fds=fds,
        sweep=True,
    )


# --- The connection ---


@asynccontextmanager
async def stdio_transport(launch: Launch) -> AsyncGenerator[TransportStreams]:
    """Start a server, and yield its incoming and outgoing messages; stop it in the end."""
    import anyio
    from mcp.shared.message import SessionMessage

    with ExitStack() as stack:
        with setting_up():
            plan = _plan(launch, stack)
            process = await start(plan, stdin=True)
        incoming_end, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, outgoing_end = anyio.create_memory_object_stream[SessionMessage](0)
        said = _Said(process)
        tasks = [
            asyncio.ensure_future(said.read_messages(incoming_end)),
            asyncio.ensure_future(said.read_errors()),
            asyncio.ensure_future(_write(process, outgoing_end, incoming_end)),
        ]
        try:
            yield incoming, outgoing
        except BaseException as error:
            # The words of a program that died explain more than "connection closed".
            await _wait_for_end(process, _LAST_WORDS)
            if said.fault:
                raise ToolError("service_unavailable", said.fault) from error
            raise
        finally:
            await asyncio.shield(asyncio.ensure_future(_stop(process, tasks)))
            for stream in (incoming_end, incoming, outgoing, outgoing_end):
                stream.close()


class _Said:
    """The output of a server: messages on one stream, words for a person on the other."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._errors = b""
        self._broken = ""

    @property
    def fault(self) -> str:
        """Return why the connection ended, as far as the server's end of it shows."""
        words = redact(self._errors.decode("utf-8", "replace")).strip().splitlines()
        last = f": {words[-1][:300]}" if words else ""
        if self._broken:
            return self._broken
        code = self._process.returncode
        return f"it ended with code {code}{last}" if code is not None else last.removeprefix(": ")

    async def read_errors(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(65536):
            self._errors = (self._errors + piece)[-_STDERR:]

    async def read_messages(self, incoming: Any) -> None:
        from anyio import BrokenResourceError, ClosedResourceError

        try:
            await self._read(incoming)
        except (BrokenResourceError, ClosedResourceError):
            # Nobody reads any more: our side closed the connection, and knows why.
            return
        except Exception as error:  # whatever a server sends, the connection just ends
            self._broken = self._broken or f"its output cannot be read: {type(error).__name__}"
        finally:
            incoming.close()
            # Nobody reads any more: the server must not hang on a full pipe until it is stopped.
            await self._drop()

    async def _read(self, incoming: Any) -> None:
        import mcp_types as types
        from mcp.shared.message import SessionMessage

        noise = unasked = 0
        async for line in self._lines():
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except (ValueError, RecursionError):
                message = _unread_answer(line)
            if message is None:
                noise += 1
                if noise > _MAX_NOISE:
                    self._broken = "it writes lines that are no messages"
                    return
                continue
            is_answer = isinstance(message, types.JSONRPCResponse | types.JSONRPCError)
            unasked = 0 if is_answer else unasked + 1
            if unasked > _MAX_UNASKED:
                self._broken = "it floods the connection with messages"
                return
            await incoming.send(SessionMessage(message))

    async def _lines(self) -> AsyncGenerator[bytes]:
        assert self._process.stdout is not None
        held: list[bytes] = []
        size = 0
        while piece := await self._process.stdout.read(65536):
            first, *rest = piece.split(b"\n")
            held.append(first)
            size += len(first)
            for beginning in rest:
                line = b"".join(held)
                held, size = [beginning], len(beginning)
                if line.strip():
                    yield line
            if size > MAX_LINE:
                self._broken = f"it sent a message of more than {MAX_LINE // MIB} MiB"
                return

    async def _drop(self) -> None:
        assert self._process.stdout is not None
        while await self._process.stdout.read(1 << 20):
            pass


# Where an answer says whose it is. Its result may hold anything, so only both ends are looked at.
_ENDS = 300
_ID = re.compile(rb'"id"\s*:\s*(?:(\d{1,15})|"([\w.:-]{1,80})")\s*[,}]')


def _unread_answer(line: bytes) -> Any:
    """Return a failure for the request that an unreadable answer names; `None` for other lines."""
    import mcp_types as types

    ends = line[:_ENDS] + b"\n" + line[-_ENDS:]
    named = _ID.search(ends)
    if named is None or b'"jsonrpc"' not in ends or b'"method"' in ends:
        return None
    whose = int(named[1]) if named[1] else named[2].decode()
    fault = types.ErrorData(code=types.PARSE_ERROR, message="its answer cannot be read")
    return types.JSONRPCError(jsonrpc="2.0", id=whose, error=fault)


async def _write(process: Process, outgoing: Any, incoming: Any) -> None:
    assert process.stdin is not None
    try:
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()
    except (OSError, ConnectionError):
        # It may still live with its input closed: a request must not wait for it.
        incoming.close()


async def _stop(process: Process, tasks: Sequence[asyncio.Future[None]]) -> None:
    """Close the input, wait a little, and have the guardian kill what is left."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    await _wait_for_end(process, _GRACE)
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
        await _wait_for_end(process, _GRACE)
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await _wait_for_end(process, _GRACE)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _wait_for_end(process: Process, seconds: float) -> None:
    """Wait until a process has ended, or for some seconds.

    `process.wait` also waits for the pipes, which a child of the server may hold open.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while process.returncode is None and loop.time() < end:
        await asyncio.sleep(0.01)
