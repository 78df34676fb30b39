"""Reads the text of a TOML file; every complaint names the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from callblocks.model.errors import CallerError

__all__ = ("parse_toml",)

T = TypeVar("T")


def parse_toml(
    text: str,
    noun: str,
    name: str,
    read: Callable[[dict[str, Any]], T],
    fault: type[CallerError] = CallerError,
) -> T:
    """Return what `read` makes of the tables of a text.

    `noun` says what the file is to be, and `name` stands before every complaint; each is a `fault`.
    """
    # Few commands read such a file, and all must start at once.
    import tomllib

    where = f"{name}: " if name else ""
    try:
        return read(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise fault(f"{where}not TOML: {error}") from error
    except RecursionError as error:
        raise fault(f"{where}nested too deep to be a {noun}") from error
    except fault as error:
        raise fault(f"{where}{error}") from error
