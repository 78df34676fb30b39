"""Addresses that a connection may go to: ports, networks, names; and the socket of a server."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterable
from typing import TypeAlias

from callblocks.core.errors import CallerError, ToolError
from callblocks.core.text import brief
from callblocks.core.urls import read_url

__all__ = (
    "Address",
    "Allowed",
    "address_of",
    "is_public",
    "listen_at",
    "name_refusal",
    "port_refusal",
    "read_allowed",
    "refusal",
)

# --- Exceptions that a person opened although they are not public: hosts with their ports ---
#
#     127.0.0.1:8123    [::1]:8123    build.internal:80
#
# An entry opens exactly the host and port as a URL writes them. A name that merely resolves to an
# opened address is not opened by that, and neither is another port.

# Hosts, as a `Url` has them, with ports.
Allowed: TypeAlias = frozenset[tuple[str, int]]


def read_allowed(entries: Iterable[str]) -> Allowed:
    """Parse `host:port` entries; raise `CallerError` for an invalid one."""
    return frozenset(_read(entry) for entry in entries)


def _read(entry: str) -> tuple[str, int]:
    try:
        url = read_url(f"http://{entry}")
    except ToolError as error:
        raise CallerError(f"{entry!r} opens nothing; write host:port") from error
    if not entry.endswith(f":{url.port}") or any(mark in entry for mark in "/?#"):
        raise CallerError(f"{entry!r} opens nothing; write host:port, and nothing else")
    return url.host, url.port


# --- Ports where something other than HTTP listens ---
#
# An HTTP request to such a port could control that service: many line protocols read its lines as
# commands. All other ports are open, since many APIs have a port of their own.

_SERVICES = {
    "a test service": (1, 7, 9, 11, 13, 15, 17, 19, 37),
    "file transfer": (20, 21, 69, 115, 548, 873, 989, 990, 2049, 3260),
    "remote login": (22, 23, 107, 512, 513, 514, 992, 3389, 5900, 5901),
    "mail": (24, 25, 109, 110, 143, 209, 465, 587, 993, 995, 2525, 4190),
    "names and directories": (42, 43, 53, 79, 105, 389, 427, 636, 853, 3268, 3269),
    "news": (119, 433, 563),
    "the network itself": (67, 68, 123, 161, 162, 179, 520, 1719, 1720, 1723),
    "chat": (194, 529, 994, 5060, 5061, 5222, 5269, 6665, 6666, 6667, 6668, 6669, 6679, 6697),
    "printing and displays": (515, 631, 6000, 6001, 6566, 9100),
    "Windows services": (111, 135, 137, 138, 139, 445, 593),
    "old services": (
        *(77, 87, 95, 101, 102, 103, 104, 113, 117, 526, 530, 531, 532, 540, 554, 556, 601),
        *(3659, 4045, 10080),
    ),
    "a database": (
        *(1433, 1434, 1521, 3050, 3306, 5432, 5433, 6379, 6380, 7000, 7001, 9042, 11211),
        *(26379, 27017, 27018, 27019, 50000),
    ),
    "control of containers": (2375, 2376, 2377, 2379, 2380, 6443, 10250, 10255),
}
_BY_PORT = {port: service for service, ports in _SERVICES.items() for port in ports}


def port_refusal(port: int) -> str | None:
    """Return the service that listens at this port instead of HTTP; `None` where HTTP may."""
    return _BY_PORT.get(port)


# --- Tables of addresses that are not public; everything else is refused, with the reason ---
#
#     refusal("8.8.8.8")            None
#     refusal("10.0.0.5")           "a private network"
#     refusal("::ffff:127.0.0.1")   "an IPv4 address written as IPv6"
#
# IPv4 is public unless a table lists it. IPv6 is the other way round: only 2000::/3 is allocated
# for public use, and a table excludes parts of that. An IPv6 address that embeds an IPv4 address is
# refused whatever it embeds, because a gateway may unwrap it (NAT64, 6to4, Teredo, ISATAP).
#
# Why not `ipaddress.is_global`: its tables follow the Python version, and it calls some embedded
# and cloud-internal addresses global.

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_PRIVATE = "a private network"
_LOCAL = "this machine itself"
_LINK = "the local link, where clouds keep their credentials"
_DOCS = "set aside for documentation"
_BENCH = "set aside for measurements"
_MULTICAST = "a group of machines (multicast)"
_IETF = "set aside for protocols"
_EMBEDDED = "an IPv4 address written as IPv6"
_TUNNEL = "a tunnel to an IPv4 address"
_NOT_GIVEN = "not given out for public use"

_V4 = (
    ("0.0.0.0/8", _LOCAL),
    ("10.0.0.0/8", _PRIVATE),
    ("100.64.0.0/10", "a provider's inner network"),
    ("127.0.0.0/8", _LOCAL),
    # On every Azure machine the platform's agent answers here; elsewhere the address is public.
    ("168.63.129.16/32", "a service of the cloud to its own machines"),
    ("169.254.0.0/16", _LINK),
    ("172.16.0.0/12", _PRIVATE),
    ("192.0.0.0/24", _IETF),
    ("192.0.2.0/24", _DOCS),
    ("192.31.196.0/24", _IETF),
    ("192.52.193.0/24", _IETF),
    ("192.88.99.0/24", _TUNNEL),
    ("192.168.0.0/16", _PRIVATE),
    ("192.175.48.0/24", _IETF),
    ("198.18.0.0/15", _BENCH),
    ("198.51.100.0/24", _DOCS),
    ("203.0.113.0/24", _DOCS),
    ("224.0.0.0/4", _MULTICAST),
    ("240.0.0.0/4", _NOT_GIVEN),
)
_V6 = (
    ("::/128", _LOCAL),
    ("::1/128", _LOCAL),
    ("::/96", _EMBEDDED),
    ("::ffff:0:0/96", _EMBEDDED),
    ("::ffff:0:0:0/96", _EMBEDDED),
    ("64:ff9b::/96", _EMBEDDED),
    ("64:ff9b:1::/48", _EMBEDDED),
    ("100::/64", "where packets are thrown away"),
    ("2001::/32", _TUNNEL),
    ("2001:2::/48", _BENCH),
    ("2001::/23", _IETF),
    ("2001:db8::/32", _DOCS),
    ("2002::/16", _TUNNEL),
    ("2620:4f:8000::/48", _IETF),
    ("3ffe::/16", _NOT_GIVEN),
    ("3fff::/20", _DOCS),
    ("fc00::/7", _PRIVATE),
    ("fe80::/10", _LINK),
    ("fec0::/10", _PRIVATE),
    ("ff00::/8", _MULTICAST),
)
_V4_NETWORKS = tuple((ipaddress.IPv4Network(text), why) for text, why in _V4)
_V6_NETWORKS = tuple((ipaddress.IPv6Network(text), why) for text, why in _V6)
_V6_GIVEN = ipaddress.IPv6Network("2000::/3")
# ISATAP: an interface identifier of this form is a tunnel to the IPv4 address in the last 32 bits.
_ISATAP = (0x00005EFE, 0x02005EFE)
_INSIDE_NAMES = (
    *("localhost", "localdomain", "local", "internal", "intranet", "home.arpa"),
    *("ip6-localhost", "ip6-loopback"),
)


def refusal(address: str | Address) -> str | None:
    """Return why this address is not public, in words that follow "it is"; `None` where it is."""
    try:
        read = ipaddress.ip_address(address)
    except ValueError:
        return "not an IP address"
    if isinstance(read, ipaddress.IPv4Address):
        return next((why for network, why in _V4_NETWORKS if read in network), None)
    return _refusal_of_v6(read)


def _refusal_of_v6(address: ipaddress.IPv6Address) -> str | None:
    if address.scope_id is not None:
        return "bound to one interface of this machine (a zone id)"
    for network, why in _V6_NETWORKS:
        if address in network:
            return why
    if address not in _V6_GIVEN:
        return _NOT_GIVEN
    return _TUNNEL if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP else None


def is_public(address: str | Address) -> bool:
    """Return whether this address is public."""
    return refusal(address) is None


def name_refusal(name: str) -> str | None:
    """Return why a host of this name is never public, whatever a resolver says of it."""
    for inside in _INSIDE_NAMES:
        if name == inside or name.endswith("." + inside):
            return f"a name of the inside ({inside})"
    return None


# --- The socket that a server listens at, and its address as a client writes it ---

_BACKLOG = 2048


def listen_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address, port 0 for one that is free.

    An address that cannot be had is a `CallerError`: the caller's settings named it.
    """
    host = host.strip("[]")
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        # Another program may listen at a port that was bound with SO_REUSEADDR: this fails then.
        bound.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        bound.close()
        number = error.errno if isinstance(error, OSError) else None
        words = getattr(error, "strerror", None) or str(error)
        if number == errno.EADDRINUSE:
            words = "it is in use; name another with --port, or 0 for one that is free"
        raise CallerError(f"cannot listen at {brief(host)}, port {port}: {words}") from error
    bound.setblocking(False)
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the address of a bound socket, as a client writes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
