"""Which host names are this machine and nothing else, and which URLs a proxy has for it.

127.0.0.1  127.8.9.1  ::1  [::1]  localhost  LOCALHOST.     yes
0.0.0.0  ::  192.168.0.2  example.com  localhost.example    no

https://chat.example  http://[2001:db8::1]:8080/            public URLs
https://example.com/chat  chat.example  ftp://chat.example  none: a path, no scheme, another one
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from callblocks.model.errors import ToolError
from callblocks.runtime.net.hosts import read_host

__all__ = ("PublicUrl", "host_of", "is_loopback", "name_of", "read_public_url")

_PUBLIC = re.compile(r"(?i:(https?))://(\[[^\]\s]+\]|[^\[\]/?#@:\s]+)(?::([0-9]{1,5}))?/?")
_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65535
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")


def is_loopback(host: str) -> bool:
    """Whether a name or an address means this machine, wherever it is looked up."""
    name = host.strip("[]").removesuffix(".").lower()
    if name == "localhost":
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (inner or address).is_loopback


class PublicUrl(NamedTuple):
    """An address under which others reach the server; both as browsers write them.

    `name` is its host without brackets and port, `origin` what its pages send as `Origin`.
    """

    name: str
    origin: str


def read_public_url(url: str) -> PublicUrl | None:
    """Return what a public URL names; None for what is none, or has more than an origin.

    Without a path: the links of the pages begin at the root of their host.
    """
    found = _PUBLIC.fullmatch(url)
    name = name_of(found[2]) if found else ""
    if found is None or not name or int(found[3] or 0) > _LAST_PORT:
        return None
    scheme = found[1].lower()
    shown = f"[{name}]" if ":" in name else name
    port = int(found[3] or _PORTS[scheme])
    more = "" if port == _PORTS[scheme] else f":{port}"
    return PublicUrl(name, f"{scheme}://{shown}{more}")


def name_of(host: str) -> str:
    """Return a host in the spelling of `PublicUrl.name`; "" for what names none."""
    try:
        return read_host(host)
    except ToolError:
        return ""


def host_of(header: str) -> str | None:
    """The host in a `Host` header, without its port; None where it is no such header."""
    found = _HOST.fullmatch(header)
    return found[1] if found else None
