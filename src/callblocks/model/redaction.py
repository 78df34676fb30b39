r"""Secrets never reach a screen or a trace: what plainly is one is covered by a mask.

    api_key=abc123xyz              api_key=••••••••
    {"password": "hunter2"}        {"password": "••••••••"}
    Authorization: Basic dTpw; ls  Authorization: Basic ••••••••; ls
    git clone https://me:pw@host   git clone https://me:••••••••@host
    login --password hunter2       login --password ••••••••
    Set-Cookie: sid=38afes7a8      Set-Cookie: sid=••••••••
    <password>hunter2</password>   <password>••••••••</password>
    curl -u me:hunter2             curl -u me:••••••••
    ghp_… sk-… AKIA… eyJ….….…      ••••••••

A token that only says where a list goes on is no secret: `nextPageToken`, `sync_token`.

A mask covers one word and has one width. Blanks, line ends, quotes and all other signs that mean
something to a shell stay in sight, also inside a secret: `"two words"` has two masks. `mask` also
says whether a person who sees the masked text has seen all that could do something. It does not
hold where a mask stands for more than one plain value: several words, a path, an address, or a
word that could be run (`value_places`).

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

from callblocks.model.value_places import SCHEME, Judge, Place

__all__ = ("REDACTED", "Masked", "cover", "is_secret_key", "mask", "redact", "redact_start")

Kept: TypeAlias = Callable[[re.Match[str]], str | None]

# The mask: it replaces each word of a secret and always has the same width.
REDACTED = "••••••••"


class Masked(NamedTuple):
    """A text whose secrets are masked; `is_whole` means that nothing else is."""

    text: str
    is_whole: bool


# Inside JSON a line break is the two characters `\n`, and its letter is not part of a word.
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
# Names ending in `token` that are cursors of a list and no secrets.
_PLACES = (
    *("page", "next page", "prev page", "previous page", "start page", "new start page"),
    *("sync", "next sync", "next", "continuation", "next continuation"),
)


def _ways(words: str) -> list[str]:
    """Return all spellings of words as one name before another word; each of a fixed length,
    because a lookbehind needs one.
    """
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
_SYNTAX = r";|&<>()$`{}\[\]*?\"'\\"
# One word: no blank, no control, no invisible character, nothing that a shell interprets.
_WORD = rf"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff{_SYNTAX}]"
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
_BARE = (
    rf"(?!(?i:string|number|boolean|optional|undefined)\b|{SCHEME}[ \t])"
    r"[\w.+/=~$%^*!@#-]{6,}+(?P<call>[(\[])?"
)
_VALUE = rf"(?:(\")(?:[^\"\\\n]++|\\.)+|(')(?:[^'\\\n]++|\\.)+|(\\+[\"'])[^\"'\\\n]++|{_BARE})"


# Possible starts of a key, and of a shape. Each begins with a fixed text, which `re` finds fast,
# and none can overlap itself, because `finditer` would skip the second occurrence.
_KEY_STARTS = (
    *(rf"{word}(?=[_-]?key)" for word in ("api", "access", "private", "signing", "encryption")),
    *("secret", "token", "authorization", "credential", "passw", "passphrase", "-pass", "_pass"),
)
_SHAPE_STARTS = (
    *(r"sk(?=-|_live_|_test_)", r"rk(?=_live_|_test_)", r"gh(?=[opsur]_)", "github_pat_"),
    *("glpat-", r"xo(?=x)", r"AKI(?=A)", r"ASI(?=A)", "AIza", "hf_", "npm_", "eyJ"),
)
_OPTION_START = rf"-(?=-(?:{'|'.join(_KEY_STARTS)}))"


def _nothing(match: re.Match[str]) -> str:
    return ""


def _name(match: re.Match[str]) -> str:
    return match[1]


def _name_and_quote(match: re.Match[str]) -> str | None:
    """Return the name and the opening quote; `None` for a function call, which is no value."""
    if match["call"]:
        return None
    return "".join(part or "" for part in match.group(1, 2, 3, 4))


class _Rule(NamedTuple):
    """A pattern, the part of a match that stays before its secret, and patterns of its possible
    starts.

    With `any_case` the starts are in lower case and also match upper case. `needs` occurs in every
    match.
    """

    starts: tuple[str, ...]
    pattern: str
    kept: Kept
    any_case: bool = True
    needs: str = ""
    place: Place = "named"


_RULES = (
    _Rule(
        ("-----BEGIN ",),
        r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)[\s\S]*?"
        r"(?=-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        _name,
        any_case=False,
        place="none",
    ),
    _Rule(
        ("authorization",),
        rf"((?i:authorization){_IS}(?:{SCHEME}[ \t]{{1,8}}(?={_WORD})|(?={_WORD}{{4}}))){_WORD}++"
        rf"(?:[ \t]{{1,8}}(?=[^\s0-9]{{0,255}}[0-9]){_WORD}{{6,}}+)?"
        rf"(?:,?[ \t]{{1,8}}[\w-]{{1,64}}={_WORD}++){{0,16}}",
        _name,
    ),
    _Rule(
        _SHAPE_STARTS,
        rf"{_EDGE}(?:{'|'.join(_SHAPES)})",
        _nothing,
        any_case=False,
        place="joined",
    ),
    _Rule(("bearer",), rf"\b((?i:bearer)[ \t]{{1,8}}){_BEARER}", _name),
    _Rule(("://",), r"(://[^\s/:@]{0,64}:)[^\s/@]{1,256}+(?=@)", _name, any_case=False),
    _Rule(_KEY_STARTS, rf"((?i:{_KEY}){_IS}){_VALUE}", _name_and_quote),
    # An option of a command takes its value after a blank; a cookie is a login's secret.
    _Rule(
        (_OPTION_START,),
        rf"(--(?i:{_KEY})[ \t]{{1,8}})(?!-){_WORD}{{4,256}}+",
        _name,
    ),
    _Rule(
        ("cookie", "set-cookie"),
        r"(?<![A-Za-z0-9])((?i:(?:set-)?cookie): ?(?:[\w.-]{1,64}; ?){0,8}[\w.-]{1,64}=)"
        rf"{_WORD}{{3,}}+(?:; ?[\w.-]{{1,64}}={_WORD}++){{0,32}}",
        _name,
    ),
    # On the line after its name a secret stands alone, and has a digit.
    _Rule(
        _KEY_STARTS,
        rf"((?i:{_KEY})\\*[\"']?:[ \t]{{0,8}}(?:[|>][+-]?[ \t]{{0,8}})?{_BREAK}[ \t]{{1,32}}[\"']?)"
        rf"(?=[^\s:]{{0,255}}[0-9])[^\s:\"'\\]{{6,256}}+(?=[\"']?[ \t]{{0,8}}(?:{_BREAK}|\Z))",
        _name,
        place="none",
    ),
    _Rule(
        _KEY_STARTS,
        rf"(((?i:{_KEY}))(?:[ \t][^<>]{{0,64}})?>\s{{0,8}})[^<>\s]{{4,256}}+"
        r"(?=\s{0,8}</[\w:.-]{0,32}(?i:\2)>)",
        _name,
        needs="</",
        # A shell takes the tags for redirections, and the secret for the name of a file.
        place="none",
    ),
    # A name alone before the host is a user name; with a digit, or long, it is a token.
    _Rule(
        ("://",),
        r"(?:(?<=http)|(?<=https))(://)(?:(?=[^\s/:@?#]{0,255}[0-9])[^\s/:@?#\"'<>]{8,256}+"
        r"|[^\s/:@?#\"'<>]{20,256}+)(?=@)",
        _name,
        any_case=False,
        needs="@",
    ),
    _Rule(
        ("curl",),
        rf"({_EDGE}(?i:curl)(?![\w-])(?:(?!(?i:curl))[^\n|;]){{0,200}}?[ \t]"
        rf"(?:-u[ \t]{{0,8}}|--user[ \t=]{{1,8}})[\"']?[^\s:\"'/\\]{{1,64}}:){_WORD}{{1,256}}+",
        _name,
        place="option",
    ),
    _Rule(
        ("mysql",),
        rf"({_EDGE}(?i:mysql)(?:dump|admin)?(?![\w-])(?:(?!(?i:mysql))[^\n|;]){{0,200}}?[ \t]-p)"
        rf"(?!-){_WORD}{{4,256}}+",
        _name,
        place="option",
    ),
    # A working directory has the same name (pwd), and is a path.
    _Rule(
        ("pwd=",),
        r"((?i:pwd)=\\*[\"']?)(?![/~.$<{%\[=]|[A-Za-z]:|[\w.]{0,64}[(\[])(?:(?!,)"
        rf"{_WORD}){{4,256}}+",
        _name,
    ),
)
# A secret that starts this far before a cut is still recognized: secrets of open length are
# recognized by their start.
_MARGIN = 512


# An escape stays visible: inside JSON, `\n` is a line end.
_COVERED = re.compile(rf"(\\[\s\S])|{_WORD}+")
_AFTER_SCHEME = re.compile(rf"{SCHEME}[ \t]{{1,8}}(?=\S)")
# A value that denotes nothing else: no path, no option, no file to be sent, no URL.
_VALUE_ALONE = re.compile(r"(?![/.~@-])(?:(?!\.\.|://)[\w.+/=~%^!@:,•-])+")


def cover(secret: str) -> Masked:
    """Mask each word of a secret; the name of a scheme stays: `Basic ••••••••`."""
    scheme = _AFTER_SCHEME.match(secret)
    start = scheme.end() if scheme else 0
    rest = secret[start:]
    covered = _COVERED.sub(lambda found: found[1] or REDACTED, rest)
    return Masked(secret[:start] + covered, bool(_VALUE_ALONE.fullmatch(rest)))


def redact(text: str) -> str:
    """Mask every obvious secret in `text`, keeping the names and quotes around it."""
    return _mask(text, None)


def mask(text: str) -> Masked:
    """Mask every obvious secret, and report whether only plain values were masked."""
    judge = Judge(text)
    masked = _mask(text, judge)
    return Masked(masked, masked is text or judge.end())


def _mask(text: str, judge: Judge | None) -> str:
    # Strategy: trying all patterns at every character would dominate the cost of a turn. Each rule
    # lists fixed starts; a rule runs only where one of its starts occurs. The lower-case copy and
    # the found starts are cached until a rule changes the text, which invalidates both.
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
        masked = _replace(rule, found[rule.starts], text, looked, judge)
        if masked is not text:
            text, small, found = masked, "", {}
    return text


def redact_start(text: str, length: int) -> str:
    """Redact enough of `text` to show `length` characters of it, and to know if there are more.

    The rest of a long text is not scanned.
    """
    # Redaction can shorten a text, so the window grows until enough is left. It grows by a factor,
    # which keeps the total work linear.
    window = length * 4 + _MARGIN
    while window < len(text):
        start = redact(text[:window])
        if len(start) > length + _MARGIN:
            return start
        window *= 4
    return redact(text)


def is_secret_key(key: str) -> bool:
    """Return whether a value under this name is a secret by its name alone: `api_key`,
    `dbPassword`.
    """
    return re.search(rf"{_KEY}\Z", key, re.IGNORECASE) is not None


def _replace(rule: _Rule, firsts: list[str], text: str, looked: str, judge: Judge | None) -> str:
    """Mask every match, as `re.sub` would; `firsts` are searched in `looked`.

    Return the same object where nothing matches, and where every match is masked already.
    """
    if not firsts:
        return text
    pattern = _compiled(rule.pattern)
    parts: list[str] = []
    said = tried = 0
    # The candidates of all starts in one ascending order; a candidate inside an earlier match is
    # skipped, as `re.sub` would.
    for at in merge(*(_places(start, looked) for start in firsts)):
        if at < tried:
            continue
        tried = at + 1
        if match := pattern.match(text, at):
            kept = rule.kept(match)
            tried = match.end()
            if kept is None:
                continue
            secret = at + len(kept)
            covered = cover(text[secret:tried])
            if covered.text == text[secret:tried]:
                continue
            parts += (text[said:secret], covered.text)
            said = tried
            if judge is not None:
                judge.add(text, at, secret, place=rule.place, is_value=covered.is_whole)
    return "".join((*parts, text[said:])) if parts else text


def _places(start: str, text: str) -> Iterator[int]:
    return (match.start() for match in _compiled(start).finditer(text))


def _in_small_letters(text: str) -> str:
    """Return the text in lower case with every character at its position.

    `str.lower` turns some letters into two, and case-insensitive patterns match a few more
    characters for an i or an s.
    """
    if text.isascii():
        return text.lower()
    return text.replace("İ", "i").lower().replace("ı", "i").replace("ſ", "s")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
