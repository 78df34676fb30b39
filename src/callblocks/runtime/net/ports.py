"""Ports where something other than HTTP listens.

An HTTP request to such a port could control that service: many line protocols read its lines as
commands. All other ports are open, since many APIs have a port of their own.
"""

from __future__ import annotations

__all__ = ("port_refusal",)

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
