"""Parsing of hosts: one spelling for each name and each address.

Example.COM.       example.com
bücher.example     xn--bcher-kva.example
[::0:1]            ::1
127.1, 0x7f.1      refused: an IPv4 address is four decimal numbers
"""

from __future__ import annotations

import ipaddress
import re
from typing import NoReturn

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.model.redaction import redact

__all__ = ("read_host", "refuse_url")

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# Programs differ on a host whose last label is a number: some read an address (127.1, 0x7f.1), some
# a name. Such a host must be a plain IPv4 address.
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST = 253
_NO_NAME = "its host is not a name that DNS knows"


def read_host(text: str) -> str:
    """Return a name in lower-case ASCII, or an address without brackets; raise `ToolError`
    otherwise.
    """
    if text.startswith("["):
        return _read_v6(text)
    if len(text) > _LONGEST + 1:
        refuse_url(text, _NO_NAME)
    name = text.lower() if text.isascii() else _to_ascii(text)
    name = name.removesuffix(".")
    if _NUMERIC.fullmatch(name.rpartition(".")[2]):
        return _read_v4(name)
    if len(name) > _LONGEST or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        refuse_url(text, _NO_NAME)
    return name


def refuse_url(text: str, why: str) -> NoReturn:
    """Raise `ToolError` with the code `invalid_url`; a password in the text is not shown."""
    shown = redact(brief(text, 120))
    raise ToolError("invalid_url", f"{shown} cannot be asked: {why}")


def _read_v4(name: str) -> str:
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError:
        refuse_url(name, "an IPv4 address is written as four decimal numbers, as in 203.0.113.7")


def _read_v6(text: str) -> str:
    inside = text.removeprefix("[").removesuffix("]")
    try:
        address = ipaddress.IPv6Address(inside)
    except ValueError:
        refuse_url(text, "in brackets stands an IPv6 address")
    if address.scope_id is not None:
        refuse_url(text, "an address with a zone id is of this machine alone")
    return str(address)


def _to_ascii(name: str) -> str:
    import idna

    try:
        return idna.encode(name, uts46=True, std3_rules=True).decode("ascii")
    except idna.IDNAError:
        refuse_url(name, _NO_NAME)
