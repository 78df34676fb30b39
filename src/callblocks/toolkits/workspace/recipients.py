"""Parsing of mail recipients as people write them.

    ada@example.org
    Ada Lovelace <ada@example.org>, "Babbage, C." <charles@example.org>
    ["ada@example.org", "charles@example.org"]      a list, or this very text

Addresses are separated by commas or semicolons. Line breaks and other control characters are
refused everywhere: they could start a header of their own (header injection).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError

__all__ = ("CONTROL", "MOST", "Recipient", "read_recipients")

# Characters that no header may hold: controls, and bidirectional overrides, which could make a
# shown address differ from the real one.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

# Maximum recipients of one mail.
MOST = 500

_LONGEST = 50_000
# The alternatives are disjoint by their first character, so the scan is linear. A quote or an angle
# bracket without its other half matches `lone` and is refused: guessing its end could join two
# addresses to one.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|[^",;<>]+|(?P<end>[,;])|(?P<lone>["<>])')
_NAMED = re.compile(r"(?P<name>[^<>]*)<\s*(?P<address>[^<>\s]+)\s*>")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# The unquoted local part of RFC 5321. Quoted ones are legal, but nobody has one, and they allow
# characters that other programs misread.
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*")
_LONGEST_NAME = 200
_LONGEST_LOCAL, _LONGEST_DOMAIN = 64, 253


class Recipient(msgspec.Struct, frozen=True):
    """An address, and the name before it or ""."""

    address: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name} <{self.address}>" if self.name else self.address


def read_recipients(field: str, given: str | Sequence[str]) -> list[Recipient]:
    """Parse the recipients of a text or a list; `invalid_input` for a malformed one."""
    texts = _listed(given) if isinstance(given, str) else given
    found = [_recipient(field, one) for text in texts for one in _split(field, text)]
    if len(found) > MOST:
        raise _bad(field, f"{len(found)} recipients are more than the {MOST} that a mail may have")
    return found


def _listed(text: str) -> list[str]:
    # `UnicodeEncodeError`: msgspec encodes the text first, and a lone surrogate cannot be encoded.
    """Return the items of a JSON list in a text; models write lists so."""
    try:
        return msgspec.json.decode(text, type=list[str]) if text.lstrip()[:1] == "[" else [text]
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return [text]


def _split(field: str, text: str) -> list[str]:
    """Split a text into addresses; a comma in quotes does not separate."""
    if CONTROL.search(text):
        raise _bad(field, f"{brief(text)} has a line break or another control character")
    if len(text) > _LONGEST:
        raise _bad(field, f"it has {len(text)} characters; give at most {MOST} addresses")
    parts = [""]
    for token in _TOKEN.finditer(text):
        if token["lone"]:
            raise _bad(field, f"{brief(text)} has a {token['lone']} without its other half")
        if token["end"]:
            parts.append("")
        else:
            parts[-1] += token[0]
    return [part.strip() for part in parts if part.strip()]


def _recipient(field: str, text: str) -> Recipient:
    named = _NAMED.fullmatch(text)
    name, address = (named["name"].strip(), named["address"]) if named else ("", text)
    quoted = _QUOTED.fullmatch(name)
    if quoted:
        name = re.sub(r"\\(.)", r"\1", quoted[1])
    local, _, domain = address.rpartition("@")
    plain = _plain_domain(domain)
    whole = _LOCAL.fullmatch(local) and len(local) <= _LONGEST_LOCAL and plain
    # A name with an `@` that is not quoted is refused: `boss@example.org <other@example.org>` would
    # show one address and be sent to another.
    if not whole or len(name) > _LONGEST_NAME or (not quoted and "@" in name):
        raise _bad(
            field,
            f"{brief(text)} is no mail address; write name@example.org, or Name <name@example.org>",
        )
    return Recipient(f"{local}@{plain}", name)


def _plain_domain(domain: str) -> str:
    """Return the domain in ASCII (IDNA); "" if it is invalid."""
    try:
        plain = domain if domain.isascii() else domain.encode("idna").decode()
    except UnicodeError:
        return ""
    return plain if _DOMAIN.fullmatch(plain) and len(plain) <= _LONGEST_DOMAIN else ""


def _bad(field: str, message: str) -> ToolError:
    return ToolError("invalid_input", f"{field}: {message}", **{field: message})
