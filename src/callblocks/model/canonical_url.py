"""Canonical URLs: one spelling for each web page, so that a source is recognized again.

    HTTPS://Example.COM:443/a/../b/?utm_source=x&q=1#top   https://example.com/b?q=1
    http://bücher.example                                  http://xn--bcher-kva.example/
    https://me:pw@example.com/%7euser/%e4                  https://example.com/~user/%E4

Scheme and host in lower case; no user, no default port, no tracking parameters, no dot segments, no
trailing slash; `%XX` only where it is needed. The fragment is dropped, because it is a place on the
page; only `#/…` and `#!…` stay, which single-page programs use as routes.

Parameters keep their order, and http is not https: two numbers for one page do less harm than one
number for two pages. Tabs and line breaks inside are dropped, as every client does. A URL with a
backslash before its query stays as it is, because some clients read a slash there, and thus another
host. So does any text that is no http or https URL; both without surrounding blanks.
"""

from __future__ import annotations

import re

__all__ = ("canonical_url",)

# ASCII: with Unicode case folding the long s of `httpſ` would match an s.
_SHAPE = re.compile(
    r"(https?)://([^/?#\\]*)([^?#\\]*)(?:\?([^#]*))?(?:#(.*))?",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_DROPPED = re.compile(r"[\t\r\n]")
_AROUND = "".join(map(chr, range(0x21)))
_ROUTES = ("/", "!")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{0,9}))?")
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?")
_PORTS = {"http": "80", "https": "443"}
_LONGEST_HOST = 255

# Parameters that identify where a reader came from, not what is read.
_TRACKING = re.compile(
    r"utm_.*|_?gcl(?:id|src)|[dg]clid|[gw]braid|fbclid|msclkid|ttclid|twclid|yclid|ysclid|igshid"
    r"|igsh|srsltid|mc_[ce]id|mkt_tok|_hs(?:enc|mi)|__hs(?:fp|sc|tc)|hsctatracking|_openstat"
    r"|oly_(?:anon|enc)_id|vero_id|wickedid|li_fat_id|_g[al]|rb_clickid|s_kwcid|epik|sc_cid",
    re.IGNORECASE | re.DOTALL,
)
_CODED = re.compile("%([0-9A-Fa-f]{2})|[^!$&'()+*,./:;=?@A-Za-z0-9_~-]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def canonical_url(text: str) -> str:
    """Return the canonical form of an http or https URL; any other text without surrounding
    blanks.
    """
    text = text.strip(_AROUND)
    shape = _SHAPE.fullmatch(_DROPPED.sub("", text))
    # An invalid host leaves the whole text as it is: a wrong guess could merge two pages into one.
    authority = _authority(shape[1].lower(), shape[2]) if shape else None
    if shape is None or authority is None:
        return text
    query = _query(shape[4] or "")
    fragment = shape[5] or ""
    # Single-page programs put the page into the fragment.
    route = f"#{_coded(fragment)}" if fragment.startswith(_ROUTES) else ""
    page = f"{shape[1].lower()}://{authority}{_path(shape[3])}"
    return f"{page}{'?' if query else ''}{query}{route}"


def _authority(scheme: str, text: str) -> str | None:
    """Return host and port without the user; `None` where the text is no host."""
    parts = _AUTHORITY.fullmatch(text.rpartition("@")[2])
    host = _host(parts[1]) if parts else None
    if parts is None or host is None:
        return None
    port = (parts[2] or "").lstrip("0")
    return host if port in ("", _PORTS[scheme]) else f"{host}:{port}"


def _host(text: str) -> str | None:
    if len(text) > _LONGEST_HOST:
        return None
    if text.startswith("["):
        return _v6(text)
    name = text.lower() if text.isascii() else _to_ascii(text)
    name = name.removesuffix(".")
    return name if _NAME.fullmatch(name) else None


def _v6(text: str) -> str | None:
    import ipaddress

    try:
        return f"[{ipaddress.IPv6Address(text[1:-1])}]"
    except ValueError:
        return None


def _to_ascii(name: str) -> str:
    import idna

    try:
        return idna.encode(name, uts46=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        return ""


def _path(text: str) -> str:
    """Return the path without `.` and `..`, and without trailing slashes."""
    kept: list[str] = []
    for segment in _coded(text).split("/")[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(kept).rstrip("/")


def _query(text: str) -> str:
    parameters = (_coded(part) for part in text.split("&"))
    return "&".join(
        part for part in parameters if part and not _TRACKING.fullmatch(part.partition("=")[0])
    )


def _coded(text: str) -> str:
    """Return each character as it is where that is allowed, otherwise `%XX` of its bytes."""
    return _CODED.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    if match[1] is None:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))
    byte = int(match[1], 16)
    return chr(byte) if byte in _UNRESERVED else match[0].upper()
