"""Hosts as a server hears of them: in its own address, and in the `Host` header of a request.

127.0.0.1  127.8.9.1  ::1  [::1]  localhost  LOCALHOST.    loopback
0.0.0.0  ::  192.168.0.2  example.com  localhost.example   not loopback
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

__all__ = ("host_of", "is_loopback")

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")


def is_loopback(host: str) -> bool:
    """Return whether a name or an address means this machine, whoever resolves it."""
    name = host.strip("[]").removesuffix(".").lower()
    if name == "localhost":
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (inner or address).is_loopback


def host_of(header: str) -> str | None:
    """Return the host in a `Host` header, without its port; `None` where it is no such header."""
    found = _HOST.fullmatch(header)
    return found[1] if found else None
