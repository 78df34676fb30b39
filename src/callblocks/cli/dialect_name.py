"""The name of a dialect as an argument: checked, and completed by the shell."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

__all__ = ("AUTO", "DIALECT", "ONE_DIALECT")

AUTO = "auto"


class DialectName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """One of the dialects, or `auto` where that is allowed."""

    name = "name"

    def __init__(self, *, auto: bool) -> None:
        self._auto = auto

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        known = self._known()
        if value not in known:
            self.fail(f"no dialect {value!r}; choose from: {', '.join(known)}", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(name, help=about)
            for name, about in self._known().items()
            if name.startswith(incomplete)
        ]

    def _known(self) -> dict[str, str]:
        from callblocks.dialects import dialects

        every = {AUTO: "every dialect that can be told by its markers"} if self._auto else {}
        return every | {name: dialect.summary for name, dialect in dialects.items()}


DIALECT = DialectName(auto=True)
ONE_DIALECT = DialectName(auto=False)
