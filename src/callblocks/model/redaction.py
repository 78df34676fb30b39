r"""Secrets never reach a screen or a trace: what plainly is one becomes `[redacted]`.

    api_key=abc123xyz              api_key=[redacted]
    {"password": "hunter2"}        {"password": "[redacted]"}
    Authorization: Basic dTpw      Authorization: [redacted]
    git clone https://me:pw@host   git clone https://me:[redacted]@host
    login --password hunter2       login --password [redacted]
    Set-Cookie: sid=38afes7a8      Set-Cookie: [redacted]
    <password>hunter2</password>   <password>[redacted]</password>
    curl -u me:hunter2             curl -u me:[redacted]
    ghp_… sk-… AKIA… eyJ….….…      [redacted]

A token that only says where a list goes on is no secret: `nextPageToken`, `sync_token`.

This is a net for the obvious, not a proof: a secret of no known shape under a harmless
name passes. Every pattern is linear: a run of characters is entered only at its edge and
never given back. A pattern is tried only where one of the words stands with which it can
start: to look for a few words is much quicker than to try a pattern at each character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from heapq import merge
from typing import NamedTuple, TypeAlias

__all__ = ("REDACTED", "is_secret_key", "redact", "redact_start")

Replacement: TypeAlias = Callable[[re.Match[str]], str]

REDACTED = "[redacted]"
"""What stands in place of a secret."""

# Inside JSON a line break is the two characters `\n`, and its letter is no part of a word.
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
# Whole names, up to `token`, of what says where a list goes on or what has been seen of it.
_PLACES = (
    *("page", "next page", "prev page", "previous page", "start page", "new start page"),
    *("sync", "next sync", "next", "continuation", "next continuation"),
)


def _ways(words: str) -> list[str]:
    """All ways to write words as one name before another word; each of a fixed length."""
    ways = [""]
    for word in words.split():
        ways = [f"{way}{word}{between}" for way in ways for between in ("", "[_-]")]
    return ways


_NO_PLACE = "".join(
    rf"(?<!(?:{_EDGE}|(?<=\s--)){way})" for words in _PLACES for way in _ways(words)
)
_KEY = (
    r"(?:(?:api|access|secret|private|signing|encryption)[_-]?key"
    rf"|{_NO_PLACE}token|secret|authorization"
    r"|passwor[dt]|passwd|passphrase|credentials?|[_-]pass)"
)
# Between a key and its value: the key's closing quote and bracket, then `:`, `=`, `:=`, `=>`.
_IS = r"\\*[\"']?\]?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"
_BREAK = r"(?:\r?\n|(?:\\r)?\\n)"
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


# How a key, and a shape, can start: a fixed text first, which `re` finds fast, and none that
# could overlap itself, of which `finditer` would pass over the second.
_KEY_STARTS = (
    *(rf"{word}(?=[_-]?key)" for word in ("api", "access", "private", "signing", "encryption")),
    *("secret", "token", "authorization", "credential", "passw", "passphrase", "-pass", "_pass"),
)
_SHAPE_STARTS = (
    *(r"sk(?=-|_live_|_test_)", r"rk(?=_live_|_test_)", r"gh(?=[opsur]_)", "github_pat_"),
    *("glpat-", r"xo(?=x)", r"AKI(?=A)", r"ASI(?=A)", "AIza", "hf_", "npm_", "eyJ"),
)
_OPTION_START = rf"-(?=-(?:{'|'.join(_KEY_STARTS)}))"


def _hide_all(match: re.Match[str]) -> str:
    return REDACTED


def _hide_rest(match: re.Match[str]) -> str:
    """The name without what follows it."""
    return match[1] + REDACTED


def _hide_value(match: re.Match[str]) -> str:
    """The name and the opening quote without the value; what is called is no value."""
    if match["call"]:
        return match[0]
    return "".join(part or "" for part in match.group(1, 2, 3, 4)) + REDACTED


class _Rule(NamedTuple):
    """A pattern, what stands for a match, and patterns of how a match starts.

    With `any_case` the starts are in small letters, and stand for large ones too. `needs` stands
    in every match.
    """

    starts: tuple[str, ...]
    pattern: str
    replacement: Replacement
    any_case: bool = True
    needs: str = ""


_RULES = (
    _Rule(
        ("-----BEGIN ",),
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
        r"(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        _hide_all,
        any_case=False,
    ),
    _Rule(
        ("authorization",),
        rf"((?i:authorization){_IS})[^\s\"'\\\[][^\"'\\\r\n]{{3,}}+",
        _hide_rest,
    ),
    _Rule(_SHAPE_STARTS, rf"{_EDGE}(?:{'|'.join(_SHAPES)})", _hide_all, any_case=False),
    _Rule(("bearer",), rf"\b((?i:bearer)[ \t]{{1,8}}){_BEARER}", _hide_rest),
    _Rule(("://",), r"(://[^\s/:@]{0,64}:)[^\s/@]{1,256}+(?=@)", _hide_rest, any_case=False),
    _Rule(_KEY_STARTS, rf"((?i:{_KEY}){_IS}){_VALUE}", _hide_value),
    # An option of a command takes its value after a blank; a cookie is what a login left.
    _Rule(
        (_OPTION_START,),
        rf"(--(?i:{_KEY})[ \t]{{1,8}})(?!-)[^\s\"'\\]{{4,256}}+",
        _hide_rest,
    ),
    _Rule(
        ("cookie", "set-cookie"),
        r"(?<![A-Za-z0-9])((?i:(?:set-)?cookie): ?)(?:[\w.-]{1,64}; ?){0,8}[\w.-]{1,64}="
        r"[^\"'\\\r\n]{3,}+",
        _hide_rest,
    ),
    # On the line after its name a secret stands alone, and has a digit.
    _Rule(
        _KEY_STARTS,
        rf"((?i:{_KEY})\\*[\"']?:[ \t]{{0,8}}(?:[|>][+-]?[ \t]{{0,8}})?{_BREAK}[ \t]{{1,32}}[\"']?)"
        rf"(?=[^\s:]{{0,255}}[0-9])[^\s:\"'\\]{{6,256}}+(?=[\"']?[ \t]{{0,8}}(?:{_BREAK}|\Z))",
        _hide_rest,
    ),
    _Rule(
        _KEY_STARTS,
        rf"(((?i:{_KEY}))(?:[ \t][^<>]{{0,64}})?>\s{{0,8}})[^<>\s]{{4,256}}+"
        r"(?=\s{0,8}</[\w:.-]{0,32}(?i:\2)>)",
        _hide_rest,
        needs="</",
    ),
    # A name alone before the host is a name; with a digit, or long, it is a token.
    _Rule(
        ("://",),
        r"(?:(?<=http)|(?<=https))(://)(?:(?=[^\s/:@?#]{0,255}[0-9])[^\s/:@?#\"'<>]{8,256}+"
        r"|[^\s/:@?#\"'<>]{20,256}+)(?=@)",
        _hide_rest,
        any_case=False,
        needs="@",
    ),
    _Rule(
        ("curl",),
        rf"({_EDGE}(?i:curl)(?![\w-])(?:(?!(?i:curl))[^\n|;]){{0,200}}?[ \t]"
        r"(?:-u[ \t]{0,8}|--user[ \t=]{1,8})[\"']?[^\s:\"'/\\]{1,64}:)(?!\$)[^\s\"'\\]{1,256}+",
        _hide_rest,
    ),
    _Rule(
        ("mysql",),
        rf"({_EDGE}(?i:mysql)(?:dump|admin)?(?![\w-])(?:(?!(?i:mysql))[^\n|;]){{0,200}}?[ \t]-p)"
        r"(?![\s$-])[^\s\"'\\]{4,256}+",
        _hide_rest,
    ),
    # A working directory has the same name, and is a path.
    _Rule(
        ("pwd=",),
        r"((?i:pwd)=\\*[\"']?)(?![/~.$<{%\[=]|[A-Za-z]:|[\w.]{0,64}[(\[])[^\s;&,)\"'\\]{4,256}+",
        _hide_rest,
    ),
)
# No secret is missed for being cut, if it starts this far before the cut: those of open
# length are recognised by how they start.
_MARGIN = 512


def redact(text: str) -> str:
    """Replace every obvious secret in `text`, keeping the names and quotes around it."""
    small = ""
    found: dict[tuple[str, ...], list[str]] = {}
    for rule in _RULES:
        if rule.needs not in text:
            continue
        if rule.any_case:
            small = small or _in_small_letters(text)
        looked = small if rule.any_case else text
        if rule.starts not in found:
            found[rule.starts] = [one for one in rule.starts if _compiled(one).search(looked)]
        redacted = _replace(rule, found[rule.starts], text, looked)
        if redacted is not text:
            text, small, found = redacted, "", {}
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


def _replace(rule: _Rule, firsts: list[str], text: str, looked: str) -> str:
    """The text with every match replaced, as `re.sub` would; `firsts` are sought in `looked`.

    The very same text comes back where nothing matches.
    """
    if not firsts:
        return text
    pattern = _compiled(rule.pattern)
    parts: list[str] = []
    said = tried = 0
    for at in merge(*(_places(start, looked) for start in firsts)):
        if at < tried:
            continue
        tried = at + 1
        if match := pattern.match(text, at):
            parts += (text[said:at], rule.replacement(match))
            said = tried = match.end()
    return "".join((*parts, text[said:])) if parts else text


def _places(start: str, text: str) -> Iterator[int]:
    return (match.start() for match in _compiled(start).finditer(text))


def _in_small_letters(text: str) -> str:
    """The text in small letters, each at its place.

    A pattern that takes any case takes a few more characters for an i or an s, and one letter
    becomes two when it is made small.
    """
    if text.isascii():
        return text.lower()
    return text.replace("İ", "i").lower().replace("ı", "i").replace("ſ", "s")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
