r"""Text whose backslashes survive writing: `C:\New` is a path and not a line break.

The iCalendar library reads `\\N` correctly, but writes the two characters `\N` as a line break.
"""

# The library types what a component holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from icalendar import Component, vText

__all__ = ("Text", "keep_backslashes")


class Text(vText):
    """A text that is escaped without that fault."""

    __slots__ = ()

    def to_ical(self) -> bytes:
        r"""Return the text with `\`, `;`, `,` and line breaks escaped."""
        plain = str(self).replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
        return plain.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n").encode()


def keep_backslashes(whole: Component) -> None:
    """Replace the texts of a component, and of those in it, where the library would break them."""
    for part in whole.walk():
        for name, value in list(part.items()):
            part[name] = [_kept(one) for one in value] if isinstance(value, list) else _kept(value)


def _kept(value: Any) -> Any:
    if type(value) is not vText or "\\N" not in value:
        return value
    return Text(value, params=value.params)
