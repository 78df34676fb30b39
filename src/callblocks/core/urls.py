"""Strict parsing of URLs: one text has one meaning, or is refused.

    read_url("https://Example.com/a?b#c")   https, example.com, 443, /a?b
    read_url("https://bücher.example/ä")    https, xn--bcher-kva.example, 443, /%C3%A4

Refused, because programs disagree on them: other schemes, a user name before the host, whitespace,
control and invisible characters, backslashes, unusual spellings of an address, and the path
segments `.` and `..`. If two parsers disagreed, the policy would judge one host and the client
contact another. The fragment is dropped: it is never sent.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from typing import NoReturn

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.redaction import redact
from callblocks.core.text import brief

__all__ = (
    "Url",
    "follow_url",
    "host_of",
    "is_loopback",
    "read_host",
    "read_url",
    "refuse_url",
)

# --- Parsing of hosts: one spelling for each name and each address ---
#
#     Example.COM.       example.com
#     bücher.example     xn--bcher-kva.example
#     [::0:1]            ::1
#     127.1, 0x7f.1      refused: an IPv4 address is four decimal numbers

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# Programs differ on a host whose last label is a number: some read an address (127.1, 0x7f.1), some
# a name. Such a host must be a plain IPv4 address.
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_HOST = 253
_NO_NAME = "its host is not a name that DNS knows"


def read_host(text: str) -> str:
    """Return a name in lower-case ASCII, or an address without brackets; raise `ToolError`
    otherwise.
    """
    if text.startswith("["):
        return _read_v6(text)
    if len(text) > _LONGEST_HOST + 1:
        refuse_url(text, _NO_NAME)
    name = text.lower() if text.isascii() else _to_ascii(text)
    name = name.removesuffix(".")
    if _NUMERIC.fullmatch(name.rpartition(".")[2]):
        return _read_v4(name)
    if len(name) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in name.split(".")):
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


# --- Strict parsing of URLs: one text has one meaning, or is refused ---

_LONGEST = 8192
# ASCII: with Unicode case folding the long s of `httpſ` would match an s.
_SHAPE = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.ASCII | re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY = re.compile(r"(\[[^\]]*\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
_DOT = re.compile(r"\.|%2e", re.IGNORECASE)
_DOTS = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)
# Characters that are sent as they are; all others are sent as %XX.
_PLAIN = "!$%&'*+,-./:;=?@_~()[]"
_PORTS = {"http": 80, "https": 443}


class Url(msgspec.Struct, frozen=True):
    """A parsed URL. `host` is lower-case ASCII, an IPv6 address without its brackets.

    `target` is the path with the query, as it is sent.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Return the host as a `Host` header has it: the port only where it is not the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Return the origin: scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return self.origin + self.target


def read_url(text: str) -> Url:
    """Parse a whole URL, or raise `ToolError` with the code `invalid_url`."""
    _check_characters(text)
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        refuse_url(text, "it starts with http:// or https:// and a host; nothing else is asked")
    scheme, authority, path, query = shape[1].lower(), shape[2], shape[3] or "/", shape[4] or ""
    if "@" in authority:
        # The text is not shown, because the part before the @ may be a password.
        raise ToolError(
            "invalid_url",
            "the URL has a user name or password before its host; "
            "leave it out, and send an Authorization header if it is needed",
        )
    host, port = _read_authority(text, authority)
    # Proxies and servers differ on whether they resolve dot segments, so a policy on the path could
    # be bypassed.
    if any(_DOTS.fullmatch(segment) for segment in path.split("/")):
        refuse_url(text, "its path has a segment '.' or '..'; write the path that it leads to")
    return Url(scheme, host, port or _PORTS[scheme], _encode(path + query))


def follow_url(base: Url, location: str) -> Url:
    """Return the URL that a redirect from `base` leads to, parsed as strictly.

    Only in a relative location do `.` and `..` have their usual meaning.
    """
    path = base.target.partition("?")[0]
    if _SCHEME.match(location):
        return read_url(location)
    if location.startswith("//"):
        return read_url(f"{base.scheme}:{location}")
    if not location or location.startswith("#"):
        return base
    if location.startswith("?"):
        return read_url(base.origin + path + location)
    if not location.startswith("/"):
        location = path.rpartition("/")[0] + "/" + location
    return read_url(base.origin + _without_dots(location))


def _check_characters(text: str) -> None:
    if len(text) > _LONGEST:
        refuse_url(text, f"it has {len(text)} characters, and may have {_LONGEST}")
    for at, character in enumerate(text):
        if character == "\\":
            refuse_url(text, f"it has a backslash at {at}; write %5C if that is meant")
        if unicodedata.category(character)[0] in "CZ":
            code = f"U+{ord(character):04X}"
            refuse_url(
                text, f"it has a space or an invisible character ({code}) at {at}; a space is %20"
            )


def _read_authority(text: str, authority: str) -> tuple[str, int]:
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        refuse_url(text, "after // stand a host and, where needed, a port: example.com:8080")
    port = None if parts[2] is None else int(parts[2])
    if port is not None and not 1 <= port <= 65535:
        refuse_url(text, f"its port is {port}; a port is between 1 and 65535")
    return read_host(parts[1]), port or 0


def _without_dots(reference: str) -> str:
    """Resolve the segments `.` and `..` of a reference that starts with `/`."""
    path = re.split(r"[?#]", reference, maxsplit=1)[0]
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if not _DOTS.fullmatch(segment):
            kept.append(segment)
        elif len(_DOT.findall(segment)) == 2:
            del kept[-1:]
    if _DOTS.fullmatch(segments[-1]):
        kept.append("")
    return "/" + "/".join(kept) + reference[len(path) :]


def _encode(target: str) -> str:
    from urllib.parse import quote

    return quote(target, safe=_PLAIN)


# --- Hosts as a server hears of them: in its own address, and in the `Host` header of a request ---
#
#     127.0.0.1  127.8.9.1  ::1  [::1]  localhost  LOCALHOST.    loopback
#     0.0.0.0  ::  192.168.0.2  example.com  localhost.example   not loopback

_HOST_HEADER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")


def is_loopback(host: str) -> bool:
    """Return whether a name or an address means this machine, whoever resolves it."""
    name = host.strip("[]").removesuffix(".").lower()
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (inner or address).is_loopback


def host_of(header: str) -> str | None:
    """Return the host in a `Host` header, without its port; `None` where it is no such header."""
    found = _HOST_HEADER.fullmatch(header)
    return found[1] if found else None
