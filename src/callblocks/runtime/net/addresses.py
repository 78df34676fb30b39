"""Tables of addresses that are not public; everything else is refused, with the reason.

    refusal("8.8.8.8")            None
    refusal("10.0.0.5")           "a private network"
    refusal("::ffff:127.0.0.1")   "an IPv4 address written as IPv6"

IPv4 is public unless a table lists it. IPv6 is the other way round: only 2000::/3 is allocated for
public use, and a table excludes parts of that. An IPv6 address that embeds an IPv4 address is
refused whatever it embeds, because a gateway may unwrap it (NAT64, 6to4, Teredo, ISATAP).

Why not `ipaddress.is_global`: its tables follow the Python version, and it calls some embedded and
cloud-internal addresses global.
"""

from __future__ import annotations

import ipaddress
from typing import TypeAlias

__all__ = ("Address", "is_public", "name_refusal", "refusal")

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
