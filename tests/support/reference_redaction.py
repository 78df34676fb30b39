"""Redaction without optimizations: each pattern over the whole text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

__all__ = ("plainly_redacted",)

Replacement: TypeAlias = str | Callable[[re.Match[str]], str]

REDACTED = "••••••••"

_WORD = (
    r"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
    r";|&<>()$`{}\[\]*?\"'\\]"
)
_SCHEME = r"(?i:basic|bearer|digest|token|apikey|negotiate|ntlm|hawk|oauth|aws4-hmac-sha256)"

_KEY = (
    r"(?:(?:api|access|secret|private|signing|encryption)[_-]?key|token|secret|authorization"
    r"|passwor[dt]|passwd|passphrase|credentials?|[_-]pass)"
)
# Between a key and its value: the key's closing quote and bracket, then `:`, `=`, `:=`, `=>`.
_IS = r"\\*[\"']?\]?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"
# Inside JSON a line break is the two characters `\n`, and its letter is no part of a word.
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
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
_BARE = (
    rf"(?!(?i:string|number|boolean|optional|undefined)\b|{_SCHEME}[ \t])"
    r"[\w.+/=~$%^*!@#-]{6,}+(?P<call>[(\[])?"
)
_VALUE = rf"(?:(\")(?:[^\"\\\n]++|\\.)+|(')(?:[^'\\\n]++|\\.)+|(\\+[\"'])[^\"'\\\n]++|{_BARE})"


def _covered(secret: str) -> str:
    """Each word of a secret covered, but for the name of a scheme."""
    scheme = re.match(rf"{_SCHEME}[ \t]{{1,8}}(?=\S)", secret)
    start = scheme.end() if scheme else 0
    return secret[:start] + "".join(
        part if part.startswith("\\") else re.sub(rf"{_WORD}+", REDACTED, part)
        for part in re.split(r"(\\[\s\S])", secret[start:])
    )


def _all(match: re.Match[str]) -> str:
    return _covered(match[0])


def _rest(match: re.Match[str]) -> str:
    return match[1] + _covered(match[0][len(match[1]) :])


def _hide(match: re.Match[str]) -> str:
    """The name and the opening quote without the value; what is called is no value."""
    if match["call"]:
        return match[0]
    kept = "".join(part or "" for part in match.group(1, 2, 3, 4))
    return kept + _covered(match[0][len(kept) :])


_PATTERNS: tuple[tuple[str, Replacement], ...] = (
    (
        r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)[\s\S]*?"
        r"(?=-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        _rest,
    ),
    (
        rf"((?i:authorization){_IS}(?:{_SCHEME}[ \t]{{1,8}}(?={_WORD})|(?={_WORD}{{4}}))){_WORD}++"
        rf"(?:[ \t]{{1,8}}(?=[^\s0-9]{{0,255}}[0-9]){_WORD}{{6,}}+)?"
        rf"(?:,?[ \t]{{1,8}}[\w-]{{1,64}}={_WORD}++){{0,16}}",
        _rest,
    ),
    (rf"{_EDGE}(?:{'|'.join(_SHAPES)})", _all),
    (rf"\b((?i:bearer)[ \t]{{1,8}}){_BEARER}", _rest),
    (r"(://[^\s/:@]{0,64}:)[^\s/@]{1,256}+(?=@)", _rest),
    (rf"((?i:{_KEY}){_IS}){_VALUE}", _hide),
    # An option of a command takes its value after a blank; a cookie is what a login left.
    (rf"(--(?i:{_KEY})[ \t]{{1,8}})(?!-){_WORD}{{4,256}}+", _rest),
    (
        r"(?<![A-Za-z0-9])((?i:(?:set-)?cookie): ?(?:[\w.-]{1,64}; ?){0,8}[\w.-]{1,64}=)"
        rf"{_WORD}{{3,}}+(?:; ?[\w.-]{{1,64}}={_WORD}++){{0,32}}",
        _rest,
    ),
    (
        rf"((?i:{_KEY})\\*[\"']?:[ \t]{{0,8}}(?:[|>][+-]?[ \t]{{0,8}})?{_BREAK}[ \t]{{1,32}}[\"']?)"
        rf"(?=[^\s:]{{0,255}}[0-9])[^\s:\"'\\]{{6,256}}+(?=[\"']?[ \t]{{0,8}}(?:{_BREAK}|\Z))",
        _rest,
    ),
    (
        rf"(((?i:{_KEY}))(?:[ \t][^<>]{{0,64}})?>\s{{0,8}})[^<>\s]{{4,256}}+"
        r"(?=\s{0,8}</[\w:.-]{0,32}(?i:\2)>)",
        _rest,
    ),
    (
        r"(?:(?<=http)|(?<=https))(://)(?:(?=[^\s/:@?#]{0,255}[0-9])[^\s/:@?#\"'<>]{8,256}+"
        r"|[^\s/:@?#\"'<>]{20,256}+)(?=@)",
        _rest,
    ),
    (
        rf"({_EDGE}(?i:curl)(?![\w-])(?:(?!(?i:curl))[^\n|;]){{0,200}}?[ \t]"
        rf"(?:-u[ \t]{{0,8}}|--user[ \t=]{{1,8}})[\"']?[^\s:\"'/\\]{{1,64}}:){_WORD}{{1,256}}+",
        _rest,
    ),
    (
        rf"({_EDGE}(?i:mysql)(?:dump|admin)?(?![\w-])(?:(?!(?i:mysql))[^\n|;]){{0,200}}?[ \t]-p)"
        rf"(?!-){_WORD}{{4,256}}+",
        _rest,
    ),
    (
        r"((?i:pwd)=\\*[\"']?)(?![/~.$<{%\[=]|[A-Za-z]:|[\w.]{0,64}[(\[])(?:(?!,)"
        rf"{_WORD}){{4,256}}+",
        _rest,
    ),
)


# Tokens that only say where a list goes on, by their whole names.
_PLACE = re.compile(
    rf"(?:{_EDGE}|(?<=\s--))"
    r"((?:(?:(?:next|prev|previous|start|new[_-]?start)[_-]?)?page|(?:next[_-]?)?sync"
    r"|(?:next[_-]?)?continuation|next)[_-]?toke)(n)",
    re.IGNORECASE,
)


def plainly_redacted(text: str) -> str:
    """What `redact` must give; the text has no `ŋ`."""
    text = _PLACE.sub(lambda found: found[1] + ("ŋ" if found[2] == "n" else "Ŋ"), text)
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return text.replace("ŋ", "n").replace("Ŋ", "N")


_COMPILED = [(re.compile(pattern), replacement) for pattern, replacement in _PATTERNS]
