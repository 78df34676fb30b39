r"""Secrets never reach a screen or a trace: what plainly is one becomes `[redacted]`.

    api_key=abc123xyz              api_key=[redacted]
    {"password": "hunter2"}        {"password": "[redacted]"}
    Authorization: Basic dTpw      Authorization: [redacted]
    curl -u x https://me:pw@host   curl -u x https://me:[redacted]@host
    login --password hunter2       login --password [redacted]
    Set-Cookie: sid=38afes7a8      Set-Cookie: [redacted]
    ghp_… sk-… AKIA… eyJ….….…      [redacted]

This is a net for the obvious, not a proof: a secret of no known shape under a harmless
name passes. Every pattern is linear: a run of characters is entered only at its edge and
never given back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, cast

__all__ = ("REDACTED", "is_secret_key", "redact", "redact_start", "without_secrets")

Replacement: TypeAlias = str | Callable[[re.Match[str]], str]

REDACTED = "[redacted]"
"""What stands in place of a secret."""

_KEY = (
    r"(?:(?:api|access|secret|private|signing|encryption)[_-]?key|token|secret|authorization"
    r"|password|passwd|passphrase|credentials?|[_-]pass)"
)
# Between a key and its value: the key's closing quote and bracket, then `:`, `=`, `:=`, `=>`.
_IS = r"\\*[\"']?\]?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"
# Inside JSON a line break is the two characters `\n`, and its letter is no part of a word.
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_SHAPES = (
    r"sk-(?=[A-Za-z_-]*+[0-9])[A-Za-z0-9_-]{10,}+",
    r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}+",
    r"gh[opsur]_[A-Za-z0-9]{16,}+",
    r"github_pat_[A-Za-z0-9_]{16,}+",
    r"glpat-[A-Za-z0-9_-]{16,}+",
    r"xox[a-z]-[A-Za-z0-9-]{10,}+",
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}+",
    r"AIza[A-Za-z0-9_-]{30,}+",
    r"(?:hf|npm)_[A-Za-z0-9]{20,}+",
    r"eyJ[A-Za-z0-9_-]{8,}+(?:\Z|\.[A-Za-z0-9_-]{8,}+(?:\Z|\.[A-Za-z0-9_-]*+))",
)
# "Bearer authentication" is prose: a credential has a digit or is long.
_BEARER = r"(?:(?=[A-Za-z._~+/=-]*+[0-9])[\w.~+/=-]{6,}+|[\w.~+/=-]{20,}+)"
# A type after `token:` is source code, and so is a call after `token =`.
_BARE = r"(?!(?i:string|number|boolean|optional|undefined)\b)[\w.+/=~$%^*!@#-]{6,}+(?P<call>[(\[])?"
_VALUE = rf"(?:(\")(?:[^\"\\\n]++|\\.)+|(')(?:[^'\\\n]++|\\.)+|(\\+[\"'])[^\"'\\\n]++|{_BARE})"


def _hide(match: re.Match[str]) -> str:
    """The name and the opening quote without the value; what is called is no value."""
    if match["call"]:
        return match[0]
    return "".join(part or "" for part in match.group(1, 2, 3, 4)) + REDACTED


_PATTERNS: tuple[tuple[str, Replacement], ...] = (
    (
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
        r"(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        REDACTED,
    ),
    (rf"((?i:authorization){_IS})[^\s\"'\\\[][^\"'\\\r\n]{{3,}}+", rf"\1{REDACTED}"),
    (rf"{_EDGE}(?:{'|'.join(_SHAPES)})", REDACTED),
    (rf"\b((?i:bearer)[ \t]{{1,8}}){_BEARER}", rf"\1{REDACTED}"),
    (r"(://[^\s/:@]{0,64}:)[^\s/@]{1,256}+(?=@)", rf"\1{REDACTED}"),
    (rf"((?i:{_KEY}){_IS}){_VALUE}", _hide),
    # An option of a command takes its value after a blank; a cookie is what a login left.
    (rf"(--(?i:{_KEY})[ \t]{{1,8}})(?!-)[^\s\"'\\]{{4,256}}+", rf"\1{REDACTED}"),
    (
        r"(?<![A-Za-z0-9])((?i:(?:set-)?cookie): ?)[\w.-]{1,64}=[^\"'\\\r\n]{3,}+",
        rf"\1{REDACTED}",
    ),
)
# No secret is missed for being cut, if it starts this far before the cut: those of open
# length are recognised by how they start.
_MARGIN = 512


def redact(text: str) -> str:
    """Replace every obvious secret in `text`, keeping the names and quotes around it."""
    for pattern, replacement in _compiled():
        text = pattern.sub(replacement, text)
    return text


def redact_start(text: str, length: int) -> str:
    """Redact enough of `text` to show `length` characters of it, and to know if there are more.

    The rest of a long text is not looked at.
    """
    window = length * 4 + _MARGIN
    while window < len(text):
        start = redact(text[:window])
        if len(start) > length + _MARGIN:
            return start
        window *= 4
    return redact(text)


def is_secret_key(key: str) -> bool:
    """Whether a value under this name is a secret by its name alone: `api_key`, `dbPassword`."""
    return re.search(rf"{_KEY}\Z", key, re.IGNORECASE) is not None


def without_secrets(value: Any) -> Any:
    """A plain value with every obvious secret replaced."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {redact(key): _without_secret(key, item) for key, item in pairs}
    if isinstance(value, list):
        return [without_secrets(item) for item in cast("list[Any]", value)]
    return value


def _without_secret(key: str, value: Any) -> Any:
    if (
        is_secret_key(key)
        and isinstance(value, str | int | float)
        and value not in ("", True, False)
    ):
        return REDACTED
    return without_secrets(value)


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Replacement], ...]:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in _PATTERNS)
