"""Parsing of TOML files; every error names the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from callblocks.core.errors import CallerError

__all__ = ("parse_toml",)

T = TypeVar("T")


def parse_toml(
    text: str,
    noun: str,
    name: str,
    read: Callable[[dict[str, Any]], T],
    fault: type[CallerError] = CallerError,
) -> T:
    """Return the result of `read` on the tables of a text.

    `noun` names the kind of file, and `name` prefixes every message; each error is a `fault`.
    """
    # Imported here, because few commands read such a file and all must start fast.
    import tomllib

    where = f"{name}: " if name else ""
    try:
        return read(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise fault(f"{where}not TOML: {error}") from error
    except RecursionError as error:
        raise fault(f"{where}nested too deep to be a {noun}") from error
    # Raised by `read`: the same error with the file's name before it.
    except fault as error:
        raise fault(f"{where}{error}") from error
