from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.net.addresses import is_public, name_refusal, refusal

PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "93.184.215.14", "9.255.255.255", "11.0.0.0", "100.63.255.255"),
    *("100.128.0.0", "126.255.255.255", "128.0.0.0", "168.63.129.15", "168.63.129.17"),
    *("169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255"),
    *("192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255"),
    *("198.20.0.0", "198.51.99.255", "203.0.112.255", "203.0.114.0", "223.255.255.255"),
    *("2001:200::1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2003::1", "2a00:1450::1"),
    *("2600::5eff:7f00:1", "3ffd::1", "3fff:1000::1"),
]
# The first and the last address of everything that is not public, and why.
INSIDE = {
    "0.0.0.0 0.255.255.255": "this machine itself",
    "10.0.0.0 10.255.255.255": "a private network",
    "100.64.0.0 100.127.255.255": "a provider's inner network",
    "127.0.0.0 127.255.255.255": "this machine itself",
    "168.63.129.16 168.63.129.16": "a service of the cloud to its own machines",
    "169.254.0.0 169.254.255.255": "the local link, where clouds keep their credentials",
    "172.16.0.0 172.31.255.255": "a private network",
    "192.0.0.0 192.0.0.255": "set aside for protocols",
    "192.0.2.0 192.0.2.255": "set aside for documentation",
    "192.31.196.0 192.31.196.255": "set aside for protocols",
    "192.52.193.0 192.52.193.255": "set aside for protocols",
    "192.88.99.0 192.88.99.255": "a tunnel to an IPv4 address",
    "192.168.0.0 192.168.255.255": "a private network",
    "192.175.48.0 192.175.48.255": "set aside for protocols",
    "198.18.0.0 198.19.255.255": "set aside for measurements",
    "198.51.100.0 198.51.100.255": "set aside for documentation",
    "203.0.113.0 203.0.113.255": "set aside for documentation",
    "224.0.0.0 239.255.255.255": "a group of machines (multicast)",
    "240.0.0.0 255.255.255.255": "not given out for public use",
    ":: ::1": "this machine itself",
    "::2 ::ffff:ffff": "an IPv4 address written as IPv6",
    "::ffff:0.0.0.0 ::ffff:255.255.255.255": "an IPv4 address written as IPv6",
    "::ffff:0:0.0.0.0 ::ffff:0:255.255.255.255": "an IPv4 address written as IPv6",
    "64:ff9b:: 64:ff9b::ffff:ffff": "an IPv4 address written as IPv6",
    "64:ff9b:1:: 64:ff9b:1:ffff:ffff:ffff:ffff:ffff": "an IPv4 address written as IPv6",
    "100:: 100::ffff:ffff:ffff:ffff": "where packets are thrown away",
    "100:0:0:1:: 1fff::": "not given out for public use",
    "2001:: 2001:0:ffff:ffff:ffff:ffff:ffff:ffff": "a tunnel to an IPv4 address",
    "2001:2:: 2001:2:0:ffff:ffff:ffff:ffff:ffff": "set aside for measurements",
    "2001:10:: 2001:1ff:ffff::": "set aside for protocols",
    "2001:db8:: 2001:db8:ffff::": "set aside for documentation",
    "2002:: 2002:ffff::": "a tunnel to an IPv4 address",
    "2600::5efe:a00:1 2600::200:5efe:808:808": "a tunnel to an IPv4 address",
    "2620:4f:8000:: 2620:4f:8000:ffff::": "set aside for protocols",
    "3ffe:: 3ffe:ffff::": "not given out for public use",
    "3fff:: 3fff:fff:ffff::": "set aside for documentation",
    "4000:: 5f00::1": "not given out for public use",
    "fc00:: fdff:ffff::": "a private network",
    "fe80:: febf:ffff::": "the local link, where clouds keep their credentials",
    "fec0:: feff:ffff::": "a private network",
    "ff00:: ff0e::1": "a group of machines (multicast)",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_public(address: str) -> None:
    assert refusal(address) is None
    assert is_public(address)
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("ends", INSIDE)
def test_an_address_of_the_inside_is_refused_from_the_first_to_the_last(ends: str) -> None:
    for address in ends.split():
        assert refusal(address) == INSIDE[ends]
        assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("text", ["", "example.com", "127.1", "0177.0.0.1", "[::1]", "8.8.8.8 "])
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert refusal(text) == "not an IP address"


@pytest.mark.parametrize("text", ["fe80::1%eth0", "2606:4700::1%1"])
def test_an_address_with_a_zone_is_not_public(text: str) -> None:
    assert "zone id" in str(refusal(text))


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert not is_public(address)


@given(st.ip_addresses(v=4), st.sampled_from(("::", "::ffff:", "::ffff:0:", "64:ff9b::")))
def test_an_ipv4_address_within_an_ipv6_address_is_never_public(
    address: ipaddress.IPv4Address, before: str
) -> None:
    assert not is_public(f"{before}{address}")


@pytest.mark.parametrize(
    "name", ["localhost", "a.localhost", "x.internal", "nas.local", "router.home.arpa"]
)
def test_a_name_of_the_inside_is_refused(name: str) -> None:
    assert "a name of the inside" in str(name_refusal(name))


@pytest.mark.parametrize("name", ["example.com", "notlocalhost", "localhost.example.com", "arpa"])
def test_another_name_is_not(name: str) -> None:
    assert name_refusal(name) is None
