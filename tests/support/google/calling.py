"""Tools of the workspace, called by name on one office, the way the runtime calls them."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from pathlib import Path
from typing import Any

from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Artifact
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.open_office import add_workspace_tools
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Context, Tool
from support.google.server import Server

__all__ = ("Calling", "drop_mail")

_NUMBERS = itertools.count(1)


class Calling:
    """Runs tools on an office; on Google with no more scopes than the tool asks for.

    `context` is that of the last call: its taints and notices. `kept` has the files that calls
    kept, by name. `root` is the workspace: attachments come from there.
    """

    def __init__(self, office: Office, root: Root, server: Server | None = None) -> None:
        self.office = office
        self.root = root
        self.server = server
        self._registry = Registry()
        add_workspace_tools(self._registry, office, root)
        self.context = Context()
        self.kept: dict[str, bytes] = {}

    def __call__(self, name: str, /, **input: Any) -> Any:
        """The output of a call; a wrong input and a fault raise `ToolError`."""
        tool = self.tool(name)
        values = self._checked(tool, input)
        self.context = Context("c1", "key-1", keep=self._keep)
        if tool.context:
            values[tool.context] = self.context
        return self._with_its_scopes(name, lambda: tool(**values))

    def failure(self, name: str, /, **input: Any) -> str:
        """The code that a call fails with."""
        return self.error(name, **input).code

    def error(self, name: str, /, **input: Any) -> ToolError:
        """How a call fails."""
        try:
            output = self(name, **input)
        except ToolError as error:
            return error
        raise AssertionError(f"{name} did not fail, but gave {output!r:.200}")

    def preview(self, name: str, /, **input: Any) -> str:
        """What a person sees before the call is approved."""
        tool = self.tool(name)
        assert tool.preview is not None
        preview, values = tool.preview, self._checked(tool, input)
        return self._with_its_scopes(name, lambda: preview(**values))

    def refused(self, name: str, /, **input: Any) -> str:
        """Why nobody is asked about the call, with its code before: it cannot work."""
        try:
            shown = self.preview(name, **input)
        except ToolError as error:
            return f"{error.code}: {error.message}"
        raise AssertionError(f"the preview of {name} did not fail, but gave {shown!r:.200}")

    def tool(self, name: str) -> Tool:
        """A tool by its name."""
        return self._registry[name]

    def _checked(self, tool: Tool, input: dict[str, Any]) -> dict[str, Any]:
        checked = tool.check(input)
        if checked.faults:
            details = {fault.field: fault.problem for fault in checked.faults}
            raise ToolError("invalid_input", f"{tool.name}: {details}", **details)
        return dict(checked.values)

    def _keep(self, name: str, content: bytes, mime: str) -> Artifact:
        self.kept[name] = content
        return Artifact(path=f"kept/{name}", size=len(content), digest="", mime=mime)

    def _with_its_scopes(self, name: str, run: Any) -> Any:
        if self.server is None:
            return _finished(run())
        self.server.allow(_scopes(name))
        try:
            return _finished(run())
        finally:
            self.server.allow(None)
            assert self.server.complaints == [], self.server.complaints


def _scopes(name: str) -> frozenset[str]:
    from callblocks.toolkits.office.google.auth import scopes_for

    return frozenset(scopes_for([name]))


def _finished(output: Any) -> Any:
    async def awaited() -> Any:
        return await output

    return asyncio.run(awaited()) if inspect.isawaitable(output) else output


def drop_mail(folder: Path, raw: bytes) -> None:
    """Deliver a mail into a Maildir, as any mail program would."""
    for name in ("tmp", "new", "cur"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "new" / f"17000000{next(_NUMBERS):02}.M1P1.host").write_bytes(raw)
